"""Tiny random instances with shared resources, for agreement tests."""

from typing import Any

import numpy as np

from edrp.placement.edrp import EdrpProblem

PARTITIONINGS = ("forward", "hash", "rebalance")


def random_contention(seed: int, *, operators: tuple[int, int] = (2, 3), nodes: tuple[int, int] = (2, 3)) -> EdrpProblem:
    """Draw an instance in which replicas use cores, a disk and the network; limits are wide, node resources may bind.

    Parameters
    ----------
    seed
        The same seed gives the same instance.
    operators, nodes
        Smallest and largest number of each.

    Examples
    --------
    >>> problem = random_contention(1)
    >>> problem == random_contention(1), list(problem.metrics)[-2:]
    (True, ['peak_loads.disk', 'peak_loads.network'])
    """
    random = np.random.default_rng([seed, 2025])
    count = int(random.integers(operators[0], operators[1] + 1))
    parts = [_operator(random, i) for i in range(count)]
    parts[0]["external_rate"] = float(random.integers(5, 30))
    pairs = [(i, j) for i in range(count) for j in range(i + 1, count) if j == i + 1 or random.random() < 0.3]
    streams = [
        {
            "source": f"o{i}",
            "target": f"o{j}",
            "partitioning": str(random.choice(PARTITIONINGS)),
            "usage": {"network": float(random.integers(1, 4))} if (i, j) == (0, 1) or random.random() < 0.6 else {},
        }
        for i, j in pairs
    ]
    hosts = [_node(random, u) for u in range(int(random.integers(nodes[0], nodes[1] + 1)))]
    return EdrpProblem(
        application={"operators": parts, "streams": streams},
        network={"nodes": hosts, "between_zones": {"delay": 0.01}},
        limits={"response_time": 2.0, "cost": 60.0},
    )


def random_contended_cluster(seed: int) -> EdrpProblem:
    """Draw two to four operators on a cluster of two to four nodes in one or two zones, with limits on some peak loads.

    Nodes of the second zone have fewer cores.

    >>> limits = random_contended_cluster(3).limits
    >>> limits.peak_load is not None or bool(limits.peak_loads)
    True
    """
    random = np.random.default_rng([seed, 2026])
    count = int(random.integers(2, 5))
    parts = [{**_operator(random, i), "min_replicas": 1, "max_replicas": int(random.integers(1, 5))} for i in range(count)]
    parts[0]["external_rate"] = float(random.integers(5, 20))
    pairs = [(i, j) for i in range(count) for j in range(i + 1, count) if j == i + 1 or random.random() < 0.3]
    streams = [
        {"source": f"o{i}", "target": f"o{j}", "usage": {"network": 1.0} if random.random() < 0.3 else {}} for i, j in pairs
    ]
    zones = int(random.integers(1, 3))
    capacities = [{"cpu": cores, "disk": 30.0, "network": 40.0} for cores in (3.0, 2.0)]
    nodes = [
        {"name": f"tm{u}", "zone": f"z{u % zones}", "resources": 4, "capacity": capacities[u % zones]}
        for u in range(int(random.integers(2, 5)))
    ]
    problem = EdrpProblem(
        application={"operators": parts, "streams": streams},
        network={"nodes": nodes, "between_zones": {"delay": 0.02}, "within_zone": {"delay": 0.005}},
        weights={"response_time": 0.6, "cost": 0.4},
        limits={"response_time": 3.0, "cost": 60.0},
    )
    peaks = [name for name in problem.metrics if name.startswith("peak")]
    limits = problem.limits
    for name in random.choice(peaks, 1 + int(random.integers(2)), replace=False):
        limits = limits.with_limit(str(name), float(random.choice((0.5, 0.7, 0.9, 1.1))))
    return problem.replace(limits=limits)


def _operator(random: np.random.Generator, index: int) -> dict[str, Any]:
    most = int(random.integers(1, 4))
    usage: dict[str, Any] = {}
    if index == 0 or random.random() < 0.8:
        usage["cpu"] = {"per_replica": int(random.integers(0, 4)) / 8, "per_tuple": int(random.integers(1, 9)) / 64}
    if index == 0 or random.random() < 0.4:
        usage["disk"] = {"per_tuple": 1.0}
    return {
        "name": f"o{index}",
        "max_replicas": most,
        "min_replicas": int(random.integers(1, most + 1)),
        "latency": {"model": "mm1", "service_rate": float(random.integers(12, 60))},
        "cost": float(random.integers(1, 4)),
        "usage": usage,
    }


def _node(random: np.random.Generator, index: int) -> dict[str, Any]:
    capacity = {"cpu": float(random.integers(1, 4)), "disk": 30.0, "network": float(random.integers(10, 60))}
    return {"name": f"n{index}", "resources": int(random.integers(2, 6)), "capacity": capacity}
