"""Links between all pairs of nodes as dense tables, which methods for large networks of zones seldom need."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from edrp.core.arrays import Floats
from edrp.placement.network import Network


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

    @property
    def delay(self) -> Floats:
        """Seconds, shape (nodes, nodes); infinite without link, 0 on a node."""
        return self._tables[0]

    @property
    def cost(self) -> Floats:
        """Money/h per tuple/s, shape (nodes, nodes); 0 on a node."""
        return self._tables[1]

    @property
    def availability(self) -> Floats:
        """Probability, shape (nodes, nodes); 1 on a node."""
        return self._tables[2]

    @cached_property
    def _tables(self) -> tuple[Floats, Floats, Floats]:
        delay, cost, availability = _link_tables(self.network, {name: u for u, name in enumerate(self.nodes)})
        if self.price is not None:
            cost = np.full_like(delay, self.price)
            np.fill_diagonal(cost, 0.0)
            availability = np.ones_like(delay)
        return delay, cost, availability


def _link_tables(network: Network, index: dict[str, int]) -> tuple[Floats, Floats, Floats]:
    """Delay, cost and availability between all pairs of nodes; listed links stand above those described by zones."""
    size = len(index)
    delay, cost, availability = np.full((size, size), np.inf), np.zeros((size, size)), np.ones((size, size))
    if network.classes:
        numbers: dict[str, int] = {}
        zones = [network.by_name[name].zone for name in index]
        # A node without a zone gets a number of its own: it shares none.
        zone = np.array([-1 - u if z is None else numbers.setdefault(z, len(numbers)) for u, z in enumerate(zones)])
        together = zone[:, None] == zone
        for described, where in ((network.within_zone, together), (network.between_zones, ~together)):
            if described is not None:
                delay[where], cost[where], availability[where] = described.delay, described.cost, described.availability
    listed = [(index[u], index[v], link) for (u, v), link in network._links.items() if u in index and v in index]
    rows, columns = np.array([u for u, _, _ in listed], np.int64), np.array([v for _, v, _ in listed], np.int64)
    delay[rows, columns] = [link.delay for _, _, link in listed]
    cost[rows, columns] = [link.cost for _, _, link in listed]
    availability[rows, columns] = [link.availability for _, _, link in listed]
    np.fill_diagonal(delay, 0.0)
    np.fill_diagonal(cost, 0.0)
    np.fill_diagonal(availability, 1.0)
    return delay, cost, availability
