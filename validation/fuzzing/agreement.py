"""Whether two solvers have the same optima of programs, and whether answers under a work limit are the same to the byte.

Optima of HiGHS, with a start handed over, are compared with those of a second solver on small programs of all families of a kind.
Answers are to be the same wherever and beside whatever they are computed: every method solves the large and a small check problem
of each of its kinds in this process, in this process beside four processes that do nothing but work, by a batch with `n_jobs=2`,
and on Spark. All that a solution says is compared, but for seconds.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from itertools import count, islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np

from edrp.backends.base import SolverOptions
from edrp.backends.highs import solve_arrays
from edrp.backends.solving import solve_program
from edrp.batch import solve_batch
from edrp.batch.tasks import instance_seed
from edrp.core.errors import EdrpError
from edrp.core.kinds import get_kind, kinds
from edrp.core.methods import methods
from edrp.core.solve import solve
from edrp.core.spark import spark_session
from edrp.core.tolerances import DIFFERENT_OPTIMA
from edrp.formulations.formulation import best_feasible
from edrp.formulations.methods import formulate
from edrp.mdp.policy.pmc import Threads
from edrp.mdp.policy.process import PolicyModel
from edrp.mdp.policy.store import precompute_policy
from edrp.validation.fuzzing.families import SIZES, small_problem

BUSY = 4
"""Processes that keep the cores busy."""


class Run(NamedTuple):
    """One answer: kind and label of the problem, method with its parameters, and seed."""

    kind: str
    label: str
    method: str
    seed: int

    @property
    def id(self) -> str:
        """Name of the problem in a batch."""
        return f"{self.kind}-{self.label}"


def differences(work_limit: float, seeds: int, kind: str = "", method: str = "", *, spark: bool = False) -> Iterator[str]:
    """Yield how many answers were compared in each place, and each that differs with the fields in which it does."""
    with TemporaryDirectory() as folder:
        runs = _chosen(kind, method, seeds, Path(folder) / "policy")
        base = _here(runs, work_limit)
        places = {"again": partial(_here, runs, work_limit), "busy": partial(_busy, runs, work_limit)}
        places["n_jobs=2"] = partial(_in_batch, runs, work_limit, n_jobs=2)
        places |= {"local[2]": partial(_on_spark, runs, work_limit)} if spark else {}
        for where, answers in places.items():
            other = answers()
            yield f"{where}: {len(runs)} compared"
            for run in runs:
                if base[run] != other[run]:
                    one, two = base[run], other[run]
                    fields = [f"{name}: {one.get(name)} / {two.get(name)}"[:200] for name in one if one[name] != two.get(name)]
                    yield f"{where}: {run.id} {run.method} seed {run.seed} differs: {', '.join(fields)}"


def _chosen(kind: str, method: str, seeds: int, folder: Path) -> dict[Run, Any]:
    runs: dict[Run, Any] = {}
    for name, record in kinds().items():
        if record.check_problems is None or kind not in ("", name):
            continue
        problems = record.check_problems()
        for label, problem in (("small", next(iter(problems.feasible().values()))), ("large", problems.large())):
            for one in methods(name):
                if method not in ("", one) or (one == "stored-policy" and label == "large"):
                    continue
                given = one
                if one == "stored-policy":
                    precompute_policy(PolicyModel.of(problem, problem.reachable_counts), Threads(1), folder)
                    given = f"{one}:policy={folder}"
                runs.update({Run(name, label, given, seed): problem for seed in range(seeds)})
    return runs


Answers = dict[Run, dict[str, Any]]
"""All that a solution says but for times; the name of an error."""


def _here(runs: Mapping[Run, Any], work_limit: float) -> Answers:
    answers: Answers = {}
    for run, problem in runs.items():
        name, _, parameters = run.method.partition(":")
        given: Any = dict(pair.split("=", 1) for pair in parameters.split(",") if pair)
        try:
            solution = solve(problem, name, work_limit=work_limit, seed=instance_seed(run.seed, run.id), **given)
            answers[run] = _stated(solution.model_dump_json())
        except EdrpError as error:
            answers[run] = _stated(type(error).__name__)
    return answers


def _busy(runs: Mapping[Run, Any], work_limit: float) -> Answers:
    """Answers while all cores and more are busy."""
    endless = "import os\nparent = os.getppid()\nwhile os.getppid() == parent: pass"
    loops = [subprocess.Popen([sys.executable, "-c", endless]) for _ in range(BUSY)]
    try:
        return _here(runs, work_limit)
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()


def _on_spark(runs: Mapping[Run, Any], work_limit: float) -> Answers:
    with spark_session("local[2]") as session:
        return _in_batch(runs, work_limit, spark=session)


def _in_batch(runs: Mapping[Run, Any], work_limit: float, **where: Any) -> Answers:
    answers: Answers = {}
    for kind in dict.fromkeys(run.kind for run in runs):
        own = {run: problem for run, problem in runs.items() if run.kind == kind}
        problems = {run.id: problem for run, problem in own.items()}
        names, seeds = list(dict.fromkeys(run.method for run in own)), list(dict.fromkeys(run.seed for run in own))
        table = solve_batch(problems, names, work_limit=work_limit, seed=seeds, **where)
        rows = table.to_pylist() if hasattr(table, "to_pylist") else [row.asDict() for row in table.collect()]
        said = {(row["id"], row["method"], row["run_seed"]): row["solution"] or row["error_type"] for row in rows}
        answers.update({run: _stated(said[run.id, run.method, run.seed]) for run in own})
    return answers


def _stated(solution: str) -> dict[str, Any]:
    if not solution.startswith("{"):
        return {"error": solution}
    return {name: value for name, value in json.loads(solution).items() if name != "seconds"}


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
