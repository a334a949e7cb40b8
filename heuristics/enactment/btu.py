"""The policy of cost-efficient enactment, which uses hosts to the end of their paid time (Algs. 1 to 3, Figs. 4 and 5).

When an operator needs one more instance, where it goes, and which host is leased for it; which operators can do with one less,
and which hosts are given back at the end of their paid time.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np
from pydantic import Field

from edrp.core.document import named_resources
from edrp.core.tolerances import EQUAL_TIMES
from edrp.enactment import Action, EnactmentState, Migrate, OperatorState, TentativeState
from edrp.enactment.containers import ContainerOperator, largest_share
from edrp.enactment.state import has_room
from edrp.heuristics.enactment.host_packing import CACHED_FACTOR, PricedSizes, best_host, usable

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
    # Instances on a host, those that take the largest part of it first: they are the hardest to place.
    host_type, operators, instances = plan.type(host), plan.state.operators, plan.on(host)
    by_size = sorted(instances, key=lambda name: largest_share(operators[name].operator, host_type), reverse=True)
    for name in [operator for operator in by_size for _ in range(instances[operator])]:
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


@dataclass(frozen=True, slots=True)
class BtuParameters(OperatorSelection):
    """Constants of the policy; unless noted otherwise, the defaults are those that the paper prints.

    Attributes
    ----------
    observations : 1
        N of Alg. 1, recorded durations that make the trend. The paper does not print it; its published code takes 5.
    scaling_threshold : items
        An operator is not scaled up while no more items than this wait.
    second_threshold : items
        Above this number it gets two instances at once; None for never more than one. As in the baseline and the published code.
    cached_factor : 1
        CF of Alg. 2.
    instances_weight, queue_weight, delay_weight, scalings_weight, queue_load, penalty
        W1 to W4, QL and P of Alg. 3, see `OperatorSelection`.
    cooldown : s
        Time after a scale-up in which no operator is scaled down; the paper does not print it.
    shared_cooldown
        Whether any scale-up counts, or only one of the same operator. With True instances do not change hands while the load
        rises, and the printed compliance is met better; it was chosen for that, with the stalls of the factory.
    window : share of a billing time unit (BTU)
        Within its last 5 %, a host is prolonged or released.
    window_rounds : observations
        The window lasts at least this many observations.
    release_share : share of an operator's instances
        Largest share that is removed with a host; one instance may be removed in any case.
    place_on_starting
        Whether a host that is still starting may take new instances. The paper assesses "currently running hosts", so that
        every instance that finds no room leases its own host until the first of these is up. Migrations always go to
        hosts that are up: others would take longer than the paid time.
    ask_once
        Whether a host that cannot be released at the first attempt is kept for the next unit, as in Fig. 5; False tries again in
        every round of the window.
    """

    observations: Annotated[int, Field(ge=2)] = 5
    scaling_threshold: Weight = 50.0
    second_threshold: Weight | None = 250.0
    cached_factor: Annotated[float, Field(gt=0, le=1)] = CACHED_FACTOR
    cooldown: Weight = 180.0
    shared_cooldown: bool = True
    window: Annotated[float, Field(gt=0, le=1)] = 0.05
    window_rounds: Annotated[int, Field(ge=0)] = 1
    release_share: Annotated[float, Field(ge=0, le=1)] = 0.2
    place_on_starting: bool = False
    ask_once: bool = True


class BtuPolicy:
    """Scales up when items are late and wait, and gives hosts back only at the end of their billing time unit (BTU).

    In every round operators are scaled up first, in document order; then the hosts whose paid time ends are prolonged by
    doing nothing or released, the emptiest first.

    Examples
    --------
    The filter is late and 300 items wait; both instances it gets fit on the host that is there:

    >>> from edrp.enactment.containers import ContainerOperator, HostType
    >>> from edrp.enactment import HostState
    >>> small = HostType(name="small", resources={"cpu": 4}, price=1, billing_time=600)
    >>> work = ContainerOperator(name="filter", processing_duration=0.5, resources={"cpu": 1})
    >>> monitored = {"filter": OperatorState(work, queue=300, durations=(0.5, 0.9))}
    >>> hosts = {"a": HostState("a", small, paid_until=600.0, instances={"filter": 1})}
    >>> policy = BtuPolicy(BtuParameters())
    >>> [str(action) for action in policy.observe(EnactmentState(60.0, 60.0, monitored, hosts, {"small": small}))]
    ['place filter on a', 'place filter on a']
    """

    name = "btu"

    def __init__(self, parameters: BtuParameters) -> None:
        self._parameters = parameters
        self._scaled_up: dict[str, float] = {}
        self._ends = LeaseEnds(parameters.window, parameters.window_rounds, ask_once=parameters.ask_once)

    def observe(self, state: EnactmentState) -> tuple[Action, ...]:
        """Scale up operators that are late, then decide on hosts whose paid time ends."""
        tentative = TentativeState(state)
        for name, operator in state.operators.items():
            for _ in range(self._missing(operator)):
                hosts = usable(tentative, starting=self._parameters.place_on_starting)
                if not scale_up(tentative, name, hosts, self._utilities(state), self._parameters.cached_factor):
                    break
                self._scaled_up[name] = state.time
        parameters = self._parameters
        return self._ends.decide(tentative, self._utilities(state), parameters.release_share, parameters.cached_factor).actions

    def _missing(self, operator: OperatorState) -> int:
        """Return how many instances an operator gets in this round."""
        parameters = self._parameters
        if not needs_instance(operator, parameters.observations, parameters.scaling_threshold):
            return 0
        return 1 if parameters.second_threshold is None or operator.queue <= parameters.second_threshold else 2

    def _utilities(self, state: EnactmentState) -> Utilities:
        """Utilities of Alg. 3; -1 for operators within their cooldown, or for all of them where the cooldown is shared."""
        cooling = {name for name, since in self._scaled_up.items() if state.time - since < self._parameters.cooldown}
        if cooling and self._parameters.shared_cooldown:
            cooling = set(state.operators)

        def utilities(instances: Mapping[str, int]) -> dict[str, float]:
            values = self._parameters.utilities(state.operators, instances)
            return {name: -1.0 if name in cooling else value for name, value in values.items()}

        return utilities
