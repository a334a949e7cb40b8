"""How many generated placements on clusters of equal nodes are proven, by family and number of operators, and how fast.

    python benchmarks/clusters.py --count 3 --first 1000     # 5 to 20 operators, 30 s for each problem at most: minutes

Times are of one core, from the problem to the checked answer, the median of three runs where these are short; kernels are
compiled before.
"""

from __future__ import annotations

from functools import partial
from typing import Annotated

import numpy as np
import typer
from common import is_proven, timed
from rich.console import Console
from rich.table import Table

import edrp
from edrp.datasets.families.placement.clusters import CLUSTER_FAMILIES

OPERATORS = (5, 10, 15, 20)

console = Console(width=140)


def main(
    name: Annotated[str, typer.Option(help="Only families whose name contains this.")] = "",
    count: Annotated[int, typer.Option(help="Problems of each family and size.")] = 5,
    first: Annotated[int, typer.Option(help="Seed of the first one.")] = 0,
    limit: Annotated[float, typer.Option(help="Seconds for each run.")] = 30.0,
    method: Annotated[str, typer.Option(help="Method.")] = "equal-nodes",
    every: Annotated[bool, typer.Option(help="List every problem that is not proven in a second.")] = False,
) -> None:
    """Solve consecutive seeds of every family of clusters."""
    chosen = [family for family in CLUSTER_FAMILIES if name in family.name]
    for family in chosen:  # kernels are compiled, all paths are taken once
        edrp.solve(family.make(5, np.random.default_rng(0)), method, time_limit=limit)
    table = Table("family", "operators", "proven", "median s", "worst s", "worst gap")
    for family in chosen:
        for operators in OPERATORS:
            problems = [family.make(operators, np.random.default_rng(seed)) for seed in range(first, first + count)]
            answers = [timed(partial(edrp.solve, problem, method, time_limit=limit), repeats=3) for problem in problems]
            for seed, (solution, seconds) in enumerate(answers, first):
                if every and (seconds > 1 or not is_proven(solution)):
                    console.print(f"{family.name} {operators} seed {seed}: {solution.status} {seconds:.2f} s", solution.size)
            gaps = [np.inf if solution.gap is None else solution.gap for solution, _ in answers if not is_proven(solution)]
            times = [seconds for _, seconds in answers]
            proven = f"{sum(is_proven(solution) for solution, _ in answers)} of {len(answers)}"
            worst = f"{max(gaps):.2%}" if gaps else ""
            table.add_row(family.name, str(operators), proven, f"{np.median(times):.3f}", f"{max(times):.2f}", worst)
    console.print(table)


if __name__ == "__main__":
    typer.run(main)
