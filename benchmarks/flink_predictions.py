"""Predictions of reconfigurations against a real cluster: `python benchmarks/flink_predictions.py run ROWS`, then `show ROWS`.

On a LocalFlink the four jobs of the lab (chain, fan-out, join, chain with skewed keys) are rescaled at random, at random loads.
Before each change the job is captured and fitted as by `edrp advise flink`, which predicts from that alone: throughput, how busy
the busiest replica of each operator will be, and the silence. Plans are drawn among those under which no operator has more to
do than 90 % by the services that are set, which the prediction does not know. After the change the job is captured again; the
silence is the longest time without a tuple at its writer. `run` adds rows to the file, each with the load of the machine.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

from edrp.engines.downtime import predict_downtime
from edrp.engines.errors import EngineError
from edrp.engines.fit import JobFit, fit_job
from edrp.engines.flink.capturing import CaptureSettings, capture_job
from edrp.engines.flink.local import LabRun, LabSettings, LocalFlink
from edrp.engines.flink.local.jobs import now_ms
from edrp.engines.flink.reading import read_observation
from edrp.engines.goals import Goals
from edrp.engines.predictions import judge, predict
from edrp.placement.deployment import Deployment

SERVICE = {"parser": 0.006, "counter": 0.010, "enricher": 0.008, "join": 0.010}
JOBS = {
    "chain": LabSettings("chain", exponential=True),
    "fan-out": LabSettings("fan-out", exponential=True),
    "join": LabSettings("join", exponential=True, keys=100),
    "skewed": LabSettings("chain", exponential=True, keys=200, skew=0.8),
}
RATES = (60.0, 180.0)
MAX_REPLICAS = 4
MAX_BUSY = 0.9
SECONDS, EVERY = 12.0, 4.0
"""Of a capture."""

SECONDS_TO_SETTLE = 4.0
CHANGES_PER_RATE = 4


def served(settings: LabSettings) -> dict[str, float]:
    """Seconds of service of the operators that replicas are drawn for."""
    names = {"chain": ("parser", "counter"), "fan-out": ("parser", "counter", "enricher"), "join": ("join",)}
    return {name: SERVICE[name] for name in names[settings.topology]}


def drawn_replicas(settings: LabSettings, rate: float, other_than: dict[str, int], rng: random.Random) -> dict[str, int]:
    """Numbers of replicas that keep up, not all as they are; skewed keys need more."""
    skew = 1.5 if settings.skew else 1.0
    while True:
        drawn = {name: rng.randint(1, MAX_REPLICAS) for name in served(settings)}
        shares = [rate * service * (skew if drawn[name] > 1 else 1) / drawn[name] for name, service in served(settings).items()]
        if max(shares) <= MAX_BUSY and drawn != other_than:
            return drawn


def captured_fit(flink: LocalFlink) -> JobFit:
    """Capture the job that runs and fit it."""
    return fit_job(read_observation(capture_job(flink.address, CaptureSettings(seconds=SECONDS, every=EVERY))))


def changed(flink: LocalFlink, run: LabRun, before: JobFit, replicas: dict[str, int]) -> tuple[JobFit, dict[str, Any]]:
    """Predict a change, make it, and return what is then fitted with the row."""
    plan = Deployment({op.name: ("node",) * replicas.get(op.name, op.replicas) for op in before.operators})
    silence = predict_downtime(before, plan, Goals()).silence
    prediction = predict(before, plan, {}, silence)
    begin = now_ms()
    run.job.rescale(replicas)
    time.sleep(SECONDS_TO_SETTLE)
    measured_silence = run.silence(begin)
    after = captured_fit(flink)
    rows = [
        {
            "quantity": row.quantity if row.quantity in ("throughput", "downtime") else "busy",
            "name": row.quantity,
            "predicted": row.predicted.value,
            "low": row.predicted.low,
            "high": row.predicted.high,
            "measured": row.measured,
        }
        for row in judge(prediction, after, measured_silence)
        if row.quantity in (*replicas, "throughput", "downtime")
    ]
    return after, {"before": {op.name: op.replicas for op in before.operators}, "after": replicas, "quantities": rows}


def run_job(flink: LocalFlink, name: str, changes: int, rng: random.Random, file: Path) -> None:
    """Run a job, change its replicas so often, and append a row for each change."""
    settings = replace(JOBS[name], service=served(JOBS[name]))
    rate = rng.uniform(*RATES)
    replicas = drawn_replicas(settings, rate, {}, rng)
    run = LabRun(flink, replace(settings, rate=rate, replicas=replicas))
    time.sleep(SECONDS_TO_SETTLE)
    fit = captured_fit(flink)
    for number in range(changes):
        if number and number % CHANGES_PER_RATE == 0:
            rate = rng.uniform(RATES[0], min(RATES[1], 1.1 * rate))  # what runs must keep up with it until the next change
            run.set_rate(rate)
            time.sleep(SECONDS_TO_SETTLE)
            fit = captured_fit(flink)
        replicas = drawn_replicas(settings, rate, replicas, rng)
        fit, row = changed(flink, run, fit, replicas)
        row = {"job": name, "rate": rate, "load": os.getloadavg()[0], **row}
        with file.open("a", encoding="utf-8") as rows:
            rows.write(json.dumps(row) + "\n")
    run.job.cancel()


def run_all(file: Path, changes: int, rounds: int, seed: int) -> None:
    """Run every job in every round on one cluster."""
    rng = random.Random(seed)
    with LocalFlink({"a": 8, "b": 8}) as flink:
        for _ in range(rounds):
            for name in JOBS:
                try:
                    run_job(flink, name, changes, rng, file)
                except EngineError as error:  # a machine that stalls loses one job's rows, which is said
                    print(f"{name}: {error}", file=sys.stderr)
                    for job in flink.rest.get("/jobs/overview")["jobs"]:
                        if job["state"] == "RUNNING":
                            flink.rest.patch(f"/jobs/{job['jid']}")


def show(file: Path) -> None:
    """Print errors and coverage by job and quantity."""
    rows = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    loads = [row["load"] for row in rows]
    print(f"{len(rows)} reconfigurations; load of the machine {min(loads):.1f} to {max(loads):.1f}\n")
    print("| job | quantity | predictions | median error | 90th percentile | measured within interval | measured above it |")
    print("|---|---|---|---|---|---|---|")
    for job in (*JOBS, "all"):
        for quantity in ("throughput", "busy", "downtime"):
            found = [q for row in rows if job in (row["job"], "all") for q in row["quantities"] if q["quantity"] == quantity]
            if found:
                print(f"| {job} | {line(quantity, found)} |")


def line(quantity: str, found: list[dict[str, Any]]) -> str:
    """The cells of a quantity: its unit, predictions, errors, and shares within and above the interval."""
    scale = [q["predicted"] if quantity == "throughput" else 1.0 for q in found]
    errors = sorted(abs(q["measured"] - q["predicted"]) / unit for q, unit in zip(found, scale, strict=True))
    high = errors[min(len(errors) - 1, int(0.9 * len(errors)))]
    inside = sum(q["low"] <= q["measured"] <= q["high"] for q in found) / len(found)
    above = sum(q["measured"] > q["high"] for q in found) / len(found)
    unit = {"throughput": "relative", "busy": "share of time", "downtime": "s"}[quantity]
    return f"{quantity} ({unit}) | {len(found)} | {statistics.median(errors):.3f} | {high:.3f} | {inside:.0%} | {above:.0%}"


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
