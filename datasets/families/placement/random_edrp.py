"""Small random instances that use every feature of the model, for agreement tests and fuzzing."""

from __future__ import annotations

import math
from itertools import combinations
from typing import Any

import numpy as np

from edrp.placement.compiled import count_configurations
from edrp.placement.deployment import Deployment
from edrp.placement.edrp import EdrpProblem

Random = np.random.Generator
Fields = dict[str, Any]

_WEIGHTINGS: tuple[Fields, ...] = (
    {"response_time": 0.5, "cost": 0.5},
    {"response_time": 1.0},
    {"cost": 1.0},
    {"response_time": 0.3, "cost": 0.3, "downtime": 0.4},
    {"response_time": 0.6, "downtime": 0.4},
    {"cost": 0.6, "downtime": 0.4},
    {"cost": 0.7, "response_time": 0.3},
    {"network_usage": 0.5, "cost": 0.5},
    {"response_time": 0.4, "availability": 0.3, "cost": 0.3},
    {"response_time": 0.2, "cost": 0.2, "downtime": 0.2, "network_usage": 0.2, "availability": 0.2},
)


def random_problem(
    seed: int, *, operators: tuple[int, int] = (3, 6), nodes: tuple[int, int] = (3, 6), combinations_limit: float = 2e6
) -> EdrpProblem:
    """Draw an instance; about a fifth of them are infeasible.

    Unequal speed-ups, heterogeneous links, candidate sets, named resources, all latency models, current
    deployments (also over capacity), both kinds of downtime and all kinds of weights and limits occur.

    Parameters
    ----------
    combinations_limit
        Candidates and replicas are cut until the product of the operators' configurations is at most this.
    """
    random = np.random.default_rng([seed, 2018])
    names = [f"n{u}" for u in range(random.integers(nodes[0], nodes[1] + 1))]
    named = bool(random.random() < 0.3)
    application = _application(random, int(random.integers(operators[0], operators[1] + 1)), names, named)
    _cut(application["operators"], names, combinations_limit)
    for operator, load in zip(application["operators"], application.pop("loads"), strict=True):
        operator["latency"] = _latency(random, load, operator["max_replicas"])
    needs = [operator["resources"] for operator in application["operators"]]
    network = _network(random, names, named, sum(need["cpu"] if named else need for need in needs))
    current = _deployment(random, application, names) if random.random() < 0.6 else None
    weights = dict(_WEIGHTINGS[int(random.integers(len(_WEIGHTINGS)))])
    document = {
        "application": application,
        "network": network,
        "synchronisation_time": float(random.choice([0.0, 0.25])),
        "current": current,
        "reconfiguration": "storm" if random.random() < 0.25 else "pause-and-resume",
    }
    loose = {"response_time": 1e3, "cost": 1e6, "downtime": 1e4, "network_usage": 1e6, "availability": 1e-6}
    free = EdrpProblem(**document, weights={"cost": 1.0}, limits=loose)
    return EdrpProblem(**document, weights=weights, limits=_limits(random, free, weights))


def _application(random: Random, count: int, nodes: list[str], named: bool) -> Fields:
    pairs = list(combinations(range(count), 2))
    density = random.uniform(0.2, 0.7)
    arcs = {pair for pair in pairs if random.random() < density}
    if random.random() < 0.8:  # most are connected, so that delays matter
        arcs |= {(int(random.integers(j)), j) for j in range(1, count) if not any((i, j) in arcs for i in range(j))}
    fed = {j for _, j in arcs}
    external = [float(random.uniform(40, 100)) if i not in fed or random.random() < 0.1 else 0.0 for i in range(count)]
    selectivity = [float(random.uniform(0.4, 1.3)) for _ in range(count)]
    streams: list[Fields] = []
    load = list(external)
    for i, j in sorted(arcs):
        rate = float(random.uniform(1, 60)) if random.random() < 0.2 else None
        load[j] += selectivity[i] * load[i] if rate is None else rate
        streams.append({"source": f"o{i}", "target": f"o{j}", "rate": rate})
    described = [_operator(random, i, external[i], selectivity[i], nodes, named) for i in range(count)]
    return {"operators": described, "streams": streams, "loads": load}


def _operator(random: Random, index: int, external: float, selectivity: float, nodes: list[str], named: bool) -> Fields:
    replicas = int(random.choice([1, 2, 3], p=[0.35, 0.4, 0.25]))
    candidates = None
    if random.random() < 0.4:
        size = int(random.integers(1, len(nodes) + 1))
        candidates = [nodes[u] for u in sorted(random.choice(len(nodes), size, replace=False))]
    cost: Any = float(random.choice([0.0, 1.0, 2.5]))
    resources: Any = float(random.choice([1.0, 1.0, 0.5, 2.0]))
    if named:
        resources = {"cpu": float(random.choice([0.5, 1.0, 2.0])), "memory": float(random.choice([1e9, 4e9]))}
        cost = {"cpu": 1.5, "memory": 2e-10} if random.random() < 0.5 else cost
    return {
        "name": f"o{index}",
        "state_size": float(random.choice([0.0, 1e3, 5e6])),
        "code_size": float(random.choice([0.0, 3e5, 2e7])),
        "resources": resources,
        "cost": cost,
        "max_replicas": replicas,
        "candidates": candidates,
        "external_rate": external,
        "selectivity": selectivity,
    }


def _latency(random: Random, load: float, replicas: int) -> Fields | None:
    kind = random.random()
    if kind < 0.1 or load == 0:
        return None
    if kind < 0.3:
        return {"model": "polynomial", "coefficients": [0.002, float(random.uniform(0, 3e-4)), float(random.uniform(0, 2e-6))]}
    # Mostly stable with the replicas allowed, sometimes never.
    capacity = load / (replicas * random.uniform(0.3, 1.01))
    if kind < 0.45:
        rates = [0.0, 0.5 * capacity, capacity]
        return {"model": "table", "rates": rates, "latencies": [0.002, 0.006, float(random.uniform(0.01, 0.05))]}
    return {"model": "mm1", "service_rate": capacity}


def _cut(operators: list[Fields], nodes: list[str], limit: float) -> None:
    def size(operator: Fields) -> int:
        return count_configurations(len(operator["candidates"] or nodes), operator["max_replicas"])

    while math.prod(size(operator) for operator in operators) > limit:
        largest = max(operators, key=size)
        if largest["max_replicas"] > 1:
            largest["max_replicas"] -= 1
        else:
            pool = largest["candidates"] or nodes
            largest["candidates"] = pool[: (len(pool) + 1) // 2]


def _network(random: Random, names: list[str], named: bool, demand: float) -> Fields:
    roomy = max(1.0, demand / len(names) * random.uniform(1.5, 4.0))
    points = random.uniform(0, 0.05, (len(names), 2))
    prices = [0.02] if random.random() < 0.4 else [0.0, 0.01, 0.02, 0.05]
    perfect_links = random.random() < 0.5
    nodes = []
    for name in names:
        room: Any = float(np.ceil(2 * roomy * random.uniform(0.6, 1.4)) / 2)
        room = {"cpu": room, "memory": float(random.choice([4e9, 8e9, 16e9]))} if named else room
        nodes.append(
            {
                "name": name,
                "resources": None if random.random() < 0.1 else room,
                "speedup": float(random.choice([1.0, 1.0, 0.9, 1.5])),
                "spawn_time": float(random.choice([0.0, 0.5, 0.8])),
                "availability": float(random.choice([1.0, 0.99, 0.999])),
                "store_delay": float(random.uniform(0, 0.02)) if random.random() < 0.4 else None,
                "store_bandwidth": float(random.choice([1e6, 5e7])) if random.random() < 0.3 else None,
            }
        )
    symmetric = bool(random.random() < 0.7)
    links = [
        {
            "source": names[u],
            "target": names[v],
            "delay": float(np.hypot(*(points[u] - points[v])) * random.uniform(0.8, 1.6)),
            "cost": float(random.choice(prices)),
            "availability": 1.0 if perfect_links else float(random.choice([1.0, 0.995])),
        }
        for u in range(len(names))
        for v in range(len(names))
        if u < v or (u > v and not symmetric)
    ]
    bandwidth = float(random.choice([1e6, 1.25e7]))
    store = {"delay": 0.005, "bandwidth": bandwidth if random.random() < 0.8 else None, "local_bandwidth": 1e8}
    return {"nodes": nodes, "links": links, "symmetric": symmetric, "store": store}


def _deployment(random: Random, application: Fields, names: list[str]) -> dict[str, list[str]]:
    """Draw a deployment on any multiset of candidates, regardless of stability and capacity."""
    drawn = {}
    for operator in application["operators"]:
        pool = operator["candidates"] or names
        drawn[operator["name"]] = [str(n) for n in random.choice(pool, int(random.integers(1, operator["max_replicas"] + 1)))]
    return drawn


def _limits(random: Random, free: EdrpProblem, weights: Fields) -> Fields:
    """Draw limits around the metrics of random deployments: some loose, some binding, some out of reach."""
    application = free.model_dump()["application"]
    names = [node.name for node in free.network.nodes]
    samples = [free.evaluate(Deployment(_deployment(random, application, names))).metrics for _ in range(25)]
    limits: Fields = {}
    for metric in ("response_time", "cost", "downtime", "network_usage"):
        values = np.sort([sample[metric] for sample in samples if np.isfinite(sample[metric])])
        needed = metric in weights
        if not values.size or values[-1] <= 0:
            limits[metric] = 1.0 if needed else None
        elif random.random() < 0.25:  # may bind
            limits[metric] = float(np.quantile(values[values > 0], random.uniform(0, 0.5)) * random.uniform(0.95, 1.2))
        elif needed or random.random() < 0.5:
            limits[metric] = float(values[-1] * random.uniform(1.1, 1.6))
    worst = min(sample["availability"] for sample in samples)
    if "availability" in weights or random.random() < 0.2:
        limits["availability"] = float(worst ** random.uniform(0.7, 1.3)) if worst < 1 else 0.9
    return limits
