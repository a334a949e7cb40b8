"""Charts of largest rates: what one unit more carries, and fronts of two metrics."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from edrp.carrying.bottleneck import MAX_GAINS, Bottlenecks, gain_table
from edrp.explorer.page import rendered
from edrp.explorer.view import Bar, Line, Panel, Row, Rows, Series, View, plain
from edrp.report.tables import Table


def gain_panels(bottlenecks: Bottlenecks) -> tuple[Panel, ...]:
    """A bar for each change with which more is carried, whose length is the gain in per cent, and a table of the same."""
    gains = [(gain, 100 * (gain.gain or 0.0)) for gain in bottlenecks.helpful if gain.percent][:MAX_GAINS]
    rows = [Row(gain.change.words, [Bar(0.0, percent, bottlenecks.rate_text(gain))]) for gain, percent in gains]
    note = "Gain over the largest rate. " + " ".join(f"{sentence}." for sentence in bottlenecks.summary())
    shown, end = gain_table(bottlenecks), max((percent for _, percent in gains), default=1.0)
    return (Rows(shown.caption, rows, end, "%", note=note), replace(shown, caption="Changes"))


def front_page(title: str, kind: str, points: Sequence[tuple[float, float]], table: Table, verdict: str, *, proven: bool) -> str:
    """The page of a front: a line through its points, from the second metric to the first, and its table.

    `points` are values of both metrics, after which, with their units, the first two columns of the table are named; the verdict
    says in a sentence what is proven.
    """
    first, second = (name.partition(" (") for name in table.columns[:2])
    line = Line(first[0], sorted((x, y) for y, x in points))
    end = max((x for _, x in points), default=1.0)
    units = (first[2].rstrip(")"), second[2].rstrip(")"))
    note = "Between two points the deployment of the left one is there."
    chart = Series(f"{first[0]} against {second[0]}", [line], end, *units, timed=False, note=note)
    head = {
        "kind": kind,
        "verdict": {"text": "Complete" if proven else "Not complete", "tone": "good" if proven else "fair", "meaning": verdict},
        "certificate": {"text": "not certified", "tone": "plain", "hint": "Each point has its own proof; see the table."},
        "facts": [("Points", str(len(points)))],
        "notes": [],
        "clashes": [],
    }
    return rendered({"title": title, **head, **plain(View([chart, replace(table, caption="Points")]))})
