"""The job of frequent patterns without a cluster: its stream, its results, and the reference that counts everything."""

from collections import deque
from itertools import combinations

import pytest

from edrp.engines.flink.local import LocalFlink
from edrp.validation.flink.lab import job
from edrp.validation.flink.lab.patterns import PatternChange, PatternRun, PatternSettings
from edrp.validation.oracles.migration.frequent_patterns import maximal_patterns, tweet_words, tweets_in_window
from edrp.validation.papers.state_migration.frequent_patterns import pattern_words


@pytest.mark.parametrize("window", [1, 2, 5])
def test_the_window_holds_what_arrived_and_has_not_left(window):
    held, next_tweet = deque(), 0
    for event in range(4 * window):
        if event < window or (event - window) % 2 == 0:
            held.append(next_tweet)
            next_tweet += 1
        else:
            held.popleft()
        assert list(held) == list(tweets_in_window(event + 1, window))


def test_words_of_tweets_differ_and_follow_a_zipf_law():
    tweets = [tweet_words(number, 1000, 4) for number in range(2000)]
    assert all(len(set(words)) == 4 and words == tuple(sorted(words)) and max(words) < 1000 for words in tweets)
    share = [sum(word in words for words in tweets) / (4 * len(tweets)) for word in range(3)]
    for word, found in enumerate(share):  # 1 / (H_1000 (w + 1)), a bit less for frequent ones, which no tweet has twice
        assert found == pytest.approx(1 / 7.485 / (word + 1), rel=0.25)


def test_maximal_patterns_are_frequent_and_have_no_frequent_supersets():
    tweets = [tweet_words(number, 12, 4) for number in range(60)]
    found = maximal_patterns(tweets, threshold=4, size=3)
    every = [frozenset(pattern) for size in (1, 2, 3) for pattern in combinations(range(12), size)]
    frequent = [pattern for pattern in every if sum(pattern <= set(words) for words in tweets) > 4]
    maximal = {pattern for pattern in frequent if not any(pattern < other for other in frequent)}
    assert {frozenset(pattern) for pattern in found} == maximal
    assert {len(pattern) for pattern in found} >= {2, 3}


def test_a_task_starts_in_a_key_group_of_its_worker():
    settings = PatternSettings(tasks=32, groups=100, workers=7, used=5)
    for task, worker in enumerate(settings.first_workers()):
        assert settings.group(task, worker) * 7 // 100 == worker  # as Flink assigns key groups
    assert sorted(set(settings.first_workers())) == list(range(5))
    assert {settings.group(task, 6) * 7 // 100 for task in range(32)} == {6}


@pytest.fixture
def written(tmp_path, monkeypatch):
    """A run whose job writes what a test writes."""
    submitted = []
    monkeypatch.setattr(job, "submit", lambda *arguments, **options: submitted.append((arguments, options)))
    flink = LocalFlink({"a": 1}, folder=tmp_path)
    flink.folder, flink.rest = tmp_path, None
    run = PatternRun(flink, PatternSettings(window=7))
    return run, submitted


def test_a_run_hands_its_settings_to_the_job_and_nothing_is_due_yet(written):
    run, submitted = written
    (arguments, options) = submitted[0]
    assert arguments[2][arguments[2].index("--window") + 1] == "7"
    assert options == {"entry_class": "edrp.lab.FrequentPatternJob", "savepoint": None}
    assert run.control.read_bytes() == b""
    assert run.folder.joinpath("rates.txt").read_text().split()[1] == "0"
    run.set_rates([(123, 4.5)])
    assert run.folder.joinpath("rates.txt").read_text().endswith("\n123 4.5\n")


def test_results_are_whole_lines_and_their_changes_add_up(written):
    run, _ = written
    assert list(run.results()) == []
    code = (3 + 1) << 15 | (7 + 1)
    changes = [f"20 10 2 {code} -1", f"30 20 2 {code} 1", "31 20 1 5 1", "32 21 1 5 -1", f"40 30 2 {code} 1", "41 30 1 5 1"]
    run.folder.joinpath("results.txt").write_text("\n" + "\n".join(changes))  # the last line is being written
    assert next(run.results()) == PatternChange(20, 10, 2, code, -1)
    assert {pattern_words(pattern): total for pattern, total in run.maximal().items()} == {(3, 7): 1}
