"""The map manager of one server (bi-modal networks, Algs. 1-3)."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from edrp.heuristics.mapping.rules import Specification, fits
from edrp.mapping.server_network import DataLink, Server
from edrp.validation.simulation.mapping.agents.messages import (
    PORTAL,
    Ack,
    Ask,
    Forget,
    Map,
    Message,
    Probe,
    Reject,
    Release,
    Rollback,
    Select,
    Spec,
)
from edrp.validation.simulation.mapping.agents.partial import PartialMap
from edrp.validation.simulation.mapping.agents.pruning import PRUNINGS, Enumeration
from edrp.validation.simulation.mapping.agents.reservations import Reservations


class Directory:
    """Services of all servers, in the order in which servers are tried.

    Servers need it for the public network only, where everybody is everybody's neighbour (section 4.3). It may be out of date:
    a server that receives a map that it cannot extend drops it.

    Parameters
    ----------
    services
        Services that each server hosts, by its name; None for everything.

    Examples
    --------
    >>> Directory({"a": ("count",), "b": None, "c": ()}).hosts("count")
    ('a', 'b')
    """

    def __init__(self, services: Mapping[str, Iterable[str] | None]) -> None:
        self._services = {name: None if hosted is None else frozenset(hosted) for name, hosted in services.items()}
        self._hosts: dict[str | None, tuple[str, ...]] = {}

    def hosts(self, service: str | None) -> tuple[str, ...]:
        """Return the servers that host a service; None is any service."""
        if service not in self._hosts:
            self._hosts[service] = tuple(
                name for name, hosted in self._services.items() if service is None or hosted is None or service in hosted
            )
        return self._hosts[service]


UNLIMITED = sys.maxsize
"""Allowance of a mapping that may take any number of messages."""


@dataclass(slots=True)
class MappingState:
    """State of a server in one mapping, from the arrival of the specification until it is told to forget.

    The paper drops it with the final acknowledgement. But maps come back to servers that have sent it, ten times and more in
    a mapping; without its table of costs a server would send all that it has sent before once more.

    Attributes
    ----------
    predecessor : the map that engaged the server, which is acknowledged last; None while it is not engaged.
    outstanding : maps sent that are not acknowledged.
    told : servers to which the specification was sent, in that order.
    complete : at the delivery, maps of the whole task.
    """

    specification: Specification
    pruning: Enumeration
    predecessor: Map | None = None
    outstanding: int = 0
    informed: dict[str, None] = field(default_factory=dict)
    complete: list[PartialMap] = field(default_factory=list)


Way = tuple[str, PartialMap, bool]
"""Receiver of a map, the map as sent, and whether it goes over the public network."""


class MapAgent:
    """Maps tasks together with the agents of other servers, knowing its own server and the links that leave it.

    It does nothing but answer messages with messages: a user who runs it on real servers carries them, each from its sender to
    its receiver, and gives the maps of each task numbers, on which what is drawn at random depends. Messages may overtake one
    another; none may be lost.

    Every map is acknowledged exactly once (Dijkstra and Scholten's diffusing computation): at once by a server that is engaged
    already, or that sends nothing on; else when everything that followed from it is acknowledged. So the acknowledgement of the
    first map says that no map is under way anywhere.

    Parameters
    ----------
    links
        Dedicated links by the neighbour that they lead to, in the order in which maps are sent.
    """

    def __init__(self, server: Server, links: Mapping[str, DataLink], directory: Directory) -> None:
        self.server = server
        self.links = links
        self.directory = directory
        self.reservations = Reservations(server, links)
        self.states: dict[int, MappingState] = {}
        self._waiting: dict[int, list[Map]] = {}

    def receive(self, message: Message, allowance: int = UNLIMITED) -> list[Message]:
        """Handle a message, and return the messages to send now.

        Parameters
        ----------
        allowance
            Maps that may still be sent, where a mapping has a limit.
        """
        match message:
            case Map():
                return self._receive_map(message, allowance)
            case Ack():
                return self.process_ack(message)
            case Ask():
                return self._answer(message)
            case Spec():
                return self._learn(message.task, message.specification, allowance)
            case Release():
                return self.reservations.release(message)
            case Forget():
                return self._forget(message)
            case Select() if message.task not in self.states:  # no map has come here
                return [Reject(message.task, self.server.name, PORTAL, ())]
            case Select():
                state = self.states[message.task]
                return self.reservations.select(message, state.specification, state.complete)
            case Probe():
                return self.reservations.probe(message, self.states[message.task].specification)
            case Rollback():
                return self.reservations.rollback(message, self.states[message.task].specification)
        raise TypeError(f"servers do not receive messages of kind {message.kind}")

    def complete_maps(self, task: int) -> tuple[PartialMap, ...]:
        """Return the complete maps that have arrived here, the delivery, in their order; none once the mapping is forgotten."""
        return tuple(self.states[task].complete) if task in self.states else ()

    def process_map(self, message: Map, allowance: int) -> list[Message]:
        """Extend a map, send it on, and acknowledge it now or later (Algs. 1 and 3)."""
        state = self.states[message.task]
        ways = list(self._ways(state, message))
        sent = [self._map_message(state, message.task, *way) for way in ways[:allowance]]
        state.outstanding += len(sent)
        if state.predecessor is None and sent:
            state.predecessor = message
            return [*sent]
        return [Ack(message.task, self.server.name, message.sender, message.number, final=False), *sent]

    def process_ack(self, message: Ack) -> list[Message]:
        """Count an acknowledgement; after the last one, acknowledge the map that engaged this server (Alg. 2)."""
        state = self.states[message.task]
        state.outstanding -= 1
        if state.outstanding or state.predecessor is None:
            return []
        first, state.predecessor = state.predecessor, None
        return [Ack(message.task, self.server.name, first.sender, first.number, final=True)]

    def _ways(self, state: MappingState, message: Map) -> Iterator[Way]:
        """Yield every map to send on, with its receiver; complete maps are kept, not extended."""
        task = state.specification.task
        for more, extended in enumerate(self._extensions(state.specification, message)):
            if self.server.name == task.delivery and extended.prefix == len(task.components):
                state.complete.append(extended)
            elif more == 0 and message.public:
                continue  # what came over the public network is not passed on within the same hop
            elif state.pruning.passes(extended, message.number, more):
                ways = [*self._over_links(state.specification, extended), *self._over_public(state.specification, extended, more)]
                chosen = state.pruning.chosen(ways, message.number, more)
                yield from (way for way in chosen if self._carries(state.specification, extended, way))

    def _extensions(self, specification: Specification, message: Map) -> Iterator[PartialMap]:
        """Yield the map with 0, 1, 2, … of the next components here, as long as they are hosted and fit."""
        rules, task, extended = specification.rules, specification.task, message.map
        arrived = extended.public_rates(self.server.name, 1, task.hop_bandwidths)
        if message.public and not fits(rules.together(arrived), self.reservations.free_downlink, self.server.downlink or 0.0):
            return
        yield extended if extended.starts else extended.passing()
        free, whole = self.reservations.free_capacity, self.server.whole_capacity
        used = extended.capacity_on(self.server.name, task.needs)
        for component, need in list(zip(task.components, task.needs, strict=True))[extended.prefix :]:
            used += need
            if not self.server.hosts(component.service) or not fits(used, free, self.server.capacity):
                return
            added = need if self.server.name in extended.nodes else whole - free + need
            extended = extended.hosting(added / whole if whole else 0.0, extended.empty_hops if rules.total_hops else 0)
            yield extended

    def _over_links(self, specification: Specification, extended: PartialMap) -> Iterator[Way]:
        """Yield the map over every dedicated link."""
        if extended.empty_hops <= specification.rules.max_empty_hops:
            yield from ((name, extended.over_link(name, link.cost), False) for name, link in self.links.items())

    def _over_public(self, specification: Specification, extended: PartialMap, more: int) -> Iterator[Way]:
        """Yield the map over the public network to every server that could take the next component."""
        rules, task, server = specification.rules, specification.task, self.server
        if not server.uplink or not (more or extended.starts):
            return
        ended = extended.prefix == len(task.components)
        receivers = (task.delivery,) if ended else self.directory.hosts(task.components[extended.prefix].service)
        for name in receivers:
            if name != server.name:
                yield name, extended.over_public(name, rules.public_cost), True

    def _carries(self, specification: Specification, extended: PartialMap, way: Way) -> bool:
        """Tell whether a link, or the uplink, has the rate of the next hop in addition to the rate that the map already uses."""
        rules, bandwidths = specification.rules, specification.task.hop_bandwidths
        receiver, _, public = way
        rate = bandwidths[extended.prefix]
        if public:
            rates = (*extended.public_rates(self.server.name, 0, bandwidths), rate)
            return fits(rules.together(rates), self.reservations.free_uplink, self.server.uplink)
        rates = (*extended.rates_over(self.server.name, receiver, bandwidths), rate)
        return fits(rules.together(rates), self.reservations.free_rate(receiver), self.links[receiver].bandwidth)

    def _map_message(self, state: MappingState, task: int, receiver: str, sent: PartialMap, public: bool) -> Map:
        """Build the message of a map, with the specification if it is the first one to that server."""
        specification = None if receiver in state.informed else state.specification
        state.informed[receiver] = None
        return Map(task, self.server.name, receiver, sent, public, specification)

    def _receive_map(self, message: Map, allowance: int) -> list[Message]:
        """Handle a map, or keep it until the specification is here, which it may have overtaken."""
        answers: list[Message] = []
        if message.task not in self.states:
            if message.specification is None:
                waiting = self._waiting.setdefault(message.task, [])
                waiting.append(message)
                return [Ask(message.task, self.server.name, message.sender)] if len(waiting) == 1 else []
            answers += self._start(message.task, message.specification, allowance)
        return [*answers, *self.process_map(message, allowance - _maps_in(answers))]

    def _start(self, task: int, specification: Specification, allowance: int) -> list[Message]:
        """Begin to take part in a mapping, with the maps that have waited for its specification."""
        self.states[task] = MappingState(specification, PRUNINGS[specification.rules.pruning](specification))
        answers: list[Message] = []
        for message in self._waiting.pop(task, []):
            answers += self._receive_map(message, allowance - _maps_in(answers))
        return answers

    def _learn(self, task: int, specification: Specification, allowance: int) -> list[Message]:
        """Start with a specification that came by itself, unless it has come with a map in the meantime, or all is over."""
        return self._start(task, specification, allowance) if task in self._waiting else []

    def _answer(self, message: Ask) -> list[Message]:
        """Send the specification to a server that asks for it; if it was forgotten, the request is obsolete."""
        state = self.states.get(message.task)
        return [Spec(message.task, self.server.name, message.sender, state.specification)] if state else []

    def _forget(self, message: Forget) -> list[Message]:
        """Drop what is kept of a mapping that has ended, reservations excepted, and pass that on."""
        self.reservations.forget(message.task)
        state = self.states.pop(message.task, None)
        return [Forget(message.task, self.server.name, name) for name in state.informed] if state else []


def _maps_in(messages: list[Message]) -> int:
    return sum(isinstance(message, Map) for message in messages)
