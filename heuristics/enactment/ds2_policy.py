"""The DS2 rule as a policy: instances from the rates that were measured (Kalavri et al., OSDI 2018)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import ceil
from typing import Annotated, Literal

from pydantic import Field

from edrp.core.tolerances import REPLICAS_SLACK
from edrp.enactment import Action, EnactmentState, TentativeState
from edrp.heuristics.enactment.host_selection import CACHED_FACTOR, usable
from edrp.heuristics.enactment.release import LeaseEnds, Utilities, spare_instances
from edrp.heuristics.enactment.threshold import place_first_fit, release_empty, remove_from_emptiest_host
from edrp.heuristics.enactment.upscaling import scale_up


@dataclass(frozen=True, slots=True)
class Ds2PolicyParameters:
    """Parameters of the DS2 policy: utilisation of instances, and handling of leases.

    Attributes
    ----------
    utilisation : share of its time
        Target share for which an instance is busy; Flink's `job.autoscaler.utilization.target`.
    leases
        "btu": instances that are no longer needed stay until a billing time unit (BTU) ends or another operator needs
        their room, as in Figs. 4 and 5 of cost-efficient enactment. "threshold": they are removed at once, and hosts with
        their last instance.
    window : share of a billing time unit
        With "btu": within its last part a host is prolonged or released.
    window_rounds : observations
        The window lasts at least this many observations.
    place_on_starting
        Whether a host that is still starting may take new instances.
    """

    utilisation: Annotated[float, Field(gt=0, le=1)] = 0.7
    leases: Literal["btu", "threshold"] = "btu"
    window: Annotated[float, Field(gt=0, le=1)] = 0.05
    window_rounds: Annotated[int, Field(ge=0)] = 1
    place_on_starting: bool = True


class Ds2Policy:
    """Gives every operator the instances that the measured rates of the sources need, by their measured true processing rates.

    The true processing rate of an instance is the number of items that it took per busy second. The target rate of an operator,
    at which items would arrive if nothing upstream were behind, follows along the streams: measured arrivals from outside times
    the selectivities. An operator of which nothing was ever measured keeps its instances. A backlog plays no part.

    Examples
    --------
    An instance took 100 items in 50 busy seconds: 2 items/s. 300 items arrived in a minute, 5 items/s, and instances are to
    be busy for 70 % of their time: 5 / 1.4, so four of them.

    >>> from edrp.enactment.containers import ContainerOperator, HostType
    >>> from edrp.enactment import HostState, OperatorState
    >>> small = HostType(name="small", resources={"cpu": 4}, price=1, billing_time=600)
    >>> work = ContainerOperator(name="filter", processing_duration=0.5, resources={"cpu": 1})
    >>> monitored = {"filter": OperatorState(work, arrivals=300, begun=100, busy=50.0)}
    >>> hosts = {"a": HostState("a", small, paid_until=600.0, instances={"filter": 1})}
    >>> policy = Ds2Policy(Ds2PolicyParameters())
    >>> len(policy.observe(EnactmentState(60.0, 60.0, monitored, hosts, {"small": small})))
    3
    """

    name = "ds2"

    def __init__(self, parameters: Ds2PolicyParameters) -> None:
        self._parameters = parameters
        self._rates: dict[str, float] = {}
        self._ends = LeaseEnds(parameters.window, parameters.window_rounds, ask_once=False)

    def observe(self, state: EnactmentState) -> tuple[Action, ...]:
        """Measure rates, then add missing instances and remove superfluous ones."""
        targets = self._target_counts(state)
        tentative = TentativeState(state)
        if self._parameters.leases == "threshold":
            return self._at_once(tentative, targets)
        utilities = _surplus(state, targets)
        for name, missing in _missing(tentative, targets).items():
            for _ in range(missing):
                hosts = usable(tentative, starting=self._parameters.place_on_starting)
                if not scale_up(tentative, name, hosts, utilities, CACHED_FACTOR):
                    break
        return self._ends.decide(tentative, utilities, 1.0, CACHED_FACTOR).actions

    def _at_once(self, tentative: TentativeState, targets: Mapping[str, int]) -> tuple[Action, ...]:
        for name, missing in _missing(tentative, targets).items():
            for _ in range(-missing):
                remove_from_emptiest_host(tentative, name)
        for name, missing in _missing(tentative, targets).items():
            for _ in range(missing):
                if not place_first_fit(tentative, name, starting=self._parameters.place_on_starting):
                    break
        release_empty(tentative)
        return tentative.actions

    def _target_counts(self, state: EnactmentState) -> dict[str, int]:
        """Instances of each operator of which anything is known: target rate / (true rate × utilisation), rounded up."""
        for name, monitored in state.operators.items():
            if monitored.begun and monitored.busy > 0:
                self._rates[name] = monitored.begun / monitored.busy
        targets = {}
        for name, target in target_rates(state).items():
            if name in self._rates:
                needed = target / (self._rates[name] * self._parameters.utilisation)
                targets[name] = max(1, state.operators[name].operator.min_instances, ceil(needed * (1 - REPLICAS_SLACK)))
        return targets


def target_rates(state: EnactmentState) -> dict[str, float]:
    """Items per second that reach each operator when nothing upstream holds them back.

    Arrivals from outside are those beyond the items that the operators upstream sent on.

    Examples
    --------
    The first operator began 30 of 120 items in a minute and sent one in two on:

    >>> from edrp.enactment.containers import ContainerOperator
    >>> from edrp.enactment import OperatorState
    >>> first, second = (ContainerOperator(name=name, processing_duration=0.5, selectivity=0.5) for name in "ab")
    >>> seen = {"a": OperatorState(first, arrivals=120, begun=30), "b": OperatorState(second, arrivals=15, begun=15)}
    >>> target_rates(EnactmentState(60.0, 60.0, seen, {}, {}, (("a", "b"),)))
    {'a': 2.0, 'b': 1.0}
    """
    outside = {name: float(operator.arrivals) for name, operator in state.operators.items()}
    open_streams = dict.fromkeys(state.operators, 0)
    for source, target in state.streams:
        outside[target] -= state.operators[source].operator.selectivity * state.operators[source].begun
        open_streams[target] += 1
    rates = {name: max(0.0, items) / state.interval for name, items in outside.items()}
    ready = [name for name, count in open_streams.items() if not count]
    for name in ready:  # grows during the loop: an operator is added once all operators that feed it are known
        for source, target in state.streams:
            if source == name:
                rates[target] += state.operators[name].operator.selectivity * rates[name]
                open_streams[target] -= 1
                if not open_streams[target]:
                    ready.append(target)
    return rates


def _missing(tentative: TentativeState, targets: Mapping[str, int]) -> dict[str, int]:
    """Number of instances that each operator lacks; negative where it has too many."""
    return {name: number - tentative.instances(name) for name, number in targets.items()}


def _surplus(state: EnactmentState, target_counts: Mapping[str, int]) -> Utilities:
    """Build utilities by which an operator loses instances as long as it has more than its target."""

    def utilities(instances: Mapping[str, int]) -> dict[str, float]:
        targets = {name: target_counts.get(name, count) for name, count in instances.items()}
        spared = {name: spare_instances(state.operators[name].operator, count) for name, count in instances.items()}
        return {name: float(count - targets[name]) if spared[name] else -1.0 for name, count in instances.items()}

    return utilities
