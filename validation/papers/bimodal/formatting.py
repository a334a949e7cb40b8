"""How the metrics of a run on a bi-modal network are titled and written."""

from __future__ import annotations

from typing import NamedTuple

from edrp.validation.report.formatting import Unit

PERCENT, RATE_SHOWN, COUNT, SECONDS = Unit(100, ".1f"), Unit(1, ".1f"), Unit(1, ".0f"), Unit(1, ".2f")


class Measure(NamedTuple):
    """A metric as it is shown.

    Attributes
    ----------
    title
        With the unit.
    unit
        Writes a value.
    """

    title: str
    unit: Unit


MEASURES = {
    "throughput": Measure("throughput [tasks/h]", RATE_SHOWN),
    "acceptance": Measure("acceptance [%]", PERCENT),
    "server_utilisation": Measure("servers, reserved [%]", PERCENT),
    "server_work": Measure("servers, work done [%]", PERCENT),
    "link_utilisation": Measure("dedicated links [%]", PERCENT),
    "deviation": Measure("deviation [%]", PERCENT),
    "elongation": Measure("elongation [%]", PERCENT),
    "public_share": Measure("public hops [%]", PERCENT),
    "messages": Measure("messages per task", COUNT),
    "reallocations": Measure("re-allocated hops", COUNT),
    "seconds": Measure("seconds to simulate", SECONDS),
}
"""By name of the metric."""
