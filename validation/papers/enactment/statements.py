"""Sentences of cost-efficient enactment on its Tables 3 to 6, comparison by comparison, judged on samples.

A comparison is a margin: by how much ours is on the side that the paper names, in the mean over the seeds, with a
confidence interval of the differences seed by seed. BTU is the billing time unit by which hosts are leased.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise, product

import numpy as np

from edrp.core.arrays import Floats
from edrp.report.estimates import estimate_mean
from edrp.report.formatting import Unit
from edrp.report.statements import Finding, Statement, judged
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

MARGIN = Unit(100, "+.1f", " %")
"""Per cent of another mean, or points of compliance."""

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
        Samples of both policies under all patterns and units, with the metrics that `enact` adds.
    """
    return judged(((sentence, section, _findings(margins)) for sentence, section, margins in STATEMENTS), samples)


Margin = Callable[[Samples], Floats]
Pair = tuple[Column, Column]
Relation = Callable[[str, str, Column, Column], tuple[str, Margin]]
Margins = Sequence[tuple[str, Margin]]
"""Places with the margin by which samples are on the side that the paper names, over the seeds."""


def _findings(margins: Margins) -> Callable[[Samples], Iterator[Finding]]:
    """Margins of ours that must be positive, next to those of the paper's tables where they have the figures."""

    def findings(samples: Samples) -> Iterator[Finding]:
        paper = paper_samples()
        for where, margin in margins:
            try:
                printed = float(margin(paper)[0])
            except KeyError:
                printed = None
            yield Finding(where, estimate_mean(margin(samples)), MARGIN, minimum=0.0, strict=True, printed=printed)

    return findings


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


def _alike_between_patterns() -> Iterator[tuple[str, Margin]]:
    for column, level in product((*(Column(BTU, unit) for unit in UNITS), Column(THRESHOLD, UNITS[0])), COMPLIANCES):

        def margin(samples: Samples, column: Column = column, level: str = level) -> Floats:
            ordered = sorted((samples[pattern, column][level] for pattern in PATTERNS), key=np.mean)
            return MAX_DEVIATION - (ordered[-1] - ordered[0])

        yield f"{column_text(column)}, {WORDS[level]}: widest difference between patterns below 3 points", margin


def _compliance_enough() -> Iterator[tuple[str, Margin]]:
    for pattern, unit, level in product(PATTERNS, UNITS, COMPLIANCES[1:]):

        def margin(samples: Samples, cell: tuple[str, Column] = (pattern, Column(BTU, unit)), level: str = level) -> Floats:
            return samples[cell][level] - MIN_COMPLIANCE

        yield f"{pattern}, {WORDS[level]}: BTU{unit} above 84 %", margin


def _max_gain(samples: Samples) -> Floats:
    pairs = product(PATTERNS, _against_threshold(*UNITS), COMPLIANCES)
    gains = (samples[pattern, btu][level] - samples[pattern, threshold][level] for pattern, (btu, threshold), level in pairs)
    return max(gains, key=np.mean) - MAX_GAIN


def _savings(samples: Samples) -> list[Floats]:
    cells = product(PATTERNS, TOTALS, _against_threshold(*UNITS))
    return [_saved(samples, pattern, total, *pair) for pattern, total, pair in cells]


def _against_threshold(*units: int) -> list[Pair]:
    return [(Column(BTU, unit), Column(THRESHOLD, unit)) for unit in units]


def _compare(relation: Relation, quantities: Iterable[str], pairs: Iterable[Pair], patterns: Iterable[str] = PATTERNS) -> Margins:
    return [relation(pattern, quantity, *pair) for pattern, quantity, pair in product(patterns, quantities, pairs)]


LONGER = [(Column(BTU, long), Column(BTU, short)) for short, long in pairwise(UNITS)]
CLOSE = (Column(BTU, 10), Column(THRESHOLD, 10))
"""Columns whose instances follow the load."""

STEPWISE, WALK_1, WALK_2 = "Stepwise data arrival pattern", "Random walk 1", "Random walk 2"
CONCLUSION, ABSTRACT, INTRODUCTION = "Evaluation conclusion", "Abstract", "Introduction"

STATEMENTS: tuple[tuple[str, str, Margins], ...] = (
    (
        "BTU has the higher compliance in all configurations and at all levels",
        CONCLUSION,
        [_more(pattern, level, *pair) for pattern, pair, level in product(PATTERNS, _against_threshold(*UNITS), COMPLIANCES)],
    ),
    ("compliance rises with the unit", STEPWISE, _compare(_more, COMPLIANCES, LONGER)),
    ("compliance is about the same under all patterns, within 3 points", CONCLUSION, list(_alike_between_patterns())),
    ("BTU's near-real-time and relaxed compliance is at least 84 %", CONCLUSION, list(_compliance_enough())),
    ("BTU gains up to 25 points of compliance", ABSTRACT, [("largest gain of a cell above 25 points", _max_gain)]),
    (
        "BTU10 costs more in resources than threshold",
        STEPWISE,
        _compare(_costlier, [RESOURCE_COST], _against_threshold(10)),
    ),
    (
        "BTU30 costs more in resources than threshold",
        STEPWISE,
        _compare(_costlier, [RESOURCE_COST], _against_threshold(30)),
    ),
    ("BTU60 costs less in resources than threshold", CONCLUSION, _compare(_less, [RESOURCE_COST], _against_threshold(60))),
    ("BTU's resource cost rises with the unit", "Tables 3 to 6", _compare(_costlier, [RESOURCE_COST], LONGER)),
    (
        "near-real-time and relaxed totals of BTU are lower",
        CONCLUSION,
        _compare(_less, TOTALS[1:], _against_threshold(*UNITS)),
    ),
    ("real-time totals of BTU30 and BTU60 are lower", CONCLUSION, _compare(_less, TOTALS[:1], _against_threshold(30, 60))),
    ("the real-time total of BTU10 is higher", CONCLUSION, _compare(_costlier, TOTALS[:1], _against_threshold(10))),
    (
        "BTU saves up to 36 % of the total cost",
        ABSTRACT,
        [("largest saving of a cell above 36 %", lambda samples: max(_savings(samples), key=np.mean) - MAX_SAVING)],
    ),
    (
        "BTU saves about 12 % of the total cost, or more",
        INTRODUCTION,
        [("mean saving of all 36 totals above 12 %", lambda samples: np.mean(_savings(samples), axis=0) - MEAN_SAVING)],
    ),
    ("BTU scales the less the longer the unit", STEPWISE, _compare(_less, ["scalings"], LONGER)),
    ("BTU30 and BTU60 scale less than threshold", STEPWISE, _compare(_less, ["scalings"], _against_threshold(30, 60))),
    (
        "in the second hour BTU scales less than threshold",
        WALK_2,
        _compare(_less, ["late_scalings"], _against_threshold(*UNITS), ["random-walk-2"]),
    ),
    (
        "instances follow the load more closely under threshold",
        STEPWISE,
        [_more("stepwise", "following", threshold, btu) for btu, threshold in _against_threshold(*UNITS)],
    ),
    (
        "BTU30 and BTU60 keep instances when the load falls, BTU10 and threshold do not",
        WALK_1,
        [_more("random-walk-1", "following", close, Column(BTU, unit)) for unit, close in product(UNITS[1:], CLOSE)],
    ),
)
"""Sentence, section and margins of each statement."""
