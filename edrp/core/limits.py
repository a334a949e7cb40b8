"""What a limit means: it holds as written, for every capacity, rate and bound on a metric, in the evaluator and in all methods.

Sums are taken in binary64, so an excess that the rounding of such a sum makes is none (`LIMIT_SLACK`). Everything above it breaks
the limit. Solvers are less exact than that: what they return a little beyond is cut off and solved again
(`edrp.backends.exact_rows`).
"""

from __future__ import annotations

from typing import TypeVar

from edrp.core.arrays import Floats
from edrp.core.tolerances import LIMIT_SLACK

Amount = TypeVar("Amount", float, Floats)

MAX_DIGITS = 17
"""Digits that tell any two numbers of binary64 apart."""


def with_rounding(limit: Amount) -> Amount:
    """The largest sum that rounding may have made of a limit.

    >>> with_rounding(0.3) >= 0.1 + 0.2
    True
    """
    return limit * (1 + LIMIT_SLACK)


def exceeds(amount: float, limit: float) -> bool:
    """Whether an amount is beyond a limit by more than the rounding of a sum.

    >>> exceeds(0.1 + 0.2, 0.3), exceeds(17179869194.0, 17179869184.0)
    (False, True)
    """
    return bool(amount > with_rounding(limit))


def digits_apart(amount: float, limit: float) -> tuple[str, str]:
    """Two numbers as text, with as many digits as tell them apart, at least six.

    >>> digits_apart(2.5, 2.0), digits_apart(17179869194.0, 17179869184.0)
    (('2.5', '2'), ('17179869194', '17179869184'))
    """
    whole = len(f"{max(abs(amount), abs(limit)):.0f}")
    for digits in (6, *range(min(max(7, whole), MAX_DIGITS), MAX_DIGITS + 1)):
        pair = f"{amount:.{digits}g}", f"{limit:.{digits}g}"
        if pair[0] != pair[1] or amount == limit:
            break
    return pair


def compared(amount: float, limit: float, between: str = "against") -> str:
    """An amount and its limit in words, with as many digits as tell them apart.

    >>> compared(17179869194.0, 17179869184.0, "used of")
    '17179869194 used of 17179869184'
    """
    return f" {between} ".join(digits_apart(amount, limit))
