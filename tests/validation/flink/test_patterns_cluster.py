"""The job of frequent patterns on a real cluster of Flink, with moves going on: `make test-flink`."""

import random
from collections.abc import Iterator
from dataclasses import replace

import pytest
from real_flink import ON_REAL_FLINK

from edrp.engines.clock import SystemClock
from edrp.engines.flink.local import LocalFlink
from edrp.engines.flink.local.jobs import now_ms
from edrp.engines.flink.local.rest import wait_until
from edrp.engines.flink.migrating.control_log import ControlLog
from edrp.engines.flink.migrating.discovery import LiveReader
from edrp.engines.flink.migrating.moves import TaskMove
from edrp.validation.flink.lab.patterns import OPERATORS, PatternRun, PatternSettings
from edrp.validation.oracles.migration.frequent_patterns import maximal_patterns, tweet_words, tweets_in_window
from edrp.validation.papers.state_migration.frequent_patterns import pattern_words

pytestmark = ON_REAL_FLINK

SETTINGS = PatternSettings(window=300, threshold=4, state_bytes=500, tasks=24, groups=60, workers=4, used=2)
EVENTS_PER_SECOND, SECONDS = 150, 12


@pytest.fixture(scope="module")
def flink() -> Iterator[LocalFlink]:
    with LocalFlink({"a": 2, "b": 2}) as cluster:
        yield cluster


def start(flink: LocalFlink, settings: PatternSettings) -> PatternRun:
    """A job with `events` events, after which it is quiet."""
    run = PatternRun(flink, settings)
    begin = now_ms() + 300
    run.set_rates([(begin, EVENTS_PER_SECOND), (begin + 1000 * SECONDS, 0)])
    return run


def expected(settings: PatternSettings) -> set[tuple[int, ...]]:
    """The maximal frequent patterns when it is quiet."""
    numbers = tweets_in_window(EVENTS_PER_SECOND * SECONDS, settings.window)
    tweets = [tweet_words(number, settings.vocabulary, settings.tweet_words) for number in numbers]
    return maximal_patterns(tweets, settings.threshold, settings.pattern_words)


def check_results(run: PatternRun) -> None:
    """Wait for the expected results, and see that nothing else was on its way."""

    def look() -> bool | None:
        return {pattern_words(pattern) for pattern in run.maximal()} == expected(run.settings) or None

    wait_until(look, 120, "does not report the maximal frequent patterns", "the job")
    run.job.stop_with_savepoint()
    sums = {pattern_words(pattern): total for pattern, total in run.maximal().items()}
    assert sums == dict.fromkeys(expected(run.settings), 1)
    assert {len(words) for words in expected(run.settings)} >= {1, 2}
    assert any(result.change < 0 for result in run.results())


def test_the_job_reports_the_maximal_frequent_patterns_with_moves_going_on(flink):
    run = start(flink, SETTINGS)
    draw = random.Random(1)
    workers = {operator: SETTINGS.first_workers() for operator in OPERATORS}
    for number in range(8):
        moves = []
        for operator, task in [(operator, task) for operator in OPERATORS for task in draw.sample(range(SETTINGS.tasks), 6)]:
            old, new = workers[operator][task], draw.randrange(SETTINGS.workers)
            if new != old:
                moves.append(TaskMove(operator, task, SETTINGS.group(task, old), SETTINGS.group(task, new)))
                workers[operator][task] = new
        with ControlLog(run.control) as log:
            key = log.append_plan([moves[:4], moves[4:]], "test", 100_000, "pause" if number % 4 == 3 else "live").key
    reader = LiveReader(flink.address, run.job.key, SystemClock())

    def look() -> bool | None:
        plan = reader.discover().state.plan
        return True if plan is not None and plan.plan == key and plan.over else None

    wait_until(look, 120, "does not move all tasks", "the job")
    assert {operator.name: list(operator.workers) for operator in reader.discover().operators.values()} == workers
    check_results(run)


def test_the_plain_twin_reports_the_same_over_a_restart(flink):
    run = start(flink, replace(SETTINGS, mode="plain", groups=SETTINGS.tasks, workers=2))
    wait_until(lambda: next(run.results(), None), 60, "does not report", "the job")
    run.restart(replace(run.settings, workers=3))
    check_results(run)
