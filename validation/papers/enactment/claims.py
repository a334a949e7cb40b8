"""Sentences of cost-efficient enactment on its Tables 3 to 6 as data, comparison by comparison.

A comparison is a margin: by how much ours is on the side that the paper names, in the mean over the seeds, with a
confidence interval of the differences seed by seed. BTU is the billing time unit by which hosts are leased.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise, product

import numpy as np

from edrp.core.arrays import Floats
from edrp.report.formatting import Unit
from edrp.validation.papers.claims import Claims, Requirement, positive
from edrp.validation.papers.enactment import runs

MARGIN = Unit(100, "+.1f", " %")
"""Per cent of another mean, or points of compliance."""

MAX_DEVIATION, MIN_COMPLIANCE = 0.03, 0.84
"""Between patterns, "a maximum deviation of 3%"; near real-time and relaxed: "ranges from 84% to 95%"."""

MAX_GAIN, MAX_SAVING, MEAN_SAVING = 0.25, 0.36, 0.12
"""Gains of compliance and savings of total cost: "up to 25%", "up to 36%", "about 12%"."""

Margin = Callable[[runs.Samples], Floats]
Pair = tuple[runs.Column, runs.Column]
Relation = Callable[[str, str, runs.Column, runs.Column], tuple[str, Margin]]


def _all(*margins: tuple[str, Margin]) -> Requirement:
    """Margins over the seeds that must be positive, next to those of the paper's tables where they have the figures."""
    return positive(lambda _: margins, lambda samples, margin: margin(samples), MARGIN, printed=_printed)


def _printed(margin: Margin) -> float | None:
    try:
        return float(margin(runs.paper_samples())[0])
    except KeyError:
        return None


def _saved(samples: runs.Samples, pattern: str, quantity: str, this: runs.Column, than: runs.Column) -> Floats:
    """Differences seed by seed as shares of the other's mean: a policy may not scale at all under one seed."""
    other = samples[pattern, than][quantity]
    return (other - samples[pattern, this][quantity]) / (other.mean() or 1.0)


def _where(pattern: str, quantity: str, this: runs.Column, relation: str, than: runs.Column) -> str:
    return f"{pattern}, {runs.WORDS[quantity]}: {column_text(this)} {relation} {column_text(than)}"


def _more(pattern: str, quantity: str, this: runs.Column, than: runs.Column) -> tuple[str, Margin]:
    """The points by which one column is above another."""
    where = _where(pattern, quantity, this, "above", than)
    return where, lambda samples: samples[pattern, this][quantity] - samples[pattern, than][quantity]


def _less(pattern: str, quantity: str, this: runs.Column, than: runs.Column) -> tuple[str, Margin]:
    """The share of the other's mean by which one column is below another."""
    return _where(pattern, quantity, this, "below", than), lambda samples: _saved(samples, pattern, quantity, this, than)


def _costlier(pattern: str, quantity: str, this: runs.Column, than: runs.Column) -> tuple[str, Margin]:
    """The share of the other's mean by which one column is above another."""
    return _where(pattern, quantity, this, "above", than), lambda samples: -_saved(samples, pattern, quantity, this, than)


def _compare(
    relation: Relation, quantities: Sequence[str], pairs: Iterable[Pair], patterns: Sequence[str] = runs.PATTERNS
) -> Requirement:
    return _all(*(relation(pattern, quantity, *pair) for pattern, quantity, pair in product(patterns, quantities, pairs)))


def column_text(column: runs.Column) -> str:
    """A column of the tables as text.

    >>> column_text(runs.Column("btu", 10)), column_text(runs.Column("threshold", 60))
    ('BTU10', 'threshold at BTU60')
    """
    return f"BTU{column.unit}" if column.policy == runs.BTU else f"{column.policy} at BTU{column.unit}"


def _alike(column: runs.Column, level: str) -> tuple[str, Margin]:
    """Return the amount by which the patterns are closer to each other than `MAX_DEVIATION`."""

    def margin(samples: runs.Samples) -> Floats:
        ordered = sorted((samples[pattern, column][level] for pattern in runs.PATTERNS), key=np.mean)
        return MAX_DEVIATION - (ordered[-1] - ordered[0])

    return f"{column_text(column)}, {runs.WORDS[level]}: widest difference between patterns below 3 points", margin


def _enough(pattern: str, unit: int, level: str) -> tuple[str, Margin]:
    where = f"{pattern}, {runs.WORDS[level]}: BTU{unit} above 84 %"
    return where, lambda samples: samples[pattern, runs.Column(runs.BTU, unit)][level] - MIN_COMPLIANCE


def _max_gain(samples: runs.Samples) -> Floats:
    gains = (
        samples[pattern, btu][level] - samples[pattern, threshold][level]
        for pattern, (btu, threshold), level in product(runs.PATTERNS, AGAINST_THRESHOLD, runs.COMPLIANCES)
    )
    return max(gains, key=np.mean) - MAX_GAIN


def _savings(samples: runs.Samples) -> list[Floats]:
    cells = product(runs.PATTERNS, runs.TOTALS, AGAINST_THRESHOLD)
    return [_saved(samples, pattern, total, *pair) for pattern, total, pair in cells]


AGAINST_THRESHOLD = AT_10, AT_30, AT_60 = [
    (runs.Column(runs.BTU, unit), runs.Column(runs.THRESHOLD, unit)) for unit in runs.UNITS
]
LONGER = [(runs.Column(runs.BTU, long), runs.Column(runs.BTU, short)) for short, long in pairwise(runs.UNITS)]
CLOSE = (runs.Column(runs.BTU, 10), runs.Column(runs.THRESHOLD, 10))
"""Columns whose instances follow the load."""

CONCLUSION, ABSTRACT, STEPWISE = "Evaluation conclusion", "Abstract", "Stepwise data arrival pattern"

CLAIMS: Claims = (
    (CONCLUSION, "BTU has the higher compliance in all configurations and at all levels",
     _all(*(_more(pattern, level, *pair) for pattern, pair, level in
            product(runs.PATTERNS, AGAINST_THRESHOLD, runs.COMPLIANCES)))),
    (STEPWISE, "compliance rises with the unit", _compare(_more, runs.COMPLIANCES, LONGER)),
    (CONCLUSION, "compliance is about the same under all patterns, within 3 points",
     _all(*(_alike(*cell) for cell in product((*(btu for btu, _ in AGAINST_THRESHOLD), AT_10[1]), runs.COMPLIANCES)))),
    (CONCLUSION, "BTU's near-real-time and relaxed compliance is at least 84 %",
     _all(*(_enough(*cell) for cell in product(runs.PATTERNS, runs.UNITS, runs.COMPLIANCES[1:])))),
    (ABSTRACT, "BTU gains up to 25 points of compliance", _all(("largest gain of a cell above 25 points", _max_gain))),
    (STEPWISE, "BTU10 costs more in resources than threshold", _compare(_costlier, [runs.RESOURCE_COST], [AT_10])),
    (STEPWISE, "BTU30 costs more in resources than threshold", _compare(_costlier, [runs.RESOURCE_COST], [AT_30])),
    (CONCLUSION, "BTU60 costs less in resources than threshold", _compare(_less, [runs.RESOURCE_COST], [AT_60])),
    ("Tables 3 to 6", "BTU's resource cost rises with the unit", _compare(_costlier, [runs.RESOURCE_COST], LONGER)),
    (CONCLUSION, "near-real-time and relaxed totals of BTU are lower", _compare(_less, runs.TOTALS[1:], AGAINST_THRESHOLD)),
    (CONCLUSION, "real-time totals of BTU30 and BTU60 are lower", _compare(_less, runs.TOTALS[:1], [AT_30, AT_60])),
    (CONCLUSION, "the real-time total of BTU10 is higher", _compare(_costlier, runs.TOTALS[:1], [AT_10])),
    (ABSTRACT, "BTU saves up to 36 % of the total cost",
     _all(("largest saving of a cell above 36 %", lambda samples: max(_savings(samples), key=np.mean) - MAX_SAVING))),
    ("Introduction", "BTU saves about 12 % of the total cost, or more",
     _all(("mean saving of all 36 totals above 12 %", lambda samples: np.mean(_savings(samples), axis=0) - MEAN_SAVING))),
    (STEPWISE, "BTU scales the less the longer the unit", _compare(_less, ["scalings"], LONGER)),
    (STEPWISE, "BTU30 and BTU60 scale less than threshold", _compare(_less, ["scalings"], [AT_30, AT_60])),
    ("Random walk 2", "in the second hour BTU scales less than threshold",
     _compare(_less, ["late_scalings"], AGAINST_THRESHOLD, ["random-walk-2"])),
    (STEPWISE, "instances follow the load more closely under threshold",
     _all(*(_more("stepwise", "following", threshold, btu) for btu, threshold in AGAINST_THRESHOLD))),
    ("Random walk 1", "BTU30 and BTU60 keep instances when the load falls, BTU10 and threshold do not",
     _all(*(_more("random-walk-1", "following", close, runs.Column(runs.BTU, unit))
            for unit, close in product(runs.UNITS[1:], CLOSE)))),
)  # fmt: skip
"""Every comparison that the paper draws, of the BTU and the threshold policy under all patterns and units."""
