"""Figs. 9 to 12 and 14 of the state-migration paper from rows of the experiments."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from math import ceil, floor, log10
from pathlib import Path
from typing import Any

from edrp.report.estimates import Estimate
from edrp.report.figures import Curve, Panel, Style, draw_panels
from edrp.validation.papers.state_migration.experiments import PolicyRow, PrecomputedRow
from edrp.validation.simulation.migration.policies import MTM, OMS, SINGLE_STEP

STYLES = {
    "even split": Style("#8a8a8a", "-", "s"),
    "even split, matched": Style("#8a8a8a", "--", "s"),
    "consistent hashing": Style("#c55a11", "-", "^"),
    "sticky": Style("#b58900", "-", "v"),
    "sticky by work": Style("#b58900", "--", "v"),
    "balanced packing": Style("#6a8f3c", "-", "D"),
    SINGLE_STEP: Style("#1f4e79"),
    MTM: Style("#7b2d8b"),
    OMS: Style("#b00020"),
}
"""Colour, line and marker of each policy."""

COST_TICKS = (1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0)
MOVED, TIME = "state moved per migration [%]", "time of SSM [µs]"

Quantity = Callable[[Any], Estimate | None]


def draw_costs_against_tolerance(rows: Sequence[PolicyRow], path: Path) -> None:
    """Fig. 9, one column per series, against τ: cost of every policy, savings of those that plan ahead, broken limits."""
    names = list(dict.fromkeys(row.series for row in rows))
    floor = 0.8 * min(100 * row.followed.mean for row in rows if row.policy in (SINGLE_STEP, MTM, OMS))
    breaking = {row.policy for row in rows if row.followed.broken.any()}
    costs, savings, broken = [], [], []
    for letter, name in zip("abcdefgh", names, strict=False):
        series_rows = [row for row in rows if row.series == name]
        curves = partial(_curves, key=lambda row: row.policy, x=lambda row: row.tolerance)
        moved = curves([row for row in series_rows if row.followed.mean > 0], y=_moved)  # a logarithm knows no 0
        scales = ("linear", "log")
        costs.append(Panel(f"({letter}) {name}", "τ", MOVED, moved, scales, floor, 100.0, COST_TICKS))
        savings.append(Panel("", "τ", "saved of SSM [%]", curves(series_rows, y=lambda row: _percent(row.saving)), floor=None))
        shares = curves(
            [row for row in series_rows if row.policy in breaking], y=lambda row: _exactly(100 * row.followed.broken_share)
        )
        broken.append(Panel("", "τ", "limit broken [%]", shares, floor=-4.0, ceiling=104.0))
    title = "Load balancing against migration cost (state migration, Fig. 9)"
    draw_panels([*costs, *savings, *broken], path, columns=len(names), title=title, styles=STYLES)


def draw_times_against_tolerance(rows: Sequence[PolicyRow], path: Path) -> None:
    """Fig. 10: time of a decision by SSM against τ."""
    curves = _by_series(rows, lambda row: row.tolerance, _microseconds)
    draw_panels([Panel("Load balancing against time (state migration, Fig. 10)", "τ", TIME, curves)], path, columns=1)


def draw_precomputation(rows: Sequence[PrecomputedRow], path: Path) -> None:
    """Fig. 11: time of PMC against τ, with the number of partitions that makes it."""
    against_tolerance = partial(_by_series, rows, lambda row: row.tolerance)
    seconds = against_tolerance(lambda row: _exactly(row.seconds))
    partitions = against_tolerance(lambda row: _exactly(row.partitions / 1000))
    panels = [
        Panel("Time", "τ", "time of PMC [s]", seconds, ("linear", "log"), ticks=_log_ticks(seconds)),
        Panel("Size", "τ", "partitions [thousands]", partitions, ("linear", "log"), ticks=_log_ticks(partitions)),
    ]
    draw_panels(panels, path, columns=2, title="Load balancing against pre-computation (state migration, Fig. 11)")


def draw_task_numbers(rows: Sequence[PolicyRow], path: Path) -> None:
    """Fig. 12: cost and time of SSM against the number of tasks."""
    panels = [
        Panel("Cost", "tasks", MOVED, _by_series(rows, lambda row: row.tasks, _moved), ("log", "linear")),
        Panel("Time", "tasks", TIME, _by_series(rows, lambda row: row.tasks, _microseconds), ("log", "log")),
    ]
    draw_panels(panels, path, columns=2, title="Number of tasks (state migration, Fig. 12)")


def draw_discounts(rows: Sequence[PolicyRow], path: Path) -> None:
    """Fig. 14: cost, saving and preparation of MTM-aware migration against γ; SSM stands at γ = 0."""
    against_discount = partial(_by_series, rows, lambda row: row.discount or 0.0)
    saved = against_discount(lambda row: _percent(row.long_saving))
    panels = [
        Panel("Cost", "γ", MOVED, against_discount(_moved), floor=None),
        Panel("Saving, all migrations", "γ", "saved of SSM [%]", saved, floor=None),
        Panel("Preparation", "γ", "time [s]", against_discount(lambda row: _exactly(row.prepare_seconds))),
    ]
    draw_panels(panels, path, columns=3, title="Discount factor (state migration, Fig. 14)")


def _by_series(rows: Sequence[Any], x: Callable[[Any], float], y: Quantity) -> dict[str, Curve]:
    return _curves(rows, lambda row: row.series, x, y)


def _curves(rows: Sequence[Any], key: Callable[[Any], str], x: Callable[[Any], float], y: Quantity) -> dict[str, Curve]:
    """A curve for each key, of the rows that have the quantity."""
    curves: dict[str, dict[float, Estimate]] = {}
    for row in rows:
        estimate = y(row)
        if estimate is not None:
            curves.setdefault(key(row), {})[x(row)] = estimate
    return dict(curves)


def _log_ticks(curves: Mapping[str, Curve]) -> tuple[float, ...]:
    """Powers of ten, and their triples, from the decade of the least value to that of the greatest."""
    values = [estimate.mean for curve in curves.values() for estimate in curve.values() if estimate.mean > 0]
    if not values:
        return ()
    first, last = floor(log10(min(values))), ceil(log10(max(values)))
    ticks = [digit * 10.0**power for power in range(first, last + 1) for digit in (1, 3)]
    return tuple(tick for tick in ticks if min(values) / 2 <= tick <= 2 * max(values))


def _exactly(value: float) -> Estimate:
    return Estimate(value, None, None)


def _percent(estimate: Estimate | None) -> Estimate | None:
    return None if estimate is None else estimate.transformed(lambda share: 100 * share)


def _moved(row: PolicyRow) -> Estimate:
    return _exactly(100 * row.followed.mean)


def _microseconds(row: PolicyRow) -> Estimate:
    return _exactly(1e6 * row.followed.median_seconds)
