"""The accounts of a run, from its records alone: money, compliance, and whether such a run can have been."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator

from edrp.enactment.containers import ContainerApplication, HostType, overfull
from edrp.enactment.run import EnactmentRun, InstanceRecord, LeaseRecord

LEVELS = ("real_time", "near_real_time", "relaxed")
"""Compliance levels, the strictest first (cost-efficient enactment, section "Metrics")."""

ROUNDING = 1e-9
"""Share of a unit by which the end of a lease may pass it and not begin another: rounding of times."""


def units_paid(start: float, end: float, billing_time: float) -> int:
    """Billing time units (BTU) paid for a host leased from `start` to `end` (s): every started one, at least one.

    >>> units_paid(0.0, 600.0, 600.0), units_paid(0.0, 601.0, 600.0)
    (1, 2)
    """
    return max(1, math.ceil((end - start) / billing_time - ROUNDING))


def accounts(run: EnactmentRun, types: dict[str, HostType], duration: float, penalty: float) -> dict[str, float]:
    """The metrics of a run that lasted `duration` seconds (cost-efficient enactment, section "Metrics")."""
    units = [_units(lease, types, duration) for lease in run.leases]
    cost = math.fsum(count * types[lease.type].price for count, lease in zip(units, run.leases, strict=True))
    completed = sum(each.completed for each in run.operators)
    metrics = {"paid_units": float(sum(units)), "resource_cost": cost}
    for level in LEVELS:
        in_time = sum(getattr(each, level) for each in run.operators)
        metrics[f"{level}_compliance"] = in_time / completed if completed else 1.0
        metrics[f"{level}_total"] = cost + penalty * (completed - in_time)
    waits = [each.time_to_adapt for each in run.operators if each.time_to_adapt is not None]
    causes = Counter(each.cause for each in run.instances)
    metrics |= {
        "upscalings": float(causes["placed"]),
        "downscalings": float(sum(each.ended_by == "removed" for each in run.instances)),
        "migrations": float(causes["migrated"]),
        "mean_hosts": _mean((lease.start, _end(lease.end, duration)) for lease in run.leases) / duration,
        "mean_instances": _mean((each.placed, _end(each.ended, duration)) for each in run.instances) / duration,
        "time_to_adapt": math.fsum(waits) / len(waits) if waits else 0.0,
    }
    return metrics


def run_faults(
    run: EnactmentRun, application: ContainerApplication, types: dict[str, HostType], duration: float
) -> Iterator[str]:
    """What cannot have been, in words: leases, rooms, counts of instances, items that appear or vanish."""
    leases = {lease.host: lease for lease in run.leases}
    strangers = {each.host for each in run.instances} - set(leases)
    if strangers:
        yield f"hosts {', '.join(sorted(strangers))}: carried instances and were never leased"
        return
    for lease in run.leases:
        paid = _units(lease, types, duration)
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
    for each in run.instances:
        lease = leases[each.host]
        if each.placed < lease.start or _end(each.ended, duration) > _end(lease.end, duration):
            yield f"{each.operator} on {each.host}: ran outside of the lease"
        if each.started is not None and each.started < lease.ready:
            yield f"{each.operator} on {each.host}: started before the host was ready"
    held: dict[str, Counter[str]] = {name: Counter() for name in leases}
    total: Counter[str] = Counter()
    for time, changes in _changes(run, duration):
        for each, change in changes:
            held[each.host][each.operator] += change
            total[each.operator] += change
        for host in dict.fromkeys(each.host for each, _ in changes):
            for why in overfull(dict(held[host]), types[leases[host].type], application):
                yield f"host {host} at {time:g} s: {why}"
        for operator in application.by_name:
            if total[operator] < 1 and time < duration:
                yield f"{operator} at {time:g} s: no instance is left"
    for leased_type, described in types.items():
        if described.limit is not None and _most_at_a_time(run, leased_type, duration) > described.limit:
            yield f"limit of {leased_type}: more than {described.limit} hosts at a time"


def _changes(run: EnactmentRun, duration: float) -> Iterator[tuple[float, list[tuple[InstanceRecord, int]]]]:
    """Instances that come and go, by time; what happens at one time happens at once."""
    at: dict[float, list[tuple[InstanceRecord, int]]] = {}
    for each in run.instances:
        at.setdefault(each.placed, []).append((each, 1))
        if each.ended is not None and each.ended <= duration:
            at.setdefault(each.ended, []).append((each, -1))
    yield from sorted(at.items())


def _most_at_a_time(run: EnactmentRun, host_type: str, duration: float) -> int:
    times = [(lease.start, 1) for lease in run.leases if lease.type == host_type]
    times += [(_end(lease.end, duration), -1) for lease in run.leases if lease.type == host_type]
    most = now = 0
    for _, change in sorted(times):
        now += change
        most = max(most, now)
    return most


def _item_faults(run: EnactmentRun, application: ContainerApplication) -> Iterator[str]:
    """Every item that arrived is completed, in service or queued, and comes from outside or from an operator before."""
    sent = dict.fromkeys(application.by_name, 0)
    fed = {stream.target for stream in application.streams}
    records = {each.name: each for each in run.operators}
    for stream in application.streams:
        sent[stream.target] += emitted(records[stream.source].completed, application.by_name[stream.source].selectivity)
    for each in run.operators:
        if each.arrived != each.completed + each.in_service + each.queued:
            parts = f"{each.completed} completed, {each.in_service} in service, {each.queued} queued"
            yield f"items of {each.name}: {each.arrived} arrived against {parts}"
        if each.name in fed and not application.by_name[each.name].external_rate and each.arrived != sent[each.name]:
            yield f"items of {each.name}: {each.arrived} arrived, {sent[each.name]} were sent"
        if not each.completed >= each.relaxed >= each.near_real_time >= each.real_time:
            yield f"items of {each.name}: levels must be nested"


def emitted(departures: int, selectivity: float) -> int:
    """Items that so many departures have sent on each outgoing stream.

    >>> emitted(149, 0.02), emitted(150, 0.02), emitted(3, 1 / 3)
    (2, 3, 1)
    """
    return math.floor(departures * selectivity + ROUNDING)


def _units(lease: LeaseRecord, types: dict[str, HostType], duration: float) -> int:
    return units_paid(lease.start, _end(lease.end, duration), types[lease.type].billing_time)


def _end(time: float | None, duration: float) -> float:
    return duration if time is None else time


def _mean(spans: Iterator[tuple[float, float]]) -> float:
    return math.fsum(end - start for start, end in spans)
