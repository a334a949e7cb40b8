"""A problem as the arrays of a search over counts: how many instances of each operator a node runs."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from edrp.core.arrays import Bools, Floats, Ints
from edrp.core.kernels import inlined, inner_loop
from edrp.heuristics.placement.problem_arrays import grouped
from edrp.heuristics.placement.replica_counts import ReplicaCounts, variable
from edrp.placement.compiled import Compiled

NO_LINK_DELAY = 1e9
"""Delay in seconds that stands for a missing link, so that sums stay finite."""

MAX_ZONES = 100
"""Zones up to which delays are looked up zone by zone; beyond, the compiled table over pairs of nodes is used."""

NO_OPERATOR, ALL_OPERATORS = -1, -2
"""Values that stand for an operator: none, or all operators on a node."""


class CountPaths(NamedTuple):
    """Arrays over operators a, nodes s, zones z and those streams that count for the path latency, by their target.

    The score grows by `price` per second of path latency and, whatever the placement, by at most `span`. `zone_delay`
    (zones, zones) is the delay between two nodes of these zones, on the diagonal between different nodes of one.
    `hosts[a, :number[a]]` are the nodes of an operator and `arrival` (operators, nodes), in the same order, is when the last
    tuples arrive there. `latest` (zones, 2) are the last two arrivals at nodes of a zone, `last` (zones,) is the node of the
    first of these, `used` (zones,) lists the zones in use, and `reach` (zones,) is when the last from other zones arrive.
    """

    price: float
    span: float
    zone: Ints
    zone_delay: Floats
    source: Ints
    target: Ints
    hosts: Ints
    number: Ints
    arrival: Floats
    latest: Floats
    last: Ints
    used: Ints
    reach: Floats


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
    operators, zones = len(compiled.operators), len(zone_delay)
    return CountPaths(
        price=price,
        span=price * float(zone_delay[zone_delay < NO_LINK_DELAY].max(initial=0.0)) * int(steps.max(initial=0)),
        zone=zone,
        zone_delay=zone_delay,
        source=source,
        target=target,
        hosts=np.zeros((operators, zone.size), np.int64),
        number=np.zeros(operators, np.int64),
        arrival=np.zeros((operators, zone.size)),
        latest=np.zeros((zones, 2)),
        last=np.zeros(zones, np.int64),
        used=np.zeros(zones, np.int64),
        reach=np.zeros(zones),
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


@inlined
def _list_hosts(p: CountPaths, c: ReplicaCounts, mover: int, q: int, s: int, d: int) -> None:
    """List the nodes of all operators after a change (see `path_latency`), and reset the arrivals there."""
    for a in range(c.degree.size):
        moves, count = mover in (a, ALL_OPERATORS), 0
        for k in range(c.number[a]):
            u = c.hosts[a, k]
            if not moves or u != s or (mover != ALL_OPERATORS and c.replicas[a, u] > q):
                p.hosts[a, count] = u
                count += 1
        if moves and c.replicas[a, d] == 0 and c.replicas[a, s] > 0:
            p.hosts[a, count] = d
            count += 1
        for k in range(count):
            p.arrival[a, k] = 0.0
        p.number[a] = count


@inlined
def _summarise(p: CountPaths, i: int) -> int:
    """Find the last two arrivals of operator i in each zone that it uses; return the number of these zones."""
    for k in range(p.number[i]):
        z = p.zone[p.hosts[i, k]]
        p.latest[z, 0], p.latest[z, 1] = -1.0, -1.0
    zones = 0
    for k in range(p.number[i]):
        u, seconds = p.hosts[i, k], p.arrival[i, k]
        z = p.zone[u]
        if p.latest[z, 0] < 0:
            p.used[zones] = z
            zones += 1
        if seconds > p.latest[z, 0]:
            p.latest[z, 1] = p.latest[z, 0]
            p.latest[z, 0], p.last[z] = seconds, u
        elif seconds > p.latest[z, 1]:
            p.latest[z, 1] = seconds
    return zones


@inlined
def _pass_on(p: CountPaths, i: int, j: int) -> float:
    """Propagate the arrivals of operator i to every node of operator j; return the last arrival there."""
    last = 0.0
    for k in range(p.number[j]):
        h = p.zone[p.hosts[j, k]]
        p.reach[h], p.latest[h, 0] = -1.0, -1.0
    zones = _summarise(p, i)
    for k in range(p.number[j]):
        v = p.hosts[j, k]
        h = p.zone[v]
        if p.reach[h] < 0:
            p.reach[h] = 0.0
            for n in range(zones):
                g = p.used[n]
                if g != h:
                    p.reach[h] = max(p.reach[h], p.latest[g, 0] + p.zone_delay[g, h])
        seconds = max(p.arrival[j, k], p.reach[h])
        if p.latest[h, 0] >= 0:
            # What arrived last in the zone is delayed, unless it is here already: then the one before may come later.
            on_same_node = p.last[h] == v
            seconds = max(seconds, p.latest[h, 0] + (0.0 if on_same_node else p.zone_delay[h, h]))
            if on_same_node and p.latest[h, 1] >= 0:
                seconds = max(seconds, p.latest[h, 1] + p.zone_delay[h, h])
        p.arrival[j, k] = seconds
        last = max(last, seconds)
    return last


@inner_loop
def path_latency(p: CountPaths, c: ReplicaCounts, mover: int, q: int, s: int, d: int) -> float:
    """Latency in seconds of the slowest path through instances, now or after a change.

    Parameters
    ----------
    p
        The problem, and working arrays.
    c
        The placement.
    mover, q, s, d
        Operator of which q instances are taken to be on node d instead of s; `ALL_OPERATORS` for all that s holds, `NO_OPERATOR`.
    """
    _list_hosts(p, c, mover, q, s, d)
    longest = 0.0
    for e in range(p.source.size):
        longest = max(longest, _pass_on(p, p.source[e], p.target[e]))
    return longest


@inlined
def latency_now(p: CountPaths, c: ReplicaCounts) -> float:
    """Latency in seconds of the slowest path through instances of the present placement."""
    return path_latency(p, c, variable(NO_OPERATOR), variable(0), variable(0), variable(0))


class CountArrays(NamedTuple):
    """Arrays over operators a, nodes s, resources m and classes of nodes k.

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
    """Convert a compiled problem of kind `latency-aware` into the arrays of the kernels."""
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
