"""The sentences of section 6 of the state-migration paper, checked against this package's runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from operator import attrgetter
from typing import Any

import numpy as np

from edrp.report.estimates import Estimate
from edrp.report.formatting import SHARE
from edrp.report.statements import Statement, claim
from edrp.validation.papers.state_migration.experiments import TOLERANCE, PolicyRow, PrecomputedRow
from edrp.validation.papers.state_migration.node_count_series import FREQUENT_PATTERN, WORD_COUNT
from edrp.validation.papers.state_migration.task_loads import PatternStreams
from edrp.validation.simulation.migration.policies import MTM, OMS, SINGLE_STEP

EVEN, HASHING = "even split", "consistent hashing"
ORDER = (EVEN, HASHING, SINGLE_STEP, MTM, OMS)
"""Policies by falling cost."""

_cost, _seconds = attrgetter("followed.mean"), attrgetter("followed.median_seconds")

MIN_SAVING = 0.05
MAX_DECISION_SECONDS = 2e-3
""""never exceeds 2 ms"."""

MINUTES = 60.0
QUADRATIC = (1.5, 2.5)
"""Powers of m that count as quadratic growth."""

MUCH_LONGER = 100.0
"""Ratio that "much longer" stands for."""

MEASURED_ELSEWHERE = (
    ("Fig. 13", "the response time of all methods grows with the window size"),
    ("Fig. 13", "the proposed methods outperform consistent hashing by large margins in response time"),
    ("Fig. 13", "the gap between single-step and MTM-aware migration is more pronounced in response time than in migration cost"),
    ("Fig. 13", "the response time of Storm's even split is at least 5 s, even for the smallest window"),
    ("Fig. 13", "two minutes after a migration has begun, all methods have reached a comparable steady state"),
    ("Fig. 15", "live migration reduces the average response time by several orders of magnitude against writing all states out"),
)
"""Sentences on response times; no run without a cluster of a stream engine can judge them."""

Curves = dict[str, list[tuple[float, float]]]


def tolerance_statements(rows: Sequence[PolicyRow]) -> Iterator[Statement]:
    """Sentences on Fig. 9."""
    present = [policy for policy in ORDER if any(row.policy == policy for row in rows)]
    for before, after in pairwise(present):
        yield _cheaper(rows, after, before)
    ratio = min(costs[EVEN] / max(costs[SINGLE_STEP], costs[MTM]) for costs in _costs(rows).values())
    yield claim(
        "the even split costs more than twice as much as SSM and MTM-aware migration", ratio > 2, f"at least {ratio:.1f} times"
    )
    yield from _saving_statements([row for row in rows if row.policy == MTM])
    yield _monotone("SSM's cost falls with τ", _curves(rows, SINGLE_STEP, "tolerance", _cost))
    yield _monotone("the cost of MTM-aware migration falls with τ", _curves(rows, MTM, "tolerance", _cost))
    gaps = {policy: _gaps(rows, policy) for policy in (MTM, HASHING, EVEN)}
    yield _monotone("the gap of MTM-aware migration to SSM grows with τ, relative to SSM's cost", gaps[MTM], rising=True)
    for policy in (HASHING, EVEN):
        sentence = f"the gap of SSM to {'the even split' if policy == EVEN else policy} grows with τ, relative to SSM's cost"
        yield _monotone(sentence, gaps[policy], rising=True)
    yield from _application_statements(rows)
    broken = [row for row in rows if row.policy in (SINGLE_STEP, MTM, OMS) and row.followed.broken.any()]
    yield claim("SSM, MTM-aware migration and OMS never break the load limit", not broken, f"broken in {len(broken)} settings")


def time_statements(rows: Sequence[PolicyRow], precomputed: Sequence[PrecomputedRow]) -> Iterator[Statement]:
    """Sentences on Figs. 10 and 11."""
    yield _monotone("the running time of SSM grows with τ", _curves(rows, SINGLE_STEP, "tolerance", _seconds), " µs", rising=True)
    for policy in (SINGLE_STEP, MTM):
        slowest = max((row.followed.median_seconds for row in rows if row.policy == policy), default=0.0)
        sentence = f"{'SSM' if policy == SINGLE_STEP else policy + ' migration'} decides within 2 ms"
        yield claim(sentence, slowest <= MAX_DECISION_SECONDS, f"medians up to {1e6 * slowest:.0f} µs")
    if not precomputed:
        return
    slowest = max((row.followed.median_seconds for row in rows if row.policy == MTM), default=0.0)
    ratio = min(row.seconds for row in precomputed) / max(slowest, 1e-9)
    yield claim("the pre-computation takes much longer than a decision", ratio >= MUCH_LONGER, f"at least {ratio:.0f} times")
    times = [row.seconds for row in precomputed]
    found = f"{min(times):.1f} to {max(times):.1f} s for up to {max(row.partitions for row in precomputed)} partitions"
    yield claim("the pre-computation takes hundreds of minutes", min(times) >= 100 * MINUTES, found)
    curves = _curves(precomputed, None, "tolerance", lambda row: row.seconds)
    yield _monotone("the pre-computation takes longer with growing τ", curves, " s", rising=True)


def task_statements(rows: Sequence[PolicyRow]) -> Iterator[Statement]:
    """Sentences on Fig. 12."""
    yield _monotone("SSM's cost falls with the number of tasks, in both applications", _curves(rows, SINGLE_STEP, "tasks", _cost))
    prepared = _curves(rows, MTM, "tasks", _cost)
    if any(len(curve) > 1 for curve in prepared.values()):
        yield _monotone("the cost of MTM-aware migration falls with the number of tasks", prepared)
    powers = {}
    for name, curve in _curves(rows, SINGLE_STEP, "tasks", _seconds).items():
        tasks, seconds = np.log(np.maximum(np.array(curve), 1e-9)).T
        powers[name] = float(np.polyfit(tasks, seconds, 1)[0]) if len(curve) > 1 else 0.0
    quadratic = all(QUADRATIC[0] <= power <= QUADRATIC[1] for power in powers.values())
    found = ", ".join(f"{name} m^{power:.2f}" for name, power in powers.items())
    yield claim("the running time of SSM grows quadratically with the number of tasks", quadratic, found)


def discount_statements(rows: Sequence[PolicyRow]) -> Iterator[Statement]:
    """Sentences on Fig. 14."""
    yield _monotone("the cost of MTM-aware migration falls with γ", _curves(rows, MTM, "discount", _cost))
    zero = {row.series: row.long_saving or row.saving for row in rows if row.discount == 0}
    savings = {name: estimate for name, estimate in zero.items() if estimate is not None}
    if savings:
        found = ", ".join(f"{name} saves {SHARE.with_interval(estimate)}" for name, estimate in savings.items())
        same = all((estimate.low or 0.0) <= 0 <= (estimate.high or 0.0) for estimate in savings.values())
        yield claim("with γ = 0, MTM-aware migration is SSM but for ties: neither costs less beyond noise", same, found)
    times = _curves(rows, MTM, "discount", lambda row: row.prepare_seconds)
    yield _monotone("the pre-computation takes longer with growing γ", times, " s", rising=True)


def pattern_statements(streams: Mapping[str, PatternStreams]) -> Iterator[Statement]:
    """Statements of the text about patterns that explain Fig. 9."""
    if streams:
        shares = {name: of.frequent / of.counters for name, of in streams.items()}
        found = ", ".join(f"{name} {of.counters - of.frequent:.0f} of {of.counters:.0f}" for name, of in streams.items())
        yield claim("most patterns have a low frequency", max(shares.values()) < 0.5, found)


def _saving_statements(prepared: Sequence[PolicyRow]) -> Iterator[Statement]:
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


def _application_statements(rows: Sequence[PolicyRow]) -> Iterator[Statement]:
    """Word count against frequent pattern on the same source, where both were run."""
    falls: dict[str, dict[str, float]] = {}
    uneven: dict[str, dict[str, float]] = {}
    for row in rows:
        if row.policy == SINGLE_STEP:
            source = row.series.removesuffix(f" {row.application}")
            uneven.setdefault(source, {})[row.application] = row.unevenness
            falls.setdefault(source, {})[row.application] = _fall(rows, row.series)
    both = {source: values for source, values in falls.items() if len(values) == 2}
    if not both:
        return
    steeper = all(values[WORD_COUNT] > values[FREQUENT_PATTERN] for values in both.values())
    found = "; ".join(f"{s} −{100 * v[WORD_COUNT]:.0f} % against −{100 * v[FREQUENT_PATTERN]:.0f} %" for s, v in both.items())
    yield claim("the cost falls more rapidly with τ in word count than in frequent pattern", steeper, found)
    pairs = {source: uneven[source] for source in both}
    found = "; ".join(f"{s} {v[WORD_COUNT]:.2f} against {v[FREQUENT_PATTERN]:.2f} times the mean" for s, v in pairs.items())
    skewed = all(values[WORD_COUNT] > values[FREQUENT_PATTERN] for values in pairs.values())
    yield claim("word count is more susceptible to uneven data: its heaviest task is heavier", skewed, found)


def _fall(rows: Sequence[PolicyRow], series: str) -> float:
    """Share of SSM's cost at the smallest τ that is gone at the largest."""
    costs = [cost for _, cost in sorted(_curves(rows, SINGLE_STEP, "tolerance", _cost)[series])]
    return 1 - costs[-1] / costs[0] if costs[0] > 0 else 0.0


def _cheaper(rows: Sequence[PolicyRow], policy: str, other: str) -> Statement:
    """Whether a policy costs less than another in every setting."""
    settings = {key: costs for key, costs in _costs(rows).items() if policy in costs and other in costs}
    wrong = [
        f"{series}, τ = {tolerance:g}: {100 * costs[policy]:.1f} against {100 * costs[other]:.1f} %"
        for (series, tolerance), costs in settings.items()
        if costs[policy] >= costs[other]
    ]
    evidence = (
        f"not in {len(wrong)} of {len(settings)} settings: {'; '.join(wrong)}" if wrong else f"in all {len(settings)} settings"
    )
    return claim(f"{policy} costs less than {other}, at every τ", not wrong, evidence)


def _saves(when: str, savings: Sequence[tuple[PolicyRow, Estimate | None]]) -> Statement:
    """The saving of MTM-aware migration against SSM at the default tolerance, on average over the series."""
    by_series = {row.series: estimate for row, estimate in savings if estimate is not None and row.tolerance == TOLERANCE}
    mean = sum(estimate.mean for estimate in by_series.values()) / max(len(by_series), 1)
    sentence = f"{when}, MTM-aware migration saves at least {100 * MIN_SAVING:g} % of SSM's cost at τ = {TOLERANCE:g}"
    listed = ", ".join(f"{series} {SHARE.with_interval(estimate)}" for series, estimate in by_series.items())
    return claim(sentence, mean >= MIN_SAVING, f"{100 * mean:.1f} % on average: {listed}")


def _monotone(sentence: str, curves: Curves, unit: str = " %", *, rising: bool = False) -> Statement:
    """Whether the value at the largest x is below that at the smallest, or above it, in every series."""
    ordered = {name: [value for _, value in sorted(curve)] for name, curve in curves.items()}
    scale = 100.0 if unit == " %" else 1e6 if unit == " µs" else 1.0
    digits = 0 if unit == " µs" else 1
    evidence = "; ".join(
        f"{name} {', '.join(f'{scale * value:.{digits}f}' for value in values)}{unit}" for name, values in ordered.items()
    )
    holds = all((values[-1] > values[0]) if rising else (values[-1] < values[0]) for values in ordered.values())
    return claim(sentence, holds, evidence)


def _gaps(rows: Sequence[PolicyRow], policy: str) -> Curves:
    """Saving of SSM over a rule, or of MTM-aware migration of SSM, relative to SSM's cost, against τ."""
    gaps: Curves = {}
    for (series, tolerance), costs in _costs(rows).items():
        if policy in costs and costs[SINGLE_STEP] > 0:
            above = costs[policy] / costs[SINGLE_STEP] - 1
            gaps.setdefault(series, []).append((tolerance, -above if policy == MTM else above))
    return gaps


def _curves(rows: Sequence[Any], policy: str | None, quantity: str, value: Callable[[Any], float]) -> Curves:
    curves: Curves = {}
    for row in rows:
        if policy is None or row.policy == policy:
            curves.setdefault(row.series, []).append((getattr(row, quantity), value(row)))
    return curves


def _costs(rows: Sequence[PolicyRow]) -> dict[tuple[str, float], dict[str, float]]:
    costs: dict[tuple[str, float], dict[str, float]] = {}
    for row in rows:
        costs.setdefault((row.series, row.tolerance), {})[row.policy] = row.followed.mean
    return costs
