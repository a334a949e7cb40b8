"""Tables: one description, shown on a terminal, on pages, in notebooks and in Markdown."""

from __future__ import annotations

import html
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.markup import escape
from rich.table import Table as RichTable

from edrp.core.errors import visible

MAX_CELL = 300
"""Characters of a cell of a notebook; more of them stand for a document that is better opened as a file."""


@dataclass(frozen=True, slots=True)
class Table:
    """A table whose cells are texts; the first cell of a row names it, further lines of a cell are shown smaller.

    Attributes
    ----------
    caption, columns, rows : its content; an empty caption is not shown.
    right : columns that are aligned to the right.
    dim : columns that are printed dimly, such as a paper's values.
    note : explains the table, below it.
    open : whether a page shows it at once; otherwise it is folded up.
    """

    caption: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    right: tuple[str, ...] = ()
    dim: tuple[str, ...] = ()
    note: str = ""
    open: bool = False


def facts_table(caption: str, facts: Mapping[str, str]) -> Table:
    """Names and values."""
    return Table(caption, ("What", "Value"), tuple(facts.items()), open=True)


def cut_table(
    caption: str, columns: tuple[str, ...], rows: Sequence[tuple[str, ...]], right: tuple[str, ...], limit: int
) -> Table:
    """A table of the first rows up to a limit, and a note where there are more."""
    note = f"The first {limit} of {len(rows):,}." if len(rows) > limit else ""
    return Table(caption, columns, tuple(rows[:limit]), right, note=note)


def print_tables(console: Console, *tables: Table) -> None:
    """Print tables on a terminal, one below the other."""
    for table in tables:
        console.print(console_table(table))


def console_table(table: Table, *, ruled: bool = True) -> RichTable:
    """The table for a terminal: with a rule below its head and numbers that are not wrapped, or without both."""
    made = RichTable(
        title=escape(table.caption) or None,
        title_justify="left",
        title_style="bold",
        caption=escape(table.note) or None,
        caption_justify="left",
        box=SIMPLE_HEAD if ruled else None,
        pad_edge=False,
        padding=(0, 1, 0, 0) if ruled else (0, 1),
    )
    for name in table.columns:
        right = name in table.right
        made.add_column(
            escape(name),
            justify="right" if right else "left",
            no_wrap=right and ruled,
            overflow="ellipsis" if ruled else "fold",
            style="dim" if name in table.dim else None,
        )
    for row in table.rows:
        cells = (escape(cell).partition("\n") for cell in row)
        made.add_row(*(f"{first}\n[dim]{rest}[/dim]" if rest else first for first, _, rest in cells))
    return made


def markdown_table(table: Table) -> str:
    """The table for a Markdown document; further lines of a cell follow in brackets."""
    signs = ["---:" if name in table.right else "---" for name in table.columns]
    lines = [f"| {' | '.join(' '.join(name.split()) for name in table.columns)} |", f"|{'|'.join(signs)}|"]
    for label, *cells in table.rows:
        lines.append(f"| {' '.join(label.split())} | {' | '.join(map(_in_one_line, cells))} |")
    return "\n".join([f"{table.caption}:", "", *lines, ""])


def _in_one_line(cell: str) -> str:
    first, *rest = cell.split("\n")
    return f"{first} ({'; '.join(rest)})" if rest else first


def html_parts(title: str, parts: Iterable[object]) -> str:
    """Tables and sentences as HTML for a notebook; every text in them is escaped."""
    shown = "\n".join(_html_table(part) if isinstance(part, Table) else f"<p>{_safe(str(part))}</p>" for part in parts)
    return f"<div>\n<p><strong>{_safe(title)}</strong></p>\n{shown}\n</div>"


def _html_table(table: Table) -> str:
    """A table with its caption, header and cells."""
    sides = [f' style="text-align: {"right" if name in table.right else "left"}"' for name in table.columns]
    header = "".join(f"<th{side}>{_safe(name)}</th>" for side, name in zip(sides, table.columns, strict=True))
    body = "".join(
        f"<tr>{''.join(f'<td{side}>{_safe(cell)}</td>' for side, cell in zip(sides, row, strict=True))}</tr>"
        for row in table.rows
    )
    caption = f"<caption>{_safe(table.caption)}</caption>" if table.caption else ""
    content = f"{caption}<thead><tr>{header}</tr></thead><tbody>{body}</tbody>"
    return f'<div style="overflow-x: auto"><table>{content}</table></div>'


def _safe(text: str) -> str:
    """Text of which a browser executes nothing."""
    return html.escape(visible(text if len(text) <= MAX_CELL else f"{text[:MAX_CELL]}…"))
