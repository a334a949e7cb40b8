"""Work and state of the tasks of word count and of frequent pattern, hour by hour (state migration, section 6).

The load of an hour is that of a migration at its begin: nodes are counted by the load of this hour, too.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar, NamedTuple, Protocol

import numpy as np

from edrp.core.arrays import Floats, Ints
from edrp.datasets.traces.flights import DAY, KeyedStream, flight_table
from edrp.mdp.partitions import Tasks
from edrp.validation.papers.state_migration.frequent_patterns import PatternDetector, pattern_codes, slide
from edrp.validation.papers.state_migration.tweets import TWEET_WORDS, Tweets

SECONDS_PER_HOUR = 3600.0
STATE_BYTES = 100.0
"""State of a key, or of the counter of a pattern."""

FREQUENT = 20
"""Tuples of a window beyond which a pattern is frequent: 2 % of a mean window."""

PAPER_WINDOW = 90.0
"""ω of tweets (s)."""

WINDOW_TWEETS = 1000
"""Tweets in a window of 90 s at mean load: the paper's 28,688,584 tweets, nearly all of one month, are 11 per second."""

TWEET_PATTERN, FLIGHT_PATTERN = 3, 4
"""Most words of a pattern."""

SLOTS = 1024
"""Slots that patterns are hashed to; a task is slot mod m, so that all numbers of tasks share one count."""

SAMPLED_EVERY = 11
"""Hours between those of the learnt month that are looked at: all times of day occur equally often."""


class PatternStreams(NamedTuple):
    """Tuples of the streams of Fig. 8 per tweet, and what a window holds.

    Attributes
    ----------
    entries, patterns, messages : tuples into the generator, into the detector, and through its loop, for each tweet.
    counters, frequent : patterns in a window, and those of them that are frequent.
    """

    entries: float
    patterns: float
    messages: float
    counters: float
    frequent: float


class TaskLoads(Protocol):
    """Loads of an application's tasks; `costly` if an hour of them takes more than milliseconds."""

    costly: ClassVar[bool]

    def total(self, number: int) -> Tasks:
        """Work and bytes of `number` tasks over the whole series: what runs with constant loads take."""

    def at(self, hours: Sequence[int], number: int) -> list[Tasks]:
        """Work and bytes of `number` tasks at the begin of each hour."""


def learnt(loads: TaskLoads, hours: int, number: int) -> Tasks:
    """Mean work over the first hours, and the state at their end: what a policy can be prepared for."""
    sampled = loads.at([*range(0, hours - 1, SAMPLED_EVERY), hours - 1], number)
    return Tasks.of(np.mean([tasks.work for tasks in sampled], axis=0), sampled[-1].state_size)


@dataclass(frozen=True)
class KeyLoads:
    """Keys whose work, shape (keys,), and state of 100 bytes each never change; the seed is that of the hash to tasks."""

    costly: ClassVar[bool] = False
    work: Floats
    seed: int = 1

    def total(self, number: int) -> Tasks:
        """Work and state of tasks that the keys are hashed to.

        >>> float(KeyLoads(np.ones(1000)).total(10).state_before[-1])
        100000.0
        """
        task = hashed_keys(self.work.size, number, self.seed)
        return Tasks.of(np.bincount(task, self.work, minlength=number), STATE_BYTES * np.bincount(task, minlength=number))

    def at(self, hours: Sequence[int], number: int) -> list[Tasks]:
        """The same at all hours."""
        return [self.total(number)] * len(hours)


def hashed_keys(keys: int, number: int, seed: int = 1) -> Ints:
    """Task of each key, shape (keys,)."""
    return np.random.default_rng(seed).integers(0, number, keys)


@dataclass(frozen=True)
class EventLoads:
    """Word count over events: the work is the events of the last day, the state all keys that have occurred so far.

    An hour of departures is too short to measure: it has 38 on average, fewer than tasks. With the hour's work alone, 60 % of
    the first 100 migrations have no partition at all within the limit at τ = 0.2, with a day's work none.
    """

    costly: ClassVar[bool] = False
    events: KeyedStream

    def total(self, number: int) -> Tasks:
        """All events, and all keys."""
        work = np.bincount(self.events.key, minlength=len(self.events.names)).astype(np.float64)
        return KeyLoads(work).total(number)

    def at(self, hours: Sequence[int], number: int) -> list[Tasks]:
        """Events from a day before the hour's end to its end, keys up to there."""
        task = hashed_keys(len(self.events.names), number)
        end = (np.asarray(hours) + 1) * SECONDS_PER_HOUR
        first, last = (np.searchsorted(self.events.time, at) for at in (end - DAY, end))
        appears, key_task = self._appearances
        seen = np.searchsorted(appears, end)
        return [
            Tasks.of(
                np.bincount(task[self.events.key[a:b]], minlength=number),
                STATE_BYTES * np.bincount(task[key_task[:keys]], minlength=number),
            )
            for a, b, keys in zip(first, last, seen, strict=True)
        ]

    @cached_property
    def _appearances(self) -> tuple[Floats, Ints]:
        """When each key occurs for the first time, ascending, and which it is."""
        keys, first = np.unique(self.events.key, return_index=True)
        order = np.argsort(first)
        return self.events.time[first[order]], keys[order]


@dataclass(frozen=True)
class WordLoads:
    """Word count over made-up tweets: the work is the expected number of words in the hour, the state all words of the language.

    With tens of thousands of tweets in an hour every word has been seen before long.
    """

    costly: ClassVar[bool] = False
    tweets: Tweets
    counts: Floats

    def total(self, number: int) -> Tasks:
        """The Zipf law without trends."""
        return KeyLoads(Tweets(0, self.tweets.exponent).popularity(0)).total(number)

    def at(self, hours: Sequence[int], number: int) -> list[Tasks]:
        """Words of the hours, trends included."""
        words = TWEET_WORDS * np.maximum(self.counts, 1.0)
        return [KeyLoads(words[hour] * self.tweets.popularity(hour)).total(number) for hour in hours]


@dataclass(frozen=True)
class PatternLoads(ABC):
    """Work of the frequent-pattern application by hour and slot; the total is the mean over the hours looked at."""

    costly: ClassVar[bool] = False
    _measured: dict[int, tuple[Floats, Floats, PatternStreams]] = field(
        default_factory=dict, init=False, repr=False, compare=False, kw_only=True
    )

    def total(self, number: int) -> Tasks:
        """Mean work and state of a window, over hours of the first month."""
        sampled = self.at(range(24, 720, SAMPLED_EVERY), number)
        return Tasks.of(*np.mean([(tasks.work, tasks.state_size) for tasks in sampled], axis=0))

    def at(self, hours: Sequence[int], number: int) -> list[Tasks]:
        """Counter updates and messages of the loop in the last window, and counters at its end."""
        if missing := [hour for hour in hours if hour not in self._measured]:
            self._measure(missing)
        task = np.arange(SLOTS) % number
        loads = [self._measured[hour] for hour in hours]
        return [
            Tasks.of(np.bincount(task, work, number), STATE_BYTES * np.bincount(task, state, number)) for work, state, _ in loads
        ]

    def streams(self) -> PatternStreams:
        """Means over the hours looked at so far."""
        return PatternStreams(*np.mean([streams for _, _, streams in self._measured.values()], axis=0).tolist())

    @abstractmethod
    def _measure(self, hours: Sequence[int]) -> None:
        """Count the patterns of hours that were not asked for before."""


@dataclass(frozen=True)
class TweetPatternLoads(PatternLoads):
    """Frequent patterns of made-up tweets: at each hour asked for, two windows are counted, and the second measured."""

    costly: ClassVar[bool] = True
    tweets: Tweets
    counts: Floats

    def _measure(self, hours: Sequence[int]) -> None:
        mean = self.counts.mean()
        for hour in hours:
            count = max(1, round(WINDOW_TWEETS * self.counts[hour] / mean))
            codes = pattern_codes(self.tweets.drawn(hour, 2 * count), TWEET_PATTERN)
            time = np.arange(2 * count) * PAPER_WINDOW / count
            detector = PatternDetector(FREQUENT)
            loads = slide(detector, codes, time, PAPER_WINDOW, [PAPER_WINDOW, 2 * PAPER_WINDOW], SLOTS)
            held, messages = loads.state[0].sum(), loads.messages[0] / count
            streams = PatternStreams(2.0, 2.0 * codes.shape[1], messages, held, loads.frequent[0])
            self._measured[hour] = (loads.work[0], loads.state[0], streams)


@dataclass(frozen=True)
class FlightPatternLoads(PatternLoads):
    """Frequent patterns of departures, whose words are origin, destination, carrier and aircraft, over a window of a day.

    A day has about as many departures as the paper's window of 90 s has tweets. The whole year is counted in one go.
    """

    time: Floats
    words: Ints

    def _measure(self, hours: Sequence[int]) -> None:
        codes = pattern_codes(self.words, FLIGHT_PATTERN)
        begins = np.arange(0.0, self.time[-1] + 2 * SECONDS_PER_HOUR, SECONDS_PER_HOUR)
        loads = slide(PatternDetector(FREQUENT), codes, self.time, DAY, begins.tolist(), SLOTS)
        steps = round(DAY / SECONDS_PER_HOUR)
        before = np.concatenate([np.zeros((1, SLOTS)), np.cumsum(loads.work, axis=0)])
        messages = loads.messages.sum() / self.time.size
        for hour, state in enumerate(loads.state):
            work = before[hour + 1] - before[max(0, hour + 1 - steps)]
            streams = PatternStreams(2.0, 2.0 * codes.shape[1], messages, state.sum(), loads.frequent[hour])
            self._measured[hour] = (work, state, streams)


def departure_words() -> tuple[Floats, Ints]:
    """Times (s) of the departures of 2013 whose aircraft is known, and their words: origin, destination, carrier, aircraft."""
    table = flight_table("route").rename(columns={"key": "route"})
    table["origin"], table["airport"] = table["route"].str[:3], table["route"].str[4:]
    for name in ("carrier", "aircraft"):
        table[name] = flight_table(name)["key"]
    table = table.dropna(subset="aircraft").sort_values("time", kind="stable")
    columns, first = [], 0
    for name in ("origin", "airport", "carrier", "aircraft"):
        names, index = np.unique(table[name].to_numpy(dtype=str), return_inverse=True)
        columns.append(first + index)
        first += names.size
    return table["time"].to_numpy(), np.stack(columns, axis=1).astype(np.int64)
