"""The rule of the autoscaler of the Flink Kubernetes operator, with its default settings."""

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


def autoscaler_replicas(fit: JobFit, rate_factor: float = 1.0, catch_up: float = 0.0, restart: float = 0.0) -> dict[str, int]:
    """Number of replicas by the autoscaler's rule, of each operator whose busy time is known; sources stay.

    The busiest replica counts (`metrics.busy-time.aggregator` MAX). As soon as one operator that other replicas would help is
    busy outside the band around the target, every operator gets the replicas that it needs for the target
    (`AutoScalerUtils.getTargetProcessingCapacity` and `ScalingExecutor` of the operator).

    Parameters
    ----------
    fit
        What was observed of the job.
    rate_factor
        The rate that is offered, as a multiple of what the job took in.
    catch_up
        The rate at which a backlog is to be worked off, as a multiple of the same.
    restart
        `restart.time` ÷ `catch-up.duration`: share of the rate that is added for what piles up during a restart.
    """
    changes: dict[str, int] = {}
    leaves = False
    replicas = {}
    for fitted, observed in zip(fit.operators, fit.observation.operators, strict=True):
        if not fitted.source and fitted.busy is None:
            continue
        replicas[fitted.name] = fitted.replicas
        if fitted.source or not fitted.busy:
            continue
        needed = _replicas(fitted, observed, fitted.busy * (rate_factor * (1 / TARGET + restart) + catch_up), fit)
        if needed != fitted.replicas:
            changes[fitted.name] = needed
            too_few = fitted.busy * (rate_factor / (TARGET + BOUNDARY) + catch_up) > 1.0
            leaves |= too_few or fitted.busy * (rate_factor * (1 / (TARGET - BOUNDARY) + restart) + catch_up) < 1.0
    return replicas | changes if leaves else replicas


def _replicas(fitted: OperatorFit, observed: OperatorObservation, factor: float, fit: JobFit) -> int:
    """Replicas with so many times the capacity of those that run."""
    replicas = math.ceil(fitted.replicas * factor - WHOLE_NUMBER_SLACK)
    replicas = max(1, replicas, math.ceil(fitted.replicas * (1 - MAX_SCALE_DOWN) - WHOLE_NUMBER_SLACK))
    replicas = min(replicas, observed.max_parallelism)
    keyed = any(stream.target == fitted.name and stream.partitioning == "hash" for stream in fit.observation.streams)
    return _even(replicas, observed.max_parallelism) if keyed else replicas


def _even(replicas: int, groups: int) -> int:
    """Return the least divisor of the key groups that is at least `replicas`, up to half the key groups; else `replicas`."""
    divisors = (n for n in range(replicas, groups // 2 + 1) if groups % n == 0)
    return next(divisors, replicas)
