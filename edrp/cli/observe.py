"""`edrp observe`: what files tell of a running job."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from edrp.cli.capture import Job
from edrp.cli.display.observation import observation_parts
from edrp.cli.terminal import output, show
from edrp.engines.exports import observe_files
from edrp.engines.fit import fit_job


def observe(
    files: Annotated[
        list[Path],
        typer.Argument(metavar="FILE...", help="A capture, or exported metrics in the order of time.", show_default=False),
    ],
    job: Job = None,
) -> None:
    """Print rates, busy shares, service rates and state of a running job from a capture or exported metrics.

    The format of exports is recognised by their content: task metrics of Flink or Kafka Streams in Prometheus's text format, as
    answers of its HTTP API or of Jolokia, or the progress of a streaming query of Spark as JSON. The output names missing data.
    """
    show(output(), observation_parts(fit_job(observe_files(files, job))))
