"""A problem as the arrays of a search over counts: how many instances of each operator a node runs."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from edrp.compiled import Compiled

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

NO_LINK = 1e9
"""Seconds that stand for a link that is not there, so that sums stay finite."""

FEW_ZONES = 100
"""Zones up to which delays are looked up zone by zone; beyond, the compiled table over pairs of nodes is used."""


class CountTables(NamedTuple):
    """Arrays over operators a, nodes s, streams e, resources m, classes of nodes k and zones z.

    `pair` (operators, operators) is what the score gains by each pair of instances on one node, both directions
    together; on its diagonal, per ordered pair, what streams of an operator to itself gain. `neighbours[start[a]:...]` are
    the operators that a exchanges tuples with, a itself not among them. `everything` is the score of all instances apart.
    Nodes of one class have the same capacity, the same candidates and, where latency weighs, the same delays: of those that
    are empty one stands for all. `members[class_start[k]:...]` are the nodes of class k, the first in the document last.
    `zone_delay` (zones, zones) is the delay between two nodes of these zones, on the diagonal between different nodes of
    one. `streams[streams_start[a]:...]` are the streams at a that count for the path latency, `incoming` those into it.
    """

    instances: Integers
    pair: Floats
    neighbours: Integers
    start: Integers
    everything: float
    demand: Floats
    capacity: Floats
    candidate: NDArray[np.bool_]
    node_price: Floats
    class_of: Integers
    members: Integers
    class_start: Integers
    latency_price: float
    latency_span: float
    zone: Integers
    zone_delay: Floats
    source: Integers
    target: Integers
    streams: Integers
    streams_start: Integers
    incoming: Integers
    incoming_start: Integers


def count_tables(compiled: Compiled) -> CountTables:
    """Arrays for the kernels, of a problem of kind `latency-aware`.

    Delays are read from the network's zones where it has them, so that the table over all pairs of nodes is not needed.
    """
    operators, instances = len(compiled.operators), compiled.max_replicas
    source, target = compiled.stream_source, compiled.stream_target
    pair = np.zeros((operators, operators))
    np.add.at(pair, (source, target), compiled.stream_rate / (instances[source] * instances[target]))
    pair = np.where(np.eye(operators, dtype=bool), pair, pair + pair.T)
    rows, columns = np.nonzero(np.where(np.eye(operators, dtype=bool), 0.0, pair))
    neighbours, start = _grouped(rows, columns, operators)
    price = compiled.weight["response_time"]
    zone, zone_delay = _zones(compiled)
    forward = np.flatnonzero(compiled.forward)
    ends = np.concatenate([source[forward], target[forward]])
    streams, streams_start = _grouped(ends, np.tile(forward, 2), operators)
    incoming, incoming_start = _grouped(target[forward], forward, operators)
    class_of = _classes(compiled, zone if price > 0 else np.zeros_like(zone))
    members, class_start = _grouped(class_of[::-1], np.arange(class_of.size)[::-1], int(class_of.max()) + 1)
    return CountTables(
        instances=instances,
        pair=pair,
        neighbours=neighbours,
        start=start,
        everything=float(compiled.stream_rate.sum()),
        demand=compiled.demand,
        capacity=compiled.capacity,
        candidate=compiled.candidate,
        node_price=-np.log(compiled.node_availability) * compiled.weight["availability"],
        class_of=class_of,
        members=members,
        class_start=class_start,
        latency_price=price,
        latency_span=price * float(zone_delay[zone_delay < NO_LINK].max(initial=0.0)) * _longest(compiled),
        zone=zone,
        zone_delay=zone_delay,
        source=source,
        target=target,
        streams=streams,
        streams_start=streams_start,
        incoming=incoming,
        incoming_start=incoming_start,
    )


def _zones(compiled: Compiled) -> tuple[Integers, Floats]:
    """A zone of each node, and the delays between zones; a zone of its own for a node whose links are listed."""
    network = compiled.problem.network
    listed = {name for ends in network.links for name in (ends.source, ends.target)}
    numbers: dict[Any, int] = {}
    keys: list[Any] = []
    for name in compiled.nodes:
        named = network.by_name[name].zone
        keys.append((named, name) if named is None or name in listed else named)
    zone = np.array([numbers.setdefault(key, len(numbers)) for key in keys], np.int64)
    if len(numbers) > FEW_ZONES:
        return np.arange(zone.size), np.where(np.isfinite(compiled.delay), compiled.delay, NO_LINK)
    _, first = np.unique(zone, return_index=True)
    examples = [compiled.nodes[u] for u in first]
    between = np.array([[network.delay(u, v) for v in examples] for u in examples])
    if network.within_zone is not None:
        np.fill_diagonal(between, network.within_zone.delay)
    return zone, np.where(np.isfinite(between), between, NO_LINK)


def _classes(compiled: Compiled, zone: Integers) -> Integers:
    """Number of each node's class, shape (nodes,), in the order in which classes appear."""
    looks = np.column_stack([compiled.capacity, compiled.candidate.T, zone])
    _, first, numbers = np.unique(looks, axis=0, return_index=True, return_inverse=True)
    rank = np.argsort(np.argsort(first))
    return rank[numbers.ravel()].astype(np.int64)


def _longest(compiled: Compiled) -> int:
    """Most streams on a path."""
    steps = np.zeros(len(compiled.operators), np.int64)
    order = np.argsort(compiled.stream_source, kind="stable")
    for e in order[compiled.forward[order]]:
        source, target = compiled.stream_source[e], compiled.stream_target[e]
        steps[target] = max(steps[target], steps[source] + 1)
    return int(steps.max(initial=0))


def _grouped(keys: Integers, values: Integers, groups: int) -> tuple[Integers, Integers]:
    """Values sorted by key, and where each key's run starts, shape (groups + 1,)."""
    order = np.argsort(keys, kind="stable")
    return values[order].astype(np.int64), np.searchsorted(keys[order], np.arange(groups + 1)).astype(np.int64)
