"""Charts of largest rates: what one unit more carries, and fronts of two metrics."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import isfinite

from edrp.carrying.bottleneck import Bottlenecks
from edrp.explorer.page import rendered
from edrp.explorer.view import Bar, Line, Row, Rows, Series, View, plain
from edrp.report.tables import Table


def gain_panel(bottlenecks: Bottlenecks) -> Rows:
    """A bar for each change with which more is carried, whose length is the gain in per cent."""
    gains = [(gain, 100 * gain.gain) for gain in bottlenecks.helpful if gain.gain is not None and isfinite(gain.gain)]
    rows = [Row(gain.change.words, [Bar(0.0, percent, bottlenecks.rate_text(gain))]) for gain, percent in gains]
    note = "Gain over the largest rate. " + " ".join(f"{sentence}." for sentence in bottlenecks.summary())
    return Rows("What one unit more carries", rows, max((percent for _, percent in gains), default=1.0), "%", note=note)


def front_page(title: str, kind: str, points: Sequence[tuple[float, float]], table: Table, verdict: str, *, proven: bool) -> str:
    """The page of a front: a line through its points, from the second metric to the first, and its table.

    Both metrics, of which `points` are values, name the first two columns of the table; the verdict is a sentence.
    """
    first, second = (name.partition(" (") for name in table.columns[:2])
    line = Line(first[0], sorted((x, y) for y, x in points))
    units = (first[2].rstrip(")"), second[2].rstrip(")"))
    chart = Series(f"{first[0]} against {second[0]}", [line], max(x for _, x in points), *units, timed=False)
    head = {
        "kind": kind,
        "verdict": {"text": "Complete" if proven else "Not complete", "tone": "good" if proven else "fair", "meaning": verdict},
        "certificate": {"text": "not certified", "tone": "plain", "hint": "Each point has its own proof; see the table."},
        **dict.fromkeys(("facts", "notes", "clashes"), ()),
    }
    return rendered({"title": title, **head, **plain(View([chart, replace(table, caption="Points")]))})
