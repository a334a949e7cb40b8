"""Placements on clusters of equal nodes: how long proofs take, and that they agree with brute force, HiGHS and `eliminate`.

    python benchmarks/clusters.py chain                       # 5 operators on 4 x 8 to 32 x 16, all weightings: seconds
    python benchmarks/clusters.py families                    # generated clusters, 5 to 20 operators: minutes
    python benchmarks/clusters.py families --rival eliminate  # the same next to another method, which has --limit seconds, too
    python benchmarks/clusters.py searches                    # how far heuristics end from the optimum: minutes
    python benchmarks/clusters.py tiny --count 1000           # agreement with brute force: two minutes
    python benchmarks/clusters.py middle --count 300          # with HiGHS or eliminate, and with three heuristics: an hour
    python benchmarks/clusters.py tasks --data FOLDER         # CAPSys's queries side by side, 250 tasks on 16 x 16: ten minutes

Times are of one core, from the problem to the checked answer, the median of three runs where these are short; kernels are
compiled before.
"""

from __future__ import annotations

import sys
from statistics import median
from time import perf_counter
from typing import Annotated

import numpy as np
import typer
from rich.console import Console
from rich.table import Table

import edrp
from edrp.check_problems.placement.edrp_brute_force import brute_force
from edrp.datasets.families.placement.clusters import CLUSTER_FAMILIES, SIZES, WEIGHTINGS, cluster
from edrp.datasets.families.placement.random_clusters import random_cluster
from edrp.datasets.families.placement.shapes import layered_shape, sequential
from edrp.datasets.placement.capsys import capsys_together

METHOD = "equal-nodes"
OPERATORS = (5, 10, 15, 20)
HEURISTICS = ("iterated-local-search", "annealing", "greedy")
SAME = 1e-7
"""Difference of objectives that is a solver's tolerance."""

application = typer.Typer(help=__doc__, add_completion=False)
console = Console(width=140)


def timed(problem, method: str, limit: float | None = None) -> tuple[edrp.Solution, float]:
    """A solution, and seconds; the median of three runs where the first one is short."""
    seconds = []
    for _ in range(3):
        start = perf_counter()
        solution = edrp.solve(problem, method, time_limit=limit)
        seconds.append(perf_counter() - start)
        if seconds[0] > 2.0:
            break
    return solution, median(seconds)


def described(solution: edrp.Solution) -> str:
    """Status, and the gap where there is one."""
    return solution.status if solution.status != "feasible" else f"gap {solution.gap:.2%}" if solution.gap else "no bound"


@application.command()
def chain(
    rival: Annotated[str, typer.Option(help="Another method, to be run, too.")] = "",
    limit: Annotated[float, typer.Option(help="Seconds for each run.")] = 20.0,
) -> None:
    """A chain of five operators."""
    edrp.solve(cluster(5, np.random.default_rng(0), shape=sequential, size=SIZES[0]), METHOD)
    table = Table("nodes x slots", "weights", "objective", METHOD, "s", *([rival, "s"] if rival else []))
    for size in SIZES:
        for weights in WEIGHTINGS:
            problem = cluster(5, np.random.default_rng(0), shape=sequential, size=size, weights=weights)
            cells = [f"{size[0]} x {size[1]}", ", ".join(f"{name} {weight:g}" for name, weight in weights.items())]
            solution, seconds = timed(problem, METHOD, limit)
            cells += [f"{solution.objective:.6g}", described(solution), f"{seconds:.3f}"]
            if rival:
                other, seconds = timed(problem, rival, limit)
                cells += [described(other), f"{seconds:.2f}"]
            table.add_row(*cells)
    console.print(table)


@application.command()
def families(
    name: Annotated[str, typer.Option(help="Only families whose name contains this.")] = "",
    count: Annotated[int, typer.Option(help="Problems of each family and size.")] = 5,
    limit: Annotated[float, typer.Option(help="Seconds for each.")] = 30.0,
    rival: Annotated[str, typer.Option(help="Another method, to be run, too.")] = "",
    method: Annotated[str, typer.Option(help="Method.")] = METHOD,
    every: Annotated[bool, typer.Option(help="List every problem that is not proven in a second.")] = False,
    first: Annotated[int, typer.Option(help="Seed of the first one.")] = 0,
) -> None:
    """Consecutive seeds of every family of clusters."""
    asked = [family for family in CLUSTER_FAMILIES if name in family.name]
    for family in asked:  # kernels are compiled, all paths are taken once
        edrp.solve(family.make(5, np.random.default_rng(0)), method, time_limit=limit)
    others = [f"{rival}: proven", "median s", "best and worst against ours"] if rival else []
    table = Table("family", "operators", "proven", "median s", "worst s", "worst gap", *others)
    for family in asked:
        for operators in OPERATORS:
            problems = [family.make(operators, np.random.default_rng(seed)) for seed in range(first, first + count)]
            found = [timed(problem, method, limit) for problem in problems]
            for seed, (solution, seconds) in enumerate(found):
                if every and (seconds > 1 or solution.status not in ("optimal", "infeasible")):
                    weights = {key: value for key, value in problems[seed].weights.model_dump().items() if value}
                    nodes = len(problems[seed].network.nodes)
                    console.print(f"{family.name} {operators} seed {first + seed}: {nodes} nodes, {weights}", end=" ")
                    console.print(f"{described(solution)} {seconds:.2f} s", solution.size)
            cells = [family.name, str(operators), *_summary(found)]
            if rival:
                cells += _against([timed(problem, rival, limit) for problem in problems], found)
            table.add_row(*cells)
    console.print(table)


def _against(theirs: list[tuple[edrp.Solution, float]], ours: list[tuple[edrp.Solution, float]]) -> list[str]:
    """Cells of a rival: proven answers, median seconds, and how far its objectives lie from ours."""
    pairs = [(a.objective, b.objective) for (a, _), (b, _) in zip(theirs, ours, strict=True) if b.objective is not None]
    above = [np.inf if a is None else a / b - 1 for a, b in pairs]
    apart = f"{min(above):+.3%} {max(above):+.3%}" if above else ""
    return [f"{_proven(theirs)} of {len(theirs)}", f"{np.median([seconds for _, seconds in theirs]):.2f}", apart]


def _proven(found: list[tuple[edrp.Solution, float]]) -> int:
    """Number of answers that are proven."""
    return sum(solution.status in ("optimal", "infeasible") for solution, _ in found)


def _summary(found: list[tuple[edrp.Solution, float]]) -> list[str]:
    """Cells of a row: proven answers, median and worst seconds, and the worst gap."""
    seconds = [each for _, each in found]
    gaps = [np.inf if s.gap is None else s.gap for s, _ in found if s.status not in ("optimal", "infeasible")]
    gap = f"{max(gaps):.2%}" if gaps else ""
    return [f"{_proven(found)} of {len(found)}", f"{np.median(seconds):.3f}", f"{max(seconds):.2f}", gap]


@application.command()
def searches(
    name: Annotated[str, typer.Option(help="Only families whose name contains this.")] = "",
    count: Annotated[int, typer.Option(help="Problems of each family and size.")] = 2,
    limit: Annotated[float, typer.Option(help="Seconds for each.")] = 3.0,
) -> None:
    """How far heuristics end from the best placement known, which is mostly proven."""
    asked = [family for family in CLUSTER_FAMILIES if name in family.name]
    for method in (METHOD, *HEURISTICS):
        edrp.solve(asked[0].make(5, np.random.default_rng(0)), method)
    table = Table("family", "operators", *(f"{method}, mean and worst" for method in HEURISTICS))
    for family in asked:
        for operators in OPERATORS[1::2]:
            above: dict[str, list[float]] = {method: [] for method in HEURISTICS}
            for seed in range(count):
                problem = family.make(operators, np.random.default_rng(seed))
                found = {method: edrp.solve(problem, method, time_limit=limit).objective for method in (METHOD, *HEURISTICS)}
                best = min((objective for objective in found.values() if objective is not None), default=None)
                for method in HEURISTICS if best is not None else ():
                    above[method].append(np.inf if found[method] is None else found[method] / best - 1)
            shown = (f"{np.mean(gaps):.2%} {max(gaps):.2%}" if gaps else "" for gaps in above.values())
            table.add_row(family.name, str(operators), *shown)
    console.print(table)


@application.command()
def tiny(
    count: Annotated[int, typer.Option(help="Problems.")] = 1000,
    first: Annotated[int, typer.Option(help="Seed of the first one.")] = 0,
) -> None:
    """Agreement with brute force; every third application already runs."""
    differences = infeasible = still_open = 0
    for seed in range(first, first + count):
        problem = random_cluster(seed, running=seed % 3 == 2)
        best, _ = brute_force(problem)
        solution = edrp.solve(problem, METHOD)
        infeasible += best is None
        still_open += solution.status in ("feasible", "none")
        if not _agrees(solution, best):
            differences += 1
            console.print(f"seed {seed}: {solution.status} {solution.objective}, bound {solution.bound}, brute force {best}")
    console.print(f"{count} problems ({infeasible} infeasible), {still_open} not proven, {differences} differences")
    sys.exit(differences > 0)


def _agrees(solution: edrp.Solution, best: float | None) -> bool:
    """Whether a solution is consistent with an optimum that is known; an open one has to bracket it."""
    if best is None:
        return solution.objective is None and solution.status in ("infeasible", "none")
    if solution.status == "infeasible" or (solution.objective is not None and solution.objective < best - SAME * abs(best)):
        return False
    if solution.bound is not None and solution.bound > best + SAME * abs(best):
        return False
    return solution.status != "optimal" or abs(solution.objective - best) <= SAME * abs(best)


@application.command()
def middle(
    count: Annotated[int, typer.Option(help="Problems.")] = 300,
    first: Annotated[int, typer.Option(help="Seed of the first one.")] = 0,
    limit: Annotated[float, typer.Option(help="Seconds for each run of another method.")] = 10.0,
) -> None:
    """Agreement with other proofs and with heuristics on 4 nodes of 4 slots: an incumbent below a bound is an alarm."""
    alarms = compared = still_open = 0
    for seed in range(first, first + count):
        random = np.random.default_rng(seed)
        shape, zones, running = (sequential, layered_shape)[seed % 2], 1 + seed // 2 % 2, seed % 3 == 0
        problem = cluster(int(random.integers(3, 7)), random, shape=shape, zones=zones, running=running, size=(4, 4, 4))
        ours = edrp.solve(problem, METHOD, time_limit=limit)
        still_open += ours.status in ("feasible", "none")
        proven = False
        for method in ("highs", "eliminate", *HEURISTICS):
            if proven and method == "eliminate":
                continue
            other = edrp.solve(problem, method, time_limit=limit if method not in HEURISTICS else 1.0)
            below = None not in (other.objective, ours.bound) and other.objective < ours.bound - SAME * abs(ours.bound)
            above = ours.objective is not None and other.bound is not None and other.bound > ours.objective * (1 + SAME)
            if below or above or (other.status == "infeasible" and ours.objective is not None):
                alarms += 1
                console.print(f"seed {seed}: {ours.status} {ours.objective} {ours.bound}", end="; ")
                console.print(f"{method}: {other.status} {other.objective} {other.bound}")
            if method not in HEURISTICS and other.status in ("optimal", "infeasible"):
                compared, proven = compared + 1, True
    console.print(f"{count} problems, {compared} proven by another method, {still_open} not by {METHOD}, {alarms} alarms")
    sys.exit(alarms > 0)


@application.command()
def tasks(
    data: Annotated[str | None, typer.Option(help="Folder that holds capsys/queries_4x8.json.")] = None,
    seconds: Annotated[float, typer.Option(help="Seconds for each stage.")] = 60.0,
) -> None:
    """Gaps of all stages where queries run side by side: 20 operators, 250 tasks, 16 nodes of 16 slots, 1 % slack."""
    problems = capsys_together(data)
    edrp.solve(next(iter(problems.values())), "fixed-tasks", time_limit=3.0)  # compiles the kernels
    table = Table("queries", "peak", "least", "bound", "gap", "s")
    for name, problem in problems.items():
        solution = edrp.solve(problem, "fixed-tasks", time_limit=seconds * len(problem.priorities))
        for stage in solution.stages:
            peak = stage.metric.removeprefix("peak_loads.")
            table.add_row(name, peak, f"{stage.value:.6f}", f"{stage.bound:.6f}", f"{stage.gap:.3%}", f"{stage.seconds:.0f}")
    console.print(table)


if __name__ == "__main__":
    application()
