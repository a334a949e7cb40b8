"""What everything in the SimPy reference stands on: a clock, the scenario, the draws, the log."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from edrp.errors import BackendUnavailableError
from edrp.problems.enactment_scenario import EnactmentScenario
from edrp.validation.enactment.draws import Draws
from edrp.validation.enactment.events import EventLog

URGENT, NORMAL = 0, 1
"""Priorities of SimPy: what comes first among events of one time."""


class Stage:
    """One run's clock and what all of its parts need.

    Parameters
    ----------
    scenario, seed
        What is simulated.
    log
        Where everything is noted.

    Raises
    ------
    BackendUnavailableError
        When SimPy is not installed.
    """

    def __init__(self, scenario: EnactmentScenario, seed: int, log: EventLog) -> None:
        self.scenario = scenario
        self.draws = Draws(scenario, seed)
        self.log = log
        self.clock, self._moment = _clock()

    @property
    def now(self) -> float:
        """Seconds since the start."""
        return float(self.clock.now)

    def moment(self, time: float) -> Any:
        """Wait until `time` (s), for what comes before all items of that time."""
        return self._moment(self.clock, time - self.clock.now)

    def timeout(self, seconds: float) -> Any:
        """Wait."""
        return self.clock.timeout(seconds)

    def process(self, steps: Iterator[Any]) -> None:
        """Begin something that waits now and then."""
        self.clock.process(steps)


def _clock() -> tuple[Any, Any]:
    """A clock, and timeouts that come before everything else that happens at their time."""
    try:
        import simpy
    except ImportError as error:
        raise BackendUnavailableError('the reference needs the package simpy: pip install "edrp[simulate]"') from error

    class Moment(simpy.Timeout):  # type: ignore[misc]
        """A timeout of the world, not of an item."""

    class Clock(simpy.Environment):  # type: ignore[misc]
        """Moments first."""

        def schedule(self, event: Any, priority: int = NORMAL, delay: float = 0.0) -> None:
            super().schedule(event, URGENT if isinstance(event, Moment) else priority, delay)

    return Clock(), Moment
