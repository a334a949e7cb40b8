"""Which host is leased next, and what it is called."""

from __future__ import annotations

from collections import Counter
from math import floor, inf

from edrp.documents.base import named_resources
from edrp.documents.enactment import AMOUNT_SLACK, ContainerOperator, HostType, fits
from edrp.enactment import Draft, EnactmentState


class Leases:
    """Leases hosts under names that none had before; remembers all names, because a draft knows only of those that live."""

    def __init__(self) -> None:
        self._names: set[str] = set()
        self._last = 0

    def note(self, state: EnactmentState) -> None:
        """Remember the names of the hosts that there are."""
        self._names.update(state.hosts)

    def lease(self, draft: Draft, operator: str) -> str | None:
        """Lease a host of the type that runs the operator cheapest; returns its name, None where no more may be leased."""
        chosen = cheapest_type(draft, operator)
        return None if chosen is None else draft.lease(chosen.name, self._next_name())

    def _next_name(self) -> str:
        self._last += 1
        while f"host-{self._last}" in self._names:
            self._last += 1
        name = f"host-{self._last}"
        self._names.add(name)
        return name


def cheapest_type(draft: Draft, operator: str) -> HostType | None:
    """The host type with the lowest price per second and instance of the operator, among those of which one may be leased."""
    leased = Counter(host.type.name for host in draft.state.hosts.values())
    leased.update(draft.type(host).name for host in draft.hosts if host not in draft.state.hosts)
    described = draft.state.operators[operator].operator
    able = [
        each
        for each in draft.state.host_types.values()
        if fits(described, each) and (each.limit is None or leased[each.name] < each.limit)
    ]
    return min(able, key=lambda each: each.price / each.billing_time / most_instances(described, each), default=None)


def most_instances(operator: ContainerOperator, host_type: HostType) -> float:
    """How many instances of one operator an empty host has room for; infinite where they need nothing.

    >>> filter_ = ContainerOperator(name="filter", processing_duration=0.6, resources={"cpu": 131, "memory": 524})
    >>> most_instances(filter_, HostType(name="h", resources={"cpu": 4096, "memory": 7000}, price=1, billing_time=600))
    13.0
    """
    capacity = host_type.capacity
    needs = named_resources(operator.resources).items()
    room = min((capacity.get(name, 0.0) / amount for name, amount in needs if amount > 0), default=inf)
    return room if room == inf else float(floor(room * (1 + AMOUNT_SLACK)))
