"""A page as data: what is to be drawn where, computed here so that the script only has to draw it.

Lengths are in CSS pixels, times in the unit of the page's timeline. Colours are numbers of a palette, ids are ours: names of the
user appear nowhere but in texts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from edrp.core.errors import visible
from edrp.report.tables import Table

Tone = Literal["good", "fair", "bad", "plain"]


@dataclass(frozen=True, slots=True)
class Detail:
    """Details of an element, shown when it is clicked on: rows of a name and a value, and sentences."""

    title: str
    rows: Sequence[tuple[str, str]] = ()
    lines: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Box:
    """A node, host or operator of a graph.

    Attributes
    ----------
    id, label, note : `note` is a second line.
    share : in use, 0 to 1 and above; None for no bar.
    """

    id: str
    label: str
    width: float
    height: float
    note: str = ""
    share: float | None = None
    muted: bool = False
    hot: bool = False
    colour: int | None = None
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Chip:
    """Replicas of an operator, or what else is in a box; chips of one id move between states.

    Attributes
    ----------
    id, box, label : `box` is the id of a box.
    hot : whether it is on the critical path.
    change : "new" or "gone" where states are compared, "other" for what only the second best has.
    """

    id: str
    box: str
    label: str
    x: float
    y: float
    width: float
    colour: int
    hot: bool = False
    change: str = ""
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Edge:
    """A stream from one box or chip to another.

    Attributes
    ----------
    source, target : ids.
    hot, dashed, colour : how it is drawn; without a colour it is grey.
    """

    source: str
    target: str
    width: float
    hot: bool = False
    dashed: bool = False
    colour: int | None = None
    label: str = ""
    detail: str = ""


@dataclass(frozen=True, slots=True)
class State:
    """The state of a graph from a time on; `other` is what is laid over it on demand.

    Attributes
    ----------
    shares, notes : of all boxes from that time on, in their order; empty where boxes stay as they are.
    """

    time: float
    chips: Sequence[Chip] = ()
    edges: Sequence[Edge] = ()
    other: Sequence[Edge] = ()
    shares: Sequence[float | None] = ()
    notes: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Token:
    """Something that is on its way from one box to another from a time to another."""

    source: str
    target: str
    begin: float
    end: float
    label: str
    colour: int = 0


@dataclass(frozen=True, slots=True)
class Route:
    """The line of an edge as an SVG path, and the middle of the base line of its label; None for a label that has no room."""

    path: str
    label: tuple[float, float] | None = None


@dataclass(frozen=True, slots=True)
class Arrangement:
    """Places of the upper left corners of all boxes, and the lines between them.

    Attributes
    ----------
    width, height : of the drawing.
    labels : whether links are labelled.
    links : lines of the links.
    streams : for each state the lines of its edges, and then of its other ones; None where an end is not drawn.
    tokens : paths of tokens by the ids of source and target.
    narrow : the arrangement that takes its place on narrow screens; None for none.
    """

    name: str
    places: Sequence[tuple[float, float]]
    width: float
    height: float
    labels: bool = False
    links: Sequence[Route | None] = ()
    streams: Sequence[Sequence[Route | None]] = ()
    tokens: Mapping[str, str] = field(default_factory=dict)
    narrow: Arrangement | None = None


@dataclass(frozen=True, slots=True)
class Graph:
    """Boxes with chips and edges between them.

    Attributes
    ----------
    title, note : `note` is a sentence above the drawing.
    boxes, links : links are lines between boxes that are always there.
    arrangements : the first is shown first.
    states : in order of time, at least one.
    tokens : what moves.
    overlay : name of what `other` of the states and chips of change "other" are; empty without.
    legend : colours and dashes in words.
    under : whether edges lie beneath the boxes.
    """

    title: str
    boxes: Sequence[Box]
    arrangements: Sequence[Arrangement]
    states: Sequence[State]
    links: Sequence[Edge] = ()
    tokens: Sequence[Token] = ()
    overlay: str = ""
    note: str = ""
    legend: Sequence[tuple[str, str]] = ()
    under: bool = False
    type: str = "graph"


@dataclass(frozen=True, slots=True)
class Bar:
    """A stretch of a row; `height` is its share of the row's height."""

    begin: float
    end: float
    label: str = ""
    colour: int = 0
    height: float = 1.0
    marked: bool = False
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Row:
    """A row of bars; `at` is the time of the slider that it belongs to."""

    label: str
    bars: Sequence[Bar]
    at: float | None = None


@dataclass(frozen=True, slots=True)
class Rows:
    """Rows of bars over a common axis: hosts over time, or tasks of nodes.

    Attributes
    ----------
    title, rows, end, unit : the axis goes from 0 to `end`, in `unit`.
    timed : whether the axis is that of the slider.
    """

    title: str
    rows: Sequence[Row]
    end: float
    unit: str
    timed: bool = False
    note: str = ""
    legend: Sequence[tuple[str, str]] = ()
    type: str = "rows"


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a diagram: points (time, value), joined by steps where `step`; a gap where a value is infinite.

    The area below it is `filled` or not; of stacked areas the sum of all comes first.
    """

    name: str
    points: Sequence[tuple[float, float]]
    colour: int = 0
    step: bool = True
    dashed: bool = False
    filled: bool = False


@dataclass(frozen=True, slots=True)
class Series:
    """Lines over time, whose values have one unit."""

    title: str
    lines: Sequence[Line]
    end: float
    unit: str
    time_unit: str
    timed: bool = True
    note: str = ""
    type: str = "series"


@dataclass(frozen=True, slots=True)
class Limit:
    """One limit: its value, what is used of it, and what it costs."""

    name: str
    value: str
    limit: str
    used: float
    slack: str
    price: str = ""


@dataclass(frozen=True, slots=True)
class LimitsPanel:
    """Limits with their slack and price."""

    title: str
    limits: Sequence[Limit]
    note: str = ""
    type: str = "limits"


Panel = Graph | Rows | Series | LimitsPanel | Table


@dataclass(frozen=True, slots=True)
class Timeline:
    """The slider: from 0 to `end`, at first at `start`.

    Attributes
    ----------
    title, unit : `unit` is empty where stops have labels of their own.
    stops : times with labels at which it stops; none for any time.
    seconds : that playing all of it takes.
    """

    title: str
    end: float
    unit: str = ""
    start: float = 0.0
    stops: Sequence[tuple[float, str]] = ()
    seconds: float = 8.0


BEFORE_AND_AFTER = ((0.0, "now"), (1.0, "afterwards"))
"""Stops of the slider where a change takes no time."""


@dataclass(frozen=True, slots=True)
class Change:
    """A reconfiguration: rows over time, what moves, the slider, and a sentence where rows would show nothing."""

    rows: Rows
    tokens: Sequence[Token]
    timeline: Timeline
    sentence: str = ""


@dataclass(frozen=True, slots=True)
class View:
    """The view of a problem and its solution that a kind provides, below the verdict that all kinds share.

    Attributes
    ----------
    panels : from top to bottom.
    details : by the keys that elements of the panels name.
    timeline : the slider; None for none.
    lines : sentences above the panels.
    side : tables below the details, beside the panels.
    """

    panels: Sequence[Panel]
    details: Mapping[str, Detail] = field(default_factory=dict)
    timeline: Timeline | None = None
    lines: Sequence[str] = ()
    side: Sequence[Table] = ()


def plain(value: Any) -> Any:
    """A view as JSON knows it: objects without the fields that have their default, and numbers of six digits.

    Hidden characters of texts are written as escapes.

    >>> plain(Line("load", [(0.0, 1 / 3)], step=True))
    {'name': 'load', 'points': [[0, 0.333333]]}
    """
    if isinstance(value, Table):
        # A table as the script draws it; one without a caption is named after what its rows are.
        right = [index for index, name in enumerate(value.columns) if name in value.right]
        title = value.caption or f"{value.columns[0].capitalize()}s"
        drawn = {"type": "table", "title": title, "columns": value.columns, "rows": value.rows, "right": right}
        return plain({**drawn, "note": value.note})
    if isinstance(value, float):
        # A number of six digits; None where it is not finite, which JSON cannot say.
        if value != value or value in (float("inf"), float("-inf")):
            return None
        rounded = float(f"{value:.6g}")
        return int(rounded) if rounded == int(rounded) and abs(rounded) < 1e15 else rounded
    if isinstance(value, str):
        return visible(value)
    if isinstance(value, Mapping):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    fields = getattr(value, "__dataclass_fields__", None)
    if fields is None:
        return value
    pairs = ((name, getattr(value, name), described.default) for name, described in fields.items())
    return {name: plain(item) for name, item, default in pairs if name == "type" or (item is not default and item != default)}
