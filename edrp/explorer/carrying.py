"""Charts of largest rates: what one unit more carries, and fronts of two metrics."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite

from edrp.carrying.bottleneck import Bottlenecks
from edrp.explorer.page import rendered
from edrp.explorer.view import Bar, Line, Panel, Row, Rows, Series, View, plain
from edrp.report.tables import Table


def gain_chart(bottlenecks: Bottlenecks) -> Rows:
    """A bar for each change with which more is carried, whose length is the gain in per cent."""
    gains = [(gain, 100 * gain.gain) for gain in bottlenecks.helpful if gain.gain is not None and isfinite(gain.gain)]
    rows = [Row(gain.change.words, [Bar(0.0, percent, bottlenecks.rate_text(gain))]) for gain, percent in gains]
    note = "Gain over the largest rate. " + " ".join(f"{sentence}." for sentence in bottlenecks.summary())
    return Rows("What one unit more carries", rows, max((percent for _, percent in gains), default=1.0), "%", note=note)


def front_chart(points: Sequence[tuple[float, float]], table: Table) -> Series:
    """A line through values of two metrics, from the second to the first, which name the first two columns of the table."""
    first, second = (name.partition(" (") for name in table.columns[:2])
    line = Line(first[0], sorted((x, y) for y, x in points))
    units = (first[2].rstrip(")"), second[2].rstrip(")"))
    return Series(f"{first[0]} against {second[0]}", [line], max(x for _, x in points), *units, timed=False)


def chart_page(title: str, meaning: str, *panels: Panel, proven: bool) -> str:
    """The page of charts and tables of kind edrp, with a sentence on what is proven."""
    head = {
        "kind": "edrp",
        "verdict": {"text": "Proven" if proven else "Not proven", "tone": "good" if proven else "fair", "meaning": meaning},
        "certificate": {"text": "not certified", "tone": "plain", "hint": "See the proofs on the page."},
        **dict.fromkeys(("facts", "notes", "clashes"), ()),
    }
    return rendered({"title": title, **head, **plain(View(panels))})
