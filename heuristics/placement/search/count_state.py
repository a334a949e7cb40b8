"""A placement under search: counts per operator and node, and sums that every change updates.

Moving any number of instances is one change, whose work is that of an operator's neighbours.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from edrp.core.arrays import Floats, Ints
from edrp.heuristics.placement.replica_counts import ReplicaCounts
from edrp.heuristics.placement.search.count_arrays import CountArrays

OPEN, CLOCK, CURSOR, TURN, BEGAN, SWEEP, SWEPT = range(7)
"""Indices of `CountState.counters`: nodes in use, changes so far, the operator whose turn it is, the index of its node whose
turn it is and the clock when the first had its, the index of the node that is to be dissolved next, and the clock when all had
been tried."""


class CountState(NamedTuple):
    """A placement under search: `counts` of operators a on nodes s, and what the score and the changes of it need.

    Arrays of `put_instances` (edrp/native/heuristics/placement/search/count_state.hpp).
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
