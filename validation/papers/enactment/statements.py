"""Sentences of cost-efficient enactment on its Tables 3 to 6, comparison by comparison, judged on samples.

A comparison is a margin: by how much ours is on the side that the paper names, in the mean over the seeds, with a
confidence interval of the differences seed by seed. BTU is the billing time unit by which hosts are leased.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise, product

import numpy as np

from edrp.core.arrays import Floats
from edrp.validation.papers.enactment.cells import paper_samples
from edrp.validation.papers.enactment.printed_values import (
    BTU,
    COMPLIANCES,
    PATTERNS,
    RESOURCE_COST,
    THRESHOLD,
    TOTALS,
    UNITS,
    WORDS,
    Column,
)
from edrp.validation.papers.enactment.runs import Samples
from edrp.validation.report.estimates import estimate_mean
from edrp.validation.report.formatting import PERCENT_SAVED
from edrp.validation.report.statements import Finding, Statement, judged

MAX_DEVIATION = 0.03
"""Between patterns, "a maximum deviation of 3%"."""

MIN_COMPLIANCE = 0.84
"""Near real-time and relaxed: "ranges from 84% to 95%"."""

MAX_GAIN, MAX_SAVING, MEAN_SAVING = 0.25, 0.36, 0.12
"""Gains of compliance and savings of total cost: "up to 25%", "up to 36%", "about 12%"."""


def statements(samples: Samples) -> tuple[Statement, ...]:
    """Every comparison that the paper draws, judged on runs of the BTU and the threshold policy.

    Parameters
    ----------
    samples
        Of both policies under all patterns and units, with the metrics that `enact` adds.
    """
    return judged(((sentence, section, _findings(margins)) for sentence, section, margins in STATEMENTS), samples)


Margin = Callable[[Samples], Floats]
Margins = Iterable[tuple[str, Margin]]
"""Places with the margin by which samples are on the side that the paper names, over the seeds."""


def _findings(margins: Callable[[], Margins]) -> Callable[[Samples], Iterator[Finding]]:
    """Margins of ours that must be positive, beside those of the paper's tables where they have the figures."""

    def findings(samples: Samples) -> Iterator[Finding]:
        paper = paper_samples()
        for where, margin in margins():
            try:
                printed = float(margin(paper)[0])
            except KeyError:
                printed = None
            yield Finding(where, estimate_mean(margin(samples)), PERCENT_SAVED, minimum=0.0, strict=True, printed=printed)

    return findings


def _btu(unit: int) -> Column:
    return Column(BTU, unit)


def _threshold(unit: int) -> Column:
    return Column(THRESHOLD, unit)


def _more(pattern: str, quantity: str, this: Column, than: Column) -> tuple[str, Margin]:
    """The points by which one column is above another."""
    where = f"{pattern}, {WORDS.get(quantity, quantity)}: {column_text(this)} above {column_text(than)}"
    return where, lambda samples: samples[pattern, this][quantity] - samples[pattern, than][quantity]


def _less(pattern: str, quantity: str, this: Column, than: Column) -> tuple[str, Margin]:
    """The share of the other's mean by which one column is below another."""
    where = f"{pattern}, {WORDS.get(quantity, quantity)}: {column_text(this)} below {column_text(than)}"
    return where, lambda samples: _saved(samples, pattern, quantity, this, than)


def _costlier(pattern: str, quantity: str, this: Column, than: Column) -> tuple[str, Margin]:
    """The share of the other's mean by which one column is above another."""
    where = f"{pattern}, {WORDS.get(quantity, quantity)}: {column_text(this)} above {column_text(than)}"
    return where, lambda samples: -_saved(samples, pattern, quantity, this, than)


def _saved(samples: Samples, pattern: str, quantity: str, this: Column, than: Column) -> Floats:
    """Differences seed by seed as shares of the other's mean: a policy may not scale at all under one seed."""
    other = samples[pattern, than][quantity]
    return (other - samples[pattern, this][quantity]) / (other.mean() or 1.0)


def column_text(column: Column) -> str:
    """A column of the tables as text.

    >>> column_text(Column("btu", 10)), column_text(Column("threshold", 60))
    ('BTU10', 'threshold at BTU60')
    """
    return f"BTU{column.unit}" if column.policy == BTU else f"{column.policy} at BTU{column.unit}"


def _compliance_above() -> Margins:
    for pattern, unit, level in product(PATTERNS, UNITS, COMPLIANCES):
        yield _more(pattern, level, _btu(unit), _threshold(unit))


def _compliance_rises() -> Margins:
    for pattern, level, (short, long) in product(PATTERNS, COMPLIANCES, pairwise(UNITS)):
        yield _more(pattern, level, _btu(long), _btu(short))


def _alike_between_patterns() -> Margins:
    for column, level in product((*map(_btu, UNITS), _threshold(UNITS[0])), COMPLIANCES):

        def margin(samples: Samples, column: Column = column, level: str = level) -> Floats:
            ordered = sorted((samples[pattern, column][level] for pattern in PATTERNS), key=np.mean)
            return MAX_DEVIATION - (ordered[-1] - ordered[0])

        yield f"{column_text(column)}, {WORDS[level]}: widest difference between patterns below 3 points", margin


def _compliance_enough() -> Margins:
    for pattern, unit, level in product(PATTERNS, UNITS, COMPLIANCES[1:]):

        def margin(samples: Samples, cell: tuple[str, Column] = (pattern, _btu(unit)), level: str = level) -> Floats:
            return samples[cell][level] - MIN_COMPLIANCE

        yield f"{pattern}, {WORDS[level]}: BTU{unit} above 84 %", margin


def _largest_gain() -> Margins:
    cells = list(product(PATTERNS, UNITS, COMPLIANCES))

    def margin(samples: Samples) -> Floats:
        gains = (samples[p, _btu(unit)][level] - samples[p, _threshold(unit)][level] for p, unit, level in cells)
        return max(gains, key=np.mean) - MAX_GAIN

    yield "largest gain of a cell above 25 points", margin


def _savings(samples: Samples) -> list[Floats]:
    cells = product(PATTERNS, TOTALS, UNITS)
    return [_saved(samples, pattern, total, _btu(unit), _threshold(unit)) for pattern, total, unit in cells]


def _largest_saving() -> Margins:
    yield "largest saving of a cell above 36 %", lambda samples: max(_savings(samples), key=np.mean) - MAX_SAVING


def _mean_saving() -> Margins:
    yield "mean saving of all 36 totals above 12 %", lambda samples: np.mean(_savings(samples), axis=0) - MEAN_SAVING


def _resource_costlier(unit: int) -> Callable[[], Margins]:
    return lambda: (_costlier(pattern, RESOURCE_COST, _btu(unit), _threshold(unit)) for pattern in PATTERNS)


def _resource_cheaper() -> Margins:
    return (_less(pattern, RESOURCE_COST, _btu(60), _threshold(60)) for pattern in PATTERNS)


def _resource_rises() -> Margins:
    for pattern, (short, long) in product(PATTERNS, pairwise(UNITS)):
        yield _costlier(pattern, RESOURCE_COST, _btu(long), _btu(short))


def _totals_cheaper() -> Margins:
    for pattern, total, unit in product(PATTERNS, TOTALS[1:], UNITS):
        yield _less(pattern, total, _btu(unit), _threshold(unit))


def _real_time_cheaper() -> Margins:
    for pattern, unit in product(PATTERNS, UNITS[1:]):
        yield _less(pattern, TOTALS[0], _btu(unit), _threshold(unit))


def _real_time_costlier() -> Margins:
    return (_costlier(pattern, TOTALS[0], _btu(10), _threshold(10)) for pattern in PATTERNS)


def _scaling_falls() -> Margins:
    for pattern, (short, long) in product(PATTERNS, pairwise(UNITS)):
        yield _less(pattern, "scalings", _btu(long), _btu(short))


def _scaling_less() -> Margins:
    for pattern, unit in product(PATTERNS, UNITS[1:]):
        yield _less(pattern, "scalings", _btu(unit), _threshold(unit))


def _late_scaling_less() -> Margins:
    for unit in UNITS:
        yield _less("random-walk-2", "late_scalings", _btu(unit), _threshold(unit))


def _threshold_follows() -> Margins:
    return (_more("stepwise", "following", _threshold(unit), _btu(unit)) for unit in UNITS)


def _long_units_stay_high() -> Margins:
    for unit, close in product(UNITS[1:], (_btu(10), _threshold(10))):
        yield _more("random-walk-1", "following", close, _btu(unit))


STEPWISE, WALK_1, WALK_2 = "Stepwise data arrival pattern", "Random walk 1", "Random walk 2"
CONCLUSION, ABSTRACT, INTRODUCTION = "Evaluation conclusion", "Abstract", "Introduction"

STATEMENTS: tuple[tuple[str, str, Callable[[], Margins]], ...] = (
    ("BTU has the higher compliance in all configurations and at all levels", CONCLUSION, _compliance_above),
    ("compliance rises with the unit", STEPWISE, _compliance_rises),
    ("compliance is about the same under all patterns, within 3 points", CONCLUSION, _alike_between_patterns),
    ("BTU's near-real-time and relaxed compliance is at least 84 %", CONCLUSION, _compliance_enough),
    ("BTU gains up to 25 points of compliance", ABSTRACT, _largest_gain),
    ("BTU10 costs more in resources than threshold", STEPWISE, _resource_costlier(10)),
    ("BTU30 costs more in resources than threshold", STEPWISE, _resource_costlier(30)),
    ("BTU60 costs less in resources than threshold", CONCLUSION, _resource_cheaper),
    ("BTU's resource cost rises with the unit", "Tables 3 to 6", _resource_rises),
    ("near-real-time and relaxed totals of BTU are lower", CONCLUSION, _totals_cheaper),
    ("real-time totals of BTU30 and BTU60 are lower", CONCLUSION, _real_time_cheaper),
    ("the real-time total of BTU10 is higher", CONCLUSION, _real_time_costlier),
    ("BTU saves up to 36 % of the total cost", ABSTRACT, _largest_saving),
    ("BTU saves about 12 % of the total cost, or more", INTRODUCTION, _mean_saving),
    ("BTU scales the less the longer the unit", STEPWISE, _scaling_falls),
    ("BTU30 and BTU60 scale less than threshold", STEPWISE, _scaling_less),
    ("in the second hour BTU scales less than threshold", WALK_2, _late_scaling_less),
    ("instances follow the load more closely under threshold", STEPWISE, _threshold_follows),
    ("BTU30 and BTU60 keep instances when the load falls, BTU10 and threshold do not", WALK_1, _long_units_stay_high),
)
"""Sentence, section and margins of each statement."""
