"""Sets of nodes that an operator may use, as states of which the least delay and the least price of a stream depend.

On few nodes every set is a state. On more of them a state is one node, or a group of nodes that are near to one another (merged
in the order of their delays) of which an operator uses several: in zones these are a zone, and all nodes, and nothing is lost.

What a stream costs is a product of the shares of both ends. Nodes are parted in two where links between them cost most, and
states with nodes in both parts are repeated for ranges of the share of the first part: within them products hardly vary.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations, pairwise

import numpy as np

from edrp.core.arrays import Bools, Floats, Ints

MAX_LISTED_NODES = 4
"""Nodes up to which every set is a state of its own."""

SHARE_RANGES = 8
"""Ranges of the share of the first part of the nodes."""


@dataclass(frozen=True, slots=True)
class NodeSets:
    """States of an operator.

    Attributes
    ----------
    inside : shape (states, nodes), nodes that may be used.
    several : shape (states,), whether more than one node is used.
    delay : shape (states, states), no stream from an operator in the first to one in the second state takes less, in seconds.
    part : shape (nodes,), the first part of the nodes.
    low, high : shape (states,), range of the share of the first part.
    ranged : shape (states,), number of the state's range of shares, -1 where the share is given or may be any.
    """

    inside: Bools
    several: Bools
    delay: Floats
    part: Bools
    low: Floats
    high: Floats
    ranged: Ints

    @property
    def ranges(self) -> int:
        """States with a range of shares."""
        return int(self.ranged.max(initial=-1)) + 1


def node_sets(delay: Floats, price: Floats, ranges: bool = True) -> NodeSets:
    """States for tables of delays and prices between nodes, with ranges of shares or without."""
    size = len(delay)
    if size <= MAX_LISTED_NODES:
        groups = [[[u] for u in chosen] for k in range(1, size + 1) for chosen in combinations(range(size), k)]
        every = True
    else:
        groups = [[[u]] for u in range(size)] + _merged(np.minimum(delay, delay.T))
        every = False
    inside = np.zeros((len(groups), size), bool)
    for state, parts in enumerate(groups):
        inside[state, [u for part in parts for u in part]] = True
    # For each node the least delay to an operator in each state, which uses several parts of it; then for several parts of those.
    there = np.array([_to_parts(delay, parts, every) for parts in groups])
    back = np.array([_to_parts(delay.T, parts, every) for parts in groups])
    forth = np.array([_to_parts(there, parts, every) for parts in groups])
    rear = np.array([_to_parts(back, parts, every) for parts in groups]).T
    return _with_ranges(inside, np.maximum(forth, rear), _expensive_part(price) if ranges and not every else np.ones(size, bool))


def _expensive_part(price: Floats) -> Bools:
    """The first of two parts of the nodes between which links cost most; all nodes where no link costs more than another."""
    size = len(price)
    groups = _merged(np.minimum(price, price.T) + np.eye(size))
    whole = [parts for parts in groups if sum(map(len, parts)) == size]
    part = np.ones(size, bool)
    if price.any() and whole and len(whole[0]) < size:
        part[:] = False
        part[max(whole[0], key=len)] = True
    return part


def _with_ranges(inside: Bools, delay: Floats, part: Bools) -> NodeSets:
    """Repeat the states that use nodes of both parts for every range of the share of the first one."""
    rows: list[tuple[int, float, float, int]] = []
    ranged = 0
    for state, nodes in enumerate(inside):
        if not (nodes & part).any() or not (nodes & ~part).any():
            share = float((nodes & part).any())
            rows.append((state, share, share, -1))
            continue
        ends = np.linspace(0.0, 1.0, SHARE_RANGES + 1).tolist()
        rows += [(state, a, b, ranged + k) for k, (a, b) in enumerate(pairwise(ends))]
        ranged += SHARE_RANGES
    states = np.array([row[0] for row in rows])
    low, high = (np.array([row[k] for row in rows]) for k in (1, 2))
    return NodeSets(
        inside=inside[states],
        several=inside[states].sum(axis=1) > 1,
        delay=delay[np.ix_(states, states)],
        part=part,
        low=low,
        high=high,
        ranged=np.array([row[3] for row in rows]),
    )


def _merged(delay: Floats) -> list[list[list[int]]]:
    """Groups of nodes by rising delay, each with the groups that it consists of."""
    groups, merged_groups = [[u] for u in range(len(delay))], []
    while len(groups) > 1:
        apart = np.array([[delay[np.ix_(a, b)].min() for b in groups] for a in groups])
        np.fill_diagonal(apart, np.inf)
        nearest = apart.min() * (1 + 1e-9)
        unmerged = list(range(len(groups)))
        merged: list[list[int]] = []
        while unmerged:
            part, fresh = [unmerged[0]], [unmerged.pop(0)]
            while fresh:
                a = fresh.pop()
                near = [b for b in unmerged if apart[a, b] <= nearest]
                unmerged = [b for b in unmerged if b not in near]
                part, fresh = part + near, fresh + near
            if len(part) > 1:
                merged_groups.append([groups[a] for a in sorted(part)])
            merged.append(sorted(u for a in part for u in groups[a]))
        groups = merged
    return merged_groups


def _to_parts(delay: Floats, parts: list[list[int]], every: bool) -> Floats:
    """The least delay from each row to nodes in all parts, or in any two of them; shape (rows,)."""
    nearest = np.sort(np.array([delay[:, part].min(axis=1) for part in parts]), axis=0)
    return np.asarray(nearest[-1 if every else min(1, len(parts) - 1)])
