"""Patterns of given tasks: those that an enumeration finds, and of placements by patterns the best one."""

from itertools import combinations_with_replacement, product

import numpy as np
import pytest
from given_tasks import tasks

from edrp.core.tolerances import PATTERN_LOAD_SLACK
from edrp.formulations.placement.fixed_tasks import patterns as listing
from edrp.formulations.placement.fixed_tasks.pattern_pairs import best_of_patterns, first_sum, max_patterns
from edrp.formulations.placement.fixed_tasks.pattern_program import compose
from edrp.placement.fixed_tasks import FixedTasks, read_fixed_tasks


def drawn(seed: int, nodes: int, largest: int) -> tuple[FixedTasks, np.ndarray]:
    """Tasks, and limits near the mean loads, some of them infinite."""
    random = np.random.default_rng([seed, 3])
    fixed = read_fixed_tasks(tasks(seed, nodes, largest))
    mean = np.maximum(fixed.totals, 0.5 * fixed.arrays.sent.sum(axis=0)) / nodes
    return fixed, np.where(random.random(fixed.shared) < 0.3, np.inf, mean * random.uniform(1.0, 1.6, fixed.shared))


def enumerated(fixed: FixedTasks, limits: np.ndarray) -> set[tuple[int, ...]]:
    """Patterns within room and limits that leave no more than the other nodes can take."""
    arrays = fixed.arrays
    all_counts = np.array(list(product(*(range(total + 1) for total in arrays.totals))))
    loads = fixed.loads(all_counts)
    fits = (all_counts @ arrays.demand <= fixed.room).all(axis=1) & (loads <= limits * (1 + PATTERN_LOAD_SLACK)).all(axis=1)
    others = (arrays.totals - all_counts) @ arrays.demand <= (fixed.nodes - 1) * fixed.room * (1 + PATTERN_LOAD_SLACK)
    shared = (arrays.totals - all_counts) @ arrays.use <= (fixed.nodes - 1) * limits * (1 + 2 * PATTERN_LOAD_SLACK)
    return set(map(tuple, all_counts[fits & others.all(axis=1) & (shared | fixed.streamed).all(axis=1)].tolist()))


@pytest.mark.parametrize(("whole", "matches"), [(10_000, 0), (1, np.inf), (1, 0)], ids=["one table", "joined", "one by one"])
@pytest.mark.parametrize("seed", range(12))
def test_all_patterns_within_limits_are_listed(seed, whole, matches, monkeypatch):
    monkeypatch.setattr(listing, "SMALL_TABLE", whole)
    monkeypatch.setattr(listing, "MAX_MATCHES", matches)
    monkeypatch.setattr(listing, "FIRST_BLOCK", 3)
    fixed, limits = drawn(seed, 2 + seed % 4, 6)
    lister, expected = listing.PatternLister(fixed), enumerated(fixed, limits)
    for _ in range(2):  # a table is kept
        listed = lister.within(limits, len(expected)).tolist()
        assert len(listed) == len(expected)
        assert set(map(tuple, listed)) == expected
    if expected:
        assert lister.within(limits, len(expected) - 1) is None


@pytest.mark.parametrize("nodes", [1, 2, 3, 5])
@pytest.mark.parametrize("seed", range(6))
def test_the_first_sum_of_patterns_is_that_of_all_choices(seed, nodes):
    fixed, _ = drawn(seed, nodes, 3)
    random = np.random.default_rng(seed)
    placed = np.array([random.multinomial(total, np.full(nodes, 1 / nodes)) for total in fixed.arrays.totals]).T
    patterns = np.unique(np.vstack([placed, random.integers(0, 2, (6, fixed.operators))]), axis=0)
    patterns = patterns[random.permutation(len(patterns))]
    choices = combinations_with_replacement(range(len(patterns)), nodes)
    whole = [choice for choice in choices if np.array_equal(patterns[list(choice)].sum(axis=0), fixed.arrays.totals)]
    found = first_sum(fixed, patterns)
    assert found.max() == min(map(max, whole))
    assert np.array_equal(patterns[found].sum(axis=0), fixed.arrays.totals)
    assert found.size == nodes
    assert first_sum(fixed, patterns[: found.max()]) is None
    composed, impossible = compose(fixed, patterns[: found.max() + 1], 5.0)
    assert np.array_equal(composed.sum(axis=0), fixed.arrays.totals)
    assert (len(composed), impossible) == (nodes, False)
    assert {tuple(row) for row in composed.tolist()} <= {tuple(row) for row in patterns[: found.max() + 1].tolist()}
    assert compose(fixed, patterns[: found.max()], 5.0) == (None, True)


def test_sums_and_pairs_find_the_same_peak(monkeypatch):
    for seed in range(4):
        fixed, _ = drawn(seed, 4, 4)
        patterns = listing.PatternLister(fixed).within(np.full(fixed.shared, np.inf), max_patterns(fixed))
        values = fixed.loads(patterns).max(axis=1)
        by_sums = best_of_patterns(fixed, patterns, values)
        with monkeypatch.context() as patch:
            patch.setattr("edrp.formulations.placement.fixed_tasks.pattern_pairs.MAX_SUM_WORK", 0)
            by_pairs = best_of_patterns(fixed, patterns, values)
        assert (by_sums is None) == (by_pairs is None)
        assert by_sums is None or by_sums[0] == by_pairs[0]
