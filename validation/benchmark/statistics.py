"""Paired tests between methods."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
from scipy import stats

from edrp.core.tolerances import EQUAL_GAPS


@dataclass(frozen=True, slots=True)
class PairedTest:
    """Two methods on the instances for which both have an answer.

    Attributes
    ----------
    first, second
        Names of the methods.
    common
        Number of instances that both answered.
    first_better, second_better, ties
        On how many of them which gap is smaller.
    median_difference
        Median difference of the gaps, first less second; None without a common instance.
    p_value
        Wilcoxon's signed-rank test, two-sided, corrected for all tests of the same family by Holm's method; None
        where every pair is tied.
    effect
        Matched-pairs rank-biserial correlation: 1 where the first has the smaller gap on all instances that differ,
        -1 where the second has; None where every pair is tied.
    """

    first: str
    second: str
    common: int
    first_better: int
    second_better: int
    ties: int
    median_difference: float | None
    p_value: float | None
    effect: float | None


def paired_tests(gaps: Mapping[str, Mapping[str, float]]) -> list[PairedTest]:
    """Wilcoxon's signed-rank test for every pair of methods, corrected for their number by Holm's method.

    Instances on which two methods are tied are left out of their test, as Wilcoxon does, and counted.

    Parameters
    ----------
    gaps
        By method, the gap by instance; instances without an answer are missing.

    Examples
    --------
    >>> better, worse = ({str(i): gap for i in range(10)} for gap in (0.0, 0.1))
    >>> (test,) = paired_tests({"a": better, "b": worse})
    >>> test.first_better, test.ties, test.effect, test.p_value < 0.01
    (10, 0, 1.0, True)
    """
    tests = [_compare(first, second, gaps[first], gaps[second]) for first, second in combinations(gaps, 2)]
    corrected = iter(holm([test.p_value for test in tests if test.p_value is not None]))
    return [test if test.p_value is None else replace(test, p_value=next(corrected)) for test in tests]


def holm(p_values: Sequence[float]) -> list[float]:
    """P values corrected for their number by Holm's step-down method.

    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    order, count = np.argsort(p_values, kind="stable"), len(p_values)
    corrected = np.empty(count)
    corrected[order] = np.maximum.accumulate(np.minimum(1.0, np.arange(count, 0, -1) * np.asarray(p_values)[order]))
    return list(corrected.tolist())


def _compare(first: str, second: str, first_gaps: Mapping[str, float], second_gaps: Mapping[str, float]) -> PairedTest:
    """One test by itself, its p value not corrected."""
    common = [name for name in first_gaps if name in second_gaps]
    difference = np.array([first_gaps[name] - second_gaps[name] for name in common])
    difference[np.abs(difference) <= EQUAL_GAPS] = 0.0
    differing = difference[difference != 0]
    ranks = stats.rankdata(np.abs(differing))
    apart = float(ranks[differing < 0].sum() - ranks[differing > 0].sum())  # of ranks in favour of the first and of the second
    return PairedTest(
        first,
        second,
        common=len(common),
        first_better=int((difference < 0).sum()),
        second_better=int((difference > 0).sum()),
        ties=len(common) - differing.size,
        median_difference=float(np.median(difference)) if common else None,
        p_value=float(stats.wilcoxon(differing).pvalue) if differing.size else None,
        effect=apart / float(ranks.sum()) if differing.size else None,  # rank-biserial correlation
    )
