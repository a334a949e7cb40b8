"""`edrp capture` and `edrp observe`: what an engine answers about a running job, in one file, and what that file tells."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from edrp.cli.display.jobs import observation_parts
from edrp.cli.options import Force, argument, command_group, finite_option, option
from edrp.cli.terminal import output, progress, say, show
from edrp.core.files import refuse_target
from edrp.engines.capture import write_capture
from edrp.engines.fit import fit_job
from edrp.engines.flink.capturing import CaptureSettings, capture_job
from edrp.engines.flink.client import read_address
from edrp.engines.protocol import get_engine, observe_capture

capture = command_group()

Rest = Annotated[str, option("Address of the REST API, such as http://localhost:8081.", "--rest")]
Job = Annotated[str | None, option("Name or identifier of the job; default: the only running job.", "--job")]
Seconds = Annotated[float, finite_option("Length of the observation in seconds.", "--seconds")]
Every = Annotated[float, finite_option("Seconds between two readings of the counters.", "--every", min=0.01)]
GoalsFile = Annotated[Path | None, option("JSON file with goals; default: no replica is busier than 80 %.")]
NetworkFile = Annotated[Path | None, option("JSON file with nodes and the delays between them; default: no delays.")]
Mask = Annotated[bool, option("Replace names of hosts, and remove the locations of checkpoints.", "--mask-hosts")]


@capture.command("flink")
def capture_flink(
    rest: Rest,
    out: Annotated[Path, option("Output file for the capture.", "--out", "--output", "-o")],
    job: Job = None,
    seconds: Seconds = 60.0,
    every: Every = 5.0,
    mask_hosts: Mask = False,
    force: Force = False,
) -> None:
    """Capture a job of Apache Flink, with GET requests only."""
    read_address(rest)
    refuse_target(out, replace=force)
    with progress(f"capturing for {seconds:g} s"):
        captured = capture_job(rest, CaptureSettings(job, seconds, every, mask_hosts))
    seen = get_engine("flink").observe(captured)
    write_capture(captured, out, replace=force)
    replicas = sum(operator.parallelism for operator in seen.operators)
    say(
        output(),
        f"{out}: job {seen.job} of Flink {seen.version}, {len(seen.operators)} operators with {replicas} replicas, "
        f"{len(captured.answers)} answers",
    )


def observe(file: Annotated[Path, argument("Capture of the job.", metavar="CAPTURE")]) -> None:
    """Print rates, busy shares, service rates and state of a running job from a capture."""
    show(output(), observation_parts(fit_job(observe_capture(file))))
