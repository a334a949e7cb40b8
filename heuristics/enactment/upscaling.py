"""Scaling up: when an operator needs one more instance, where it goes, and which host is leased for it (Alg. 1, Fig. 4)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from edrp.core.document import named_resources
from edrp.enactment import OperatorState, TentativeState
from edrp.enactment.state import has_room
from edrp.heuristics.enactment.host_packing import PricedSizes
from edrp.heuristics.enactment.host_selection import best_host
from edrp.heuristics.enactment.release import Utilities


def predicted_duration(durations: Sequence[float]) -> float:
    """The next duration by a straight line through these, oldest first (cost-efficient enactment, Alg. 1, lines 5 to 9)."""
    count = len(durations)
    observation_mean = (count + 1) / 2
    duration_mean = sum(durations) / count
    spread = sum((index - observation_mean) ** 2 for index in range(1, count + 1))
    if not spread:
        return duration_mean
    slope = sum((index - observation_mean) * (duration - duration_mean) for index, duration in enumerate(durations, 1)) / spread
    return duration_mean + slope * (count + 1 - observation_mean)


def needs_instance(operator: OperatorState, observations: int, scaling_threshold: float) -> bool:
    """Whether an operator is to be scaled up (cost-efficient enactment, Alg. 1).

    It is when it takes, or by the trend will take, longer than it should, and more items wait than a short disturbance
    leaves behind. Before the first recorded duration it is not.

    Parameters
    ----------
    observations
        N, the number of last recorded durations that make the trend; fewer while there are fewer.
    """
    durations = operator.durations[-observations:]
    objective = operator.operator.processing_duration
    late = bool(durations) and (durations[-1] > objective or predicted_duration(durations) > objective)
    return late and operator.queue > scaling_threshold


def scale_up(tentative: TentativeState, operator: str, hosts: Sequence[str], utilities: Utilities, cached_factor: float) -> bool:
    """Place one more instance (cost-efficient enactment, Fig. 4); False where it finds no place at all.

    On a host that is there; else where other operators make room for it, each losing an instance only while its utility
    is positive; else on a host leased for it.
    """
    if not tentative.may_grow(operator):
        return False
    host = best_host(tentative, operator, hosts, cached_factor)
    host = host or make_room(tentative, operator, hosts, utilities)
    host = host or lease_cheapest(tentative, operator)
    if host is None:
        return False
    tentative.place(operator, host)
    return True


def make_room(tentative: TentativeState, operator: str, hosts: Sequence[str], utilities: Utilities) -> str | None:
    """Scale other operators down on the host where fewest must go; returns it, or None (and nothing goes) where none will do.

    The paper scales down until there is room; instances elsewhere would go in vain. Ties go to the host whose least
    useful loss has the highest utility, then to the first.
    """
    plans = [(host, plan) for host in hosts if (plan := _losses(tentative, operator, host, utilities)) is not None]
    if not plans:
        return None
    host, plan = min(plans, key=lambda choice: (len(choice[1]), -min(utility for _, utility in choice[1])))
    for name, _ in plan:
        tentative.remove(name, host)
    return host


def _losses(tentative: TentativeState, operator: str, host: str, utilities: Utilities) -> list[tuple[str, float]] | None:
    """List the operators that lose an instance on a host, with utilities, until another fits; None if none ever does."""
    states = tentative.state.operators
    described, host_type = states[operator].operator, tentative.type(host)
    if described.candidates is not None and host_type.name not in described.candidates:
        return None
    counts, instances, free = tentative.counts, Counter(tentative.on(host)), tentative.free(host)
    instances[operator] = 0
    losses: list[tuple[str, float]] = []
    while not has_room(described, host_type, free):
        values = utilities(counts)
        name = max((name for name, count in instances.items() if count), key=values.__getitem__, default=None)
        if name is None or values[name] <= 0:
            return None
        losses.append((name, values[name]))
        counts[name] -= 1
        instances[name] -= 1
        for resource, amount in named_resources(states[name].operator.resources).items():
            free[resource] = free.get(resource, 0.0) + amount
    return losses


def priced_sizes(tentative: TentativeState) -> PricedSizes:
    """Operators and host types as arrays; prices are per second, as billing time units (BTU) may differ."""
    state = tentative.state
    return PricedSizes.priced(
        (monitored.operator for monitored in state.operators.values()), state.host_types.values(), per_second=True
    )


def lease_cheapest(tentative: TentativeState, operator: str) -> str | None:
    """Lease a host of the type with the lowest price per second and instance of the operator; None: no more may be leased."""
    sizes = priced_sizes(tentative)
    leased = np.array([tentative.leased(name) for name in tentative.state.host_types])
    chosen = sizes.cheapest(list(tentative.state.operators).index(operator), leased)
    return None if chosen is None else tentative.lease(sizes.types[chosen].name)


def lease_type(tentative: TentativeState, host_type: str) -> str | None:
    """Lease a host of a type and return its name; None where no more can be leased."""
    limit = tentative.state.host_types[host_type].limit
    return tentative.lease(host_type) if limit is None or tentative.leased(host_type) < limit else None
