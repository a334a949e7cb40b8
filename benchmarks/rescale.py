"""Rescaling: agreement with brute force, EDRP and SSM; answers, bounds and proofs beside baselines.

    python benchmarks/rescale.py agree --count 300      # program, decomposition and search against brute force on tiny problems
    python benchmarks/rescale.py special --count 300    # without tasks against EDRP, one operator against SSM
    python benchmarks/rescale.py compare run rows.jsonl --limits 1,10  # methods on families of instances; goes on
    python benchmarks/rescale.py compare run rows.jsonl --family cluster --limits 2,60  # 16 equal nodes, 10 operators
    python benchmarks/rescale.py compare show rows.jsonl

Kernels are compiled before anything is timed. The best known of an instance is the best answer of all runs in the file.
"""

from __future__ import annotations

import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from fnmatch import fnmatchcase
from itertools import product
from time import perf_counter
from typing import Annotated, Any

import numpy as np
import typer
from common import PROVEN, SAME, Rows, above, add_row, agrees, median_and_worst, objective, read_rows
from rich.console import Console
from rich.table import Table

import edrp
from edrp.check_problems.migration.rescale_brute_force import brute_force_rescale
from edrp.core.kinds import get_kind
from edrp.datasets.families.migration.random_migration import random_migration
from edrp.datasets.families.migration.random_rescale import random_rescale
from edrp.datasets.families.migration.rescale import WORK, rescaled, zipf_tasks
from edrp.datasets.families.placement.random_edrp import random_problem
from edrp.datasets.families.registry import generate
from edrp.migration.rescale.problem import RescaleProblem
from edrp.validation.benchmark.suites import RESCALE
from edrp.validation.oracles.migration.rescale_special_cases import as_one_operator, without_tasks

SHAPES = (
    {"keyed": (1, 2), "tasks": (3, 6), "nodes": (2, 3)},
    {"keyed": (2, 2), "tasks": (6, 8), "nodes": (3, 4)},
    {"keyed": (3, 3), "tasks": (6, 6), "nodes": (3, 3)},
)
"""Sizes of tiny problems, in turn."""

KEY = ("family", "index", "set", "tasks", "method", "limit")
"""Fields of a row that say which run it is."""

CLUSTER, FEW = "cluster", "few-keyed"
"""Families of this benchmark: equal nodes and many operators; two or three operators with tasks."""

application = typer.Typer(help=__doc__, add_completion=False)
comparison = typer.Typer(help="Methods on families of instances.", add_completion=False)
application.add_typer(comparison, name="compare")
console = Console(width=130)

Count = Annotated[int, typer.Option(help="Problems, of each family where there are several.")]
First = Annotated[int, typer.Option(help="Seed of the first one.")]


@application.command()
def agree(
    count: Count = 300,
    first: First = 0,
    scenarios: Annotated[bool, typer.Option(help="With load scenarios, which the decomposition does not take.")] = False,
) -> None:
    """Brute force, the program in HiGHS, the decomposition and the search on the same tiny problems."""
    statuses, missed, wrong = Counter[str](), 0, 0
    for seed in range(first, first + count):
        problem = random_rescale(seed, scenarios=scenarios, **SHAPES[seed % len(SHAPES)])
        optimum, _ = brute_force_rescale(problem)
        for method in ("highs",) if scenarios else ("highs", "range-decomposition"):
            answer = edrp.solve(problem, method)
            statuses[f"{method}: {answer.status}"] += 1
            if answer.status not in PROVEN or not agrees(answer, optimum):
                wrong += 1
                console.print(f"seed {seed}: brute force {optimum}, {method} {answer.status} {answer.objective}, {answer.bound}")
        missed += optimum is not None and objective(edrp.solve(problem, "range-annealing", runs=3)) > optimum + SAME
    console.print(f"{count} problems: {dict(sorted(statuses.items()))}; {wrong} answers differ from brute force")
    console.print(f"the search misses {missed} optima")
    sys.exit(wrong > 0)


@application.command()
def special(count: Count = 300, first: First = 0) -> None:
    """Placements without tasks against kind `edrp`, one operator on equal nodes against SSM."""
    wrong, compared = 0, Counter[str]()
    for seed in range(first, first + count):
        rescale, plain = without_tasks(random_problem(seed, operators=(3, 4), nodes=(3, 4), combinations_limit=2e3))
        pairs = [("edrp", objective(edrp.solve(rescale, "highs")), objective(edrp.solve(plain, "highs")))]
        migration = random_migration(seed).replace(allow_empty=False)
        if migration.nodes <= len(migration.work) and sum(migration.work) and sum(migration.state_size):
            ours, ssm = edrp.solve(as_one_operator(migration), "highs"), edrp.solve(migration, "ssm")
            pairs.append(("migration", objective(ours), objective(ssm) / sum(migration.state_size)))
        for kind, mine, other in pairs:
            compared[kind] += 1
            if mine != other and not abs(mine - other) <= SAME * max(1.0, abs(other)):
                wrong += 1
                console.print(f"{kind}, seed {seed}: {mine} as a rescaling, {other}")
    console.print(", ".join(f"{number} of kind {name}" for name, number in compared.items()) + f"; {wrong} differ")
    sys.exit(wrong > 0)


@comparison.command()
def run(
    rows: Rows,
    count: Count = 10,
    seed: Annotated[int, typer.Option(help="Seed of the set.")] = 3,
    tasks: Annotated[int, typer.Option(help="Tasks of each operator, in families of the kind.")] = 128,
    limits: Annotated[str, typer.Option(help="Seconds of the runs, with commas.")] = "2",
    method: Annotated[list[str] | None, typer.Option(help="Methods, instead of all.")] = None,
    family: Annotated[list[str] | None, typer.Option(help="Families by pattern, instead of all of the kind.")] = None,
    minutes: Annotated[float, typer.Option(help="Stop after these.")] = float("inf"),
) -> None:
    """Solve what is not in the file yet, instance 0 of every family first."""
    done = {tuple(row[name] for name in KEY) for row in read_rows(rows)}
    end, methods = perf_counter() + 60 * minutes, tuple(method or RESCALE)
    for solver in methods:
        edrp.solve(next(problem for _, problem in generate("rescale", 1, 0, size=8)), solver)
    for name, index, problem in instances(count, seed, tasks, family):
        for solver, limit in product(methods, map(float, limits.split(","))):
            row = dict(zip(KEY, (name, index, seed, tasks, solver, limit), strict=True))
            if tuple(row.values()) in done:
                continue
            if perf_counter() > end:
                return
            began = perf_counter()
            answer = edrp.solve(problem, solver, time_limit=limit)
            row |= {"status": answer.status, "objective": answer.objective, "bound": answer.bound, "notes": list(answer.notes)}
            add_row(rows, row | {"seconds": round(perf_counter() - began, 3)})
    show(rows)


@comparison.command()
def show(rows: Rows) -> None:
    """How far answers are above the best known, gaps, and how many are feasible and proven, by family, method and limit."""
    best: dict[Any, float] = defaultdict(lambda: np.inf)
    groups: dict[Any, list[dict[str, Any]]] = defaultdict(list)
    for row in read_rows(rows):
        row["held"] = np.inf if row["objective"] is None else row["objective"]
        row["of"] = tuple(row[name] for name in KEY[:4])
        best[row["of"]] = min(best[row["of"]], row["held"])
        groups[row["family"], row["method"], row["limit"]].append(row)
    table = Table("family", "method", "s", "% above the best known: median (worst)", "gap, %", "feasible", "proven")
    for (family, method, limit), found in sorted(groups.items()):
        feasible = [row for row in found if np.isfinite(row["held"])]
        ratios = [percent for row in feasible for percent in above([row["held"]], best[row["of"]])]
        gaps = [100 * (row["held"] - row["bound"]) / row["held"] for row in feasible if row["bound"] is not None]
        proven = sum(row["status"] in PROVEN for row in found)
        cells = (median_and_worst(ratios), median_and_worst(gaps), f"{len(feasible)} of {len(found)}", str(proven))
        table.add_row(family, method, f"{limit:g}", *cells)
    console.print(table)


def instances(count: int, seed: int, tasks: int, patterns: list[str] | None) -> Iterator[tuple[str, int, RescaleProblem]]:
    """Family, index and problem, index by index; a family's instances are the same whatever others are chosen."""
    names = [family.name for family in get_kind("rescale").families]
    own = {CLUSTER: cluster, FEW: few_keyed}
    chosen = [name for name in (*names, *own) if any(fnmatchcase(name, p) for p in patterns or names)]
    sets = {name: generate("rescale", count, seed, families=[name], size=tasks) for name in chosen if name not in own}
    for index in range(count):
        for name in chosen:
            yield name, index, own[name](seed, index) if name in own else next(sets[name])[1]


def few_keyed(seed: int, index: int) -> RescaleProblem:
    """Two or three operators with 128 tasks, half of them with Zipf's law over tasks and half over hashed keys."""
    make = WORK["zipf-tasks" if index % 2 else "hashed-keys"][0]
    draw = 0
    while True:
        random = np.random.default_rng(np.random.SeedSequence([seed, index, draw]))
        problem = rescaled(128, random, make, (1.5, 2.0)[index % 2])
        if len(problem.application.operators) - 1 <= 3:
            return problem
        draw += 1


def cluster(seed: int, index: int, operators: int = 10, tasks: int = 512, nodes: int = 16) -> RescaleProblem:
    """A chain of operators with tasks on equal nodes, whose load becomes half as much again: parts of smaller problems."""
    random = np.random.default_rng(np.random.SeedSequence([seed, index, nodes]))
    drawn: list[Any] = []
    present: dict[str, Any] = {}
    names = [f"node{u}" for u in range(nodes)]
    while len(drawn) < operators:
        part = rescaled(tasks, random, zipf_tasks, 1.5)
        for operator in part.application.operators[1:]:
            name, load = f"keyed{len(drawn)}", part.application.load(operator.name)
            held = [replica.tasks for replica in part.current.ranges(operator.name)]
            present[name] = [{"node": str(random.choice(names)), "tasks": interval} for interval in held]
            drawn.append((operator.model_copy(update={"name": name}).model_dump(), load))
    drawn = drawn[:operators]
    streams = [{"source": f"keyed{i}", "target": f"keyed{i + 1}", "rate": drawn[i + 1][1]} for i in range(operators - 1)]
    drawn[0][0]["external_rate"] = drawn[0][1]
    running = sum(len(present[operator["name"]]) for operator, _ in drawn)
    state = sum(sum(operator["tasks"]["state_size"]) for operator, _ in drawn)
    slots = float(max(3, np.ceil(3.75 * running / nodes)))
    card = {"up_rate": 1.25e8, "down_rate": 1.25e8, "spawn_time": 0.5, "resources": slots}
    return RescaleProblem(
        application={"operators": [operator for operator, _ in drawn], "streams": streams},
        network={
            "nodes": [{"name": name, "zone": "rack", **card} for name in names],
            "within_zone": {"delay": 3e-4, "cost": 1e-5},
        },
        synchronisation_time=0.5,
        transfer="direct",
        weights={"response_time": 0.4, "cost": 0.3, "downtime": 0.2, "moved_state": 0.1},
        limits={"response_time": 0.5, "cost": 4.0 * running, "downtime": 20.0, "moved_state": state},
        current={operator["name"]: present[operator["name"]] for operator, _ in drawn},
    )


if __name__ == "__main__":
    application()
