"""Tables and records of a report on a terminal, in a document, in a file."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.markup import escape
from rich.table import Table as RichTable

from edrp.validation.benchmark.table import Table


def console_table(table: Table) -> RichTable:
    """For a terminal; words are broken, numbers are not."""
    made = RichTable(
        title=escape(table.caption),
        title_justify="left",
        title_style="bold",
        box=SIMPLE_HEAD,
        pad_edge=False,
        padding=(0, 1, 0, 0),
    )
    for name in table.columns:
        right = name in table.right
        made.add_column(escape(name), justify="right" if right else "left", no_wrap=right)
    for row in table.rows:
        made.add_row(*(_dimmed(cell) for cell in row))
    return made


def _dimmed(cell: str) -> str:
    """What stands below ours, in less ink."""
    first, _, rest = cell.partition("\n")
    return f"{escape(first)}\n[dim]{escape(rest)}[/dim]" if rest else escape(first)


def markdown_table(table: Table) -> str:
    """For a document; what stands in two lines of a cell comes in brackets."""
    signs = ["---:" if name in table.right else "---" for name in table.columns]
    lines = [f"| {' | '.join(' '.join(name.split()) for name in table.columns)} |", f"|{'|'.join(signs)}|"]
    for label, *cells in table.rows:
        lines.append(f"| {' '.join(label.split())} | {' | '.join(map(_in_one_line, cells))} |")
    return "\n".join([f"{table.caption}:", "", *lines, ""])


def _in_one_line(cell: str) -> str:
    first, *rest = cell.split("\n")
    return f"{first} ({'; '.join(rest)})" if rest else first


def csv_text(records: Sequence[Mapping[str, Any]]) -> str:
    """Records as a CSV file; the first says which columns there are."""
    text = io.StringIO()
    writer = csv.DictWriter(text, list(records[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(records)
    return text.getvalue()
