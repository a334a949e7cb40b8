"""Links between all pairs of nodes as dense tables, which methods for large networks of zones seldom need."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from edrp.core.arrays import Floats, Ints
from edrp.core.budget import look
from edrp.placement.network import Link, Network

BLOCK = 2_000_000
"""Cells of a table that are filled between two looks at the clock."""


@dataclass(frozen=True)
class LinkArrays:
    """Delay, price and availability between some nodes of a network.

    Attributes
    ----------
    network
        The network of the links.
    nodes
        Names by index.
    price
        One for all links, which are always available then; None for the network's own prices and availability.

    Examples
    --------
    >>> network = Network(nodes=[{"name": name} for name in "ab"], links=[{"source": "a", "target": "b", "delay": 0.01}])
    >>> LinkArrays(network, ("b", "a")).delay.tolist()
    [[0.0, 0.01], [0.01, 0.0]]
    """

    network: Network
    nodes: tuple[str, ...]
    price: float | None = None

    @cached_property
    def delay(self) -> Floats:
        """Seconds, shape (nodes, nodes); infinite without link, 0 on a node."""
        return self._table("delay", np.inf, 0.0)

    @cached_property
    def cost(self) -> Floats:
        """Money/h per tuple/s, shape (nodes, nodes); 0 on a node."""
        return self._table("cost", 0.0, 0.0) if self.price is None else self._flat(self.price, 0.0)

    @cached_property
    def availability(self) -> Floats:
        """Probability, shape (nodes, nodes); 1 on a node."""
        return self._table("availability", 1.0, 1.0) if self.price is None else self._flat(1.0, 1.0)

    @property
    def priced(self) -> bool:
        """Whether any link costs anything; no table is made to find out."""
        if self.price is not None:
            return self.price > 0
        return any(link.cost > 0 for link in (*self.network.links, *self.network.classes))

    @property
    def lossy(self) -> bool:
        """Whether any link may be down; no table is made to find out."""
        return self.price is None and not self.network.perfect_links

    def delay_from(self, sources: Ints) -> Floats:
        """Delays from some nodes to all, shape (sources, nodes), without the whole table."""
        whole = self.__dict__.get("delay")
        return self._rows("delay", np.inf, 0.0, sources) if whole is None else whole[sources]

    def _flat(self, value: float, itself: float) -> Floats:
        return self._filled(lambda rows: np.where(rows[:, None] == np.arange(len(self.nodes)), itself, value))

    def _table(self, name: str, absent: float, itself: float) -> Floats:
        return self._filled(lambda rows: self._rows(name, absent, itself, rows))

    def _filled(self, rows: Callable[[Ints], Floats]) -> Floats:
        """A table that is filled block by block, because new memory takes seconds where nodes are many."""
        size = len(self.nodes)
        table = np.empty((size, size))
        step = max(1, BLOCK // max(1, size))
        for first in range(0, size, step):
            look(f"the tables over the pairs of {size} nodes")
            block = np.arange(first, min(first + step, size))
            table[block] = rows(block)
        return table

    def _rows(self, name: str, absent: float, itself: float, rows: Ints) -> Floats:
        """Some rows of a table; listed links stand above those described by zones."""
        network = self.network
        table = np.full((rows.size, len(self.nodes)), absent)
        if network.classes:
            together = self._zone[rows, None] == self._zone
            for described, where in ((network.within_zone, together), (network.between_zones, ~together)):
                if described is not None:
                    table[where] = getattr(described, name)
        source, target, links = self._listed
        place = np.full(len(self.nodes), -1)
        place[rows] = np.arange(rows.size)
        chosen = np.flatnonzero(place[source] >= 0)
        table[place[source[chosen]], target[chosen]] = [getattr(links[index], name) for index in chosen]
        table[np.arange(rows.size), rows] = itself
        return table

    @cached_property
    def _zone(self) -> Ints:
        """Number of each node's zone; a node without a zone gets a number of its own: it shares none."""
        numbers: dict[str, int] = {}
        zones = [self.network.by_name[name].zone for name in self.nodes]
        return np.array([-1 - u if zone is None else numbers.setdefault(zone, len(numbers)) for u, zone in enumerate(zones)])

    @cached_property
    def _listed(self) -> tuple[Ints, Ints, list[Link]]:
        """Listed links between the nodes: sources, targets, and the links themselves."""
        index = {name: u for u, name in enumerate(self.nodes)}
        listed = [(index[u], index[v], link) for (u, v), link in self.network._links.items() if u in index and v in index]
        sources, targets = np.array([u for u, _, _ in listed], np.int64), np.array([v for _, v, _ in listed], np.int64)
        return sources, targets, [link for _, _, link in listed]


def change_by_blocks(table: Floats, change: Callable[[Floats], Any]) -> Any:
    """Change a large table by blocks of rows, between which the clock is looked at."""
    step = max(1, BLOCK // max(1, table.shape[1]))
    first = change(table[:step])
    whole = np.empty((len(table), *first.shape[1:]), first.dtype)
    whole[:step] = first
    for start in range(step, len(table), step):
        look(f"the tables over the pairs of {len(table)} nodes")
        whole[start : start + step] = change(table[start : start + step])
    return whole
