"""Placement of instances so that every operator gets its share of the room, also when a host is given back."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from edrp.core.arrays import Floats
from edrp.core.budget import spend
from edrp.core.document import named_resources
from edrp.core.tolerances import LIMIT_SLACK
from edrp.enactment.tentative_state import TentativeState
from edrp.heuristics.enactment.predictive_targets import OperatorFlow

HOST_UNITS = 5e-6
"""Units of work for a host whose room is looked at."""

MAX_COVERAGE = 2.0
"""Instances per instance wanted at which an operator gets no more: not even a surge would need them."""

MAX_COUNTED_INSTANCES = 20_000
"""How many instances of an operator are looked at."""


def supported(flow: OperatorFlow, busy: Floats, room: Floats, largest: float) -> Floats:
    """Largest multiple of the load that hosts bear when instances are fully used.

    With n instances an operator of which `busy` are occupied bears n / busy times the load, and from there on needs its next
    instance. Instances that are bought in the order of these multiples bear, together, the largest multiple of the whole load.

    Parameters
    ----------
    busy
        (operators,): instances that the load occupies.
    room
        (choices, resources): room on the hosts of each choice, in hosts.

    Returns
    -------
    (choices,): multiples, at most `largest`.

    Examples
    --------
    >>> none = np.zeros(2)
    >>> quarter, one, nine = np.full((2, 1), 0.25), np.ones(2), np.full(2, 9.0)
    >>> flow = OperatorFlow(none, np.zeros((2, 2)), none, one, np.arange(2), quarter, one, nine, 1.0)
    >>> supported(flow, np.array([2.0, 1.0]), np.array([[0.0], [0.5], [0.75], [1.5]]), 2.0).tolist()
    [0.0, 0.5, 1.0, 2.0]
    """
    most = np.minimum(flow.max_instances, np.maximum(np.ceil(largest * busy), flow.min_instances))
    most = np.minimum(most, MAX_COUNTED_INSTANCES)
    multiples = np.concatenate([np.arange(count) / max(occupied, 1e-9) for count, occupied in zip(most, busy, strict=True)])
    multiples[np.concatenate([np.arange(count) < minimum for count, minimum in zip(most, flow.min_instances, strict=True)])] = 0.0
    order = np.argsort(multiples, kind="stable")
    bought = np.repeat(np.arange(len(busy)), most.astype(int))[order]
    taken = flow.need[bought].cumsum(axis=0)
    fitting = [np.searchsorted(taken[:, r], room[:, r] + 1e-9, side="right") for r in range(taken.shape[1])]
    number = np.min(fitting, axis=0, initial=len(order))
    bears = np.append(multiples[order], largest)[number]
    return np.minimum(bears, largest)


def fill(tentative: TentativeState, wanted: Mapping[str, float], hosts: list[str]) -> None:
    """Place instances on these hosts while any fit, always of the operator that lacks the largest share of its target.

    Where nothing fits for it, instances give way whose operators lack less without them.

    Parameters
    ----------
    wanted
        Instances by operator, above 0. If they do not all fit, each operator gets fewer in proportion; remaining room is
        used in the same way.
    """
    growing = set(wanted)
    while growing:
        name = min(sorted(growing), key=lambda operator: coverage(tentative, wanted, operator))
        if coverage(tentative, wanted, name) >= MAX_COVERAGE or not tentative.may_grow(name):
            growing.discard(name)
            continue
        host = tightest(tentative, name, hosts)
        if host is None and make_room(tentative, wanted, name, hosts):
            host = tightest(tentative, name, hosts)
        if host is None:
            growing.discard(name)
        else:
            tentative.place(name, host)


def coverage(tentative: TentativeState, wanted: Mapping[str, float], name: str, change: int = 0) -> float:
    """Instances that an operator has, or will after a change, per instance that it should have."""
    return (tentative.instances(name) + change) / wanted[name]


def tightest(tentative: TentativeState, name: str, hosts: list[str]) -> str | None:
    """The host with room for an instance that has its image, then the one on which the least is left."""
    spend(HOST_UNITS * len(hosts))
    fitting = [host for host in hosts if tentative.fits(host, name)]
    return min(fitting, key=lambda host: (not tentative.has_image(host, name), _left(tentative, host)), default=None)


def make_room(tentative: TentativeState, wanted: Mapping[str, float], name: str, hosts: list[str]) -> bool:
    """Remove instances of operators that have more than this one even without them, until it fits; whether it does."""
    below = coverage(tentative, wanted, name)
    if not any(
        tentative.may_shrink(operator) and coverage(tentative, wanted, operator, -1) > below
        for operator in wanted
        if operator != name
    ):
        return False
    candidates = tentative.state.operators[name].operator.candidates
    for host in hosts:
        if candidates is None or tentative.type(host).name in candidates:
            removed = _removable_instances(tentative, wanted, name, host)
            for operator in removed:
                tentative.remove(operator, host)
            if removed:
                return True
    return False


def _removable_instances(tentative: TentativeState, wanted: Mapping[str, float], name: str, host: str) -> list[str]:
    """Instances whose removal makes room on a host, the most superfluous first; none where that is not enough."""
    operators = tentative.state.operators
    below = coverage(tentative, wanted, name)
    capacity = tentative.type(host).capacity
    need = named_resources(operators[name].operator.resources)
    if any(amount > capacity.get(resource, 0.0) for resource, amount in need.items()):
        return []
    free, here = tentative.free(host), tentative.on(host)
    gone = dict.fromkeys(here, 0)
    removed: list[str] = []
    while any(amount > free.get(resource, 0.0) + LIMIT_SLACK * capacity[resource] for resource, amount in need.items()):
        after = {operator: coverage(tentative, wanted, operator, -gone[operator] - 1) for operator in here if operator != name}
        able = [
            operator
            for operator, share in after.items()
            if share > below
            and here[operator] > gone[operator]
            and tentative.instances(operator) - gone[operator] > operators[operator].operator.min_instances
        ]
        if not able:
            return []
        least = max(able, key=after.__getitem__)
        gone[least] += 1
        removed.append(least)
        for resource, amount in named_resources(operators[least].operator.resources).items():
            free[resource] = free.get(resource, 0.0) + amount
    return removed


def _left(tentative: TentativeState, host: str) -> float:
    capacity = tentative.type(host).capacity
    return sum(amount / capacity[name] for name, amount in tentative.free(host).items() if capacity.get(name))


def vacated(tentative: TentativeState, host: str, busy: Mapping[str, float], enough: float) -> TentativeState | None:
    """The tentative state with a host emptied and given back, or None where others cannot take its instances.

    Parameters
    ----------
    busy
        By operator: instances that its load occupies, above 0.
    enough
        Instances per busy one that an operator keeps when others of it stop.
    """
    plan = tentative.copy()
    hosts = [target for target in plan.hosts if target != host and target in plan.state.hosts and plan.state.hosts[target].ready]
    while here := plan.on(host):
        able = [operator for operator in here if plan.may_shrink(operator)]
        name = max(able, key=lambda operator: coverage(plan, busy, operator, -1), default=None)
        if name is not None and coverage(plan, busy, name, -1) >= enough:
            plan.remove(name, host)
            continue
        moving = name or next(iter(here))
        target = tightest(plan, moving, hosts)
        if target is None and make_room(plan, busy, moving, hosts):
            target = tightest(plan, moving, hosts)
        if target is not None:
            plan.migrate(moving, host, target)
        elif name is not None:
            plan.remove(name, host)
        else:
            return None
    plan.release(host)
    return plan
