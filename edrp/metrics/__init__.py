"""Metrics with two faces: `evaluate` a deployment in plain code, `linearise` the same quantity in a program."""

from edrp.metrics.availability import Availability
from edrp.metrics.base import Expressions, Metric
from edrp.metrics.cost import Cost
from edrp.metrics.downtime import Downtime
from edrp.metrics.network_usage import NetworkUsage
from edrp.metrics.response_time import ResponseTime

METRICS: dict[str, Metric] = {
    metric.name: metric for metric in (ResponseTime(), Cost(), Downtime(), NetworkUsage(), Availability())
}
"""Every metric by the name under which weights and limits refer to it."""

__all__ = ["METRICS", "Availability", "Cost", "Downtime", "Expressions", "Metric", "NetworkUsage", "ResponseTime"]
