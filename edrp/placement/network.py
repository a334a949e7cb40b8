"""Computing nodes, the links between them and the data store (EDRP, section 3.1)."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping
from functools import cached_property
from itertools import combinations, permutations
from typing import TYPE_CHECKING, Annotated, Any, Self

from pydantic import Field

from edrp.core import document
from edrp.core.budget import refuse_beyond_memory
from edrp.core.errors import Fault, InvalidInstanceError
from edrp.placement.devices import NodeResources
from edrp.placement.routes import Router, shortest_delays

if TYPE_CHECKING:
    import networkx as nx

BYTES_PER_LINK = 1200
"""Measured: a `Link` with its entry in the table by ends."""


class Node(document.NamedNode):
    """A node, on which replicas run."""

    resources: NodeResources | None = Field(
        None,
        description='what replicas may use together: a number, or by name amounts or equal units such as {"units": 8} (devices): '
        "a replica takes a whole number of them alone, or a fraction of one; null for no limit",
        **document.unit("1"),
    )
    capacity: dict[document.Name, document.Positive] = Field(
        {},
        description="what the node has of shared resources, by name, such as cores, bytes/s of a disk or a network card; "
        "replicas that ask for more slow each other down",
        **document.unit("units/s"),
    )
    speedup: document.Positive = Field(
        1.0,
        description="how much faster than the reference node: latencies are divided by it; below 1 replicas serve that much "
        "less, above 1 no more",
        **document.unit("1"),
    )
    spawn_time: document.NonNegative = Field(0.0, description="time to start new replicas", **document.unit("s"))
    availability: document.Probability = Field(1.0, description="share of time in service", **document.unit("1"))
    zone: document.Name | None = Field(None, description="availability zone, rack or site")
    labels: dict[document.Name, document.Name] = Field(
        {}, description="what rules may refer to, by key, such as a tenant, a region or a kind of disk"
    )
    store_delay: document.NonNegative | None = Field(
        None, description="one-way delay to the data store; null: the store's", **document.unit("s")
    )
    store_bandwidth: document.Positive | None = Field(
        None, description="rate to and from the data store; null: the store's", **document.unit("bytes/s")
    )


class LinkClass(document.Document):
    """The properties of a link without its ends: one description for many pairs of nodes."""

    delay: document.NonNegative = Field(description="one-way delay", **document.unit("s"))
    bandwidth: document.Positive | None = Field(
        None,
        description="transfer rate; limits no stream, and only tells equally long routes apart; null for no limit",
        **document.unit("bytes/s"),
    )
    cost: document.NonNegative = Field(0.0, description="price of traffic", **document.unit("money/h per tuple/s"))
    availability: document.Probability = Field(1.0, description="share of time in service", **document.unit("1"))


class Link(LinkClass, document.LinkEnds):  # in this order the ends are the first fields
    """Connection from one node to another: a logical one, whatever its path, or a physical one of a routed network."""


class Store(document.Document):
    """The data store that holds operator code and, during a reconfiguration, operator state (EDRP, section 3.3)."""

    delay: document.NonNegative = Field(0.0, description="one-way delay between a node and the store", **document.unit("s"))
    bandwidth: document.Positive | None = Field(
        None, description="rate to and from a node; null: no limit", **document.unit("bytes/s")
    )
    local_bandwidth: document.Positive | None = Field(
        None, description="rate to and from a node's own disk (Storm's swapping area); null: no limit", **document.unit("bytes/s")
    )


class Network(document.LinkedNodes):
    """Nodes, logical links and the data store.

    With `symmetric` (the default) every link serves both directions. Links of a node to itself need
    not be given: they have no delay and no cost.

    A cluster of thousands of hosts cannot list its links. `within_zone` and `between_zones` describe
    them once, by the zones of both ends: every pair of nodes that `links` does not list has such a link.
    Nodes without a zone share none, so that any link of theirs is between zones.

    With `routed`, `links` are the physical ones, and every pair of nodes is joined by the route with the least
    delay over them, even where a slower link joins the pair itself. Delay and cost are the sums over the links of
    the route, bandwidth is the smallest, availability the product; nodes on the way add nothing. Of routes with
    equal delays (to 1 ps, which every link counts at least), the one with the lowest cost is taken, then the largest
    bandwidth, then the order of nodes.
    Pairs do not share physical links: each has the whole bandwidth, and counts its links for availability anew.

    Raises
    ------
    InvalidInstanceError
        Duplicate names, unknown link ends, a link given twice or from a node to itself, `within_zone`
        where no node has a zone, or either class of links in a routed network.

    Examples
    --------
    >>> network = Network(nodes=[{"name": "a"}, {"name": "b"}], links=[{"source": "a", "target": "b", "delay": 0.01}])
    >>> network.link("b", "a").delay
    0.01
    >>> hosts = [{"name": f"host{u}", "zone": f"rack{u % 2}"} for u in range(2000)]
    >>> racks = Network(nodes=hosts, within_zone={"delay": 5e-5}, between_zones={"delay": 2.5e-4})
    >>> racks.delay("host0", "host2"), racks.delay("host0", "host1")
    (5e-05, 0.00025)
    >>> wires = [{"source": "edge", "target": "fog", "delay": 0.25}, {"source": "fog", "target": "cloud", "delay": 0.5}]
    >>> site = Network(nodes=[{"name": name} for name in ("edge", "fog", "cloud")], links=wires, routed=True)
    >>> site.delay("edge", "cloud"), site.route("edge", "cloud")
    (0.75, ('edge', 'fog', 'cloud'))
    """

    nodes: Annotated[tuple[Node, ...], Field(min_length=1)] = Field(description="places where replicas run")
    links: tuple[Link, ...] = Field(
        (), description="one for every pair of nodes that a stream may join; with `routed`, the physical links"
    )
    routed: bool = Field(False, description="pairs of nodes are joined by the routes over `links` with the least delay")
    store: Store = Field(Store(), description="the data store")
    within_zone: LinkClass | None = Field(
        None, description="link of every pair of nodes of one zone that `links` does not list; null for none"
    )
    between_zones: LinkClass | None = Field(
        None, description="link of every other pair of nodes that `links` does not list; null for none"
    )

    @document.checks("network")
    def _check(self, faults: document.Faults) -> None:
        if self.within_zone is not None and all(node.zone is None for node in self.nodes):
            faults.add(("within_zone",), None, "joins nodes of one zone, but no node has a zone; give the nodes a `zone`")
        for name in ("within_zone", "between_zones"):
            if self.routed and getattr(self, name) is not None:
                why = "describes pairs of nodes, but with `routed` only the physical `links` join nodes; leave out either"
                faults.add((name,), None, why)

    @cached_property
    def by_name(self) -> dict[str, Node]:
        """Nodes by name."""
        return {node.name: node for node in self.nodes}

    @cached_property
    def _links(self) -> dict[tuple[str, str], Link]:
        links = {(link.source, link.target): link for link in self.links}
        if self.symmetric:
            links.update({(link.target, link.source): link for link in self.links})
        return links

    @cached_property
    def _router(self) -> Router:
        return Router(tuple(node.name for node in self.nodes), self._links)

    @cached_property
    def _zones(self) -> dict[str, str | None]:
        return {node.name: node.zone for node in self.nodes}

    @cached_property
    def _listed(self) -> frozenset[str]:
        """Nodes at the end of any link that is listed."""
        return frozenset(name for ends in self._links for name in ends)

    @property
    def classes(self) -> tuple[LinkClass, ...]:
        """Descriptions of links that are not listed: `within_zone` and `between_zones`, where given."""
        return tuple(described for described in (self.within_zone, self.between_zones) if described is not None)

    @property
    def complete(self) -> bool:
        """Whether every pair of nodes certainly has a link, as can be said without looking at each."""
        count = len(self.nodes)
        if self.routed:
            return self.symmetric and len(self._router.routes_from(self.nodes[0].name)) == count
        return len(self.links) * (2 if self.symmetric else 1) == count * (count - 1) or (
            self.between_zones is not None and (self.within_zone is not None or all(node.zone is None for node in self.nodes))
        )

    @cached_property
    def perfect_links(self) -> bool:
        """Whether no link ever fails."""
        return all(link.availability == 1 for link in (*self.links, *self.classes))

    def _share_zone(self, source: str, target: str) -> bool:
        zone = self._zones[source]
        return zone is not None and zone == self._zones[target]

    def link(self, source: str, target: str) -> LinkClass | None:
        """The link from `source` to `target` if there is one: a route, a listed `Link`, or what holds for their zones."""
        if self.routed and source != target:
            found = self._router.routes_from(source).get(target)
            if found is None:
                return None
            bandwidth = None if found.narrowness == -math.inf else -found.narrowness
            fields: Any = {"delay": found.delay, "cost": found.cost, "availability": found.availability}
            return LinkClass.model_construct(**fields, bandwidth=bandwidth)
        listed = self._links.get((source, target))
        if listed is not None or source == target:
            return listed
        return self.within_zone if self._share_zone(source, target) else self.between_zones

    def route(self, source: str, target: str) -> tuple[str, ...]:
        """Nodes that traffic from `source` to `target` passes, both included; empty where no link or route joins them."""
        if source == target or self.link(source, target) is None:
            return (source,) if source == target else ()
        return self._router.path(source, target) if self.routed else (source, target)

    def pair_links(self) -> Iterator[LinkClass]:
        """Every link that any pair of nodes has; where links are described by zones, each description once."""
        if not self.routed:
            return iter((*self.links, *self.classes))
        return (link for pair in permutations(self.by_name, 2) if (link := self.link(*pair)) is not None)

    def delay(self, source: str, target: str) -> float:
        """One-way delay in seconds; 0 on one node, infinite where no link is."""
        if source == target:
            return 0.0
        link = self.link(source, target)
        return link.delay if link else float("inf")

    def link_cost(self, source: str, target: str) -> float:
        """Money per hour per tuple/s; 0 on one node."""
        link = None if source == target else self.link(source, target)
        return link.cost if link else 0.0

    def links_between(self, sources: Counter[str], targets: Counter[str]) -> list[tuple[LinkClass | None, int]]:
        """The links that replicas on `sources` send to replicas on `targets` over, each with its pairs of replicas.

        None stands for pairs that have no link; pairs on one node use none and are left out. Where links are
        described by zones, pairs are counted by zones: the work grows with the nodes, not with their pairs.
        """
        if not self.classes:
            return [(self.link(u, v), m * n) for u, m in sources.items() for v, n in targets.items() if u != v]
        together = sum(m * targets[u] for u, m in sources.items())
        senders, receivers = self._by_zone(sources), self._by_zone(targets)
        alone = sum(m * targets[u] for u, m in sources.items() if self._zones[u] is None)
        within = sum(m * receivers[zone] for zone, m in senders.items()) - (together - alone)
        pairs = {True: within, False: sources.total() * targets.total() - together - within}
        links: list[tuple[LinkClass | None, int]] = []
        for (u, v), link in self._links.items():
            listed = sources[u] * targets[v]
            if listed:
                pairs[self._share_zone(u, v)] -= listed
                links.append((link, listed))
        described = ((self.within_zone, pairs[True]), (self.between_zones, pairs[False]))
        return links + [(link, count) for link, count in described if count]

    def latest_arrivals(self, departures: Mapping[str, float], targets: Iterable[str]) -> dict[str, float]:
        """When the last of what leaves some nodes has arrived at each target, in seconds; infinite where a link is missing.

        Examples
        --------
        >>> nodes = [{"name": "a", "zone": "x"}, {"name": "b", "zone": "x"}, {"name": "c"}]
        >>> network = Network(nodes=nodes, within_zone={"delay": 0.125}, between_zones={"delay": 0.25})
        >>> network.latest_arrivals({"a": 1.0, "b": 1.0}, ["a", "c"])
        {'a': 1.125, 'c': 1.25}
        """
        senders = self._slowest_senders(departures) if self.classes else list(departures)
        return {v: max(departures[u] + self.delay(u, v) for u in senders) for v in targets}

    def _slowest_senders(self, departures: Mapping[str, float]) -> list[str]:
        """Nodes that decide when the last arrives: all whose links are listed, and the two last of each zone.

        From the last one everything arrives later than from others of its zone, except on the node itself.
        """
        slowest: dict[str | None, list[str]] = {}
        senders = [u for u in departures if u in self._listed]
        for u in departures:
            if u not in self._listed:
                two = [*slowest.get(self._zones[u], []), u]
                slowest[self._zones[u]] = sorted(two, key=departures.__getitem__, reverse=True)[:2]
        return senders + [u for two in slowest.values() for u in two]

    def _by_zone(self, replicas: Counter[str]) -> Counter[str]:
        total: Counter[str] = Counter()
        for node, count in replicas.items():
            zone = self._zones[node]
            if zone is not None:
                total[zone] += count
        return total

    @classmethod
    def from_graph(
        cls,
        graph: nx.Graph[Any],
        *,
        weight: str = "delay",
        nodes: list[Hashable] | None = None,
        cost: float = 0.0,
        bandwidth: float | None = None,
        store: Store | None = None,
        node_defaults: dict[str, Any] | None = None,
    ) -> Self:
        """Build the fully connected logical network over a physical graph, with shortest-path delays.

        Parameters
        ----------
        graph
            Physical topology; edge attribute `weight` is the one-way delay in seconds, a number or text that is one. Vertex
            attributes named like fields of `Node` are taken over.
        weight
            Name of the edge attribute.
        nodes
            Vertices that can run replicas (default all); the others only forward.
        cost, bandwidth
            Price and transfer rate of every logical link.
        store
            The data store.
        node_defaults
            Fields of `Node` for all nodes.

        Raises
        ------
        InvalidInstanceError
            When some pair of nodes is not connected, edges have no usable delay, or `nodes` names what is no vertex.
        ProblemTooLargeError
            When the links between all pairs would take more memory than there is.

        Examples
        --------
        >>> import networkx as nx
        >>> graph = nx.path_graph(["a", "b", "c"])
        >>> nx.set_edge_attributes(graph, 0.01, "delay")
        >>> Network.from_graph(graph).delay("a", "c")
        0.02
        """
        vertices = list(graph.nodes)
        chosen = list(vertices if nodes is None else nodes)
        if unknown := [(i, vertex) for i, vertex in enumerate(chosen) if vertex not in graph]:
            raise InvalidInstanceError([Fault(f"nodes[{i}]", repr(vertex), "is no vertex of the graph") for i, vertex in unknown])
        count = len(chosen) * (len(chosen) - 1) // (1 if graph.is_directed() else 2)
        needed = BYTES_PER_LINK * count + 8 * len(vertices) ** 2
        refuse_beyond_memory(
            needed, f"{count} links between {len(chosen)} nodes", "name the nodes that can run replicas with `nodes`"
        )
        delays = shortest_delays(graph, vertices, weight)
        index = {vertex: position for position, vertex in enumerate(vertices)}
        ends = permutations(chosen, 2) if graph.is_directed() else combinations(chosen, 2)
        links: list[Any] = [
            {"source": str(u), "target": str(v), "delay": float(delays[index[u], index[v]]), "cost": cost, "bandwidth": bandwidth}
            for u, v in ends
        ]
        if apart := [f"{link['source']} and {link['target']}" for link in links if not math.isfinite(link["delay"])]:
            raise InvalidInstanceError([Fault("graph", pair, "are not connected; add a path between them") for pair in apart])
        own = {v: {name: value for name, value in graph.nodes[v].items() if name in Node.model_fields} for v in chosen}
        described = [{**(node_defaults or {}), **own[v], "name": str(v)} for v in chosen]
        return cls(nodes=tuple(described), links=tuple(links), symmetric=not graph.is_directed(), store=store or Store())

    def to_graph(self) -> nx.DiGraph[Any]:
        """Write a `networkx.DiGraph` of the links between pairs of nodes, one arc per direction; routes are written out.

        Raises
        ------
        ProblemTooLargeError
            When the arcs between all pairs would take more memory than there is.
        """
        import networkx as nx

        graph: nx.DiGraph[Any] = nx.DiGraph()
        if self.routed or self.classes:
            count = len(self.nodes) * (len(self.nodes) - 1)
            refuse_beyond_memory(BYTES_PER_LINK * count, f"{count} arcs between {len(self.nodes)} nodes", "write a part of them")
        for node in self.nodes:
            graph.add_node(node.name, **node.model_dump(exclude={"name"}))
        for source, target in permutations(self.by_name, 2) if self.routed or self.classes else self._links:
            if link := self.link(source, target):
                graph.add_edge(source, target, **{name: getattr(link, name) for name in LinkClass.model_fields})
        return graph
