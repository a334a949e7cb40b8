"""Rescaling: agreement with brute force, EDRP and SSM, what the search needs, and the search against baselines.

    python benchmarks/rescale.py agree --count 300      # program, decomposition and search against brute force on tiny problems
    python benchmarks/rescale.py special --count 300    # without tasks against EDRP, one operator against SSM
    python benchmarks/rescale.py times --count 10       # the search after 0.2, 1 and 5 s, above the best known
    python benchmarks/rescale.py table run rows.jsonl   # methods above the best known, family by family; goes on
    python benchmarks/rescale.py table show rows.jsonl
    python benchmarks/rescale.py gaps run rows.jsonl    # answers, bounds and proofs after 1 and 10 s; `gaps run --help`
    python benchmarks/rescale.py gaps show rows.jsonl
    python benchmarks/rescale.py keys                   # methods over a day of real keys, hour by hour
    python benchmarks/rescale.py ahead                  # decisions for the load of now and for load scenarios, over days

Kernels are compiled before anything is timed.
"""

from __future__ import annotations

import sys
from collections import Counter
from time import perf_counter
from typing import Annotated

import numpy as np
import rescale_ahead
import rescale_days
import rescale_gaps
import rescale_table
import typer
from rescale_table import warm_up
from rich.console import Console
from rich.table import Table

import edrp
from edrp.check_problems.migration.rescale_brute_force import brute_force_rescale
from edrp.core.kinds import get_kind
from edrp.datasets.families.migration.random_migration import random_migration
from edrp.datasets.families.migration.random_rescale import random_rescale
from edrp.datasets.families.placement.random_edrp import random_problem
from edrp.datasets.families.registry import generate
from edrp.migration.rescale.problem import RescaleSolution
from edrp.validation.oracles.migration.rescale_special_cases import as_one_operator, without_tasks

SAME = 1e-7
"""Difference of objectives that is a solver's tolerance."""

LIMITS = (0.2, 1.0, 5.0)
SHAPES = (
    {"keyed": (1, 2), "tasks": (3, 6), "nodes": (2, 3)},
    {"keyed": (2, 2), "tasks": (6, 8), "nodes": (3, 4)},
    {"keyed": (3, 3), "tasks": (6, 6), "nodes": (3, 3)},
)
"""Sizes of tiny problems, in turn."""

application = typer.Typer(help=__doc__, add_completion=False)
application.add_typer(rescale_table.application, name="table")
application.add_typer(rescale_gaps.application, name="gaps")
application.command()(rescale_days.keys)
application.command()(rescale_ahead.ahead)
console = Console(width=130)


@application.command()
def agree(
    count: Annotated[int, typer.Option(help="Problems.")] = 300,
    first: Annotated[int, typer.Option(help="Seed of the first one.")] = 0,
    scenarios: Annotated[bool, typer.Option(help="With load scenarios, which the decomposition does not take.")] = False,
) -> None:
    """Brute force, the program in HiGHS, the decomposition and the search on the same tiny problems."""
    statuses, missed, wrong, seconds = Counter[str](), 0, 0, np.zeros(4)
    for seed in range(first, first + count):
        problem = random_rescale(seed, scenarios=scenarios, **SHAPES[seed % len(SHAPES)])
        marks = [perf_counter()]
        optimum, _ = brute_force_rescale(problem)
        marks.append(perf_counter())
        proven = edrp.solve(problem, "highs")
        marks.append(perf_counter())
        decomposed = proven if scenarios else edrp.solve(problem, "range-decomposition")  # which refuses scenarios
        marks.append(perf_counter())
        found = edrp.solve(problem, "range-annealing", runs=3)
        marks.append(perf_counter())
        seconds += np.diff(marks)
        statuses[proven.status] += 1
        for name, answer in (("program", proven), ("decomposition", decomposed)):
            if not _agrees(answer, optimum):
                wrong += 1
                console.print(f"seed {seed}: brute force {optimum}, {name} {answer.status} {answer.objective}, {answer.bound}")
        missed += optimum is not None and (found.objective is None or found.objective > optimum + SAME)
    told = ", ".join(f"{number} {name}" for name, number in statuses.items())
    console.print(f"{count} problems: {told}; program and decomposition differ from brute force {wrong} times")
    console.print(f"the search misses {missed} optima")
    console.print("seconds of brute force, program, decomposition and search: " + ", ".join(f"{value:.1f}" for value in seconds))
    sys.exit(wrong > 0)


def _agrees(answer: RescaleSolution, optimum: float | None) -> bool:
    """Whether status, objective and bound are those of brute force."""
    if optimum is None:
        return answer.status == "infeasible"
    bounded = answer.bound is None or answer.bound <= optimum + SAME
    return answer.status == "optimal" and bounded and abs(_held(answer) - optimum) <= SAME


@application.command()
def special(
    count: Annotated[int, typer.Option(help="Problems of either kind.")] = 300,
    first: Annotated[int, typer.Option(help="Seed of the first one.")] = 0,
) -> None:
    """Placements without tasks against kind `edrp`, one operator on equal nodes against SSM."""
    wrong, told = 0, Counter[str]()
    for seed in range(first, first + count):
        rescale, plain = without_tasks(random_problem(seed, operators=(3, 4), nodes=(3, 4), combinations_limit=2e3))
        found, known = edrp.solve(rescale, "highs"), edrp.solve(plain, "highs")
        wrong += not _same("edrp", seed, _held(found), _held(known), told)
        migration = random_migration(seed).replace(allow_empty=False)
        if migration.nodes <= len(migration.work) and sum(migration.work) and sum(migration.state_size):
            ours, ssm = edrp.solve(as_one_operator(migration), "highs"), edrp.solve(migration, "ssm")
            state = sum(migration.state_size)
            known_share = np.inf if ssm.objective is None else ssm.objective / state
            wrong += not _same("migration", seed, _held(ours), known_share, told)
    console.print(", ".join(f"{number} of kind {name}" for name, number in told.items()) + f"; {wrong} differ")
    sys.exit(wrong > 0)


def _same(kind: str, seed: int, ours: float, theirs: float, told: Counter[str]) -> bool:
    """Whether two optima are the same, infinite where nothing is feasible."""
    told[kind] += 1
    same = ours == theirs or abs(ours - theirs) <= SAME * max(1.0, abs(theirs))
    if not same:
        console.print(f"{kind}, seed {seed}: {ours} as a rescaling, {theirs}")
    return same


@application.command()
def times(
    count: Annotated[int, typer.Option(help="Instances of each family.")] = 10,
    seed: Annotated[int, typer.Option(help="Seed of the set.")] = 2,
    tasks: Annotated[int, typer.Option(help="Tasks of each operator.")] = 128,
    long: Annotated[float, typer.Option(help="Seconds for the best known, of each of two seeds.")] = 10.0,
) -> None:
    """The answer of the search after some seconds, in percent above the best of longer runs."""
    shown = Table("", *(f"{limit:g} s" for limit in LIMITS), title="percent above the best known: median (worst)")
    warm_up()
    for family in _families():
        gaps = []
        for _, problem in generate("rescale", count, seed, families=[family], size=tasks):
            found = [_held(edrp.solve(problem, "range-annealing", time_limit=limit)) for limit in LIMITS]
            runs = [edrp.solve(problem, "range-annealing", time_limit=long, seed=other, runs=1000) for other in (1, 2)]
            best = min(*found, *(_held(run) for run in runs))
            gaps.append([100 * (value / best - 1) for value in found])
        cells = np.array(gaps)
        shown.add_row(family, *(f"{np.median(column):.2f} ({column.max():.2f})" for column in cells.T))
    console.print(shown)


def _families() -> list[str]:
    """Names of all families of the kind."""
    return [family.name for family in get_kind("rescale").families]


def _held(solution: RescaleSolution) -> float:
    """Objective of an answer, infinite where it holds no deployment."""
    return np.inf if solution.objective is None else solution.objective


if __name__ == "__main__":
    application()
