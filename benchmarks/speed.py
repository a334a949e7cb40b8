"""Time to proof, gap at a time limit, and quality of annealing, on one core; run from anywhere after `make test`.

    python benchmarks/speed.py debs              # DEBS 2015 application, 24 to 200 nodes
    python benchmarks/speed.py layered           # random layered applications, 10 to 30 operators
    python benchmarks/speed.py annealing         # annealing against the proven optimum

Every row is measured in this process after one small solve that compiles or loads the kernels.
"""

from __future__ import annotations

from functools import partial
from statistics import median
from typing import Annotated

import typer
from common import timed
from rich.console import Console
from rich.table import Table

import edrp
from edrp.datasets.families.placement.geometric import geometric
from edrp.datasets.families.placement.layered import layered
from edrp.datasets.placement.debs2015 import debs2015

app = typer.Typer(add_completion=False, help=__doc__)
console = Console()
RATES = (145.0, 215.0)
LAYERED = ((10, 24), (15, 24), (15, 16), (20, 24), (30, 50))
"""Operators and nodes."""


def solved(problem: edrp.EdrpProblem, method: str = "eliminate", limit: float | None = None) -> tuple[edrp.Solution, float]:
    """Solution and seconds."""
    return timed(partial(edrp.solve, problem, method, time_limit=limit))


@app.callback()
def warm() -> None:
    """Compile or load every kernel."""
    edrp.solve(layered(6, seed=0, nodes=8), "eliminate")


@app.command()
def debs(largest: int = 200, highs: Annotated[float, typer.Option(help="seconds for the compact program")] = 20.0) -> None:
    """The DEBS 2015 application on geometric networks, proven."""
    table = Table("nodes", "replicas", "tuples/s", "status", "seconds", "compact on highs", title="DEBS 2015 application")
    for nodes, replicas in ((24, 2), (24, 3), (24, 4), (50, 3), (100, 4), (200, 3)):
        for rate in RATES if nodes <= largest else ():
            problem = debs2015(rate, network=geometric(nodes, 0), max_replicas=replicas)
            solution, seconds = solved(problem)
            compact = ""
            if nodes <= 24 and highs > 0:
                other, other_seconds = solved(problem, "highs", highs)
                compact = f"{other.status}, {other_seconds:.1f} s, {other_seconds / seconds:.0f} times"
            table.add_row(f"{nodes}", f"{replicas}", f"{rate:g}", solution.status, f"{seconds:.2f}", compact)
    console.print(table)


@app.command("layered")
def layered_sizes(
    seeds: int = 10,
    time_limit: float = 60.0,
    roomy: Annotated[bool, typer.Option(help="four units a node instead of two")] = False,
    largest: int = 30,
) -> None:
    """Random layered applications: how many are proven how fast, and the gap of the rest."""
    table = Table("operators", "nodes", "proven", "in 10 s", "median s", "slowest s", "worst gap %", title="Layered applications")
    for operators, nodes in LAYERED:
        if operators > largest:
            continue
        problems = [layered(operators, seed, nodes=nodes, resources=4.0 if roomy else 2.0) for seed in range(seeds)]
        runs = [solved(problem, limit=time_limit) for problem in problems]
        times = [seconds for _, seconds in runs]
        proven = [seconds for solution, seconds in runs if solution.status == "optimal"]
        gaps = [100 * solution.gap for solution, _ in runs if solution.gap is not None]
        quick = sum(seconds <= 10 for seconds in proven)
        cells = [f"{median(times):.2f}", f"{max(times):.1f}", f"{max(gaps):.2f}" if gaps else "none"]
        table.add_row(f"{operators}", f"{nodes}", f"{len(proven)}/{seeds}", f"{quick}", *cells)
    console.print(table)


@app.command()
def annealing(seeds: int = 10, time_limit: float = 60.0) -> None:
    """Annealing with its default budget against the proven optimum."""
    table = Table("problem", "optimum", "annealing", "gap %", "seconds", title="Annealing")
    cases = [(f"layered 10, seed {seed}", layered(10, seed)) for seed in range(seeds)]
    for nodes in (24, 50):
        network = geometric(nodes, 0)
        cases += [(f"DEBS {nodes} nodes, {rate:g}/s", debs2015(rate, network=network, max_replicas=3)) for rate in RATES]
    for name, problem in cases:
        best, _ = solved(problem, limit=time_limit)
        found, seconds = solved(problem, "annealing")
        if best.status == "optimal" and best.objective is not None and found.objective is not None:
            gap = 100 * (found.objective / best.objective - 1)
            table.add_row(name, f"{best.objective:.6f}", f"{found.objective:.6f}", f"{gap:.3f}", f"{seconds:.2f}")
    console.print(table)


if __name__ == "__main__":
    app()
