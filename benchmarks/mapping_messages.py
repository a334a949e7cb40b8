"""The decentralised mapping heuristics compared with the true optimum and the bound of the paper (bi-modal networks, Fig. 7).

    python benchmarks/mapping_messages.py               # 100 tasks on networks of 30, 60, 90 and 120 servers: a few minutes
    python benchmarks/mapping_messages.py --orders 20   # LeastCostMap besides under twenty orders of messages
    python benchmarks/mapping_messages.py --least 1     # costs of links from 1 to 100 instead of 10 to 100

Ratios are means over the tasks that a heuristic maps; `found` is their share of all that can be mapped. The exponent is the slope
of mean messages over servers, both as logarithms. Under other orders a message takes between nothing and the delay of its link,
drawn again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console
from rich.table import Table

import edrp
from edrp.core.arrays import Floats
from edrp.datasets.families.mapping.power_law_networks import COSTS, mapping_problem
from edrp.formulations.mapping.lagrangian import relaxed_bound
from edrp.mapping.path_mapping import MappingProblem

SIZES = (30, 60, 90, 120)
MAX_MESSAGES = 50_000
"""Limit on the messages of RandomNeighbor with more than one neighbour."""

HEURISTICS: Mapping[str, tuple[str, dict[str, Any]]] = {
    "LeastCostMap": ("least-cost-map", {}),
    "… split by hops": ("least-cost-map", {"split_by_hops": True}),
    "AnnealedLeastCostMap": ("annealed-least-cost-map", {}),
    "RandomNeighbor, k = 1": ("random-neighbor", {}),
    f"… k = 2, {MAX_MESSAGES} messages": ("random-neighbor", {"neighbours": 2, "max_messages": MAX_MESSAGES}),
}
"""Name, method and parameters."""

console = Console(width=130)


@dataclass(frozen=True, slots=True)
class Task:
    """A task that can be mapped, its least cost, and the paper's bound on that."""

    problem: MappingProblem
    optimum: float
    bound: float


def mappable(servers: int, count: int, costs: tuple[int, int]) -> list[Task]:
    """Those of so many tasks that have a map."""
    tasks = []
    for seed in range(1, count + 1):
        problem = mapping_problem(servers, seed=seed, costs=costs)
        exact = edrp.solve(problem, "label-setting")
        if exact.objective is not None:
            tasks.append(Task(problem, exact.objective, relaxed_bound(problem)))
    return tasks


def run(tasks: list[Task], method: str, parameters: Mapping[str, Any], seed: int = 0) -> tuple[Floats, float]:
    """Costs of a heuristic, infinite where it finds no map, and its messages in the mean."""
    solutions = [edrp.solve(task.problem, method, seed=seed, **parameters) for task in tasks]
    costs = [np.inf if solution.objective is None else solution.objective for solution in solutions]
    return np.array(costs), float(np.mean([solution.size["map_messages"] for solution in solutions]))


def ratios(tasks: list[Task], costs: Floats, to: str) -> Floats:
    """Costs as multiples of the optimum or the bound, where there is a map."""
    mapped = np.isfinite(costs)
    return costs[mapped] / np.array([getattr(task, to) for task in tasks])[mapped]


def exponent(messages: Mapping[int, float]) -> float:
    """Growth of messages with servers."""
    sizes = sorted(messages)
    return float(np.polyfit(np.log(sizes), np.log([messages[size] for size in sizes]), 1)[0])


def compare(by_size: Mapping[int, list[Task]]) -> None:
    """One row per heuristic and size."""
    table = Table("heuristic")
    for heading in ("servers", "found %", "× optimum", "worst", "optimal %", "× bound", "messages", "exponent"):
        table.add_column(heading, justify="right")
    for name, (method, parameters) in HEURISTICS.items():
        messages: dict[int, float] = {}
        for servers, tasks in by_size.items():
            costs, messages[servers] = run(tasks, method, parameters)
            ratio, above = ratios(tasks, costs, "optimum"), ratios(tasks, costs, "bound")
            last = servers == max(by_size) and len(by_size) > 1
            table.add_row(
                name,
                str(servers),
                f"{100 * len(ratio) / len(tasks):.1f}",
                f"{ratio.mean():.3f}" if len(ratio) else "",
                f"{ratio.max():.2f}" if len(ratio) else "",
                f"{100 * np.mean(ratio < 1 + 1e-9):.0f}" if len(ratio) else "",
                f"{above.mean():.2f}" if len(ratio) else "",
                f"{messages[servers]:.0f}",
                f"{exponent(messages):.2f}" if last else "",
                end_section=servers == max(by_size),
            )
    console.print(table)


def reorder(by_size: Mapping[int, list[Task]], orders: int) -> None:
    """LeastCostMap under many orders of the same messages."""
    table = Table("servers", "runs", "without a map", "tasks that depend on the order %", "× optimum", "worst")
    for servers, tasks in by_size.items():
        costs = np.array([run(tasks, "least-cost-map", {"jitter": 1.0}, seed)[0] for seed in range(orders)])
        ratio = np.concatenate([ratios(tasks, order_costs, "optimum") for order_costs in costs])
        depends = 100 * np.mean(costs.min(axis=0) < costs.max(axis=0))
        table.add_row(
            str(servers),
            str(costs.size),
            str(np.isinf(costs).sum()),
            f"{depends:.0f}",
            f"{ratio.mean():.3f}",
            f"{ratio.max():.2f}",
        )
    console.print(table)


def main(
    instances: Annotated[int, typer.Option(help="Tasks per size.")] = 100,
    orders: Annotated[int, typer.Option(help="Orders of messages for LeastCostMap.")] = 0,
    least: Annotated[int, typer.Option(help="Least cost of a link; the most is as documented.")] = COSTS[0],
) -> None:
    """Solve exactly, run the heuristics, compare."""
    by_size = {servers: mappable(servers, instances, (least, COSTS[1])) for servers in SIZES}
    counts = ", ".join(f"{len(tasks)} of {instances} at {servers}" for servers, tasks in by_size.items())
    bounds = [task.optimum / task.bound for tasks in by_size.values() for task in tasks]
    console.print(f"tasks that can be mapped: {counts} servers; optimum {np.mean(bounds):.2f} × the paper's bound in the mean")
    compare(by_size)
    if orders:
        reorder(by_size, orders)


if __name__ == "__main__":
    typer.run(main)
