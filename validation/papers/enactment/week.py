"""A week of departures from New York through all policies of enactment: what each costs, and what it misses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from time import process_time
from typing import NamedTuple

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from edrp.core.solve import solve
from edrp.datasets.enactment.departures import FIRST_DAY, departures_scenario
from edrp.enactment.run import EnactmentRun
from edrp.enactment.scenario import LEVELS, EnactmentScenario
from edrp.heuristics.enactment import POLICIES
from edrp.validation.oracles.enactment.bounds import ClairvoyantBound, clairvoyant_bound
from edrp.validation.papers.enactment.figures import timeline_figure
from edrp.validation.papers.enactment.runs import BLIND
from edrp.validation.simulation.enactment.methods import SUFFIX
from edrp.validation.simulation.enactment.timeline import timeline

UNITS = (600.0, 3600.0)
"""Seconds of the billing time units (BTU) compared."""

BOUND_SECONDS = 30.0
"""For each bound; those of a week are proven in less."""

SHORT = ("real-time", "near", "relaxed")
"""Compliance levels, for heads of columns."""


class WeekRow(NamedTuple):
    """One policy under one billing time unit (s): its run and metrics, and the seconds of the processor that these took."""

    policy: str
    unit: float
    metrics: Mapping[str, float]
    seconds: float
    run: EnactmentRun

    @property
    def items(self) -> int:
        """Items that all operators completed together."""
        return sum(operator.completed for operator in self.run.operators)

    def billed(self, scenario: EnactmentScenario) -> WeekRow:
        """The same run, paid by the units of another scenario."""
        run = scenario.bill(self.run)
        unit = scenario.host_types[0].billing_time
        return self._replace(unit=unit, metrics=scenario.evaluate(run).metrics, run=run)


def follow_week(
    first_day: str = FIRST_DAY,
    days: int = 7,
    *,
    policies: Sequence[str] = tuple(POLICIES),
    units: Sequence[float] = UNITS,
    seed: int = 1,
) -> list[WeekRow]:
    """Run policies, by name and with their defaults, through days of 2013 under each billing time unit (s)."""
    scenarios = _scenarios(first_day, days, units)
    rows: list[WeekRow] = []
    for policy in policies:
        if policy in BLIND:  # one run, billed by each unit
            once = _row(policy, scenarios[units[0]], seed)
            rows += [once.billed(scenario) for scenario in scenarios.values()]
        else:
            rows += [_row(policy, scenario, seed) for scenario in scenarios.values()]
    return rows


def week_table(rows: Sequence[WeekRow], bounds: Mapping[float, ClairvoyantBound]) -> Table:
    """Money, shares in time, mean hosts and scalings, a row for each policy and unit; totals hold a level's penalties.

    Bounds are by unit what leases cost somebody who knows the load.
    """
    table = Table("policy", "unit s", box=SIMPLE_HEAD)
    heads = ["leases", *(f"total {name}" for name in SHORT), *(f"% {name}" for name in SHORT)]
    for column in (*heads, "hosts", "up", "down", "moved", "s"):
        table.add_column(column, justify="right")
    for unit, bound in bounds.items():
        for row in rows:
            if row.unit == unit:
                table.add_row(row.policy, f"{unit:g}", *_cells(row))
        table.add_row("clairvoyant", f"{unit:g}", f"{bound.lease_cost:.0f}", "", f"{bound.total:.0f}", end_section=True)
    return table


def draw_week(rows: Sequence[WeekRow], first_day: str, days: int, folder: Path) -> None:
    """Draw machines, hosts and instances of every policy, a figure for each unit: week-600.svg, …."""
    for unit, scenario in _scenarios(first_day, days, [row.unit for row in rows]).items():
        panels = {row.policy: timeline(scenario, row.run) for row in rows if row.unit == unit}
        title = f"{days} days of departures from {first_day}, hosts paid by {unit:g} s"
        timeline_figure(panels, folder / f"week-{unit:g}.svg", title=title)


def run(
    console: Console,
    *,
    first_day: str = FIRST_DAY,
    days: int = 7,
    policies: Sequence[str] = tuple(POLICIES),
    units: Sequence[float] = UNITS,
    seed: int = 1,
    out: Path | None = None,
) -> list[WeekRow]:
    """Follow the week, print the table with the clairvoyant bound, and draw into a folder if there is one."""
    rows = follow_week(first_day, days, policies=policies, units=units, seed=seed)
    console.print(f"departures of {days} days from {first_day}: {max(row.items for row in rows):,} items, seed {seed}")
    bounds = {
        unit: clairvoyant_bound(scenario, "near_real_time", time_limit=BOUND_SECONDS)
        for unit, scenario in _scenarios(first_day, days, units).items()
    }
    console.print(week_table(rows, bounds))
    if out is not None:
        out.mkdir(parents=True, exist_ok=True)
        draw_week(rows, first_day, days, out)
    return rows


def _scenarios(first_day: str, days: int, units: Sequence[float]) -> dict[float, EnactmentScenario]:
    return {unit: departures_scenario(first_day, days, billing_time=unit) for unit in dict.fromkeys(units)}


def _row(policy: str, scenario: EnactmentScenario, seed: int) -> WeekRow:
    begin = process_time()
    solution = solve(scenario, policy + SUFFIX, seed=seed)
    assert solution.run is not None, "runs without a time limit end"
    return WeekRow(policy, scenario.host_types[0].billing_time, solution.metrics, process_time() - begin, solution.run)


def _cells(row: WeekRow) -> list[str]:
    """All but policy and unit, in words."""
    metrics = row.metrics
    return [
        f"{metrics['resource_cost']:.0f}",
        *(f"{metrics[f'{level}_total']:.0f}" for level in LEVELS),
        *(f"{100 * metrics[f'{level}_compliance']:.1f}" for level in LEVELS),
        f"{metrics['mean_hosts']:.2f}",
        *(f"{metrics[name]:.0f}" for name in ("upscalings", "downscalings", "migrations")),
        f"{row.seconds:.1f}",
    ]
