"""Free channels between boxes, and the shortest ways along them: no way comes near a box that it does not end at."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import dijkstra

from edrp.core.arrays import Floats

CHANNEL = 13.0
"""Distance from the side of a box to the middle of the channel next to it, in pixels; boxes stand twice as far apart."""

CLEARANCE = 4.0
"""Distance that every line keeps from the boxes that it goes by."""

EDGE = 3.0
"""Distance that every line keeps from the left and the upper end of the drawing."""

BEND = 30.0
"""Length of a detour that is worth one bend less."""

MAX_CROSSINGS = 10_000
"""Crossings of channels up to which ways are looked for; beyond, lines go straight and lie beneath the boxes."""

Point = tuple[float, float]


class Port(NamedTuple):
    """A point on the side of a box where a line may leave it, and the direction away from the box.

    Attributes
    ----------
    inner : where the line begins inside the box, straight behind the port: the side of a chip, or the port itself.
    """

    x: float
    y: float
    dx: float
    dy: float
    inner: Point


class Channels:
    """A grid of channels to all sides of all boxes.

    Parameters
    ----------
    boxes : shape (n, 4)
        Left, upper, right and lower ends.
    """

    def __init__(self, boxes: Floats) -> None:
        self.boxes = boxes
        self._xs = _lines(boxes[:, 0], boxes[:, 2])
        self._ys = _lines(boxes[:, 1], boxes[:, 3])
        self._trees: dict[int, tuple[Floats, Floats]] = {}

    @property
    def too_many(self) -> bool:
        """Whether there are more crossings than ways are looked for in."""
        return self._xs.size * self._ys.size > MAX_CROSSINGS

    def way(self, sources: Iterable[tuple[Port, int]], targets: Iterable[tuple[Port, int]]) -> list[Point]:
        """The shortest way between two ports as points of a line of upright and level stretches; empty where there is none.

        Parameters
        ----------
        sources, targets
            Ports of which one is taken, with the numbers of their boxes.
        """
        ends = [end for port, box in targets for end in self._entries(port, box)]
        best: tuple[float, int, int, Port, Port] | None = None
        for port, box in sources:
            for cost, start in self._entries(port, box):
                lengths = self._tree(start)[0]
                for (rest, end), target in zip(ends, (t for t, _ in targets for _ in range(2)), strict=True):
                    total = cost + float(lengths[end]) + rest
                    if np.isfinite(total) and (best is None or total < best[0] - 1e-9):
                        best = (total, start, end, port, target)
        if best is None:
            return []
        _, start, end, port, target = best
        return _without_idle_points([*self._tip(port), *self._trace(start, end), *reversed(self._tip(target))])

    def _tip(self, port: Port) -> list[Point]:
        """From the begin of a line inside its box to the middle of the channel."""
        return [port.inner, (port.x + CHANNEL * port.dx, port.y + CHANNEL * port.dy)]

    def _entries(self, port: Port, box: int) -> list[tuple[float, int]]:
        """Both corners at the side of a port: how far they are, and their numbers among the nodes of the grid."""
        left, upper, right, lower = self.boxes[box]
        x, y = port.x + CHANNEL * port.dx, port.y + CHANNEL * port.dy
        corners = [(x, upper - CHANNEL), (x, lower + CHANNEL)] if port.dx else [(left - CHANNEL, y), (right + CHANNEL, y)]
        return [(abs(u - x) + abs(v - y), self._node(u, v, int(port.dx != 0))) for u, v in corners]

    def _node(self, x: float, y: float, upright: int) -> int:
        column, row = np.abs(self._xs - x).argmin(), np.abs(self._ys - y).argmin()
        return int(2 * (column * self._ys.size + row) + upright)

    def _trace(self, start: int, end: int) -> list[Point]:
        before, node, points = self._tree(start)[1], end, []
        while node >= 0:
            column, row = divmod(node // 2, self._ys.size)
            points.append((float(self._xs[column]), float(self._ys[row])))
            node = int(before[node])
        return points[::-1]

    def _tree(self, start: int) -> tuple[Floats, Floats]:
        """Lengths of the shortest ways from a node to all, and the node before each."""
        if start not in self._trees:
            lengths, before = dijkstra(self._graph, directed=False, indices=start, return_predecessors=True)  # type: ignore[call-overload]
            self._trees[start] = lengths, before
        return self._trees[start]

    @cached_property
    def _graph(self) -> csr_array:
        """Every crossing twice, for lines that run across and upright, joined where a line may bend."""
        xs, ys = self._xs, self._ys
        across, upright = np.ones((xs.size - 1, ys.size), bool), np.ones((xs.size, ys.size - 1), bool)
        for left, upper, right, lower in self.boxes + np.array([-CLEARANCE, -CLEARANCE, CLEARANCE, CLEARANCE]):
            column, columns = np.searchsorted(xs, left, "right"), np.searchsorted(xs, right, "left")
            row, rows = np.searchsorted(ys, upper, "right"), np.searchsorted(ys, lower, "left")
            across[max(column - 1, 0) : columns, row:rows] = False
            upright[column:columns, max(row - 1, 0) : rows] = False
        number = 2 * np.arange(xs.size * ys.size).reshape(xs.size, ys.size)
        steps = [
            (number[:-1][across], number[1:][across], np.broadcast_to(np.diff(xs)[:, None], across.shape)[across]),
            (number[:, :-1][upright] + 1, number[:, 1:][upright] + 1, np.broadcast_to(np.diff(ys), upright.shape)[upright]),
            (number.ravel(), number.ravel() + 1, np.full(number.size, BEND)),
        ]
        tails, heads, lengths = (np.concatenate(parts) for parts in zip(*steps, strict=True))
        return csr_array((lengths, (tails, heads)), shape=(2 * number.size, 2 * number.size))

    def free(self, points: Floats, own: Iterable[int] = ()) -> bool:
        """Whether points keep away from all boxes, and do not lie inside their own ones."""
        margin = np.full(len(self.boxes), CLEARANCE)
        margin[list(own)] = -0.5
        x, y = points[:, :1], points[:, 1:]
        left, upper, right, lower = self.boxes.T
        inside = (x > left - margin) & (x < right + margin) & (y > upper - margin) & (y < lower + margin)
        return bool(points.min() >= EDGE and not inside.any())


def _lines(begins: Floats, ends: Floats) -> Floats:
    """The middles of the channels before and behind all boxes."""
    lines = np.unique(np.concatenate([begins - CHANNEL, ends + CHANNEL]).round(3))
    return lines[lines >= EDGE]


def _without_idle_points(points: list[Point]) -> list[Point]:
    """The line without the points at which it does not bend, and without the way there and back.

    >>> _without_idle_points([(0.0, 0.0), (4.0, 0.0), (9.0, 0.0), (9.0, 5.0)])
    [(0.0, 0.0), (9.0, 0.0), (9.0, 5.0)]
    """
    kept: list[Point] = []
    for point in points:
        if kept and max(abs(point[0] - kept[-1][0]), abs(point[1] - kept[-1][1])) < 0.01:
            continue
        while len(kept) > 1 and any(max(line) - min(line) < 0.01 for line in zip(*kept[-2:], point, strict=True)):
            kept.pop()
        kept.append(point)
    return kept


def sampled(points: list[Point], step: float = 5.0) -> Floats:
    """Points along a line at small distances, shape (n, 2)."""
    parts = []
    for (x, y), (u, v) in pairwise(points):
        count = max(2, int(max(abs(u - x), abs(v - y)) / step) + 2)
        parts.append(np.column_stack([np.linspace(x, u, count), np.linspace(y, v, count)]))
    return np.concatenate(parts)
