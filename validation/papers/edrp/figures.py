"""The curves of EDRP, Figs. 5 and 6: response time, source rate and replicas over time."""

from __future__ import annotations

from collections.abc import Mapping
from math import isfinite
from pathlib import Path
from typing import Any

from edrp.report.figures import blank_figure, save_figure, unclutter
from edrp.validation.simulation.placement.replay import Replay

RESPONSE, RATE, REPLICAS, CHANGE, LIMIT = "#1f4e79", "#8a8a8a", "#c55a11", "#9dc3e6", "#b00020"

BOX = {"facecolor": "white", "edgecolor": "none", "pad": 1.5}


def draw_hours(replays: Mapping[str, Replay], path: Path, *, title: str, minutes: float = 1.0, unit: str = "min") -> None:
    """Draw up to four replays, by the name to print above each, side by side as PNG; a step is so many minutes long in `unit`."""
    lines = (len(replays) + 1) // 2
    figure = blank_figure(11.0, 3.9 * lines)
    outer = figure.add_gridspec(lines, 2, hspace=0.32, wspace=0.24, left=0.07, right=0.93, top=0.87, bottom=0.08)
    bottom, top = _response_range(replays)
    counts = [count for replay in replays.values() for count in replay.replicas]
    for index, (name, replay) in enumerate(replays.items()):
        upper, lower = outer[index // 2, index % 2].subgridspec(2, 1, height_ratios=(2.2, 1), hspace=0.1)
        response_axes = figure.add_subplot(upper)
        _draw_response(response_axes, replay, minutes)
        response_axes.set_ylim(bottom, top)
        response_axes.set_title(f"({'abcdefgh'[index]}) {name}", fontsize=10, loc="left")
        response_axes.tick_params(labelbottom=False)
        replica_axes = figure.add_subplot(lower, sharex=response_axes)
        _draw_replicas(replica_axes, replay, minutes, unit)
        replica_axes.set_ylim(min(counts) - 0.8, max(counts) + 0.8)
    figure.suptitle(title, fontsize=12, x=0.07, ha="left", y=0.985)
    handles = _legend_handles()
    place = {"loc": "upper left", "bbox_to_anchor": (0.06, 0.955), "ncols": len(handles)}
    figure.legend(handles=handles, frameon=False, fontsize=8.5, **place)
    save_figure(figure, path)


def _draw_response(ax: Any, replay: Replay, minutes: float) -> None:
    """Response time in ms over time, its limit, and a mark at every reconfiguration."""
    times = [step.number * minutes for step in replay.steps]
    for step in replay.reconfigurations:
        ax.axvline(step.number * minutes, color=CHANGE, linewidth=1.2, zorder=1)
    ax.step(times, [1e3 * step.metrics["response_time"] for step in replay.steps], where="post", color=RESPONSE, linewidth=1.6)
    limit = replay.steps[0].problem.limits.response_time
    if limit:
        ax.axhline(1e3 * limit, color=LIMIT, linewidth=1.0, linestyle="--")
    note = f"{1e3 * replay.mean('response_time'):.1f} ms   {replay.mean('cost'):.2f} $/h   {replay.downtime:.1f} s down"
    ax.text(0.985, 0.05, note, transform=ax.transAxes, ha="right", va="bottom", fontsize=8.5, color="#333333", bbox=BOX)
    ax.set_ylabel("response time [ms]", fontsize=8.5)
    ax.set_xlim(times[0], times[-1])
    unclutter(ax)


def _draw_replicas(ax: Any, replay: Replay, minutes: float, unit: str) -> None:
    """Replicas of all operators and, on a second scale, the source rate over time."""
    times = [step.number * minutes for step in replay.steps]
    ax.step(times, replay.replicas, where="post", color=REPLICAS, linewidth=1.6)
    ax.set_ylabel("replicas", fontsize=8.5, color=REPLICAS)
    ax.set_xlabel(f"time [{unit}]", fontsize=8.5)
    ax.yaxis.get_major_locator().set_params(integer=True)
    ax.xaxis.get_major_locator().set_params(steps=(1, 2, 3, 6, 10), nbins=9)
    unclutter(ax)
    rate = ax.twinx()
    rate.plot(times, [step.rate for step in replay.steps], color=RATE, linewidth=1.2)
    rate.set_ylim(0, None)
    rate.set_ylabel("tuples/s", fontsize=8.5, color=RATE)
    rate.tick_params(labelsize=8)
    rate.spines["top"].set_visible(False)


def _response_range(replays: Mapping[str, Replay]) -> tuple[float, float]:
    """One range in ms for all panels, with room below for the note; an overloaded application has no response time."""
    times = (1e3 * step.metrics["response_time"] for replay in replays.values() for step in replay.steps)
    values = [time for time in times if isfinite(time)]
    limits = [1e3 * (replay.steps[0].problem.limits.response_time or 0.0) for replay in replays.values()]
    top = max(values + limits)
    bottom = max(0.0, min(values) - 0.35 * (top - min(values)))
    return bottom, top + 0.06 * (top - bottom)


def _legend_handles() -> list[Any]:
    from matplotlib.lines import Line2D

    return [
        Line2D([], [], color=RESPONSE, label="response time"),
        Line2D([], [], color=LIMIT, linestyle="--", label="its limit"),
        Line2D([], [], color=CHANGE, label="reconfiguration"),
        Line2D([], [], color=REPLICAS, label="replicas"),
        Line2D([], [], color=RATE, label="source rate"),
    ]
