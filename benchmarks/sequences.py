"""Certified courses of elastic sequences: gap, processor seconds, and how much of the room below the baselines is closed.

    python benchmarks/sequences.py                       # three seeds of 6 × 8 × 24 and 6 × 10 × 24, one of 10 × 12 × 24
    python benchmarks/sequences.py --size 6 8 144 --seeds 1 --work 60

The room is that from the better of `static-deployment` and `myopic` down to the bound. Seeds are 0, 1, … of the family `elastic`.
"""

from __future__ import annotations

import sys
from time import process_time
from typing import Annotated

import typer
from common import timed

import edrp
from edrp.datasets.families.placement.sequence import elastic_sequence

METHOD = "priced-course"
BASELINES = ("static-deployment", "myopic")
ROWS = ((6, 8, 24, 3, 60.0), (6, 10, 24, 3, 60.0), (10, 12, 24, 1, 300.0))
"""Operators, nodes, periods, seeds, units of work."""


def main(
    size: Annotated[tuple[int, int, int], typer.Option(help="Operators, nodes and periods, instead of the usual rows.")] = (
        0,
        0,
        0,
    ),
    seeds: Annotated[int, typer.Option(help="Seeds of that size.")] = 3,
    work: Annotated[float, typer.Option(help="Work limit of that size.")] = 60.0,
    baseline_work: Annotated[float, typer.Option(help="Work limit of each baseline.")] = 60.0,
) -> None:
    """One line per instance as it is solved; fails where a bound contradicts a value."""
    print("size", "seed", *BASELINES, METHOD, "bound", "gap %", "room closed %", "processor s", sep="  ")
    rows = ((*size, seeds, work),) if all(size) else ROWS
    for operators, nodes, periods, count, units in rows:
        for seed in range(count):
            problem = elastic_sequence(seed, operators=operators, nodes=nodes, periods=periods)
            known = [edrp.solve(problem, name, work_limit=baseline_work).objective or float("inf") for name in BASELINES]
            solution, seconds = timed(lambda p=problem, w=units: edrp.solve(p, METHOD, work_limit=w), process_time)
            room = min(known) - solution.bound
            closed = 100 * (min(known) - solution.objective) / room if room > 0 else 100.0
            numbers = [f"{value:.1f}" for value in (*known, solution.objective, solution.bound)]
            row = (f"{operators} × {nodes} × {periods}", f"{seed}", *numbers, f"{100 * solution.gap:.3f}")
            print(*row, f"{closed:.1f}", f"{seconds:.1f}", sep="  ", flush=True)


if __name__ == "__main__":
    sys.exit(typer.run(main))
