"""Stream tasks as paths of components, and the maps that say where they run (bi-modal networks, sections 2 and 3.1)."""

from __future__ import annotations

from functools import cached_property
from itertools import accumulate
from operator import mul
from typing import Annotated

from pydantic import Field

from edrp.core.document import RANGES, Document, Faults, Name, NonNegative, Positive, checks, unit

MAX_COMPONENTS = 64
"""Components that a task may have."""


class Service(Document):
    """Properties of a service that every server knows (section 2.3). It needs `capacity` + `cpu_factor` × the incoming rate."""

    name: Name = Field(description="unique among them")
    shrinkage: Positive = Field(1.0, description="rate that goes out over rate that comes in", **unit("1"))
    capacity: NonNegative = Field(0.0, description="need of computing capacity", **unit("1"))
    cpu_factor: NonNegative = Field(
        0.0, description="further need of computing capacity by the rate that comes in", **unit("s/bytes")
    )


class Component(Service):
    """One step of a task; its shrinkage counts where the task has a rate at its source."""

    service: Name | None = Field(None, description="service that a server must host; null: any server will do")


class PathTask(Document):
    """A stream from a source through components, in their order, to where it is delivered.

    The rate of each of the m + 1 hops is given by `bandwidths`, or by the `rate` at the source and the components'
    shrinkage factors.

    Raises
    ------
    InvalidInstanceError
        Duplicate names, more than 64 components, both or neither of `bandwidths` and `rate`, a wrong number of bandwidths.

    Examples
    --------
    >>> task = PathTask(
    ...     source="a", delivery="b", rate=100.0,
    ...     components=[{"name": "shrink", "shrinkage": 0.5}, {"name": "count", "cpu_factor": 0.1}],
    ... )
    >>> task.hop_bandwidths, task.needs
    ((100.0, 50.0, 50.0), (0.0, 5.0))
    """

    source: Name = Field(description="server where the data is")
    delivery: Name = Field(description="server to which the results go")
    components: Annotated[tuple[Component, ...], Field(max_length=MAX_COMPONENTS)] = Field(description="in their order")
    bandwidths: tuple[NonNegative, ...] | None = Field(
        None, description="rate of each hop, from the source on; null: from `rate`", **unit("bytes/s")
    )
    rate: NonNegative | None = Field(None, description="rate at the source", **unit("bytes/s"))
    price: NonNegative = Field(0.0, description="paid for each byte delivered", **unit("money/bytes"))

    @checks("task")
    def _check(self, faults: Faults) -> None:
        names = [component.name for component in self.components]
        faults.add_repeated_names("components", names)
        if (self.bandwidths is None) == (self.rate is None):
            faults.add(("bandwidths",), self.bandwidths, "give either the bandwidth of each hop or the rate at the source")
        hops = len(self.components) + 1
        if self.bandwidths is not None and len(self.bandwidths) != hops:
            why = f"must be {hops} bandwidths, one more than components: source → first, …, last → delivery"
            faults.add(("bandwidths",), list(self.bandwidths), why)
        faults.raise_if_any()
        self._check_products(faults)

    def _check_products(self, faults: Faults) -> None:
        """Note the first rate and the first need beyond their ranges: products of shrinkages, of rates and factors."""
        rates, needs = RANGES["bytes/s"], RANGES["1"]
        for index, rate in enumerate(self.hop_bandwidths[1:]):
            if not rate <= rates.largest:
                why = f"makes a rate of {rate:g} bytes/s; at most {rates.largest:g} are taken"
                faults.add(("components", index, "shrinkage"), self.components[index].shrinkage, why)
                return
        for index, need in enumerate(self.needs):
            if not need <= needs.largest:
                why = f"makes a need of {need:g}; at most {needs.largest:g} are taken"
                faults.add(("components", index, "cpu_factor"), self.components[index].cpu_factor, why)
                return

    @cached_property
    def hop_bandwidths(self) -> tuple[float, ...]:
        """Rate of each hop in bytes/s, m + 1 of them."""
        if self.bandwidths is not None:
            return self.bandwidths
        assert self.rate is not None, "checked with the document"
        return tuple(accumulate((component.shrinkage for component in self.components), mul, initial=self.rate))

    @cached_property
    def needs(self) -> tuple[float, ...]:
        """Computing capacity that each component needs."""
        return tuple(
            component.capacity + component.cpu_factor * rate
            for component, rate in zip(self.components, self.hop_bandwidths, strict=False)
        )


class PathMap(Document):
    """The servers of a task's components and the routes of its stream: what the paper calls a map.

    A hop is a walk over dedicated links, or one connection over the public network, or stays on its server.
    """

    nodes: tuple[Name, ...] = Field(description="server of each component")
    routes: tuple[Annotated[tuple[Name, ...], Field(min_length=1)], ...] = Field(
        description="servers of each hop, one more than components; a single server for a hop that stays there"
    )
    public: tuple[bool, ...] = Field((), description="whether each hop goes over the public network; none given: none does")

    def is_public(self, hop: int) -> bool:
        """Whether a hop goes over the public network."""
        return bool(self.public) and self.public[hop]


class BimodalTask(Document):
    """A task that arrives: a stream of data through services in their order."""

    arrival: NonNegative = Field(description="when it asks to be admitted", **unit("s"))
    source: Name = Field(description="server where the data is")
    delivery: Name = Field(description="server to which the results go")
    services: Annotated[tuple[Name, ...], Field(max_length=MAX_COMPONENTS)] = Field(description="in their order")
    rate: Positive = Field(description="rate at the source", **unit("bytes/s"))
    data: Positive = Field(description="data at the source", **unit("bytes"))
    price: NonNegative = Field(1e-6, description="paid for each byte delivered", **unit("money/bytes"))

    @property
    def nominal(self) -> float:
        """Duration of the stream in seconds when nothing holds it up."""
        return self.data / self.rate
