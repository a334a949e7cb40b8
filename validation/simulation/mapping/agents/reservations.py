"""Reservations of one server and of the links that leave it, made by probes and rolled back (bi-modal networks, section 3)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from edrp.heuristics.mapping.rules import Specification, fits
from edrp.mapping.costs import ranked
from edrp.mapping.server_network import DataLink, Server
from edrp.validation.simulation.mapping.agents.messages import PORTAL, Confirm, Message, Probe, Reject, Release, Rollback, Select
from edrp.validation.simulation.mapping.agents.partial import PartialMap


@dataclass(frozen=True, slots=True)
class Reservation:
    """Resources of one server that a task holds.

    Attributes
    ----------
    capacity : computing capacity.
    rates : bytes/s on the dedicated link to each neighbour.
    uplink, downlink : bytes/s into the public network and out of it.
    """

    capacity: float = 0.0
    rates: Mapping[str, float] = field(default_factory=dict)
    uplink: float = 0.0
    downlink: float = 0.0

    @classmethod
    def of(cls, server: str, partial: PartialMap, specification: Specification) -> Reservation:
        """Compute a server's part of a map."""
        bandwidths, together = specification.task.hop_bandwidths, specification.rules.together
        stops = partial.stops
        neighbours = {after for here, after in pairwise(stops) if here == server}
        rates = {name: together(partial.rates_over(server, name, bandwidths)) for name in sorted(neighbours)}
        return cls(
            capacity=partial.capacity_on(server, specification.task.needs),
            rates={name: rate for name, rate in rates.items() if rate},
            uplink=together(partial.public_rates(server, 0, bandwidths)),
            downlink=together(partial.public_rates(server, 1, bandwidths)),
        )


class Reservations:
    """Reservations of tasks on one server and on the links that leave it, and the server's part in making them.

    A probe meets the servers of a map in turn. Each reserves all that the map takes of it, of its outgoing links and of its
    access to the public network, when the probe comes for the first time; or, where another task took it since the map passed,
    sends the probe back, and everybody lets go. Nobody waits for anybody, so that tasks never block one another. Free amounts
    are computed from the reservations each time, so that nothing is lost to rounding when tasks come and go.

    Examples
    --------
    >>> reservations = Reservations(Server(name="a", capacity=3), {})
    >>> reservations.reserve(1, Reservation(capacity=2))
    >>> reservations.free_capacity, reservations.reserve(2, Reservation(capacity=2))
    (1.0, 'capacity of a')
    """

    def __init__(self, server: Server, links: Mapping[str, DataLink]) -> None:
        self.server = server
        self.links = links
        self.held: dict[int, Reservation] = {}
        self._left: dict[int, list[PartialMap]] = {}
        self._short: dict[int, list[str]] = {}

    @property
    def free_capacity(self) -> float:
        """Computing capacity that no task holds."""
        return self.server.capacity - math.fsum(reservation.capacity for reservation in self.held.values())

    @property
    def free_uplink(self) -> float:
        """Rate into the public network that no task holds, bytes/s."""
        return self.server.uplink - math.fsum(reservation.uplink for reservation in self.held.values())

    @property
    def free_downlink(self) -> float:
        """Rate out of the public network that no task holds, bytes/s."""
        if self.server.downlink is None:
            return math.inf
        return self.server.downlink - math.fsum(reservation.downlink for reservation in self.held.values())

    def free_rate(self, neighbour: str) -> float:
        """Rate to a neighbour that no task holds, bytes/s."""
        return self.links[neighbour].bandwidth - math.fsum(
            reservation.rates.get(neighbour, 0.0) for reservation in self.held.values()
        )

    def reserve(self, task: int, wanted: Reservation) -> str | None:
        """Reserve all of it, or nothing: then return what is short."""
        server, here = self.server, self.server.name
        links = [(name, (rate, self.free_rate(name), self.links[name].bandwidth)) for name, rate in wanted.rates.items()]
        needs: list[tuple[str, float, float, float]] = [
            (f"capacity of {here}", wanted.capacity, self.free_capacity, server.capacity),
            *((f"bandwidth of {here} → {name}", *amounts) for name, amounts in links),
            (f"uplink of {here}", wanted.uplink, self.free_uplink, server.uplink),
            (f"downlink of {here}", wanted.downlink, self.free_downlink, server.downlink or 0.0),
        ]
        short = [what for what, amount, free, whole in needs if not fits(amount, free, whole)]
        if short:
            return ", ".join(short)
        self.held[task] = wanted
        return None

    def select(self, message: Select, specification: Specification, complete: Sequence[PartialMap]) -> list[Message]:
        """At the delivery: rank the maps and probe the best one."""
        order = ranked(specification.rules.cost, [candidate.facts for candidate in complete], specification.max_links)
        self._left[message.task] = [complete[position] for position in order]
        self._short[message.task] = []
        return self._try_next(message.task, specification)

    def probe(self, message: Probe, specification: Specification) -> list[Message]:
        """Reserve this server's part, and send the probe on or back."""
        short = self._reserve(message.task, message.map, specification)
        if short is None:
            return self._send_on(message.task, message.map, message.place)
        return [self._send_back(message.task, message.map, message.place, short)]

    def rollback(self, message: Rollback, specification: Specification) -> list[Message]:
        """Let go of this server's part; at the delivery, probe the next map."""
        self.held.pop(message.task, None)
        if message.place < len(message.map.stops) - 1:
            return [self._send_back(message.task, message.map, message.place, message.short)]
        self._short[message.task].append(message.short)
        return self._try_next(message.task, specification)

    def release(self, message: Release) -> list[Message]:
        """Give back what a task held that has ended, and tell the next server of its map."""
        self.held.pop(message.task, None)
        place, stops = message.place + 1, message.map.stops
        return [Release(message.task, self.server.name, stops[place], message.map, place)] if place < len(stops) else []

    def forget(self, task: int) -> None:
        """Drop the maps that are left; what is reserved stays."""
        self._left.pop(task, None)
        self._short.pop(task, None)

    def _try_next(self, task: int, specification: Specification) -> list[Message]:
        """Probe the best map that is left, if this server itself still has what it takes."""
        left, short = self._left[task], self._short[task]
        while left:
            candidate = left.pop(0)
            missing = self._reserve(task, candidate, specification)
            if missing is None:
                return self._send_on(task, candidate, len(candidate.stops) - 1)
            short.append(missing)
        return [Reject(task, self.server.name, PORTAL, tuple(short))]

    def _reserve(self, task: int, candidate: PartialMap, specification: Specification) -> str | None:
        """Reserve this server's part of a map, all of it at the first visit; or say what is short."""
        if task in self.held:
            return None
        return self.reserve(task, Reservation.of(self.server.name, candidate, specification))

    def _send_on(self, task: int, candidate: PartialMap, place: int) -> list[Message]:
        if place == 0:
            return [Confirm(task, self.server.name, PORTAL, candidate)]
        return [Probe(task, self.server.name, candidate.stops[place - 1], candidate, place - 1)]

    def _send_back(self, task: int, candidate: PartialMap, place: int, short: str) -> Rollback:
        return Rollback(task, self.server.name, candidate.stops[place + 1], candidate, place + 1, short)
