"""Real series as histories of node counts, with the loads of the tasks of two applications (state migration, section 6).

Made-up tweets have words that change over time: a tweet has six different words, drawn by rank with a Zipf law over 10,000 words.
Every hour a trend begins with probability ¼: a phrase of three words, anywhere in the vocabulary, that 2 to 15 % of the tweets
contain for 8 hours on average (a geometric number); trends together are in at most half of the tweets. All is drawn from a seed.

The load of an hour is that of a migration at its begin: nodes are counted by the load of this hour, too.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import ClassVar, NamedTuple, Protocol

import numpy as np

from edrp.core.arrays import Floats, Ints
from edrp.core.errors import Fault, InvalidInstanceError
from edrp.datasets.traces.flights import DAY, KeyedStream, flight_table, flights
from edrp.datasets.traces.load_series import LoadSeries, taxi_series, twitter_series
from edrp.mdp.chain.transition_matrix import TransitionMatrix
from edrp.mdp.partitions import Tasks
from edrp.validation.papers.state_migration.frequent_patterns import PatternDetector, pattern_codes, slide
from edrp.validation.simulation.migration.policies import NodeCountCourse

KEYS = 10_000
"""Number of words."""

TWEET_WORDS, PHRASE_WORDS = 6, 3
TREND_CHANCE, TREND_HOURS, TREND_SHARES, MAX_TREND_SHARE = 0.25, 8.0, (0.02, 0.15), 0.5


class Trend(NamedTuple):
    """A phrase that a share of the tweets contains from hour `begin` until before hour `end`."""

    begin: int
    end: int
    words: Ints
    share: float


@dataclass(frozen=True)
class Tweets:
    """Tweets of `hours` hours, with words by a Zipf law of the given exponent."""

    hours: int
    exponent: float
    seed: int = 1

    @cached_property
    def trends(self) -> tuple[Trend, ...]:
        """All trends, by their begin."""
        generator = np.random.default_rng(self.seed)
        begins = np.flatnonzero(generator.random(self.hours) < TREND_CHANCE).tolist()
        ends = begins + generator.geometric(1 / TREND_HOURS, len(begins))
        words = [generator.choice(KEYS, PHRASE_WORDS, replace=False) for _ in begins]
        shares = generator.uniform(*TREND_SHARES, len(begins)).tolist()
        return tuple(Trend(*trend) for trend in zip(begins, ends.tolist(), words, shares, strict=True))

    def trending(self, hour: int) -> tuple[tuple[Ints, float], ...]:
        """Phrases of an hour with the shares of tweets that contain them."""
        now = [trend for trend in self.trends if trend.begin <= hour < trend.end]
        scale = min(1.0, MAX_TREND_SHARE / max(sum(trend.share for trend in now), 1e-9))
        return tuple((trend.words, scale * trend.share) for trend in now)

    def popularity(self, hour: int) -> Floats:
        """Share of each word among all words of an hour, shape (words,), up to words that a tweet would hold twice.

        >>> float(Tweets(48, 0.8).popularity(20).sum().round(9))
        1.0
        """
        phrases = self.trending(hour)
        usual = 1 - sum(share for _, share in phrases) * PHRASE_WORDS / TWEET_WORDS
        popularity = usual * self._zipf
        for words, share in phrases:
            popularity[words] += share / TWEET_WORDS
        return popularity

    def drawn(self, hour: int, count: int) -> Ints:
        """Draw tweets of an hour: their words, all different, shape (count, 6)."""
        generator = np.random.default_rng((self.seed, hour))
        tweets = self._ranks(generator, (count, TWEET_WORDS))
        phrases = self.trending(hour)
        kind = generator.choice(len(phrases) + 1, count, p=[1 - sum(share for _, share in phrases), *(s for _, s in phrases)])
        for phrase, (words, _) in enumerate(phrases, start=1):
            tweets[kind == phrase, :PHRASE_WORDS] = words
        while True:
            ordered = np.argsort(tweets, axis=1, kind="stable")  # of equal words the later ones are drawn again
            sorted_tweets = np.take_along_axis(tweets, ordered, axis=1)
            row, position = np.nonzero(sorted_tweets[:, 1:] == sorted_tweets[:, :-1])
            if row.size == 0:
                return tweets
            tweets[row, ordered[row, position + 1]] = self._ranks(generator, (row.size,))

    @cached_property
    def _zipf(self) -> Floats:
        return zipf_work(self.exponent)

    def _ranks(self, generator: np.random.Generator, shape: tuple[int, ...]) -> Ints:
        return np.minimum(np.searchsorted(np.cumsum(self._zipf), generator.random(shape)), KEYS - 1)


def zipf_work(exponent: float, keys: int = KEYS) -> Floats:
    """Work of keys by rank, summing to 1, shape (keys,).

    >>> zipf_work(1.0, 3).round(3).tolist()
    [0.545, 0.273, 0.182]
    """
    if keys < 1 or not exponent >= 0:
        raise InvalidInstanceError([Fault("zipf", f"exponent {exponent}, {keys} keys", "needs a key, and no negative exponent")])
    weights = np.arange(1, keys + 1) ** -exponent
    return weights / weights.sum()


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


LOW, HIGH = 8, 16
"""Range that node counts are normalised to, as in the paper."""

MONTH = 720
"""Hours whose migrations the transition matrix is estimated from: "data from the previous month"."""

OUTLIERS = 0.02
"""Share of the hours at either end that the normalisation sets aside: one spike of tweets would leave nearly all others at 8."""

COMPANY = "AMZN"
"""Tweets that mention it are counted."""

WORD_COUNT, FREQUENT_PATTERN = "WC", "FP"
"""The two applications of section 6, word count and frequent pattern."""


@dataclass(frozen=True, slots=True)
class MigrationSeries:
    """A history of node counts, one per hour, and the loads of an application's tasks, from one origin.

    `changing`: work and state are those of the hour; otherwise those of the whole series.
    """

    source: str
    node_counts: Ints
    loads: TaskLoads
    origin: str
    application: str = WORD_COUNT
    changing: bool = False

    @property
    def name(self) -> str:
        """Name in tables and figures."""
        return f"{self.source} {self.application}"

    @property
    def learnt(self) -> Ints:
        """Node counts of the month that the transition matrix may be estimated from, shape (720,)."""
        return self.node_counts[:MONTH]

    def migration_hours(self, count: int = 100) -> Ints:
        """The last hour of that month, and those of the first migrations that follow it, shape (at most `count` + 1,)."""
        followed = self.node_counts[MONTH - 1 :]
        changed = np.concatenate([[True], np.diff(followed) != 0])
        return (MONTH - 1 + np.flatnonzero(changed))[: count + 1]

    def migrations(self, count: int = 100) -> Ints:
        """Node counts before and after each of the first migrations that follow that month, shape (at most `count` + 1,).

        >>> from edrp.validation.papers.state_migration.task_loads import KeyLoads
        >>> series = MigrationSeries("toy", np.array([8] * 720 + [8, 9, 9, 8]), KeyLoads(np.ones(1)), "made up")
        >>> series.migrations().tolist()
        [8, 9, 8]
        """
        return self.node_counts[self.migration_hours(count)]

    def transition_matrix(self) -> TransitionMatrix:
        """Maximum likelihood over the month, for all counts from the least to the greatest that ever occur."""
        counts = range(int(self.node_counts.min()), int(self.node_counts.max()) + 1)
        return TransitionMatrix.estimate(self.learnt, node_counts=counts)

    def tasks(self, number: int = 64) -> Tasks:
        """Work and state of the tasks that the load is hashed to, over the whole series."""
        return self.loads.total(number)

    def load(self, number: int, migrations: int = 100) -> CourseLoad:
        """The loads of `number` tasks at the first migrations after the month."""
        if not self.changing:
            tasks, counts = self.tasks(number), self.migrations(migrations)
            return CourseLoad(tasks, (tasks,) * counts.size, counts)
        loads = self.loads.at(self.migration_hours(migrations).tolist(), number)
        return CourseLoad(learnt(self.loads, MONTH, number), tuple(loads), self.migrations(migrations))


class CourseLoad(NamedTuple):
    """The load that a policy may learn from, and those that it meets: at the start and at each migration."""

    learnt: Tasks
    met: tuple[Tasks, ...]
    counts: Ints

    def course(self, tolerance: float, migrations: int) -> NodeCountCourse:
        """The course of at most `migrations` migrations."""
        return NodeCountCourse.of(self.met[: migrations + 1], self.counts[: migrations + 1], tolerance)


def departures(*, changing: bool = False) -> MigrationSeries:
    """Departures from New York in 2013 by hour; keys are aircraft, with their departures as work."""
    counts = LoadSeries("departures", SECONDS_PER_HOUR, flights().per_bin(SECONDS_PER_HOUR).astype(np.float64))
    aircraft = flights("aircraft")
    origin = f"{len(aircraft.names)} aircraft and their departures"
    return MigrationSeries("flights", _normalised(counts), EventLoads(aircraft), origin, changing=changing)


def departure_patterns(*, changing: bool = False) -> MigrationSeries:
    """The same departures as tuples of four words, with the patterns of the day before."""
    node_counts = departures().node_counts
    loads = FlightPatternLoads(*departure_words())
    origin = "origins, destinations, carriers and aircraft that departures of a day have in common"
    return MigrationSeries("flights", node_counts, loads, origin, FREQUENT_PATTERN, changing)


def made_up(series: LoadSeries, source: str, exponent: float, *, changing: bool) -> Iterator[MigrationSeries]:
    """Both applications on made-up tweets that are as many as the events of a series."""
    counts = series.per(SECONDS_PER_HOUR)
    tweets = Tweets(counts.size, exponent)
    origin = f"made-up tweets, {KEYS} words, Zipf exponent {exponent:g}"
    yield MigrationSeries(source, _normalised(series), WordLoads(tweets, counts), origin, WORD_COUNT, changing)
    yield MigrationSeries(source, _normalised(series), TweetPatternLoads(tweets, counts), origin, FREQUENT_PATTERN, changing)


def real_series(data: str | Path | None = None, *, changing: bool = True) -> tuple[MigrationSeries, ...]:
    """Both applications on three series; on departures alone where no folder with the others is given or named by `EDRP_DATA`.

    Taxi trips in New York in 2013 get made-up words of mild skew, tweets that mention a company in early 2015 of strong skew.
    """
    flown = (departures(changing=changing), departure_patterns(changing=changing))
    if data is None and "EDRP_DATA" not in os.environ:
        return flown
    taxi = made_up(taxi_series(data), "taxi", 0.6, changing=changing)
    return (*flown, *taxi, *made_up(twitter_series(COMPANY, data), "Twitter", 0.8, changing=changing))


def _normalised(series: LoadSeries) -> Ints:
    return series.node_counts(SECONDS_PER_HOUR, LOW, HIGH, OUTLIERS)
