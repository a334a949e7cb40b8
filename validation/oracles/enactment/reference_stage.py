"""What everything in the SimPy reference stands on: a clock, the scenario, the random numbers, the log."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from edrp.core.errors import BackendUnavailableError
from edrp.enactment.scenario import EnactmentScenario
from edrp.validation.simulation.enactment.event_log import EventLog
from edrp.validation.simulation.enactment.random_streams import RandomStreams


class Stage:
    """One run's clock and what all of its parts need.

    Parameters
    ----------
    scenario, seed
        What is simulated.
    log
        Where everything is noted, if anywhere.

    Raises
    ------
    BackendUnavailableError
        When SimPy is not installed.
    """

    def __init__(self, scenario: EnactmentScenario, seed: int, log: EventLog | None) -> None:
        self.scenario = scenario
        self.random_streams = RandomStreams(scenario, seed)
        self._log = log
        self.clock, self._moment = _clock()

    @property
    def now(self) -> float:
        """Seconds since the start."""
        return float(self.clock.now)

    def note(self, what: str, subject: str, instance: int = -1, host: str = "") -> None:
        """What happens now."""
        if self._log is not None:
            self._log.note(self.now, what, subject, instance, host)

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

    class Moment(simpy.Event):  # type: ignore[misc]
        """A timeout of the world, not of an item."""

        def __init__(self, clock: Any, delay: float) -> None:
            super().__init__(clock)
            self._ok, self._value = True, None  # has happened, as far as SimPy is concerned, like its own timeouts
            clock.schedule(self, simpy.events.URGENT, delay)

    return simpy.Environment(), Moment
