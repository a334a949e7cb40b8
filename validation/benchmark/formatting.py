"""Shares, times and counts of a benchmark as text."""

from __future__ import annotations

import math
from collections.abc import Sequence

from edrp.core.wording import enumerated
from edrp.report.formatting import NONE

GLUE = "\N{NO-BREAK SPACE}"
"""Between a number and its unit."""


def percent(fraction: float | None) -> str:
    """A fraction as a percentage with three significant digits.

    >>> [percent(share).replace(GLUE, " ") for share in (0.01234, 0.0, 1e-9, 0.99999, -0.5, float("nan"))]
    ['1.23 %', '0 %', '< 0.001 %', '99.999 %', '−50 %', '–']
    """
    if fraction is None or not math.isfinite(fraction):
        return NONE
    value = 100 * float(fraction)
    if 0 < abs(value) < 1e-3:
        return f"<{GLUE}0.001{GLUE}%"
    text = f"{value:.3g}"
    return (text if float(text) < 100 or value >= 100 else f"{value:.3f}").replace("-", "−") + f"{GLUE}%"


def duration(seconds: float | None) -> str:
    """A time with the unit that suits it.

    >>> [duration(time).replace(GLUE, " ") for time in (0.0, 4e-7, 0.00042, 0.0512, 3.21, 125.0, 7300.0)]
    ['0 s', '0.4 µs', '420 µs', '51 ms', '3.2 s', '2 min 5 s', '2 h 2 min']
    """
    if seconds is None or not math.isfinite(seconds):
        return NONE
    for size, unit in ((1e-6, "µs"), (1e-3, "ms")):
        if 0 < seconds < 999.5 * size:
            return f"{seconds / size:.2g}{GLUE}{unit}" if seconds < 99.5 * size else f"{seconds / size:.0f}{GLUE}{unit}"
    if seconds < 59.95:
        return f"{seconds:.1f}{GLUE}s" if seconds else f"0{GLUE}s"
    minutes, rest_seconds = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes}{GLUE}min {rest_seconds}{GLUE}s"
    hours, minutes = divmod(round(seconds / 60), 60)
    return f"{hours}{GLUE}h {minutes}{GLUE}min"


def number(value: float | None, digits: int = 3) -> str:
    """A number with `digits` significant digits.

    >>> number(1234.5), number(412.3, 2), number(0.25), number(None)
    ('1,234', '412', '0.25', '–')
    """
    if value is None or not math.isfinite(value):
        return NONE
    return f"{value:,.0f}" if abs(value) >= 10**digits else f"{value:.{digits}g}"


def p_value(value: float | None) -> str:
    """A p value as it is usually printed.

    >>> p_value(0.0321), p_value(1e-7), p_value(None)
    ('0.032', '< 0.001', '–')
    """
    if value is None:
        return NONE
    return "< 0.001" if value < 0.001 else f"{value:.2g}"


def listed(names: Sequence[str]) -> str:
    """Names as code, joined as in a sentence.

    >>> listed(["a"]), listed(["a", "b", "c"])
    ('`a`', '`a`, `b` and `c`')
    """
    return enumerated([f"`{name}`" for name in names], len(names))
