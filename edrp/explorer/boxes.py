"""Boxes with chips in them: how large they are, and where chips stand."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from unicodedata import east_asian_width

from edrp.core.errors import visible
from edrp.explorer.view import Box, Chip

HEADER, CHIP_HEIGHT, PADDING = 47.0, 25.0, 8.0
CHIP_WIDTH, NARROW_CHIP = 146.0, 104.0
MAX_CHIPS = 24
"""Chips of a box beyond which the rest are one chip."""

LETTER = 6.7
"""Width of a letter of a chip in pixels."""


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
        count = f" ×{self.count}" if self.count != 1 else ""
        return shortened(self.name, width - 16 - LETTER * len(count)) + count


Content = Mapping[str, Sequence[Item]]
"""Items by id of their box."""


def most_items(contents: Sequence[Content]) -> dict[str, int]:
    """The largest number of items of each box in several contents."""
    most: dict[str, int] = {}
    for content in contents:
        for box, items in content.items():
            most[box] = max(most.get(box, 0), len(items))
    return most


def chips_of(content: Content, most: Mapping[str, int]) -> list[Chip]:
    """The chips of all boxes in their places; where a box has too many, those beyond are one chip.

    Parameters
    ----------
    content
        What is in the boxes.
    most
        The largest number of items of each box in any state, which decides how many stand side by side.
    """
    chips = []
    for box, items in content.items():
        shown = list(items)
        if len(shown) > MAX_CHIPS:
            rest = len(shown) - MAX_CHIPS + 1
            shown = [*shown[: MAX_CHIPS - 1], Item(f"{box}rest", f"{rest} more", shown[-1].colour)]
        columns, width = _columns(most[box])
        for index, item in enumerate(shown):
            x = PADDING + (index % columns) * (width + 6.0)
            y = HEADER + (index // columns) * CHIP_HEIGHT
            chips.append(Chip(item.id, box, item.label(width), x, y, width, item.colour, item.hot, item.change, item.detail))
    return chips


def fitted(box: Box, most: int) -> Box:
    """The box as large as so many items need it."""
    if not most:
        return box
    columns, width = _columns(most)
    rows = math.ceil(min(most, MAX_CHIPS) / columns)
    return replace(
        box,
        width=max(box.width, 2 * PADDING + columns * (width + 6.0) - 6.0),
        height=HEADER + rows * CHIP_HEIGHT + PADDING - 4.0,
        muted=False,
    )


def _columns(count: int) -> tuple[int, float]:
    """Columns of chips, and the width of a chip."""
    return (1, CHIP_WIDTH) if count <= 6 else (2, NARROW_CHIP)


def line_width(amount: float, largest: float) -> float:
    """Width of a line for an amount, by its root.

    >>> line_width(25.0, 100.0)
    4.0
    """
    return 1.0 + 6.0 * math.sqrt(max(amount, 0.0) / largest) if largest > 0 else 1.5
