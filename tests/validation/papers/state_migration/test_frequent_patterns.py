"""Frequent patterns of a sliding window against counting every window again."""

from collections import Counter
from itertools import combinations

import numpy as np
import pytest

from edrp.validation.papers.state_migration.frequent_patterns import (
    PatternDetector,
    pattern_codes,
    pattern_words,
    slide,
    slots_of,
)

SLOTS = 8


def patterns_of(words: np.ndarray, max_size: int) -> list[tuple[int, ...]]:
    ordered = sorted(words.tolist())
    return [chosen for size in range(1, max_size + 1) for chosen in combinations(ordered, size)]


def drawn_words(seed: int, tuples: int, size: int = 4) -> np.ndarray:
    generator = np.random.default_rng(seed)
    return np.stack([generator.permutation(7)[:size] for _ in range(tuples)])


def code_of(pattern: tuple[int, ...]) -> int:
    return int(pattern_codes(np.array([pattern]), len(pattern))[0, -1])


@pytest.mark.parametrize("max_size", [1, 2, 3, 4])
def test_codes_stand_for_all_combinations(max_size: int) -> None:
    words = drawn_words(max_size, 5)
    for row, codes in zip(words, pattern_codes(words, max_size).tolist(), strict=True):
        assert sorted(map(pattern_words, codes)) == sorted(patterns_of(row, max_size))


def test_patterns_beyond_the_bits_of_a_code_are_refused() -> None:
    with pytest.raises(ValueError, match="5 words"):
        pattern_codes(np.arange(5)[None], 5)


@pytest.mark.parametrize(("max_size", "threshold"), [(2, 0), (3, 1), (4, 2), (3, 5)])
def test_counters_and_reports_are_those_of_the_window_counted_again(max_size: int, threshold: int) -> None:
    """After each arrival and each departure, the last 12 tuples of 60, by brute force."""
    words = drawn_words(max_size * 10 + threshold, 60)
    codes = pattern_codes(words, max_size).tolist()
    detector = PatternDetector(threshold)
    reported = 0
    for i in range(60 + 12):
        if i >= 12:
            detector.update(codes[i - 12], -1)
        if i < 60:
            detector.update(codes[i], 1)
        window = words[max(0, i - 11) : min(i, 59) + 1]
        counts = Counter(pattern for row in window for pattern in patterns_of(row, max_size))
        frequent = {pattern for pattern, count in counts.items() if count > threshold}
        assert {pattern_words(code): count for code, count in detector.counts.items()} == counts
        assert detector.frequent == len(frequent)
        assert detector.maximal() == sorted(p for p in frequent if not any(set(p) < set(q) for q in frequent))
        reported += len(frequent)
    assert reported > 0
    assert not detector.counts


def test_work_and_state_of_each_step_are_those_counted_again() -> None:
    """Work: patterns that came or went, and subsets of those that crossed the threshold; state: patterns at the end."""
    words, threshold, window = drawn_words(3, 40), 2, 10.0
    time = np.arange(40.0)
    begins = [10.0, 20.0, 31.0]
    detector = PatternDetector(threshold)
    loads = slide(detector, pattern_codes(words, 3), time, window, begins, SLOTS)
    moments = sorted([(t + window, 0, i) for i, t in enumerate(time)] + [(t, 1, i) for i, t in enumerate(time)])
    counts: Counter[tuple[int, ...]] = Counter()
    expected, loop = np.zeros((2, SLOTS)), 0
    for at, arrives, i in moments:
        step = int(np.searchsorted(begins, at, side="right")) - 1
        for pattern in patterns_of(words[i], 3):
            counts[pattern] += 1 if arrives else -1
            touched = [pattern]
            if counts[pattern] == threshold + arrives:
                touched += [subset for size in range(1, len(pattern)) for subset in combinations(pattern, size)]
            if step in (0, 1):
                loop += len(touched) - 1
                for each in touched:
                    expected[step, slots_of(np.array([code_of(each)]), SLOTS)[0]] += 1
    assert (loads.work == expected).all()
    assert loads.messages.sum() == loop > 0
    for step, end in enumerate(begins[1:]):
        counts = Counter(p for row, t in zip(words, time, strict=True) if end - window <= t < end for p in patterns_of(row, 3))
        slots = slots_of(np.array([code_of(pattern) for pattern in counts]), SLOTS)
        assert loads.frequent[step] == sum(count > threshold for count in counts.values())
        assert loads.state[step].tolist() == np.bincount(slots, minlength=SLOTS).tolist()
