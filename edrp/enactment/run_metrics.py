"""Metrics of a run, from its records alone: money, compliance, scaling."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable

from edrp.enactment.containers import HostType
from edrp.enactment.run_records import EnactmentRun, LeaseRecord

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
    return math.floor(departures * selectivity + ROUNDING)


def billed_units(lease: LeaseRecord, types: dict[str, HostType], duration: float) -> int:
    """Billing time units (BTU) paid for a lease; one that is open at the end of the run is paid until then."""
    return units_paid(lease.start, end_time(lease.end, duration), types[lease.type].billing_time)


def end_time(time: float | None, duration: float) -> float:
    """When something ended (s): at the end of the run where it did not end before."""
    return duration if time is None else time


def _total_length(spans: Iterable[tuple[float, float]]) -> float:
    return math.fsum(end - start for start, end in spans)
