"""Downtime of a job that goes over to a plan, in parts, and the time that it then takes to catch up."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from edrp.engines.estimates import Estimate
from edrp.engines.fit import JobFit
from edrp.engines.goals import Goals
from edrp.engines.model import busy_share
from edrp.placement.deployment import Deployment

NOTHING = Estimate(0.0, 0.0, 0.0)

SLOW_STORE = 100e6
"""Bytes/s that a replica reads of a store that is slow. Initialising takes a time of its own, too, for which little state cannot
be the reason: with 10, 100 and 400 MB on a local disk a job stood still for 0.8, 0.8 and 1.0 s."""


SLOT_SECONDS = 0.3
"""Seconds from a request for other numbers of replicas until their slots are there, from when on a checkpoint counts for it."""


@dataclass(frozen=True, slots=True)
class DowntimeParts:
    """Seconds of a change.

    Attributes
    ----------
    checkpoint_wait : until a checkpoint is there to start from, which is triggered after the request. The job goes on
        meanwhile, unless it is stopped with a savepoint, which counts as downtime.
    restart : stopping all replicas and deploying them.
    restore : restoring the state of the slowest replica.
    replay : of input that is processed a second time.
    catch_up : until what has piled up is processed; infinite where the plan has nothing to spare.
    live : whether the job goes on while it waits for a checkpoint.
    """

    checkpoint_wait: Estimate
    restart: Estimate
    restore: Estimate
    replay: Estimate
    catch_up: Estimate
    live: bool

    @property
    def silence(self) -> Estimate:
        """Seconds without processing."""
        parts = [self.restart, self.restore, *([] if self.live else [self.checkpoint_wait])]
        return Estimate(sum(p.value for p in parts), sum(p.low for p in parts), sum(p.high for p in parts))


def predict_downtime(fit: JobFit, plan: Deployment, goals: Goals) -> DowntimeParts:
    """Predict the parts of a change from what runs to a plan."""
    observation = fit.observation
    duration = fit.checkpoint or NOTHING
    restore = _restore(fit, plan)
    if not observation.live:
        parts = DowntimeParts(duration, fit.restart, restore, NOTHING, NOTHING, live=False)
    else:
        waits = [SLOT_SECONDS + seconds for seconds in (duration.value, duration.low, duration.high)]
        delay = math.inf if observation.max_delay is None else observation.max_delay
        interval = observation.checkpoints.interval or 0.0
        # Processed twice is the input during the checkpoint or, where that comes too late, all since the last one.
        replay = Estimate(*(wait - SLOT_SECONDS if wait <= delay else delay + interval for wait in waits))
        wait = Estimate(*(min(wait, delay) for wait in waits))
        parts = DowntimeParts(wait, fit.restart, restore, replay, NOTHING, live=True)
    return replace(parts, catch_up=_catch_up(fit, plan, goals, parts))


def _restore(fit: JobFit, plan: Deployment) -> Estimate:
    """Time to restore: the part of it that reading state may have taken changes with the state of the fullest replica."""
    state_size_now = max((max(operator.state_sizes, default=0) for operator in fit.operators), default=0)
    if not state_size_now or not fit.restore.value:
        return fit.restore
    then = max(operator.state_size / plan.degree(operator.name) for operator in fit.operators)
    read = min(1.0, state_size_now / SLOW_STORE / fit.restore.value)
    return fit.restore.scaled(1.0 + read * (then / state_size_now - 1.0))


def _catch_up(fit: JobFit, plan: Deployment, goals: Goals, parts: DowntimeParts) -> Estimate:
    """Seconds in which the busiest operator works off what has piled up, by what it can spare."""
    busy = [
        busy_share(operator, plan.degree(operator.name), goals.rate_factor, operator.service.value)
        for operator in fit.operators
        if operator.service is not None
    ]
    fullest = max(busy, default=0.0)
    ratio = fullest / (1.0 - fullest) if fullest < 1 else math.inf
    silence, replay = parts.silence, parts.replay
    sums = (silence.value + replay.value, silence.low + replay.low, silence.high + replay.high)
    return Estimate(*(seconds * ratio if seconds else 0.0 for seconds in sums))
