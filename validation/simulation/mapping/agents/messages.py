"""Maps under way, and the messages between servers and the portal of a task."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise

from edrp.heuristics.mapping.map_rules import Specification
from edrp.mapping.mapping_arrays import MapFacts
from edrp.mapping.path_tasks import PathMap

Resource = tuple[str, ...]
"""Kind of resource ("capacity", "bandwidth", "uplink" or "downlink"), and the servers that it belongs to."""

PORTAL = ""
"""Address of the portal of a task; no server has an empty name."""


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

    def hosting(self, load: float, empty_hops: int) -> PartialMap:
        """The map with the next component where the map is, which adds `load` to the sum of loads."""
        last_server = self.routes[-1][-1]
        routes, nodes, public = (*self.routes, (last_server,)), (*self.nodes, last_server), (*self.public, False)
        return replace(self, routes=routes, nodes=nodes, public=public, empty_hops=empty_hops, loads=self.loads + load)

    def sent(self, receiver: str, cost: float, *, public: bool) -> PartialMap:
        """The map sent over a dedicated link, or over the public network."""
        return replace(
            self,
            routes=(*self.routes[:-1], (*self.routes[-1], receiver)),
            public=(*self.public[:-1], public),
            cost=self.cost + cost,
            links=self.links + (not public),
            public_hops=self.public_hops + public,
            dedicated_hops=self.dedicated_hops + (not public and len(self.routes[-1]) == 1),
        )

    def uses(self, specification: Specification) -> dict[Resource, float]:
        """Return the amount of each resource that the map takes, the hop under way included."""
        task, uses = specification.task, dict[Resource, list[float]]()
        for server, need in zip(self.nodes, task.needs, strict=False):
            uses.setdefault(("capacity", server), []).append(need)
        for route, public, rate in zip(self.routes, self.public, task.hop_bandwidths, strict=False):
            ends: list[Resource] = [("uplink", route[0]), ("downlink", route[1])] if public else []
            for resource in ends or [("bandwidth", *arc) for arc in pairwise(route)]:
                uses.setdefault(resource, []).append(rate)
        together = specification.rules.together
        return {resource: sum(amounts) if resource[0] == "capacity" else together(amounts) for resource, amounts in uses.items()}


@dataclass(frozen=True, slots=True)
class Message:
    """One message about one task."""

    task: int
    sender: str
    receiver: str

    @property
    def kind(self) -> str:
        """Word by which messages are counted."""
        return type(self).__name__.lower()


@dataclass(frozen=True, slots=True)
class Map(Message):
    """A map to be extended (Algs. 1 and 3); the exchange numbers maps in the order in which they are sent."""

    map: PartialMap
    specification: Specification | None = None
    number: int = -1

    @property
    def public(self) -> bool:
        """Whether it travels over the public network."""
        return self.map.public[-1]


@dataclass(frozen=True, slots=True)
class Ack(Message):
    """Acknowledges the map of that number (Alg. 2); the final one closes the engagement of its sender."""

    number: int
    final: bool


@dataclass(frozen=True, slots=True)
class Ask(Message):
    """Asks for the specification, which a map has overtaken."""


@dataclass(frozen=True, slots=True)
class Spec(Message):
    """Message that holds only the specification of the task."""

    specification: Specification


@dataclass(frozen=True, slots=True)
class Select(Message):
    """Tells the delivery server that the mapping has ended: no map is under way any more."""


@dataclass(frozen=True, slots=True)
class Probe(Message):
    """Reserves, from the delivery back to the source, what a map takes; `place` is that of the receiver among its stops."""

    map: PartialMap
    place: int


@dataclass(frozen=True, slots=True)
class Rollback(Message):
    """Undoes a probe on its way back to the delivery; `short` names what was taken by others."""

    map: PartialMap
    place: int
    short: str


@dataclass(frozen=True, slots=True)
class Confirm(Message):
    """Tells the portal that the probe has reached the source: the task is accepted."""

    map: PartialMap


@dataclass(frozen=True, slots=True)
class Reject(Message):
    """Tells the portal that no map is left; `short` names what each map that was tried lacked."""

    short: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Forget(Message):
    """Lets a server drop what it keeps of a mapping, and tell those to whom it sent the specification."""
