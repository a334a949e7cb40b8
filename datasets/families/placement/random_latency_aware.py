"""Small random problems of latency-aware placement that use every feature of the model, for agreement tests."""

from __future__ import annotations

from math import comb, prod
from typing import Any

import numpy as np

from edrp.placement.latency_aware import LatencyAwareProblem

Random = np.random.Generator

WEIGHTINGS: tuple[dict[str, float], ...] = (
    {},
    {},
    {"latency": 0.0},
    {"latency": 1e-3},
    {"latency": 0.05},
    {"latency": 1.0, "supervisors": 0.5},
    {"supervisors": 0.0},
    {"colocation": 0.0},
    {"events": 0.0},
    {"colocation": 0.0, "events": 0.0},
    {"supervisors": 0.0, "colocation": 0.0, "events": 0.0, "latency": 0.01},
)
RESOURCES = (("cpu", "memory"), ("cpu", "memory"), ("slots",), ("cpu", "memory", "disk"), ())


def random_latency_aware_problem(
    seed: int,
    *,
    operators: tuple[int, int] = (2, 6),
    nodes: tuple[int, int] = (2, 5),
    max_instances: int = 3,
    combinations_limit: float = 3e5,
    room: float = 1.0,
) -> LatencyAwareProblem:
    """Draw a problem; about one in eight is infeasible.

    Cycles, self loops, several instances, candidates, equal and unequal nodes, nodes without limits, delays that
    differ by direction, one to three resources of any name or plain numbers, and weights of zero occur.

    Parameters
    ----------
    combinations_limit
        Instances are cut until the product of the operators' multisets of nodes is at most this.
    room
        Factor of all capacities; less than 1 makes more operators spread over nodes, and more problems infeasible.
    """
    random = np.random.default_rng([seed, 2003])
    names = [f"n{u}" for u in range(random.integers(nodes[0], nodes[1] + 1))]
    resources = RESOURCES[random.integers(len(RESOURCES))]
    count = int(random.integers(operators[0], operators[1] + 1))
    described: list[dict[str, Any]] = [
        {
            "name": f"o{i}",
            "resources": _amounts(random, resources, 0.05, 0.4),
            "instances": int(random.integers(1, max_instances + 1)),
            "candidates": _candidates(random, names),
            "external_rate": 10.0 if i == 0 else 0.0,
            "selectivity": float(random.choice([0.5, 1.0, 2.0])),
        }
        for i in range(count)
    ]
    while prod(comb(len(o["candidates"] or names) + o["instances"] - 1, o["instances"]) for o in described) > combinations_limit:
        largest = max(described, key=lambda operator: int(operator["instances"]))
        largest["instances"] -= 1
    fields: dict[str, Any] = {
        "application": {"operators": described, "streams": _streams(random, count)},
        "network": {"nodes": _nodes(random, names, resources, room), "links": _links(random, names), "symmetric": False},
        "weights": WEIGHTINGS[random.integers(len(WEIGHTINGS))],
    }
    return LatencyAwareProblem(**fields)


def _amounts(random: Random, resources: tuple[str, ...], smallest: float, largest: float) -> Any:
    steps = random.random() < 0.5  # amounts of a common divisor, or any amounts

    def amount() -> float:
        drawn = float(random.uniform(smallest, largest))
        return round(drawn * 20) / 20 if steps else drawn

    return {name: amount() for name in resources} if resources else amount()


def _candidates(random: Random, names: list[str]) -> list[str] | None:
    if random.random() < 0.8:
        return None
    return sorted(random.choice(names, int(random.integers(1, len(names) + 1)), replace=False).tolist())


def _streams(random: Random, count: int) -> list[dict[str, Any]]:
    chance, backward = float(random.choice([0.3, 0.6])), random.random() < 0.3
    drawn = []
    for i in range(count):
        for j in range(count):
            likely = chance if i < j else 0.25 if backward else 0.0
            if j == i + 1 or random.random() < likely:
                has_rate = backward or random.random() < 0.5  # on a cycle no rate follows from the others
                drawn.append(
                    {"source": f"o{i}", "target": f"o{j}", "rate": float(random.choice([0.0, 1.0, 5.0])) if has_rate else None}
                )
    return drawn


def _nodes(random: Random, names: list[str], resources: tuple[str, ...], room: float) -> list[dict[str, Any]]:
    kinds = [_scaled(_amounts(random, resources, 0.7, 2.0), room) for _ in range(random.integers(1, 3))]
    drawn = [{"name": name, "resources": kinds[random.integers(len(kinds))]} for name in names]
    if random.random() < 0.1:
        drawn[0]["resources"] = None
    return drawn


def _scaled(amounts: Any, factor: float) -> Any:
    return {name: factor * amount for name, amount in amounts.items()} if isinstance(amounts, dict) else factor * amounts


def _links(random: Random, names: list[str]) -> list[dict[str, Any]]:
    lengths = random.choice([0.001, 0.002, 0.003, 0.005, 0.008], (len(names), len(names)))
    if random.random() < 0.5:
        lengths = np.minimum(lengths, lengths.T)
    return [
        {"source": u, "target": v, "delay": float(lengths[i, j])}
        for i, u in enumerate(names)
        for j, v in enumerate(names)
        if u != v
    ]
