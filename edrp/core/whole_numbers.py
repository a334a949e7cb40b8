"""Numbers of which all values of a sum are whole multiples, so that a bound on it may be rounded up."""

from __future__ import annotations

import math
from collections.abc import Iterable
from fractions import Fraction

from edrp.core.tolerances import MAX_ROUNDED_STEPS, MAX_STEPS, STEP_ROUNDING, SUM_ROUNDING

MAX_DENOMINATOR = 10**6
"""Largest denominator of a fraction that a coefficient in binary64 may stand for, such as a third."""


def common_step(coefficients: Iterable[float]) -> Fraction | None:
    """The greatest number of which all coefficients are whole multiples.

    Whole numbers times the coefficients, added up, are multiples of it. None without any but 0, where a coefficient is no
    fraction of small denominator up to rounding, or the largest is so many steps that rounding reaches one.

    Examples
    --------
    >>> common_step([4.0, 6.0, 0.0]), common_step([10 / 3, 0.5]), common_step([2**0.5])
    (Fraction(2, 1), Fraction(1, 6), None)
    """
    sizes = {abs(float(value)) for value in coefficients} - {0.0}
    parts = [Fraction(size).limit_denominator(MAX_DENOMINATOR) for size in sizes]
    if not parts or any(abs(float(part) - size) > SUM_ROUNDING * size for part, size in zip(parts, sizes, strict=True)):
        return None
    denominator = math.lcm(*(part.denominator for part in parts))
    step = Fraction(math.gcd(*(int(part * denominator) for part in parts)), denominator)
    return step if max(sizes) <= MAX_STEPS * float(step) else None


def round_up(bound: float, step: float) -> float:
    """The least multiple of a step that is at least a bound, which rounding may have raised by a small part of a step.

    A bound of so many steps that a double does not tell them apart stays as it is.

    >>> round_up(182.9999984, 1.0), round_up(4.7, 2.0), round_up(2.0000001, 1.0)
    (183.0, 6.0, 2.0)
    """
    steps = bound / step
    return step * math.ceil(steps - STEP_ROUNDING) if abs(steps) <= MAX_ROUNDED_STEPS else bound
