"""Scales of objectives and costs, to which searches relate penalties and temperatures, and the weights of tie-breaking terms.

Equal optima are told apart by cost, then by moved replicas, then by the order of the document. Searches add these terms to
the objective; they lie far below any difference that counts and are taken out of every objective and bound that is reported.
"""

from __future__ import annotations

import numpy as np

from edrp.placement.compiled import Compiled


def cost_scale(compiled: Compiled) -> float:
    """The cost that `TIE_COST` is relative to: its limit, or about the maximum cost of a deployment; 1 where nothing costs."""
    limit = compiled.limit["cost"]
    if np.isfinite(limit):
        return limit
    replicas = float(compiled.replica_cost @ compiled.max_replicas)
    return replicas + float(compiled.stream_rate.sum() * compiled.links.highest_cost) or 1.0


def max_objective(compiled: Compiled) -> float:
    """An upper bound on the objective of feasible deployments.

    Limits where there are any, else the longest delays, the highest link costs and all nodes. 1 for problems of kind `edrp`,
    whose weighted metrics are at most their limits, besides peak loads, which need none.
    """
    bound = {
        "response_time": lambda: len(compiled.operators) * compiled.links.longest_delay,
        "cost": lambda: float(compiled.stream_rate.sum() * compiled.links.highest_cost),
        "availability": lambda: float(compiled.node_loss.sum()),
    }
    peaks = compiled.contention.ceiling(compiled.candidate, compiled.max_replicas).tolist()
    peak = dict(zip(compiled.contention.metrics, (max(peaks, default=0.0), *peaks), strict=False))
    penalties = compiled.rules.price_ceiling(compiled.max_replicas)
    return penalties + sum(
        weight * (compiled.limit[name] if np.isfinite(compiled.limit[name]) else peak[name] if name in peak else bound[name]())
        for name, weight in compiled.weight.items()
        if weight
    )
