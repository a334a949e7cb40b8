"""A placement under search: counts per operator and node, and sums that every change updates.

Moving any number of instances is one change, whose work is that of an operator's neighbours.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from edrp.core.arrays import Floats, Ints
from edrp.core.kernels import inlined, inner_loop
from edrp.core.tolerances import COUNTED_LOAD_SLACK
from edrp.heuristics.placement.replica_counts import ReplicaCounts, add, recompute_used, room
from edrp.heuristics.placement.search.count_arrays import CountArrays

OPEN, CLOCK, CURSOR, TURN, BEGAN, SWEEP, SWEPT = range(7)
"""Indices of `CountState.counters`: nodes in use, changes so far, the operator whose turn it is, the index of its node whose
turn it is and the clock when the first had its, the index of the node that is to be dissolved next, and the clock when all had
been tried."""


class CountState(NamedTuple):
    """A placement under search: `counts` of operators a on nodes s, and what the score and the changes of it need.

    `joined` (operators, nodes) is what one instance of a would gain on s by the instances of other operators there, `total`
    (nodes,) the number of instances. `opened[:counters[OPEN]]` are the nodes in use and `opened_index` (nodes,) is where each
    stands there. `empty[class_start[k]:][:empty_number[k]]` are the empty nodes of class k, whose last one stands for all;
    `empty_index` (nodes,) is where each stands.

    `last_changed` (nodes,) is when a node last changed, `last_compared` (operators,) when all changes of an operator were last
    compared: a change between two nodes that have not changed since cannot have become better. `recent` lists the
    nodes that have.
    """

    counts: ReplicaCounts
    joined: Floats
    total: Ints
    opened: Ints
    opened_index: Ints
    empty: Ints
    empty_number: Ints
    empty_index: Ints
    last_changed: Ints
    last_compared: Ints
    recent: Ints
    counters: Ints

    @classmethod
    def nothing(cls, t: CountArrays) -> CountState:
        """Create a state in which no instance is placed."""
        operators, nodes = t.candidate.shape
        empty_index = np.empty(nodes, np.int64)
        empty_index[t.members] = np.arange(nodes)
        return cls(
            counts=ReplicaCounts.from_matrix(t.demand, np.zeros((operators, nodes), np.int64)),
            joined=np.zeros((operators, nodes)),
            total=np.zeros(nodes, np.int64),
            opened=np.zeros(nodes, np.int64),
            opened_index=np.full(nodes, -1),
            empty=t.members.copy(),
            empty_number=np.diff(t.class_start),
            empty_index=empty_index,
            last_changed=np.ones(nodes, np.int64),
            last_compared=np.zeros(operators, np.int64),
            recent=np.zeros(nodes, np.int64),
            counters=np.array([0, 1, 0, 0, 0, 0, 0]),
        )


@inner_loop
def put(t: CountArrays, c: CountState, a: int, s: int, q: int) -> None:
    """Add q instances of operator a to node s; a negative q removes some."""
    if c.total[s] == 0:
        _open(t, c, s)
    add(c.counts, t.demand, a, s, q)
    c.total[s] += q
    c.counters[CLOCK] += 1
    c.last_changed[s] = c.counters[CLOCK]
    for j in range(t.start[a], t.start[a + 1]):
        b = t.neighbours[j]
        c.joined[b, s] += q * t.pair[a, b]
    if c.total[s] == 0:
        _close(t, c, s)


@inlined
def _open(t: CountArrays, c: CountState, s: int) -> None:
    """Move node s from the empty nodes of its class to those in use."""
    k = t.class_of[s]
    c.empty_number[k] -= 1
    last = c.empty[t.class_start[k] + c.empty_number[k]]
    c.empty[c.empty_index[s]] = last
    c.empty_index[last] = c.empty_index[s]
    c.opened_index[s] = c.counters[OPEN]
    c.opened[c.counters[OPEN]] = s
    c.counters[OPEN] += 1


@inlined
def _close(t: CountArrays, c: CountState, s: int) -> None:
    """Move node s from the nodes in use to the empty ones of its class, and reset its sums."""
    k = t.class_of[s]
    c.empty_index[s] = t.class_start[k] + c.empty_number[k]
    c.empty[c.empty_index[s]] = s
    c.empty_number[k] += 1
    c.counters[OPEN] -= 1
    last = c.opened[c.counters[OPEN]]
    c.opened[c.opened_index[s]] = last
    c.opened_index[last] = c.opened_index[s]
    c.opened_index[s] = -1
    for b in range(c.joined.shape[0]):
        c.joined[b, s] = 0.0
    for m in range(c.counts.used.shape[1]):
        c.counts.used[s, m] = 0.0


@inlined
def waiting(t: CountArrays, c: CountState, a: int) -> int:
    """Number of instances of operator a that are not placed yet."""
    return t.instances[a] - c.counts.degree[a]


@inlined
def fitting(t: CountArrays, c: CountState, a: int, s: int, limit: int) -> int:
    """Number of further instances of operator a that are allowed on node s and fit there, at most `limit`."""
    return room(t.demand, t.capacity, c.counts.used, a, s, limit, COUNTED_LOAD_SLACK) if t.candidate[a, s] else 0


@inlined
def refresh(t: CountArrays, c: CountState) -> None:
    """Recompute sums from the counts, which removes accumulated rounding."""
    replicas = c.counts.replicas
    for k in range(c.counters[OPEN]):
        s = c.opened[k]
        recompute_used(c.counts, t.demand, s)
        for a in range(replicas.shape[0]):
            c.joined[a, s] = 0.0
            for j in range(t.start[a], t.start[a + 1]):
                b = t.neighbours[j]
                c.joined[a, s] += replicas[b, s] * t.pair[a, b]


@inlined
def score(t: CountArrays, c: CountState) -> float:
    """The score without the term of latency."""
    apart = t.score_apart
    for k in range(c.counters[OPEN]):
        s = c.opened[k]
        apart += t.node_price[s]
        for a in range(c.joined.shape[0]):
            replicas = c.counts.replicas[a, s]
            if replicas > 0:
                apart -= replicas * (0.5 * c.joined[a, s] + replicas * t.pair[a, a])
    return apart
