"""A table of the report on a terminal, in a document, in a file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.markup import escape
from rich.table import Table as RichTable

from edrp.validation.benchmark.table import Table
from edrp.validation.enactment.paper_tables import TABLE_NUMBERS
from edrp.validation.enactment.report_cells import Cell
from edrp.validation.enactment.report_runs import Samples
from edrp.validation.enactment.report_verdicts import Statement


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


def cell_records(cells: Iterable[Cell]) -> Iterator[dict[str, Any]]:
    """Cells as rows of a CSV file: shares and money, not per cent."""
    for cell in cells:
        yield {
            "table": TABLE_NUMBERS[cell.pattern],
            "pattern": cell.pattern,
            "policy": cell.column.policy,
            "unit_minutes": cell.column.unit,
            "quantity": cell.quantity,
            "mean": cell.ours.mean,
            "deviation": cell.ours.deviation,
            "paper_mean": cell.paper.mean,
            "paper_deviation": cell.paper.deviation,
            "difference": cell.difference,
        }


def comparison_records(found: Iterable[Statement]) -> Iterator[dict[str, Any]]:
    """Comparisons as rows of a CSV file: margins are shares."""
    for statement in found:
        for each in statement.comparisons:
            yield {
                "statement": statement.sentence,
                "section": statement.section,
                "comparison": each.where,
                "paper_margin": each.paper,
                "margin": each.ours.mean,
                "low": each.ours.low,
                "high": each.ours.high,
                "verdict": each.verdict,
            }


def metric_records(samples: Samples) -> Iterator[dict[str, Any]]:
    """Every metric of every policy as rows of a CSV file."""
    for (pattern, column), metrics in samples.items():
        for name, values in metrics.items():
            deviation = float(values.std(ddof=1)) if values.size > 1 else None
            place = {"pattern": pattern, "policy": column.policy, "unit_minutes": column.unit, "metric": name}
            yield {**place, "mean": float(values.mean()), "deviation": deviation}
