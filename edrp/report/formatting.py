"""Numbers, times, estimates, quantities with units and constants of a run as text for tables, sentences and pages."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

from pydantic import BaseModel
from pydantic.fields import FieldInfo

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


PAPER, OURS = "paper", "ours"
"""Origins of constants."""

COLUMNS = ("constant", "value", "unit", "meaning", "from")


def constant_rows(
    document: type[BaseModel], origins: Mapping[str, str], values: BaseModel | None = None
) -> list[tuple[str, ...]]:
    """Rows of the fields of a document that have an origin, with their values, by default the document's defaults."""
    return [
        (
            name,
            value_text(field.default if values is None else getattr(values, name)),
            unit_text(field),
            str(field.description),
            origins[name],
        )
        for name, field in document.model_fields.items()
        if name in origins
    ]


def value_text(value: Any) -> str:
    """A constant as tables show it.

    >>> value_text((60.0, 0.25)), value_text(None), value_text(True)
    ('60, 0.25', 'none', 'yes')
    """
    if isinstance(value, tuple):
        return ", ".join(map(value_text, value))
    if value is None or isinstance(value, bool):
        return {None: "none", True: "yes", False: "no"}[value]
    return f"{value:g}" if isinstance(value, float) else str(value)


def unit_text(field: FieldInfo) -> str:
    """The unit of a field of a document; empty where it has none.

    >>> from edrp.mapping.bimodal_scenario import BimodalScenario
    >>> unit_text(BimodalScenario.model_fields["window"]), unit_text(BimodalScenario.model_fields["variation"])
    ('s', '')
    """
    extra = field.json_schema_extra
    unit = extra.get("unit", "1") if isinstance(extra, dict) else "1"
    return "" if unit == "1" else str(unit)
