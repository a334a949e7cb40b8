"""A cluster on this machine with a live job under skewed keys: `python -m edrp.validation.flink.lab.live_cluster FOLDER`."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from edrp.engines.clock import SystemClock, stopping_on_signals
from edrp.engines.flink.local import LocalFlink, submit
from edrp.engines.flink.local.jobs import RunningJob, now_ms
from edrp.validation.flink.lab.build import LAB
from edrp.validation.flink.lab.job import program_arguments

NODES = {"node-a": 1, "node-b": 1, "node-c": 1}
"""Slots of each TaskManager: one worker of every operator."""

MICROSECONDS = 2000
"""Work of a tuple: a worker that is never idle takes 500 tuples/s."""

CHECKPOINT_SECONDS = 10

JOB = {
    "operators": 2,
    "micros": MICROSECONDS,
    "keys": 480,
    "skew": 1.0,
    "state_bytes": 20_000,
    "tasks": 48,
    "workers": len(NODES),
    "used": 2,
    "checkpoint_ms": 1000 * CHECKPOINT_SECONDS,
    "name": "skewed",
}
"""Arguments of `LiveJob`: two live operators after one another, each with all of its tasks on two of three workers."""


def start_job(flink: LocalFlink, folder: Path, rate: float) -> RunningJob:
    """Start the job with its files in a folder that does not exist yet, and wait until a checkpoint is complete."""
    folder.mkdir()
    rates, control, results = folder / "rates.txt", folder / "control.log", folder / "results"
    rates.write_text(f"{now_ms()} {rate}\n", encoding="ascii")
    control.touch()
    results.mkdir()
    words = program_arguments({"rates": rates, "folder": results, "control": control.as_uri(), **JOB})
    job = submit(flink.rest, LAB.jar, words, entry_class="edrp.lab.LiveJob")
    job.checkpoint()
    return job


def main() -> None:
    """Run the cluster until Ctrl-C or for `--seconds`; its address is printed and stands in FOLDER/address."""
    parser = argparse.ArgumentParser(description="A cluster on this machine with a live job under skewed keys.")
    parser.add_argument("folder", type=Path, help="folder for the control log, the results and the address; must not exist")
    parser.add_argument("--rate", type=float, default=400.0, help="tuples/s (default: 400)")
    parser.add_argument("--seconds", type=float, default=3600.0, help="seconds until it stops by itself (default: 3600)")
    given = parser.parse_args()
    folder = given.folder.resolve()
    clock = SystemClock()
    with stopping_on_signals(clock), LocalFlink(NODES) as flink:
        start_job(flink, folder, given.rate)
        (folder / "address").write_text(f"{flink.address}\n", encoding="ascii")
        sys.stdout.write(f"{flink.address} runs job {JOB['name']} until Ctrl-C, or for {given.seconds:g} s\n")
        sys.stdout.flush()
        clock.sleep(given.seconds)


if __name__ == "__main__":
    main()
