"""Answers, bounds and proofs of rescalings after so many seconds, family by family, and on a cluster of equal nodes.

    python benchmarks/rescale.py gaps run rows.jsonl --count 10                       # 128 tasks, 8 nodes; goes on
    python benchmarks/rescale.py gaps run rows.jsonl --family few-keyed --limits 30   # two or three keyed operators
    python benchmarks/rescale.py gaps run rows.jsonl --family cluster --limits 2,60   # 16 equal nodes, 10 operators, 512 tasks
    python benchmarks/rescale.py gaps show rows.jsonl

Kernels are warm. The best known of an instance is the best answer of all runs in the file.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator
from fnmatch import fnmatchcase
from pathlib import Path
from time import perf_counter
from typing import Annotated, Any

import numpy as np
import typer
from rescale_table import read

import edrp
from edrp.datasets.families.migration.rescale import WORK, rescaled, zipf_tasks
from edrp.datasets.families.registry import generate
from edrp.migration.rescale.problem import RescaleProblem

METHODS = ("range-decomposition", "range-annealing", "auto")
LIMITS = "1,10"
FACTORS = (1.5, 2.0, 0.5)
KEY = ("family", "index", "set", "method", "limit")
CLUSTER, FEW = "cluster", "few-keyed"
"""Families of this benchmark: equal nodes and many operators; two or three operators with tasks."""

application = typer.Typer(help=__doc__, add_completion=False)
Rows = Annotated[Path, typer.Argument(help="JSON lines, one for each run.")]


@application.command()
def run(
    rows: Rows,
    count: Annotated[int, typer.Option(help="Instances of each family.")] = 10,
    seed: Annotated[int, typer.Option(help="Seed of the set.")] = 3,
    limits: Annotated[str, typer.Option(help="Seconds of the runs, with commas.")] = LIMITS,
    method: Annotated[list[str] | None, typer.Option(help="Methods, instead of all three.")] = None,
    family: Annotated[list[str] | None, typer.Option(help="Families by pattern, instead of zipf-tasks and hashed-keys.")] = None,
    minutes: Annotated[float, typer.Option(help="Stop after these.")] = float("inf"),
) -> None:
    """Solve what is not in the file yet, instance 0 of every family first."""
    done = {tuple(row[name] for name in KEY) for row in read(rows)}
    end, methods = perf_counter() + 60 * minutes, tuple(method or METHODS)
    for name in methods:
        edrp.solve(next(problem for _, problem in generate("rescale", 1, 0, size=8)), name)
    for name, index, problem in instances(count, seed, tuple(family or ("zipf-tasks-*", "hashed-keys-*"))):
        for solver in methods:
            for limit in map(float, limits.split(",")):
                row = dict(zip(KEY, (name, index, seed, solver, limit), strict=True))
                if tuple(row.values()) in done:
                    continue
                if perf_counter() > end:
                    return
                began = perf_counter()
                answer = edrp.solve(problem, solver, time_limit=limit)
                row |= {
                    "status": answer.status,
                    "objective": answer.objective,
                    "bound": answer.bound,
                    "ended": answer.stopped_because,
                }
                row |= {"keyed": sum(o.tasks is not None for o in problem.application.operators)}
                row["seconds"] = round(perf_counter() - began, 3)
                with rows.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(row) + "\n")
    show(rows)


@application.command()
def show(rows: Rows) -> None:
    """Medians and worst of how far answers are above the best known, of gaps, and how many are proven."""
    best: dict[Any, float] = defaultdict(lambda: np.inf)
    for row in read(rows):
        at = row["family"], row["index"], row["set"]
        best[at] = min(best[at], np.inf if row["objective"] is None else row["objective"])
    cells: dict[Any, list[tuple[float, float, bool]]] = defaultdict(list)
    for row in read(rows):
        least = best[row["family"], row["index"], row["set"]]
        held = row["objective"]
        above = np.inf if held is None else 100 * (held / least - 1)
        gap = np.inf if held is None or row["bound"] is None else 100 * (held - row["bound"]) / held
        proven = row["status"] in ("optimal", "infeasible")
        for name in (row["family"], "all"):
            cells[name, row["method"], row["limit"]].append((above, gap, proven))
    print("Percent above the best known, and gap in percent: median (worst).\n")
    print("| family | method | s | above the best | gap | proven |\n|---|---|---|---|---|---|")
    for (name, method, limit), found in sorted(cells.items()):
        above, gaps = np.array([part[:2] for part in found]).T
        proven = sum(part[2] for part in found)
        print(f"| {name} | {method} | {limit:g} | {_cell(above)} | {_cell(gaps)} | {proven} of {len(found)} |")


def _cell(values: Any) -> str:
    """Median and worst of some percentages."""
    return f"{np.median(values):.2f} ({values.max():.2f})"


def instances(count: int, seed: int, patterns: tuple[str, ...]) -> Iterator[tuple[str, int, RescaleProblem]]:
    """Instances of all families that match a pattern, instance by instance."""
    names = [f"{work}-{100 * factor:.0f}" for work in ("zipf-tasks", "hashed-keys") for factor in FACTORS] + [CLUSTER, FEW]
    chosen = [name for name in names if any(fnmatchcase(name, pattern) for pattern in patterns)]
    known = {name: list(generate("rescale", count, seed, families=[name])) for name in chosen if name not in (CLUSTER, FEW)}
    for index in range(count):
        for name in chosen:
            if name == CLUSTER:
                yield name, index, cluster(seed, index)
            elif name == FEW:
                yield name, index, few_keyed(seed, index)
            else:
                yield name, index, known[name][index][1]


def few_keyed(seed: int, index: int) -> RescaleProblem:
    """Two or three operators with 128 tasks, half of them with Zipf's law over tasks and half over hashed keys."""
    make = WORK["zipf-tasks" if index % 2 else "hashed-keys"][0]
    draw = 0
    while True:
        random = np.random.default_rng(np.random.SeedSequence([seed, index, draw]))
        problem = rescaled(128, random, make, FACTORS[index % 2])
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
        part = rescaled(tasks, random, zipf_tasks, FACTORS[0])
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
