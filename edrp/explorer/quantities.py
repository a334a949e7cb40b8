"""Numbers with units as a reader of a page wants them: few digits, prefixes instead of exponents, no unit where there is none."""

from __future__ import annotations

PREFIXES = ((1e12, "T"), (1e9, "G"), (1e6, "M"))
UNNAMED = ("", "1", "as given")
"""Units of plain numbers."""


def figure(value: float, digits: int = 3) -> str:
    """A plain number: thousands apart, millions and more by prefix.

    >>> figure(1300.0), figure(0.04567), figure(2.5e9), figure(999.7), figure(1e-6)
    ('1,300', '0.0457', '2.5 G', '1,000', '1e-6')
    """
    rounded = float(f"{value:.{digits}g}")
    for size, prefix in PREFIXES:
        if size <= abs(rounded) < 1000 * size:
            return f"{value / size:.{digits}g} {prefix}"
    if 1000 <= abs(rounded) < 1e6:
        return f"{value:,.0f}"
    text = f"{value:.{digits}g}"
    return text.replace("e-0", "e-").replace("e+0", "e").replace("e+", "e")


def quantity(value: float, unit: str, digits: int = 4) -> str:
    """A number with its unit: times in s, ms or µs, bytes by prefix.

    >>> quantity(0.0241111, "s"), quantity(8.0, "s"), quantity(1.7e9, "bytes"), quantity(8e5, "bytes/s")
    ('24.11 ms', '8 s', '1.7 GB', '800 kB/s')
    >>> quantity(5.27, "money/h"), quantity(0.65, "1"), quantity(0.0, "s")
    ('5.27 money/h', '0.65', '0 s')
    """
    if unit in ("bytes", "B", "bytes/s"):
        return byte_figure(value, digits) + ("/s" if unit == "bytes/s" else "")
    if unit == "s" and 0.0 < abs(value) < 1.0:
        small = abs(value) < 1e-3
        return f"{figure(value * (1e6 if small else 1e3), digits)} {'µs' if small else 'ms'}"
    text = figure(value, digits)
    return text if unit in UNNAMED else f"{text} {unit}"


def byte_figure(value: float, digits: int = 3) -> str:
    """Bytes by prefix.

    >>> byte_figure(2e8), byte_figure(17.0), byte_figure(26_500.0)
    ('200 MB', '17 B', '26.5 kB')
    """
    if 1e3 <= abs(float(f"{value:.{digits}g}")) < 1e6:
        return f"{value / 1e3:.{digits}g} kB"
    text = figure(value, digits)
    return f"{text}B" if text[-1] in "MGT" else f"{text} B"


def percent(share: float) -> str:
    """A share in per cent, a tenth at the finest.

    >>> percent(1.0), percent(0.1234), percent(0.0), percent(0.00001)
    ('100 %', '12.3 %', '0 %', '0.001 %')
    """
    value = 100 * share
    return f"{float(f'{value:.1f}'):g} %" if not value or abs(value) >= 0.05 else f"{figure(value, 1)} %"
