"""Scenarios of runs to be simulated, and a run's records, metrics and audit (cost-efficient enactment, section "Evaluation").

Metrics and audit are computed from the records alone; policies are the methods of scenarios.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from itertools import accumulate
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from edrp.core.document import Faults, Name, NonNegative, Outcome, Positive, checks, unit
from edrp.core.errors import Fault
from edrp.core.problem import Evaluation, Problem, read_as
from edrp.core.solution import Solution
from edrp.core.tolerances import SAME_VALUE, WHOLE_NUMBER_SLACK
from edrp.enactment.containers import ContainerApplication, HostType, check_counts, check_hosting, overfull
from edrp.placement.problem_warnings import unreached_operators

Count = Annotated[int, Field(ge=0)]


class LeaseRecord(Outcome):
    """One host from lease to release."""

    host: Name = Field(description="name that the policy gave")
    type: Name = Field(description="host type")
    start: NonNegative = Field(description="when it was leased", **unit("s"))
    ready: NonNegative = Field(description="when it was up", **unit("s"))
    end: NonNegative | None = Field(description="when it was given back; null if it never was", **unit("s"))
    units: Count = Field(description="billing time units paid", **unit("1"))


class InstanceRecord(Outcome):
    """One instance from placement to its end."""

    operator: Name = Field(description="of which it is an instance")
    host: Name = Field(description="on which it ran")
    placed: NonNegative = Field(description="since when it holds resources", **unit("s"))
    started: NonNegative | None = Field(description="since when it takes items; null if never", **unit("s"))
    ended: NonNegative | None = Field(
        description="when it stopped and gave its resources back; null at the end of the run", **unit("s")
    )
    cause: Literal["initial", "placed", "migrated"] = Field(description="why it was started")
    ended_by: Literal["removed", "migrated"] | None = Field(description="why it was stopped")


class OperatorRecord(Outcome):
    """The items of one operator type."""

    name: Name = Field(description="operator")
    arrived: Count = Field(description="items that arrived", **unit("1"))
    completed: Count = Field(description="items whose processing ended", **unit("1"))
    queued: Count = Field(description="items that wait at the end of the run", **unit("1"))
    in_service: Count = Field(description="items that are processed at the end of the run", **unit("1"))
    real_time: Count = Field(description="completed items within the first level", **unit("1"))
    near_real_time: Count = Field(description="completed items within the second level", **unit("1"))
    relaxed: Count = Field(description="completed items within the third level", **unit("1"))
    time_to_adapt: NonNegative | None = Field(
        None,
        description="mean time from the first late monitoring interval to the next one in time; null where none was late",
        **unit("s"),
    )


class EnactmentRun(Outcome):
    """A whole run: every host leased, every instance started, every item counted."""

    leases: tuple[LeaseRecord, ...] = Field(description="in the order in which hosts were leased")
    instances: tuple[InstanceRecord, ...] = Field(description="in the order in which they were placed")
    operators: tuple[OperatorRecord, ...] = Field(description="in document order")


LEVELS = ("real_time", "near_real_time", "relaxed")
"""Compliance levels, the strictest first (cost-efficient enactment, section "Metrics")."""


def units_paid(start: float, end: float, billing_time: float) -> int:
    """Billing time units (BTU) paid for a host leased from `start` to `end` (s): every started one, at least one.

    >>> units_paid(0.0, 600.0, 600.0), units_paid(0.0, 601.0, 600.0)
    (1, 2)
    """
    return max(1, math.ceil((end - start) / billing_time - WHOLE_NUMBER_SLACK))


def run_metrics(run: EnactmentRun, types: dict[str, HostType], duration: float, penalty: float) -> dict[str, float]:
    """The metrics of a run that lasted `duration` seconds (cost-efficient enactment, section "Metrics")."""
    units = [billed_units(lease, types, duration) for lease in run.leases]
    cost = math.fsum(count * types[lease.type].price for count, lease in zip(units, run.leases, strict=True))
    completed = sum(record.completed for record in run.operators)
    metrics = {"paid_units": float(sum(units)), "resource_cost": cost}
    for level in LEVELS:
        in_time = sum(getattr(record, level) for record in run.operators)
        metrics[f"{level}_compliance"] = in_time / completed if completed else 1.0
        metrics[f"{level}_total"] = cost + penalty * (completed - in_time)
    waits = [record.time_to_adapt for record in run.operators if record.time_to_adapt is not None]
    causes = Counter(instance.cause for instance in run.instances)
    metrics |= {
        "upscalings": float(causes["placed"]),
        "downscalings": float(sum(instance.ended_by == "removed" for instance in run.instances)),
        "migrations": float(causes["migrated"]),
        "mean_hosts": _total_length((lease.start, end_time(lease.end, duration)) for lease in run.leases) / duration,
        "mean_instances": _total_length((instance.placed, end_time(instance.ended, duration)) for instance in run.instances)
        / duration,
        "time_to_adapt": math.fsum(waits) / len(waits) if waits else 0.0,
    }
    return metrics


def emitted(departures: int, selectivity: float) -> int:
    """Number of items that a number of departures has sent on each outgoing stream.

    >>> emitted(149, 0.02), emitted(150, 0.02), emitted(3, 1 / 3)
    (2, 3, 1)
    """
    return math.floor(departures * selectivity + WHOLE_NUMBER_SLACK)


def billed_units(lease: LeaseRecord, types: dict[str, HostType], duration: float) -> int:
    """Billing time units (BTU) paid for a lease; one that is open at the end of the run is paid until then."""
    return units_paid(lease.start, end_time(lease.end, duration), types[lease.type].billing_time)


def end_time(time: float | None, duration: float) -> float:
    """Return the time at which something ended (s): the end of the run where it had not ended before."""
    return duration if time is None else time


def _total_length(spans: Iterable[tuple[float, float]]) -> float:
    return math.fsum(end - start for start, end in spans)


def run_faults(
    run: EnactmentRun, application: ContainerApplication, types: dict[str, HostType], duration: float
) -> Iterator[str]:
    """Yield what is impossible about a run, in words: leases, room on hosts, counts of instances, lost or extra items."""
    leases = {lease.host: lease for lease in run.leases}
    strangers = {instance.host for instance in run.instances} - set(leases)
    if strangers:
        yield f"hosts {', '.join(sorted(strangers))}: carried instances and were never leased"
        return
    for lease in run.leases:
        paid = billed_units(lease, types, duration)
        if lease.units != paid:
            yield f"host {lease.host}: {lease.units} units paid against {paid} started"
    yield from _hosting_faults(run, leases, application, types, duration)
    yield from _item_faults(run, application)


def _hosting_faults(
    run: EnactmentRun,
    leases: dict[str, LeaseRecord],
    application: ContainerApplication,
    types: dict[str, HostType],
    duration: float,
) -> Iterator[str]:
    """Instances outside of a lease; hosts that are overfull after any change; operators without an instance."""
    for instance in run.instances:
        lease = leases[instance.host]
        if instance.placed < lease.start or end_time(instance.ended, duration) > end_time(lease.end, duration):
            yield f"{instance.operator} on {instance.host}: ran outside of the lease"
        if instance.started is not None and instance.started < lease.ready:
            yield f"{instance.operator} on {instance.host}: started before the host was ready"
    instances_on: dict[str, Counter[str]] = {name: Counter() for name in leases}
    total: Counter[str] = Counter()
    for time, changes in _changes(run, duration):
        for instance, change in changes:
            instances_on[instance.host][instance.operator] += change
            total[instance.operator] += change
        for host in dict.fromkeys(instance.host for instance, _ in changes):
            for why in overfull(dict(instances_on[host]), types[leases[host].type], application):
                yield f"host {host} at {time:g} s: {why}"
        for operator in application.by_name:
            if total[operator] < 1 and time < duration:
                yield f"{operator} at {time:g} s: no instance is left"
    for leased_type, described in types.items():
        if described.limit is not None and _most_at_a_time(run, leased_type, duration) > described.limit:
            yield f"limit of {leased_type}: more than {described.limit} hosts at a time"


def _changes(run: EnactmentRun, duration: float) -> Iterator[tuple[float, list[tuple[InstanceRecord, int]]]]:
    """Instances that come and go, by time; those of one time are one group."""
    at: dict[float, list[tuple[InstanceRecord, int]]] = {}
    for instance in run.instances:
        at.setdefault(instance.placed, []).append((instance, 1))
        if instance.ended is not None and instance.ended <= duration:
            at.setdefault(instance.ended, []).append((instance, -1))
    yield from sorted(at.items())


def _most_at_a_time(run: EnactmentRun, host_type: str, duration: float) -> int:
    times = [(lease.start, 1) for lease in run.leases if lease.type == host_type]
    times += [(end_time(lease.end, duration), -1) for lease in run.leases if lease.type == host_type]
    return max(accumulate((change for _, change in sorted(times)), initial=0))


def _item_faults(run: EnactmentRun, application: ContainerApplication) -> Iterator[str]:
    """Every item that arrived is completed, in service or queued, and comes from outside or from an operator before."""
    sent = dict.fromkeys(application.by_name, 0)
    fed = {stream.target for stream in application.streams}
    records = {record.name: record for record in run.operators}
    for stream in application.streams:
        sent[stream.target] += emitted(records[stream.source].completed, application.by_name[stream.source].selectivity)
    for record in run.operators:
        if record.arrived != record.completed + record.in_service + record.queued:
            parts = f"{record.completed} completed, {record.in_service} in service, {record.queued} queued"
            yield f"items of {record.name}: {record.arrived} arrived against {parts}"
        if record.name in fed and not application.by_name[record.name].external_rate and record.arrived != sent[record.name]:
            yield f"items of {record.name}: {record.arrived} arrived, {sent[record.name]} were sent"
        if not record.completed >= record.relaxed >= record.near_real_time >= record.real_time:
            yield f"items of {record.name}: levels must be nested"


Level = Literal["real_time", "near_real_time", "relaxed"]


MAX_EVENTS = 10_000_000
"""Most rounds, emissions and stalls of a run, and most items of a round."""

MAX_SAMPLES = 100_000
"""Most samples of the queues in a round, which are taken of every operator and one by one."""


MAX_VARIATION = 10.0
"""Largest standard deviation of a logarithm: noise beyond it is no noise any more, and overflows."""


class EnactmentScenarioSolution(Solution):
    """A run under a policy, and its evaluation."""

    metric_units: ClassVar[Mapping[str, str]] = {
        "paid_units": "BTU",
        "resource_cost": "money",
        "real_time_total": "money",
        "near_real_time_total": "money",
        "relaxed_total": "money",
        "time_to_adapt": "s",
    }

    kind: Literal["enactment-scenario-solution"] = Field("enactment-scenario-solution", description="says what the document is")
    objective: float | None = Field(
        description="resource cost and penalties of the level that counts, as re-evaluated", **unit("money")
    )
    run: EnactmentRun | None = Field(description="leases, instances, items")

    @property
    def decision(self) -> EnactmentRun | None:
        """The run."""
        return self.run


class EnactmentScenario(Problem):
    """An application, a load over time, and the service times, start-up times and stalls under which a policy is simulated.

    One queue per operator, first in, first out; every running instance takes one item at a time. An item is processed
    for X = processing duration × noise of mean 1, occupies its instance for occupancy × X, and then goes on to the next
    operators; its recorded duration is the time it waited and X.

    Examples
    --------
    >>> scenario = EnactmentScenario(
    ...     application={"operators": [{"name": "f", "processing_duration": 0.5, "external_rate": 2.0, "resources": {"cpu": 1}}]},
    ...     host_types=[{"name": "small", "resources": {"cpu": 4}, "price": 1.0, "billing_time": 600.0}],
    ...     load=[1, 2, 1], load_step=120.0,
    ... )
    >>> scenario.duration
    360.0
    """

    objective_terms: ClassVar[tuple[str, ...]] = ("resource_cost", "penalties")
    decision_type: ClassVar[Any] = EnactmentRun

    kind: Literal["enactment-scenario"] = Field("enactment-scenario", description="says what the document is")
    application: ContainerApplication = Field(description="application; external rates are those of load 1")
    host_types: Annotated[tuple[HostType, ...], Field(min_length=1)] = Field(description="types of hosts that can be leased")
    load: Annotated[tuple[NonNegative, ...], Field(min_length=1)] = Field(
        description="load in each step, as a multiple of the external rates", **unit("1")
    )
    load_step: Positive = Field(description="length of a step", **unit("s"))
    emission_interval: Positive = Field(0.48, description="time between emissions of the sources", **unit("s"))
    bursts: Annotated[int, Field(ge=1, le=1000)] = Field(
        4, description="bursts, evenly spaced, in which the items of one emission arrive", **unit("1")
    )
    arrivals: Literal["regular", "poisson"] = Field(
        "regular", description="emissions at regular times, or single items at the times of a Poisson process"
    )
    service: Literal["lognormal", "exponential", "constant"] = Field("lognormal", description="noise of processing durations")
    variation: Annotated[float, Field(ge=0, le=MAX_VARIATION)] = Field(
        0.41, description="standard deviation of the logarithm of log-normal noise", **unit("1")
    )
    monitoring_interval: Positive = Field(15.0, description="time between samples of the queues", **unit("s"))
    provisioning_interval: Positive = Field(60.0, description="time between observations of the policy", **unit("s"))
    instance_start_up: tuple[NonNegative, NonNegative] = Field(
        (5.0, 10.0), description="least and most time that an instance takes to start", **unit("s")
    )
    image_bandwidth: Positive = Field(
        10e6, description="at which a container image comes to a host that does not have it", **unit("bytes/s")
    )
    initial_instances: Annotated[int, Field(ge=1, le=10_000)] = Field(
        2, description="instances of each operator at the start", **unit("1")
    )
    penalty: NonNegative = Field(1e-4, description="for each late item, at each operator", **unit("money"))
    compliance_levels: tuple[Positive, Positive, Positive] = Field(
        (1.0, 2.0, 5.0),
        description="real-time, near-real-time, relaxed: multiples of the processing duration that count as in time",
        **unit("1"),
    )
    objective_level: Level = Field("near_real_time", description="level whose late items are part of the objective")
    stall_interval: NonNegative = Field(
        0.0, description="mean time between stalls of one operator or another; 0 for none", **unit("s")
    )
    stall_duration: NonNegative = Field(0.0, description="time for which a stalled operator begins no item", **unit("s"))

    @checks()
    def _check(self, faults: Faults) -> None:
        check_hosting(self.application, self.host_types, faults)
        check_counts(self.application, max(self.load), 1.0, faults)
        rounds = self.provisioning_interval / self.monitoring_interval
        if round(rounds) < 1 or abs(rounds - round(rounds)) > SAME_VALUE * rounds:
            why = f"must be a whole part of provisioning_interval, which is {self.provisioning_interval:g} s"
            faults.add(("monitoring_interval",), self.monitoring_interval, why)
        if self.instance_start_up[0] > self.instance_start_up[1]:
            faults.add(("instance_start_up",), list(self.instance_start_up), "must be the least time, then the most")
        if list(self.compliance_levels) != sorted(self.compliance_levels):
            faults.add(("compliance_levels",), list(self.compliance_levels), "must rise")
        if self.stall_interval and self.stall_duration >= self.stall_interval:
            faults.add(
                ("stall_duration",), self.stall_duration, f"must be below stall_interval, which is {self.stall_interval:g} s"
            )
        for index, operator in enumerate(self.application.operators):
            if operator.max_instances is not None and operator.max_instances < self.initial_instances:
                why = f"is below initial_instances, which is {self.initial_instances}"
                faults.add(("application", "operators", index, "max_instances"), operator.max_instances, why)
        self._check_events(faults)

    def _warnings(self) -> Iterator[Fault]:
        yield from unreached_operators(self.application)
        if not any(self.load):
            yield Fault("load", "", "is 0 in every step")

    def _check_events(self, faults: Faults) -> None:
        """Note intervals and loads by which a run would have more events than can be simulated."""
        interval = min(self.provisioning_interval, self.duration)
        rate = max(self.load) * sum(self.application.load(operator.name) for operator in self.application.operators)
        regular = self.arrivals == "regular"  # an emission brings the items of its interval
        items = rate * (max(interval, self.emission_interval) if regular else interval)
        emissions = self.duration / self.emission_interval if regular else 0.0
        samples = interval / self.monitoring_interval
        rounds = self.duration / interval
        counted: list[tuple[str, object, float, str, int]] = [
            ("provisioning_interval", self.provisioning_interval, rounds, "rounds of the policy in the run", MAX_EVENTS),
            ("monitoring_interval", self.monitoring_interval, samples, "samples in a round", MAX_SAMPLES),
            ("emission_interval", self.emission_interval, emissions, "emissions in the run", MAX_EVENTS),
            ("load", max(self.load), items, f"items in a round of {interval:g} s", MAX_EVENTS),
        ]
        if self.stall_interval:
            stalls = self.duration / self.stall_interval
            counted.append(("stall_interval", self.stall_interval, stalls, "stalls in the run", MAX_EVENTS))
        for place, value, count, what, most in counted:
            if count > most:
                faults.add((place,), value, f"makes {count:.3g} {what}; at most {most:,} are simulated")

    @property
    def duration(self) -> float:
        """Seconds that the run lasts."""
        return len(self.load) * self.load_step

    @property
    def types(self) -> dict[str, HostType]:
        """Host types by name."""
        return {host_type.name: host_type for host_type in self.host_types}

    def evaluate(self, decision: EnactmentRun | Mapping[str, Any]) -> Evaluation:
        """Evaluate a run from the records of its leases, instances and items alone, and check that they are possible.

        Returns
        -------
        Evaluation
            Metrics (cost-efficient enactment, section "Metrics"): `paid_units`, `resource_cost` (money), for each level
            the share of items in time `<level>_compliance` and the cost with penalties `<level>_total` (money),
            `upscalings`, `downscalings`, `migrations`, `mean_hosts`, `mean_instances`, `time_to_adapt` (s).
        """
        decision = read_as(EnactmentRun, decision, "decision")
        types, end = self.types, self.duration
        metrics = run_metrics(decision, types, end, self.penalty)
        objective = metrics[f"{self.objective_level}_total"]
        return Evaluation(objective, metrics, tuple(run_faults(decision, self.application, types, end)))

    def bill(self, run: EnactmentRun | Mapping[str, Any]) -> EnactmentRun:
        """Bill a run by the host types of this scenario; only the units paid change.

        Useful for policies that do not look at the billing time unit (BTU), such as the threshold policy: they do the same
        under every unit, so that one run gives the costs of all.

        Parameters
        ----------
        run
            A run of a scenario that differs from this one in prices and units at most.

        Raises
        ------
        KeyError
            When a host was leased of a type that this scenario does not have.
        """
        run = read_as(EnactmentRun, run, "run")
        types, end = self.types, self.duration
        return run.replace(leases=tuple(lease.replace(units=billed_units(lease, types, end)) for lease in run.leases))

    def solution(self, decision: EnactmentRun | None, fields: dict[str, Any]) -> EnactmentScenarioSolution:
        """The run."""
        return EnactmentScenarioSolution.model_construct(**fields, run=decision)
