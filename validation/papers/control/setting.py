"""The job whose replicas are controlled: a chain of three operators on a day that is compressed as on the real cluster."""

from __future__ import annotations

from edrp.validation.papers.control.days import STEP
from edrp.validation.simulation.placement.fluid_job import FluidJob

SPEED = 72.0
"""Seconds of the original day in a second of the job: a day takes 20 minutes, a period of ten minutes 8.3 s."""

PEAK = 180.0
"""Tuples/s at the median of the daily peaks of the weeks before a day."""

SERVICE = {"parser": (100.0, 6), "join": (50.0, 8), "counter": (40.0, 10)}
"""Tuples/s that a replica serves, and most replicas: some more than twice what `PEAK` takes."""

SILENCES = (0.6, 6.0)
"""Seconds without processing at a change: little state, and much."""

LATE = 0.5
"""Seconds of waiting above which a tuple is late: the least of the bounds that were recorded on the cluster."""

LATE_PRICE = 0.3
"""Replica-seconds for a late tuple: five times what serving it takes. One per cent more of them costs what
4 % more replicas do."""


def control_job(silence: float) -> FluidJob:
    """The job, with so many seconds of silence at each change."""
    curves = tuple(tuple(rate * number for number in range(1, most + 1)) for rate, most in SERVICE.values())
    return FluidJob(tuple(SERVICE), curves, STEP / SPEED, silence, LATE, LATE_PRICE)
