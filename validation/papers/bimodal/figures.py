"""Figs. 7 to 9 of bi-modal networks as SVG files: means with 95 % confidence bands."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from edrp.core.arrays import Floats
from edrp.report.estimates import Estimate, estimate_share
from edrp.report.figures import Curve, Panel, draw_panels, mean_curve
from edrp.validation.papers.bimodal.extent import CHOSEN, DEFAULT_RATE, FIXED, NETWORKS, SPANNING
from edrp.validation.papers.bimodal.mapping_runs import HEURISTICS, Mapped, MappedBySize
from edrp.validation.papers.bimodal.runs import MEASURES, SampleSweep

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
    fixed = f"{SPANNING} links" if x == RATES else f"{DEFAULT_RATE:g} tasks/h"
    return Panel(f"({letter}) {metric.replace('_', ' ')}, {fixed}", x, measure.title, shown)
