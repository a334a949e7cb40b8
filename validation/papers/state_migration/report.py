"""Print and draw the experiments of state migration, section 6, on three real series."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from edrp.validation.papers.edrp.printed_tables import claim_in_words
from edrp.validation.papers.state_migration import figures as migration_figures
from edrp.validation.papers.state_migration.claims import discount_claims, task_claims, tolerance_claims
from edrp.validation.papers.state_migration.experiments import (
    DISCOUNT,
    DISCOUNTS,
    LONG_RUN,
    TASK_NUMBERS,
    TOLERANCE,
    TOLERANCES,
    Row,
    Told,
    discount_grid,
    task_grid,
    tolerance_grid,
)
from edrp.validation.papers.state_migration.series import HIGH, LOW, MONTH, MigrationSeries, real_series
from edrp.validation.simulation.migration.policies import MTM, SINGLE_STEP

FIGURES = {
    "tolerance": "fig9-cost-against-tolerance.png",
    "time": "fig10-time-against-tolerance.png",
    "tasks": "fig12-number-of-tasks.png",
    "discount": "fig14-discount.png",
}


def run(
    console: Console,
    *,
    data: Path | None = None,
    out: Path | None = None,
    migrations: int = 100,
    tolerances: Sequence[float] = TOLERANCES,
    task_numbers: Sequence[int] = TASK_NUMBERS,
    discounts: Sequence[float] = DISCOUNTS,
) -> dict[str, list[Row]]:
    """Run all policies on real series; print costs, violations, savings and claims; draw Figs. 9, 10, 12 and 14.

    Parameters
    ----------
    console
        Where everything is printed.
    data
        Folder of the taxi trips and tweets; without it (and without `EDRP_DATA`) the flights alone are used.
    out
        Folder for the figures, made if needed; None for no figures.
    migrations
        In a row, of each series.
    tolerances, task_numbers, discounts
        The grids of Figs. 9 and 10, 12, and 14.

    Returns
    -------
    dict
        Rows by "tolerance", "tasks" and "discount".
    """
    series = real_series(data)
    for each in series:
        console.print(_introduction(each, migrations))
    console.print(
        '[dim]The paper\'s "τ = 1.2" is read as 1 + τ = 1.2. In brackets: % of the migrations that break the load limit.[/dim]'
    )
    console.print(f"[dim]Long run: over all migrations after the month, at most {LONG_RUN}.[/dim]")
    rows: dict[str, list[Row]] = {}
    with _told(console) as tell:
        rows["tolerance"] = list(tolerance_grid(series, tolerances, migrations=migrations, tell=tell))
        for each in series:
            console.print(_costs(each.name, [row for row in rows["tolerance"] if row.series == each.name]))
        console.print(_savings(rows["tolerance"]))
        rows["tasks"] = list(task_grid(series, task_numbers, migrations=migrations, tell=tell))
        console.print(_tasks(rows["tasks"]))
        rows["discount"] = list(discount_grid(series, discounts, migrations=migrations, tell=tell))
        console.print(_discounts(rows["discount"]))
    for claim in (*tolerance_claims(rows["tolerance"]), *task_claims(rows["tasks"]), *discount_claims(rows["discount"])):
        console.print(claim_in_words(claim))
    if out is not None:
        out.mkdir(parents=True, exist_ok=True)
        draw(rows, out)
        console.print(f"drawn: {', '.join(str(out / name) for name in FIGURES.values())}")
    return rows


def draw(rows: dict[str, list[Row]], out: Path) -> None:
    """The four figures from the rows that `run` returns."""
    single_step = [row for row in rows["tolerance"] if row.policy == SINGLE_STEP]
    migration_figures.draw_costs_against_tolerance(rows["tolerance"], out / FIGURES["tolerance"])
    migration_figures.draw_times_against_tolerance(single_step, out / FIGURES["time"])
    migration_figures.draw_task_numbers(rows["tasks"], out / FIGURES["tasks"])
    migration_figures.draw_discounts(rows["discount"], out / FIGURES["discount"])


@contextmanager
def _told(console: Console) -> Iterator[Told]:
    """What is being done, on a terminal only."""
    with console.status("state migration") as status:
        yield lambda words: status.update(words)


def _introduction(series: MigrationSeries, migrations: int) -> str:
    followed = series.migrations(migrations).size - 1
    return (
        f"[bold]{series.name}[/bold]: {series.node_counts.size} h, {LOW}–{HIGH} nodes; transitions learnt from the first "
        f"{MONTH} h, then {followed} migrations; {series.origin}"
    )


def _costs(name: str, rows: Sequence[Row]) -> Table:
    tolerances = list(dict.fromkeys(row.tolerance for row in rows))
    table = _table(f"Fig. 9, {name}: % of the state that a migration moves, against τ", "Policy")
    for tolerance in tolerances:
        table.add_column(f"{tolerance:g}", justify="right")
    for policy in dict.fromkeys(row.policy for row in rows):
        by_tolerance = {row.tolerance: row for row in rows if row.policy == policy}
        table.add_row(policy, *(_cost(by_tolerance.get(tolerance)) for tolerance in tolerances))
    return table


def _cost(row: Row | None) -> str:
    if row is None:
        return "–"
    broken = f" [dim]\\[{100 * row.followed.broken_share:.0f}][/dim]" if row.followed.broken.any() else ""
    return f"{100 * row.followed.mean:.1f}{broken}"


def _savings(rows: Sequence[Row]) -> Table:
    table = _table(f"What planning ahead saves of SSM's cost, 95 % confidence (γ = {DISCOUNT:g})", "Series", "τ", "Policy")
    for heading in ("Saving", "Long run", "Prepared in"):
        table.add_column(heading)
    table.add_column("How", no_wrap=True)
    for row in rows:
        if row.saving is not None:
            over_all = "" if row.long_saving is None else str(row.long_saving)
            seconds = f"{row.prepare_seconds:.1f} s"
            table.add_row(row.series, f"{row.tolerance:g}", row.policy, str(row.saving), over_all, seconds, row.note)
    return table


def _tasks(rows: Sequence[Row]) -> Table:
    table = _table(f"Fig. 12: SSM against the number of tasks, τ = {TOLERANCE:g}", "Series")
    for heading in ("Tasks", "Moved [%]", "Time [µs]"):
        table.add_column(heading, justify="right", no_wrap=True)
    for row in rows:
        microseconds = f"{1e6 * row.followed.median_seconds:.0f}"
        table.add_row(row.series, str(row.tasks), f"{100 * row.followed.mean:.1f}", microseconds)
    return table


def _discounts(rows: Sequence[Row]) -> Table:
    table = _table(f"Fig. 14: MTM-aware migration against γ, τ = {TOLERANCE:g}", "Series")
    for heading in ("γ", "Moved [%]", "Saving", "Long run", "Prepared in"):
        table.add_column(heading, justify="right")
    for row in rows:
        moved = f"{100 * row.followed.mean:.2f}"
        if row.policy == MTM:
            seconds = f"{row.prepare_seconds:.1f} s"
            table.add_row(row.series, f"{row.discount:g}", moved, str(row.saving), str(row.long_saving), seconds)
        else:
            table.add_row(row.series, "0 (SSM)", moved, "", "", "")
    return table


def _table(title: str, *columns: str) -> Table:
    table = Table(title=title, title_justify="left", title_style="bold", box=SIMPLE_HEAD)
    for column in columns:
        table.add_column(column, no_wrap=True)
    return table
