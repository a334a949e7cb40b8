"""A problem as the arrays of a search over counts: how many instances of each operator a node runs."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from edrp.core.arrays import Bools, Floats, Ints
from edrp.heuristics.placement.problem_arrays import grouped
from edrp.placement.compiled import Compiled

NO_LINK_DELAY = 1e9
"""Delay in seconds that stands for a missing link, so that sums stay finite."""

MAX_ZONES = 100
"""Zones up to which delays are looked up zone by zone; beyond, the compiled table over pairs of nodes is used."""

NO_OPERATOR, ALL_OPERATORS = -1, -2
"""Values that stand for an operator: none, or all operators on a node."""


class CountPaths(NamedTuple):
    """Arrays of `path_latency` (edrp/native/heuristics/placement/search/count_arrays.hpp).

    They are over operators a, nodes s, zones z and those streams that count for the path latency, by their target.
    The score grows by `price` per second of path latency and, whatever the placement, by at most `span`. `zone_delay`
    (zones, zones) is the delay between two nodes of these zones, on the diagonal between different nodes of one.
    """

    price: float
    span: float
    zone: Ints
    zone_delay: Floats
    source: Ints
    target: Ints


def count_paths(compiled: Compiled) -> CountPaths:
    """Convert a compiled problem into the arrays of `path_latency`.

    Delays are read from the network's zones where it has them, so that the table over all pairs of nodes is not needed.
    """
    price = compiled.weight["response_time"]
    zone, zone_delay = _zones(compiled)
    forward = np.flatnonzero(compiled.forward)
    forward = forward[np.lexsort((compiled.stream_source[forward], compiled.stream_target[forward]))]
    source, target = compiled.stream_source[forward], compiled.stream_target[forward]
    steps = np.zeros(len(compiled.operators), np.int64)
    for i, j in zip(source, target, strict=True):
        steps[j] = max(steps[j], steps[i] + 1)
    return CountPaths(
        price=price,
        span=price * float(zone_delay[zone_delay < NO_LINK_DELAY].max(initial=0.0)) * int(steps.max(initial=0)),
        zone=zone,
        zone_delay=zone_delay,
        source=source,
        target=target,
    )


def _zones(compiled: Compiled) -> tuple[Ints, Floats]:
    """Zone of each node, and delays between zones; a node whose links are listed gets a zone of its own."""
    network = compiled.problem.network
    listed = {name for ends in network.links for name in (ends.source, ends.target)}
    numbers: dict[Any, int] = {}
    keys: list[Any] = []
    for name in compiled.nodes:
        named = network.by_name[name].zone
        keys.append((named, name) if named is None or name in listed else named)
    zone = np.array([numbers.setdefault(key, len(numbers)) for key in keys], np.int64)
    if len(numbers) > MAX_ZONES:
        return np.arange(zone.size), np.where(np.isfinite(compiled.delay), compiled.delay, NO_LINK_DELAY)
    _, first = np.unique(zone, return_index=True)
    examples = [compiled.nodes[u] for u in first]
    between = np.array([[network.delay(u, v) for v in examples] for u in examples])
    if network.within_zone is not None:
        np.fill_diagonal(between, network.within_zone.delay)
    return zone, np.where(np.isfinite(between), between, NO_LINK_DELAY)


class CountArrays(NamedTuple):
    """Arrays of the kernels of counts (edrp/native/heuristics/placement/search/count_engine.cpp).

    They are over operators a, nodes s, resources m and classes of nodes k.

    `pair` (operators, operators) is what the score gains by each pair of instances on one node, both directions
    together; on its diagonal, per ordered pair, what streams of an operator to itself gain. `neighbours[start[a]:...]` are
    the operators that a exchanges tuples with, a itself not among them. `score_apart` is the score of all instances apart,
    and `node_price` what a node in use adds.

    Nodes of one class have the same capacity, the same candidates and, where latency weighs, the same delays: of those that
    are empty one stands for all. `members[class_start[k]:...]` are the nodes of class k, the first in the document last.
    """

    instances: Ints
    pair: Floats
    neighbours: Ints
    start: Ints
    score_apart: float
    demand: Floats
    capacity: Floats
    candidate: Bools
    node_price: Floats
    zone: Ints
    class_of: Ints
    members: Ints
    class_start: Ints


def count_arrays(compiled: Compiled, paths: CountPaths) -> CountArrays:
    """Convert a compiled problem of kind `latency-aware` into arrays."""
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
    return CountArrays(
        instances=instances,
        pair=pair,
        neighbours=neighbours,
        start=start,
        score_apart=float(compiled.stream_rate.sum()),
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
    columns = (compiled.capacity, np.ascontiguousarray(compiled.candidate.T), zone)
    rows = zip(*(([row.tobytes() for row in column]) for column in columns), strict=True)
    return np.array([numbers.setdefault(row, len(numbers)) for row in rows], np.int64)
