"""What a table of a report is, whatever it is about."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Table:
    """A table with a caption; cells of the columns in `right` are aligned to the right. The first cell of a row names it.

    A long one is folded up unless `open` says that nobody may overlook it.
    """

    caption: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    right: tuple[str, ...] = ()
    open: bool = False


def facts_table(caption: str, facts: Mapping[str, str]) -> Table:
    """Names and values."""
    return Table(caption, ("What", "Value"), tuple(facts.items()))
