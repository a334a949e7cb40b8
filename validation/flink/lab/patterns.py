"""The lab's job of frequent patterns, live or plain, over all its starts: `FrequentPatternJob.java`."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal, NamedTuple

from edrp.engines.flink.local import LocalFlink
from edrp.validation.flink.lab.job import ScheduledJob, key_group, live_files, program_arguments

ENTRY = "edrp.lab.FrequentPatternJob"
OPERATORS = ("detector", "maximal")
"""The operators with a state for each pattern; a pattern belongs to the same task of both."""


@dataclass(frozen=True, slots=True)
class PatternSettings:
    """Settings of the job.

    Attributes
    ----------
    window : tweets in the window.
    threshold : a pattern in more tweets than these is frequent.
    vocabulary, tweet_words, pattern_words : number of words, of words in a tweet, and at most in a pattern.
    micros : microseconds of work for each change of a pattern, asleep.
    state_bytes : ballast of each pattern.
    tasks, groups : number of tasks, and of key groups; a plain job has key groups only.
    workers, used : parallelism, and how many workers hold tasks at first.
    checkpoint_interval : seconds.
    """

    mode: Literal["live", "plain"] = "live"
    window: int = 1000
    threshold: int = 5
    vocabulary: int = 1000
    tweet_words: int = 4
    pattern_words: int = 4
    micros: float = 0.0
    state_bytes: int = 0
    tasks: int = 32
    groups: int = 96
    workers: int = 6
    used: int = 6
    checkpoint_interval: float = 5.0

    def arguments(self, folder: Path) -> list[str]:
        """Arguments of the Java program."""
        words = asdict(self)
        words["checkpoint_ms"] = round(1000 * words.pop("checkpoint_interval"))
        return program_arguments({**words, **live_files(folder)})

    def group(self, task: int, worker: int) -> int:
        """The key group of a task on a worker.

        >>> [PatternSettings(tasks=4, groups=8, workers=2).group(task, 1) for task in range(5)]
        [4, 5, 6, 7, 4]
        """
        return key_group(task, worker, self.groups, self.workers)

    def first_workers(self) -> list[int]:
        """Worker of each task when the job first starts."""
        return [task * self.used // self.tasks for task in range(self.tasks)]


class PatternChange(NamedTuple):
    """A result: a pattern that became (1) or ceased to be (−1) maximal among the frequent; times in ms since 1970."""

    arrived: int
    due: int
    words: int
    pattern: int
    change: int


class PatternRun(ScheduledJob):
    """The job while it runs; the events of its schedule are arrivals and departures."""

    def __init__(self, flink: LocalFlink, settings: PatternSettings) -> None:
        super().__init__(flink, "patterns", ENTRY)
        self.control.touch()
        self.start(settings)

    def restart(self, settings: PatternSettings, seconds: float = 0.0) -> None:
        """Stop with a savepoint, and go on from it with other settings after `seconds`."""
        savepoint = self.job.stop_with_savepoint()
        time.sleep(seconds)
        self.start(settings, savepoint)

    def results(self) -> Iterator[PatternChange]:
        """All results that were written so far."""
        path = self.folder / "results.txt"
        for line in path.read_text(encoding="ascii").splitlines(keepends=True) if path.exists() else ():
            words = line.split()
            if len(words) == len(PatternChange._fields) and line.endswith("\n"):
                yield PatternChange(*map(int, words))

    def maximal(self) -> dict[int, int]:
        """Sum of the changes of each pattern where it is not 0: 1 for the maximal ones once nothing is on its way."""
        sums = Counter[int]()
        for result in self.results():
            sums[result.pattern] += result.change
        return {pattern: total for pattern, total in sums.items() if total}
