"""One run of an application under a policy: its records, and from them alone metrics and an audit of what can have happened."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import accumulate
from typing import Annotated, Literal

from pydantic import Field

from edrp.core.document import Name, NonNegative, Outcome, unit
from edrp.core.tolerances import WHOLE_NUMBER_SLACK
from edrp.enactment.containers import ContainerApplication, HostType, overfull

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
