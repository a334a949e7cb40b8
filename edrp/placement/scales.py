"""Scales of objectives and costs, to which searches relate penalties and temperatures, and the weights of tie-breaking terms.

Equal optima are told apart by cost, then by moved replicas, then by the order of the document. Searches add these terms to
the objective; they lie far below any difference that counts and are taken out of every objective and bound that is reported.
"""

from __future__ import annotations

import numpy as np

from edrp.placement.compiled import Compiled
from edrp.placement.reconfiguration import downtime_floor


def cost_scale(compiled: Compiled) -> float:
    """The cost that `TIE_COST` is relative to: its limit, or about the maximum cost of a deployment; 1 where nothing costs."""
    limit = compiled.limit["cost"]
    if np.isfinite(limit):
        return limit
    return cost_ceiling(compiled) or 1.0


def max_objective(compiled: Compiled) -> float:
    """An upper bound on the objective of feasible deployments.

    Limits where there are any, else the longest delays, the slowest replicas, the highest costs and all nodes. 1 for problems of
    kind `edrp`, whose weighted metrics are at most their limits, besides peak loads, which need none.
    """
    bound = {
        "response_time": lambda: len(compiled.operators) * compiled.links.longest_delay + _slowest_replicas(compiled),
        "cost": lambda: cost_ceiling(compiled),
        "downtime": lambda: _longest_change(compiled),
        "network_usage": lambda: float(compiled.stream_rate.sum() * compiled.links.longest_delay),
        "availability": lambda: _most_lost(compiled),
    }
    peaks = compiled.contention.ceiling(compiled.candidate, compiled.max_replicas).tolist()
    peak = dict(zip(compiled.contention.metrics, (max(peaks, default=0.0), *peaks), strict=False))
    penalties = compiled.rules.price_ceiling(compiled.max_replicas)
    return (
        penalties
        + _price_ceiling(compiled)
        + sum(
            weight
            * (compiled.limit[name] if np.isfinite(compiled.limit[name]) else peak[name] if name in peak else bound[name]())
            for name, weight in compiled.weight.items()
            if weight
        )
    )


def cost_ceiling(compiled: Compiled) -> float:
    """Money/h that no deployment exceeds."""
    replicas = float(compiled.replica_cost @ compiled.max_replicas)
    return replicas + float(compiled.stream_rate.sum() * compiled.links.highest_cost)


def _slowest_replicas(compiled: Compiled) -> float:
    """Seconds of the slowest stable replicas of all operators in a row."""
    stable = np.where(np.isfinite(compiled.latency), compiled.latency, 0.0)
    return float(stable.max(axis=1).sum() / compiled.speedup.min())


def _longest_change(compiled: Compiled) -> float:
    """Seconds that no change takes: all code and all state of an operator up and down the slowest way, and its start."""
    state = compiled.state_size.max()
    size = compiled.code_size.sum() + 2 * state
    transfers = 6 * compiled.store_delay.max() + size / compiled.store_bandwidth.min()
    spawn = compiled.spawn_time.max() * compiled.max_replicas.max()
    return float(compiled.synchronisation_time + transfers + spawn + downtime_floor(compiled))


def _most_lost(compiled: Compiled) -> float:
    """−ln of the availability if all nodes and links are used."""
    on_links = -float(np.log(compiled.link_availability).sum()) if compiled.links.lossy else 0.0
    return float(compiled.node_loss.sum()) + on_links


def _price_ceiling(compiled: Compiled) -> float:
    """Objective that no deployment exceeds by prices of its replicas."""
    if compiled.replica_prices is None:
        return 0.0
    number = np.arange(compiled.latency.shape[1])
    dearest = compiled.replica_prices.max(axis=2) * number
    allowed = (number >= compiled.min_replicas[:, None]) & (number <= compiled.max_replicas[:, None])
    return float(np.where(allowed, dearest, -np.inf).max(axis=1).sum())
