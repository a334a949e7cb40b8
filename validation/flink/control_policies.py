"""Policies that control the replicas of a job over a day: static peak, and the rule of Flink's autoscaler."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from edrp.core.tolerances import WHOLE_NUMBER_SLACK
from edrp.engines.errors import EngineError
from edrp.engines.fit import JobFit, fit_job
from edrp.engines.flink.autoscaler import autoscaler_replicas
from edrp.engines.flink.capturing import CaptureSettings, capture_job
from edrp.engines.flink.local import LocalFlink
from edrp.engines.flink.local.jobs import now_ms
from edrp.engines.flink.reading import read_observation
from edrp.engines.predictions import throughput
from edrp.validation.flink.days import LoadDay
from edrp.validation.flink.lab.job import LabRun

WINDOW, RESTART, STABILISATION, CATCH_UP, SCALE_DOWN = 900.0, 300.0, 300.0, 1800.0, 3600.0
"""Seconds of the original day: the autoscaler's `metrics.window`, `restart.time`, `stabilization.interval`,
`catch-up.duration` and `scale-down.interval`."""

ROUND_SECONDS = 5.0
"""Most seconds between rounds of counters, as of `edrp watch flink`."""

PEAK_LIMIT = 0.8
"""Most that a replica is busy at the static peak."""

IN_FLIGHT = 0.2
"""Seconds that tuples are on their way, a tenth of them until the writer notes them: what is younger is no backlog."""


@dataclass(frozen=True, slots=True)
class WatchAims:
    """Aims of `edrp watch flink` for a job, chosen on days of other seeds.

    Attributes
    ----------
    busy_limit : most that a replica is to be busy.
    late_price : replica-seconds that a late tuple is worth, where it decides for the day.
    silence : seconds for which a change silences the job, as `rescale_silences` measures, until the first of the day.
    """

    busy_limit: float
    late_price: float
    silence: float


@dataclass(frozen=True)
class ControlledJob:
    """A job that is controlled for a day.

    Attributes
    ----------
    flink, run : its cluster, and the job.
    day, begin : the load, and when it begins in milliseconds since 1970.
    over : set when the day is over.
    max_replicas : slots of the cluster.
    aims : what `watch` is told about the job.
    notes : what the policy says about its changes.
    """

    flink: LocalFlink
    run: LabRun
    day: LoadDay
    begin: int
    over: threading.Event
    max_replicas: int
    aims: WatchAims
    notes: list[str] = field(default_factory=list)

    def seconds(self) -> float:
        """Seconds since the day began."""
        return (now_ms() - self.begin) / 1000

    def backlog(self) -> float:
        """Tuples that are due and have not arrived at the writer."""
        return self.day.due(self.seconds()) - sum(bucket.tuples for bucket in self.run.buckets(self.begin))


Policy = Callable[[ControlledJob], None]


def peak_replicas(rate: float, service: Mapping[str, float]) -> dict[str, int]:
    """Fewest replicas that are not busier than the limit at a rate, by the seconds of service that are set."""
    return {name: max(1, math.ceil(rate * seconds / PEAK_LIMIT - WHOLE_NUMBER_SLACK)) for name, seconds in service.items()}


def hold(job: ControlledJob) -> None:
    """The static peak: nothing ever changes."""


class AutoscalerControl:
    """The autoscaler's rule over time: more replicas at once, fewer only when they have been wanted for long enough.

    Parameters
    ----------
    observations
        In a row that have to want fewer replicas; then as many remain as were wanted most among them.
    """

    def __init__(self, observations: int, max_replicas: int) -> None:
        self._observations, self._max_replicas = observations, max_replicas
        self._wanted: list[dict[str, int]] = []

    def plan(self, fit: JobFit, offered: float, catch_up: float = 0.0) -> dict[str, int]:
        """Replicas of every operator from now on, by the tuples/s that are offered and those by which a backlog is worked off."""
        taken_in = max(1e-9, throughput(fit))
        newest = autoscaler_replicas(fit, offered / taken_in, catch_up / taken_in, RESTART / CATCH_UP)
        self._wanted = [*self._wanted, newest][-self._observations :]
        running_replicas = {operator.name: operator.replicas for operator in fit.operators}
        plan = {name: min(self._max_replicas, self._next(name, count)) for name, count in running_replicas.items()}
        if plan != running_replicas:
            self._wanted = []
        return plan

    def _next(self, name: str, now: int) -> int:
        if self._wanted[-1][name] >= now:
            return self._wanted[-1][name]
        return min(now, max(plan[name] for plan in self._wanted)) if len(self._wanted) == self._observations else now


def follow_autoscaler(job: ControlledJob) -> None:
    """Scale by the autoscaler's rule with its default settings, on the compressed clock.

    The rule is told what a source with a log would tell: the rate that is offered, and the backlog to be caught up with. It
    changes the resource requirements, and triggers no checkpoint of its own.
    """
    control = AutoscalerControl(round(SCALE_DOWN / WINDOW), job.max_replicas)
    while not job.over.is_set():
        try:
            fit = _observed(job)
            if fit is None:
                return
            running_replicas = {operator.name: operator.replicas for operator in fit.operators}
            plan = control.plan(fit, *_offered(job))
            if plan != running_replicas:
                _require(job, plan)
                job.notes.append(f"{job.seconds():.0f} s: {running_replicas} → {plan}")
                job.over.wait(STABILISATION / job.day.speed)
        except EngineError as error:
            job.notes.append(f"{job.seconds():.0f} s: {error}")
            job.over.wait(1.0)


def _observed(job: ControlledJob) -> JobFit | None:
    """The fit to a capture of the usual length; None where the day ended meanwhile."""
    window = WINDOW / job.day.speed
    settings = CaptureSettings(seconds=window, every=min(ROUND_SECONDS, window / 3))
    captured = capture_job(job.flink.address, settings, sleep=job.over.wait)
    return None if job.over.is_set() else fit_job(read_observation(captured))


def _offered(job: ControlledJob) -> tuple[float, float]:
    """Tuples/s that were due meanwhile, and those by which what has piled up is caught up with in time."""
    now = job.seconds()
    rate = job.day.mean_rate(max(0.0, now - WINDOW / job.day.speed), now)
    return rate, max(0.0, job.backlog() - IN_FLIGHT * rate) / (CATCH_UP / job.day.speed)


def _require(job: ControlledJob, plan: Mapping[str, int]) -> None:
    """Set the upper bounds of the resource requirements, and wait until so many replicas run."""
    root = f"/jobs/{job.run.job.key}"
    keys = {vertex["name"]: vertex["id"] for vertex in job.flink.rest.get(root)["vertices"]}
    requirements = job.flink.rest.get(f"{root}/resource-requirements")
    for name, count in plan.items():
        requirements[keys[name]]["parallelism"] = {"lowerBound": 1, "upperBound": count}
    job.flink.rest.put(f"{root}/resource-requirements", requirements)
    job.run.job.wait_until_running(plan)
