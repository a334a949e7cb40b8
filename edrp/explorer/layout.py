"""Sizes of boxes with their chips, and where boxes stand: in columns along the streams, by distances, or by coordinates."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple
from unicodedata import east_asian_width

import numpy as np
from numpy.typing import ArrayLike
from threadpoolctl import threadpool_limits

from edrp.core.arrays import Floats
from edrp.core.errors import visible
from edrp.explorer.view import Arrangement, Box, Chip

HEADER, CHIP_HEIGHT, PADDING = 47.0, 25.0, 8.0
CHIP_WIDTHS, NARROW_CHIP_WIDTHS = (146.0, 210.0), (104.0, 176.0)
"""Least and largest widths of chips where they stand in one column, and where in two."""

MAX_CHIPS = 24
"""Chips of a box beyond which the rest are one chip."""

LETTER, BOLD_LETTER = 6.7, 7.7
"""Widths of a letter of a chip and of the title of a box in pixels."""


def shortened(name: str, width: float, letter: float = LETTER) -> str:
    """A name that fits a width in pixels, with an ellipsis where it does not; hidden characters are shown first.

    >>> shortened("parse-and-distribute-data", 100.0)
    'parse-and-dis…'
    """
    text, room = visible(name), width / letter
    widths = [2 if east_asian_width(character) in "WF" else 1 for character in text]
    if sum(widths) <= room:
        return text
    kept, used = "", 1
    for character, own in zip(text, widths, strict=True):
        if used + own > room:
            break
        kept, used = kept + character, used + own
    return kept + "…"


@dataclass(frozen=True, slots=True)
class Item:
    """A chip before it has a place: what is in which box, and how often.

    Attributes
    ----------
    id, name, colour, detail, hot, change : as of a `Chip`.
    count : shown where it is not 1.
    """

    id: str
    name: str
    colour: int
    count: int = 1
    detail: str = ""
    hot: bool = False
    change: str = ""

    def label(self, width: float) -> str:
        """The name with its count, as short as the width asks for."""
        return shortened(self.name, width - 16 - LETTER * len(self._suffix)) + self._suffix

    @property
    def letters(self) -> int:
        """Letters of the label in full."""
        return len(self.name) + len(self._suffix)

    @property
    def _suffix(self) -> str:
        return f" ×{self.count}" if self.count != 1 else ""


Content = Mapping[str, Sequence[Item]]
"""Items by id of their box."""


class Room(NamedTuple):
    """Needs of the items of a box: their largest number, and the letters of the longest."""

    items: int = 0
    letters: int = 0

    @property
    def columns(self) -> int:
        """How many chips stand side by side."""
        return 1 if self.items <= 6 else 2

    @property
    def width(self) -> float:
        """Width of a chip."""
        least, most = CHIP_WIDTHS if self.columns == 1 else NARROW_CHIP_WIDTHS
        return min(max(least, self.letters * LETTER + 18.0), most)


NO_ROOM = Room()


def rooms(contents: Sequence[Content]) -> dict[str, Room]:
    """The room that each box needs in several contents."""
    needed: dict[str, Room] = {}
    for content in contents:
        for box, items in content.items():
            known = needed.get(box, NO_ROOM)
            letters = max((item.letters for item in items), default=0)
            needed[box] = Room(max(known.items, len(items)), max(known.letters, letters))
    return needed


def chips_of(content: Content, needed: Mapping[str, Room]) -> list[Chip]:
    """The chips of all boxes in their places; where a box has too many, those beyond are one chip.

    Parameters
    ----------
    needed
        What each box needs in any state, which decides how wide chips are and how many stand side by side.
    """
    chips = []
    for box, items in content.items():
        shown = list(items)
        if len(shown) > MAX_CHIPS:
            rest = len(shown) - MAX_CHIPS + 1
            shown = [*shown[: MAX_CHIPS - 1], Item(f"{box}rest", f"{rest} more", shown[-1].colour)]
        columns, width = needed[box].columns, needed[box].width
        for index, item in enumerate(shown):
            x = PADDING + (index % columns) * (width + 6.0)
            y = HEADER + (index // columns) * CHIP_HEIGHT
            chips.append(Chip(item.id, box, item.label(width), x, y, width, item.colour, item.hot, item.change, item.detail))
    return chips


def fitted(box: Box, room: Room) -> Box:
    """The box as large as the items of its room need it."""
    if not room.items:
        return box
    columns, width = room.columns, room.width
    rows = math.ceil(min(room.items, MAX_CHIPS) / columns)
    return replace(
        box,
        width=max(box.width, 2 * PADDING + columns * (width + 6.0) - 6.0),
        height=HEADER + rows * CHIP_HEIGHT + PADDING - 4.0,
        muted=False,
    )


def line_width(amount: float, largest: float) -> float:
    """Width of a line for an amount, by its root.

    >>> line_width(25.0, 100.0)
    4.0
    """
    return 1.0 + 6.0 * math.sqrt(max(amount, 0.0) / largest) if largest > 0 else 1.5


GAP_X, GAP_Y, MARGIN = 64.0, 26.0, 24.0
GAP = 30.0
"""Between boxes that stand by distance or in a grid: two channels and a little more."""

ROW_GAP = 44.0
"""Between rows, with room for the labels of what runs from one to the next."""

NARROW_WIDTH = 430.0
"""Width of a drawing that is legible on a telephone."""

MIN_COLUMNS = 6
"""Ranks up to which each has a column of its own."""

SPREADING_STEPS = 400
STRESS_STEPS = 40

Size = tuple[float, float]


def in_columns(name: str, sizes: Sequence[Size], ranks: Sequence[float | None], wanted: int | None = None) -> Arrangement:
    """Boxes from left to right by their rank, in columns of about the same height; those without a rank in a grid below.

    Narrow screens have rows instead.

    >>> in_columns("flow", [(100.0, 40.0)] * 3, [0.0, 1.0, None]).places
    [(24.0, 24.0), (188.0, 24.0), (24.0, 108.0)]
    """
    ranked = sorted((rank, index) for index, rank in enumerate(ranks) if rank is not None)
    idle = [index for index, rank in enumerate(ranks) if rank is None]
    places: list[tuple[float, float]] = [(0.0, 0.0)] * len(sizes)
    columns = _columns(ranked, sizes, wanted)
    heights = [sum(sizes[index][1] + GAP_Y for index in column) - GAP_Y for column in columns]
    tallest, x = max(heights, default=0.0), MARGIN
    for column, height in zip(columns, heights, strict=True):
        y = MARGIN + (tallest - height) / 2
        for index in column:
            places[index] = (x, y)
            y += sizes[index][1] + GAP_Y
        x += max(sizes[index][0] for index in column) + GAP_X
    width = x - GAP_X + MARGIN if columns else 0.0
    y = MARGIN + tallest + (44.0 if columns and idle else 0.0)
    width, height = _grid(idle, sizes, places, y, max(width, 760.0 if len(idle) > 3 else width))
    return Arrangement(name, places, width, height, narrow=_in_rows(name, sizes, columns, idle))


def _in_rows(name: str, sizes: Sequence[Size], columns: list[list[int]], idle: list[int]) -> Arrangement:
    """The columns one below the other, each in rows that are narrow and start at the middle."""
    places: list[tuple[float, float]] = [(0.0, 0.0)] * len(sizes)
    rows: list[list[int]] = []
    for column in columns:
        rows.append([])
        for index in column:
            if rows[-1] and 2 * MARGIN + sum(sizes[one][0] + GAP_X for one in rows[-1]) + sizes[index][0] > NARROW_WIDTH:
                rows.append([])
            rows[-1].append(index)
    widths = [sum(sizes[index][0] + GAP_X for index in row) - GAP_X for row in rows]
    widest, y = max([NARROW_WIDTH - 2 * MARGIN, *widths]), MARGIN
    for row, width in zip(rows, widths, strict=True):
        x = MARGIN + (widest - width) / 2
        for index in row:
            places[index] = (x, y)
            x += sizes[index][0] + GAP_X
        y += max(sizes[index][1] for index in row) + ROW_GAP
    width, height = _grid(idle, sizes, places, y, widest + 2 * MARGIN)
    return Arrangement(name, places, width, height - (0.0 if idle else ROW_GAP))


def _columns(ranked: list[tuple[float, int]], sizes: Sequence[Size], wanted: int | None) -> list[list[int]]:
    """Indices by column: one for every rank where there are few, else about as many as make the drawing wider than high."""
    ranks = sorted({rank for rank, _ in ranked})
    area = sum((sizes[i][0] + GAP_X) * (sizes[i][1] + GAP_Y) for _, i in ranked)
    widest = max((sizes[i][0] for _, i in ranked), default=1.0) + GAP_X
    count = wanted or max(MIN_COLUMNS, round(math.sqrt(1.7 * area) / widest))
    if wanted is None and len(ranked) <= MIN_COLUMNS:
        return [[index] for _, index in ranked]
    if len(ranks) <= count:
        return [[index for own, index in ranked if own == rank] for rank in ranks]
    height = sum(sizes[i][1] + GAP_Y for _, i in ranked) / count
    columns: list[list[int]] = [[]]
    reached = 0.0
    for _, index in ranked:
        if reached > height - sizes[index][1] / 2 and len(columns) < count:
            columns.append([])
            reached = 0.0
        columns[-1].append(index)
        reached += sizes[index][1] + GAP_Y
    return columns


def _grid(idle: list[int], sizes: Sequence[Size], places: list[tuple[float, float]], top: float, width: float) -> Size:
    """Give boxes places row by row below the others; return the size of the whole drawing."""
    x, y, row = MARGIN, top, 0.0
    right = width
    for index in idle:
        box, height = sizes[index]
        if x > MARGIN and x + box + MARGIN > width:
            x, y, row = MARGIN, y + row + GAP, 0.0
        places[index] = (x, y)
        right = max(right, x + box + MARGIN)
        x, row = x + box + GAP, max(row, height)
    return right, y + row + MARGIN


def by_distance(name: str, sizes: Sequence[Size], distances: ArrayLike) -> Arrangement:
    """Boxes so that those at a small distance are near one another, as far as a plane allows: stress majorisation.

    Parameters
    ----------
    distances : shape (n, n)
        Infinite where nothing joins two boxes.
    """
    matrix = np.array(distances, np.float64)
    matrix = np.minimum(matrix, matrix.T)
    known = matrix[np.isfinite(matrix) & (matrix > 0)]
    matrix[~np.isfinite(matrix)] = 1.5 * known.max() if known.size else 1.0
    off = ~np.eye(len(matrix), dtype=bool)
    matrix[off] = np.maximum(matrix[off], 0.05 * matrix.max() if matrix.size and matrix.max() else 1.0)
    with threadpool_limits(limits=1):  # on shared cores small systems take longer with several threads
        points = _stress(matrix)
    return spread(name, sizes, points)


def on_the_map(name: str, sizes: Sequence[Size], coordinates: Sequence[tuple[float, float] | None]) -> Arrangement | None:
    """Boxes by longitude and latitude (degrees), as an equirectangular projection has them; None where any are not known."""
    known = [place for place in coordinates if place is not None]
    if len(known) < len(sizes) or len(set(known)) < 2:
        return None
    degrees = np.array(known, np.float64)
    points = np.column_stack([degrees[:, 0] * math.cos(math.radians(degrees[:, 1].mean())), -degrees[:, 1]])
    return spread(name, sizes, points)


def _stress(distances: Floats) -> Floats:
    """Points in the plane for distances, shape (n, 2): classical scaling, then majorisation with weights 1/d²."""
    n = len(distances)
    if n < 2:
        return np.zeros((n, 2))
    centre = np.eye(n) - 1.0 / n
    values, vectors = np.linalg.eigh(-0.5 * centre @ distances**2 @ centre)
    points = vectors[:, -2:][:, ::-1] * np.sqrt(np.maximum(values[-2:][::-1], 0.0))
    points = points + 1e-3 * distances.max() * np.column_stack([np.cos(np.arange(n)), np.sin(np.arange(n))])
    weights = 1.0 / np.where(np.eye(n, dtype=bool), np.inf, distances) ** 2
    laplacian = np.diag(weights.sum(axis=1)) - weights
    inverse = np.linalg.inv(laplacian + 1.0 / n) - 1.0 / n  # the pseudo-inverse: only moving all points changes nothing
    for _ in range(STRESS_STEPS):
        apart = np.linalg.norm(points[:, None] - points[None], axis=2)
        pull = -weights * distances / np.where(apart > 1e-12, apart, np.inf)
        np.fill_diagonal(pull, 0.0)
        np.fill_diagonal(pull, -pull.sum(axis=1))
        points = inverse @ (pull @ points)
    return np.asarray(points)


def spread(name: str, sizes: Sequence[Size], points: Floats) -> Arrangement:
    """Boxes around given points, shape (n, 2), scaled and pushed apart until none overlap."""
    size = np.array(sizes, np.float64)
    n = len(size)
    low, extent = points.min(axis=0), np.maximum(np.ptp(points, axis=0), 1e-12)
    scale = np.sqrt(2.6 * n) * (size.mean(axis=0) + np.array([30.0, 24.0])) * np.array([0.85, 0.8])
    if n > 1 and extent.min() > 1e-9:  # keep the shape as far as the drawing stays wider than high
        ratio = np.clip(extent[0] / extent[1], 1.1, 2.6)
        area = scale[0] * scale[1]
        scale = np.array([math.sqrt(area * ratio), math.sqrt(area / ratio)])
    centres = (points - low) / extent * scale
    padded = size + GAP
    for _ in range(SPREADING_STEPS):
        delta = centres[:, None] - centres[None]
        overlap = (padded[:, None] + padded[None]) / 2 - np.abs(delta)
        hit = (overlap > 0).all(axis=2) & ~np.eye(n, dtype=bool)
        if not hit.any():
            break
        along_x = overlap[..., 0] / padded[:, None, 0] < overlap[..., 1] / padded[:, None, 1]
        sign = np.where(np.abs(delta) > 1e-9, np.sign(delta), np.sign(np.arange(n)[:, None] - np.arange(n)[None])[..., None])
        push = np.where(hit[..., None], sign * overlap * 0.45, 0.0)
        push[..., 0] *= along_x
        push[..., 1] *= ~along_x
        centres = centres + push.sum(axis=1)
    corners = centres - size / 2
    corners -= corners.min(axis=0) - MARGIN
    width, height = (corners + size).max(axis=0) + MARGIN
    return Arrangement(name, [(float(x), float(y)) for x, y in corners.round(1)], float(width), float(height), True)
