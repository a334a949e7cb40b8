"""Lower bounds for every placement of a topology: the number of nodes in use, and the traffic between nodes."""

from __future__ import annotations

import numpy as np

from edrp.core.arrays import Floats
from edrp.core.tolerances import LIMIT_SLACK
from edrp.placement.compiled import Compiled


def min_nodes(compiled: Compiled) -> int:
    """A lower bound on the nodes in use, for operators whose number of replicas is fixed.

    The larger of two: for each resource, the number of largest nodes whose capacities add up to the total need; and the
    number of replicas that need more than half the capacity of the largest node, as no two of them share a node.
    """
    replicas = compiled.max_replicas
    bound = 1
    for demand, capacity in zip(compiled.demand.T, compiled.capacity.T, strict=True):
        needed = float(replicas @ demand) * (1 - LIMIT_SLACK)
        largest_first = np.cumsum(np.sort(capacity)[::-1])
        alone = replicas[2 * demand > capacity.max() * (1 + LIMIT_SLACK)].sum()
        bound = max(bound, int(np.searchsorted(largest_first, needed)) + 1, int(alone))
    return bound


def min_cut(compiled: Compiled) -> float:
    """A lower bound on the share of tuples that go from one node to another, for fixed numbers of replicas.

    Each sender of a stream shares its node with at most as many receivers as fit next to it on some node, and each
    receiver with at most as many senders; so that at least the rest of the stream's pairs are between nodes.
    """
    application = compiled.problem.application
    index = {name: i for i, name in enumerate(compiled.operators)}
    cut = total = 0.0
    for stream in application.streams:
        i, j = index[stream.source], index[stream.target]
        rate = application.rate(stream.source, stream.target)
        senders, receivers = int(compiled.max_replicas[i]), int(compiled.max_replicas[j])
        together = min(senders * _max_next_to(compiled, i, j), receivers * _max_next_to(compiled, j, i))
        cut += rate * (1 - min(1.0, together / (senders * receivers)))
        total += rate
    return cut / total if total else 0.0


def _max_next_to(compiled: Compiled, i: int, j: int) -> int:
    """Maximum replicas of operator j that fit on a node next to one of operator i; where i is j, that one included."""
    nodes = compiled.candidate[i] & compiled.candidate[j]
    free: Floats = compiled.capacity[nodes] * (1 + LIMIT_SLACK) - compiled.demand[i] * (i != j)
    free = free[(free >= 0).all(axis=1)]
    needed = compiled.demand[j] > 0
    limit = int(compiled.max_replicas[j])
    if not free.size:
        return 0
    return int(np.minimum(free[:, needed] / compiled.demand[j, needed], limit).min(axis=1, initial=limit).max())
