"""Rounds, random numbers and the log of events of a run, which all simulators of a scenario share.

Random numbers have one stream for each purpose: service, arrivals, start-ups, stalls. Each stream is drawn in one order (the n-th
item that an operator begins, the n-th host leased, …), so that every simulator of the same scenario with the same seed sees the
same numbers, in whatever order it draws them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from math import ceil
from typing import NamedTuple

import numpy as np

from edrp.core.arrays import Floats
from edrp.core.tolerances import WHOLE_NUMBER_SLACK
from edrp.enactment.containers import ContainerOperator, HostType
from edrp.enactment.scenario import EnactmentScenario


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


class Round(NamedTuple):
    """From one observation to the next, or to the end of the run (s), with the times at which queues are sampled."""

    start: float
    end: float
    samples: tuple[float, ...]


def rounds(scenario: EnactmentScenario) -> Iterator[Round]:
    """All rounds of a run; where one ends with a sample, both are at exactly the same time."""
    interval, between, duration = scenario.provisioning_interval, scenario.monitoring_interval, scenario.duration
    count = ceil(duration / interval - WHOLE_NUMBER_SLACK)
    for index in range(count):
        start, end = index * interval, duration if index == count - 1 else (index + 1) * interval
        times = [start + number * between for number in range(1, int((end - start) / between + WHOLE_NUMBER_SLACK) + 1)]
        yield Round(start, end, tuple(end if abs(time - end) <= WHOLE_NUMBER_SLACK * interval else time for time in times))


SERVICE, ARRIVALS, HOSTS, INSTANCES, STALLS = range(5)
"""Names of the streams: first part of the spawn key; the second is the operator's index."""


class Stall(NamedTuple):
    """A time in which an operator begins no item: from `start` to `end` (s)."""

    start: float
    end: float
    operator: str


class RandomStreams:
    """The random numbers of a run.

    Examples
    --------
    >>> scenario = EnactmentScenario(
    ...     application={"operators": [{"name": "f", "processing_duration": 0.5, "external_rate": 2.0, "resources": 1}]},
    ...     host_types=[{"name": "small", "resources": 4, "price": 1.0, "billing_time": 600.0}], load=[1], load_step=120.0)
    >>> at_once, in_parts = RandomStreams(scenario, seed=7), RandomStreams(scenario, seed=7)
    >>> bool((at_once.factors("f", 3)[2:] == [in_parts.factors("f", 1) for _ in range(3)][2]).all())
    True
    """

    def __init__(self, scenario: EnactmentScenario, seed: int) -> None:
        self._scenario = scenario
        self._seed = seed
        names = scenario.application.by_name
        self._service = {name: self._stream(SERVICE, index) for index, name in enumerate(names)}
        self._hosts = self._stream(HOSTS)
        self._instances = self._stream(INSTANCES)

    def factors(self, operator: str, count: int) -> Floats:
        """Noise of the next items of an operator, of mean 1; shape (count,)."""
        random = self._service[operator]
        if self._scenario.service == "lognormal":
            spread = self._scenario.variation
            return random.lognormal(-spread * spread / 2, spread, count)
        return random.standard_exponential(count) if self._scenario.service == "exponential" else np.ones(count)

    def host_start_up(self, host_type: HostType) -> float:
        """Seconds that the next host leased takes to start."""
        return float(self._hosts.uniform(*host_type.start_up))

    def instance_start_up(self) -> float:
        """Seconds that the next instance placed takes to start, its image apart."""
        return float(self._instances.uniform(*self._scenario.instance_start_up))

    @cached_property
    def stalls(self) -> tuple[Stall, ...]:
        """All stalls of the run, by their start."""
        if not self._scenario.stall_interval or not self._scenario.stall_duration:
            return ()
        random = self._stream(STALLS)
        names = list(self._scenario.application.by_name)
        stalls = []
        time = float(random.exponential(self._scenario.stall_interval))
        while time < self._scenario.duration:
            stalls.append(Stall(time, time + self._scenario.stall_duration, names[int(random.integers(len(names)))]))
            time += float(random.exponential(self._scenario.stall_interval))
        return tuple(stalls)

    def arrivals(self, operator: ContainerOperator) -> Arrivals:
        """Arrivals at an operator from outside."""
        if self._scenario.arrivals == "poisson":
            index = list(self._scenario.application.by_name).index(operator.name)
            return PoissonArrivals(self._scenario, operator.external_rate, self._stream(ARRIVALS, index))
        return RegularArrivals(self._scenario, operator.external_rate)

    def _stream(self, name: int, index: int = 0) -> np.random.Generator:
        return np.random.default_rng(np.random.SeedSequence(self._seed, spawn_key=(name, index)))


class Arrivals(ABC):
    """Times at which items come to an operator from outside, drawn as far as they are needed."""

    def __init__(self) -> None:
        self._made = np.empty(0)

    def before(self, until: float) -> Floats:
        """Seconds, rising: all items before `until` that were not handed out yet."""
        self._made = np.concatenate((self._made, self._make(until)))
        cut = int(np.searchsorted(self._made, until))
        due, self._made = self._made[:cut], self._made[cut:]
        return due

    @abstractmethod
    def _make(self, until: float) -> Floats:
        """More items, at least all before `until`."""


class RegularArrivals(Arrivals):
    """Emissions at whole multiples of an interval, fractions of items carried over; each arrives in evenly spaced bursts."""

    def __init__(self, scenario: EnactmentScenario, rate: float) -> None:
        super().__init__()
        self._interval, self._bursts = scenario.emission_interval, scenario.bursts
        ticks = np.arange(int(np.ceil(scenario.duration / self._interval - WHOLE_NUMBER_SLACK)))
        steps = np.floor(ticks * self._interval / scenario.load_step + WHOLE_NUMBER_SLACK).astype(np.int64)
        load = np.array(scenario.load)[np.minimum(steps, len(scenario.load) - 1)]
        due = np.floor(np.cumsum(rate * self._interval * load) + WHOLE_NUMBER_SLACK).astype(np.int64)
        self._counts = np.diff(due, prepend=0)
        self._next = 0

    def _make(self, until: float) -> Floats:
        end = min(int(np.ceil(until / self._interval)), self._counts.size)
        ticks = np.arange(self._next, max(end, self._next))
        self._next = max(end, self._next)
        times = (ticks * self._interval)[:, None] + np.arange(self._bursts) * (self._interval / self._bursts)
        shares = self._counts[ticks][:, None] * np.arange(self._bursts + 1) // self._bursts
        return np.repeat(times.ravel(), np.diff(shares, axis=1).ravel())


class PoissonArrivals(Arrivals):
    """A Poisson process whose rate follows the load."""

    def __init__(self, scenario: EnactmentScenario, rate: float, random: np.random.Generator) -> None:
        super().__init__()
        self._times = np.arange(len(scenario.load) + 1) * scenario.load_step
        self._expected = np.concatenate(([0.0], np.cumsum(rate * scenario.load_step * np.array(scenario.load))))
        self._random = random
        self._reached = 0.0

    def _make(self, until: float) -> Floats:
        # In units of items expected, the process has rate 1.
        goal = float(np.interp(until, self._times, self._expected))
        times = [np.empty(0)]
        while self._reached < goal:
            gaps = self._random.standard_exponential(int(goal - self._reached) + 16)
            # Summed one by one, so that the times do not depend on how many are made at a time.
            times.append(np.cumsum(np.concatenate(([self._reached], gaps)))[1:])
            self._reached = float(times[-1][-1])
        return np.interp(np.concatenate(times), self._expected, self._times)
