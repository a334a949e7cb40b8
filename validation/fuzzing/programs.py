"""Optima of HiGHS, with a start handed over, against those of a second solver, on small programs of all families of a kind."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import count, islice
from typing import Any

import numpy as np

from edrp.backends.base import SolverOptions
from edrp.backends.highs import solve_arrays
from edrp.backends.solving import solve_program
from edrp.core.errors import EdrpError
from edrp.core.kinds import get_kind
from edrp.core.solve import solve
from edrp.core.tolerances import DIFFERENT_OPTIMA
from edrp.formulations.formulation import best_feasible
from edrp.formulations.methods import formulate
from edrp.validation.fuzzing.families import SIZES, small_problem

STARTS = {
    "edrp": ("random", "greedy"),
    "latency-aware": ("random", "greedy"),
    "migration": ("balanced", "even-split"),
    "enactment": ("first-fit-decreasing",),
    "mapping": ("process-map", "random-neighbor"),
    "link-allocation": ("greedy-reallocation",),
    "rescale": ("sticky-ranges", "even-ranges"),
}
"""Methods whose decisions are handed over as starts, in turn with the current one."""

MAX_COLUMNS = 1_000
"""Columns beyond which a program is not small, and passed over: those of the families of clusters have tens of thousands."""

PROVEN = ("optimal", "infeasible")

JUDGES: dict[str, Callable[[Any], Any]] = {
    "scipy": lambda program: solve_program(program, "scipy"),
    "scip": lambda program: solve_program(program, "scip"),
    "unpresolved": lambda program: solve_arrays(program.arrays(), SolverOptions(presolve=False)),
}
"""The second solver: SciPy's build of HiGHS, which takes no starts, SCIP, which shares no code with HiGHS, or HiGHS on programs
as they are, which makes no mistakes of presolve.
"""


def compare(kind: str, wanted: int, drawn: int, judge: str, *, tiny: bool) -> tuple[Counter[str], list[str]]:
    """Solve programs of a kind by HiGHS and by a second solver: what became of them, and each wrong optimum of HiGHS in words.

    Parameters
    ----------
    drawn
        Seed of the instances.
    tiny
        Whether up to three coefficients of each program are first made a hundred to ten million times smaller, as an operator
        leads to that needs next to nothing of a resource; without a start.
    """
    outcomes, wrong = Counter[str](), []
    for seed, formulation in islice(_formulations(kind, drawn), wanted):
        program: Any = _WithTiny(formulation.program, seed) if tiny else formulation.program
        start = None if tiny else _start(formulation, seed)
        ours, theirs = solve_program(program, "highs", start=start), JUDGES[judge](program)
        both_found = ours.objective is not None and theirs.objective is not None
        difference = ours.objective - theirs.objective if both_found else 0.0
        allowed = DIFFERENT_OPTIMA * max(1.0, abs(theirs.objective or 0.0))
        # What is not proven, here or by SciPy, which has tolerances of its own only, is no wrong optimum.
        refuted = ours.status in PROVEN and theirs.status in PROVEN and ours.status != theirs.status
        if (difference > allowed and ours.status in PROVEN) or (refuted and ours.status == "infeasible"):
            wrong.append(f"{kind} {seed}: highs {ours.status} {ours.objective!r}, {judge} {theirs.status} {theirs.objective!r}")
        outcomes["with a start"] += start is not None
        outcomes["not proven"] += ours.status not in PROVEN
        outcomes[f"{judge} worse"] += difference < -allowed or (refuted and ours.status == "optimal")
    return outcomes, wrong


def _formulations(kind: str, drawn: int) -> Iterator[tuple[int, Any]]:
    """Small formulations of random instances, with their seeds."""
    refuse = get_kind(kind).refuse_formulation
    for seed in count():
        problem = small_problem(kind, SIZES[kind], np.random.default_rng([seed, drawn]))
        if refuse is not None and refuse(problem) is not None:
            continue
        formulation = formulate(problem, None)
        if formulation.program.columns <= MAX_COLUMNS:
            yield seed, formulation


class _WithTiny:
    """A program of which some coefficients are much smaller."""

    def __init__(self, program: Any, seed: int) -> None:
        random, arrays = np.random.default_rng([seed, 18]), program.arrays()
        matrix = arrays.matrix.copy()
        changed = random.integers(0, matrix.nnz, random.integers(1, 4))
        matrix.data[changed] *= 10.0 ** random.uniform(-7, -2, changed.size)
        self._program, self._arrays = program, replace(arrays, matrix=matrix)

    def arrays(self) -> Any:
        """The smaller coefficients among the others."""
        return self._arrays

    def __getattr__(self, name: str) -> Any:
        return getattr(self._program, name)


def _start(formulation: Any, seed: int) -> Any:
    """A start as columns, from the current decision or a rule, in turn; None where none is feasible."""
    problem, decision = formulation.problem, formulation.current
    rules = STARTS.get(problem.kind, ())
    if rules and seed % 2:
        try:
            decision = solve(problem, rules[seed // 2 % len(rules)], seed=seed, time_limit=1).decision
        except EdrpError:
            decision = None
    found = best_feasible(problem, [decision])
    return None if found is None else formulation.encode(found)
