"""Judges the results of live jobs by their lines alone; shares nothing with the jobs.

`LiveJob` gives each key the numbers 1, 2, …, n and folds them, in the order in which the state of the key sees them, into a
chain, chain = chain · M + number (mod 2⁶⁴), which each line shows. M is odd: the chain of a line tells the chain before it, hence
from which number the state came. So it is seen what was lost, doubled or overtaken in state, though the writer may repeat lines
after a restart, and lines of an old and a new owner may be mixed. What the timers of `TimerJob` must say follows from its input.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

MULTIPLIER = 6364136223846793005
MASK = (1 << 64) - 1
INVERSE = pow(MULTIPLIER, -1, MASK + 1)


@dataclass(slots=True)
class Verdict:
    """Contents of a file of results.

    Attributes
    ----------
    lines : complete lines.
    records : different pairs of a key and a number.
    lost : numbers below the highest of their key, or below those that were sent, that no line shows, and numbers that a state
        has skipped.
    doubled : records that a state took a second time.
    reordered : records that a state took after a later one.
    wrong : lines whose chain is not that of 1, …, n in order, for any of these reasons.
    replays : lines that say again what one before has said, as a restart makes them.
    torn : ends of lines that a killed writer left.
    """

    lines: int = 0
    records: int = 0
    lost: int = 0
    doubled: int = 0
    reordered: int = 0
    wrong: int = 0
    replays: int = 0
    torn: int = 0

    @property
    def exactly_once(self) -> bool:
        """Whether nothing is lost, doubled, reordered or otherwise wrong."""
        return not (self.lost or self.doubled or self.reordered or self.wrong)


@dataclass(slots=True)
class _Key:
    """Knowledge of a key: the right chains by number, and the chains that lines showed with their numbers."""

    right: list[int] = field(default_factory=lambda: [0])
    shown: dict[int, set[int]] = field(default_factory=dict)

    def chain(self, number: int) -> int:
        while len(self.right) <= number:
            self.right.append((self.right[-1] * MULTIPLIER + len(self.right)) & MASK)
        return self.right[number]

    def judge(self, verdict: Verdict, sent: int | None) -> None:
        numbers = {chain: number for number, chains in self.shown.items() for chain in chains} | {0: 0}
        skipped: set[int] = set()
        for number, chains in self.shown.items():
            for chain in chains - {self.chain(number)}:
                verdict.wrong += 1
                before = numbers.get((chain - number) * INVERSE & MASK)
                if before is not None and before < number - 1:
                    skipped.update(range(before + 1, number))
                elif before is not None:
                    verdict.doubled += before == number
                    verdict.reordered += before > number
        last = max(self.shown) if sent is None else sent
        verdict.records += len(self.shown)
        verdict.lost += len(skipped | (set(range(1, last + 1)) - self.shown.keys()))


def judge(lines: Iterable[str], sent: dict[int, int] | None = None) -> Verdict:
    """Judge lines "arrived_ms due_ms key number chain"; `sent` is the highest number of each key that must be there, where known.

    >>> judge(["0 0 7 1 1", "0 0 7 2 6364136223846793007"]).exactly_once
    True
    """
    verdict = Verdict()
    keys: dict[int, _Key] = {key: _Key() for key in sent or {}}
    for line in lines:
        words = line.split()
        if len(words) < 5:
            verdict.torn += bool(words)
            continue
        key, number, chain = int(words[2]), int(words[3]), int(words[4])
        known = keys.setdefault(key, _Key())
        right = known.chain(number)
        signed = str(right - (MASK + 1 if right > MASK >> 1 else 0))
        if signed.startswith(words[4]) and signed != words[4]:
            verdict.torn += 1  # its writer was killed; what it began comes again
            continue
        verdict.lines += 1
        shown = known.shown.setdefault(number, set())
        verdict.replays += chain & MASK in shown
        shown.add(chain & MASK)
    for key, known in keys.items():
        if known.shown or (sent or {}).get(key):
            known.judge(verdict, None if sent is None else sent.get(key))
    return verdict


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
