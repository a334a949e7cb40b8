"""The metrics of a run on a bi-modal network, in the words of tables and figures."""

from __future__ import annotations

from typing import NamedTuple


class Measure(NamedTuple):
    """How a metric is shown.

    Attributes
    ----------
    words
        With the unit.
    scale
        From the metric to what is shown.
    digits
        After the point.
    """

    words: str
    scale: float
    digits: int

    def said(self, value: float) -> str:
        """A value in digits.

        >>> MEASURES["deviation"].said(0.1184)
        '11.8'
        """
        return f"{self.scale * value:.{self.digits}f}".replace("-", "−")

    def signed(self, value: float) -> str:
        """A difference in digits.

        >>> MEASURES["deviation"].signed(0.021)
        '+2.1'
        """
        return f"{self.scale * value:+.{self.digits}f}".replace("-", "−")


MEASURES = {
    "throughput": Measure("throughput [tasks/h]", 1.0, 1),
    "acceptance": Measure("acceptance [%]", 100.0, 1),
    "server_utilisation": Measure("servers, reserved [%]", 100.0, 1),
    "server_work": Measure("servers, work done [%]", 100.0, 1),
    "link_utilisation": Measure("dedicated links [%]", 100.0, 1),
    "deviation": Measure("deviation [%]", 100.0, 1),
    "elongation": Measure("elongation [%]", 100.0, 1),
    "public_share": Measure("public hops [%]", 100.0, 1),
    "messages": Measure("messages per task", 1.0, 0),
    "reallocations": Measure("re-allocated hops", 1.0, 0),
    "seconds": Measure("seconds to simulate", 1.0, 2),
}
"""By name of the metric."""
