"""Tiny random clusters on which every deployment can be tried."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from edrp.placement.compiled import count_configurations
from edrp.placement.edrp import EdrpProblem

CLUSTER_LOAD = 100.0
"""Tuples/s into each operator."""

WEIGHTINGS: tuple[dict[str, float], ...] = (
    {"response_time": 1.0},
    {"cost": 1.0},
    {"response_time": 0.5, "cost": 0.5},
    {"response_time": 0.2, "cost": 0.8},
    {"response_time": 0.9, "cost": 0.1},
)

RUNNING_WEIGHTINGS: tuple[dict[str, float], ...] = (
    {"response_time": 0.4, "cost": 0.3, "downtime": 0.3},
    {"response_time": 0.9, "downtime": 0.1},
    {"response_time": 0.5, "cost": 0.45, "downtime": 0.05},
    {"downtime": 1.0},
    {"response_time": 0.5, "cost": 0.5},
)


def random_cluster(seed: int, *, max_combinations: float = 3e5, running: bool = False) -> EdrpProblem:
    """Draw a problem of kind `edrp` on one to three zones of one to three equal nodes, small enough for brute force.

    Two to four operators in any acyclic graph, one to three replicas each, some of double size, some confined to a zone.
    Zones differ in slots or speed in four of ten problems each; delays within and between them may be 0 or equal. All
    weightings of response time and cost, limits from loose to impossible.

    Parameters
    ----------
    max_combinations
        Deployments at most; larger problems are drawn again.
    running
        Whether the application already runs somewhere, at random; then downtime counts, too.
    """
    random = np.random.default_rng([seed, 18 + running])
    while True:
        problem = _draw(random)
        nodes = len(problem.network.nodes)
        if prod(count_configurations(nodes, o.max_replicas) for o in problem.application.operators) <= max_combinations:
            return _running(problem, random) if running else problem


def _running(problem: EdrpProblem, random: np.random.Generator) -> EdrpProblem:
    """Add random state, times and a current deployment, which need not fit, to a problem."""
    names = [node.name for node in problem.network.nodes]
    operators, current = [], {}
    for operator in problem.application.operators:
        state, code = float(random.choice([0.0, 1e6, 1e9])), float(random.choice([0.0, 1e7]))
        operators.append(operator.replace(state_size=state, code_size=code))
        candidates = operator.candidates or tuple(names)
        count = int(random.integers(1, operator.max_replicas + 1))
        chosen = (
            [candidates[0]] * count
            if random.random() < 0.3
            else [candidates[int(random.integers(len(candidates)))] for _ in range(count)]
        )
        current[operator.name] = tuple(chosen)
    spawn = float(random.choice([0.0, 0.5]))
    nodes = tuple(node.replace(spawn_time=spawn) for node in problem.network.nodes)
    return problem.replace(
        application=problem.application.replace(operators=tuple(operators)),
        network=problem.network.replace(nodes=nodes, store={"delay": 0.01, "bandwidth": 1e9}),
        synchronisation_time=float(random.choice([0.0, 0.2])),
        weights=RUNNING_WEIGHTINGS[int(random.integers(len(RUNNING_WEIGHTINGS)))],
        limits=problem.limits.replace(downtime=float(random.choice([10.0, 10.0, 1.0]))),
        current=current,
    )


def _draw(random: np.random.Generator) -> EdrpProblem:
    zones = int(random.integers(1, 4))
    nodes = _nodes(zones, random)
    count = int(random.integers(2, 5))
    pairs = [(i, j) for i in range(count) for j in range(i + 1, count)]
    joined = [(i, j) for i, j in pairs if random.random() < (0.9 if j == i + 1 else 0.35)]
    entering = np.bincount([j for _, j in joined], minlength=count)
    sizes = random.choice([1.0, 1.0, 2.0], count) if random.random() < 0.3 else np.ones(count)
    operators = []
    for i in range(count):
        replicas = int(random.integers(1, 4))
        operator: dict[str, Any] = {
            "name": f"o{i}",
            "latency": {"model": "mm1", "service_rate": CLUSTER_LOAD / (replicas * random.uniform(0.2, 0.9))},
            "max_replicas": replicas,
            "cost": float(random.choice([1.0, 1.0, 2.0])),
            "resources": float(sizes[i]),
            "external_rate": 0.0 if entering[i] else CLUSTER_LOAD,
        }
        if random.random() < 0.1:
            zone = f"z{random.integers(zones)}"
            operator["candidates"] = [node["name"] for node in nodes if node["zone"] == zone]
        operators.append(operator)
    within = float(random.choice([0.0, 0.0005, 0.003]))
    limits = {"response_time": random.choice([1.0, 0.4, 0.15]), "cost": random.choice([50.0, 50.0, 9.0, 6.0])}
    return EdrpProblem(
        application={
            "operators": operators,
            "streams": [{"source": f"o{i}", "target": f"o{j}", "rate": CLUSTER_LOAD / entering[j]} for i, j in joined],
        },
        network={
            "nodes": nodes,
            "within_zone": {"delay": within},
            "between_zones": {"delay": within + float(random.choice([0.0, 0.002, 0.01]))},
        },
        weights=WEIGHTINGS[int(random.integers(len(WEIGHTINGS)))],
        limits=limits,
    )


def _nodes(zones: int, random: np.random.Generator) -> list[dict[str, Any]]:
    counts = random.integers(1, 4 if zones == 1 else 3, zones)
    counts[0] += counts.sum() == 1
    slots = random.integers(1, 5, zones) if random.random() < 0.4 else np.full(zones, random.integers(1, 5))
    speeds = random.choice([0.8, 1.0, 1.3], zones) if random.random() < 0.4 else np.ones(zones)
    return [
        {"name": f"z{z}n{u}", "zone": f"z{z}", "resources": int(slots[z]), "speedup": float(speeds[z])}
        for z in range(zones)
        for u in range(counts[z])
    ]
