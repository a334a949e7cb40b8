"""Loads of tasks hour by hour, on small streams counted again, and the made-up tweets behind some of them."""

from itertools import combinations

import numpy as np
import pytest

from edrp.datasets.traces.flights import DAY, KeyedStream
from edrp.mdp.partitions import Tasks
from edrp.validation.papers.state_migration.frequent_patterns import pattern_codes, slots_of
from edrp.validation.papers.state_migration.task_loads import (
    MAX_TREND_SHARE,
    SLOTS,
    STATE_BYTES,
    TWEET_PATTERN,
    TWEET_WORDS,
    WINDOW_TWEETS,
    EventLoads,
    FlightPatternLoads,
    KeyLoads,
    TweetPatternLoads,
    Tweets,
    WordLoads,
    departure_words,
    hashed_keys,
    learnt,
)

HOUR = 3600.0


@pytest.fixture(scope="module")
def events() -> KeyedStream:
    """Three days of random events with 40 keys."""
    generator = np.random.default_rng(5)
    time = np.sort(generator.uniform(0, 3 * DAY, 400))
    return KeyedStream(time, generator.integers(0, 40, 400), tuple(map(str, range(40))))


def test_events_load_tasks_for_a_day_and_keys_forever(events: KeyedStream) -> None:
    task = hashed_keys(40, 8)
    for hour, tasks in zip((3, 40, 71), EventLoads(events).at((3, 40, 71), 8), strict=True):
        end = (hour + 1) * HOUR
        work, keys = np.zeros(8), set()
        for time, key in zip(events.time, events.key.tolist(), strict=True):
            work[task[key]] += end - DAY <= time < end
            if time < end:
                keys.add(key)
        assert tasks.work.tolist() == work.tolist()
        assert tasks.state_size.tolist() == (STATE_BYTES * np.bincount(task[list(keys)], minlength=8)).tolist()
    assert EventLoads(events).total(8).work.sum() == 400


def test_departures_load_tasks_by_the_patterns_of_a_day() -> None:
    """No pattern of these words is frequent, so that work is arrivals and departures of patterns alone."""
    generator = np.random.default_rng(6)
    time = np.sort(generator.uniform(0, 2.5 * DAY, 600))
    words = generator.permutation(2400).reshape(600, 4)
    hour, end = 40, 41 * HOUR
    tasks = FlightPatternLoads(time, words).at([hour], 8)[0]
    slots = slots_of(pattern_codes(words, 4), SLOTS) % 8
    arrived, left = (time >= end - DAY) & (time < end), (time >= end - 2 * DAY) & (time < end - DAY)
    held = slots[arrived].ravel()
    assert tasks.work.tolist() == (np.bincount(held, minlength=8) + np.bincount(slots[left].ravel(), minlength=8)).tolist()
    assert tasks.state_size.tolist() == (STATE_BYTES * np.bincount(held, minlength=8)).tolist()


def test_tweets_have_different_words_and_the_trends_of_their_hour() -> None:
    tweets = Tweets(200, 0.8, seed=3)
    hour = max(range(200), key=lambda hour: len(tweets.trending(hour)))
    phrases = tweets.trending(hour)
    assert 0 < sum(share for _, share in phrases) <= MAX_TREND_SHARE + 1e-9
    drawn = tweets.drawn(hour, 4000)
    assert all(len(set(row)) == TWEET_WORDS for row in drawn.tolist())
    for words, share in phrases:
        having = np.isin(drawn, words).sum(axis=1) == words.size
        assert having.mean() == pytest.approx(share, abs=0.03)
    counted = np.bincount(drawn.ravel(), minlength=10_000) / drawn.size
    assert counted == pytest.approx(tweets.popularity(hour), abs=0.01)
    assert (tweets.drawn(hour, 4000) == drawn).all()
    assert any(len(tweets.trending(other)) != len(phrases) for other in range(200))


def test_words_load_tasks_by_popularity() -> None:
    tweets, counts = Tweets(50, 0.8), np.arange(50.0)
    early, late = WordLoads(tweets, counts).at((10, 40), 16)
    assert late.work.sum() == pytest.approx(4 * early.work.sum())
    expected = np.bincount(hashed_keys(10_000, 16), tweets.popularity(40), minlength=16)
    assert late.work == pytest.approx(40 * TWEET_WORDS * expected)
    assert not np.allclose(late.work / late.work.sum(), early.work / early.work.sum(), rtol=1e-3)
    assert late.state_size.sum() == 10_000 * STATE_BYTES


def test_patterns_of_tweets_are_those_of_a_window_at_the_load_of_the_hour() -> None:
    tweets, counts = Tweets(50, 0.6), np.where(np.arange(50) < 25, 50.0, 150.0)
    loads = TweetPatternLoads(tweets, counts)
    quiet, busy = loads.at((10, 40), 16)
    for hour, tasks, size in ((10, quiet, WINDOW_TWEETS // 2), (40, busy, 3 * WINDOW_TWEETS // 2)):
        window = tweets.drawn(hour, 2 * size)[size:]
        patterns = {chosen for row in np.sort(window).tolist() for n in range(1, 4) for chosen in combinations(row, n)}
        assert tasks.state_size.sum() == len(patterns) * STATE_BYTES
        updates = 2 * size * pattern_codes(window[:1], TWEET_PATTERN).shape[1]
        assert updates <= tasks.work.sum() < 1.5 * updates
    assert loads.at((10,), 16)[0].work.tolist() == quiet.work.tolist()
    streams = loads.streams()
    assert 0 < streams.frequent < 0.1 * streams.counters


def test_learnt_loads_are_means_over_the_month_and_its_last_state() -> None:
    class Growing(KeyLoads):
        def at(self, hours: list[int], number: int) -> list[Tasks]:  # type: ignore[override]
            return [Tasks.of(np.full(number, float(hour)), np.full(number, float(hour))) for hour in hours]

    tasks = learnt(Growing(np.ones(1)), 34, 2)
    assert tasks.work.tolist() == [np.mean([0, 11, 22, 33])] * 2
    assert tasks.state_size.tolist() == [33.0, 33.0]


@pytest.mark.slow
def test_departures_have_four_words_of_their_own_kinds() -> None:
    time, words = departure_words()
    assert words.shape == (336_776 - 2512, 4)
    assert (np.diff(time) >= 0).all()
    assert [np.unique(column).size for column in words.T] == [3, 104, 16, 4043]
    assert (words[:, :-1].max(axis=0) < words[:, 1:].min(axis=0)).all()
