"""Release of hosts at the end of their paid time (cost-efficient enactment, Fig. 5)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from edrp.core.tolerances import EQUAL_TIMES
from edrp.enactment import Migrate, OperatorState, TentativeState
from edrp.enactment.containers import ContainerOperator, largest_share
from edrp.heuristics.enactment.host_selection import best_host, usable

Weight = Annotated[float, Field(ge=0)]

Utilities = Callable[[Mapping[str, int]], dict[str, float]]
"""From the instances of all operators to the utility of each with one instance less; only a positive value allows that."""


def spare_instances(operator: ContainerOperator, instances: int) -> int:
    """Instances of an operator that can be taken away at all: one stays, and no fewer than the operator must have.

    >>> filter_ = ContainerOperator(name="filter", processing_duration=0.6, min_instances=3)
    >>> spare_instances(filter_, 5), spare_instances(filter_, 3)
    (2, 0)
    """
    return max(0, instances - max(1, operator.min_instances))


@dataclass(frozen=True, slots=True)
class OperatorSelection:
    """Alg. 3 with its constants; the defaults are the paper's.

    Attributes
    ----------
    instances_weight, queue_weight, delay_weight, scalings_weight : 1
        W1 to W4.
    queue_load : 1
        QL, added where nothing waits: such an operator can lose an instance however late its last items were.
    penalty : money per late item
        P.
    """

    instances_weight: Weight = 1.0
    queue_weight: Weight = 1.0
    delay_weight: Weight = 1.0
    scalings_weight: Weight = 1.0
    queue_load: Weight = 100.0
    penalty: Weight = 1e-4

    def utilities(self, operators: Mapping[str, OperatorState], instances: Mapping[str, int]) -> dict[str, float]:
        """Utility of scaling each operator down; negative where that must not be (cost-efficient enactment, Alg. 3).

        Parameters
        ----------
        instances
            Instances of each operator, which may be planned instead of monitored. With fewer than two, or no more than the
            operator must have, its utility is -1. Where all have equally many, the first term is 0; where nothing has
            been scaled yet, the last.
        """
        fewest, largest = min(instances.values()), max(instances.values())
        scalings = sum(operator.scalings for operator in operators.values())
        utilities = {}
        for name, monitored in operators.items():
            count = instances[name]
            if not spare_instances(monitored.operator, count):
                utilities[name] = -1.0
                continue
            share = (count - fewest) / (largest - fewest) if largest > fewest else 0.0
            delay = monitored.duration / monitored.operator.processing_duration * (1 + self.penalty)
            utilities[name] = (
                1
                + self.instances_weight * share
                + self.queue_weight * (self.queue_load if monitored.queue < 1 else 0.0)
                - self.delay_weight * delay
                - self.scalings_weight * (monitored.scalings / scalings if scalings else 0.0)
            )
        return utilities


def ending_hosts(tentative: TentativeState, window: float, rounds: int) -> tuple[str, ...]:
    """Hosts whose paid time ends soon, the emptiest first; those leased in this very round are not among them.

    Parameters
    ----------
    window
        Share of a billing time unit (BTU): its last part.
    rounds
        Smallest number of observations in the window, so that no end of a lease is missed.
    """
    state = tentative.state
    ending = []
    for host in tentative.hosts:
        within = max(window * tentative.type(host).billing_time, rounds * state.interval)
        if host in state.hosts and tentative.paid_until(host) - state.time <= within + EQUAL_TIMES:
            ending.append((sum(tentative.on(host).values()), host))
    return tuple(host for _, host in sorted(ending, key=lambda entry: entry[0]))


class LeaseEnds:
    """Decides on every host whose paid time ends: it is released if it can be emptied, otherwise prolonged.

    A host that takes instances from another is prolonged.

    Parameters
    ----------
    window, rounds
        See `ending_hosts`.
    ask_once
        Whether a host that cannot be released at the first attempt is kept for the next unit, as in Fig. 5; otherwise its
        release is tried again in every round of the window.
    """

    def __init__(self, window: float, rounds: int, *, ask_once: bool) -> None:
        self._window, self._rounds, self._ask_once = window, rounds, ask_once
        self._prolonged: dict[str, float] = {}

    def decide(self, tentative: TentativeState, utilities: Utilities, share: float, cached_factor: float) -> TentativeState:
        """Return the tentative state after the decisions on all ending leases; for the parameters see `released`."""
        prolonged: set[str] = set()
        for host in ending_hosts(tentative, self._window, self._rounds):
            if host in prolonged or (self._ask_once and self._prolonged.get(host) == tentative.paid_until(host)):
                continue
            plan = released(tentative, host, utilities, share, cached_factor)
            if plan is None:
                self._prolonged[host] = tentative.paid_until(host)
                continue
            prolonged.update(action.target for action in plan.actions if isinstance(action, Migrate))
            tentative = plan
        return tentative


def released(
    tentative: TentativeState, host: str, utilities: Utilities, share: float, cached_factor: float
) -> TentativeState | None:
    """Return the state with a host emptied and released; None where that is impossible (cost-efficient enactment, Fig. 5).

    The plan is made on a copy: first, instances go whose operators can do without them; then the others migrate to hosts
    that are up, chosen by Alg. 2 alone, so that no operator loses instances because another must move.

    Parameters
    ----------
    share
        Largest share of an operator's instances that is removed with the host; one may be removed in any case.
    """
    plan = tentative.copy()
    _scale_down(plan, host, utilities, share)
    targets = [target for target in usable(plan, starting=False) if target != host]
    for name in _by_size(plan, host):
        target = best_host(plan, name, targets, cached_factor)
        if target is None:
            return None
        plan.migrate(name, host, target)
    plan.release(host)
    return plan


def _scale_down(tentative: TentativeState, host: str, utilities: Utilities, share: float) -> None:
    """Remove instances from a host, the most useful loss first, each while its operator can do with one less."""
    counts = tentative.counts
    instances = tentative.on(host)
    quota = {name: min(count, max(1, int(share * counts[name]))) for name, count in instances.items()}
    while True:
        values = utilities(counts)
        name = max((name for name, removable in quota.items() if removable), key=values.__getitem__, default=None)
        if name is None or values[name] <= 0:
            return
        tentative.remove(name, host)
        quota[name] -= 1
        counts[name] -= 1


def _by_size(tentative: TentativeState, host: str) -> Sequence[str]:
    """Instances on a host, those that take the largest part of it first: they are the hardest to place."""
    host_type, operators, instances = tentative.type(host), tentative.state.operators, tentative.on(host)
    names = sorted(instances, key=lambda name: largest_share(operators[name].operator, host_type), reverse=True)
    return [name for name in names for _ in range(instances[name])]
