"""Deployments over periods as tables: when something changes, what runs then, and what it costs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from edrp.cli.display.solution import metric_table
from edrp.cli.terminal import first_rows
from edrp.placement.deployment import counted
from edrp.placement.sequence import EdrpSequence, EdrpSequenceSolution, PeriodOutcome
from edrp.report.tables import Table

SHOWN_COURSES = 40
"""Rows after which the rest are only counted; the solution document has them all."""


def sequence_parts(problem: EdrpSequence, solution: EdrpSequenceSolution) -> Iterator[Table | str]:
    """One row for each time in which nothing changes, and the metrics of the whole."""
    if solution.periods is None:
        return
    yield from course_table(problem, solution.periods)
    yield metric_table(solution.metrics, solution.metric_units)


def course_table(problem: EdrpSequence, periods: Sequence[PeriodOutcome]) -> Iterator[Table | str]:
    """One row for each time in which nothing changes."""
    rows: list[tuple[str, ...]] = []
    begins = [t for t, period in enumerate(periods) if t == 0 or period.actions]
    for begin, end in zip(begins, [*begins[1:], len(periods)], strict=True):
        first = periods[begin]
        hours = sum(period.duration for period in problem.periods[begin:end]) / 3600
        placed = "; ".join(f"{name}: {counted(nodes)}" for name, nodes in first.deployment.items())
        replicas = sum(len(nodes) for nodes in first.deployment.values())
        cost = sum(period.cost for period in periods[begin:end])
        span = f"{begin}" if end == begin + 1 else f"{begin}–{end - 1}"
        rows.append(
            (span, f"{hours:.4g}", str(replicas), f"{cost:.6g}", f"{first.change_cost:.6g}" if first.actions else "", placed)
        )
    columns = ("periods", "hours", "replicas", "cost (s)", "change (s)", "nodes")
    yield from first_rows(columns, rows, SHOWN_COURSES, "changes", columns[1:5])
