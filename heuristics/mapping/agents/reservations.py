"""What tasks hold of one server and of the links that leave it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise

from edrp.heuristics.mapping.agents.partial import PartialMap
from edrp.heuristics.mapping.agents.rules import Specification, fits
from edrp.mapping.documents import DataLink, Server


@dataclass(frozen=True, slots=True)
class Reservation:
    """What one task holds of one server.

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
    def of(cls, server: str, found: PartialMap, specification: Specification) -> Reservation:
        """A server's part of a map.

        Examples
        --------
        >>> from edrp.mapping.documents import PathTask
        >>> from edrp.heuristics.mapping.agents.rules import Rules
        >>> task = PathTask(source="a", delivery="b", components=[{"name": "f", "capacity": 2}], bandwidths=[5, 3])
        >>> found = PartialMap((("a",), ("a", "b")), ("a",), (False, False))
        >>> Reservation.of("a", found, Specification(task, Rules()))
        Reservation(capacity=2.0, rates={'b': 3.0}, uplink=0.0, downlink=0.0)
        """
        bandwidths, together = specification.task.hop_bandwidths, specification.rules.together
        stops = found.stops
        neighbours = {after for here, after in pairwise(stops) if here == server}
        rates = {name: together(found.rates_over(server, name, bandwidths)) for name in sorted(neighbours)}
        return cls(
            capacity=found.capacity_on(server, specification.task.needs),
            rates={name: rate for name, rate in rates.items() if rate},
            uplink=together(found.public_rates(server, 0, bandwidths)),
            downlink=together(found.public_rates(server, 1, bandwidths)),
        )


class Ledger:
    """What a server has promised to which task.

    What is free is counted from the promises each time, so that nothing is lost to rounding when tasks come and go.

    Examples
    --------
    >>> ledger = Ledger(Server(name="a", capacity=3), {})
    >>> ledger.reserve(1, Reservation(capacity=2))
    >>> ledger.free_capacity, ledger.reserve(2, Reservation(capacity=2))
    (1.0, 'capacity of a')
    >>> ledger.release(1)
    >>> ledger.free_capacity
    3.0
    """

    def __init__(self, server: Server, links: Mapping[str, DataLink]) -> None:
        self.server = server
        self.links = links
        self.held: dict[int, Reservation] = {}

    @property
    def free_capacity(self) -> float:
        """Computing capacity that no task holds."""
        return self.server.capacity - math.fsum(each.capacity for each in self.held.values())

    @property
    def free_uplink(self) -> float:
        """Rate into the public network that no task holds, bytes/s."""
        return self.server.uplink - math.fsum(each.uplink for each in self.held.values())

    @property
    def free_downlink(self) -> float:
        """Rate out of the public network that no task holds, bytes/s."""
        if self.server.downlink is None:
            return math.inf
        return self.server.downlink - math.fsum(each.downlink for each in self.held.values())

    def free_rate(self, neighbour: str) -> float:
        """Rate to a neighbour that no task holds, bytes/s."""
        return self.links[neighbour].bandwidth - math.fsum(each.rates.get(neighbour, 0.0) for each in self.held.values())

    def reserve(self, task: int, wanted: Reservation) -> str | None:
        """Promise all of it, or nothing: then what is short."""
        server = self.server
        short = [
            *([] if fits(wanted.capacity, self.free_capacity, server.capacity) else [f"capacity of {server.name}"]),
            *(
                f"bandwidth of {server.name} → {name}"
                for name, rate in wanted.rates.items()
                if not fits(rate, self.free_rate(name), self.links[name].bandwidth)
            ),
            *([] if fits(wanted.uplink, self.free_uplink, server.uplink) else [f"uplink of {server.name}"]),
            *([] if fits(wanted.downlink, self.free_downlink, server.downlink or 0.0) else [f"downlink of {server.name}"]),
        ]
        if short:
            return ", ".join(short)
        self.held[task] = wanted
        return None

    def release(self, task: int) -> None:
        """Take back what was promised, if anything was."""
        self.held.pop(task, None)
