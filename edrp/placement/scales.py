"""Scales of objectives and costs, to which searches relate penalties and temperatures, and the weights of tie-breaking terms.

Equal optima are told apart by cost, then by moved replicas, then by the order of the document. Searches add these terms to
the objective; they lie far below any difference that counts and are taken out of every objective and bound that is reported.
"""

from __future__ import annotations

import numpy as np

from edrp.placement.compiled import Compiled
from edrp.placement.metrics import Cost, package_metrics


def cost_scale(compiled: Compiled) -> float:
    """The cost that `TIE_COST` is relative to: its limit, or about the maximum cost of a deployment; 1 where nothing costs."""
    limit = compiled.limit["cost"]
    if np.isfinite(limit):
        return limit
    return Cost().ceiling(compiled) or 1.0


def max_objective(compiled: Compiled) -> float:
    """An upper bound on the objective of feasible deployments.

    Limits where there are any, else the longest delays, the slowest replicas, the highest costs and all nodes. 1 for problems of
    kind `edrp`, whose weighted metrics are at most their limits, besides peak loads, which need none.
    """
    penalties = compiled.rules.price_ceiling(compiled.max_replicas)
    limits, metrics = compiled.limit, package_metrics(compiled.contention.resources)
    bounds = {name: limits[name] if np.isfinite(limits[name]) else metrics[name].ceiling(compiled) for name in metrics}
    return penalties + _price_ceiling(compiled) + sum(weight * bounds[name] for name, weight in compiled.weight.items() if weight)


def _price_ceiling(compiled: Compiled) -> float:
    """Objective that no deployment exceeds by prices of its replicas."""
    if compiled.replica_prices is None:
        return 0.0
    number = np.arange(compiled.latency.shape[1])
    dearest = compiled.replica_prices.max(axis=2) * number
    allowed = (number >= compiled.min_replicas[:, None]) & (number <= compiled.max_replicas[:, None])
    return float(np.where(allowed, dearest, -np.inf).max(axis=1).sum())
