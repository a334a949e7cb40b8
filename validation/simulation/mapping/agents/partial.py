"""A map under way: where the first components of a task run, and the way taken so far."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from edrp.mapping.costs import MapFacts
from edrp.mapping.path_tasks import PathMap


@dataclass(frozen=True, slots=True)
class PartialMap:
    """The content of a map message. Maps are never changed; servers send on new ones.

    Attributes
    ----------
    routes : servers of each hop; the last one is under way, and ends at the server that holds the map.
    nodes : server of each component that is mapped, one less than routes.
    public : whether each hop goes over the public network.
    empty_hops : servers passed without hosting a component: on the hop under way, or in total. A server that sends the map on
        as it came counts as passed.
    cost, links, public_hops, dedicated_hops : as in `MapFacts`, the hop under way included.
    loads : sum of the loads of the servers that host a component.
    """

    routes: tuple[tuple[str, ...], ...]
    nodes: tuple[str, ...] = ()
    public: tuple[bool, ...] = (False,)
    empty_hops: int = 0
    cost: float = 0.0
    links: int = 0
    public_hops: int = 0
    dedicated_hops: int = 0
    loads: float = 0.0

    @property
    def prefix(self) -> int:
        """Components that are mapped."""
        return len(self.nodes)

    @property
    def starts(self) -> bool:
        """Whether nothing was sent yet: the map is where the task's data is."""
        return len(self.routes) == 1 and len(self.routes[0]) == 1

    @property
    def facts(self) -> MapFacts:
        """Properties from which costs are computed."""
        load = self.loads / len(set(self.nodes)) if self.nodes else 0.0
        return MapFacts(self.cost, self.links, self.public_hops, self.dedicated_hops, load)

    @property
    def stops(self) -> tuple[str, ...]:
        """Servers on the way, from the source on; those that the way meets again appear again."""
        first, *others = self.routes
        return (*first, *(name for route in others for name in route[1:]))

    @property
    def path_map(self) -> PathMap:
        """The map as a decision."""
        return PathMap.model_construct(nodes=self.nodes, routes=self.routes, public=self.public if self.public_hops else ())

    def passing(self) -> PartialMap:
        """The map with one empty hop more."""
        return replace(self, empty_hops=self.empty_hops + 1)

    def hosting(self, load: float, empty_hops: int) -> PartialMap:
        """The map with the next component where the map is, which adds `load` to the sum of loads."""
        here = self.routes[-1][-1]
        return replace(
            self,
            routes=(*self.routes, (here,)),
            nodes=(*self.nodes, here),
            public=(*self.public, False),
            empty_hops=empty_hops,
            loads=self.loads + load,
        )

    def over_link(self, neighbour: str, cost: float) -> PartialMap:
        """The map sent over a dedicated link."""
        dedicated_hops = self.dedicated_hops + (len(self.routes[-1]) == 1)
        return replace(self._to(neighbour, cost), links=self.links + 1, dedicated_hops=dedicated_hops)

    def over_public(self, receiver: str, cost: float) -> PartialMap:
        """The map sent over the public network."""
        public = (*self.public[:-1], True)
        return replace(self._to(receiver, cost), public=public, public_hops=self.public_hops + 1)

    def _to(self, receiver: str, cost: float) -> PartialMap:
        return replace(self, routes=(*self.routes[:-1], (*self.routes[-1], receiver)), cost=self.cost + cost)

    def capacity_on(self, server: str, needs: Sequence[float]) -> float:
        """Computing capacity that the map takes of a server."""
        return sum((need for need, name in zip(needs, self.nodes, strict=False) if name == server), 0.0)

    def rates_over(self, source: str, target: str, bandwidths: Sequence[float]) -> Iterator[float]:
        """Rate of each use of the dedicated link between two servers, in that direction."""
        for route, public, rate in zip(self.routes, self.public, bandwidths, strict=False):
            if not public:
                yield from (rate for arc in pairwise(route) if arc == (source, target))

    def public_rates(self, server: str, end: int, bandwidths: Sequence[float]) -> Iterator[float]:
        """Rate of each public hop out of a server (`end` 0) or into it (1)."""
        for route, public, rate in zip(self.routes, self.public, bandwidths, strict=False):
            if public and route[end] == server:
                yield rate
