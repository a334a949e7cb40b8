"""Results due from the timers of the lab's `TimerJob`, computed from its input alone, and those that came."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

SIZE, SLIDE = 1000, 500
"""Milliseconds of its sliding windows."""

BEHIND = 300
"""Milliseconds by which its watermark is at most behind the last record."""


def windows(keys: int, rounds: int) -> dict[tuple[int, int], int]:
    """Sums of the windows that end before the watermark does, by key and end, from how `TimerJob` says that time goes."""
    sums: dict[tuple[int, int], int] = defaultdict(int)
    for key in range(keys):
        for number in range(1, rounds + 1):
            at = number * 100 + key * 7 % 100
            for end in range(at // SLIDE * SLIDE + SIZE, at, -SLIDE):
                sums[key, end] += number
    return {place: total for place, total in sums.items() if place[1] <= rounds * 100 - BEHIND}


def every_window(results: Path, keys: int, rounds: int) -> bool | None:
    """Whether all windows have fired that had to, each with its sum whenever it is said; None while some are missing."""
    expected = windows(keys, rounds)
    fired = Fired(results)
    if expected.keys() - fired.windows.keys():
        return None
    return fired.late == 0 and all(fired.windows[place] == {total} for place, total in expected.items())


class Fired:
    """Results of the timers of a run: different results of each window and tick, over all repetitions after restarts."""

    def __init__(self, results: Path) -> None:
        self.windows: dict[tuple[int, int], set[int]] = defaultdict(set)
        self.ticks: dict[int, dict[int, set[int]]] = defaultdict(lambda: defaultdict(set))
        self.late = 0
        for line in results.read_text(encoding="ascii").splitlines():
            if len(words := line.split()) == 5:
                _, due, key, number, more = map(int, words)
                if due < 0:
                    self.ticks[key][number].add(more)
                else:
                    self.windows[key, due].add(number)
                    self.late += more
