"""The experiments of state migration, section 6, on real series and two applications: printed, drawn and judged.

Figs. 9 to 12 and 14, and the sentences of the paper on them.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import pairwise
from math import ceil, floor, log10
from operator import attrgetter
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from rich.console import Console
from rich.markup import escape

from edrp.report.estimates import Estimate
from edrp.report.figures import Curve, Panel, Style, draw, draw_panels
from edrp.report.formatting import NONE, SHARE
from edrp.report.progress import working
from edrp.report.statements import Statement, claim, print_statements
from edrp.report.tables import Table, print_tables
from edrp.validation.papers.state_migration import experiments
from edrp.validation.papers.state_migration.task_loads import (
    FREQUENT_PATTERN,
    HIGH,
    LOW,
    MONTH,
    WORD_COUNT,
    PatternLoads,
    PatternStreams,
    real_series,
)
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


def draw_costs_against_tolerance(rows: Sequence[experiments.PolicyRow], path: Path) -> None:
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


def draw_times_against_tolerance(rows: Sequence[experiments.PolicyRow], path: Path) -> None:
    """Fig. 10: time of a decision by SSM against τ."""
    curves = _by_series(rows, lambda row: row.tolerance, _microseconds)
    draw_panels([Panel("Load balancing against time (state migration, Fig. 10)", "τ", TIME, curves)], path, columns=1)


def draw_precomputation(rows: Sequence[experiments.PrecomputedRow], path: Path) -> None:
    """Fig. 11: time of PMC against τ, with the number of partitions that makes it."""
    against_tolerance = partial(_by_series, rows, lambda row: row.tolerance)
    seconds = against_tolerance(lambda row: _exactly(row.seconds))
    partitions = against_tolerance(lambda row: _exactly(row.partitions / 1000))
    panels = [
        Panel("Time", "τ", "time of PMC [s]", seconds, ("linear", "log"), ticks=_log_ticks(seconds)),
        Panel("Size", "τ", "partitions [thousands]", partitions, ("linear", "log"), ticks=_log_ticks(partitions)),
    ]
    draw_panels(panels, path, columns=2, title="Load balancing against pre-computation (state migration, Fig. 11)")


def draw_task_numbers(rows: Sequence[experiments.PolicyRow], path: Path) -> None:
    """Fig. 12: cost and time of SSM against the number of tasks."""
    panels = [
        Panel("Cost", "tasks", MOVED, _by_series(rows, lambda row: row.tasks, _moved), ("log", "linear")),
        Panel("Time", "tasks", TIME, _by_series(rows, lambda row: row.tasks, _microseconds), ("log", "log")),
    ]
    draw_panels(panels, path, columns=2, title="Number of tasks (state migration, Fig. 12)")


def draw_discounts(rows: Sequence[experiments.PolicyRow], path: Path) -> None:
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


def _moved(row: experiments.PolicyRow) -> Estimate:
    return _exactly(100 * row.followed.mean)


def _microseconds(row: experiments.PolicyRow) -> Estimate:
    return _exactly(1e6 * row.followed.median_seconds)


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


def tolerance_statements(rows: Sequence[experiments.PolicyRow]) -> Iterator[Statement]:
    """Sentences on Fig. 9."""
    present = [policy for policy in ORDER if any(row.policy == policy for row in rows)]
    for before, after in pairwise(present):
        yield _cheaper(rows, after, before)
    ratio = min(costs[EVEN] / max(costs[SINGLE_STEP], costs[MTM]) for costs in _costs(rows).values())
    yield claim(
        "the even split costs more than twice as much as SSM and MTM-aware migration", ratio > 2, f"at least {ratio:.1f} times"
    )
    yield from _saving_statements([row for row in rows if row.policy == MTM])
    yield _monotone("SSM's cost falls with τ", _points(rows, SINGLE_STEP, "tolerance", _cost))
    yield _monotone("the cost of MTM-aware migration falls with τ", _points(rows, MTM, "tolerance", _cost))
    gaps = {policy: _gaps(rows, policy) for policy in (MTM, HASHING, EVEN)}
    yield _monotone("the gap of MTM-aware migration to SSM grows with τ, relative to SSM's cost", gaps[MTM], rising=True)
    for policy in (HASHING, EVEN):
        sentence = f"the gap of SSM to {'the even split' if policy == EVEN else policy} grows with τ, relative to SSM's cost"
        yield _monotone(sentence, gaps[policy], rising=True)
    yield from _application_statements(rows)
    broken = [row for row in rows if row.policy in (SINGLE_STEP, MTM, OMS) and row.followed.broken.any()]
    yield claim("SSM, MTM-aware migration and OMS never break the load limit", not broken, f"broken in {len(broken)} settings")


def time_statements(
    rows: Sequence[experiments.PolicyRow], precomputed: Sequence[experiments.PrecomputedRow]
) -> Iterator[Statement]:
    """Sentences on Figs. 10 and 11."""
    yield _monotone("the running time of SSM grows with τ", _points(rows, SINGLE_STEP, "tolerance", _seconds), " µs", rising=True)
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
    curves = _points(precomputed, None, "tolerance", lambda row: row.seconds)
    yield _monotone("the pre-computation takes longer with growing τ", curves, " s", rising=True)


def task_statements(rows: Sequence[experiments.PolicyRow]) -> Iterator[Statement]:
    """Sentences on Fig. 12."""
    yield _monotone("SSM's cost falls with the number of tasks, in both applications", _points(rows, SINGLE_STEP, "tasks", _cost))
    prepared = _points(rows, MTM, "tasks", _cost)
    if any(len(curve) > 1 for curve in prepared.values()):
        yield _monotone("the cost of MTM-aware migration falls with the number of tasks", prepared)
    powers = {}
    for name, curve in _points(rows, SINGLE_STEP, "tasks", _seconds).items():
        tasks, seconds = np.log(np.maximum(np.array(curve), 1e-9)).T
        powers[name] = float(np.polyfit(tasks, seconds, 1)[0]) if len(curve) > 1 else 0.0
    quadratic = all(QUADRATIC[0] <= power <= QUADRATIC[1] for power in powers.values())
    found = ", ".join(f"{name} m^{power:.2f}" for name, power in powers.items())
    yield claim("the running time of SSM grows quadratically with the number of tasks", quadratic, found)


def discount_statements(rows: Sequence[experiments.PolicyRow]) -> Iterator[Statement]:
    """Sentences on Fig. 14."""
    yield _monotone("the cost of MTM-aware migration falls with γ", _points(rows, MTM, "discount", _cost))
    zero = {row.series: row.long_saving or row.saving for row in rows if row.discount == 0}
    savings = {name: estimate for name, estimate in zero.items() if estimate is not None}
    if savings:
        found = ", ".join(f"{name} saves {SHARE.with_interval(estimate)}" for name, estimate in savings.items())
        same = all((estimate.low or 0.0) <= 0 <= (estimate.high or 0.0) for estimate in savings.values())
        yield claim("with γ = 0, MTM-aware migration is SSM but for ties: neither costs less beyond noise", same, found)
    times = _points(rows, MTM, "discount", lambda row: row.prepare_seconds)
    yield _monotone("the pre-computation takes longer with growing γ", times, " s", rising=True)


def pattern_statements(streams: Mapping[str, PatternStreams]) -> Iterator[Statement]:
    """Statements of the text about patterns that explain Fig. 9."""
    if streams:
        shares = {name: of.frequent / of.counters for name, of in streams.items()}
        found = ", ".join(f"{name} {of.counters - of.frequent:.0f} of {of.counters:.0f}" for name, of in streams.items())
        yield claim("most patterns have a low frequency", max(shares.values()) < 0.5, found)


def _saving_statements(prepared: Sequence[experiments.PolicyRow]) -> Iterator[Statement]:
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


def _application_statements(rows: Sequence[experiments.PolicyRow]) -> Iterator[Statement]:
    """Word count against frequent pattern on the same source, where both were run."""
    falls: dict[str, dict[str, float]] = {}
    uneven: dict[str, dict[str, float]] = {}
    for row in rows:
        if row.policy == SINGLE_STEP:
            source = row.series.removesuffix(f" {row.application}")
            uneven.setdefault(source, {})[row.application] = row.unevenness
            # Share of SSM's cost at the smallest τ that is gone at the largest.
            costs = [cost for _, cost in sorted(_points(rows, SINGLE_STEP, "tolerance", _cost)[row.series])]
            falls.setdefault(source, {})[row.application] = 1 - costs[-1] / costs[0] if costs[0] > 0 else 0.0
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


def _cheaper(rows: Sequence[experiments.PolicyRow], policy: str, other: str) -> Statement:
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


def _saves(when: str, savings: Sequence[tuple[experiments.PolicyRow, Estimate | None]]) -> Statement:
    """The saving of MTM-aware migration against SSM at the default tolerance, on average over the series."""
    by_series = {
        row.series: estimate for row, estimate in savings if estimate is not None and row.tolerance == experiments.TOLERANCE
    }
    mean = sum(estimate.mean for estimate in by_series.values()) / max(len(by_series), 1)
    sentence = f"{when}, MTM-aware migration saves at least {100 * MIN_SAVING:g} % of SSM's cost at τ = {experiments.TOLERANCE:g}"
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


def _gaps(rows: Sequence[experiments.PolicyRow], policy: str) -> Curves:
    """Saving of SSM over a rule, or of MTM-aware migration of SSM, relative to SSM's cost, against τ."""
    gaps: Curves = {}
    for (series, tolerance), costs in _costs(rows).items():
        if policy in costs and costs[SINGLE_STEP] > 0:
            above = costs[policy] / costs[SINGLE_STEP] - 1
            gaps.setdefault(series, []).append((tolerance, -above if policy == MTM else above))
    return gaps


def _points(rows: Sequence[Any], policy: str | None, quantity: str, value: Callable[[Any], float]) -> Curves:
    curves: Curves = {}
    for row in rows:
        if policy is None or row.policy == policy:
            curves.setdefault(row.series, []).append((getattr(row, quantity), value(row)))
    return curves


def _costs(rows: Sequence[experiments.PolicyRow]) -> dict[tuple[str, float], dict[str, float]]:
    costs: dict[tuple[str, float], dict[str, float]] = {}
    for row in rows:
        costs.setdefault((row.series, row.tolerance), {})[row.policy] = row.followed.mean
    return costs


NOTES = (
    "WC: word count; FP: maximal frequent patterns of words in a sliding window.",
    'The paper\'s "τ = 1.2" is read as 1 + τ = 1.2. In brackets: % of the migrations that break the load limit.',
    f"Long run: over all migrations after the month, at most {experiments.LONG_RUN}.",
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

    tolerance: list[experiments.PolicyRow]
    precomputation: list[experiments.PrecomputedRow]
    tasks: list[experiments.PolicyRow]
    discount: list[experiments.PolicyRow]
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
    tolerances: Sequence[float] = experiments.TOLERANCES,
    task_numbers: Sequence[int] = experiments.TASK_NUMBERS,
    discounts: Sequence[float] = experiments.DISCOUNTS,
    measured: Iterable[Statement] = (),
) -> Evaluation:
    """Run all policies on real series; print costs, violations, savings and statements; draw Figs. 9 to 12 and 14.

    In each series `migrations` are followed; tolerances, numbers of tasks and discounts are the grids of the figures.
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
        tolerance = list(experiments.tolerance_grid(series, tolerances, migrations=migrations, tell=tell))
        print_tables(console, *(cost_table(history.name, tolerance) for history in series), saving_table(tolerance))
        precomputation = list(experiments.precomputation_grid(series, tell=tell))
        tasks = list(experiments.task_grid(series, task_numbers, migrations=migrations, known=tolerance, tell=tell))
        print_tables(console, precomputation_table(precomputation), task_table(tasks))
        discount = list(experiments.discount_grid(series, discounts, migrations=migrations, known=tolerance, tell=tell))
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


def cost_table(name: str, rows: Sequence[experiments.PolicyRow]) -> Table:
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


def saving_table(rows: Sequence[experiments.PolicyRow]) -> Table:
    """Savings of the policies that plan ahead, with the time to prepare them."""
    table_rows = tuple(
        (row.series, f"{row.tolerance:g}", row.policy, _saved(row.saving), _saved(row.long_saving), _prepared_in(row), row.note)
        for row in rows
        if row.saving is not None
    )
    columns = ("Series", "τ", "Policy", "Saving", "Long run", "Prepared in", "How")
    return Table(f"Savings of planning ahead against SSM, 95 % confidence (γ = {experiments.DISCOUNT:g})", columns, table_rows)


def precomputation_table(rows: Sequence[experiments.PrecomputedRow]) -> Table:
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


def task_table(rows: Sequence[experiments.PolicyRow]) -> Table:
    """Fig. 12 as a table: cost and time of a decision against the number of tasks."""
    table_rows = tuple(
        (row.series, str(row.tasks), row.policy, f"{100 * row.followed.mean:.1f}", f"{1e6 * row.followed.median_seconds:.0f}")
        for row in rows
    )
    columns = ("Series", "Tasks", "Policy", "Moved [%]", "Time [µs]")
    return Table(f"Fig. 12: number of tasks, τ = {experiments.TOLERANCE:g}", columns, table_rows, (columns[1], *columns[3:]))


def discount_table(rows: Sequence[experiments.PolicyRow]) -> Table:
    """Fig. 14 as a table: cost, savings and preparation of MTM-aware migration against γ."""
    table_rows = []
    for row in rows:
        planned = (_saved(row.saving), _saved(row.long_saving), _prepared_in(row)) if row.policy == MTM else ("", "", "")
        discount = f"{row.discount:g}" if row.policy == MTM else "0 (SSM)"
        table_rows.append((row.series, discount, f"{100 * row.followed.mean:.2f}", *planned))
    columns = ("Series", "γ", "Moved [%]", "Saving", "Long run", "Prepared in")
    return Table(
        f"Fig. 14: MTM-aware migration against γ, τ = {experiments.TOLERANCE:g}", columns, tuple(table_rows), columns[1:3]
    )


def _saved(estimate: Estimate | None) -> str:
    return "" if estimate is None else SHARE.with_interval(estimate)


def _prepared_in(row: experiments.PolicyRow) -> str:
    return f"{row.prepare_seconds:.1f} s"
