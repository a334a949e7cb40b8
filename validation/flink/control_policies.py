"""Policies that control the replicas of a job over a day: static peak, the autoscaler's rule, `edrp watch flink`."""

from __future__ import annotations

import math
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import mkdtemp

from edrp.core.tolerances import WHOLE_NUMBER_SLACK
from edrp.engines.errors import EngineError
from edrp.engines.fit import JobFit, fit_job
from edrp.engines.flink.autoscaler import autoscaler_replicas
from edrp.engines.flink.capturing import CaptureSettings, capture_job
from edrp.engines.flink.local import LocalFlink
from edrp.engines.flink.local.jobs import now_ms
from edrp.engines.flink.reading import read_observation
from edrp.engines.goals import Goals
from edrp.engines.predictions import throughput
from edrp.replanning.replanner import ReplanningPolicy
from edrp.validation.flink.days import LoadDay
from edrp.validation.flink.lab.job import LabRun

OBSERVATION = 12.5
"""Seconds of an observation of both policies: of a day in 20 minutes 15 minutes, the autoscaler's `metrics.window`."""

ROUND_SECONDS = 5.0
"""Seconds between rounds of counters, as of `edrp watch flink`."""

STABILISATION, CATCH_UP, SCALE_DOWN = 300.0, 1800.0, 3600.0
"""Seconds of the original day: the autoscaler's `stabilization.interval`, `catch-up.duration` and `scale-down.interval`."""

PEAK_LIMIT = 0.8
"""Most that a replica is busy at the static peak."""

BUSY_LIMIT = 0.85
"""Goal of `edrp watch flink`, by a rough calculation beforehand: replica-hours are then a few percent above the autoscaler's."""

HORIZON = 3600.0
"""Seconds of the original day for which a gain is expected to last: the default of replanning."""

IN_FLIGHT = 0.2
"""Seconds that tuples are on their way, a tenth of them until the writer notes them: what is younger is no backlog."""

MAX_DOWNTIME, COOLDOWN = 10.0, 15.0
"""Limits of `edrp watch flink`, in seconds."""

SECONDS_TO_STOP_POLICY = 90.0


@dataclass(frozen=True)
class ControlledJob:
    """A job that is controlled for a day.

    Attributes
    ----------
    flink, run : its cluster, and the job.
    day, begin : the load, and when it begins in milliseconds since 1970.
    over : set when the day is over.
    max_replicas : slots of the cluster.
    notes : what the policy says about its changes.
    """

    flink: LocalFlink
    run: LabRun
    day: LoadDay
    begin: int
    over: threading.Event
    max_replicas: int
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

    def plan(self, fit: JobFit, offered: float) -> dict[str, int]:
        """Replicas of every operator from now on, where so many tuples/s are offered to the sources."""
        newest = autoscaler_replicas(fit, offered / max(1e-9, throughput(fit)))
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
    control = AutoscalerControl(max(1, round(SCALE_DOWN / job.day.speed / OBSERVATION)), job.max_replicas)
    while not job.over.is_set():
        try:
            fit = _observed(job)
            if fit is None:
                return
            running_replicas = {operator.name: operator.replicas for operator in fit.operators}
            plan = control.plan(fit, _offered(job))
            if plan != running_replicas:
                _require(job, plan)
                job.notes.append(f"{job.seconds():.0f} s: {running_replicas} → {plan}")
                job.over.wait(STABILISATION / job.day.speed)
        except EngineError as error:
            job.notes.append(f"{job.seconds():.0f} s: {error}")
            job.over.wait(1.0)


def _observed(job: ControlledJob) -> JobFit | None:
    """The fit to a capture of the usual length; None where the day ended meanwhile."""
    captured = capture_job(job.flink.address, CaptureSettings(seconds=OBSERVATION, every=ROUND_SECONDS), sleep=job.over.wait)
    return None if job.over.is_set() else fit_job(read_observation(captured))


def _offered(job: ControlledJob) -> float:
    """Tuples/s that were due meanwhile, with what has piled up spread over the time to catch up."""
    now = job.seconds()
    rate = job.day.mean_rate(max(0.0, now - OBSERVATION), now)
    return rate + max(0.0, job.backlog() - IN_FLIGHT * rate) / (CATCH_UP / job.day.speed)


def _require(job: ControlledJob, plan: Mapping[str, int]) -> None:
    """Set the upper bounds of the resource requirements, and wait until so many replicas run."""
    root = f"/jobs/{job.run.job.key}"
    keys = {vertex["name"]: vertex["id"] for vertex in job.flink.rest.get(root)["vertices"]}
    requirements = job.flink.rest.get(f"{root}/resource-requirements")
    for name, count in plan.items():
        requirements[keys[name]]["parallelism"] = {"lowerBound": 1, "upperBound": count}
    job.flink.rest.put(f"{root}/resource-requirements", requirements)
    job.run.job.wait_until_running(plan)


def follow_watch(job: ControlledJob) -> None:
    """Run `edrp watch flink --apply rescale` until the day is over."""
    folder = Path(mkdtemp(prefix="watch-", dir=job.flink.folder))
    goals = Goals(busy_limit=BUSY_LIMIT, policy=ReplanningPolicy(downtime_worth=3.0, horizon=HORIZON / job.day.speed))
    (folder / "goals.json").write_text(goals.model_dump_json(), encoding="utf-8")
    command = [sys.executable, "-m", "edrp", "watch", "flink", "--rest", job.flink.address, "--apply", "rescale"]
    command += ["--journal", str(folder / "watch.jsonl"), "--goals", str(folder / "goals.json"), "--every", str(OBSERVATION)]
    command += ["--max-downtime", str(MAX_DOWNTIME), "--cooldown", str(COOLDOWN), "--replicas", f"1:{job.max_replicas}"]
    output = folder / "watch.txt"
    with output.open("ab") as target:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=target, stderr=subprocess.STDOUT)
        try:
            while process.poll() is None and not job.over.wait(1.0):
                pass
            process.send_signal(signal.SIGINT)
            process.wait(SECONDS_TO_STOP_POLICY)
        finally:
            if process.poll() is None:
                process.kill()
                process.wait()
    job.notes.extend(output.read_text(encoding="utf-8", errors="replace").splitlines())


POLICIES: dict[str, Policy] = {"static peak": hold, "autoscaler": follow_autoscaler, "watch": follow_watch}
"""Policies by the name that rows give them."""
