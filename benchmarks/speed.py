"""Time to proof, gap at a time limit, and quality of annealing, on one core; run from anywhere after `make test`.

    python benchmarks/speed.py debs              # DEBS 2015 application, 24 to 200 nodes
    python benchmarks/speed.py layered           # random layered applications, 10 to 30 operators
    python benchmarks/speed.py annealing         # annealing against the proven optimum
    python benchmarks/speed.py literal           # literal program: time to build, and time to solve against `eliminate`

Every row is measured in this process after one small solve that compiles or loads the kernels.
"""

from __future__ import annotations

from statistics import median
from time import perf_counter
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

import edrp
from edrp.datasets.families.placement.geometric import geometric
from edrp.datasets.families.placement.layered import layered
from edrp.datasets.placement.debs2015 import debs2015

app = typer.Typer(add_completion=False, help=__doc__)
console = Console()
RATES = (145.0, 215.0)
LAYERED = ((10, 24, 2.0), (15, 24, 2.0), (15, 16, 2.0), (20, 24, 2.0), (30, 50, 2.0))
ROOMY = tuple((operators, nodes, 4.0) for operators, nodes, _ in LAYERED)


def timed(problem: edrp.EdrpProblem, method: str = "eliminate", time_limit: float | None = None) -> tuple[edrp.Solution, float]:
    """Solve and measure; the first call of a kernel must be behind us."""
    begin = perf_counter()
    solution = edrp.solve(problem, method, time_limit=time_limit)
    return solution, perf_counter() - begin


def warm() -> None:
    """Compile or load every kernel."""
    edrp.solve(layered(6, seed=0, nodes=8), "eliminate")


@app.command()
def debs(largest: int = 200, highs: Annotated[float, typer.Option(help="seconds for the compact program")] = 20.0) -> None:
    """The DEBS 2015 application on geometric networks, proven."""
    warm()
    table = Table("nodes", "replicas", "tuples/s", "status", "seconds", "compact on highs", title="DEBS 2015 application")
    for nodes, replicas in ((24, 2), (24, 3), (24, 4), (50, 3), (100, 4), (200, 3)):
        for rate in RATES:
            if nodes > largest:
                continue
            problem = debs2015(rate, network=geometric(nodes, 0), max_replicas=replicas)
            solution, seconds = timed(problem)
            other = timed(problem, "highs", highs) if nodes <= 24 and highs > 0 else None
            beside = f"{other[0].status}, {other[1]:.1f} s, {other[1] / seconds:.0f} times" if other else ""
            table.add_row(str(nodes), str(replicas), f"{rate:g}", solution.status, f"{seconds:.2f}", beside)
    console.print(table)
    again = Table("tuples/s", "seconds", "actions", title="Re-solved from 145 tuples/s, w_d = 0.4, 24 nodes, 3 replicas")
    weights = edrp.Weights(response_time=0.3, cost=0.3, downtime=0.4)
    current = timed(debs2015(145.0, network=geometric(24, 0), max_replicas=3))[0].deployment
    for rate in (150.0, 180.0, 215.0):
        problem = debs2015(rate, network=geometric(24, 0), max_replicas=3, weights=weights, current=current)
        solution, seconds = timed(problem)
        again.add_row(f"{rate:g}", f"{seconds:.2f}", str(len(solution.actions)))
    console.print(again)


@app.command("layered")
def layered_sizes(
    seeds: int = 10,
    time_limit: float = 60.0,
    roomy: Annotated[bool, typer.Option(help="four units a node instead of two")] = False,
    largest: int = 30,
) -> None:
    """Random layered applications: how many are proven how fast, and the gap of the rest."""
    warm()
    columns = ("operators", "nodes", "units a node", "proven", "in 10 s", "median s", "slowest s", "worst gap %")
    table = Table(*columns, title="Layered applications")
    for operators, nodes, resources in ROOMY if roomy else LAYERED:
        if operators > largest:
            continue
        runs = [timed(layered(operators, s, nodes=nodes, resources=resources), time_limit=time_limit) for s in range(seeds)]
        proven = [seconds for solution, seconds in runs if solution.status == "optimal"]
        gaps = [100 * solution.gap for solution, _ in runs if solution.gap is not None]
        table.add_row(
            str(operators),
            str(nodes),
            f"{resources:g}",
            f"{len(proven)}/{seeds}",
            str(sum(seconds <= 10 for seconds in proven)),
            f"{median(seconds for _, seconds in runs):.2f}",
            f"{max(seconds for _, seconds in runs):.1f}",
            f"{max(gaps):.2f}" if gaps else "none",
        )
    console.print(table)


@app.command()
def annealing(seeds: int = 10, time_limit: float = 60.0) -> None:
    """Annealing with its default budget against the proven optimum."""
    warm()
    table = Table("problem", "optimum", "annealing", "gap %", "seconds", title="Annealing")
    cases = [(f"layered 10, seed {s}", layered(10, s)) for s in range(seeds)]
    for nodes in (24, 50):
        network = geometric(nodes, 0)
        cases += [(f"DEBS {nodes} nodes, {rate:g}/s", debs2015(rate, network=network, max_replicas=3)) for rate in RATES]
    for name, problem in cases:
        best, _ = timed(problem, time_limit=time_limit)
        found, seconds = timed(problem, "annealing")
        if best.status == "optimal" and best.objective is not None and found.objective is not None:
            gap = 100 * (found.objective / best.objective - 1)
            table.add_row(name, f"{best.objective:.6f}", f"{found.objective:.6f}", f"{gap:.3f}", f"{seconds:.2f}")
    console.print(table)


@app.command()
def literal(nodes: int = 8, time_limit: float = 600.0) -> None:
    """The literal program: how fast it is built at 24 nodes, and solved against the other exact ways."""
    warm()
    problem = debs2015(145.0, network=geometric(24, 0), max_replicas=2)
    begin = perf_counter()
    arrays = edrp.formulate(problem, "literal").program.arrays()
    console.print(f"literal program of 24 nodes, 2 replicas: {arrays.objective.size} columns in {perf_counter() - begin:.2f} s")
    table = Table("way", "seconds", "literal is slower by", title=f"{nodes} nodes, 2 replicas, 145 tuples/s")
    small = debs2015(145.0, network=geometric(nodes, 0), max_replicas=2)
    begin = perf_counter()
    edrp.solve(small, "highs", program="literal", time_limit=time_limit)
    slow = perf_counter() - begin
    table.add_row("literal on highs", f"{slow:.2f}", "1")
    for method in ("highs", "eliminate"):
        _, seconds = timed(small, method, time_limit)
        table.add_row("compact on highs" if method == "highs" else method, f"{seconds:.3f}", f"{slow / seconds:.0f}")
    console.print(table)


if __name__ == "__main__":
    app()
