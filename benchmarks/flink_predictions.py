"""Predictions of reconfigurations against a real cluster: `python benchmarks/flink_predictions.py run ROWS`, then `show ROWS`.

On a LocalFlink the four jobs of the lab (chain, fan-out, join, chain with skewed keys) are rescaled at random, at random loads.
Before each change the job is captured and fitted as by `edrp advise flink`, which predicts from that alone: throughput, how busy
the busiest replica of each operator will be, the mean latency, the silence, and the state that changes its replica. A third of
the plans is drawn among those that may not keep up, the others among those under which no operator has more to do than 90 %,
both by the services that are set, which the prediction does not know. After the change the job is captured again; latency and
silence are measured at its writer, and the state is that of key groups in the metadata of the next checkpoint. What the rule of
DS2 predicts stands beside: it knows rates and the mean share of time busy, and neither intervals nor times. `run` adds rows to
the file, each with the load of the machine; where the job did not keep up, it is first brought to do so again.
"""

from __future__ import annotations

import argparse
import math
import os
import random
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from common import add_row
from flink_measures import ds2_shares, group_states, moved_bytes, predicted_latency, predicted_moved_bytes, show

from edrp.core.errors import InvalidInstanceError
from edrp.engines.downtime import predict_downtime
from edrp.engines.errors import EngineError
from edrp.engines.fit import JobFit, fit_job
from edrp.engines.flink.capturing import CaptureSettings, capture_job
from edrp.engines.flink.local import LocalFlink
from edrp.engines.flink.local.jobs import now_ms
from edrp.engines.flink.reading import read_observation
from edrp.engines.goals import Goals
from edrp.engines.predictions import is_waiting, possible_share, predict, throughput
from edrp.placement.deployment import Deployment
from edrp.validation.flink.lab.job import LabRun, LabSettings

SERVICE = {"parser": 0.006, "counter": 0.010, "enricher": 0.008, "join": 0.010}
JOBS = {
    "chain": LabSettings("chain", exponential=True),
    "fan-out": LabSettings("fan-out", exponential=True),
    "join": LabSettings("join", exponential=True),
    "skewed": LabSettings("chain", exponential=True, keys=200, skew=0.8),
}
RATES = (90.0, 200.0)
MAX_REPLICAS = 4
MAX_BUSY = 0.9
STRESSED = (0.95, 2.0)
"""Range of the load of the busiest operator, as a share of its time, under plans that may not keep up."""

STRESSED_SHARE = 1 / 3
SECONDS, EVERY = 12.0, 4.0
"""Length of a capture, and the time between its rounds."""

SECONDS_TO_SETTLE, SECONDS_TO_FILL = 4.0, 10.0
"""Between a change and the capture after it; the second where buffers fill up before the sources are held back."""

DRAINED, SECONDS_TO_DRAIN = 0.3, 90.0
"""Latency in seconds from which on a job has caught up, and how long that may take."""

CHANGES_PER_RATE = 4
BUFFERS = {
    "taskmanager.network.memory.buffer-debloat.enabled": "true",
    "taskmanager.network.memory.buffer-debloat.target": "200 ms",
}
"""Settings of Flink with which buffers hold what is processed in 0.2 s, so that sources are held back within seconds."""


def served(settings: LabSettings) -> dict[str, float]:
    """Seconds of service of the operators that replicas are drawn for."""
    names = {"chain": ("parser", "counter"), "fan-out": ("parser", "counter", "enricher"), "join": ("join",)}
    return {name: SERVICE[name] for name in names[settings.topology]}


def drawn_replicas(
    settings: LabSettings, rate: float, other_than: dict[str, int], rng: random.Random, *, stressed: bool = False
) -> dict[str, int]:
    """Numbers of replicas, not all as they are: that keep up, or, where there are such, that may not; skewed keys need more."""
    skew = 1.5 if settings.skew else 1.0
    for attempt in range(1000):
        drawn = {name: rng.randint(1, MAX_REPLICAS) for name in served(settings)}
        most = max(rate * time * (skew if drawn[name] > 1 else 1) / drawn[name] for name, time in served(settings).items())
        wanted = STRESSED[0] <= most <= STRESSED[1] if stressed and attempt < 200 else most <= MAX_BUSY
        if wanted and drawn != other_than:
            return drawn
    raise ValueError(f"no numbers of replicas keep up with {rate} tuples/s")


@dataclass
class Measured:
    """Observation of a job: its fit, mean latency in seconds and tuples/s at its writer, and bytes by key group."""

    fit: JobFit
    latency: float
    written: float
    groups: dict[str, tuple[int, ...]]


def measured(flink: LocalFlink, run: LabRun) -> Measured:
    """Capture the job that runs, fit it, and read its newest checkpoint."""
    begin = now_ms()
    fit = fit_job(read_observation(capture_job(flink.address, CaptureSettings(seconds=SECONDS, every=EVERY))))
    buckets = run.buckets(begin)
    tuples = sum(bucket.tuples for bucket in buckets)
    latency = sum(bucket.tuples * bucket.mean for bucket in buckets) / tuples / 1000 if tuples else math.nan
    seconds = (buckets[-1].last - buckets[0].first) / 1000 if tuples else 0.0
    return Measured(fit, latency, tuples / seconds if seconds else 0.0, group_states(flink, run, fit))


def changed(flink: LocalFlink, run: LabRun, before: Measured, replicas: dict[str, int]) -> tuple[Measured, dict[str, Any]]:
    """Predict a change, make it, and return what is then seen with the row."""
    plan = Deployment({op.name: ("node",) * replicas.get(op.name, op.replicas) for op in before.fit.operators})
    parts = predict_downtime(before.fit, plan, Goals())
    prediction = predict(before.fit, plan, {}, parts.silence)
    latency = predicted_latency(before.fit, plan, run.settings.buffer_timeout)
    current = Deployment({op.name: op.nodes for op in before.fit.observation.operators})
    now = predicted_latency(before.fit, current, run.settings.buffer_timeout)
    ds2 = ds2_shares(before.fit, plan)
    ds2_processed = min(1.0, 1.0 / max(ds2.values()))
    begin = now_ms()
    run.job.rescale(replicas)
    keeps_up = prediction.throughput.value >= throughput(before.fit) * 0.999
    time.sleep(SECONDS_TO_SETTLE if keeps_up and max(ds2.values()) < STRESSED[0] else SECONDS_TO_FILL)
    silence = run.silence(begin)
    after = measured(flink, run)
    kept_up = throughput(after.fit) >= 0.97 * throughput(before.fit) and not is_waiting(after.fit)
    found: list[dict[str, Any]] = [
        {
            "quantity": "throughput",
            "name": "throughput",
            **_ends(prediction.throughput),
            "measured": throughput(after.fit),
            "ds2": throughput(before.fit) * ds2_processed,
        }
    ]
    for operator in after.fit.operators:
        if operator.name in replicas and operator.name in prediction.busy and operator.busy is not None:
            ends = _ends(possible_share(prediction.busy[operator.name]))
            busy = {"name": operator.name, **ends, "measured": operator.busy, "ds2": ds2[operator.name] * ds2_processed}
            found.append({"quantity": "busy", **busy})
    if latency is not None and kept_up:
        row = {"name": "latency", **_ends(latency), "measured": after.latency}
        if now is not None:  # what the model is wrong by before the change is taken to stay
            row |= {"calibrated": latency.value + before.latency - now.value, "model_before": now.value}
        found.append({"quantity": "latency", **row})
    ends = _ends(prediction.downtime) if prediction.downtime else {}
    found.append({"quantity": "silence", "name": "silence", **ends, "measured": silence})
    found.extend(moved_state(before, after))
    return after, {
        "before": {op.name: op.replicas for op in before.fit.operators},
        "after": replicas,
        "keeps_up": {"predicted": keeps_up, "ds2": ds2_processed == 1, "measured": kept_up},
        "latency_before": before.latency,
        "written": after.written,
        "parts": {"restart": _ends(parts.restart), "restore": _ends(parts.restore)},
        "quantities": found,
    }


def moved_state(before: Measured, after: Measured) -> Iterator[dict[str, Any]]:
    """Bytes that changed their replica, of operators with keyed state: by the capture alone, by metadata, and afterwards."""
    for operator, later in zip(before.fit.observation.operators, after.fit.observation.operators, strict=True):
        sizes = after.groups.get(operator.name)
        if not sizes or operator.parallelism == later.parallelism:
            continue
        yield {
            "quantity": "state",
            "name": operator.name,
            "predicted": predicted_moved_bytes(operator, later.parallelism),
            "by_metadata": moved_bytes(before.groups.get(operator.name, ()), operator.parallelism, later.parallelism),
            "measured": moved_bytes(sizes, operator.parallelism, later.parallelism),
            "between_nodes": moved_bytes(sizes, operator.parallelism, later.parallelism, (operator.nodes, later.nodes)),
        }


def _ends(estimate: Any) -> dict[str, float]:
    """An estimate and its interval as fields of a row."""
    return {"predicted": estimate.value, "low": estimate.low, "high": estimate.high}


def recover(run: LabRun, rate: float, rng: random.Random) -> None:
    """Bring a job that did not keep up to a plan that does, at half the rate until it has caught up."""
    run.job.rescale(drawn_replicas(run.settings, rate, run.job.replicas(), rng))
    run.set_rate(rate / 2)
    end = time.monotonic() + SECONDS_TO_DRAIN
    while (buckets := run.buckets(now_ms() - 2000)) == [] or max(bucket.mean for bucket in buckets) > 1000 * DRAINED:
        if time.monotonic() > end:
            raise EngineError("job", f"has not caught up within {SECONDS_TO_DRAIN:g} s")
        time.sleep(0.5)
    run.set_rate(rate)
    time.sleep(SECONDS_TO_SETTLE)


def run_job(flink: LocalFlink, name: str, changes: int, rng: random.Random, file: Path) -> None:
    """Run a job, change its replicas so often, and append a row for each change."""
    settings = replace(JOBS[name], service=served(JOBS[name]))
    rate = rng.uniform(*RATES)
    replicas = drawn_replicas(settings, rate, {}, rng)
    run = LabRun(flink, replace(settings, rate=rate, replicas=replicas))
    time.sleep(SECONDS_TO_FILL)
    seen = measured(flink, run)
    for number in range(changes):
        if number and number % CHANGES_PER_RATE == 0:
            rate = rng.uniform(RATES[0], min(RATES[1], 1.1 * rate))  # what runs must keep up with it until the next change
            run.set_rate(rate)
            time.sleep(SECONDS_TO_SETTLE)
            seen = measured(flink, run)
        replicas = drawn_replicas(settings, rate, replicas, rng, stressed=rng.random() < STRESSED_SHARE)
        seen, row = changed(flink, run, seen, replicas)
        row = {"job": name, "rate": rate, "load": os.getloadavg()[0], "at": time.time(), **row}
        add_row(file, row)
        if not row["keeps_up"]["measured"] and number + 1 < changes:
            recover(run, rate, rng)
            replicas = run.job.replicas()
            replicas = {name: replicas[name] for name in served(settings)}
            seen = measured(flink, run)
    run.job.cancel()


def run_all(file: Path, changes: int, rounds: int, seed: int) -> None:
    """Run every job in every round on one cluster."""
    rng = random.Random(seed)
    with LocalFlink({"a": 8, "b": 8}, settings=BUFFERS) as flink:
        for _ in range(rounds):
            for name in JOBS:
                try:
                    run_job(flink, name, changes, rng, file)
                except (EngineError, InvalidInstanceError) as error:  # a machine that stalls loses one job's rows, which is said
                    print(f"{name}: {error}", file=sys.stderr, flush=True)
                    for job in flink.rest.get("/jobs/overview")["jobs"]:
                        if job["state"] == "RUNNING":
                            flink.rest.patch(f"/jobs/{job['jid']}")


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("run", "show"))
    parser.add_argument("rows", type=Path)
    parser.add_argument("--changes", type=int, default=8, help="of each job in a round")
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    if arguments.what == "run":
        run_all(arguments.rows, arguments.changes, arguments.rounds, arguments.seed)
    show(arguments.rows)


if __name__ == "__main__":
    main()
