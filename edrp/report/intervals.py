"""Means with intervals and single values side by side, drawn as SVG in the colours of the page."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from html import escape
from typing import NamedTuple

from edrp.core.arrays import Floats
from edrp.core.tolerances import SAME_VALUE, WHOLE_NUMBER_SLACK
from edrp.report.estimates import Estimate
from edrp.report.formatting import Unit

WIDTH, ROW, MARGIN, AXIS = 350, 48, 24, 20
"""Width of a panel, height of a row with its name above its dots, margins left and right, and height of the axis below."""

SIGNS = 48
"""Signs of a name and its numbers that one line has room for."""

TICKS = 4
"""About so many ticks of an axis."""


class Dots(NamedTuple):
    """A row of a panel: a mean with its interval, and the values behind it."""

    estimate: Estimate
    values: Floats


def interval_figure(panels: Mapping[str, tuple[Unit, Mapping[str, Dots]]]) -> str:
    """Panels as markup, side by side where there is room.

    Parameters
    ----------
    panels
        By heading, how numbers are written, and the rows by name; names are text, whatever they hold.

    Examples
    --------
    >>> from numpy import array
    >>> row = Dots(Estimate(2.0, 1.0, 3.0), array([1.0, 3.0]))
    >>> figure = interval_figure({"cost (money)": (Unit(), {"<b>": row})})
    >>> figure.count("<circle"), "<b>" in figure
    (3, False)
    """
    drawn = (f"<div><p>{escape(heading)}</p>{_panel(unit, rows)}</div>" for heading, (unit, rows) in panels.items())
    return f'<div class="dots">{"".join(drawn)}</div>'


def nice_ticks(low: float, high: float) -> list[float]:
    """Round numbers from at most `low` to at least `high`.

    >>> nice_ticks(0.3, 9.2), nice_ticks(5.0, 5.0)
    ([0.0, 2.5, 5.0, 7.5, 10.0], [4.5, 5.0, 5.5])
    """
    if high <= low:
        reach = 0.1 * abs(low) or 1.0
        return [low - reach, low, low + reach]
    rough = (high - low) / TICKS
    size = 10.0 ** math.floor(math.log10(rough))
    step = next(factor * size for factor in (1.0, 2.0, 2.5, 5.0, 10.0) if factor * size >= rough * (1 - SAME_VALUE))
    first, last = math.floor(low / step + WHOLE_NUMBER_SLACK), math.ceil(high / step - WHOLE_NUMBER_SLACK)
    return [step * count for count in range(first, last + 1)]


def _panel(unit: Unit, rows: Mapping[str, Dots]) -> str:
    """One SVG; its axis holds all values and intervals."""
    ends = [end for row in rows.values() for end in row.estimate if end is not None]
    values = [*ends, *(float(value) for row in rows.values() for value in row.values)]
    ticks = nice_ticks(min(values), max(values))
    scale = (WIDTH - 2 * MARGIN) / (ticks[-1] - ticks[0])

    def at(value: float) -> float:
        return round(MARGIN + scale * (value - ticks[0]), 1)

    height = ROW * len(rows) + AXIS
    parts = [f'<path class="grid" d="M{at(tick)} 4V{height - AXIS}"/>' for tick in ticks]
    for index, (name, row) in enumerate(rows.items()):
        parts += _row(name, row, unit, ROW * index, at)
    for tick in ticks:
        label = f"{unit.scale * tick:,.6g}".replace("-", "−")
        parts.append(f'<text class="tick" x="{at(tick)}" y="{height - 4}">{label}</text>')
    return f'<svg viewBox="0 0 {WIDTH} {height}" aria-hidden="true">{"".join(parts)}</svg>'


def _row(name: str, row: Dots, unit: Unit, top: int, at: Callable[[float], float]) -> list[str]:
    """Name and numbers above a line with dots."""
    middle, mean = top + 30, row.estimate
    numbers = unit._replace(name="").with_interval(mean)
    room = SIGNS - len(numbers)
    short = name if len(name) <= room else f"{name[: room - 1]}…"
    parts = [
        f'<text x="0" y="{top + 15}">{escape(short)}<title>{escape(name)}</title></text>',
        f'<text class="number" x="{WIDTH}" y="{top + 15}">{escape(numbers)}</text>',
        *(f'<circle class="single" cx="{at(float(value))}" cy="{middle}" r="3"/>' for value in row.values),
    ]
    if mean.low is not None and mean.high is not None:
        parts.append(f'<path class="reach" d="M{at(mean.low)} {middle}H{at(mean.high)}"/>')
    return [*parts, f'<circle class="mean" cx="{at(mean.mean)}" cy="{middle}" r="5"/>']
