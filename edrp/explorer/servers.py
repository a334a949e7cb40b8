"""Servers and dedicated links as a graph, near to one another where few links lie between."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from types import MappingProxyType

import numpy as np

from edrp.explorer.boxes import BOLD_LETTER, NO_ROOM, Content, Room, chips_of, fitted, rooms, shortened
from edrp.explorer.layout import by_distance, on_the_map
from edrp.explorer.quantities import figure, quantity
from edrp.explorer.view import Arrangement, Box, Detail, Edge, Graph, State
from edrp.mapping.server_network import ServerNetwork

MAX_SERVERS = 200
"""Servers that are drawn: those with the most links."""

MAX_LINKS = 600
EMPTY: Content = MappingProxyType({})


class Servers:
    """Boxes, links and details of a network of servers."""

    def __init__(self, network: ServerNetwork) -> None:
        degree = dict.fromkeys(network.by_name, 0)
        for link in network.links:
            degree[link.source] += 1
            degree[link.target] += 1
        names = list(degree) if len(degree) <= MAX_SERVERS else sorted(degree, key=lambda name: -degree[name])[:MAX_SERVERS]
        self.network = network
        self.number = {name: index for index, name in enumerate(names)}
        self.details: dict[str, Detail] = {}

    def id(self, server: str) -> str:
        """Id of the box of a server; one that is not drawn has none, and what leads there is left out."""
        index = self.number.get(server)
        return "" if index is None else f"n{index}"

    def graph(
        self, title: str, states: Sequence[State], *, content: Content = EMPTY, legend: Sequence[tuple[str, str]] = ()
    ) -> Graph:
        """The graph with edges of some states, and with chips where there is content, which is that of all states."""
        needed = rooms([content])
        boxes = [self._box(index, name, needed.get(f"n{index}", NO_ROOM)) for name, index in self.number.items()]
        states = [replace(state, chips=chips_of(content, needed)) for state in states]
        hidden = len(self.network.nodes) - len(boxes)
        note = f"The {len(boxes)} servers with the most links of {len(self.network.nodes):,}." if hidden else ""
        return Graph(
            title, boxes, [self._place(boxes)], states, links=self._links(), note=note, legend=legend, under=True, straight=True
        )

    def _box(self, index: int, name: str, room: Room) -> Box:
        server = self.network.by_name[name]
        whole = server.whole_capacity
        rows = [("free capacity", f"{figure(server.capacity, 4)} of {figure(whole, 4)}")]
        rows += [("uplink", quantity(server.uplink, "bytes/s"))] if server.uplink else []
        rows += [("downlink", quantity(server.downlink, "bytes/s"))] if server.downlink is not None else []
        rows += [("services", ", ".join(server.services[:20]) or "none")] if server.services is not None else []
        self.details[f"n{index}"] = Detail(name, rows)
        note = f"capacity {figure(server.capacity)}" if whole else "forwards only"
        box = Box(f"n{index}", shortened(name, 104, BOLD_LETTER), 120.0, 44.0, note, muted=not room.items, detail=f"n{index}")
        return fitted(box, room)

    def _place(self, boxes: Sequence[Box]) -> Arrangement:
        sizes = [(box.width, box.height) for box in boxes]
        chart = on_the_map("map", sizes, [self.network.by_name[name].coordinates for name in self.number])
        if chart is not None:
            return chart
        from scipy.sparse import csr_array
        from scipy.sparse.csgraph import shortest_path

        ends = [(self.number[a], self.number[b]) for a, b in self.network.arcs if a in self.number and b in self.number]
        n = len(boxes)
        rows, columns = np.array(ends, np.int64).reshape(-1, 2).T
        hops = shortest_path(csr_array((np.ones(len(ends)), (rows, columns)), shape=(n, n)), unweighted=True)
        return by_distance("servers", sizes, hops)

    def _links(self) -> list[Edge]:
        edges = []
        for index, link in enumerate(self.network.links[:MAX_LINKS]):
            if link.source not in self.number or link.target not in self.number:
                continue
            rows = [("bandwidth", quantity(link.bandwidth, "bytes/s")), ("price", quantity(link.cost, "money"))]
            rows += [("delay", quantity(link.delay, "s"))] if link.delay else []
            self.details[f"l{index}"] = Detail(f"Link {link.source} – {link.target}", rows)
            edges.append(Edge(self.id(link.source), self.id(link.target), 1.2, detail=f"l{index}"))
        return edges
