"""Values that no feasible deployment exceeds, by metric: limits where a metric needs one and the user gives none."""

from __future__ import annotations

import math

from edrp.placement.problem import PlacementProblem

MAX_LOSS = 600.0
"""Largest −ln of an availability that counts: exp(−600) is the smallest limit that is still a number."""


def ceiling(problem: PlacementProblem, metric: str) -> float:
    """A value of a metric, on its scale, that no feasible deployment reaches; peak loads, which need no limit, have none."""
    ceilings = {
        "response_time": _response_ceiling,
        "cost": cost_ceiling,
        "downtime": _downtime_ceiling,
        "network_usage": _usage_ceiling,
        "availability": _loss_ceiling,
    }
    return ceilings[metric](problem)


def cost_ceiling(problem: PlacementProblem) -> float:
    """A cost that no deployment reaches."""
    application = problem.application
    replicas: float = sum(operator.max_replicas * operator.replica_cost for operator in application.by_name.values())
    max_link_cost = max((link.cost for link in problem.network.pair_links()), default=0.0)
    return 1.0 + replicas + max_link_cost * sum(application.rate(s.source, s.target) for s in application.streams)


def _max_delay(problem: PlacementProblem) -> float:
    return max((link.delay for link in problem.network.pair_links()), default=0.0)


def _response_ceiling(problem: PlacementProblem) -> float:
    """The slowest stable replicas of all operators in a row, with the longest delay between each two."""
    slowest = min(node.speedup for node in problem.network.nodes)
    total = 1e-3 + len(problem.application.operators) * _max_delay(problem)
    for operator in problem.application.by_name.values():
        if operator.latency is not None:
            load, allowed = problem.application.load(operator.name), range(operator.min_replicas, operator.max_replicas + 1)
            latencies = [operator.latency.at(load / replicas, replicas) for replicas in allowed]
            total += max((latency for latency in latencies if math.isfinite(latency)), default=0.0) / slowest
    return total


def _downtime_ceiling(problem: PlacementProblem) -> float:
    """All code and all state of the largest operator up and down the slowest way, and every replica started one by one."""
    network, operators = problem.network, problem.application.by_name.values()
    bandwidths = [b for node in network.nodes if (b := node.store_bandwidth or network.store.bandwidth)]
    delay = max(network.store.delay if node.store_delay is None else node.store_delay for node in network.nodes)
    size = sum(operator.code_size for operator in operators) + 2 * max(operator.state_size for operator in operators)
    local = 2 * max(operator.state_size for operator in operators) / (network.store.local_bandwidth or math.inf)
    current = 0 if problem.current is None else max(problem.current.degree(name) for name in problem.current)
    replicas = max(current, *(operator.max_replicas for operator in operators))
    spawn = replicas * max(node.spawn_time for node in network.nodes)
    transfers: float = 6 * delay + size / min(bandwidths, default=math.inf) + local
    return 1.0 + problem.edrp_terms().synchronisation_time + transfers + 2 * float(spawn)


def _usage_ceiling(problem: PlacementProblem) -> float:
    rates = sum(problem.application.rate(s.source, s.target) for s in problem.application.streams)
    return 1e-3 + rates * _max_delay(problem)


def _loss_ceiling(problem: PlacementProblem) -> float:
    """−ln of the availability if all nodes are used, and as many of the worst links as there are pairs of replicas."""
    network, operators = problem.network, problem.application.by_name
    worst = min((link.availability for link in network.pair_links()), default=1.0)
    pairs = sum(operators[s.source].max_replicas * operators[s.target].max_replicas for s in problem.application.streams)
    loss: float = 1e-3 - sum(math.log(node.availability) for node in network.nodes) - pairs * math.log(worst)
    return min(MAX_LOSS, loss)
