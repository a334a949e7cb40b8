"""The rule of the autoscaler of the Flink Kubernetes operator, with its default settings, by version of the operator."""

from __future__ import annotations

import math

from edrp.core.tolerances import WHOLE_NUMBER_SLACK
from edrp.engines.fit import JobFit, OperatorFit
from edrp.engines.goals import NEWEST_AUTOSCALER, AutoscalerVersion
from edrp.engines.observation import OperatorObservation

TARGET = 0.7
"""`job.autoscaler.utilization.target`."""

BOUNDARY = 0.3
"""Deviation from the target at which nothing is scaled yet."""

MAX_SCALE_DOWN = 0.6
"""`job.autoscaler.scale-down.max-factor`: share of replicas that are taken away at once."""

MAX_REPLICAS = 200
"""`job.autoscaler.vertex.max-parallelism`."""


def autoscaler_replicas(
    fit: JobFit,
    rate_factor: float = 1.0,
    catch_up: float = 0.0,
    restart: float = 0.0,
    version: AutoscalerVersion = NEWEST_AUTOSCALER,
) -> dict[str, int]:
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
    version
        Version of the operator, on which the alignment to key groups depends.
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
        needed = _replicas(fitted, observed, fitted.busy * (rate_factor * (1 / TARGET + restart) + catch_up), fit, version)
        if needed != fitted.replicas:
            changes[fitted.name] = needed
            too_few = fitted.busy * (rate_factor / (TARGET + BOUNDARY) + catch_up) > 1.0
            leaves |= too_few or fitted.busy * (rate_factor * (1 / (TARGET - BOUNDARY) + restart) + catch_up) < 1.0
    return replicas | changes if leaves else replicas


def _replicas(fitted: OperatorFit, observed: OperatorObservation, factor: float, fit: JobFit, version: AutoscalerVersion) -> int:
    """Replicas with `factor` times the capacity of those that run."""
    current, groups = fitted.replicas, observed.max_parallelism
    replicas = math.ceil(current * factor - WHOLE_NUMBER_SLACK)
    replicas = max(1, replicas, math.ceil(current * (1 - MAX_SCALE_DOWN) - WHOLE_NUMBER_SLACK))
    replicas = min(replicas, groups, max(current, MAX_REPLICAS))
    keyed = any(stream.target == fitted.name and stream.partitioning == "hash" for stream in fit.observation.streams)
    return aligned_replicas(replicas, current, groups, version) if keyed else replicas


def aligned_replicas(target: int, current: int, groups: int, version: AutoscalerVersion = NEWEST_AUTOSCALER) -> int:
    """Number of replicas that the autoscaler makes of its target, by the number of key groups.

    From 1.16 on (`BALANCED`) it is the first number from the target on that divides the key groups or gives a replica fewer whole
    groups, else the target; before, the first divisor, until 1.10 up to half the key groups where the target is not above that
    (1.9: always), from 1.15 on up to the present number if there are to be fewer. Where there is none, 1.9 takes the target, and
    1.10 to 1.15 the fewest with which no replica holds more whole groups; 1.15 then stays where that would change the direction
    (`JobVertexScaler.scale`, `ParallelismAligner` and `BuiltInAlignmentMode` of the operator).

    >>> aligned_replicas(20, 19, 128), aligned_replicas(20, 19, 128, "1.15")
    (22, 32)
    """
    minor = int(version.partition(".")[2])
    if minor >= 15 and target == current:
        return target
    half = minor <= 9 or (minor == 10 and target <= groups // 2)
    last = min(groups // 2 if half else groups, current if minor >= 15 and target < current else max(current, MAX_REPLICAS))
    whole = groups // target
    for replicas in range(target, last + 1):
        if groups % replicas == 0 or (minor >= 16 and groups // replicas < whole):
            return replicas
    if minor <= 9 or minor >= 16:
        return target
    loaded = next((replicas for replicas in range(target - 1, 0, -1) if groups // replicas > whole), 0)
    fewest = loaded if loaded and groups % loaded == 0 else loaded + 1
    return current if minor >= 15 and (fewest > current) != (target > current) else fewest
