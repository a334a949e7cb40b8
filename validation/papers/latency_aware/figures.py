"""Figs. 6 to 8 of latency-aware placement: what placements carry, and how long tuples take, by the cores they use."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from edrp.validation.papers.latency_aware.schedulers import EVEN, METHODS, Placed
from edrp.validation.report.figures import blank_figure, unclutter

COLOURS = {
    "hill-climbing": "#1b9e77",
    "ant-system": "#d95f02",
    "hybrid": "#7570b3",
    "resource-aware": "#e7298a",
    "iterated-local-search": "#333333",
    EVEN: "#a6761d",
}
MARKERS = {"hill-climbing": "o", "ant-system": "^", "hybrid": "s", "resource-aware": "D", "iterated-local-search": "*", EVEN: "x"}


AXES = {"throughput": ("throughput", "tuples/s of the source", 1.0), "least": ("least latency end to end", "ms", 1e3)}
"""Name, unit and scale of each quantity of a placement."""


def draw_scatter(found: Sequence[Placed], topology: str, quantity: str, path: Path) -> None:
    """Draw one dot per placement of a topology over its cores, with a trend line per scheduler.

    Parameters
    ----------
    found
        Placements.
    topology
        Those to draw.
    quantity
        Attribute of a placement; dots without it are left out.
    path
        PNG file.
    """
    name, unit, scale = AXES[quantity]
    figure = blank_figure(6.4, 4.2)
    axes = figure.add_subplot()
    for method in (*METHODS, EVEN):
        own = [placed for placed in found if placed.topology == topology and placed.method == method]
        dots = [(100 * placed.reserved, scale * value) for placed in own if (value := getattr(placed, quantity)) is not None]
        if not dots:
            continue
        taken, reached = np.array(dots).T
        axes.scatter(taken, reached, s=22, marker=MARKERS[method], color=COLOURS[method], label=method, alpha=0.75, linewidths=1)
        if np.unique(taken).size > 1:
            slope, start = np.polyfit(taken, reached, 1)
            ends = np.array([taken.min(), taken.max()])
            axes.plot(ends, start + slope * ends, color=COLOURS[method], linewidth=1)
    axes.set_xlabel("vCPU of the supervisors in use (100 = a core)", fontsize=9)
    axes.set_ylabel(unit, fontsize=9)
    axes.set_title(f"{topology}: {name}", fontsize=10)
    axes.set_ylim(bottom=0)
    unclutter(axes)
    axes.legend(fontsize=7, frameon=False)
    figure.tight_layout()
    figure.savefig(path, dpi=150)
