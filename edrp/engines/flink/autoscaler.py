"""The rule of the autoscaler of the Flink Kubernetes operator, with its default settings: numbers of replicas, one by one."""

from __future__ import annotations

import math

from edrp.core.tolerances import WHOLE_NUMBER_SLACK
from edrp.engines.fit import JobFit, OperatorFit
from edrp.engines.observation import OperatorObservation

TARGET = 0.7
"""`job.autoscaler.utilization.target`."""

BOUNDARY = 0.3
"""Deviation from the target at which nothing is scaled yet."""

MAX_SCALE_DOWN = 0.6
"""`job.autoscaler.scale-down.max-factor`: share of replicas that are taken away at once."""


def autoscaler_replicas(fit: JobFit, rate_factor: float = 1.0) -> dict[str, int]:
    """Number of replicas by the autoscaler's rule, of each operator whose busy time is known; sources stay.

    The busiest replica counts (`metrics.busy-time.aggregator` MAX). Tuples that pile up during the restart are left out.
    """
    return {
        fitted.name: _replicas(fitted, observed, rate_factor, fit)
        for fitted, observed in zip(fit.operators, fit.observation.operators, strict=True)
        if fitted.source or fitted.busy is not None
    }


def _replicas(fitted: OperatorFit, observed: OperatorObservation, factor: float, fit: JobFit) -> int:
    if fitted.source or not fitted.busy:
        return fitted.replicas
    busy = fitted.busy * factor
    if TARGET - BOUNDARY <= busy <= TARGET + BOUNDARY:
        return fitted.replicas
    replicas = math.ceil(fitted.replicas * busy / TARGET - WHOLE_NUMBER_SLACK)
    replicas = max(1, replicas, math.ceil(fitted.replicas * (1 - MAX_SCALE_DOWN) - WHOLE_NUMBER_SLACK))
    replicas = min(replicas, observed.max_parallelism)
    keyed = any(stream.target == fitted.name and stream.partitioning == "hash" for stream in fit.observation.streams)
    return _even(replicas, observed.max_parallelism) if keyed else replicas


def _even(replicas: int, groups: int) -> int:
    """Return the least divisor of the key groups that is at least `replicas`, up to half the key groups; else `replicas`."""
    divisors = (n for n in range(replicas, groups // 2 + 1) if groups % n == 0)
    return next(divisors, replicas)
