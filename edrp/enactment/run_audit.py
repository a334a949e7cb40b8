"""Whether a run can have happened, from its records alone: leases, room on hosts, instances, items that appear or vanish."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from edrp.enactment.containers import ContainerApplication, HostType, overfull
from edrp.enactment.run_metrics import billed_units, emitted, end_time
from edrp.enactment.run_records import EnactmentRun, InstanceRecord, LeaseRecord


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
    held: dict[str, Counter[str]] = {name: Counter() for name in leases}
    total: Counter[str] = Counter()
    for time, changes in _changes(run, duration):
        for instance, change in changes:
            held[instance.host][instance.operator] += change
            total[instance.operator] += change
        for host in dict.fromkeys(instance.host for instance, _ in changes):
            for why in overfull(dict(held[host]), types[leases[host].type], application):
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
    most = now = 0
    for _, change in sorted(times):
        now += change
        most = max(most, now)
    return most


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
