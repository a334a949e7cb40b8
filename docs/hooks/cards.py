"""Names the column in every cell of tables with few columns, of which narrow screens show each row as a card."""

from __future__ import annotations

import re

MAX_COLUMNS = 6
"""Wider tables are mostly numbers, which scroll."""

TABLE = re.compile(r"<table>\n<thead>.*?</table>", re.DOTALL)
ROW = re.compile(r"<tr>\n.*?</tr>", re.DOTALL)


def on_page_content(html: str, **_: object) -> str:
    """Prepare the tables of a page."""
    return TABLE.sub(lambda found: as_cards(found[0]), html)


def as_cards(table: str) -> str:
    """The table with the heads of its columns as data of its cells, unless it has too many columns."""
    heads = [re.sub(r"<[^>]*>", "", head).replace('"', "&quot;") for head in re.findall(r"<th[^>]*>(.*?)</th>", table)]
    if len(heads) > MAX_COLUMNS:
        return table

    def named(row: re.Match[str]) -> str:
        columns = iter(heads)
        return re.sub(r"<td", lambda _: f'<td data-head="{next(columns, "")}"', row[0])

    return ROW.sub(named, table).replace("<table>", "<table data-cards>", 1)
