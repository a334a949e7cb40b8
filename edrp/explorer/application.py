"""The application as a graph of its own: operators in layers along the streams."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from edrp.explorer.boxes import BOLD_LETTER, line_width, shortened
from edrp.explorer.layout import GAP_X, in_columns
from edrp.explorer.quantities import figure, quantity
from edrp.explorer.routes import routed
from edrp.explorer.view import Box, Detail, Edge, Graph, State
from edrp.placement.application import StreamGraph

WIDTHS, HEIGHT = (150.0, 230.0), 46.0
MAX_DRAWING_WIDTH = 1000.0
"""Width of a drawing whose texts are still large enough, in pixels."""

StreamName = tuple[str, str]


def layers(application: StreamGraph) -> dict[str, int]:
    """Number of streams on the longest way to each operator, streams that close a cycle left out."""
    layer = dict.fromkeys(application.topological_order, 0)
    for name in application.topological_order:
        for stream in application.streams:
            if stream.source == name and (name, stream.target) not in application.feedback:
                layer[stream.target] = max(layer[stream.target], layer[name] + 1)
    return layer


def application_graph(
    application: StreamGraph,
    notes: Mapping[str, str],
    details: dict[str, Detail],
    *,
    hot: Collection[str] = (),
    hot_streams: Collection[StreamName] = (),
) -> Graph:
    """Operators with a note each, and streams as wide as their rate; details of streams are added.

    Operator number i has the detail `o<i>` and the colour i.
    """
    layer = layers(application)
    names = [operator.name for operator in application.operators]
    columns = max(layer.values()) + 1
    width = _box_width(names, columns)
    boxes = [
        Box(
            f"a{index}",
            shortened(name, width - 28, BOLD_LETTER),
            width,
            HEIGHT,
            note=notes.get(name, ""),
            hot=name in hot,
            colour=index,
            detail=f"o{index}",
        )
        for index, name in enumerate(names)
    ]
    number = {name: index for index, name in enumerate(names)}
    rates = [application.rate(stream.source, stream.target) for stream in application.streams]
    edges = []
    for index, (stream, rate) in enumerate(zip(application.streams, rates, strict=True)):
        details[f"s{index}"] = Detail(
            f"{stream.source} → {stream.target}", [("rate", quantity(rate, "tuples/s")), ("partitioning", stream.partitioning)]
        )
        edges.append(
            Edge(
                f"a{number[stream.source]}",
                f"a{number[stream.target]}",
                line_width(rate, max(rates)),
                hot=(stream.source, stream.target) in hot_streams,
                dashed=(stream.source, stream.target) in application.feedback,
                label=f"{figure(rate)}/s" if rate and len(rates) <= 12 else "",
                detail=f"s{index}",
            )
        )
    place = in_columns("streams", [(width, HEIGHT)] * len(boxes), [float(layer[name]) for name in names], columns)
    legend = [("line", "stream, as wide as its rate (tuples/s)")]
    if hot:
        legend.append(("hot", "critical path"))
    return routed(Graph("Application", boxes, [place], [State(0.0, edges=edges)], legend=legend))


def _box_width(names: Sequence[str], columns: int) -> float:
    """Wide enough for the longest name, as far as all columns stay legible side by side."""
    wanted = max(map(len, names)) * BOLD_LETTER + 30.0
    return min(max(WIDTHS[0], min(wanted, MAX_DRAWING_WIDTH / columns - GAP_X)), WIDTHS[1])
