"""Numbers, times and estimates as text for tables and sentences."""

from __future__ import annotations

import math
from typing import NamedTuple

from edrp.report.estimates import Estimate

NONE = "–"
"""Stands where there is no number."""


class Unit(NamedTuple):
    """How a quantity is written.

    Attributes
    ----------
    scale : factor from the quantity to the number shown.
    spec : format of the number; one that begins with "+" shows the sign of all numbers but 0.
    name : follows the number, its space included.
    """

    scale: float = 1.0
    spec: str = ".3g"
    name: str = ""

    def number(self, value: float) -> str:
        """The number without its unit; a level that is reached at infinity is reached "never".

        >>> Unit(100, "+.1f").number(0.0126), Unit(100, "+.1f").number(-0.0004), Unit().number(math.inf)
        ('+1.3', '0.0', 'never')
        """
        if math.isinf(value):
            return "never"
        text = format(self.scale * value, self.spec)
        return text.lstrip("+-") if float(text.replace(",", "")) == 0 else text.replace("-", "−")

    def text(self, value: float) -> str:
        """The number with its unit.

        >>> Unit(100, ".1f", " %").text(0.2)
        '20.0 %'
        """
        return self.number(value) + ("" if math.isinf(value) else self.name)

    def with_interval(self, estimate: Estimate) -> str:
        """An estimate in one line.

        >>> Unit(100, "+.1f", " points").with_interval(Estimate(0.021, 0.018, 0.024))
        '+2.1 points (1.8 to 2.4)'
        >>> Unit(1, ".0f", " links").with_interval(Estimate(112.6, None, None))
        '113 links'
        """
        ends = self._ends(estimate)
        return self.text(estimate.mean) + (f" ({' to '.join(ends)})" if ends else "")

    def above_interval(self, estimate: Estimate, between: str = "–") -> str:
        r"""An estimate in two lines of a cell: the number, and its interval below it.

        >>> Unit(100, ".1f").above_interval(Estimate(0.11, 0.085, 0.135))
        '11.0\n8.5–13.5'
        """
        ends = self._ends(estimate)
        return self.number(estimate.mean) + (f"\n{between.join(ends)}" if ends else "")

    @property
    def signed(self) -> Unit:
        """The unit of differences."""
        return self if self.spec.startswith("+") else self._replace(spec=f"+{self.spec}")

    def _ends(self, estimate: Estimate) -> list[str]:
        if estimate.low is None or estimate.high is None:
            return []
        return [self.number(end).lstrip("+") for end in (estimate.low, estimate.high)]


SHARE = Unit(100, ".1f", " %")
POINTS = Unit(100, "+.1f", " points")
"""Differences of shares."""

PERCENT_SAVED = Unit(100, "+.1f")
"""Margins in per cent or points where the heading of a column says so."""

FACTOR = Unit(1, ".3f")
NUMBER = Unit(1, ".3g")


def signed(value: float, digits: int) -> str:
    """A number with its sign, which 0 does not have.

    >>> signed(1.26, 1), signed(-3.0, 0), signed(-0.04, 1)
    ('+1.3', '−3', '0.0')
    """
    return Unit(1, f"+.{digits}f").number(value)


def clock_text(seconds: float) -> str:
    """Hours and minutes since the beginning; seconds only where there are any.

    >>> clock_text(0.0), clock_text(27_000.0), clock_text(90_000.0), clock_text(3_661.5)
    ('00:00', '07:30', '25:00', '01:01:01.5')
    """
    hours, rest = divmod(seconds, 3600)
    minutes, rest = divmod(rest, 60)
    exact = f":{rest:06.3f}".rstrip("0").rstrip(".") if round(rest, 3) else ""
    return f"{hours:02.0f}:{minutes:02.0f}{exact}"
