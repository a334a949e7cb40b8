"""Figs. 6 to 8 of latency-aware placement: what placements carry, and how long tuples take, by the cores they use."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from edrp.validation.papers.latency_aware.schedulers import EVEN, METHODS, Placed
from edrp.validation.report.canvas import blank_figure, quiet

COLOURS = {
    "hill-climbing": "#1b9e77",
    "ant-system": "#d95f02",
    "hybrid": "#7570b3",
    "resource-aware": "#e7298a",
    "iterated-local-search": "#333333",
    EVEN: "#a6761d",
}
MARKERS = {"hill-climbing": "o", "ant-system": "^", "hybrid": "s", "resource-aware": "D", "iterated-local-search": "*", EVEN: "x"}


def draw_scatter(
    found: Sequence[Placed], topology: str, value: Callable[[Placed], float | None], title: str, unit: str, path: Path
) -> None:
    """One dot per placement of a topology, with a trend line per scheduler, written as PNG.

    Parameters
    ----------
    found
        Placements.
    topology
        Which of them.
    value
        What is drawn over the cores; dots without are left out.
    title, unit
        What is written beside the axes.
    path
        PNG file.
    """
    figure = blank_figure(6.4, 4.2)
    axes = figure.add_subplot()
    for method in (*METHODS, EVEN):
        dots = [(each.reserved * 100, value(each)) for each in found if each.topology == topology and each.method == method]
        drawn = [(cores, reached) for cores, reached in dots if reached is not None]
        if not drawn:
            continue
        taken, reached = np.array(drawn).T
        axes.scatter(taken, reached, s=22, marker=MARKERS[method], color=COLOURS[method], label=method, alpha=0.75, linewidths=1)
        if np.unique(taken).size > 1:
            slope, start = np.polyfit(taken, reached, 1)
            ends = np.array([taken.min(), taken.max()])
            axes.plot(ends, start + slope * ends, color=COLOURS[method], linewidth=1)
    axes.set_xlabel("vCPU of the supervisors in use (100 = a core)", fontsize=9)
    axes.set_ylabel(unit, fontsize=9)
    axes.set_title(title, fontsize=10)
    axes.set_ylim(bottom=0)
    quiet(axes)
    axes.legend(fontsize=7, frameon=False)
    figure.tight_layout()
    figure.savefig(path, dpi=150)
