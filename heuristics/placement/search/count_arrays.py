"""A problem as the arrays of a search over counts: how many instances of each operator a node runs."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from edrp.core.arrays import Bools, Floats, Ints
from edrp.heuristics.placement.arrays import grouped as grouped
from edrp.heuristics.placement.search.count_paths import Paths
from edrp.placement.compiled import Compiled


class CountTables(NamedTuple):
    """Arrays over operators a, nodes s, resources m and classes of nodes k.

    `pair` (operators, operators) is what the score gains by each pair of instances on one node, both directions
    together; on its diagonal, per ordered pair, what streams of an operator to itself gain. `neighbours[start[a]:...]` are
    the operators that a exchanges tuples with, a itself not among them. `everything` is the score of all instances apart,
    and `node_price` what a node in use adds.

    Nodes of one class have the same capacity, the same candidates and, where latency weighs, the same delays: of those that
    are empty one stands for all. `members[class_start[k]:...]` are the nodes of class k, the first in the document last.
    """

    instances: Ints
    pair: Floats
    neighbours: Ints
    start: Ints
    everything: float
    demand: Floats
    capacity: Floats
    candidate: Bools
    node_price: Floats
    zone: Ints
    class_of: Ints
    members: Ints
    class_start: Ints


def count_tables(compiled: Compiled, paths: Paths) -> CountTables:
    """Arrays for the kernels, of a problem of kind `latency-aware`."""
    operators, instances = len(compiled.operators), compiled.max_replicas
    source, target = compiled.stream_source, compiled.stream_target
    alone = np.eye(operators, dtype=bool)
    pair = np.zeros((operators, operators))
    np.add.at(pair, (source, target), compiled.stream_rate / (instances[source] * instances[target]))
    pair = np.where(alone, pair, pair + pair.T)
    rows, columns = np.nonzero(np.where(alone, 0.0, pair))
    neighbours, start = grouped(rows, columns, operators)
    class_of = _classes(compiled, paths.zone if paths.price > 0 else np.zeros_like(paths.zone))
    members, class_start = grouped(class_of[::-1], np.arange(class_of.size)[::-1], int(class_of.max()) + 1)
    return CountTables(
        instances=instances,
        pair=pair,
        neighbours=neighbours,
        start=start,
        everything=float(compiled.stream_rate.sum()),
        demand=compiled.demand,
        capacity=compiled.capacity,
        candidate=compiled.candidate,
        node_price=compiled.node_loss * compiled.weight["availability"],
        zone=paths.zone,
        class_of=class_of,
        members=members,
        class_start=class_start,
    )


def _classes(compiled: Compiled, zone: Ints) -> Ints:
    """Number of each node's class, shape (nodes,), in the order in which classes appear."""
    numbers: dict[tuple[bytes, ...], int] = {}
    looks = (compiled.capacity, np.ascontiguousarray(compiled.candidate.T), zone)
    rows = zip(*(([row.tobytes() for row in look]) for look in looks), strict=True)
    return np.array([numbers.setdefault(row, len(numbers)) for row in rows], np.int64)
