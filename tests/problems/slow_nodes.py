"""Tiny problems whose nodes differ in speed, with loads near what their replicas serve."""

from __future__ import annotations

from typing import Any

import numpy as np

import edrp
from edrp.datasets.families.placement.random_clusters import random_cluster
from edrp.datasets.families.placement.random_edrp import random_problem

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


def slow_nodes_problem(seed: int, *, equal: bool = False) -> edrp.EdrpProblem:
    """A random problem of up to four nodes, whose speeds and latencies are drawn anew; `equal`: each speed is a zone's."""
    random = np.random.default_rng(seed)
    if equal:
        drawn = random_cluster(seed, max_combinations=1e3, running=seed % 2 == 1)
    else:
        drawn = random_problem(seed, operators=(1, 3), nodes=(2, 4), combinations_limit=1e3)
    document, speeds = drawn.model_dump(mode="json"), dict[str, float]()
    for node in document["network"]["nodes"]:
        node["speedup"] = speeds.setdefault(node["zone"] if equal else node["name"], float(random.choice(SPEEDUPS)))
    for operator in document["application"]["operators"]:
        load = drawn.application.load(operator["name"])
        operator["latency"] = latency_model(random, load, operator["max_replicas"]) if load else None
    weights = {"response_time": 0.4, "cost": 0.3, "downtime": 0.3} if drawn.current else {"response_time": 0.6, "cost": 0.4}
    return edrp.EdrpProblem(**{**document, "weights": weights, "limits": {"response_time": 1.0, "cost": 40.0, "downtime": 5.0}})
