"""Deployments over periods as tables: when something changes, what runs then, and what it costs."""

from __future__ import annotations

from collections.abc import Iterator

from edrp.cli.display.solution import metric_table
from edrp.cli.terminal import table
from edrp.placement.deployment import counted
from edrp.placement.sequence import EdrpSequence, EdrpSequenceSolution
from edrp.report.tables import Table

SHOWN_COURSES = 40
"""Rows after which the rest are only counted; the solution document has them all."""


def sequence_parts(problem: EdrpSequence, solution: EdrpSequenceSolution) -> Iterator[Table | str]:
    """One row for each time in which nothing changes, and the metrics of the whole."""
    if solution.periods is None:
        return
    rows: list[tuple[str, ...]] = []
    begins = [t for t, period in enumerate(solution.periods) if t == 0 or period.actions]
    for begin, end in zip(begins, [*begins[1:], len(solution.periods)], strict=True):
        first = solution.periods[begin]
        hours = sum(period.duration for period in problem.periods[begin:end]) / 3600
        placed = "; ".join(f"{name}: {counted(nodes)}" for name, nodes in first.deployment.items())
        replicas = sum(len(nodes) for nodes in first.deployment.values())
        cost = sum(period.cost for period in solution.periods[begin:end])
        span = f"{begin}" if end == begin + 1 else f"{begin}–{end - 1}"
        rows.append(
            (span, f"{hours:.4g}", str(replicas), f"{cost:.6g}", f"{first.change_cost:.6g}" if first.actions else "", placed)
        )
    columns = ("periods", "hours", "replicas", "cost (s)", "change (s)", "nodes")
    yield table(columns, rows[:SHOWN_COURSES], right=columns[1:5])
    if len(rows) > SHOWN_COURSES:
        yield f"… and {len(rows) - SHOWN_COURSES} more changes"
    yield metric_table(solution.metrics, solution.metric_units)
