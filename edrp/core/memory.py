"""Refusing work that memory cannot hold, before any of it is allocated."""

from __future__ import annotations

import math
import os

from edrp.core.errors import ProblemTooLargeError

CEILING = 4 * 2**30
"""Bytes that one table or set of documents may take on the largest of machines."""


def memory_limit() -> float:
    """Bytes that one table or set of documents may take here: at most half of the machine's memory."""
    try:
        physical = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):  # not known on this system
        return CEILING
    return min(CEILING, physical / 2)


def refuse_beyond_memory(needed: float, what: str, remedy: str) -> None:
    """Refuse work that needs `needed` bytes when that is more than `memory_limit()`.

    Raises
    ------
    ProblemTooLargeError
        Naming what needs how much, and what to do instead.

    Examples
    --------
    >>> refuse_beyond_memory(2.0**40, "30000 nodes", "narrow the operators' candidates")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    edrp.core.errors.ProblemTooLargeError: 30000 nodes need 1024.0 GiB, ...
    """
    limit = memory_limit()
    if needed > limit:
        raise ProblemTooLargeError(
            f"{what} need {needed / 2**30:.1f} GiB, more than the {limit / 2**30:.1f} GiB set aside; {remedy}"
        )


def amount(number: float) -> str:
    """Write a count that may be astronomically large.

    >>> amount(1234567), amount(10**40 + 1)
    ('1,234,567', 'more than 10^40')
    """
    return f"{number:,.0f}" if number < 1e15 else f"more than 10^{math.floor(math.log10(number))}"
