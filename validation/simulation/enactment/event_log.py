"""A log of all events of a small run, by which two simulators are compared event by event."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple


class Event(NamedTuple):
    """One event of a simulated run.

    Attributes
    ----------
    time : seconds since the start.
    what : "arrive", "begin", "depart" (an item), "up", "down" (an instance), "lease", "release" (a host).
    subject : the operator, or the host.
    instance : number of the instance, in the order of placement from 0; -1 where none is concerned.
    host : where the instance is.
    """

    time: float
    what: str
    subject: str
    instance: int = -1
    host: str = ""


@dataclass(slots=True)
class EventLog:
    """Events in the order in which they were noted, which differs between simulators; that of `sorted` does not."""

    events: list[Event] = field(default_factory=list)

    def note(self, time: float, what: str, subject: str, instance: int = -1, host: str = "") -> None:
        """Add one event."""
        self.events.append(Event(time, what, subject, instance, host))

    def note_all(self, times: Iterable[float], what: str, subject: str) -> None:
        """Add several events of one sort."""
        self.events.extend(Event(time, what, subject) for time in times)

    def sorted(self) -> list[Event]:
        """Events by time, rounded to the nanosecond (the last bits depend on summation); those of one time by name and number."""
        return sorted(event._replace(time=round(event.time, 9)) for event in self.events)
