"""Applications in containers on leased hosts (cost-efficient enactment, section "System model and notation")."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated

import numpy as np
from pydantic import Field

from edrp.core import document
from edrp.core.arrays import Bools, Floats, Ints
from edrp.core.limits import compared, exceeds
from edrp.core.problem import Margin
from edrp.core.tolerances import LIMIT_SLACK
from edrp.placement.application import AcyclicGraph, OperatorBase

MAX_INSTANCES = 100_000
"""Largest number of instances of one operator, in a document and in a decision."""


class ContainerOperator(OperatorBase):
    """An operator of which any number of instances run, each in a container (cost-efficient enactment, Table 2).

    `code_size` is the container image, `selectivity` the outgoing ratio, `candidates` the host types that may run it.

    Examples
    --------
    >>> ocr = ContainerOperator(name="ocr", processing_duration=1.5, occupancy=0.2, resources={"cpu": 660, "memory": 452e6})
    >>> round(ocr.occupied, 3)
    0.3
    """

    candidates: Annotated[tuple[document.Name, ...], Field(min_length=1)] | None = Field(
        None, description="host types that may run the operator; null for all"
    )
    processing_duration: document.Positive = Field(
        description="service level objective: mean time that an item takes when it need not wait, messaging included",
        **document.unit("s"),
    )
    occupancy: document.Probability = Field(
        1.0,
        description="share of the processing duration in which the item occupies its instance; the rest is messaging",
        **document.unit("1"),
    )
    min_instances: Annotated[int, Field(ge=1, le=MAX_INSTANCES)] = Field(
        1, description="minimum number of instances", **document.unit("1")
    )
    max_instances: Annotated[int, Field(ge=1, le=MAX_INSTANCES)] | None = Field(
        None, description="maximum number of instances; null for as many as find room, up to 100,000", **document.unit("1")
    )

    @document.checks("operator")
    def _check_instances(self, faults: document.Faults) -> None:
        if self.max_instances is not None and self.min_instances > self.max_instances:
            faults.add(("min_instances",), self.min_instances, f"must be at most max_instances, which is {self.max_instances}")

    @property
    def allowed_instances(self) -> int:
        """Largest number of instances that a decision may have."""
        return MAX_INSTANCES if self.max_instances is None else self.max_instances

    @property
    def occupied(self) -> float:
        """Mean seconds for which an item occupies an instance: an instance serves 1/occupied items per second."""
        return self.processing_duration * self.occupancy


class ContainerApplication(AcyclicGraph):
    """Operators in containers and the streams between them; external rates are those at load 1.

    Raises
    ------
    InvalidInstanceError
        Duplicate or unknown names, a stream given twice, or a cycle (which is named).

    Examples
    --------
    >>> application = ContainerApplication(
    ...     operators=[
    ...         {"name": "filter", "processing_duration": 0.6, "external_rate": 10.0, "selectivity": 0.02},
    ...         {"name": "inform", "processing_duration": 0.5},
    ...     ],
    ...     streams=[{"source": "filter", "target": "inform"}],
    ... )
    >>> application.load("inform")
    0.2
    """

    operators: Annotated[tuple[ContainerOperator, ...], Field(min_length=1)] = Field(description="in any order")


class HostType(document.Document):
    """A kind of host that can be leased, paid by billing time units (BTU): every started one in full.

    Examples
    --------
    >>> HostType(name="small", resources={"cpu": 4096, "memory": 7e9}, price=1.0, billing_time=600.0).start_up
    (30.0, 60.0)
    """

    name: document.Name = Field(description="unique among the host types")
    resources: document.Resources = Field(
        description="of one host: a number, or amounts by name", **document.unit("as the operators' needs")
    )
    price: document.NonNegative = Field(description="of one billing time unit", **document.unit("money"))
    billing_time: document.Positive = Field(description="billing time unit (BTU)", **document.unit("s"))
    start_up: tuple[document.NonNegative, document.NonNegative] = Field(
        (30.0, 60.0), description="minimum and maximum time from lease to readiness", **document.unit("s")
    )
    limit: Annotated[int, Field(ge=0)] | None = Field(
        None, description="maximum number of hosts of the type at a time; null for any number", **document.unit("1")
    )

    @document.checks("host type")
    def _check_times(self, faults: document.Faults) -> None:
        if self.start_up[0] > self.start_up[1]:
            faults.add(("start_up",), list(self.start_up), "must be the least time, then the most")
        if self.billing_time < self.start_up[1]:
            why = f"is shorter than the start-up time of up to {self.start_up[1]:g} s: it could end before the host serves"
            faults.add(("billing_time",), self.billing_time, why)

    @property
    def capacity(self) -> dict[str, float]:
        """Resources by name."""
        return dict(document.named_resources(self.resources))


class Host(document.Document):
    """One leased host and the instances on it."""

    name: document.Name = Field(description="unique among the hosts")
    type: document.Name = Field(description="host type")
    instances: dict[document.Name, Annotated[int, Field(ge=0)]] = Field(
        {}, description="number of instances by operator", **document.unit("1")
    )
    images: tuple[document.Name, ...] = Field((), description="operators whose container image is on the host")


def fits(operator: ContainerOperator, host_type: HostType) -> bool:
    """Whether an empty host of the type can run an instance of the operator."""
    if operator.candidates is not None and host_type.name not in operator.candidates:
        return False
    capacity = host_type.capacity
    needs = document.named_resources(operator.resources).items()
    return all(not exceeds(amount, capacity.get(name, 0.0)) for name, amount in needs)


def largest_share(operator: ContainerOperator, host_type: HostType) -> float:
    """Largest share of a resource of an empty host that an instance takes."""
    capacity = host_type.capacity
    needs = document.named_resources(operator.resources).items()
    return max((amount / capacity[name] for name, amount in needs if capacity.get(name)), default=0.0)


def check_hosting(application: ContainerApplication, host_types: tuple[HostType, ...], faults: document.Faults) -> None:
    """Add the faults of host types that share a name, candidates that do not exist, and operators that no host type can run."""
    names = [host_type.name for host_type in host_types]
    faults.add_repeated_names("host_types", names)
    for index, operator in enumerate(application.operators):
        path = ("application", "operators", index)
        for position, name in enumerate(operator.candidates or ()):
            faults.add_unknown((*path, "candidates", position), name, "host type", names)
        known = set(operator.candidates or ()) <= set(names)
        if known and not any(fits(operator, host_type) for host_type in host_types):
            sizes = "; ".join(f"{host_type.name} {_amounts(host_type.capacity)}" for host_type in host_types)
            why = f"an instance of {operator.name} fits on no host that may run it, not even an empty one (hosts: {sizes})"
            faults.add((*path, "resources"), operator.resources, why)


def check_queues(queues: Mapping[str, float], application: ContainerApplication, faults: document.Faults) -> None:
    """Add the faults of queues of operators that do not exist."""
    for name in queues:
        faults.add_unknown(("queues", name), name, "operator of the application", application.by_name)


def check_hosts(
    hosts: tuple[Host, ...], application: ContainerApplication, types: dict[str, HostType], faults: document.Faults, field: str
) -> None:
    """Add the faults of hosts that share a name and of unknown types and operators."""
    operators = application.by_name
    faults.add_repeated_names(field, [host.name for host in hosts])
    for index, host in enumerate(hosts):
        faults.add_unknown((field, index, "type"), host.type, "host type", types)
        for operator in host.instances:
            faults.add_unknown((field, index, "instances", operator), operator, "operator of the application", operators)
        for position, operator in enumerate(host.images):
            faults.add_unknown((field, index, "images", position), operator, "operator of the application", operators)


def check_counts(application: ContainerApplication, load: float, utilisation: float | None, faults: document.Faults) -> None:
    """Add the faults of operators that need more instances than can be named, at a multiple of the external rates."""
    for index, operator in enumerate(application.operators):
        rate = load * application.load(operator.name)
        busy = rate * operator.occupied / (utilisation or 1.0)
        if utilisation is not None and not busy <= MAX_INSTANCES:
            why = f"occupies {busy:.6g} instances with {rate:.6g} items/s; at most {MAX_INSTANCES:,} instances are taken"
            faults.add(("application", "operators", index), operator.name, why)


def used_resources(instances: Mapping[str, int], application: ContainerApplication) -> dict[str, float]:
    """Resources that instances hold together, by name."""
    used: dict[str, float] = {}
    for name, count in instances.items():
        for resource, amount in document.named_resources(application.by_name[name].resources).items():
            used[resource] = used.get(resource, 0.0) + count * amount
    return used


def overfull(instances: Mapping[str, int], host_type: HostType, application: ContainerApplication) -> Iterator[str]:
    """Yield why these instances cannot run together on one host of the type, in words."""
    for name, count in instances.items():
        allowed = application.by_name[name].candidates
        if count and allowed is not None and host_type.name not in allowed:
            yield f"{name} may not run on hosts of type {host_type.name}"
    capacity = host_type.capacity
    for resource, amount in used_resources(instances, application).items():
        if exceeds(amount, capacity.get(resource, 0.0)):
            yield f"{resource}: {compared(amount, capacity.get(resource, 0.0), 'used of')}"


def host_margins(
    host: str, instances: Mapping[str, int], host_type: HostType, application: ContainerApplication
) -> Iterator[Margin]:
    """Yield how much of each resource of a host its instances use."""
    for resource, amount in used_resources(instances, application).items():
        yield Margin.of(f"{resource} of host {host}", amount, host_type.capacity.get(resource, 0.0), "as given")


def _amounts(amounts: dict[str, float]) -> str:
    return ", ".join(f"{name} {amount:.6g}" for name, amount in amounts.items())


UNNEEDED = 100_000
"""Number of instances on one host that counts as unlimited: those that need no resources."""

MAX_CONFINED = 64
"""Most sets of host types for which resources are counted by themselves."""


@dataclass(frozen=True, slots=True)
class Sizes:
    """Operators and host types by number: O operators, K host types, R resources.

    Attributes
    ----------
    needs, capacity : shapes (O, R) of one instance and (K, R) of an empty host.
    limit : shape (K,): maximum number of hosts of a type, infinity for any number.
    room : shape (K, O): instances of one operator alone that fit on an empty host, 0 where it may not run there.
    apart : shape (O, O): whether two operators may not share a host.
    """

    operators: tuple[ContainerOperator, ...]
    types: tuple[HostType, ...]
    resources: tuple[str, ...]
    needs: Floats
    capacity: Floats
    limit: Floats
    room: Ints
    apart: Bools

    @classmethod
    def of(
        cls, operators: Iterable[ContainerOperator], types: Iterable[HostType], apart: Iterable[Collection[str]] = ()
    ) -> Sizes:
        """Make the arrays from documents, and groups of operators of which no two may share a host."""
        operators, types = tuple(operators), tuple(types)
        described = [document.named_resources(operator.resources) for operator in operators]
        names = tuple(dict.fromkeys(name for amounts in (*(t.capacity for t in types), *described) for name in amounts))
        needs = np.array([[amounts.get(name, 0.0) for name in names] for amounts in described]).reshape(
            len(operators), len(names)
        )
        capacity = np.array([[host_type.capacity.get(name, 0.0) for name in names] for host_type in types]).reshape(
            len(types), len(names)
        )
        limit = np.array([math.inf if host_type.limit is None else host_type.limit for host_type in types])
        allowed = np.array([[o.candidates is None or t.name in o.candidates for o in operators] for t in types])
        room = np.array([fitting(capacity, capacity, need) for need in needs]).T * allowed
        return cls(operators, types, names, needs, capacity, limit, room, _pairs(operators, apart))

    def barred(self, operator: int, counts: Ints) -> Bools:
        """Whether hosts with these instances, shape (…, O), may not take an operator for the sake of others on them."""
        return np.asarray((counts[..., self.apart[operator]] > 0).any(axis=-1))

    def confined(self, available: Bools) -> list[tuple[Bools, Ints]]:
        """Sets of the available host types (K,), all of them first, with the operators that run on no others.

        Resources suffice for instances cut into pieces where they do in each of these sets (Hall's condition): unions of what
        single operators may use are enough. At most `MAX_CONFINED` sets.
        """
        everywhere = tuple(available.tolist())
        runs = (self.room > 0) & available[:, None]
        sets = [everywhere]
        for each in sorted({tuple(column) for column in runs.T.tolist()} - {everywhere}):
            unions = [tuple(a or b for a, b in zip(each, other, strict=True)) for other in sets[1:]]
            sets += [union for union in dict.fromkeys([each, *unions]) if union not in sets][: MAX_CONFINED - len(sets)]
        return [(kinds, np.flatnonzero(~runs[~kinds].any(axis=0))) for kinds in map(np.array, sets)]

    @property
    def operator_names(self) -> tuple[str, ...]:
        """Names of the operators."""
        return tuple(operator.name for operator in self.operators)

    @property
    def type_names(self) -> tuple[str, ...]:
        """Names of the host types."""
        return tuple(host_type.name for host_type in self.types)


def _pairs(operators: tuple[ContainerOperator, ...], groups: Iterable[Collection[str]]) -> Bools:
    """Which two operators are in a group together."""
    apart = np.zeros((len(operators), len(operators)), np.bool_)
    for group in groups:
        named = np.array([operator.name in group for operator in operators])
        apart |= named[:, None] & named
    np.fill_diagonal(apart, val=False)
    return apart


def fitting(free: Floats, capacity: Floats, need: Floats) -> Ints:
    """Number of instances that fit on each host, shape (hosts,).

    Parameters
    ----------
    free, capacity : shape (hosts, resources)
        Free resources, and those of an empty host, against which rounding is judged.
    need : shape (resources,)
        Resources of one instance.
    """
    used = need > 0
    ratio = (free[:, used] + LIMIT_SLACK * capacity[:, used]) / need[used]
    count: Ints = np.clip(np.floor(ratio.min(axis=1, initial=UNNEEDED)), 0, UNNEEDED).astype(np.int64)
    return count
