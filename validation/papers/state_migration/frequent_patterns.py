"""Maximal frequent patterns of words over a sliding window, counted as the operators of Fig. 8 do.

A tuple enters twice, as +1 when it arrives and as −1 when it leaves the window. The pattern generator makes all its patterns:
combinations of its words, up to a size. The detector holds a counter for each pattern in the window. When a pattern becomes
frequent or ceases to be, it tells all its subsets through the loop, which count how many frequent patterns contain them: the
frequent patterns that none contains are reported. Unrolled, the loop is a second detector that the first one sends to.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np

from edrp.core.arrays import Floats, Ints

WORD_BITS = 15
"""Bits of a word in the code of a pattern."""

MAX_PATTERN_WORDS = 4
"""Words whose bits fit into 64."""


def pattern_codes(words: Ints, max_size: int) -> Ints:
    """Codes of the patterns of tuples: all combinations of 1 … `max_size` of their words.

    Parameters
    ----------
    words : shape (tuples, k)
        Different words of each tuple, numbered from 0 to 2¹⁵ − 2.

    Returns
    -------
    numpy.ndarray
        Shape (tuples, patterns); the same words have the same code in any order.

    Examples
    --------
    >>> [pattern_words(code) for code in pattern_codes(np.array([[7, 3]]), 2)[0].tolist()]
    [(3,), (7,), (3, 7)]
    """
    if not 1 <= max_size <= MAX_PATTERN_WORDS:
        raise ValueError(f"patterns of {max_size} words cannot be coded")
    ordered = np.sort(words, axis=1) + 1
    columns = []
    for size in range(1, max_size + 1):
        for chosen in combinations(range(words.shape[1]), size):
            code = ordered[:, chosen[0]]
            for column in chosen[1:]:
                code = (code << WORD_BITS) | ordered[:, column]
            columns.append(code)
    return np.stack(columns, axis=1)


def pattern_words(code: int) -> tuple[int, ...]:
    """Words of a pattern, ascending."""
    words = []
    while code:
        words.append((code & (1 << WORD_BITS) - 1) - 1)
        code >>= WORD_BITS
    return tuple(reversed(words))


def slots_of(codes: Ints, slots: int) -> Ints:
    """Hash of codes to 0 … `slots` − 1, by the finaliser of SplitMix64.

    >>> slots_of(np.arange(4), 64).tolist()
    [0, 37, 10, 48]
    """
    mixed = codes.astype(np.uint64)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return ((mixed ^ (mixed >> np.uint64(31))) % np.uint64(slots)).astype(np.int64)


class PatternDetector:
    """Counters of the patterns in a window, and the maximal ones among the frequent.

    Attributes
    ----------
    threshold : a pattern is frequent when it is in more tuples of the window.
    counts : tuples of the window that contain each pattern; patterns of none have no counter.
    born, died, told : codes since `load` last took them: counters made and dropped, and patterns that the loop told.

    Examples
    --------
    "Storm" is suppressed as a subset of "Apache Storm":

    >>> detector = PatternDetector(threshold=1)
    >>> codes = pattern_codes(np.array([[0, 1], [0, 1], [0, 2]]), 2)
    >>> for row in codes.tolist():
    ...     detector.update(row, 1)
    >>> detector.maximal()
    [(0, 1)]
    """

    def __init__(self, threshold: int) -> None:
        self.threshold = threshold
        self.counts: dict[int, int] = {}
        self._containing: dict[int, int] = {}
        self._frequent: set[int] = set()
        self.born: list[int] = []
        self.died: list[int] = []
        self.told: list[int] = []

    def update(self, codes: Iterable[int], change: int) -> None:
        """Count the patterns of a tuple that arrives (`change` 1) or leaves the window (−1)."""
        counts = self.counts
        crossing = self.threshold + (change > 0)
        for code in codes:
            count = counts.get(code, 0) + change
            if count == 0:
                del counts[code]
                self.died.append(code)
            else:
                counts[code] = count
                if count == change:
                    self.born.append(code)
            if count == crossing:
                (self._frequent.add if change > 0 else self._frequent.remove)(code)
                words = np.array([pattern_words(code)])
                subsets = pattern_codes(words, words.size - 1)[0].tolist() if words.size > 1 else []
                for subset in subsets:
                    self._containing[subset] = self._containing.get(subset, 0) + change
                    self.told.append(subset)

    @property
    def frequent(self) -> int:
        """Number of frequent patterns."""
        return len(self._frequent)

    def maximal(self) -> list[tuple[int, ...]]:
        """Frequent patterns that no other frequent pattern contains, sorted."""
        return sorted(pattern_words(code) for code in self._frequent if self._containing.get(code, 0) == 0)


class WindowLoads(NamedTuple):
    """Load of the detector in each step.

    Attributes
    ----------
    work : shape (steps, slots), counter updates and messages of the loop.
    state : shape (steps, slots), counters at the end of the step.
    messages : shape (steps,), messages of the loop alone.
    frequent : shape (steps,), frequent patterns at the end of the step.
    """

    work: Floats
    state: Floats
    messages: Floats
    frequent: Floats


def slide(
    detector: PatternDetector, codes: Ints, time: Floats, window: float, begins: Sequence[float], slots: int
) -> WindowLoads:
    """Let tuples enter and leave the window, and measure the detector in steps between `begins`.

    Parameters
    ----------
    codes : shape (tuples, patterns)
    time : shape (tuples,), ascending
    window
        ω: a tuple leaves it ω after its arrival; one that leaves when another arrives leaves first.
    begins
        Begin of each step, ascending, and the end of the last one; what happens before the first is carried out unmeasured.
    """
    tuples = time.size
    moments = np.concatenate([time + window, time])
    order = np.argsort(moments, kind="stable")
    cuts = np.searchsorted(moments[order], begins)
    arrives, which = order >= tuples, order % tuples
    slot = slots_of(codes, slots)
    steps, held = len(begins) - 1, np.zeros(slots)
    loads = WindowLoads(np.zeros((steps, slots)), np.zeros((steps, slots)), np.zeros(steps), np.zeros(steps))
    for step, (first, last) in enumerate(zip([0, *cuts[:-1]], cuts, strict=True)):
        for row, change in zip(which[first:last].tolist(), arrives[first:last].tolist(), strict=True):
            detector.update(codes[row].tolist(), 1 if change else -1)
        held += _by_slot(detector.born, slots) - _by_slot(detector.died, slots)
        if step > 0:
            updates = np.bincount(slot[which[first:last]].ravel(), minlength=slots)
            loads.work[step - 1] = updates + _by_slot(detector.told, slots)
            loads.state[step - 1] = held
            loads.messages[step - 1], loads.frequent[step - 1] = len(detector.told), detector.frequent
        detector.born.clear()
        detector.died.clear()
        detector.told.clear()
    return loads


def _by_slot(codes: list[int], slots: int) -> Floats:
    return np.bincount(slots_of(np.array(codes, dtype=np.int64), slots), minlength=slots).astype(np.float64)
