"""Results that the writer of a live job has seen: arrivals and latencies of tuples, silences, and tuples that are missing."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from edrp.core.arrays import Floats, Ints

SECOND = 1000
"""Milliseconds."""

STABLE = 1.1
"""Factor of the largest latency before a change up to which a job is stable again: the rule of DRRS."""

STABLE_SECONDS = 1.0
"""For so long; DRRS takes 100 s for changes that take minutes."""


class Latencies(NamedTuple):
    """Latencies of tuples in seconds; all 0 where there are no tuples."""

    tuples: int
    mean: float
    p50: float
    p99: float
    max: float


@dataclass(frozen=True, slots=True)
class Results:
    """First arrivals of tuples, in order of time.

    Attributes
    ----------
    arrived, due : shape (tuples,), milliseconds since 1970.
    missing : tuples that have not come though a later one of their key has.
    """

    arrived: Ints
    due: Ints
    missing: int

    def latencies(self, first: int, end: int) -> Latencies:
        """Latencies of tuples that were due in a time, [first, end) in milliseconds since 1970."""
        return latencies((self.arrived - self.due)[(self.due >= first) & (self.due < end)] / SECOND)

    def silence(self, first: int, end: int) -> float:
        """Longest time in seconds without an arrival that ends after `first` and begins before `end`."""
        gaps, before, after = np.diff(self.arrived), self.arrived[:-1], self.arrived[1:]
        return float(gaps[(after > first) & (before < end)].max(initial=0)) / SECOND

    def stable(self, first: int, end: int, peak: float) -> float | None:
        """Seconds from `first` until latencies stay below `STABLE` times the peak for `STABLE_SECONDS`; None before `end`.

        Latencies are those of tuples in order of their arrival.
        """
        late = (self.arrived > first) & ((self.arrived - self.due) / SECOND >= STABLE * peak)
        ends = [first, *self.arrived[late].tolist()]
        span = STABLE_SECONDS * SECOND
        for begin, following in zip(ends, [*ends[1:], end], strict=True):
            if following - begin >= span:
                return (begin - first) / SECOND
        return None


def latencies(seconds: Floats) -> Latencies:
    """The figures of a sample."""
    if not seconds.size:
        return Latencies(0, 0.0, 0.0, 0.0, 0.0)
    median, high = np.quantile(seconds, [0.5, 0.99], method="higher")
    return Latencies(seconds.size, float(seconds.mean()), float(median), float(high), float(seconds.max()))


def read_results(lines: Iterable[str]) -> Results:
    r"""Read lines "arrived due key number chain"; the first arrival of a tuple counts, and a line that is cut off does not.

    >>> results = read_results(["105 100 0 1 1\n", "125 110 0 3 1\n", "130 100 0 1 1\n", "140 12"])
    >>> results.arrived.tolist(), results.due.tolist(), results.missing
    ([105, 125], [100, 110], 1)
    """
    first: dict[tuple[int, int], tuple[int, int]] = {}
    for line in lines:
        words = line.split()
        if len(words) == 5 and line.endswith("\n"):
            first.setdefault((int(words[2]), int(words[3])), (int(words[0]), int(words[1])))
    times = np.array(sorted(first.values()), np.int64).reshape(-1, 2)
    return Results(times[:, 0], times[:, 1], _missing(first))


def _missing(tuples: Iterable[tuple[int, int]]) -> int:
    numbers: defaultdict[int, list[int]] = defaultdict(list)
    for key, number in tuples:
        numbers[key].append(number)
    return sum(max(listed) - min(listed) + 1 - len(listed) for listed in numbers.values())


def throughput(arrived: Sequence[int] | Ints, share: float = 0.1) -> float:
    """Tuples/s of a burst without its first and last part, in which not all workers are busy.

    >>> throughput(range(1000, 2000), share=0.1)
    1000.0
    """
    times = np.sort(np.asarray(arrived))
    cut = math.floor(share * times.size)
    inner = times[cut : times.size - cut]
    return float((inner.size - 1) / (inner[-1] - inner[0]) * SECOND) if inner.size > 1 and inner[-1] > inner[0] else math.nan


def mean_by_minute(results: Results, begin: int, minute: float, minutes: int) -> dict[int, Latencies]:
    """Latencies of tuples by the minute in which they were due, from minute 1 on; a minute lasts so many seconds."""
    edges = [begin + round(number * minute * SECOND) for number in range(minutes + 1)]
    return {number + 1: results.latencies(edges[number], edges[number + 1]) for number in range(minutes)}


def tail(path: Path, offset: int) -> list[str]:
    """The lines of a file from a byte on; none where there is no file yet."""
    if not path.exists():
        return []
    with path.open("rb") as file:
        file.seek(offset)
        return file.read().decode("ascii", "replace").splitlines(keepends=True)
