"""A day of taxi trips on clusters side by side, each controlled by another policy."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from edrp.engines.errors import EngineError
from edrp.engines.flink.local import LocalFlink
from edrp.engines.flink.local.configuration import LocalNode
from edrp.engines.flink.local.jobs import now_ms
from edrp.validation.flink.control_measures import LATE, ReplicaSample, control_measures
from edrp.validation.flink.control_policies import ControlledJob, WatchAims, peak_replicas
from edrp.validation.flink.control_watch import POLICIES
from edrp.validation.flink.days import LoadDay, taxi_day
from edrp.validation.flink.lab.job import LabRun, LabSettings

SERVICE = {"parser": 0.010, "counter": 0.020}
"""Mean seconds of service, exponentially distributed."""

PEAK_RATE = 180.0
"""Tuples/s of the busiest ten minutes."""

DAY_SECONDS = 1200.0
"""Into which the day is compressed."""

NODES, SLOTS = ("tm-a", "tm-b"), 4
"""TaskManagers, and the slots of each."""

DEFAULT_POLICIES = ("static peak", "autoscaler", "watch")
"""Policies that run side by side where none are chosen."""

MAX_DELAY = {"jobmanager.adaptive-scheduler.rescale-trigger.max-delay": "15 s"}
"""Three intervals of checkpoints, Flink's own rule: a rescale waits for a checkpoint, so that nothing is replayed."""

KEY_GROUPS = 120
"""Key groups of every operator; a number with many divisors, as the autoscaler's documentation recommends."""


@dataclass(frozen=True, slots=True)
class JobKind:
    """A job of the lab that is controlled.

    Attributes
    ----------
    aims : what `watch` is told about the job.
    state_bytes : of each of the counter's keys.
    store_rate : bytes/s of the store that the state comes back from after a restart; 0 for as fast as Flink reads it.
    heap : mebibytes of a TaskManager's tasks.
    warm_up : seconds before the day begins.
    first_rate : tuples/s in this time at least, so that every key has come.
    """

    aims: WatchAims
    state_bytes: int = 1000
    store_rate: float = 0.0
    heap: int = 96
    warm_up: float = 15.0
    first_rate: float = 0.0


JOBS = {
    "chain": JobKind(WatchAims(busy_limit=0.87, late_price=0.15, silence=0.2)),
    "large-state": JobKind(WatchAims(busy_limit=0.93, late_price=0.8, silence=4.1), 450_000, 125e6, 1000, 25.0, 45.0),
}
"""Jobs by the name that rows give them: the same chain, without much state and with 450 MB, which come back at 1 Gbit/s."""

MAX_SILENCE = 60.0
"""Seconds without an answer of a cluster after which a day is given up."""

SECONDS_TO_DRAIN, SECONDS_BETWEEN_LOOKS = 20.0, 1.0


@dataclass(frozen=True, slots=True)
class ControlSettings:
    """Settings of the days.

    Attributes
    ----------
    seconds, peak : length of the day, and tuples/s of its busiest ten minutes.
    data : folder of the taxi stream.
    policies : names of those that run side by side.
    job : name of the job.
    """

    seconds: float = DAY_SECONDS
    peak: float = PEAK_RATE
    data: Path | None = None
    policies: Sequence[str] = field(default_factory=lambda: list(DEFAULT_POLICIES))
    job: str = "chain"


def control_days(
    seeds: Sequence[int], settings: ControlSettings, tell: Callable[[str], object] = str
) -> Iterator[list[dict[str, Any]]]:
    """Run a day for each seed, on one cluster for each policy at the same time; a row for each policy."""
    if not seeds:
        return
    with ExitStack() as stack, ThreadPoolExecutor(len(settings.policies)) as pool:
        tell(f"starting {len(settings.policies)} clusters")
        nodes = control_nodes(JOBS[settings.job])
        clusters = list(pool.map(lambda _: stack.enter_context(LocalFlink(nodes, settings=MAX_DELAY)), settings.policies))
        for number, seed in enumerate(seeds):
            turn = number % len(clusters)
            yield _day_rows(seed, clusters[turn:] + clusters[:turn], settings, pool, tell)


def short_rows(seconds: float, data: Path | None, tell: Callable[[str], object]) -> Iterator[dict[str, Any]]:
    """Rows of one day of so many seconds under every policy.

    Raises
    ------
    EngineError
        There is no Java or no Flink, or a cluster does not start.
    InvalidInstanceError
        There is no taxi stream in the folder.
    """
    for rows in control_days([1], ControlSettings(seconds=seconds, data=data), tell):
        yield from rows


def _day_rows(
    seed: int,
    clusters: Sequence[LocalFlink],
    settings: ControlSettings,
    pool: ThreadPoolExecutor,
    tell: Callable[[str], object],
) -> list[dict[str, Any]]:
    """Run one day, and return a row for each policy."""
    day = taxi_day(seed, settings.seconds, settings.peak, settings.data)
    kind = JOBS[settings.job]
    runs = list(pool.map(lambda flink, name: LabRun(flink, lab_settings(kind, name, day)), clusters, settings.policies))
    begin = now_ms() + round(1000 * kind.warm_up)
    over = threading.Event()
    jobs = [
        ControlledJob(flink, run, day, begin, over, SLOTS * len(NODES), kind.aims)
        for flink, run in zip(clusters, runs, strict=True)
    ]
    for run in runs:
        run.set_rates(day.schedule(begin))
    time.sleep(max(0.0, (begin - now_ms()) / 1000))
    tell(f"seed {seed}: {day.origin}, {day.seconds:g} s")
    loads = [os.getloadavg()[0]]
    work = [pool.submit(_control, job, name) for job, name in zip(jobs, settings.policies, strict=True)]
    while not over.wait(SECONDS_BETWEEN_LOOKS):
        loads.append(os.getloadavg()[0])
        if jobs[0].seconds() >= day.seconds or any(future.done() for future in work):
            over.set()
    samples = [future.result() for future in work]
    list(pool.map(_drain, jobs))
    rows = [
        {
            "experiment": "control",
            "job": settings.job,
            "seed": seed,
            "policy": name,
            "day": day.origin,
            "seconds": day.seconds,
            "peak": settings.peak,
            "bound": LATE,
            "load": {"min": min(loads), "mean": sum(loads) / len(loads), "max": max(loads)},
            **control_measures(job.run.buckets(job.begin), sampled, day),
            "notes": job.notes,
        }
        for name, job, sampled in zip(settings.policies, jobs, samples, strict=True)
    ]
    list(pool.map(lambda run: run.job.cancel(), runs))
    return rows


def control_nodes(kind: JobKind) -> dict[str, LocalNode]:
    """TaskManagers of a cluster on which the job is controlled."""
    return dict.fromkeys(NODES, LocalNode(SLOTS, heap=kind.heap))


def lab_settings(kind: JobKind, policy: str, day: LoadDay) -> LabSettings:
    """The job at the start: replicas for the peak where they stay, for the first rate where they change."""
    return LabSettings(
        rate=max(day.rates[0], kind.first_rate),
        replicas=peak_replicas(max(day.rates) if policy == "static peak" else day.rates[0], SERVICE),
        service=SERVICE,
        exponential=True,
        max_parallelism=KEY_GROUPS,
        state_bytes=kind.state_bytes,
        store_rate=kind.store_rate,
    )


def _control(job: ControlledJob, policy: str) -> list[ReplicaSample]:
    """Let a policy control the job until the day is over, and note how many replicas it has meanwhile.

    Raises
    ------
    EngineError
        The cluster no longer answers.
    """
    acting = threading.Thread(target=POLICIES[policy], args=(job,))
    acting.start()
    samples = [ReplicaSample(0.0, _replicas(job))]
    answered = job.seconds()
    while not job.over.wait(SECONDS_BETWEEN_LOOKS):
        try:
            sample = ReplicaSample(job.seconds(), _replicas(job))
        except (EngineError, OSError) as error:
            if job.seconds() - answered > MAX_SILENCE:
                raise EngineError(job.flink.address, f"no longer answers, under the policy {policy}: {error}") from error
            continue
        answered = sample.at
        if sample.replicas != samples[-1].replicas:
            samples.append(sample)
    acting.join()
    return samples


def _replicas(job: ControlledJob) -> dict[str, int]:
    vertices = job.flink.rest.get(f"/jobs/{job.run.job.key}")["vertices"]
    return {vertex["name"]: vertex["parallelism"] for vertex in vertices if vertex["name"] in SERVICE}


def _drain(job: ControlledJob) -> None:
    """Wait until what was due has arrived."""
    end = time.monotonic() + SECONDS_TO_DRAIN
    while time.monotonic() < end and job.backlog() > 1.0:
        time.sleep(SECONDS_BETWEEN_LOOKS)
