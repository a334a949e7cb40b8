"""Boxes with chips in them: how large they are, and where chips stand."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple
from unicodedata import east_asian_width

from edrp.core.errors import visible
from edrp.explorer.view import Box, Chip

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
    """The box as large as so many items need it."""
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
