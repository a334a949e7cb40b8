"""Statements of the state-migration paper about its figures, checked against this package's runs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from edrp.report.estimates import Estimate
from edrp.report.formatting import SHARE
from edrp.report.statements import Statement, claim
from edrp.validation.papers.state_migration.experiments import TOLERANCE, PolicyRow
from edrp.validation.simulation.migration.policies import MTM, OMS, SINGLE_STEP

ORDER = ("even split", "consistent hashing", SINGLE_STEP, MTM, OMS)
"""Policies by falling cost."""

MIN_SAVING = 0.05
MAX_DECISION_SECONDS = 2e-3
""""never exceeds 2 ms"."""


def tolerance_statements(rows: Sequence[PolicyRow]) -> Iterator[Statement]:
    """Sentences on Figs. 9 and 10."""
    present = [policy for policy in ORDER if any(row.policy == policy for row in rows)]
    wrong = [
        f"{series}, τ = {tolerance:g}: {before} {100 * costs[before]:.1f} %, {after} {100 * costs[after]:.1f} %"
        for (series, tolerance), costs in _costs(rows).items()
        for before, after in pairwise([policy for policy in present if policy in costs])
        if costs[before] <= costs[after]
    ]
    yield claim(
        f"costs fall in the order {', '.join(present)}", not wrong, "; ".join(wrong) or f"in all {len(_costs(rows))} settings"
    )
    ratio = min(costs["even split"] / costs[SINGLE_STEP] for costs in _costs(rows).values())
    yield claim("the even split costs more than twice as much as SSM", ratio > 2, f"at least {ratio:.1f} times")
    prepared = [row for row in rows if row.policy == MTM]
    yield _saves("over the migrations shown", [(row, row.saving) for row in prepared])
    yield _saves("over all migrations", [(row, row.long_saving) for row in prepared])
    worse = [
        f"{row.series}, τ = {row.tolerance:g}: {SHARE.with_interval(estimate)}"
        for row in prepared
        for estimate in (row.saving, row.long_saving)
        if estimate is not None and estimate.high is not None and estimate.high < 0
    ]
    evidence = "; ".join(worse) or f"in all {len(prepared)} settings"
    yield claim("MTM-aware migration is nowhere worse than SSM beyond noise", not worse, evidence)
    yield _falls("SSM's cost falls with τ", rows, SINGLE_STEP, "tolerance")
    slowest = max((row.followed.median_seconds for row in rows if row.policy == SINGLE_STEP), default=0.0)
    yield claim("SSM decides within 2 ms", slowest <= MAX_DECISION_SECONDS, f"medians up to {1e6 * slowest:.0f} µs")
    broken = [row for row in rows if row.policy in (SINGLE_STEP, MTM, OMS) and row.followed.broken.any()]
    yield claim("SSM, MTM-aware migration and OMS never break the load limit", not broken, f"broken in {len(broken)} settings")


def task_statements(rows: Sequence[PolicyRow]) -> Iterator[Statement]:
    """Sentences on Fig. 12."""
    yield _falls("SSM's cost falls with the number of tasks", rows, SINGLE_STEP, "tasks")


def discount_statements(rows: Sequence[PolicyRow]) -> Iterator[Statement]:
    """Sentences on Fig. 14."""
    yield _falls("the cost of MTM-aware migration falls with γ", rows, MTM, "discount")


def _saves(when: str, savings: Sequence[tuple[PolicyRow, Estimate | None]]) -> Statement:
    """The saving of MTM-aware migration against SSM at the default tolerance, on average over the series."""
    by_series = {row.series: estimate for row, estimate in savings if estimate is not None and row.tolerance == TOLERANCE}
    mean = sum(estimate.mean for estimate in by_series.values()) / max(len(by_series), 1)
    sentence = f"{when}, MTM-aware migration saves at least {100 * MIN_SAVING:g} % of SSM's cost at τ = {TOLERANCE:g}"
    listed = ", ".join(f"{series} {SHARE.with_interval(estimate)}" for series, estimate in by_series.items())
    return claim(sentence, mean >= MIN_SAVING, f"{100 * mean:.1f} % on average: {listed}")


def _falls(sentence: str, rows: Sequence[PolicyRow], policy: str, quantity: str) -> Statement:
    """Whether the cost at the largest value is below that at the smallest, in every series."""
    curves: dict[str, list[tuple[float, float]]] = {}
    for row in rows:
        if row.policy == policy:
            curves.setdefault(row.series, []).append((getattr(row, quantity), row.followed.mean))
    ordered = {name: [cost for _, cost in sorted(curve)] for name, curve in curves.items()}
    evidence = "; ".join(f"{name} {', '.join(f'{100 * cost:.1f}' for cost in costs)} %" for name, costs in ordered.items())
    return claim(sentence, all(costs[-1] < costs[0] for costs in ordered.values()), evidence)


def _costs(rows: Sequence[PolicyRow]) -> dict[tuple[str, float], dict[str, float]]:
    """Cost of each policy by series and τ."""
    costs: dict[tuple[str, float], dict[str, float]] = {}
    for row in rows:
        costs.setdefault((row.series, row.tolerance), {})[row.policy] = row.followed.mean
    return costs
