"""Reservation of a map by a probe from the delivery to the source, with rollback (bi-modal networks, section 3)."""

from __future__ import annotations

from collections.abc import Sequence

from edrp.heuristics.mapping.agents.messages import PORTAL, Confirm, Message, Probe, Reject, Release, Rollback, Select
from edrp.heuristics.mapping.agents.partial import PartialMap
from edrp.heuristics.mapping.agents.reservations import Ledger, Reservation
from edrp.heuristics.mapping.agents.rules import Specification
from edrp.mapping.costs import ranked


class Probing:
    """One server's part in reservations.

    A probe meets the servers of a map in turn. Each reserves all that the map takes of it, of its outgoing links and of its
    access to the public network, when the probe comes for the first time; or, where another task took it since the map passed,
    sends the probe back, and everybody lets go. Nobody waits for anybody, so that tasks never block one another.
    """

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._here = ledger.server.name
        self._left: dict[int, list[PartialMap]] = {}
        self._short: dict[int, list[str]] = {}

    def select(self, message: Select, specification: Specification, complete: Sequence[PartialMap]) -> list[Message]:
        """At the delivery: rank the maps and probe the best one."""
        order = ranked(specification.rules.cost, [each.facts for each in complete], specification.most_links)
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
        self._ledger.release(message.task)
        if message.place < len(message.map.stops) - 1:
            return [self._send_back(message.task, message.map, message.place, message.short)]
        self._short[message.task].append(message.short)
        return self._try_next(message.task, specification)

    def release(self, message: Release) -> list[Message]:
        """Give back what a task held that has ended, and tell the next server of its map."""
        self._ledger.release(message.task)
        place, stops = message.place + 1, message.map.stops
        return [Release(message.task, self._here, stops[place], message.map, place)] if place < len(stops) else []

    def forget(self, task: int) -> None:
        """Drop the maps that are left; what is reserved stays."""
        self._left.pop(task, None)
        self._short.pop(task, None)

    def _try_next(self, task: int, specification: Specification) -> list[Message]:
        """Probe the best map that is left, if this server itself still has what it takes."""
        left, short = self._left[task], self._short[task]
        while left:
            found = left.pop(0)
            missing = self._reserve(task, found, specification)
            if missing is None:
                return self._send_on(task, found, len(found.stops) - 1)
            short.append(missing)
        return [Reject(task, self._here, PORTAL, tuple(short))]

    def _reserve(self, task: int, found: PartialMap, specification: Specification) -> str | None:
        """Reserve this server's part of a map, all of it at the first visit; or say what is short."""
        if task in self._ledger.held:
            return None
        return self._ledger.reserve(task, Reservation.of(self._here, found, specification))

    def _send_on(self, task: int, found: PartialMap, place: int) -> list[Message]:
        if place == 0:
            return [Confirm(task, self._here, PORTAL, found)]
        return [Probe(task, self._here, found.stops[place - 1], found, place - 1)]

    def _send_back(self, task: int, found: PartialMap, place: int, short: str) -> Rollback:
        return Rollback(task, self._here, found.stops[place + 1], found, place + 1, short)
