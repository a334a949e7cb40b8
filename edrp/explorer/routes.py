"""Lines of a graph around its boxes, and its labels where no line runs."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from scipy.sparse.csgraph import shortest_path

from edrp.core.arrays import Floats
from edrp.explorer.view import Arrangement, Chip, Edge, Graph, Route

MAX_LINES, MAX_BOXES = 120, 100
"""Lines of a state, and boxes, beyond which no line goes around boxes: all lie beneath them."""

CHANNEL = 13.0
"""Distance from a box at which lines go around it, in pixels; boxes stand twice as far apart."""

CLEARANCE = 4.0
"""Distance that every line keeps from the boxes that it goes by."""

EDGE = 3.0
"""Distance that every line keeps from the left and the upper end of the drawing."""

LANES = (0.0, -4.0, 4.0)
"""By how much farther from a box lines bend that go around the same corner, one after the other."""

CHIP_MIDDLE = 10.0
"""Between the upper side of a chip and its ports, in pixels."""

RADIUS = 8.0
"""Length of a line that is cut off on both sides of a bend, in pixels."""

MARGIN = 8.0
"""Between the last line or label and the right or lower end of the drawing."""

LETTER, LABEL_HEIGHT = 6.4, 13.0
"""Width of a letter of a label and its height in pixels."""

INK = 2.0
"""Between a label and the ink of a line."""

ALONG = sorted(np.linspace(0.1, 0.9, 17), key=lambda share: abs(share - 0.5))
"""Where along its line a label may stand, the best place first."""

APART = (0.0, 6.0, 12.0, 18.0)
"""How much farther from its line than it needs to be, in pixels."""

ARC_TURN = 40.0
"""Length of a detour for which an arc goes to the side at which there is one less."""

CURVE = np.linspace(0.0, 1.0, 241)
BERNSTEIN = np.column_stack([(1 - CURVE) ** 3, 3 * CURVE * (1 - CURVE) ** 2, 3 * CURVE**2 * (1 - CURVE), CURVE**3])

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


class End(NamedTuple):
    """One end of a line: the number of its box, and the ports that it may take."""

    box: int
    ports: Sequence[Port]


@dataclass(slots=True)
class Way:
    """A line that was found: its path, and points along it at small distances."""

    path: str
    points: Floats
    width: float = 1.0


class Obstacles:
    """Boxes, and the shortest ways around them from corner to corner.

    Parameters
    ----------
    boxes : shape (n, 4)
        Left, upper, right and lower ends.
    """

    def __init__(self, boxes: Floats) -> None:
        self.boxes = boxes
        self._outward = np.tile([(-1.0, -1.0), (1.0, -1.0), (1.0, 1.0), (-1.0, 1.0)], (len(boxes), 1))
        self._corners = boxes[:, [0, 1, 2, 1, 2, 3, 0, 3]].reshape(-1, 2) + CHANNEL * self._outward
        self._bent: Counter[int] = Counter()

    def free(self, points: Floats, own: Iterable[int] = (), inside: float = 0.5) -> bool:
        """Whether points keep away from all boxes, and lie at most so far inside their own ones."""
        margin = np.full(len(self.boxes), CLEARANCE)
        margin[list(own)] = -inside
        x, y = points[:, :1], points[:, 1:]
        left, upper, right, lower = self.boxes.T
        within = (x > left - margin) & (x < right + margin) & (y > upper - margin) & (y < lower + margin)
        return bool(points.min() >= EDGE and not within.any())

    def way(self, source: End, target: End) -> list[Point]:
        """The shortest way between a port of each end, as the points at which it bends; empty where there is none.

        Where there is room for it, it bends next to the lines that go around the same corners.
        """
        ports, corners, own = [*source.ports, *target.ports], len(self._corners), len(source.ports)
        tips = [(port.x + CHANNEL * port.dx, port.y + CHANNEL * port.dy) for port in ports]  # where lines go around their boxes
        points = np.vstack([self._corners, tips])
        lengths = np.full((len(points), len(points)), np.inf)
        lengths[:corners, :corners], lengths[corners:] = self._between, self._lengths(points[corners:], points)
        begins = range(corners, corners + own)
        shortest, before = shortest_path(lengths, directed=False, indices=begins, return_predecessors=True)
        start, end = np.unravel_index(shortest[:, corners + own :].argmin(), (own, len(target.ports)))
        if not np.isfinite(shortest[start, corners + own + end]):
            return []
        way = [corners + own + int(end)]
        while way[-1] != begins[start]:
            way.append(int(before[start, way[-1]]))
        way.reverse()
        lanes = np.array([[LANES[self._bent[node] % len(LANES)] if node < corners else 0.0] for node in way])
        self._bent.update(way)
        moved = points[way] + lanes * np.vstack([self._outward, np.zeros((len(ports), 2))])[way]
        bends = moved if self.free(sampled(moved)) else points[way]
        return [ports[start].inner, *((float(x), float(y)) for x, y in bends), ports[own + end].inner]

    @cached_property
    def _between(self) -> Floats:
        """Lengths of the straight lines between corners."""
        return self._lengths(self._corners, self._corners)

    def _lengths(self, begins: Floats, ends: Floats) -> Floats:
        """Lengths of the straight lines from some points to others, infinite where a box or the end of the drawing is between."""
        begins, steps = begins[:, None], ends - begins[:, None]
        lengths = np.linalg.norm(steps, axis=2)
        lengths[np.minimum(begins, ends).min(axis=2) < EDGE] = np.inf
        for box in self.boxes.reshape(-1, 2, 2) + np.array([[-CLEARANCE], [CLEARANCE]]):
            with np.errstate(divide="ignore", invalid="ignore"):
                sides = np.sort([(side - begins) / steps for side in box], axis=0)  # shares of the line that lie in the box
            lengths[np.maximum(sides[0].max(axis=2), 0.0) < np.minimum(sides[1].min(axis=2), 1.0)] = np.inf
        return np.asarray(lengths)


def routed(graph: Graph) -> Graph:
    """The graph with the lines of all edges, links and tokens in each arrangement, and places for their labels.

    Lines go around boxes. Where boxes are too many for that, lines go straight and lie beneath them.
    """
    wide = [_Drawing(graph, arrangement) for arrangement in graph.arrangements]
    narrow = [None if one.narrow is None else _Drawing(graph, one.narrow) for one in graph.arrangements]
    arrangements = [
        replace(one.arranged(), narrow=None if other is None else other.arranged())
        for one, other in zip(wide, narrow, strict=True)
    ]
    around = all(one.around for one in (*wide, *narrow) if one is not None)
    return replace(graph, arrangements=arrangements, under=graph.under or not around)


class _Drawing:
    """One arrangement of a graph while its lines are found."""

    def __init__(self, graph: Graph, arrangement: Arrangement) -> None:
        self.graph, self.arrangement = graph, arrangement
        self.number = {box.id: index for index, box in enumerate(graph.boxes)}
        corners = np.array(arrangement.places, np.float64).reshape(-1, 2)
        sizes = np.array([(box.width, box.height) for box in graph.boxes], np.float64).reshape(-1, 2)
        self.obstacles = Obstacles(np.hstack([corners, corners + sizes]))
        self.around = len(sizes) <= MAX_BOXES and all(len(state.edges) <= MAX_LINES for state in graph.states)
        self.reach = np.zeros(2)
        self.labels: list[Floats] = []

    def arranged(self) -> Arrangement:
        """The arrangement with its lines, as large as they need it."""
        places = {name: End(index, _box_ports(self.obstacles.boxes[index])) for name, index in self.number.items()}
        links = self._ways(self.graph.links, places, straight=True)
        lines = []
        for state in self.graph.states:
            ends = places | self._chip_ends(state.chips)
            lines.append((self._ways(state.edges, ends), self._ways(state.other, ends)))
        ink = [*links, *(way for ways in lines for part in ways for way in part)]
        link_routes = self._labelled(self.graph.links, links, ink) if self.arrangement.labels else [*map(_route, links)]
        between = len(self.labels)
        streams = []
        for state, (ways, others) in zip(self.graph.states, lines, strict=True):
            streams.append([*self._labelled(state.edges, ways, [*ways, *others, *links]), *map(_route, others)])
            del self.labels[between:]  # those of one state are gone in the next
        pairs = dict.fromkeys((token.source, token.target) for token in self.graph.tokens)
        tokens = self._ways([Edge(source, target, 1.0) for source, target in pairs], places)
        named = {f"{u} {v}": way.path for (u, v), way in zip(pairs, tokens, strict=True) if way is not None}
        width, height = np.maximum(self.reach + MARGIN, (self.arrangement.width, self.arrangement.height))
        return replace(
            self.arrangement, width=float(width), height=float(height), links=link_routes, streams=streams, tokens=named
        )

    def _chip_ends(self, chips: Sequence[Chip]) -> dict[str, End]:
        """Chips leave their box straight to the sides at which no other chip stands in the way."""
        rows = defaultdict(list)
        for chip in chips:
            rows[chip.box, chip.y].append(chip.x)
        ends = {}
        for chip in chips:
            index, beside = self.number[chip.box], rows[chip.box, chip.y]
            left, upper, right, _ = self.obstacles.boxes[index]
            y, x = upper + chip.y + CHIP_MIDDLE, left + chip.x
            ports = [Port(right, y, 1.0, 0.0, (x + chip.width, y))] if chip.x == max(beside) else []
            ports += [Port(left, y, -1.0, 0.0, (x, y))] if chip.x == min(beside) else []
            ends[chip.id] = End(index, ports)
        return ends

    def _ways(self, edges: Sequence[Edge], ends: dict[str, End], *, straight: bool = False) -> list[Way | None]:
        """A line for each edge: a curve where nothing is in the way, else around boxes; None for an end that is not drawn.

        Parameters
        ----------
        straight
            Whether lines from middle to middle, beneath the boxes, are tried first.
        """
        taken: Counter[frozenset[Port] | tuple[float, float]] = Counter()
        ways: list[Way | None] = []
        for edge in edges:
            source, target = ends.get(edge.source), ends.get(edge.target)
            if source is None or target is None or edge.source == edge.target or not source.ports or not target.ports:
                ways.append(None)
                continue
            middle = self._straight(source, target) if straight else None
            line = middle or self._curve(source, target, taken)
            if line is None:  # around boxes; from the nearest ports, straight, where lines may cross boxes
                bends = self.obstacles.way(source, target) if self.around else []
                line = _rounded(bends or [source.ports[0].inner, target.ports[0].inner])
            line.width = edge.width
            ways.append(line)
        for way in ways:
            if way is not None:
                self.reach = np.maximum(self.reach, way.points.max(axis=0))
        return ways

    def _straight(self, source: End, target: End) -> Way | None:
        a, b = (self.obstacles.boxes[end.box].reshape(2, 2).mean(axis=0) for end in (source, target))
        points = sampled([(a[0], a[1]), (b[0], b[1])])
        if self.around and not self.obstacles.free(points, (source.box, target.box), np.inf):
            return None
        return Way(f"M{_at(*a)}L{_at(*b)}", points)

    def _curve(self, source: End, target: End, taken: Counter[frozenset[Port] | tuple[float, float]]) -> Way | None:
        """The shortest curve between two ports that no other line joins and that no box is in the way of."""
        own = (source.box, target.box)
        pairs = [
            (cost + (ARC_TURN * taken[p.dx, q.dx] if p.dx == q.dx else 0.0), index, p, q, bends)
            for index, (p, q) in enumerate((p, q) for p in source.ports for q in target.ports)
            for cost, bends in _bends(p, q, alone=source.box == target.box)
        ]
        for _, _, p, q, bends in sorted(pairs):
            control = np.array([(p.x, p.y), *bends, (q.x, q.y)])
            points = BERNSTEIN @ control
            ends = frozenset((p, q))
            if ends not in taken and (not self.around or self.obstacles.free(points, own)):
                taken[ends] += 1
                taken[p.dx, q.dx] += 1
                return Way(f"{_begin(p)}C{' '.join(_at(*at) for at in control[1:])}{_end(q)}", points)
        return None

    def _labelled(self, edges: Sequence[Edge], ways: Sequence[Way | None], lines: Sequence[Way | None]) -> list[Route | None]:
        """Routes with places for the labels of their edges, away from all lines, boxes and other labels, where there are any."""
        if not any(edge.label for edge in edges):
            return [_route(way) for way in ways]
        inked = [np.column_stack([way.points, np.full(len(way.points), way.width / 2 + INK)]) for way in lines if way is not None]
        ink = np.concatenate(inked or [np.zeros((0, 3))])
        routes: list[Route | None] = []
        for edge, way in zip(edges, ways, strict=True):
            place = None if way is None or not edge.label else self._label_place(edge, way, ink)
            if way is None or place is None:
                routes.append(_route(way))
                continue
            rect, anchor = place
            self.labels.append(rect)
            self.reach = np.maximum(self.reach, rect[2:])
            routes.append(Route(way.path, anchor))
        return routes

    def _label_place(self, edge: Edge, way: Way, ink: Floats) -> tuple[Floats, Point] | None:
        """The rectangle of a label and the middle of its base line; None where every place is taken."""
        half, gap = LETTER * len(edge.label) / 2 + 1, INK + 0.5 + edge.width / 2
        on_line = way.points[[int(share * (len(way.points) - 1)) for share in ALONG]]
        above, beside = LABEL_HEIGHT / 2 + gap, half + gap
        steps = [
            (right * (beside + more), down * (above + more))
            for more in APART
            for right, down in ((0, -1), (0, 1), (1, 0), (-1, 0))
        ]
        middles = (np.array(steps)[:, None] + on_line).reshape(-1, 2)
        extent = np.array([half, LABEL_HEIGHT / 2])
        rects = np.hstack([middles - extent, middles + extent])
        blocked = np.vstack([self.obstacles.boxes, *self.labels])
        hit = np.all((blocked[:, :2] < rects[:, None, 2:] + 1) & (blocked[:, 2:] > rects[:, None, :2] - 1), axis=2)
        for index in np.flatnonzero((rects.min(axis=1) >= 2) & ~np.any(hit, axis=1)):
            rect = rects[index]
            near = (ink[:, :2] > rect[:2] - ink[:, 2:]) & (ink[:, :2] < rect[2:] + ink[:, 2:])
            if not np.all(near, axis=1).any():
                u, v = middles[index]
                return rect, (round(float(u), 1), round(float(v) + 4, 1))
        return None


def _box_ports(box: Floats) -> list[Port]:
    """The middles of all four sides."""
    left, upper, right, lower = map(float, box)
    x, y = (left + right) / 2, (upper + lower) / 2
    sides = ((right, y, 1.0, 0.0), (left, y, -1.0, 0.0), (x, lower, 0.0, 1.0), (x, upper, 0.0, -1.0))
    return [Port(*side, inner=side[:2]) for side in sides]


def _bends(p: Port, q: Port, *, alone: bool) -> Iterator[tuple[float, tuple[Point, Point]]]:
    """The two inner control points of a curve from one port to another with its cost; nothing where one looks away.

    Parameters
    ----------
    alone
        Whether both are of one box, so that only an arc next to it is a way.
    """
    v, w = q.x - p.x, q.y - p.y
    ahead, behind, apart = v * p.dx + w * p.dy, -v * q.dx - w * q.dy, abs(v) + abs(w)
    if p.dx == q.dx and p.dy == q.dy:
        if abs(ahead) < 60:
            bend = 18 + min(40.0, apart / 5) + min(90.0, apart / 8)
            own, other = bend + max(0.0, ahead), bend + max(0.0, behind)
            yield 2 * apart + 60, ((p.x + own * p.dx, p.y + own * p.dy), (q.x + other * q.dx, q.y + other * q.dy))
    elif not alone and min(ahead, behind) >= 8:
        facing = p.dx == -q.dx and p.dy == -q.dy
        share = 0.5 if facing else 0.7
        cost = apart if facing and p.dx else apart + 24 if facing else 1.2 * apart + 60
        one, two = share * ahead, share * behind
        yield cost, ((p.x + one * p.dx, p.y + one * p.dy), (q.x + two * q.dx, q.y + two * q.dy))


def _route(way: Way | None) -> Route | None:
    return None if way is None else Route(way.path)


def _at(x: float, y: float) -> str:
    return f"{round(x, 1):g},{round(y, 1):g}"


def _begin(port: Port) -> str:
    """From inside a box to its side."""
    return f"M{_at(*port.inner)}" + ("" if port.inner == (port.x, port.y) else f"L{_at(port.x, port.y)}")


def _end(port: Port) -> str:
    """From the side of a box to where the line ends."""
    return "" if port.inner == (port.x, port.y) else f"L{_at(*port.inner)}"


def _rounded(points: Sequence[Point]) -> Way:
    """A line along points with round bends.

    >>> _rounded([(0.0, 0.0), (20.0, 0.0), (20.0, 30.0)]).path
    'M0,0L12,0Q20,0 20,8L20,30'
    """
    points = [point for before, point in pairwise([(np.inf, np.inf), *points]) if np.hypot(*np.subtract(point, before)) > 0.01]
    path, line = f"M{_at(*points[0])}", [points[0]]
    for before, bend, after in zip(points, points[1:], points[2:], strict=False):
        x, y = bend
        ends = []
        for u, v in (before, after):
            length = np.hypot(u - x, v - y)
            share = min(RADIUS, length / 2) / length
            ends.append((x + (u - x) * share, y + (v - y) * share))
        path += f"L{_at(*ends[0])}Q{_at(*bend)} {_at(*ends[1])}"
        middle = np.average([ends[0], bend, ends[1]], axis=0, weights=(1, 2, 1))
        line += [ends[0], (middle[0], middle[1]), ends[1]]
    return Way(f"{path}L{_at(*points[-1])}", sampled([*line, points[-1]]))


def sampled(points: Sequence[Point], step: float = 5.0) -> Floats:
    """Points along a line at small distances, shape (n, 2)."""
    parts = []
    for (x, y), (u, v) in pairwise(points):
        count = max(2, int(max(abs(u - x), abs(v - y)) / step) + 2)
        parts.append(np.column_stack([np.linspace(x, u, count), np.linspace(y, v, count)]))
    return np.concatenate(parts)
