"""Tiny problems whose nodes differ in speed, with loads near what their replicas serve."""

from __future__ import annotations

from typing import Any

import numpy as np

import edrp

SPEEDUPS = (0.5, 0.8, 1.0, 1.5, 2.0)


def latency_model(random: np.random.Generator, load: float, most: int) -> dict[str, Any] | None:
    """A model under which some number of replicas on nodes of some speed serves hardly more, or less, than the load."""
    replicas = int(random.integers(1, most + 1))
    served = load / replicas / float(min(1.0, random.choice(SPEEDUPS[:3]))) * float(random.choice([0.97, 1.03, 1.2]))
    kind = random.choice(["mm1", "mm1", "capacity-curve", "table", "polynomial", "none"])
    if kind == "mm1":
        return {"model": kind, "service_rate": served}
    if kind == "capacity-curve":
        return {"model": kind, "replicas": [1, 4], "capacities": [1.3 * served, max(1.3, 0.9 * replicas) * served]}
    if kind == "table":
        return {"model": kind, "rates": [0.3 * served, served], "latencies": [0.02, 0.1]}
    return {"model": kind, "coefficients": [0.01, 0.001]} if kind == "polynomial" else None


def slow_nodes_problem(seed: int, *, equal: bool = False, **fields: Any) -> edrp.EdrpProblem:
    """A problem of up to three operators and four nodes; `equal`: with classes of equal nodes, no links that differ."""
    random = np.random.default_rng(seed)
    count, names = int(random.integers(1, 4)), ["a", "b", "c"]
    rates = [float(random.uniform(5, 50)) for _ in range(count)]
    operators = []
    for name, rate in zip(names, rates, strict=False):
        most = int(random.integers(1, 4))
        operators.append(
            {"name": name, "external_rate": rate, "latency": latency_model(random, rate, most), "max_replicas": most}
            | {"resources": 1, "cost": float(random.uniform(1, 3)), "state_size": float(random.uniform(0, 1e6))}
        )
    for operator in operators[1:]:
        operator["external_rate"] = 0.0
    streams = [
        {"source": one, "target": two, "rate": rate}
        for one, two, rate in zip(names[: count - 1], names[1:count], rates[1:], strict=True)
    ]
    nodes = int(random.integers(2, 5))
    speeds = random.choice(SPEEDUPS, 2)[random.integers(0, 2, nodes)] if equal else random.choice(SPEEDUPS, nodes)
    room = random.integers(2, 5, nodes) if not equal else np.full(nodes, random.integers(2, 5))
    network: dict[str, Any] = {
        "nodes": [
            {"name": f"n{u}", "speedup": float(speed), "resources": int(amount), "spawn_time": 0.0 if equal else 0.1 * u}
            for u, (speed, amount) in enumerate(zip(speeds, room, strict=True))
        ],
        "between_zones": {"delay": 0.01, "cost": 0.02},
        "store": {"delay": 0.01, "bandwidth": 1e6},
    }
    if not equal:
        network["links"] = [{"source": "n0", "target": "n1", "delay": 0.03, "cost": 0.1}]
    document: dict[str, Any] = {
        "application": {"operators": operators, "streams": streams},
        "network": network,
        "weights": {"response_time": 0.6, "cost": 0.4},
        "limits": {"response_time": 1.0, "cost": 40.0},
    }
    if random.random() < 0.4:
        current = {o["name"]: [f"n{u}" for u in sorted(random.integers(0, nodes, random.integers(1, o["max_replicas"] + 1)))]
                   for o in operators}  # fmt: skip
        document |= {"current": current, "synchronisation_time": 0.05}
        document["weights"] = {"response_time": 0.4, "cost": 0.3, "downtime": 0.3}
        document["limits"]["downtime"] = 5.0
    return edrp.EdrpProblem(**{**document, **fields})
