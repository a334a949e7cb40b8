"""Servers and the links between them (bi-modal networks, section 2)."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from typing import Annotated

from pydantic import Field

from edrp.core.document import Faults, LinkedNodes, LinkEnds, Name, NamedNode, NonNegative, Positive, checks, duplicates, unit
from edrp.core.limits import compared, exceeds
from edrp.core.problem import Margin


class Server(NamedNode):
    """A server: its free capacity, the services that it hosts, and its access to the public network."""

    capacity: NonNegative = Field(description="computing capacity that is free", **unit("1"))
    total_capacity: Positive | None = Field(
        None, description="computing capacity, what is used included; null: all is free", **unit("1")
    )
    services: tuple[Name, ...] | None = Field(None, description="services that it hosts; null for all")
    uplink: NonNegative = Field(0.0, description="free rate into the public network; 0: it cannot send there", **unit("bytes/s"))
    downlink: NonNegative | None = Field(
        None, description="free rate out of the public network; null for no limit", **unit("bytes/s")
    )
    access_delay: NonNegative = Field(0.0, description="delay between the server and the core of the public network", **unit("s"))

    @checks("server")
    def _check(self, faults: Faults) -> None:
        if self.total_capacity is not None and self.total_capacity < self.capacity:
            faults.add(("total_capacity",), self.total_capacity, f"must be at least capacity, which is {self.capacity:g}")
        for index in duplicates(list(self.services or ())):
            faults.add(("services", index), (self.services or ())[index], "is named twice; name each service once")

    @property
    def whole_capacity(self) -> float:
        """Computing capacity, including what is used."""
        return self.capacity if self.total_capacity is None else self.total_capacity

    def hosts(self, service: str | None) -> bool:
        """Tell whether a component of this service (None: any) can run here."""
        return service is None or self.services is None or service in self.services


class DataLink(LinkEnds):
    """A dedicated link: a task that reserves rate on it has that rate for itself."""

    bandwidth: NonNegative = Field(description="rate that is free, in each direction", **unit("bytes/s"))
    cost: NonNegative = Field(0.0, description="price of each use by a task", **unit("money"))
    delay: NonNegative = Field(0.0, description="propagation delay", **unit("s"))


class ServerNetwork(LinkedNodes):
    """Servers and dedicated links; with `symmetric` each link is two arcs, each with the bandwidth of the link.

    Raises
    ------
    InvalidInstanceError
        Duplicate names, unknown link ends, a link given twice or from a server to itself.

    Examples
    --------
    >>> network = ServerNetwork(
    ...     nodes=[{"name": "a", "capacity": 2}, {"name": "b", "capacity": 1}],
    ...     links=[{"source": "a", "target": "b", "bandwidth": 1e6}],
    ... )
    >>> network.arcs["b", "a"].bandwidth
    1000000.0
    """

    nodes: Annotated[tuple[Server, ...], Field(min_length=1)] = Field(description="servers")
    links: tuple[DataLink, ...] = Field((), description="dedicated links")

    @cached_property
    def by_name(self) -> dict[str, Server]:
        """Servers by name."""
        return {node.name: node for node in self.nodes}

    @cached_property
    def arcs(self) -> dict[tuple[str, str], DataLink]:
        """Links by source and target, in both directions where the network is symmetric."""
        arcs = {(link.source, link.target): link for link in self.links}
        if self.symmetric:
            arcs.update({(link.target, link.source): link for link in self.links})
        return arcs


def free_rate(network: ServerNetwork, quantity: str, *servers: str) -> float:
    """The "bandwidth" of a link between two servers, or the "uplink" or "downlink" of one; infinite where nothing limits it."""
    if quantity == "bandwidth":
        return network.arcs[servers[0], servers[1]].bandwidth
    server = network.by_name[servers[0]]
    return server.uplink if quantity == "uplink" else math.inf if server.downlink is None else server.downlink


def rate_margins(
    network: ServerNetwork, uses: Iterable[tuple[tuple[str, ...], float]], joined: Callable[[list[float]], float] = math.fsum
) -> Iterator[Margin]:
    """Yield what links, uplinks and downlinks carry against what they have; `uses` are rates with what carries each."""
    rates: dict[tuple[str, ...], list[float]] = {}
    for carrier, rate in uses:
        rates.setdefault(carrier, []).append(rate)
    for carrier, carried in rates.items():
        name = f"{carrier[0]} of {' → '.join(carrier[1:])}"
        yield Margin.of(name, joined(carried), free_rate(network, *carrier), "bytes/s")


def exceeded(margins: Iterable[Margin]) -> Iterator[str]:
    """Yield in words where more is used than there is."""
    yield from (f"{m.name}: {compared(m.value, m.limit, 'used of')}" for m in margins if exceeds(m.value, m.limit))
