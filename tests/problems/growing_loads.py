"""Tiny random instances whose load grows, for agreement with enumeration."""

from typing import Any

import numpy as np

from edrp.check_problems.placement.enumeration import deployments
from edrp.placement.edrp import EdrpProblem
from edrp.placement.throughput import Carried, GrowingLoad


def random_growing_load(seed: int) -> EdrpProblem:
    """Draw two or three operators on two or three nodes, with some of contention, curves, tables, limits, rules and speed-ups."""
    random = np.random.default_rng([seed, 54])
    contended, uneven = random.random() < 0.5, random.random() < 0.3
    operators = [_operator(random, i, contended) for i in range(int(random.integers(2, 4)))]
    operators[0]["external_rate"] = float(random.integers(20, 90))
    if random.random() < 0.3:
        operators[-1]["external_rate"] = float(random.integers(1, 30))
    streams: list[dict[str, Any]] = []
    for i in range(1, len(operators)):
        stream: dict[str, Any] = {"source": f"o{int(random.integers(0, i))}", "target": f"o{i}"}
        stream["partitioning"] = str(random.choice(["forward", "hash", "rebalance"]))
        if random.random() < 0.2:
            stream["rate"] = float(random.integers(5, 60))
        if contended and random.random() < 0.5:
            stream["usage"] = {"network": float(random.uniform(0.01, 0.05))}
        streams.append(stream)
    nodes = [
        {
            "name": f"n{u}",
            "zone": f"z{u % 2}",
            "resources": float(random.integers(1, 5)),
            "speedup": float(random.choice([0.5, 0.8, 1.0, 2.0])) if uneven else 1.0,
            "capacity": {"cpu": float(random.uniform(0.5, 3)), "network": float(random.uniform(0.5, 3))} if contended else {},
        }
        for u in range(int(random.integers(2, 4)))
    ]
    links = {"delay": 0.01, "cost": float(random.choice([0.0, 0.01]))}
    limits: dict[str, Any] = {"response_time": float(random.choice([1e6, 0.3, 0.1, 0.06]))}
    drawn = {"cost": (0.25, 5, 15), "network_usage": (0.15, 0.5, 2)} | ({"peak_load": (0.2, 0.5, 1.5)} if contended else {})
    for metric, (share, low, high) in drawn.items():
        if random.random() < share:
            limits[metric] = float(random.uniform(low, high))
    terms = [{"operator": "o1"}, {"operator": "o0", "nodes": ["n0"]}]
    apart = {"rule": "apart", "name": "apart", "operators": [f"o{len(operators) - 1}"]}
    licences = {"rule": "linear", "name": "licences", "upper": 2.0, "terms": terms}
    return EdrpProblem(
        application={"operators": operators, "streams": streams},
        network={"nodes": nodes, "within_zone": {"delay": 0.002}, "between_zones": links},
        rules=[rule for rule, share in ((apart, 0.4), (licences, 0.3)) if random.random() < share],
        weights={"response_time": 1.0},
        limits=limits,
    )


def most_carried(problem: EdrpProblem, scale: tuple[str, ...] = ()) -> Carried:
    """What the best of all deployments carries."""
    load = GrowingLoad(problem, scale)
    return max(map(load.carried, deployments(problem)), key=lambda one: -1.0 if one.multiple is None else one.multiple)


def _operator(random: np.random.Generator, i: int, contended: bool) -> dict[str, Any]:
    operator: dict[str, Any] = {
        "name": f"o{i}",
        "resources": float(random.integers(1, 3)),
        "max_replicas": int(random.integers(1, 4)),
        "selectivity": round(float(random.uniform(0.4, 1.3)), 2),
        "cost": round(float(random.uniform(0.5, 2)), 2),
    }
    rate = float(random.integers(40, 130))
    models: dict[str, dict[str, Any]] = {
        "mm1": {"service_rate": rate},
        "capacity-curve": {"replicas": [1, 3], "capacities": [rate, rate * 2.1]},
        "table": {"rates": [0, rate], "latencies": [0.001, 0.02]},
    }
    if (model := str(random.choice(["mm1", "mm1", "capacity-curve", "table", "none"]))) in models:
        operator["latency"] = {"model": model, **models[model]}
    if contended and random.random() < 0.8:
        idle = float(random.choice([0.0, 0.0, 0.1]))
        operator["usage"] = {"cpu": {"per_tuple": float(random.uniform(0.004, 0.03)), "per_replica": idle}}
    return operator
