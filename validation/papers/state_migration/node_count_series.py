"""Three real series as histories of node counts, with the load of the tasks (state migration, section 6)."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from edrp.core.arrays import Floats, Ints
from edrp.core.errors import Fault, InvalidInstanceError
from edrp.datasets.traces.flights import flights
from edrp.datasets.traces.load_series import LoadSeries, taxi_series, twitter_series
from edrp.mdp.chain.transition_matrix import TransitionMatrix
from edrp.mdp.partitions import Tasks

LOW, HIGH = 8, 16
"""Range that node counts are normalised to, as in the paper."""

SECONDS_PER_HOUR = 3600.0
MONTH = 720
"""Hours whose migrations the transition matrix is estimated from: "data from the previous month"."""

OUTLIERS = 0.02
"""Share of the hours at either end that the normalisation sets aside: one spike of tweets would leave nearly all others at 8."""

STATE_BYTES = 100.0
"""State of a key."""

KEYS = 10_000
"""Number of keys of the series that come as counts only."""


@dataclass(frozen=True, slots=True)
class MigrationSeries:
    """A history of node counts, one per hour, and the keys behind it, from one origin.

    The work of each key is its events or a made-up frequency, shape (keys,); the seed is that of the hash from keys to tasks.
    """

    name: str
    node_counts: Ints
    key_work: Floats
    origin: str
    seed: int = 1

    @property
    def learnt(self) -> Ints:
        """Ints of the month that the transition matrix may be estimated from, shape (720,)."""
        return self.node_counts[:MONTH]

    def migrations(self, count: int = 100) -> Ints:
        """Node counts before and after each of the first migrations that follow that month, shape (at most `count` + 1,).

        >>> series = MigrationSeries("toy", np.array([8] * 720 + [8, 9, 9, 8]), np.ones(1), "made up")
        >>> series.migrations().tolist()
        [8, 9, 8]
        """
        followed = self.node_counts[MONTH - 1 :]
        changed = np.concatenate([[True], np.diff(followed) != 0])
        return followed[changed][: count + 1]

    def transition_matrix(self) -> TransitionMatrix:
        """Maximum likelihood over the month, for all counts from the least to the greatest that ever occur."""
        counts = range(int(self.node_counts.min()), int(self.node_counts.max()) + 1)
        return TransitionMatrix.estimate(self.learnt, node_counts=counts)

    def tasks(self, number: int = 64) -> Tasks:
        """Work, and 100 bytes of state per key, of tasks that the keys are hashed to.

        >>> tasks = MigrationSeries("toy", np.array([8]), np.ones(1000), "made up").tasks(10)
        >>> float(tasks.state_before[-1])
        100000.0
        """
        task = np.random.default_rng(self.seed).integers(0, number, self.key_work.size)
        work = np.bincount(task, self.key_work, minlength=number)
        return Tasks.of(work, STATE_BYTES * np.bincount(task, minlength=number))


def departures() -> MigrationSeries:
    """Departures from New York in 2013 by hour; keys are aircraft, with their departures as work."""
    counts = LoadSeries("departures", SECONDS_PER_HOUR, flights().per_bin(SECONDS_PER_HOUR).astype(np.float64))
    aircraft = flights("aircraft")
    work = np.bincount(aircraft.key, minlength=len(aircraft.names)).astype(np.float64)
    return MigrationSeries("flights", _normalised(counts), work, f"{len(work)} aircraft and their departures")


def taxi_trips(data: str | Path | None = None) -> MigrationSeries:
    """Taxi trips in New York in 2013 by hour, with made-up keys of mild skew."""
    return MigrationSeries("taxi", _normalised(taxi_series(data)), zipf_work(0.6), f"{KEYS} keys, Zipf exponent 0.6")


def tweets(data: str | Path | None = None, company: str = "AMZN") -> MigrationSeries:
    """Tweets that mention a company in early 2015 by hour, with made-up keys of strong skew."""
    counts = _normalised(twitter_series(company, data))
    return MigrationSeries("Twitter", counts, zipf_work(0.8), f"{KEYS} keys, Zipf exponent 0.8")


def real_series(data: str | Path | None = None) -> tuple[MigrationSeries, ...]:
    """The three series; only the departures where no folder with the others is given or named by `EDRP_DATA`."""
    if data is None and "EDRP_DATA" not in os.environ:
        return (departures(),)
    return (departures(), taxi_trips(data), tweets(data))


def zipf_work(exponent: float, keys: int = KEYS) -> Floats:
    """Work of keys by rank, summing to 1, shape (keys,).

    >>> zipf_work(1.0, 3).round(3).tolist()
    [0.545, 0.273, 0.182]
    """
    if keys < 1 or not exponent >= 0:
        raise InvalidInstanceError([Fault("zipf", f"exponent {exponent}, {keys} keys", "needs a key, and no negative exponent")])
    weights = np.arange(1, keys + 1) ** -exponent
    return weights / weights.sum()


def _normalised(series: LoadSeries) -> Ints:
    return series.node_counts(SECONDS_PER_HOUR, LOW, HIGH, OUTLIERS)
