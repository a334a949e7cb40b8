"""The clock of the SimPy reference, with the scenario, the random numbers and the log of a run."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from edrp.core.errors import BackendUnavailableError
from edrp.enactment.scenario import EnactmentScenario
from edrp.validation.simulation.enactment.event_log import EventLog
from edrp.validation.simulation.enactment.run_randomness import RandomStreams


class ReferenceClock:
    """The clock of one run, with the scenario, the random numbers and the log.

    Raises
    ------
    BackendUnavailableError
        When SimPy is not installed.
    """

    def __init__(self, scenario: EnactmentScenario, seed: int, log: EventLog | None) -> None:
        self.scenario = scenario
        self.random_streams = RandomStreams(scenario, seed)
        self._log = log
        self.environment, self._urgent_timeout = _environment()

    @property
    def now(self) -> float:
        """Seconds since the start."""
        return float(self.environment.now)

    def note(self, what: str, subject: str, instance: int = -1, host: str = "") -> None:
        """Note an event that happens now."""
        if self._log is not None:
            self._log.note(self.now, what, subject, instance, host)

    def moment(self, time: float) -> Any:
        """Wait until `time` (s), for an event that comes before all items of that time."""
        return self._urgent_timeout(self.environment, time - self.environment.now)

    def timeout(self, seconds: float) -> Any:
        """Wait for some seconds."""
        return self.environment.timeout(seconds)

    def process(self, steps: Iterator[Any]) -> None:
        """Start a process of SimPy."""
        self.environment.process(steps)


def _environment() -> tuple[Any, Any]:
    """An environment of SimPy, and timeouts that come before everything else that happens at their time."""
    try:
        import simpy
    except ImportError as error:
        raise BackendUnavailableError('the reference needs the package simpy: pip install "edrp[simulate]"') from error

    class UrgentTimeout(simpy.Event):  # type: ignore[misc]
        """A timeout of hosts, instances and rounds, not of an item."""

        def __init__(self, environment: Any, delay: float) -> None:
            super().__init__(environment)
            self._ok, self._value = True, None  # has happened, as far as SimPy is concerned, like its own timeouts
            environment.schedule(self, simpy.events.URGENT, delay)

    return simpy.Environment(), UrgentTimeout
