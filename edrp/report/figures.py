"""Figures without pyplot: nothing global, nothing shown on a screen; and diagrams of estimates over a quantity."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from rich.console import Console

from edrp.core.arrays import Floats
from edrp.core.errors import BackendUnavailableError
from edrp.core.files import naming_errors, writing
from edrp.report.estimates import Estimate, estimate_mean

GRID = "#e6e6e6"
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#4D4D4D")
"""From Okabe and Ito's palette, told apart by colour-blind eyes."""

MARKERS = ("o", "s", "^", "D", "v", "P")
PANEL_WIDTH, PANEL_HEIGHT = 3.0, 1.85
LEFT, BELOW, ABOVE, LEGEND = 0.65, 0.5, 0.35, 0.35
"""Inches: of a diagram, of the margins around it, and of a line of the legend."""

Curve = Mapping[float, Estimate]
"""Estimates by x; without ends they are drawn as a bare line."""


class Style(NamedTuple):
    """How a curve is drawn."""

    colour: str
    line: str = "-"
    marker: str = "o"


class Panel(NamedTuple):
    """One diagram of a figure.

    Attributes
    ----------
    scales : scales of the horizontal and the vertical axis, as matplotlib names them.
    floor, ceiling : ends of the vertical axis; None leaves them to the data.
    ticks : ticks of the vertical axis; none leaves them to matplotlib.
    """

    title: str
    x: str
    y: str
    curves: Mapping[str, Curve]
    scales: tuple[str, str] = ("linear", "linear")
    floor: float | None = 0.0
    ceiling: float | None = None
    ticks: tuple[float, ...] = ()


def blank_figure(width: float, height: float) -> Any:
    """An empty matplotlib figure of `width` × `height` inches, which can be saved as PNG or SVG.

    Raises
    ------
    BackendUnavailableError
        When matplotlib is not installed.
    """
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError as error:
        raise BackendUnavailableError('figures need the package matplotlib: pip install "edrp[plot]"') from error
    figure = Figure(figsize=(width, height))
    FigureCanvasAgg(figure)
    return figure


def unclutter(axes: Any) -> None:
    """Give axes small ticks and pale horizontal lines behind the curves, and take away the frame above."""
    axes.tick_params(labelsize=8)
    axes.grid(axis="y", color=GRID, linewidth=0.7)
    axes.set_axisbelow(True)
    axes.spines["top"].set_visible(False)


def mean_curve(samples: Mapping[float, Floats], scale: float = 1.0) -> Curve:
    """Means with their intervals over x.

    >>> from numpy import array
    >>> mean_curve({1.0: array([0.5])}, scale=100)
    {1.0: Estimate(mean=50.0, low=None, high=None)}
    """
    return {x: estimate_mean(scale * values) for x, values in samples.items() if values.size}


def draw_panels(
    panels: Sequence[Panel], path: Path, *, columns: int, title: str = "", styles: Mapping[str, Style] | None = None
) -> None:
    """Draw diagrams row by row with one legend below them all, intervals as bands; the file's ending says the format.

    Parameters
    ----------
    columns
        Diagrams side by side.
    """
    rows = -(-len(panels) // columns)
    names = list(dict.fromkeys(name for panel in panels for name in panel.curves))
    known = {name: Style(COLOURS[i % len(COLOURS)], marker=MARKERS[i % len(MARKERS)]) for i, name in enumerate(names)}
    known |= styles or {}
    across = max(1, min(len(names), 2 * columns))
    legend, head = LEGEND * -(-len(names) // across), LEGEND if title else 0.0
    width, height = columns * (LEFT + PANEL_WIDTH) + 0.1, rows * (BELOW + PANEL_HEIGHT + ABOVE) + legend + head
    figure = blank_figure(width, height)
    grid = figure.subplots(rows, columns, squeeze=False)
    figure.subplots_adjust(
        left=LEFT / width,
        right=1 - 0.1 / width,
        bottom=(legend + BELOW) / height,
        top=1 - (ABOVE + head) / height,
        wspace=LEFT / PANEL_WIDTH,
        hspace=(BELOW + ABOVE) / PANEL_HEIGHT,
    )
    handles: dict[str, Any] = {}
    for panel, axes in zip(panels, grid.flat, strict=False):
        _draw_panel(axes, panel, known)
        handles |= {name: handle for handle, name in zip(*axes.get_legend_handles_labels(), strict=True) if name not in handles}
    for axes in grid.flat[len(panels) :]:
        axes.set_visible(False)
    if title:
        figure.suptitle(title, fontsize=12, x=0.1 / width, ha="left", y=1 - 0.1 / height, va="top")
    figure.legend(handles.values(), handles.keys(), loc="lower center", ncols=across, frameon=False, fontsize=8.5)
    save_figure(figure, path)


def _draw_panel(axes: Any, panel: Panel, styles: Mapping[str, Style]) -> None:
    for name, curve in panel.curves.items():
        x, (colour, line, marker) = sorted(curve), styles[name]
        means = [curve[at].mean for at in x]
        axes.plot(x, means, color=colour, linestyle=line, marker=marker, markersize=3.5, linewidth=1.4, label=name)
        ends = ([curve[at].low for at in x], [curve[at].high for at in x])
        low, high = ([float("nan") if end is None else end for end in side] for side in ends)
        axes.fill_between(x, low, high, color=colour, alpha=0.18, linewidth=0)
    horizontal, vertical = panel.scales
    axes.set_yscale(vertical)
    if horizontal != "linear":
        shown = sorted({at for curve in panel.curves.values() for at in curve})
        axes.set_xscale(horizontal)
        axes.set_xticks(shown, [f"{at:g}" for at in shown])
        axes.minorticks_off()
    if panel.ticks:
        axes.set_yticks(panel.ticks, [f"{tick:g}" for tick in panel.ticks])
        axes.minorticks_off()
    if vertical == "linear" or panel.ceiling is not None:
        axes.set_ylim(panel.floor, panel.ceiling)
    axes.set_title(panel.title, fontsize=10, loc="left")
    axes.set_xlabel(panel.x, fontsize=8.5)
    axes.set_ylabel(panel.y, fontsize=8.5)
    unclutter(axes)


def save_figure(figure: Any, path: Path, *, dpi: int = 130) -> None:
    """Write a figure in the format that the ending of its path names; it appears whole or not at all."""
    with writing(path) as file:
        figure.savefig(file, dpi=dpi, format=path.suffix.removeprefix("."))


def draw(console: Console, out: Path | None, figures: dict[str, Callable[[Path], object]]) -> None:
    """Draw figures, by the names of their files, into a folder (None: not at all), and print these names.

    Without matplotlib nothing is drawn, and that is printed.
    """
    if out is None:
        return
    with naming_errors(out):
        out.mkdir(parents=True, exist_ok=True)
    try:
        for name, drawn_to in figures.items():
            drawn_to(out / name)
    except BackendUnavailableError as error:  # what has been computed is not lost for it
        console.print(f"not drawn: {', '.join(figures)}: {error}", markup=False, highlight=False, soft_wrap=True)
        return
    console.print(f"drawn: {', '.join(figures)}")
