"""Cells, comparisons and metrics of enactment as rows of files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from edrp.validation.papers.enactment.cells import Cell
from edrp.validation.papers.enactment.printed_tables import TABLE_NUMBERS
from edrp.validation.papers.enactment.runs import Samples
from edrp.validation.papers.enactment.verdicts import Statement


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
