"""A placement under search as counts per operator and node, and what every change keeps up to date.

Moving any number of instances is one change, whose work is that of an operator's neighbours.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from edrp.core.arrays import Floats, Ints
from edrp.core.kernels import inlined, inner_loop
from edrp.heuristics.placement.search.count_arrays import CountTables

SLACK = 5e-10
"""Relative overload that rounding may leave; half of what the evaluation allows."""

OPEN, CLOCK, CURSOR, TURN, BEGAN, SWEEP, WORK = range(7)
"""Places in `Counts.tally`: nodes in use, changes so far, the operator whose turn it is, the place of its node whose turn
it is and when the first had its, the place of the node that is to be replaced next, places compared."""


class Counts(NamedTuple):
    """Instances per operator a and node s, and the parts of the score.

    `held` (operators, nodes). `joined` (operators, nodes) is what one instance of a would gain on s by the instances
    of other operators there. `total` (nodes,) instances, `used` (nodes, resources). `opened[:tally[OPEN]]` are the nodes
    in use and `place` (nodes,) where each stands there. `empty[class_start[k]:][:spare[k]]` are the empty nodes of class k,
    whose last one stands for all; `seat` (nodes,) is where each stands. `left` (operators,) instances wait to be placed.

    `changed` (nodes,) is when a node last changed, `looked` (operators,) when all changes of an operator were last
    compared: a change between two nodes that have not changed since cannot have become better. `recent` lists the
    nodes that have.
    """

    held: Ints
    joined: Floats
    total: Ints
    used: Floats
    opened: Ints
    place: Ints
    empty: Ints
    spare: Ints
    seat: Ints
    left: Ints
    changed: Ints
    looked: Ints
    recent: Ints
    tally: Ints

    @classmethod
    def nothing(cls, t: CountTables) -> Counts:
        """No instance placed; all of them wait."""
        operators, nodes = t.candidate.shape
        seat = np.empty(nodes, np.int64)
        seat[t.members] = np.arange(nodes)
        return cls(
            held=np.zeros((operators, nodes), np.int64),
            joined=np.zeros((operators, nodes)),
            total=np.zeros(nodes, np.int64),
            used=np.zeros(t.capacity.shape),
            opened=np.zeros(nodes, np.int64),
            place=np.full(nodes, -1),
            empty=t.members.copy(),
            spare=np.diff(t.class_start),
            seat=seat,
            left=t.instances.copy(),
            changed=np.ones(nodes, np.int64),
            looked=np.zeros(operators, np.int64),
            recent=np.zeros(nodes, np.int64),
            tally=np.array([0, 1, 0, 0, 0, 0, 0]),
        )


@inner_loop
def add(t: CountTables, c: Counts, a: int, s: int, q: int) -> None:
    """q more instances of operator a on node s; q is negative to take some away."""
    if c.total[s] == 0:  # it was the empty node `last` that changes seats with it
        k = t.class_of[s]
        c.spare[k] -= 1
        last = c.empty[t.class_start[k] + c.spare[k]]
        c.empty[c.seat[s]] = last
        c.seat[last] = c.seat[s]
        c.place[s] = c.tally[OPEN]
        c.opened[c.tally[OPEN]] = s
        c.tally[OPEN] += 1
    c.held[a, s] += q
    c.total[s] += q
    c.left[a] -= q
    c.tally[CLOCK] += 1
    c.changed[s] = c.tally[CLOCK]
    for j in range(t.start[a], t.start[a + 1]):
        b = t.neighbours[j]
        c.joined[b, s] += q * t.pair[a, b]
    for m in range(c.used.shape[1]):
        c.used[s, m] += q * t.demand[a, m]
    if c.total[s] == 0:
        k = t.class_of[s]
        c.seat[s] = t.class_start[k] + c.spare[k]
        c.empty[c.seat[s]] = s
        c.spare[k] += 1
        c.tally[OPEN] -= 1
        last = c.opened[c.tally[OPEN]]
        c.opened[c.place[s]] = last
        c.place[last] = c.place[s]
        c.place[s] = -1
        for b in range(c.held.shape[0]):  # what rounding has left
            c.joined[b, s] = 0.0
        for m in range(c.used.shape[1]):
            c.used[s, m] = 0.0


@inlined
def room(demand: np.ndarray, capacity: np.ndarray, candidate: np.ndarray, used: np.ndarray, a: int, s: int, most: int) -> int:
    """How many more instances of operator a fit on node s, at most `most`."""
    if not candidate[a, s]:
        return 0
    for m in range(used.shape[1]):
        if demand[a, m] > 0:
            free = (capacity[s, m] * (1 + SLACK) - used[s, m]) / demand[a, m]
            if free < most:
                most = int(max(0.0, free))
    return most


@inlined
def strain(capacity: np.ndarray, used: np.ndarray, s: int) -> tuple[int, float]:
    """How many resources node s has too little of, and by how much in all, relative to its capacity."""
    violations, overload = 0, 0.0
    for m in range(used.shape[1]):
        if used[s, m] > capacity[s, m] * (1 + SLACK):
            over = used[s, m] - capacity[s, m]
            violations += 1
            overload += over / max(capacity[s, m], 1e-3 * over)
    return violations, overload


@inlined
def refresh(t: CountTables, c: Counts) -> None:
    """Recompute sums from the counts, which removes what rounding has added up."""
    for k in range(c.tally[OPEN]):
        s = c.opened[k]
        for m in range(c.used.shape[1]):
            c.used[s, m] = 0.0
        for a in range(c.held.shape[0]):
            for m in range(c.used.shape[1]):
                c.used[s, m] += c.held[a, s] * t.demand[a, m]
            c.joined[a, s] = 0.0
            for j in range(t.start[a], t.start[a + 1]):
                b = t.neighbours[j]
                c.joined[a, s] += c.held[b, s] * t.pair[a, b]


@inlined
def score(t: CountTables, c: Counts) -> float:
    """The score without the term of latency."""
    apart = t.everything
    for k in range(c.tally[OPEN]):
        s = c.opened[k]
        apart += t.node_price[s]
        for a in range(c.held.shape[0]):
            held = c.held[a, s]
            if held > 0:
                apart -= held * (0.5 * c.joined[a, s] + held * t.pair[a, a])
    return apart
