"""Policies compared by runs with the same seeds: means, differences seed by seed, sentences, tables and sections of a page."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any, NamedTuple

from edrp.core.arrays import Floats
from edrp.core.errors import numbered
from edrp.core.tolerances import SAME_VALUE, WHOLE_NUMBER_SLACK
from edrp.report.estimates import MIN_RESAMPLED, Estimate, bootstrap_mean
from edrp.report.formatting import Unit
from edrp.report.page import Figure, Section
from edrp.report.tables import Table

WIDTH, ROW, MARGIN, AXIS = 350, 48, 24, 20
"""Width of a panel, height of a row with its name above its dots, margins left and right, and height of the axis below."""

SIGNS = 48
"""Signs of a name and its numbers that one line has room for."""

TICKS = 4
"""Approximate number of ticks of an axis."""


class Dots(NamedTuple):
    """A row of a panel: a mean with its interval, and the values behind it."""

    estimate: Estimate
    values: Floats


def interval_figure(panels: Mapping[str, tuple[Unit, Mapping[str, Dots]]]) -> str:
    """Panels as markup, side by side where there is room.

    Parameters
    ----------
    panels
        By heading, how numbers are written, and the rows by name; names are text, whatever they hold.

    Examples
    --------
    >>> from numpy import array
    >>> row = Dots(Estimate(2.0, 1.0, 3.0), array([1.0, 3.0]))
    >>> figure = interval_figure({"cost (money)": (Unit(), {"<b>": row})})
    >>> figure.count("<circle"), "<b>" in figure
    (3, False)
    """
    drawn = (f"<div><p>{escape(heading)}</p>{_panel(unit, rows)}</div>" for heading, (unit, rows) in panels.items())
    return f'<div class="dots">{"".join(drawn)}</div>'


def nice_ticks(low: float, high: float) -> list[float]:
    """Round numbers from at most `low` to at least `high`.

    >>> nice_ticks(0.3, 9.2), nice_ticks(5.0, 5.0)
    ([0.0, 2.5, 5.0, 7.5, 10.0], [4.5, 5.0, 5.5])
    """
    if high <= low:
        reach = 0.1 * abs(low) or 1.0
        return [low - reach, low, low + reach]
    rough = (high - low) / TICKS
    size = 10.0 ** math.floor(math.log10(rough))
    step = next(factor * size for factor in (1.0, 2.0, 2.5, 5.0, 10.0) if factor * size >= rough * (1 - SAME_VALUE))
    first, last = math.floor(low / step + WHOLE_NUMBER_SLACK), math.ceil(high / step - WHOLE_NUMBER_SLACK)
    return [step * count for count in range(first, last + 1)]


def _panel(unit: Unit, rows: Mapping[str, Dots]) -> str:
    """One SVG; its axis holds all values and intervals."""
    ends = [end for row in rows.values() for end in row.estimate if end is not None]
    values = [*ends, *(float(value) for row in rows.values() for value in row.values)]
    ticks = nice_ticks(min(values), max(values))
    scale = (WIDTH - 2 * MARGIN) / (ticks[-1] - ticks[0])

    def at(value: float) -> float:
        return round(MARGIN + scale * (value - ticks[0]), 1)

    height = ROW * len(rows) + AXIS
    parts = [f'<path class="grid" d="M{at(tick)} 4V{height - AXIS}"/>' for tick in ticks]
    for index, (name, row) in enumerate(rows.items()):
        parts += _row(name, row, unit, ROW * index, at)
    for tick in ticks:
        label = f"{unit.scale * tick:,.6g}".replace("-", "−")
        parts.append(f'<text class="tick" x="{at(tick)}" y="{height - 4}">{label}</text>')
    return f'<svg viewBox="0 0 {WIDTH} {height}" aria-hidden="true">{"".join(parts)}</svg>'


def _row(name: str, row: Dots, unit: Unit, top: int, at: Callable[[float], float]) -> list[str]:
    """Name and numbers above a line with dots."""
    middle, mean = top + 30, row.estimate
    numbers = unit._replace(name="").with_interval(mean)
    room = SIGNS - len(numbers)
    short = name if len(name) <= room else f"{name[: room - 1]}…"
    parts = [
        f'<text x="0" y="{top + 15}">{escape(short)}<title>{escape(name)}</title></text>',
        f'<text class="number" x="{WIDTH}" y="{top + 15}">{escape(numbers)}</text>',
        *(f'<circle class="single" cx="{at(float(value))}" cy="{middle}" r="3"/>' for value in row.values),
    ]
    if mean.low is not None and mean.high is not None:
        parts.append(f'<path class="reach" d="M{at(mean.low)} {middle}H{at(mean.high)}"/>')
    return [*parts, f'<circle class="mean" cx="{at(mean.mean)}" cy="{middle}" r="5"/>']


TERMS = {
    "Run": "One policy in one world with one seed; every policy has the same seeds, and meets the same loads and the same luck.",
    "Interval": (
        f"95 % bootstrap confidence interval of the mean over the seeds (bias-corrected and accelerated, 2000 resamples); none "
        f"below {MIN_RESAMPLED} seeds, of which resampling says too little."
    ),
    "Difference": (
        "Taken seed by seed, so that what a seed brings to all policies cancels out: it can be certain where intervals of the "
        "means overlap."
    ),
}
"""Explanations of the words that a comparison uses."""


class Quantity(NamedTuple):
    """A quantity of a run: its name among the metrics, its name in words, and how it is written."""

    name: str
    label: str
    unit: Unit


@dataclass(frozen=True)
class PolicyComparison:
    r"""Runs of policies with the same seeds.

    Attributes
    ----------
    quantities : quantities of a run, of which the first is the objective: the less of it, the better.
    samples : by policy and name of a quantity, its values in the order of the seeds.

    Examples
    --------
    >>> import numpy as np
    >>> made = PolicyComparison(
    ...     [Quantity("cost", "cost", Unit(1, ".3g", " money"))],
    ...     range(8),
    ...     {"old": {"cost": np.arange(8.0) + 9}, "new": {"cost": np.arange(8.0)}},
    ... )
    >>> made.best, made.difference("old", made.quantities[0])
    ('new', Estimate(mean=9.0, low=9.0, high=9.0))
    >>> print(*made.sentences(), sep="\n")
    `new` has the least cost: 3.5 money (1.88 to 5) in the mean of 8 runs.
    `old` has more: +9 money (9 to 9) seed by seed, more in 8 of 8 runs.
    """

    quantities: Sequence[Quantity]
    seeds: Sequence[int]
    samples: Mapping[str, Mapping[str, Floats]]

    @property
    def best(self) -> str:
        """The policy with the least mean objective; the first of several."""
        objective = self.quantities[0].name
        return min(self.samples, key=lambda policy: self.samples[policy][objective].mean())

    def mean(self, policy: str, quantity: Quantity) -> Estimate:
        """A policy's mean over the seeds."""
        return estimate_seeds(self.samples[policy][quantity.name])

    def difference(self, policy: str, quantity: Quantity) -> Estimate:
        """By how much a policy has more than the best one, seed by seed."""
        return estimate_seeds(self.samples[policy][quantity.name] - self.samples[self.best][quantity.name])

    def sentences(self) -> list[str]:
        """Which policy does best by the objective, and how certain that is of each of the others."""
        objective, best = self.quantities[0], self.best
        mean = objective.unit.with_interval(self.mean(best, objective))
        if len(self.samples) == 1:
            return [f"`{best}`: {objective.label} {mean} in the mean of {len(self.seeds)} runs.", *self._too_few()]
        first = f"`{best}` has the least {objective.label}: {mean} in the mean of {numbered(len(self.seeds), 'run')}."
        return [first, *(self._against(policy) for policy in self.samples if policy != best), *self._too_few()]

    def _against(self, policy: str) -> str:
        """One of the other policies against the best one."""
        objective, total = self.quantities[0], len(self.seeds)
        apart = self.samples[policy][objective.name] - self.samples[self.best][objective.name]
        if not apart.any():
            return f"`{policy}` has the same {objective.label} in every run."
        estimate = self.difference(policy, objective)
        shown = objective.unit.signed.with_interval(estimate)
        often = f"more in {int((apart > 0).sum())} of {numbered(total, 'run')}"
        if estimate.low is None:
            return f"`{policy}`: {shown} seed by seed, {often}."
        if estimate.low > 0:
            return f"`{policy}` has more: {shown} seed by seed, {often}."
        return f"`{policy}` cannot be told apart from it: {shown} seed by seed, {often}; more seeds may decide."

    def _too_few(self) -> list[str]:
        if len(self.seeds) >= MIN_RESAMPLED:
            return []
        count = numbered(len(self.seeds), "run")
        return [f"Too few for intervals, so nothing is certain: {count} of each; take {MIN_RESAMPLED} or more."]

    def means_table(self) -> Table:
        """A row for each quantity, a column for each policy."""
        rows = tuple(
            (_heading(quantity), *(quantity.unit.above_interval(self.mean(policy, quantity)) for policy in self.samples))
            for quantity in self.quantities
        )
        caption = f"Means of {numbered(len(self.seeds), 'run')} with 95 % intervals"
        return Table(caption, ("quantity", *self.samples), rows, tuple(self.samples), open=True)

    def differences_table(self) -> Table:
        """How much more than the best policy each other one has of every quantity, seed by seed."""
        others = [policy for policy in self.samples if policy != self.best]
        rows = tuple(
            (
                _heading(quantity).replace("(%)", "(points)"),
                *(quantity.unit.signed.above_interval(self.difference(policy, quantity), " to ") for policy in others),
            )
            for quantity in self.quantities
        )
        caption = f"Differences from {self.best}, seed by seed, with 95 % intervals"
        return Table(caption, ("quantity", *others), rows, tuple(others), open=True)

    def runs_table(self) -> Table:
        """Every run."""
        columns = ("policy", "seed", *map(_heading, self.quantities))
        rows = tuple(
            (policy, str(seed), *(quantity.unit.number(float(own[quantity.name][at])) for quantity in self.quantities))
            for policy, own in self.samples.items()
            for at, seed in enumerate(self.seeds)
        )
        return Table("Every run", columns, rows, columns[1:])

    def sections(self) -> list[Section]:
        """Sections of a page: figures, tables, and what the words mean."""
        idle = [quantity for quantity in self.quantities if not any(own[quantity.name].any() for own in self.samples.values())]
        panels = {
            _heading(quantity): (
                quantity.unit,
                {policy: Dots(self.mean(policy, quantity), own[quantity.name]) for policy, own in self.samples.items()},
            )
            for quantity in self.quantities
            if quantity not in idle
        }
        words = f"Means with intervals of {', '.join(self.samples)}, a panel for each quantity; the table below has the numbers."
        figure = Figure(words, html=interval_figure(panels)) if panels else None
        notes = ["Large dots are means, lines their 95 % intervals, small dots single runs. The first panel is the objective."]
        if idle:
            notes = [*(notes if panels else []), f"0 in every run: {', '.join(quantity.label for quantity in idle)}."]
        tables = [self.means_table(), *([self.differences_table()] if len(self.samples) > 1 else []), self.runs_table()]
        return [
            Section("Side by side", notes=notes, figure=figure),
            Section("Numbers", tables=tables),
            Section("What the words mean", terms=TERMS),
        ]

    def records(self) -> dict[str, list[dict[str, Any]]]:
        """Rows of CSV files: every run, and means and differences with their intervals; SI units, shares as fractions."""
        runs = [
            {"policy": policy, "seed": seed} | {name: float(values[at]) for name, values in own.items()}
            for policy, own in self.samples.items()
            for at, seed in enumerate(self.seeds)
        ]
        summary = [
            {"policy": policy, "quantity": quantity.name, "runs": len(self.seeds)}
            | self.mean(policy, quantity)._asdict()
            | {f"difference_{name}": value for name, value in self.difference(policy, quantity)._asdict().items()}
            for policy in self.samples
            for quantity in self.quantities
        ]
        return {"runs": runs, "summary": summary}


def estimate_seeds(values: Floats) -> Estimate:
    """A mean over seeds with its bootstrap interval; without one where there are too few seeds.

    >>> import numpy as np
    >>> estimate_seeds(np.array([1.0, 2.0]))
    Estimate(mean=1.5, low=None, high=None)
    """
    return bootstrap_mean(values) if values.size >= MIN_RESAMPLED else Estimate(float(values.mean()), None, None)


def _heading(quantity: Quantity) -> str:
    unit = quantity.unit.name.strip()
    return f"{quantity.label} ({unit})" if unit else quantity.label
