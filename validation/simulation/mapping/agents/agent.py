"""Maps under way, the messages between servers and the portal of a task, and the map manager of one server.

The manager follows Algs. 1-3 of bi-modal networks, with its prunings and reservations.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

from edrp import _native
from edrp.heuristics.mapping.map_rules import Specification, fits
from edrp.mapping.mapping_arrays import MapFacts, key, ranked
from edrp.mapping.path_tasks import PathMap
from edrp.mapping.server_network import DataLink, Server

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


NOTHING_SEEN = (math.inf, math.inf)


@dataclass(slots=True)
class MappingState:
    """State of a server in one mapping, from the arrival of the specification until it is told to forget.

    Attributes
    ----------
    predecessor : the map that engaged the server, which is acknowledged last; None while it is not engaged.
    outstanding : maps sent that are not acknowledged.
    informed : servers to which the specification was sent, in that order.
    table : key of the best map so far by components mapped, and by empty hops where these are told apart.
    complete : at the delivery, maps of the whole task, in the order of arrival.
    untried, short : at the delivery, maps that are left, best first, and what those lacked that were tried.
    """

    specification: Specification
    predecessor: Map | None = None
    outstanding: int = 0
    informed: dict[str, None] = field(default_factory=dict)
    table: dict[tuple[int, int], tuple[float, float]] = field(default_factory=dict)
    complete: list[PartialMap] = field(default_factory=list)
    untried: list[PartialMap] = field(default_factory=list)
    short: list[str] = field(default_factory=list)


class MapAgent:
    """Maps tasks together with the agents of other servers, by answering messages with messages.

    Messages may overtake one another; none may be lost. Every map is acknowledged exactly once (Dijkstra and Scholten's
    diffusing computation): at once by a server that is engaged already, or that sends nothing on; else when everything that
    followed from it is acknowledged. So the acknowledgement of the first map says that no map is under way anywhere.

    A probe meets the servers of a map in turn. Each reserves all that the map takes of it, of its outgoing links and of its
    access to the public network, when the probe comes for the first time; or, where another task took it since the map passed,
    sends the probe back, and everybody lets go. Nobody waits for anybody, so that tasks never block one another.

    Attributes
    ----------
    server, links : the own server, and the links that leave it.
    directory : all servers, for the public network, where everybody is everybody's neighbour (section 4.3).
    held : amounts that tasks have reserved here.
    allowance : map messages that may still be sent in the mapping at hand.
    """

    def __init__(self, server: Server, links: Mapping[str, DataLink], directory: Sequence[Server]) -> None:
        self.server, self.links, self.directory = server, links, directory
        self.held: dict[int, dict[Resource, float]] = {}
        self.states: dict[int, MappingState] = {}
        self.allowance = sys.maxsize
        self._waiting: dict[int, list[Map]] = {}

    def receive(self, message: Message) -> list[Message]:
        """Handle a message, and return the messages to send now."""
        server_name, state = self.server.name, self.states.get(message.task)
        match message:
            case Map():
                return self.receive_map(message)
            case Ack():
                return self.process_ack(message)
            case Ask():
                return [Spec(message.task, server_name, message.sender, state.specification)] if state else []
            case Spec():  # obsolete where a map has brought it in the meantime
                return self._start(message.task, message.specification) if message.task in self._waiting else []
            case Forget():
                self.states.pop(message.task, None)
                return [Forget(message.task, server_name, name) for name in state.informed] if state else []
            case Select():
                if state:
                    state.untried = ranking(state.specification, state.complete)
                return self._try_next(message.task)
            case Probe():
                short = self._reserve(message.task, message.map)
                if short is None:
                    return self._send_on(message.task, message.map, message.place)
                return [self._send_back(message.task, message.map, message.place, short)]
            case Rollback():
                self.held.pop(message.task, None)
                if message.place < len(message.map.stops) - 1:
                    return [self._send_back(message.task, message.map, message.place, message.short)]
                self.states[message.task].short.append(message.short)
                return self._try_next(message.task)
        raise TypeError(f"servers do not receive messages of kind {message.kind}")

    def receive_map(self, message: Map) -> list[Message]:
        """Handle a map, or keep it until the specification is here, which it may have overtaken."""
        if message.task in self.states:
            return self.process_map(message)
        if message.specification is not None:
            return [*self._start(message.task, message.specification), *self.process_map(message)]
        waiting = self._waiting.setdefault(message.task, [])
        waiting.append(message)
        return [Ask(message.task, self.server.name, message.sender)] if len(waiting) == 1 else []

    def _start(self, task: int, specification: Specification) -> list[Message]:
        """Begin to take part in a mapping, with the maps that have waited for its specification."""
        self.states[task] = MappingState(specification)
        return [answer for waiting in self._waiting.pop(task, []) for answer in self.process_map(waiting)]

    def process_map(self, message: Map) -> list[Message]:
        """Extend a map, send it on, and acknowledge it now or later (Algs. 1 and 3)."""
        state, server_name = self.states[message.task], self.server.name
        answers: list[Message] = []
        for sent in list(self.ways(state, message))[: self.allowance]:
            receiver = sent.routes[-1][-1]
            answers.append(self.map_message(state, Map(message.task, server_name, receiver, sent)))
        self.allowance -= len(answers)
        state.outstanding += len(answers)
        if state.predecessor is None and answers:
            state.predecessor = message
            return answers
        return [Ack(message.task, server_name, message.sender, message.number, final=False), *answers]

    def map_message(self, state: MappingState, message: Map) -> Map:
        """Add the specification to the first map to a server."""
        first = message.receiver not in state.informed
        state.informed[message.receiver] = None
        return replace(message, specification=state.specification) if first else message

    def process_ack(self, message: Ack) -> list[Message]:
        """Count an acknowledgement; after the last one, acknowledge the map that engaged this server (Alg. 2)."""
        state = self.states[message.task]
        state.outstanding -= 1
        if state.outstanding or state.predecessor is None:
            return []
        first, state.predecessor = state.predecessor, None
        return [Ack(message.task, self.server.name, first.sender, first.number, final=True)]

    def ways(self, state: MappingState, message: Map) -> Iterator[PartialMap]:
        """Yield every map to send on; complete maps are kept, not extended."""
        task = state.specification.task
        for more, extended in enumerate(self.extensions(state.specification, message)):
            if self.server.name == task.delivery and extended.prefix == len(task.components):
                state.complete.append(extended)
            elif more == 0 and message.public:
                continue  # what came over the public network is not passed on within the same hop
            elif self.passes(state, extended, message.number, more):
                ways = [*self.over_links(state.specification, extended), *self.over_public(state.specification, extended, more)]
                chosen = self._chosen(state.specification, ways, message.number, more)
                yield from (sent for sent in chosen if self._carries(state.specification, sent))

    def extensions(self, specification: Specification, message: Map) -> Iterator[PartialMap]:
        """Yield the map with 0, 1, 2, … of the next components here, as long as they are hosted and fit."""
        rules, task, extended = specification.rules, specification.task, message.map
        capacity, downlink = ("capacity", self.server.name), ("downlink", self.server.name)
        if message.public and not self._fits(downlink, extended.uses(specification)[downlink]):
            return
        yield extended if extended.starts else replace(extended, empty_hops=extended.empty_hops + 1)
        free, whole = self.free(capacity), self.server.whole_capacity
        for component, need in list(zip(task.components, task.needs, strict=True))[extended.prefix :]:
            added = need if self.server.name in extended.nodes else whole - free + need
            extended = extended.hosting(added / whole if whole else 0.0, extended.empty_hops if rules.total_hops else 0)
            if not self.server.hosts(component.service) or not self._fits(capacity, extended.uses(specification)[capacity]):
                return
            yield extended

    def over_links(self, specification: Specification, extended: PartialMap) -> Iterator[PartialMap]:
        """Yield the map over every dedicated link."""
        if extended.empty_hops <= specification.rules.max_empty_hops:
            yield from (extended.sent(name, link.cost, public=False) for name, link in self.links.items())

    def over_public(self, specification: Specification, extended: PartialMap, more: int) -> Iterator[PartialMap]:
        """Yield the map over the public network to every server that could take the next component, as far as is known."""
        task = specification.task
        if self.server.uplink and (more or extended.starts):
            ended = extended.prefix == len(task.components)
            for server in self.directory:
                can_continue = server.name == task.delivery if ended else server.hosts(task.components[extended.prefix].service)
                if can_continue and server.name != self.server.name:
                    yield extended.sent(server.name, specification.rules.public_cost, public=True)

    def passes(self, state: MappingState, extended: PartialMap, number: int, more: int) -> bool:
        """Tell whether a map is sent on.

        Least cost (section 4.1.1): if it is strictly better than all before it with as many components mapped. Annealed (section
        4.1.2): or at random, the less likely the more components are mapped. Otherwise always. Draws depend on the number
        of the message and on how many components were put here.
        """
        specification, rules = state.specification, state.specification.rules
        if rules.pruning not in ("least-cost", "annealed"):
            return True
        new_key = key(rules.cost, extended.facts, specification.max_links, len(specification.task.components))
        place = extended.prefix, extended.empty_hops if rules.split_by_hops else 0
        if new_key < state.table.get(place, NOTHING_SEEN):
            state.table[place] = new_key
            return True
        chance = math.exp(-rules.cooling * (extended.prefix + 1))
        return rules.pruning == "annealed" and _native.draw_by_counter(specification.seed + 1, 64 * number + more) < chance

    def _chosen(self, specification: Specification, ways: list[PartialMap], number: int, more: int) -> list[PartialMap]:
        """Choose the ways to send a map: all of them, or a few drawn without replacement (section 4.1.3).

        They are drawn before rates are looked at: where the way to one that is drawn has not the rate, nobody gets the map in its
        stead. That is why "the number of feasible ways narrows down very quickly" (section 4.2), and messages with it.
        """
        if specification.rules.pruning != "random":
            return ways
        drawn = min(specification.rules.neighbours, len(ways))
        for position in range(drawn):
            draw = _native.draw_by_counter(specification.seed + 2, 4096 * number + 64 * more + position)
            other = position + int(draw * (len(ways) - position))
            ways[position], ways[other] = ways[other], ways[position]
        return ways[:drawn]

    def _carries(self, specification: Specification, sent: PartialMap) -> bool:
        """Tell whether the last link of a map, or the uplink, has the rate of this hop and of earlier ones that use it."""
        resource = ("uplink", self.server.name) if sent.public[-1] else ("bandwidth", *sent.routes[-1][-2:])
        return self._fits(resource, sent.uses(specification)[resource])

    def whole(self, resource: Resource) -> float:
        """Return the amount that tasks can reserve here, free or not."""
        quantity, *ends = resource
        if quantity == "bandwidth":
            return self.links[ends[1]].bandwidth
        if quantity == "downlink":
            return math.inf if self.server.downlink is None else self.server.downlink
        return self.server.capacity if quantity == "capacity" else self.server.uplink

    def free(self, resource: Resource) -> float:
        """Return what no task holds, from the reservations each time, so that nothing is lost to rounding."""
        return self.whole(resource) - math.fsum(reserved.get(resource, 0.0) for reserved in self.held.values())

    def _fits(self, resource: Resource, amount: float) -> bool:
        return fits(amount, self.free(resource), self.whole(resource))

    def _reserve(self, task: int, candidate: PartialMap) -> str | None:
        """Reserve this server's part of a map, all of it at the first visit; or say what is short."""
        if task in self.held:
            return None
        uses = candidate.uses(self.states[task].specification)
        # Of a use of the public network, each end keeps its own; a link belongs to the server that it leaves.
        amounts = {resource: amount for resource, amount in uses.items() if amount and resource[1] == self.server.name}
        short = [resource_text(resource) for resource, amount in amounts.items() if not self._fits(resource, amount)]
        if short:
            return ", ".join(short)
        self.held[task] = amounts
        return None

    def _try_next(self, task: int) -> list[Message]:
        """At the delivery: probe the best map that is left, if this server itself still has what it takes."""
        state = self.states.get(task)
        while state and state.untried:
            candidate = state.untried.pop(0)
            missing = self._reserve(task, candidate)
            if missing is None:
                return self._send_on(task, candidate, len(candidate.stops) - 1)
            state.short.append(missing)
        return [Reject(task, self.server.name, PORTAL, tuple(state.short) if state else ())]

    def _send_on(self, task: int, candidate: PartialMap, place: int) -> list[Message]:
        if place == 0:
            return [Confirm(task, self.server.name, PORTAL, candidate)]
        return [Probe(task, self.server.name, candidate.stops[place - 1], candidate, place - 1)]

    def _send_back(self, task: int, candidate: PartialMap, place: int, short: str) -> Rollback:
        return Rollback(task, self.server.name, candidate.stops[place + 1], candidate, place + 1, short)


def ranking(specification: Specification, complete: Sequence[PartialMap]) -> list[PartialMap]:
    """Return complete maps, best first."""
    order = ranked(specification.rules.cost, [candidate.facts for candidate in complete], specification.max_links)
    return [complete[position] for position in order]


def resource_text(resource: Resource) -> str:
    """Return a resource in words, such as "bandwidth of a → b"."""
    quantity, *ends = resource
    return f"{quantity} of {' → '.join(ends)}"
