"""Figs. 7 to 9 of bi-modal networks, as SVG files: means with 95 % confidence bands."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from edrp.core.arrays import Floats
from edrp.validation.papers.bimodal.formatting import MEASURES
from edrp.validation.papers.bimodal.mapping import HEURISTICS, MappedBySize
from edrp.validation.papers.bimodal.plan import CHOSEN, FIXED, NETWORKS, RATE, SPANNING
from edrp.validation.papers.bimodal.statistics import share_interval
from edrp.validation.papers.bimodal.sweep import Sweep
from edrp.validation.report.canvas import blank_figure, quiet
from edrp.validation.report.intervals import Interval, interval

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7")
"""Of Okabe and Ito's palette, told apart by colour-blind eyes."""

MARKERS = ("o", "s", "^", "D")
RATES, LINKS, SERVERS = "tasks per hour", "dedicated links", "servers"
PANEL_WIDTH, PANEL_HEIGHT = 3.0, 1.85
LEFT, BELOW, ABOVE, LEGEND = 0.65, 0.5, 0.35, 0.35
"""Inches: of a diagram, of what stands beside it, and of the legend below all."""

Curves = Mapping[str, Mapping[float, Interval]]
"""By name, over x."""


class Panel(NamedTuple):
    """One diagram of a figure.

    Attributes
    ----------
    title, x, y
        Above it, and along its axes.
    curves
        Means with intervals.
    logarithmic
        Whether both axes are.
    floor
        Least value of the vertical axis; None to leave it.
    """

    title: str
    x: str
    y: str
    curves: Curves
    logarithmic: bool = False
    floor: float | None = 0.0


def draw_mapping(found: MappedBySize, path: Path) -> None:
    """Fig. 7: cost over the optimum and over the paper's bound, share of the tasks that are mapped, messages."""

    def ratios(to_bound: bool) -> Curves:
        made: dict[str, dict[float, Interval]] = {}
        for name in HEURISTICS:
            own = {size: mapped.ratio(name, mapped.bound if to_bound else mapped.optimum) for size, mapped in found.items()}
            made[name] = {size: interval(values) for size, values in own.items() if values.size}
        return made

    shares: Curves = {
        name: {
            float(size): _percent(share_interval(int(each.found(name).sum()), each.optimum.size)) for size, each in found.items()
        }
        for name in HEURISTICS
    }
    messages: Curves = {name: {float(size): interval(each.messages[name]) for size, each in found.items()} for name in HEURISTICS}
    panels = [
        Panel("(a) cost over the optimum", SERVERS, "times the optimum", ratios(False), floor=1.0),
        Panel("(a) cost over the paper's bound", SERVERS, "times the bound", ratios(True), floor=1.0),
        Panel("(b) messages", SERVERS, "maps sent per task", messages, logarithmic=True),
        Panel("tasks that are mapped", SERVERS, "share of those that can be [%]", shares),
    ]
    _draw(panels, path, columns=2)


def draw_reallocation(sweep: Sweep, path: Path) -> None:
    """Fig. 8: throughput, use of dedicated links and deviation over the rate, with and without re-allocation."""
    ways = {"re-allocated every 10 s": CHOSEN, "never re-allocated": FIXED}

    def panel(letter: str, metric: str) -> Panel:
        curves = {words: {rate: sweep.at(metric, rate=rate, way=way) for rate in sweep.rates} for words, way in ways.items()}
        return _panel(f"({letter})", RATES, metric, curves)

    _draw([panel("a", "throughput"), panel("b", "link_utilisation"), panel("c", "deviation")], path, columns=3)


def draw_networks(sweep: Sweep, path: Path) -> None:
    """Fig. 9: both networks and each alone, over the rate (at the spanning tree) and over the number of links."""

    def panel(letter: str, metric: str, by_links: bool, networks: Sequence[str] = NETWORKS) -> Panel:
        if by_links:
            return _panel(f"({letter})", LINKS, metric, {each: sweep.by_links(metric, each) for each in networks})
        curves = {each: {rate: sweep.at(metric, each, rate=rate) for rate in sweep.rates} for each in networks}
        return _panel(f"({letter})", RATES, metric, curves)

    links = ("both", "dedicated")
    panels = [
        panel("a", "throughput", True),
        panel("b", "acceptance", True),
        panel("c", "server_utilisation", False),
        panel("d", "server_utilisation", True),
        panel("e", "link_utilisation", False, links),
        panel("f", "link_utilisation", True, links),
        panel("g", "deviation", False),
        panel("h", "deviation", True),
        panel("i", "elongation", False),
    ]
    _draw(panels, path, columns=3)


def _panel(letter: str, x: str, metric: str, curves: Mapping[str, Mapping[float, Floats]]) -> Panel:
    measure = MEASURES[metric]
    shown = {name: {at: interval(measure.scale * values) for at, values in curve.items()} for name, curve in curves.items()}
    fixed = f"{SPANNING} links" if x == RATES else f"{RATE:g} tasks/h"
    return Panel(f"{letter} {metric.replace('_', ' ')}, {fixed}", x, measure.words, shown)


def _percent(share: Interval) -> Interval:
    low, high = (None if end is None else 100 * end for end in (share.low, share.high))
    return Interval(100 * share.mean, low, high)


def _draw(panels: Sequence[Panel], path: Path, columns: int) -> None:
    rows = -(-len(panels) // columns)
    width, height = columns * (LEFT + PANEL_WIDTH) + 0.1, rows * (BELOW + PANEL_HEIGHT + ABOVE) + LEGEND
    figure = blank_figure(width, height)
    axes = figure.subplots(rows, columns, squeeze=False)
    figure.subplots_adjust(
        left=LEFT / width,
        right=1 - 0.1 / width,
        bottom=(LEGEND + BELOW) / height,
        top=1 - ABOVE / height,
        wspace=LEFT / PANEL_WIDTH,
        hspace=(BELOW + ABOVE) / PANEL_HEIGHT,
    )
    for panel, ax in zip(panels, axes.flat, strict=True):
        _draw_panel(ax, panel)
    handles, names = axes.flat[0].get_legend_handles_labels()
    figure.legend(handles, names, loc="lower center", ncols=len(names), frameon=False, fontsize=8.5)
    figure.savefig(path)


def _draw_panel(ax: Any, panel: Panel) -> None:
    for index, (name, curve) in enumerate(panel.curves.items()):
        x = sorted(curve)
        colour = COLOURS[index]
        ax.plot(x, [curve[at].mean for at in x], color=colour, marker=MARKERS[index], markersize=3.5, linewidth=1.4, label=name)
        low = [np.nan if curve[at].low is None else curve[at].low for at in x]
        high = [np.nan if curve[at].high is None else curve[at].high for at in x]
        ax.fill_between(x, low, high, color=colour, alpha=0.18, linewidth=0)
    if panel.logarithmic:
        _logarithmic(ax, sorted({at for curve in panel.curves.values() for at in curve}))
    elif panel.floor is not None:
        ax.set_ylim(bottom=panel.floor)
    ax.set_title(panel.title, fontsize=10, loc="left")
    ax.set_xlabel(panel.x, fontsize=8.5)
    ax.set_ylabel(panel.y, fontsize=8.5)
    quiet(ax)


def _logarithmic(ax: Any, x: Sequence[float]) -> None:
    """Both axes, the horizontal one marked at the values themselves."""
    ax.set_xscale("log")
    ax.set_yscale("log")
    ax.set_xticks(x, [f"{at:g}" for at in x])
    ax.minorticks_off()
