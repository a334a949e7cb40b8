"""What objectives and costs can come to at most, to which searches relate penalties, temperatures and ties."""

from __future__ import annotations

import numpy as np

from edrp.placement.compiled import Compiled


def cost_scale(compiled: Compiled) -> float:
    """Cost for which `TIE_COST` is made: the limit, or about the maximum cost of a deployment; 1 where nothing costs anything."""
    limit = compiled.limit["cost"]
    if np.isfinite(limit):
        return limit
    replicas = float(compiled.replica_cost @ compiled.max_replicas)
    return replicas + float(compiled.stream_rate.sum() * compiled.link_cost.max(initial=0.0)) or 1.0


def largest_objective(compiled: Compiled) -> float:
    """What no feasible deployment exceeds: limits where there are any, else longest ways and dearest links everywhere.

    1 for problems of kind `edrp`, whose weighted metrics are at most their limits.
    """
    delay = float(np.where(np.isfinite(compiled.delay), compiled.delay, 0.0).max())
    most = {
        "response_time": len(compiled.operators) * delay,
        "cost": float(compiled.stream_rate.sum() * compiled.link_cost.max()),
        "availability": float(compiled.node_loss.sum()),
    }
    return sum(
        weight * (compiled.limit[name] if np.isfinite(compiled.limit[name]) else most[name])
        for name, weight in compiled.weight.items()
        if weight
    )
