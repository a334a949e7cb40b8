"""Metrics with two faces: `evaluate` a deployment in plain code, `linearise` the same quantity in a program."""

from collections.abc import Iterable

from edrp.placement.metrics.availability import Availability
from edrp.placement.metrics.base import EdrpMetric, Expressions, Metric
from edrp.placement.metrics.cost import Cost, NetworkUsage
from edrp.placement.metrics.downtime import Downtime
from edrp.placement.metrics.moves import MovedState, Moves
from edrp.placement.metrics.own import OwnMetric
from edrp.placement.metrics.path_latency import PathLatency
from edrp.placement.metrics.peak_load import PeakLoad
from edrp.placement.metrics.response_time import ResponseTime
from edrp.placement.metrics.separation import Colocation, Events, Supervisors

NORMALISED: dict[str, EdrpMetric] = {
    metric.name: metric for metric in (ResponseTime(), Cost(), Downtime(), NetworkUsage(), Availability())
}
"""Metrics of problems of kind `edrp` that searches have kernels for; they need a limit to have a weight (EDRP, eq. 12)."""

EDRP_METRICS: dict[str, EdrpMetric | OwnMetric] = {
    **NORMALISED,
    "moves": OwnMetric(Moves()),
    "moved_state": OwnMetric(MovedState()),
}
"""Metrics of problems of kind `edrp` by the name under which weights and limits refer to them; those without kernels are
classes as users write them, each entered as `OwnMetric`, and become rows."""


def contention_metrics(resources: Iterable[str]) -> dict[str, EdrpMetric]:
    """Metrics of problems of kind `edrp` whose operators or streams use these shared resources, by name; none without."""
    peaks = [PeakLoad(resource) for resource in resources]
    return {metric.name: metric for metric in ((PeakLoad(), *peaks) if peaks else ())}


def package_metrics(resources: Iterable[str]) -> dict[str, EdrpMetric]:
    """Metrics with arrays of their own in problems of kind `edrp` with these shared resources, by name."""
    return {**NORMALISED, **contention_metrics(resources)}


LATENCY_AWARE_METRICS: dict[str, Metric] = {
    metric.name: metric for metric in (PathLatency(), Supervisors(), Colocation(), Events())
}
"""Metrics of problems of kind `latency-aware`, the terms of its objective (latency-aware placement, eq. 1)."""

__all__ = [
    "EDRP_METRICS",
    "LATENCY_AWARE_METRICS",
    "NORMALISED",
    "Availability",
    "Colocation",
    "Cost",
    "Downtime",
    "Events",
    "Expressions",
    "Metric",
    "MovedState",
    "Moves",
    "NetworkUsage",
    "PathLatency",
    "PeakLoad",
    "ResponseTime",
    "Supervisors",
    "contention_metrics",
    "package_metrics",
]
