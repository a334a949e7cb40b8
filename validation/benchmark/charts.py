"""The charts of the report, as plotly figures."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from edrp.core.tolerances import MIN_PLOTTED_SECONDS
from edrp.validation.benchmark.curves import Curve
from edrp.validation.benchmark.formatting import duration, percent
from edrp.validation.benchmark.measures import by_instance

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#4D4D4D", "#8C6D1F", "#882255", "#44AA99")
"""Okabe and Ito's palette, told apart by colour-blind eyes, its yellow replaced by one that shows on white; then two of Tol's."""

DASHES = ("solid", "solid", "dash", "dot", "dashdot", "longdash")
SYMBOLS = ("circle", "square", "diamond", "triangle-up", "cross", "triangle-down", "star", "hexagon")
FONT = "system-ui, -apple-system, 'Segoe UI', 'DejaVu Sans', sans-serif"
GRID, LINE, INK = "#e6e6e6", "#9a9a9a", "#1f2933"
GAP_FLOOR = 1e-5
"""Smaller gaps are drawn here: a logarithmic axis has no 0."""

GAP_TICKS = {1e-5: "≤ 0.001 %", 1e-4: "0.01 %", 1e-3: "0.1 %", 1e-2: "1 %", 1e-1: "10 %", 1.0: "100 %"}
SECONDS_TICKS = {
    **{1e-6: "1 µs", 1e-5: "10 µs", 1e-4: "0.1 ms", 1e-3: "1 ms", 1e-2: "10 ms", 1e-1: "0.1 s"},
    **{1.0: "1 s", 10.0: "10 s", 100.0: "100 s", 1e3: "1000 s", 1e4: "10,000 s", 1e5: "100,000 s"},
}


class Styles:
    """One colour, dash and symbol for each method, the same in every chart."""

    def __init__(self, names: Sequence[str]) -> None:
        self._index = {name: index for index, name in enumerate(names)}

    def colour(self, name: str) -> str:
        """Colour of lines and boxes."""
        return COLOURS[self._index[name] % len(COLOURS)]

    def line(self, name: str) -> dict[str, object]:
        """Style of a curve."""
        index = self._index[name]
        width = 4.0 - 2.4 * index / max(1, len(self._index) - 1)  # of curves that coincide the first still shows
        return {"color": self.colour(name), "width": width, "dash": DASHES[index % len(DASHES)]}

    def marker(self, name: str) -> dict[str, object]:
        """Style of a point."""
        symbol = SYMBOLS[self._index[name] % len(SYMBOLS)]
        return {"color": self.colour(name), "size": 11, "symbol": symbol, "line": {"color": "white", "width": 1}}


def gap_boxes(runs: pd.DataFrame, order: Sequence[str], styles: Styles) -> go.Figure:
    """The gaps of each method: quartiles, range and outliers."""
    gaps = by_instance(runs)["gap"].dropna()
    figure = _boxes(gaps, order, styles, GAP_FLOOR, percent)
    figure.update_xaxes(title_text="gap to the reference", **_log(GAP_TICKS, GAP_FLOOR, 1.0))
    return figure


def time_boxes(runs: pd.DataFrame, order: Sequence[str], styles: Styles) -> go.Figure:
    """The times of each method, building and solving."""
    seconds = by_instance(runs)["seconds"].dropna()
    figure = _boxes(seconds, order, styles, 1e-6, duration)
    figure.update_xaxes(title_text="time to build and solve", **_log(SECONDS_TICKS, *_range(seconds.to_numpy())))
    return figure


def profile_chart(curves: Mapping[str, Curve], styles: Styles, title: str, widest: float) -> go.Figure:
    """Performance profiles, up to a factor at which all have ended, or `widest`."""
    last = max((curve.x[-1] for curve in curves.values()), default=1.0)
    end = float(min(widest, max(1.1, 1.15 * last)))
    figure = go.Figure()
    for name, curve in curves.items():
        shown = curve.x <= end
        x, y = np.append(curve.x[shown], end), np.append(curve.y[shown], curve.y[shown][-1])
        hover = [f"{name}: {percent(share)} within a factor of {factor:.3g}" for factor, share in zip(x, y, strict=True)]
        _add_curve(figure, name, x, 100 * y, styles, hover)
    figure.update_xaxes(title_text=title, **_log({tick: f"{tick:,g}" for tick in _factors(end)}, 1.0, end))
    figure.update_yaxes(title_text="share of instances", range=[-2, 103], ticksuffix=" %")
    return _dressed(figure, 400, legend=True)


def _factors(end: float) -> list[float]:
    """Round factors from 1 to `end`, the roundest first, none so close to another that their labels touch.

    >>> _factors(1.7), _factors(2e4)
    ([1.0, 1.05, 1.1, 1.2, 1.5], [1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 1000.0, 10000.0])
    """
    rounder = [10.0**power for power in range(7)]
    shown: list[float] = []
    for tick in (*rounder, 2.0, 5.0, 20.0, 50.0, 1.5, 3.0, 1.2, 1.1, 1.05, 1.02):
        if tick <= end and all(abs(np.log(tick / other)) > 0.05 * np.log(end) for other in shown):
            shown.append(tick)
    return sorted(shown)


def over_time_chart(
    curves: Mapping[str, Curve], ends: Mapping[str, tuple[float, float]], order: Sequence[str], styles: Styles
) -> go.Figure:
    """Median gap over time; methods that report nothing on their way are points."""
    figure = go.Figure()
    for name in order:
        if name in curves:
            curve = curves[name]
            hover = [f"{name} after {duration(x)}: {percent(y)}" for x, y in zip(curve.x, curve.y, strict=True)]
            _add_curve(figure, name, curve.x, np.maximum(curve.y, GAP_FLOOR), styles, hover)
        elif name in ends:
            seconds, gap = ends[name]
            figure.add_scatter(
                x=[max(seconds, MIN_PLOTTED_SECONDS)], y=[max(gap, GAP_FLOOR)],
                name=name, mode="markers", marker=styles.marker(name),
                text=[f"{name}: {percent(gap)} after {duration(seconds)}"], hoverinfo="text",
            )  # fmt: skip
    times = [float(x) for curve in curves.values() for x in (curve.x[0], curve.x[-1])]
    times += [seconds for name, (seconds, _) in ends.items() if name not in curves]
    figure.update_xaxes(title_text="time since the start", **_log(SECONDS_TICKS, *_range(np.array(times))))
    figure.update_yaxes(title_text="median gap to the reference", **_log(GAP_TICKS, GAP_FLOOR, 1.0))
    return _dressed(figure, 440, legend=True)


def _add_curve(figure: go.Figure, name: str, x: np.ndarray, y: np.ndarray, styles: Styles, hover: list[str]) -> None:
    line = {**styles.line(name), "shape": "hv"}
    figure.add_scatter(x=_plain(x), y=_plain(y), name=name, mode="lines", line=line, text=hover, hoverinfo="text")


def _boxes(values: pd.Series, order: Sequence[str], styles: Styles, floor: float, words: Callable[[float], str]) -> go.Figure:
    figure = go.Figure()
    present = [name for name in order if name in values.index.get_level_values("method")]
    for name in reversed(present):
        method_values = values.loc[name]
        hover = [f"{name} on {instance}: {words(value)}" for instance, value in method_values.items()]
        colour = styles.colour(name)
        figure.add_box(
            x=_plain(np.maximum(method_values.to_numpy(), floor)), y=[name] * len(method_values), name=name, orientation="h",
            boxpoints="all" if len(method_values) <= 30 else "outliers", jitter=0.35, pointpos=0,
            text=hover, hoverinfo="text", hoveron="points", fillcolor="rgba(255,255,255,0)", showlegend=False,
            marker={"color": colour, "size": 5, "opacity": 0.55}, line={"color": colour, "width": 2},
        )  # fmt: skip
    figure.update_yaxes(type="category", showgrid=False)
    return _dressed(figure, 120 + 46 * max(1, len(present)), legend=False)


def _plain(values: np.ndarray) -> list[float]:
    """Six digits are enough to draw, and keep the page small."""
    return [float(f"{value:.6g}") for value in values]


def _log(ticks: Mapping[float, str], low: float, high: float) -> dict[str, object]:
    shown = {tick: text for tick, text in ticks.items() if low * 0.99 <= tick <= high * 1.01}
    pad = 0.03 * max(np.log10(high) - np.log10(low), 0.01)
    ends = [float(np.log10(low) - pad), float(np.log10(high) + pad)]
    return {"type": "log", "range": ends, "tickvals": list(shown), "ticktext": list(shown.values())}


def _range(seconds: np.ndarray) -> tuple[float, float]:
    """From a power of ten below the times to one above."""
    positive = seconds[seconds > 0] if seconds.size else np.array([1.0])
    low, high = np.floor(np.log10(max(positive.min(initial=1e9), 1e-6))), np.ceil(np.log10(max(positive.max(initial=1e-6), 1e-6)))
    return float(10**low), float(10 ** max(high, low + 1))


def _dressed(figure: go.Figure, height: int, *, legend: bool) -> go.Figure:
    """Light, with pale lines and one font."""
    figure.update_layout(
        template="none",
        height=height,
        font={"family": FONT, "size": 13, "color": INK},
        margin={"l": 70, "r": 24, "t": 16, "b": 56},
        paper_bgcolor="white",
        plot_bgcolor="white",
        showlegend=legend,
        legend={"orientation": "h", "x": 0, "xanchor": "left", "y": 1.02, "yanchor": "bottom", "font": {"size": 13}},
        hoverlabel={"bgcolor": "white", "bordercolor": LINE, "font": {"family": FONT, "size": 13, "color": INK}},
    )
    axis: dict[str, object] = {"gridcolor": GRID, "linecolor": LINE, "showline": True, "zeroline": False}
    axis |= {"ticks": "outside", "tickcolor": LINE, "automargin": True}
    figure.update_xaxes(**axis, title_standoff=10, title_font_size=13)
    figure.update_yaxes(**axis, title_standoff=10, title_font_size=13)
    return figure
