"""Figs. 7 to 9 of bi-modal networks as SVG files: means with 95 % confidence bands."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from edrp.core.arrays import Floats
from edrp.report.estimates import Estimate, estimate_share
from edrp.report.figures import Curve, Panel, blank_figure, draw_panels, mean_curve, save_figure, unclutter
from edrp.validation.papers.bimodal.extent import CHOSEN, FIXED, NETWORKS, RATE, SPANNING
from edrp.validation.papers.bimodal.mapping_runs import HEURISTICS, Mapped, MappedBySize
from edrp.validation.papers.bimodal.runs import MEASURES, SampleSweep
from edrp.validation.simulation.mapping.bimodal_timeline import TaskTimeline
from edrp.validation.simulation.timelines import time_unit

RUNNING, PUBLIC, SERVER_COLOUR, LINK_COLOUR = "#1f4e79", "#8a8a8a", "#c55a11", "#2e7d32"

RATES, LINKS, SERVERS = "tasks per hour", "dedicated links", "servers"


def draw_mapping(mapped: MappedBySize, path: Path) -> None:
    """Fig. 7: cost over the optimum and over the paper's bound, share of the tasks that are mapped, messages."""

    def curves(values: Callable[[Mapped, str], Floats]) -> dict[str, Curve]:
        return {name: mean_curve({size: values(tasks, name) for size, tasks in mapped.items()}) for name in HEURISTICS}

    def share(mapped: Mapped, name: str) -> Estimate:
        return estimate_share(int(mapped.found(name).sum()), mapped.optimum.size).transformed(lambda share: 100 * share)

    shares: dict[str, Curve] = {name: {size: share(tasks, name) for size, tasks in mapped.items()} for name in HEURISTICS}
    to_optimum = curves(lambda tasks, name: tasks.ratio(name, tasks.optimum))
    to_bound = curves(lambda tasks, name: tasks.ratio(name, tasks.bound))
    messages = curves(lambda tasks, name: tasks.messages[name])
    panels = [
        Panel("(a) cost over the optimum", SERVERS, "times the optimum", to_optimum, floor=1.0),
        Panel("(a) cost over the paper's bound", SERVERS, "times the bound", to_bound, floor=1.0),
        Panel("(b) messages", SERVERS, "maps sent per task", messages, scales=("log", "log")),
        Panel("tasks that are mapped", SERVERS, "share of those that can be [%]", shares),
    ]
    draw_panels(panels, path, columns=2)


def draw_reallocation(sweep: SampleSweep, path: Path) -> None:
    """Fig. 8: throughput, use of dedicated links and deviation over the rate, with and without re-allocation."""
    ways = {"re-allocated every 10 s": CHOSEN, "never re-allocated": FIXED}
    panels = [
        _panel(letter, RATES, metric, {name: sweep.by_rate(metric, way=way) for name, way in ways.items()})
        for letter, metric in (("a", "throughput"), ("b", "link_utilisation"), ("c", "deviation"))
    ]
    draw_panels(panels, path, columns=3)


def draw_networks(sweep: SampleSweep, path: Path) -> None:
    """Fig. 9: both networks and each alone, over the rate (at the spanning tree) and over the number of links."""
    varied = {RATES: sweep.by_rate, LINKS: sweep.by_links}
    shown = (
        *((LINKS, "throughput"), (LINKS, "acceptance"), (RATES, "server_utilisation"), (LINKS, "server_utilisation")),
        *((RATES, "link_utilisation"), (LINKS, "link_utilisation"), (RATES, "deviation"), (LINKS, "deviation")),
        (RATES, "elongation"),
    )
    panels = []
    for letter, (x, metric) in zip("abcdefghi", shown, strict=True):
        networks = ("both", "dedicated") if metric == "link_utilisation" else NETWORKS
        panels.append(_panel(letter, x, metric, {name: varied[x](metric, name) for name in networks}))
    draw_panels(panels, path, columns=3)


def _panel(letter: str, x: str, metric: str, curves: Mapping[str, Mapping[float, Floats]]) -> Panel:
    measure = MEASURES[metric]
    shown = {name: mean_curve(samples, measure.unit.scale) for name, samples in curves.items()}
    fixed = f"{SPANNING} links" if x == RATES else f"{RATE:g} tasks/h"
    return Panel(f"({letter}) {metric.replace('_', ' ')}, {fixed}", x, measure.title, shown)


def timeline_figure(line: TaskTimeline, path: Path, *, title: str) -> None:
    """Draw a run as .png or .svg, which the ending of the path says: tasks above, reserved shares of servers and links below."""
    figure = blank_figure(7.6, 5.4)
    seconds, unit = time_unit(line.time[-1])
    time = line.time / seconds
    above, below = figure.subplots(2, 1, sharex=True)
    _draw_curves(
        above, time, {"tasks running": (line.running, RUNNING), "hops over the public network": (line.public_hops, PUBLIC)}
    )
    above.set_ylabel("tasks, hops", fontsize=8.5)
    reserved = {
        "servers": (100 * line.server_utilisation, SERVER_COLOUR),
        "dedicated links": (100 * line.link_utilisation, LINK_COLOUR),
    }
    _draw_curves(below, time, reserved)
    below.set_ylabel("reserved [%]", fontsize=8.5)
    below.set_xlabel(f"time [{unit}]", fontsize=8.5)
    below.set_xlim(0, time[-1] or 1)
    figure.suptitle(title, fontsize=11, x=0.02, ha="left")
    figure.tight_layout()
    save_figure(figure, path)


def _draw_curves(ax: Any, time: Floats, curves: dict[str, tuple[NDArray[Any], str]]) -> None:
    for name, (values, colour) in curves.items():
        ax.step(time, values, where="post", color=colour, linewidth=1.1, label=name)
    ax.set_ylim(bottom=0)
    ax.legend(frameon=False, fontsize=8.5, ncols=2, loc="lower right", bbox_to_anchor=(1, 1))
    unclutter(ax)
