"""Executors placed one after the other, each on the first node in Storm's order that has room, with backtracking."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from edrp.core.arrays import Bools, Floats, Ints
from edrp.core.budget import passed, spend
from edrp.core.tolerances import LIMIT_SLACK

EXECUTOR_UNITS = 5e-5
"""Units of work of placing an executor once. Measured on 1,000 hosts in 20 racks."""


class ExecutorQueue:
    """Executors in the order in which they are placed, and the nodes of those that are.

    Parameters
    ----------
    order : shape (executors,)
        Component of each.
    demand, capacity, candidate
        As in `Compiled`, nodes and racks numbered in the order in which ties are settled.
    rack : shape (nodes,)
        Number of each node's rack, from 0.
    rare : shape (resources,)
        Whether a node ranks lower for having it where it is not asked for.

    Attributes
    ----------
    nodes
        Node of each executor placed.
    states, deepest
        Executors placed so far, counting those taken back, and maximum at once.
    """

    def __init__(self, order: Ints, demand: Floats, capacity: Floats, candidate: Bools, rack: Ints, rare: Bools) -> None:
        self.order, self.demand, self.capacity = order, demand, capacity
        self.candidate, self.rack, self.rare = candidate, rack, rare
        self.nodes: list[int] = []
        self.states = self.deepest = 0
        self._members = [np.flatnonzero(rack == number) for number in range(int(rack.max()) + 1)]
        self._free, self._all_free = capacity.copy(), capacity.sum(axis=0)
        self._rack_free = np.zeros((len(self._members), capacity.shape[1]))
        np.add.at(self._rack_free, rack, capacity)
        self._held, self._rack_held = np.zeros(rack.size, np.int64), np.zeros(len(self._members), np.int64)
        self._turns: list[Iterator[int]] = []
        self._saved: list[tuple[Floats, Floats, Floats]] = []

    def place(self, max_states: int, until: float) -> bool:
        """Place executors until all are placed, nothing is left to try, or a limit is reached; return whether it has ended."""
        while len(self.nodes) < self.order.size:
            if self.states >= max_states or passed(until):
                return False
            if len(self._turns) == len(self.nodes):
                self._turns.append(self._next_nodes(int(self.order[len(self.nodes)])))
            node = next(self._turns[-1], None)
            if node is not None:
                self._put(node)
            elif self.nodes:
                self._turns.pop()
                self._take_back()
            else:
                return True
        return True

    def _next_nodes(self, component: int) -> Iterator[int]:
        """Yield the nodes with room for a component, rack by rack, from sums taken at the first request."""
        demand = self.demand[component]
        for rack in self._ranked(np.arange(len(self._members)), self._rack_free, self._rack_held, self._all_free, demand):
            nodes = self._members[rack]
            room = (demand <= self._free[nodes] + LIMIT_SLACK * self.capacity[nodes]).all(axis=1)
            yield from self._ranked(
                nodes[room & self.candidate[component, nodes]], self._free, self._held, self._rack_free[rack], demand
            )

    def _ranked(self, groups: Ints, free: Floats, executors: Ints, total: Floats, demand: Floats) -> list[int]:
        """Nodes or racks by executors held, the mean share of what is free in all, and the minimum share."""
        counted = total > 0
        with np.errstate(divide="ignore", invalid="ignore"):
            shares = np.where(total < np.inf, free[groups] / total, free[groups] == np.inf)
        shares = np.where(self.rare & (demand == 0), -shares, shares)[:, counted]
        mean = shares.mean(axis=1) if counted.any() else np.ones(groups.size)
        ranks = np.lexsort((-shares.min(axis=1, initial=1.0), -mean, -executors[groups]))
        return [int(group) for group in groups[ranks]]

    def _put(self, node: int) -> None:
        rack, demand = self.rack[node], self.demand[self.order[len(self.nodes)]]
        self._saved.append((self._free[node].copy(), self._rack_free[rack].copy(), self._all_free.copy()))
        for free in (self._free[node], self._rack_free[rack], self._all_free):
            free -= demand
        self._held[node] += 1
        self._rack_held[rack] += 1
        self.nodes.append(node)
        self.states += 1
        self.deepest = max(self.deepest, len(self.nodes))
        spend(EXECUTOR_UNITS)

    def _take_back(self) -> None:
        """Take the last executor back, with exactly the sums from before, so that nodes are tried in the same order again."""
        node = self.nodes.pop()
        rack = self.rack[node]
        self._free[node], self._rack_free[rack], self._all_free[:] = self._saved.pop()
        self._held[node] -= 1
        self._rack_held[rack] -= 1
