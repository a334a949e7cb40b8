"""The experiments of state migration, section 6, on real series and two applications: printed and drawn."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from rich.console import Console
from rich.markup import escape

from edrp.report.estimates import Estimate
from edrp.report.figures import draw
from edrp.report.formatting import NONE, SHARE
from edrp.report.progress import working
from edrp.report.statements import Statement, print_statements
from edrp.report.tables import Table, print_tables
from edrp.validation.papers.state_migration.experiments import (
    DISCOUNT,
    DISCOUNTS,
    LONG_RUN,
    TASK_NUMBERS,
    TOLERANCE,
    TOLERANCES,
    PolicyRow,
    PrecomputedRow,
    discount_grid,
    precomputation_grid,
    task_grid,
    tolerance_grid,
)
from edrp.validation.papers.state_migration.figures import (
    draw_costs_against_tolerance,
    draw_discounts,
    draw_precomputation,
    draw_task_numbers,
    draw_times_against_tolerance,
)
from edrp.validation.papers.state_migration.node_count_series import HIGH, LOW, MONTH, real_series
from edrp.validation.papers.state_migration.statements import (
    MEASURED_ELSEWHERE,
    discount_statements,
    pattern_statements,
    task_statements,
    time_statements,
    tolerance_statements,
)
from edrp.validation.papers.state_migration.task_loads import PatternLoads, PatternStreams
from edrp.validation.simulation.migration.policies import MTM, SINGLE_STEP

NOTES = (
    "WC: word count; FP: maximal frequent patterns of words in a sliding window.",
    'The paper\'s "τ = 1.2" is read as 1 + τ = 1.2. In brackets: % of the migrations that break the load limit.',
    f"Long run: over all migrations after the month, at most {LONG_RUN}.",
)
LOADS = {
    True: "Work and state of the tasks are those at each migration; policies are prepared for the work of the month.",
    False: "Work and state of the tasks are those of the whole series, at all times.",
}

FIGURES: dict[str, tuple[str, Callable[[Any, Path], None]]] = {
    "tolerance": ("fig9-cost-against-tolerance.png", draw_costs_against_tolerance),
    "time": ("fig10-time-against-tolerance.png", draw_times_against_tolerance),
    "precomputation": ("fig11-precomputation.png", draw_precomputation),
    "tasks": ("fig12-number-of-tasks.png", draw_task_numbers),
    "discount": ("fig14-discount.png", draw_discounts),
}
"""Files by the rows that are drawn, and what draws them."""


class Evaluation(NamedTuple):
    """Rows of all experiments, by the figures that show them."""

    tolerance: list[PolicyRow]
    precomputation: list[PrecomputedRow]
    tasks: list[PolicyRow]
    discount: list[PolicyRow]
    streams: dict[str, PatternStreams]

    def statements(self) -> Iterator[Statement]:
        """All sentences that these rows can judge."""
        yield from tolerance_statements(self.tolerance)
        yield from pattern_statements(self.streams)
        yield from time_statements(self.tolerance, self.precomputation)
        yield from task_statements(self.tasks)
        yield from discount_statements(self.discount)


def run(
    console: Console,
    *,
    data: Path | None = None,
    out: Path | None = None,
    migrations: int = 100,
    changing: bool = True,
    tolerances: Sequence[float] = TOLERANCES,
    task_numbers: Sequence[int] = TASK_NUMBERS,
    discounts: Sequence[float] = DISCOUNTS,
    measured: Iterable[Statement] = (),
) -> Evaluation:
    """Run all policies on real series; print costs, violations, savings and statements; draw Figs. 9 to 12 and 14.

    So many migrations are followed in each series; tolerances, numbers of tasks and discounts are the grids of the figures.
    `changing`: work and state of the tasks are those of each migration; otherwise those of the whole series. `measured` are
    statements on response times from runs on a cluster (Figs. 13 and 15), which join the others.
    """
    series = real_series(data, changing=changing)
    for history in series:
        console.print(
            f"[bold]{history.name}[/bold]: {history.node_counts.size} h, {LOW}–{HIGH} nodes; transitions learnt from the first "
            f"{MONTH} h, then {history.migrations(migrations).size - 1} migrations; {history.origin}"
        )
    for note in (*NOTES, LOADS[changing]):
        console.print(f"[dim]{escape(note)}[/dim]")
    with working(console, "state migration") as tell:
        tolerance = list(tolerance_grid(series, tolerances, migrations=migrations, tell=tell))
        print_tables(console, *(cost_table(history.name, tolerance) for history in series), saving_table(tolerance))
        precomputation = list(precomputation_grid(series, tell=tell))
        tasks = list(task_grid(series, task_numbers, migrations=migrations, known=tolerance, tell=tell))
        print_tables(console, precomputation_table(precomputation), task_table(tasks))
        discount = list(discount_grid(series, discounts, migrations=migrations, known=tolerance, tell=tell))
        streams = {history.name: history.loads.streams() for history in series if isinstance(history.loads, PatternLoads)}
        print_tables(console, discount_table(discount), stream_table(streams))
    made = Evaluation(tolerance, precomputation, tasks, discount, streams)
    judged = list(measured)
    print_statements(console, [*made.statements(), *judged])
    if not judged:
        for figure, sentence in MEASURED_ELSEWHERE:
            console.print(f"[dim]not judged without a cluster ({figure}): {escape(sentence)}[/dim]")
    single_step = [[row for row in rows if row.policy == SINGLE_STEP] for rows in (tolerance, tasks)]
    shown = {**made._asdict(), "time": single_step[0], "tasks": single_step[1]}
    draw(console, out, {file: partial(drawn, shown[name]) for name, (file, drawn) in FIGURES.items()})
    return made


def cost_table(name: str, rows: Sequence[PolicyRow]) -> Table:
    """Fig. 9 as a table: cost of each policy on a series against τ, with the share of broken limits in brackets."""
    series_rows = [row for row in rows if row.series == name]
    tolerances = tuple(dict.fromkeys(row.tolerance for row in series_rows))
    cells = {}
    for row in series_rows:
        broken = f" [{100 * row.followed.broken_share:.0f}]" if row.followed.broken.any() else ""
        cells[row.policy, row.tolerance] = f"{100 * row.followed.mean:.1f}{broken}"
    policies = dict.fromkeys(row.policy for row in series_rows)
    table_rows = tuple((policy, *(cells.get((policy, tolerance), NONE) for tolerance in tolerances)) for policy in policies)
    columns = tuple(f"{tolerance:g}" for tolerance in tolerances)
    return Table(f"Fig. 9, {name}: % of the state that a migration moves, against τ", ("Policy", *columns), table_rows, columns)


def saving_table(rows: Sequence[PolicyRow]) -> Table:
    """Savings of the policies that plan ahead, with the time to prepare them."""
    table_rows = tuple(
        (row.series, f"{row.tolerance:g}", row.policy, _saved(row.saving), _saved(row.long_saving), _seconds(row), row.note)
        for row in rows
        if row.saving is not None
    )
    columns = ("Series", "τ", "Policy", "Saving", "Long run", "Prepared in", "How")
    return Table(f"Savings of planning ahead against SSM, 95 % confidence (γ = {DISCOUNT:g})", columns, table_rows)


def precomputation_table(rows: Sequence[PrecomputedRow]) -> Table:
    """Fig. 11 as a table: time of PMC against τ."""
    table_rows = tuple((row.series, f"{row.tolerance:g}", str(row.partitions), f"{row.seconds:.1f}") for row in rows)
    columns = ("Series", "τ", "Partitions", "Time [s]")
    return Table(f"Fig. 11: time of PMC, {os.cpu_count() or 1} cores", columns, table_rows, columns[1:])


def stream_table(streams: Mapping[str, PatternStreams]) -> Table:
    """Fig. 8: streams between the operators of frequent pattern, its loop unrolled into a second detector."""
    rows = tuple(
        (name, *(f"{value:.3g}" for value in of[:3]), f"{of.counters:.0f}", f"{of.frequent:.0f}") for name, of in streams.items()
    )
    columns = ("Series", "Generator", "Detector", "Loop", "Counters", "Frequent")
    title = "Fig. 8: tuples per tweet into pattern generator, detector and its loop; patterns in a window, and frequent ones"
    return Table(title, columns, rows, columns[1:])


def task_table(rows: Sequence[PolicyRow]) -> Table:
    """Fig. 12 as a table: cost and time of a decision against the number of tasks."""
    table_rows = tuple(
        (row.series, str(row.tasks), row.policy, f"{100 * row.followed.mean:.1f}", f"{1e6 * row.followed.median_seconds:.0f}")
        for row in rows
    )
    columns = ("Series", "Tasks", "Policy", "Moved [%]", "Time [µs]")
    return Table(f"Fig. 12: number of tasks, τ = {TOLERANCE:g}", columns, table_rows, (columns[1], *columns[3:]))


def discount_table(rows: Sequence[PolicyRow]) -> Table:
    """Fig. 14 as a table: cost, savings and preparation of MTM-aware migration against γ."""
    table_rows = []
    for row in rows:
        planned = (_saved(row.saving), _saved(row.long_saving), _seconds(row)) if row.policy == MTM else ("", "", "")
        discount = f"{row.discount:g}" if row.policy == MTM else "0 (SSM)"
        table_rows.append((row.series, discount, f"{100 * row.followed.mean:.2f}", *planned))
    columns = ("Series", "γ", "Moved [%]", "Saving", "Long run", "Prepared in")
    return Table(f"Fig. 14: MTM-aware migration against γ, τ = {TOLERANCE:g}", columns, tuple(table_rows), columns[1:3])


def _saved(estimate: Estimate | None) -> str:
    return "" if estimate is None else SHARE.with_interval(estimate)


def _seconds(row: PolicyRow) -> str:
    return f"{row.prepare_seconds:.1f} s"
