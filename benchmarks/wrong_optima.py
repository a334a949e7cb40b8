"""Optima of HiGHS with a start handed over against those of a second solver: `python benchmarks/wrong_optima.py`.

For every kind of problem that has programs, small random programs of all its families are solved by the backend `highs` as by
default, with a start wherever some rule finds one, and by `scipy`, which takes no starts and brings a HiGHS of its own; with
`--judge scip` by SCIP, which shares no code with HiGHS, and with `--judge unpresolved` by HiGHS without presolve, whose mistakes
`scipy` may share. A row says how many programs there were, how many had a start, how many claims the other solver refuted, how
many of its claims HiGHS refuted, how many programs were left unproven, how often the guard looked at an answer again (the linear
relaxation, then a search without presolve), and what that added to the time of HiGHS.

With `--open` nothing is compared: problems of the families and check problems, most with another magnitude of one of their
fields, with priorities or load scenarios where the kind has them, are solved by `highs` and, in turn, by another backend. A row
says how many of up to `MAX_OPEN` columns there were, how their answers ended, how many were left open although the solver had
finished, the processor seconds of all solves, and the share that `verify_unproven` adds to them, in sum and in the mean of
solves; open ones are named, and written to the folder `--write`.

With `--tiny` up to three coefficients of each program are first made a hundred to ten million times smaller, without a start:
programs as an operator leads to that needs next to nothing of a resource.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import count, islice
from pathlib import Path
from typing import Any

import numpy as np

import edrp
from edrp.backends import highs, solve_program, solving
from edrp.backends.base import SolverOptions, bounds_prove
from edrp.backends.highs import solve_arrays
from edrp.core.budget import running
from edrp.core.errors import EdrpError, VerificationError
from edrp.core.kinds import get_kind
from edrp.formulations.formulation import best_feasible
from edrp.formulations.methods import formulate
from edrp.validation.fuzzing.mutations import places

KINDS: dict[str, tuple[int, tuple[str, ...]]] = {
    "edrp": (4, ("random", "greedy")),
    "latency-aware": (4, ("random", "greedy")),
    "migration": (12, ("balanced", "even-split")),
    "enactment": (3, ("first-fit-decreasing",)),
    "leasing": (3, ()),
    "mapping": (3, ("process-map", "random-neighbor")),
    "link-allocation": (4, ("greedy-reallocation",)),
    "rescale": (5, ("sticky-ranges", "even-ranges")),
}
"""Largest size of an instance, in what its families count, and methods whose decisions are handed over as starts, in turn with
the current one."""

MAX_OPEN = 500
"""Columns up to which a program that its solver finishes must end with a proof."""

MAX_COLUMNS = 1_000
"""Columns beyond which a program is not small, and passed over: those of the families of clusters have tens of thousands."""

PROVEN = ("optimal", "infeasible")

OTHERS = tuple(name for name in solving.backends() if name != "highs")
"""Backends that take turns next to `highs`."""

OPEN_WORK = 3.0
"""Units of work that a problem gets which must not be left open."""

SHARE_UNCHANGED = 0.25
"""Share of the problems whose magnitudes stay as drawn."""

DIFFERENT = 1e-6
"""Relative difference of two optima beyond the tolerances of both solvers."""


JUDGES: dict[str, Callable[[Any], Any]] = {
    "scipy": lambda program: solve_program(program, "scipy"),
    "scip": lambda program: solve_program(program, "scip"),
    "unpresolved": lambda program: solve_arrays(program.arrays(), SolverOptions(presolve=False)),
}
"""The second solver: SciPy's build of HiGHS, SCIP, or HiGHS on programs as they are, which makes no mistakes of presolve."""

HEAD = """\
| kind | programs | with a start | wrong | other solver worse | not proven | looked at again | share of HiGHS's time |
|---|---|---|---|---|---|---|---|"""

OPEN_HEAD = """\
| kind | problems | ended | left open | processor seconds | added by the last word | mean of ratios |
|---|---|---|---|---|---|---|"""


def formulations(kind: str, wanted: int, drawn: int) -> Iterator[tuple[int, Any]]:
    """Formulations of random instances, with their seeds; other ones for another `drawn`."""
    families = [f for f in get_kind(kind).families if f.kind == kind and not f.packages]
    refuse, seed, made = get_kind(kind).refuse_formulation, 0, 0
    while made < wanted:
        family = families[seed % len(families)]
        random = np.random.default_rng([seed, drawn])
        size = int(random.integers(family.least_size, max(family.least_size, KINDS[kind][0]) + 1))
        problem = family.make(size, random)
        seed += 1
        if refuse is not None and refuse(problem) is not None:
            continue
        formulation = formulate(problem, None)
        if formulation.program.columns <= MAX_COLUMNS:
            made += 1
            yield seed, formulation


class WithTiny:
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


def start(formulation: Any, seed: int) -> Any:
    """A start as columns, from the current decision or a rule, in turn; None where none is feasible."""
    problem, rules = formulation.problem, KINDS[formulation.problem.kind][1]
    decisions = [formulation.current]
    if rules and seed % 2:
        try:
            decisions.insert(0, edrp.solve(problem, rules[seed // 2 % len(rules)], seed=seed, time_limit=1).decision)
        except EdrpError:
            decisions.append(None)
    found = best_feasible(problem, decisions[:1])
    return None if found is None else formulation.encode(found)


def documents(kind: str, drawn: int) -> Iterator[tuple[int, Any]]:
    """Small problems of a kind without end, with their seeds; most have been changed, and one in ten is a check problem."""
    families = [f for f in get_kind(kind).families if f.kind == kind and not f.packages]
    checks = get_kind(kind).check_problems()
    known = [*checks.feasible().values(), *checks.infeasible().values(), *checks.degenerate().values()]
    for seed in count():
        random = np.random.default_rng([seed, drawn, 36])
        if seed % 10 == 0:
            problem = known[int(random.integers(len(known)))]
        else:
            family = families[int(random.integers(len(families)))]
            size = int(random.integers(family.least_size, max(family.least_size, KINDS[kind][0]) + 1))
            problem = family.make(size, random)
        for change in (rescaled, in_turn, under_loads):
            problem = change(problem, random)
        yield seed, problem


def small(kind: str, drawn: int) -> Iterator[tuple[int, Any]]:
    """Those of them that have a program of at most `MAX_OPEN` columns."""
    for seed, problem in documents(kind, drawn):
        try:
            with running(work_limit=OPEN_WORK):
                columns = formulate(problem, None).program.columns
        except EdrpError:
            continue
        if columns <= MAX_OPEN:
            yield seed, problem


def rescaled(problem: Any, random: Any) -> Any:
    """The problem with all numbers of one field, drawn at random, at another magnitude; the same where it is refused then."""
    document = problem.model_dump(mode="json")
    chosen = [(place, value) for place, value in places(document) if isinstance(value, float) and value]
    if not chosen or random.random() < SHARE_UNCHANGED:
        return problem
    names = sorted({field(place) for place, _ in chosen})
    name, factor = names[int(random.integers(len(names)))], 10.0 ** random.uniform(-6, 6)
    for place, value in chosen:
        if field(place) == name:
            holder = document
            for part in place[:-1]:
                holder = holder[part]
            holder[place[-1]] = value * factor
    return read_or(problem, document)


def field(place: tuple[str | int, ...]) -> tuple[str, ...]:
    """The names of a place without its indices."""
    return tuple(part for part in place if isinstance(part, str))


def in_turn(problem: Any, random: Any) -> Any:
    """The problem with one to three priorities, one time in three, where its kind has them."""
    if "priorities" not in type(problem).model_fields or random.random() < 2 / 3:
        return problem
    names = random.permutation(sorted(problem.metrics))[: int(random.integers(1, 4))]
    chosen = [{"metric": str(name), "slack": float(random.choice([0.0, 0.01, 0.2]))} for name in names]
    return read_or(problem, problem.model_dump(mode="json") | {"priorities": chosen})


def under_loads(problem: Any, random: Any) -> Any:
    """The problem with two or three load scenarios, one time in three, where its kind has them."""
    if "scenarios" not in type(problem).model_fields or random.random() < 2 / 3:
        return problem
    weights = random.integers(1, 5, int(random.integers(2, 4)))
    loads = [(float(random.choice([0.01, 0.5, 0.9, 1.05])), weight / weights.sum()) for weight in weights]
    chosen = [{"factor": factor, "probability": float(share)} for factor, share in loads]
    return read_or(problem, problem.model_dump(mode="json") | {"scenarios": chosen})


def read_or(problem: Any, document: Any) -> Any:
    """Contents of a document, or the problem where it is refused."""
    try:
        return type(problem).model_validate(document)
    except ValueError:
        return problem


@contextmanager
def timed_last_word() -> Iterator[list[float]]:
    """A list to which the processor seconds of every last word on a result are added inside the block."""
    seconds: list[float] = []
    word = solving.verify_unproven

    def timed(*given: Any, **named: Any) -> Any:
        begun = time.process_time()
        try:
            return word(*given, **named)
        finally:
            seconds.append(time.process_time() - begun)

    solving.verify_unproven = timed
    try:
        yield seconds
    finally:
        solving.verify_unproven = word


def ended(problem: Any, backend: str, work_limit: float) -> tuple[str, str]:
    """How the answer of a backend to a problem ends, and why; a claim that the evaluator refutes is "refuted"."""
    try:
        solution = edrp.solve(problem, backend, work_limit=work_limit)
    except VerificationError as error:
        return "refuted", str(error)
    limited = solution.stopped_because == "work_limit"
    return "work limit" if limited else solution.status, solution.stopped_because


def left_open(kind: str, wanted: int, drawn: int, folder: Path | None = None, work_limit: float = OPEN_WORK) -> int:
    """Solve so many problems of a kind, print a row, and return how many were left open although the solver had finished."""
    ends: Counter[str] = Counter()
    left, took, added = 0, [], []
    for seed, problem in islice(small(kind, drawn), wanted):
        for backend in ("highs", OTHERS[seed % len(OTHERS)]):
            begun = time.process_time()
            with timed_last_word() as seconds:
                end, why = ended(problem, backend, work_limit)
            added.append(sum(seconds))
            took.append(time.process_time() - begun - added[-1])
            ends[end] += 1
            if end not in PROVEN:
                left += end != "work limit"
                print(f"  {kind} {seed} {backend}: {end}, {why}", flush=True)
                if folder is not None:
                    (folder / f"{kind}-{seed}-{backend}.json").write_text(problem.model_dump_json())
    counts = ", ".join(f"{number} {status}" for status, number in sorted(ends.items()))
    shares = sum(added) / sum(took), float(np.mean(np.array(added) / took))
    row = f"{counts} | {left} | {sum(took) + sum(added):.0f} | {100 * shares[0]:.1f} % | {100 * shares[1]:.1f} %"
    print(f"| {kind} | {wanted} | {row} |", flush=True)
    return left


class Guard:
    """Counts how often an answer that only presolve is behind is looked at again, and the seconds that takes."""

    def __init__(self) -> None:
        self.times, self.seconds = 0, 0.0
        self._look = highs.second_look
        highs.second_look = self

    def __call__(self, arrays: Any, options: Any, until: float, first: Any) -> Any:
        started = time.perf_counter()
        result = self._look(arrays, options, until, first)
        if not first.searched and (first.objective is None or not bounds_prove(arrays, first.objective)):
            self.times, self.seconds = self.times + 1, self.seconds + time.perf_counter() - started
        return result


def main() -> None:
    """Compare, and end with 1 where an optimum was wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kinds", nargs="*", help="default: all")
    parser.add_argument("--count", type=int, default=2000, help="programs of each kind")
    parser.add_argument("--seed", type=int, default=17, help="seed of the random instances (default: 17)")
    parser.add_argument("--judge", choices=JUDGES, default="scipy", help="second solver (default: scipy)")
    parser.add_argument("--tiny", action="store_true", help="make some coefficients much smaller")
    parser.add_argument("--open", action="store_true", help="look for problems that are left open instead")
    parser.add_argument("--write", type=Path, help="folder for those that are")
    asked = parser.parse_args()
    if asked.open:
        print(OPEN_HEAD, flush=True)
        sys.exit(sum(left_open(kind, asked.count, asked.seed, asked.write) for kind in asked.kinds or KINDS) > 0)
    print(HEAD, flush=True)
    guard, defects = Guard(), 0
    for kind in asked.kinds or KINDS:
        started = wrong = worse = unproven = 0
        total, times, seconds = 0.0, guard.times, guard.seconds
        for seed, formulation in formulations(kind, asked.count, asked.seed):
            program = WithTiny(formulation.program, seed) if asked.tiny else formulation.program
            point = None if asked.tiny else start(formulation, seed)
            started += point is not None
            begun = time.perf_counter()
            ours = solve_program(program, "highs", start=point)
            total += time.perf_counter() - begun
            theirs = JUDGES[asked.judge](program)
            both_found = ours.objective is not None and theirs.objective is not None
            difference = ours.objective - theirs.objective if both_found else 0.0
            allowed = DIFFERENT * max(1.0, abs(theirs.objective or 0.0))
            # What is not proven, here or by SciPy, which has tolerances of its own only, is no wrong optimum.
            unproven += ours.status not in PROVEN
            refuted = ours.status in PROVEN and theirs.status in PROVEN and (ours.status != theirs.status)
            if (difference > allowed and ours.status in PROVEN) or (refuted and ours.status == "infeasible"):
                wrong += 1
                both = [f"{name} {r.status} {r.objective!r}" for name, r in (("highs", ours), (asked.judge, theirs))]
                print(f"  {kind} {seed}: {', '.join(both)}", flush=True)
            worse += difference < -allowed or (refuted and ours.status == "optimal")
        again, share = guard.times - times, (guard.seconds - seconds) / (total - guard.seconds + seconds)
        defects += wrong
        print(
            f"| {kind} | {asked.count} | {started} | {wrong} | {worse} | {unproven} | {again} | {100 * share:.1f} % |", flush=True
        )
    sys.exit(defects > 0)


if __name__ == "__main__":
    main()
