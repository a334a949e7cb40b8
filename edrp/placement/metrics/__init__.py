"""Metrics with two faces: `evaluate` a deployment in plain code, `linearise` the same quantity in a program."""

from edrp.metrics.availability import Availability
from edrp.metrics.base import Expressions, Metric
from edrp.metrics.cost import Cost
from edrp.metrics.downtime import Downtime
from edrp.metrics.network_usage import NetworkUsage
from edrp.metrics.path_latency import PathLatency
from edrp.metrics.response_time import ResponseTime
from edrp.metrics.separation import Colocation, Events
from edrp.metrics.supervisors import Supervisors

METRICS: dict[str, Metric] = {
    metric.name: metric for metric in (ResponseTime(), Cost(), Downtime(), NetworkUsage(), Availability())
}
"""Metrics of problems of kind `edrp` by the name under which weights and limits refer to them."""

SCORE_METRICS: dict[str, Metric] = {metric.name: metric for metric in (PathLatency(), Supervisors(), Colocation(), Events())}
"""Metrics of problems of kind `latency-aware`: the terms of the score (latency-aware placement, eq. 1)."""

__all__ = [
    "METRICS",
    "SCORE_METRICS",
    "Availability",
    "Colocation",
    "Cost",
    "Downtime",
    "Events",
    "Expressions",
    "Metric",
    "NetworkUsage",
    "PathLatency",
    "ResponseTime",
    "Supervisors",
]
