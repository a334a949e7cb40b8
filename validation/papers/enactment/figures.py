"""Figs. 8 to 11 of cost-efficient enactment: machines, hosts and instances over time, by pattern and configuration."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from edrp.validation.papers.enactment.printed_values import BTU, FIGURE_NUMBERS, THRESHOLD, UNITS, Column
from edrp.validation.papers.enactment.runs import Enacted, Setting
from edrp.validation.report.timelines import enactment_timeline_figure
from edrp.validation.simulation.enactment.timeline import timeline

PANELS = {
    **{Column(BTU, unit): f"BTU policy, unit of {unit} min" for unit in UNITS},
    Column(THRESHOLD, UNITS[0]): "threshold policy",
}
"""The four configurations of each figure; the threshold policy does the same under every unit."""


def draw_pattern(enacted: Sequence[Enacted], pattern: str, setting: Setting, out: Path) -> Path | None:
    """Draw the runs of the first seed under a pattern, and say where.

    Parameters
    ----------
    enacted
        Runs of one setting.
    pattern
        The runs to draw.
    setting
        The constants that they share.
    out
        Folder of the figure, which is an SVG file.

    Returns
    -------
    Path or None
        The figure; None where there is no run of the pattern under these policies.

    Raises
    ------
    BackendUnavailableError
        When matplotlib is not installed.
    """
    own = [run for run in enacted if run.pattern == pattern and run.column in PANELS]
    if not own:
        return None
    seed = min(run.seed for run in own)
    shown = {
        PANELS[run.column]: timeline(setting.scenario(pattern, run.column.unit, seed), run.run) for run in own if run.seed == seed
    }
    path = out / f"fig{FIGURE_NUMBERS[pattern]}-{pattern}.svg"
    enactment_timeline_figure(shown, path, title=f"{pattern}, seed {seed}")
    return path
