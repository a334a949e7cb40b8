"""Real series as histories of node counts, with the loads of two applications' tasks (state migration, section 6)."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from edrp.core.arrays import Ints
from edrp.datasets.traces.flights import flights
from edrp.datasets.traces.load_series import LoadSeries, taxi_series, twitter_series
from edrp.mdp.chain.transition_matrix import TransitionMatrix
from edrp.mdp.partitions import Tasks
from edrp.validation.papers.state_migration.task_loads import (
    SECONDS_PER_HOUR,
    EventLoads,
    FlightPatternLoads,
    TaskLoads,
    TweetPatternLoads,
    WordLoads,
    departure_words,
    learnt,
)
from edrp.validation.papers.state_migration.tweets import KEYS, Tweets
from edrp.validation.simulation.migration.policy_runs import NodeCountCourse

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
        """The loads of the first migrations after the month, of so many tasks."""
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
        """The course of at most so many migrations."""
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
    kinds: tuple[tuple[str, TaskLoads], ...] = (
        (WORD_COUNT, WordLoads(tweets, counts)),
        (FREQUENT_PATTERN, TweetPatternLoads(tweets, counts)),
    )
    for application, loads in kinds:
        yield MigrationSeries(source, _normalised(series), loads, origin, application, changing)


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
