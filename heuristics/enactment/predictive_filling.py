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
"""Units of work per host whose room is examined."""

MAX_COVERAGE = 2.0
"""Instances per target instance at which an operator gets no more: not even a surge would need them."""

MAX_COUNTED_INSTANCES = 20_000
"""Maximum number of instances of an operator that are considered."""


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
    max_counts = np.minimum(flow.max_instances, np.maximum(np.ceil(largest * busy), flow.min_instances))
    max_counts = np.minimum(max_counts, MAX_COUNTED_INSTANCES)
    multiples = np.concatenate([np.arange(count) / max(occupied, 1e-9) for count, occupied in zip(max_counts, busy, strict=True)])
    multiples[
        np.concatenate([np.arange(count) < minimum for count, minimum in zip(max_counts, flow.min_instances, strict=True)])
    ] = 0.0
    order = np.argsort(multiples, kind="stable")
    bought = np.repeat(np.arange(len(busy)), max_counts.astype(int))[order]
    taken_room = flow.need[bought].cumsum(axis=0)
    fitting = [np.searchsorted(taken_room[:, r], room[:, r] + 1e-9, side="right") for r in range(taken_room.shape[1])]
    number = np.min(fitting, axis=0, initial=len(order))
    bears = np.append(multiples[order], largest)[number]
    return np.minimum(bears, largest)


def fill(tentative: TentativeState, targets: Mapping[str, float], hosts: list[str]) -> None:
    """Place instances on these hosts while any fit, always of the operator that lacks the largest share of its target.

    Where nothing fits for it, instances give way whose operators lack less without them.

    Parameters
    ----------
    targets
        Instances by operator, above 0. If they do not all fit, each operator gets fewer in proportion; remaining room is
        used in the same way.
    """
    growing = set(targets)
    while growing:
        name = min(sorted(growing), key=lambda operator: coverage(tentative, targets, operator))
        if coverage(tentative, targets, name) >= MAX_COVERAGE or not tentative.may_grow(name):
            growing.discard(name)
            continue
        host = tightest(tentative, name, hosts)
        if host is None and make_room(tentative, targets, name, hosts):
            host = tightest(tentative, name, hosts)
        if host is None:
            growing.discard(name)
        else:
            tentative.place(name, host)


def coverage(tentative: TentativeState, targets: Mapping[str, float], name: str, change: int = 0) -> float:
    """Ratio of the instances of an operator, after a change, to its target."""
    return (tentative.instances(name) + change) / targets[name]


def tightest(tentative: TentativeState, name: str, hosts: list[str]) -> str | None:
    """Best host with room for an instance: one that has its image, then the one with the least room left."""
    spend(HOST_UNITS * len(hosts))
    fitting = [host for host in hosts if tentative.fits(host, name)]
    return min(fitting, key=lambda host: (not tentative.has_image(host, name), _remaining_share(tentative, host)), default=None)


def make_room(tentative: TentativeState, targets: Mapping[str, float], name: str, hosts: list[str]) -> bool:
    """Remove instances of better covered operators until an instance of this one fits; return whether it does."""
    below = coverage(tentative, targets, name)
    if not any(
        tentative.may_shrink(operator) and coverage(tentative, targets, operator, -1) > below
        for operator in targets
        if operator != name
    ):
        return False
    candidates = tentative.state.operators[name].operator.candidates
    for host in hosts:
        if candidates is None or tentative.type(host).name in candidates:
            removed = _removable_instances(tentative, targets, name, host)
            for operator in removed:
                tentative.remove(operator, host)
            if removed:
                return True
    return False


def _removable_instances(tentative: TentativeState, targets: Mapping[str, float], name: str, host: str) -> list[str]:
    """Instances to remove from a host to make room, the most superfluous first; none where that is not enough."""
    operators = tentative.state.operators
    below = coverage(tentative, targets, name)
    capacity = tentative.type(host).capacity
    need = named_resources(operators[name].operator.resources)
    if any(amount > capacity.get(resource, 0.0) for resource, amount in need.items()):
        return []
    free, counts = tentative.free(host), tentative.on(host)
    removed_counts = dict.fromkeys(counts, 0)
    removed: list[str] = []
    while any(amount > free.get(resource, 0.0) + LIMIT_SLACK * capacity[resource] for resource, amount in need.items()):
        after = {
            operator: coverage(tentative, targets, operator, -removed_counts[operator] - 1)
            for operator in counts
            if operator != name
        }
        able = [
            operator
            for operator, share in after.items()
            if share > below
            and counts[operator] > removed_counts[operator]
            and tentative.instances(operator) - removed_counts[operator] > operators[operator].operator.min_instances
        ]
        if not able:
            return []
        most_covered = max(able, key=after.__getitem__)
        removed_counts[most_covered] += 1
        removed.append(most_covered)
        for resource, amount in named_resources(operators[most_covered].operator.resources).items():
            free[resource] = free.get(resource, 0.0) + amount
    return removed


def _remaining_share(tentative: TentativeState, host: str) -> float:
    capacity = tentative.type(host).capacity
    return sum(amount / capacity[name] for name, amount in tentative.free(host).items() if capacity.get(name))


def vacated(tentative: TentativeState, host: str, busy: Mapping[str, float], enough: float) -> TentativeState | None:
    """Return the tentative state with a host emptied and released; None where others cannot take its instances.

    Parameters
    ----------
    busy
        By operator: instances that its load occupies, above 0.
    enough
        Instances per busy one that an operator keeps when others of it stop.
    """
    plan = tentative.copy()
    hosts = [target for target in plan.hosts if target != host and target in plan.state.hosts and plan.state.hosts[target].ready]
    while counts := plan.on(host):
        able = [operator for operator in counts if plan.may_shrink(operator)]
        name = max(able, key=lambda operator: coverage(plan, busy, operator, -1), default=None)
        if name is not None and coverage(plan, busy, name, -1) >= enough:
            plan.remove(name, host)
            continue
        moving = name or next(iter(counts))
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
