"""`edrp observe`: what a capture tells of a running job."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from edrp.cli.display.observation import observation_parts
from edrp.cli.terminal import output, show
from edrp.engines.fit import fit_job
from edrp.engines.protocol import observe_capture


def observe(file: Annotated[Path, typer.Argument(metavar="CAPTURE", help="Capture of the job.")]) -> None:
    """Print rates, busy shares, service rates and state of a running job from a capture."""
    show(output(), observation_parts(fit_job(observe_capture(file))))
