"""Placements on clusters of equal nodes: how long proofs take, and that they agree with brute force, HiGHS and `eliminate`.

    python benchmarks/clusters.py chain                       # 5 operators on 4 x 8 to 32 x 16, all weightings: seconds
    python benchmarks/clusters.py families                    # generated clusters, 5 to 20 operators: minutes
    python benchmarks/clusters.py families --rival eliminate  # the same next to another method, which has --limit seconds, too
    python benchmarks/clusters.py searches                    # how far heuristics end from the optimum: minutes
    python benchmarks/clusters.py tiny --count 1000           # agreement with brute force: two minutes
    python benchmarks/clusters.py middle --count 300          # with HiGHS or eliminate, and with three heuristics: an hour

Times are of one core, from the problem to the checked answer, the median of three runs where these are short; kernels are
compiled before.
"""

from __future__ import annotations

import sys
from functools import partial
from typing import Annotated

import numpy as np
import typer
from common import SAME, above, agrees, is_proven, median_and_worst, objective, timed
from rich.console import Console
from rich.table import Table

import edrp
from edrp.check_problems.placement.edrp_brute_force import brute_force
from edrp.datasets.families.placement.clusters import CLUSTER_FAMILIES, SIZES, WEIGHTINGS, cluster
from edrp.datasets.families.placement.random_clusters import random_cluster
from edrp.datasets.families.placement.shapes import layered_shape, sequential

METHOD = "equal-nodes"
OPERATORS = (5, 10, 15, 20)
HEURISTICS = ("iterated-local-search", "annealing", "greedy")

application = typer.Typer(help=__doc__, add_completion=False)
console = Console(width=140)

Answers = list[tuple[edrp.Solution, float]]
Count = Annotated[int, typer.Option(help="Problems, of each family and size where there are several.")]
First = Annotated[int, typer.Option(help="Seed of the first one.")]
Limit = Annotated[float, typer.Option(help="Seconds for each run.")]
Name = Annotated[str, typer.Option(help="Only families whose name contains this.")]
Rival = Annotated[str, typer.Option(help="Another method, to be run, too.")]


def solved(problem: edrp.EdrpProblem, method: str, limit: float) -> tuple[edrp.Solution, float]:
    """Solution and seconds."""
    return timed(partial(edrp.solve, problem, method, time_limit=limit), repeats=3)


def described(solution: edrp.Solution) -> str:
    """Status, and the gap where there is one."""
    return solution.status if solution.status != "feasible" else f"gap {solution.gap:.2%}" if solution.gap else "no bound"


@application.command()
def chain(rival: Rival = "", limit: Limit = 20.0) -> None:
    """A chain of five operators."""
    edrp.solve(cluster(5, np.random.default_rng(0), shape=sequential, size=SIZES[0]), METHOD)
    table = Table("nodes x slots", "weights", "objective", METHOD, "s", *([rival, "s"] if rival else []))
    for size in SIZES:
        for weights in WEIGHTINGS:
            problem = cluster(5, np.random.default_rng(0), shape=sequential, size=size, weights=weights)
            solution, seconds = solved(problem, METHOD, limit)
            cells = [f"{size[0]} x {size[1]}", ", ".join(f"{name} {weight:g}" for name, weight in weights.items())]
            cells += [f"{solution.objective:.6g}", described(solution), f"{seconds:.3f}"]
            if rival:
                other, seconds = solved(problem, rival, limit)
                cells += [described(other), f"{seconds:.2f}"]
            table.add_row(*cells)
    console.print(table)


@application.command()
def families(
    name: Name = "",
    count: Count = 5,
    limit: Limit = 30.0,
    rival: Rival = "",
    method: Annotated[str, typer.Option(help="Method.")] = METHOD,
    every: Annotated[bool, typer.Option(help="List every problem that is not proven in a second.")] = False,
    first: First = 0,
) -> None:
    """Consecutive seeds of every family of clusters."""
    chosen = [family for family in CLUSTER_FAMILIES if name in family.name]
    for family in chosen:  # kernels are compiled, all paths are taken once
        edrp.solve(family.make(5, np.random.default_rng(0)), method, time_limit=limit)
    others = [f"{rival}: proven", "median s", "best and worst against ours"] if rival else []
    table = Table("family", "operators", "proven", "median s", "worst s", "worst gap", *others)
    for family in chosen:
        for operators in OPERATORS:
            problems = [family.make(operators, np.random.default_rng(seed)) for seed in range(first, first + count)]
            answers = [solved(problem, method, limit) for problem in problems]
            for seed, (solution, seconds) in enumerate(answers, first):
                if every and (seconds > 1 or not is_proven(solution)):
                    console.print(f"{family.name} {operators} seed {seed}: {described(solution)} {seconds:.2f} s", solution.size)
            cells = [family.name, str(operators), *_summary(answers)]
            if rival:
                cells += _against([solved(problem, rival, limit) for problem in problems], answers)
            table.add_row(*cells)
    console.print(table)


def _against(theirs: Answers, ours: Answers) -> list[str]:
    """Cells of a rival: proven answers, median seconds, and how far its objectives lie from ours."""
    apart = [objective(a) / b.objective - 1 for (a, _), (b, _) in zip(theirs, ours, strict=True) if b.objective is not None]
    return [*_summary(theirs)[:2], f"{min(apart):+.3%} {max(apart):+.3%}" if apart else ""]


def _summary(answers: Answers) -> list[str]:
    """Cells of a row: proven answers, median and worst seconds, and the worst gap."""
    seconds = [taken for _, taken in answers]
    gaps = [np.inf if s.gap is None else s.gap for s, _ in answers if not is_proven(s)]
    proven = f"{sum(is_proven(solution) for solution, _ in answers)} of {len(answers)}"
    return [proven, f"{np.median(seconds):.3f}", f"{max(seconds):.2f}", f"{max(gaps):.2%}" if gaps else ""]


@application.command()
def searches(name: Name = "", count: Count = 2, limit: Limit = 3.0) -> None:
    """How far heuristics end from the best placement known, which is mostly proven."""
    chosen = [family for family in CLUSTER_FAMILIES if name in family.name]
    methods = (METHOD, *HEURISTICS)
    for method in methods:
        edrp.solve(chosen[0].make(5, np.random.default_rng(0)), method)
    table = Table("family", "operators", *(f"{method}: % above, median (worst)" for method in HEURISTICS))
    for family in chosen:
        for operators in OPERATORS[1::2]:
            gaps = []
            for seed in range(count):
                problem = family.make(operators, np.random.default_rng(seed))
                objectives = [objective(edrp.solve(problem, method, time_limit=limit)) for method in methods]
                if np.isfinite(min(objectives)):
                    gaps.append(above(objectives[1:], min(objectives)))
            cells = map(median_and_worst, zip(*gaps, strict=True)) if gaps else ()
            table.add_row(family.name, str(operators), *cells)
    console.print(table)


@application.command()
def tiny(count: Count = 1000, first: First = 0) -> None:
    """Agreement with brute force; every third application already runs."""
    differences = infeasible = still_open = 0
    for seed in range(first, first + count):
        problem = random_cluster(seed, running=seed % 3 == 2)
        best, _ = brute_force(problem)
        solution = edrp.solve(problem, METHOD)
        infeasible += best is None
        still_open += not is_proven(solution)
        if not agrees(solution, best):
            differences += 1
            console.print(f"seed {seed}: {solution.status} {solution.objective}, bound {solution.bound}, brute force {best}")
    console.print(f"{count} problems ({infeasible} infeasible), {still_open} not proven, {differences} differences")
    sys.exit(differences > 0)


@application.command()
def middle(count: Count = 300, first: First = 0, limit: Limit = 10.0) -> None:
    """Agreement with other proofs and with heuristics on 4 nodes of 4 slots: an incumbent below a bound is an alarm."""
    alarms = compared = still_open = 0
    for seed in range(first, first + count):
        random = np.random.default_rng(seed)
        shape, zones, running = (sequential, layered_shape)[seed % 2], 1 + seed // 2 % 2, seed % 3 == 0
        problem = cluster(int(random.integers(3, 7)), random, shape=shape, zones=zones, running=running, size=(4, 4, 4))
        ours = edrp.solve(problem, METHOD, time_limit=limit)
        still_open += not is_proven(ours)
        proven = False
        for method in ("highs", "eliminate", *HEURISTICS):
            if proven and method == "eliminate":
                continue
            other = edrp.solve(problem, method, time_limit=limit if method not in HEURISTICS else 1.0)
            below = None not in (other.objective, ours.bound) and other.objective < ours.bound - SAME * abs(ours.bound)
            refuted = ours.objective is not None and other.bound is not None and other.bound > ours.objective * (1 + SAME)
            if below or refuted or (other.status == "infeasible" and ours.objective is not None):
                alarms += 1
                console.print(f"seed {seed}: {ours.status} {ours.objective} {ours.bound}", end="; ")
                console.print(f"{method}: {other.status} {other.objective} {other.bound}")
            if method not in HEURISTICS and is_proven(other):
                compared, proven = compared + 1, True
    console.print(f"{count} problems, {compared} proven by another method, {still_open} not by {METHOD}, {alarms} alarms")
    sys.exit(alarms > 0)


if __name__ == "__main__":
    application()
