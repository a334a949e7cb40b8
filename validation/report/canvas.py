"""Figures without pyplot: nothing global, nothing shown on a screen."""

from __future__ import annotations

from typing import Any

from edrp.core.errors import BackendUnavailableError

GRID = "#e6e6e6"


def blank_figure(width: float, height: float) -> Any:
    """An empty matplotlib figure of so many inches that can be saved as PNG.

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


def quiet(ax: Any) -> None:
    """Small ticks, pale horizontal lines behind the curves, no frame above."""
    ax.tick_params(labelsize=8)
    ax.grid(axis="y", color=GRID, linewidth=0.7)
    ax.set_axisbelow(True)
    ax.spines["top"].set_visible(False)
