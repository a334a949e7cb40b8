"""When which backend wins: `python benchmarks/backends.py`, the table of docs/explanation/backends.md.

For every kind of problem that has programs, problems of its families, taken in turn, are solved at two sizes by every backend
that solves programs itself, each for about `--limit` processor seconds. A row gives the mean processor seconds of each, with that
limit for what is left open, how many were proven if not all, and the mean gap of those that were not. Ends with 1 where two
proofs disagree.
"""

from __future__ import annotations

import argparse
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from time import perf_counter, process_time

import numpy as np
from common import PROVEN

from edrp.backends import solve_program
from edrp.core.budget import clock, running
from edrp.core.errors import EdrpError, OutOfTimeError, UnsupportedProblemError
from edrp.core.kinds import get_kind
from edrp.core.program import Program
from edrp.formulations.methods import formulate

SIZES: dict[str, tuple[int, ...]] = {
    "edrp": (5, 8),
    "edrp-sequence": (3, 4),
    "latency-aware": (4, 6),
    "migration": (20, 100),
    "rescale": (5, 8),
    "enactment": (6, 12),
    "leasing": (4, 10),
    "mapping": (8, 16),
    "link-allocation": (15, 40),
}
"""Sizes of instances of every kind, in what its families count."""

MAX_COLUMNS = 6_000
"""Columns beyond which a program is passed over, so that every solver gets past the root of its search."""

BACKENDS = ("highs", "scipy", "scip", "gurobi")
"""Those that solve programs: CVXPY and Pyomo hand them to HiGHS."""

DIFFERENT = 1e-6
"""Relative difference of two optima beyond the tolerances of both solvers."""


@dataclass(frozen=True, slots=True)
class Run:
    """One solver on one program: processor seconds, whether it has ended with a proof, objective, and gap."""

    seconds: float
    proven: bool
    objective: float | None
    gap: float


def programs(kind: str, size: int, wanted: int) -> Iterator[Program]:
    """Programs of instances of a size, of one family after the other."""
    families = [f for f in get_kind(kind).families if f.kind == kind and not f.packages]
    made = 0
    for seed in count():
        family = families[seed % len(families)]
        try:
            program = formulate(family.make(max(size, family.least_size), np.random.default_rng([size, seed])), None).program
        except EdrpError:
            continue
        if program.columns <= MAX_COLUMNS:
            yield program
            made += 1
        if made == wanted:
            return


def by_clock(limit: float) -> float:
    """Seconds by the clock that bring so many processor seconds, at the load there has been so far."""
    return limit * max(1.0, (perf_counter() - STARTED) / process_time())


STARTED = perf_counter() - process_time()


@contextmanager
def at_most(limit: float) -> Iterator[None]:
    """Interrupt the run of this thread after so many processor seconds."""
    run, end, done = clock(), process_time() + limit, threading.Event()

    def watch() -> None:
        while not done.wait(0.02):
            if process_time() >= end:
                run.interrupt()

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield
    finally:
        done.set()
        watcher.join()


def solved(program: Program, backend: str, limit: float) -> Run | None:
    """The run of a backend; None where its licence does not allow the program. SciPy, which is deaf, has a limit by the clock."""
    begun = process_time()
    try:
        deaf = backend == "scipy"
        with running(time_limit=by_clock(limit) if deaf else 10 * by_clock(limit)), at_most(np.inf if deaf else limit):
            found = solve_program(program, backend)
    except UnsupportedProblemError:
        return None
    except OutOfTimeError:
        return Run(limit, False, None, np.inf)
    if found.status in PROVEN:
        return Run(process_time() - begun, True, found.objective, 0.0)
    if found.objective is None or found.bound is None:
        return Run(limit, False, found.objective, np.inf)
    return Run(limit, False, found.objective, (found.objective - found.bound) / max(abs(found.objective), DIFFERENT))


def cell(runs: list[Run | None]) -> str:
    """What a table says of a solver's runs."""
    taken = [run for run in runs if run is not None]
    if not taken:
        return "–"
    proven, gaps = sum(run.proven for run in taken), [run.gap for run in taken if not run.proven]
    text = f"{np.mean([run.seconds for run in taken]):.3f}"
    if len(taken) < len(runs):
        text += f", {len(taken)} taken"
    if gaps:
        finite = [gap for gap in gaps if np.isfinite(gap)]
        text += f", {proven} proven, gap " + (f"{100 * np.mean(finite):.1f} %" if len(finite) == len(gaps) else "open")
    return text


def disagree(runs: list[Run | None]) -> bool:
    """Whether two proofs contradict each other."""
    proven = [run.objective for run in runs if run is not None and run.proven]
    values = [value for value in proven if value is not None]
    if len(values) not in (0, len(proven)):
        return True
    return bool(values) and max(values) - min(values) > DIFFERENT * max(1.0, abs(values[0]))


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kinds", nargs="*", help="default: all")
    parser.add_argument("--limit", type=float, default=20.0, help="processor seconds for each run (default: 20)")
    parser.add_argument("--count", type=int, default=4, help="problems of each kind and size (default: 4)")
    asked = parser.parse_args()
    print(f"| kind | size | columns | {' | '.join(BACKENDS)} |\n|{'---|' * (3 + len(BACKENDS))}", flush=True)
    wrong = 0
    for kind in asked.kinds or SIZES:
        for size in SIZES[kind]:
            chosen = list(programs(kind, size, asked.count))
            runs = {name: [solved(program, name, asked.limit) for program in chosen] for name in BACKENDS}
            cells = " | ".join(cell(runs[name]) for name in BACKENDS)
            columns = [program.columns for program in chosen]
            print(f"| `{kind}` | {size} | {min(columns)}–{max(columns)} | {cells} |", flush=True)
            for number in range(len(chosen)):
                if disagree([runs[name][number] for name in BACKENDS]):
                    print(f"  {kind}, size {size}, problem {number}: {[runs[name][number] for name in BACKENDS]}", flush=True)
                    wrong += 1
    sys.exit(wrong > 0)


if __name__ == "__main__":
    main()
