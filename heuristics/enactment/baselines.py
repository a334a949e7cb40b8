"""Policies to compare with: by the number of items that wait, for a known peak, and the DS2 rule (Kalavri et al., OSDI 2018)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import ceil
from typing import Annotated, Literal, Self

from pydantic import Field

from edrp.core.errors import Fault, InvalidInstanceError
from edrp.core.tolerances import REPLICAS_SLACK, WHOLE_NUMBER_SLACK
from edrp.enactment import Action, EnactmentState, TentativeState
from edrp.enactment.containers import ContainerApplication, Host
from edrp.heuristics.enactment.btu import (
    LeaseEnds,
    Utilities,
    lease_cheapest,
    lease_type,
    priced_sizes,
    scale_up,
    spare_instances,
)
from edrp.heuristics.enactment.host_packing import CACHED_FACTOR, Packing, usable
from edrp.placement.application import Stream


@dataclass(frozen=True, slots=True)
class StaticPeakParameters:
    """Load for which the deployment is made.

    Attributes
    ----------
    peak : multiple of the external rates
        The load to be served; the largest of the forecast where it is not given.
    forecast : multiples of the external rates
        Loads that are expected.
    headroom : 1
        Factor on the peak for which instances are placed, as service and arrivals vary.
    """

    peak: Annotated[float, Field(ge=0)] | None = None
    forecast: tuple[Annotated[float, Field(ge=0)], ...] = ()
    headroom: Annotated[float, Field(ge=1)] = 1.2

    def knowing(self, forecast: Sequence[float]) -> Self:
        """Return the parameters with this forecast, unless a peak or a forecast is given."""
        return self if self.forecast or self.peak is not None else replace(self, forecast=tuple(forecast))


class StaticPeakPolicy:
    """Serves a known largest load with one deployment, placed at the start and never changed.

    Running instances count; missing ones are placed largest first, on the first hosts with room and on hosts leased for
    them, the cheapest per instance.

    Raises
    ------
    InvalidInstanceError
        When neither a peak nor a forecast is given.

    Examples
    --------
    At eight times 2 items/s, of which an instance serves two, and 20 % above:

    >>> from edrp.enactment.containers import ContainerOperator, HostType
    >>> from edrp.enactment import OperatorState
    >>> small = HostType(name="small", resources={"cpu": 16}, price=1, billing_time=600)
    >>> work = ContainerOperator(name="filter", processing_duration=0.5, external_rate=2.0, resources={"cpu": 1})
    >>> start = EnactmentState(0.0, 60.0, {"filter": OperatorState(work, running=0)}, {}, {"small": small})
    >>> actions = StaticPeakPolicy(StaticPeakParameters(forecast=(1.0, 8.0))).observe(start)
    >>> len(actions), str(actions[0]), str(actions[-1])
    (11, 'lease host-1 of type small', 'place filter on host-1')
    """

    name = "static-peak"

    def __init__(self, parameters: StaticPeakParameters) -> None:
        if parameters.peak is None and not parameters.forecast:
            why = "missing: give the largest load as a multiple of the external rates, or a forecast that contains it"
            raise InvalidInstanceError([Fault("peak", "", why)], "parameters of policy static-peak")
        self._peak = max(parameters.forecast) if parameters.peak is None else parameters.peak
        self._headroom = parameters.headroom
        self._placed = False

    def observe(self, state: EnactmentState) -> tuple[Action, ...]:
        """Place all instances at the first call, and do nothing afterwards."""
        if self._placed:
            return ()
        self._placed = True
        tentative = TentativeState(state)
        running = [
            Host(name=name, type=tentative.type(name).name, instances=state.hosts[name].instances) for name in tentative.hosts
        ]
        packing = Packing(priced_sizes(tentative), running)
        target_counts = self._target_counts(state)
        for index in packing.sizes.decreasing():
            packing.first_fit(index, max(0, target_counts[index] - int(packing.totals[index])))
        _carry_out(tentative, packing, running)
        return tentative.actions

    def _target_counts(self, state: EnactmentState) -> list[int]:
        """Number of instances that each operator needs at the peak."""
        operators = tuple(monitored.operator for monitored in state.operators.values())
        streams = tuple(Stream(source=source, target=target) for source, target in state.streams)
        application = ContainerApplication(operators=operators, streams=streams)
        counts = []
        for operator in operators:
            needed = ceil(self._headroom * self._peak * application.load(operator.name) * operator.occupied - WHOLE_NUMBER_SLACK)
            count = max(operator.min_instances, needed)
            counts.append(count if operator.max_instances is None else min(count, operator.max_instances))
        return counts


def _carry_out(tentative: TentativeState, packing: Packing, running: list[Host]) -> None:
    """Lease the hosts that a packing has beyond those running, and place the instances that are new."""
    names = list(tentative.state.operators)
    for index, (host, row) in enumerate(zip(packing.hosts, packing.counts.tolist(), strict=True)):
        runs_already = index < len(running)
        name = host.name if runs_already else lease_type(tentative, host.type)
        if name is None:
            continue
        present = running[index].instances if runs_already else {}
        for operator, count in zip(names, row, strict=True):
            for _ in range(count - present.get(operator, 0)):
                tentative.place(operator, name)


Items = Annotated[float, Field(ge=0)]


@dataclass(frozen=True, slots=True)
class ThresholdParameters:
    """Constants of the baseline; unless noted otherwise, the defaults are the paper's.

    Attributes
    ----------
    upper : items
        An operator gets one more instance while more items than this wait.
    second_upper : items
        It gets two while more than this wait; None for never more than one.
    lower : items
        It loses an instance while fewer than this wait.
    cooldown : s
        Time after a scale-up in which an operator is not scaled down. The paper does not print it (0 scales down at once);
        its compliance under patterns with few levels is met better with it.
    place_on_starting
        Whether a host that is still starting may take new instances. The baseline leases "as soon as all currently used
        VMs are fully utilized", and one that starts is not.
    """

    upper: Items = 50.0
    second_upper: Items | None = 250.0
    lower: Items = 1.0
    cooldown: Annotated[float, Field(ge=0)] = 180.0
    place_on_starting: bool = True


class ThresholdPolicy:
    """Adds an instance where many items wait and removes one where none does, ignoring billing time units.

    A new instance goes to the first host with room, a host is leased when there is none, and given back when the last
    instance on it has gone: the rest of its billing time unit is lost. The instance that goes is on the host with
    the largest free share, so that hosts become empty. Nothing is taken away at time 0, when nothing has been monitored.

    Examples
    --------
    >>> from edrp.enactment.containers import ContainerOperator, HostType
    >>> from edrp.enactment import HostState, OperatorState
    >>> small = HostType(name="small", resources={"cpu": 2}, price=1, billing_time=600)
    >>> work = ContainerOperator(name="filter", processing_duration=0.5, resources={"cpu": 1})
    >>> hosts = {"a": HostState("a", small, instances={"filter": 2}), "b": HostState("b", small, instances={"filter": 1})}
    >>> idle = EnactmentState(60.0, 60.0, {"filter": OperatorState(work, running=3)}, hosts, {"small": small})
    >>> [str(action) for action in ThresholdPolicy(ThresholdParameters()).observe(idle)]
    ['remove filter from b', 'release b']
    """

    name = "threshold"

    def __init__(self, parameters: ThresholdParameters) -> None:
        self._parameters = parameters
        self._scaled_up: dict[str, float] = {}

    def observe(self, state: EnactmentState) -> tuple[Action, ...]:
        """Scale every operator by its queue, then give back the empty hosts."""
        tentative = TentativeState(state)
        for name in state.operators:
            change = self._step(tentative, name)
            for _ in range(change):
                if not place_first_fit(tentative, name, starting=self._parameters.place_on_starting):
                    break
                self._scaled_up[name] = state.time
            if change < 0:
                remove_from_emptiest_host(tentative, name)
        release_empty(tentative)
        return tentative.actions

    def _step(self, tentative: TentativeState, name: str) -> int:
        """Return how many instances an operator gets in this round; -1 where it loses one."""
        parameters, state = self._parameters, tentative.state
        waiting = state.operators[name].queue
        if parameters.second_upper is not None and waiting > parameters.second_upper:
            return 2
        if waiting > parameters.upper:
            return 1
        since = self._scaled_up.get(name)
        cooling = since is not None and state.time - since < parameters.cooldown
        return -1 if waiting < parameters.lower and state.time > 0 and not cooling else 0


def place_first_fit(tentative: TentativeState, operator: str, *, starting: bool) -> bool:
    """Place an instance on the first host with room, or on one leased for it; False where there can be none."""
    if not tentative.may_grow(operator):
        return False
    able = (host for host in usable(tentative, starting=starting) if tentative.fits(host, operator))
    host = next(able, None) or lease_cheapest(tentative, operator)
    if host is None:
        return False
    tentative.place(operator, host)
    return True


def remove_from_emptiest_host(tentative: TentativeState, operator: str) -> None:
    """Remove an instance from the emptiest host, the last leased of equals; none below the minimum."""
    if not tentative.may_shrink(operator):
        return
    hosts = [host for host in tentative.hosts if tentative.on(host).get(operator)]
    tentative.remove(operator, max(reversed(hosts), key=tentative.free_share))


def release_empty(tentative: TentativeState) -> None:
    """Release all hosts on which nothing runs."""
    for host in tentative.hosts:
        if not tentative.on(host):
            tentative.release(host)


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
