"""Classes of partitions: counted, enumerated, drawn, cut down; and best responses within them, against full scans."""

from itertools import combinations, combinations_with_replacement, pairwise
from math import comb

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment

from edrp import _native
from edrp.core.errors import ProblemTooLargeError
from edrp.mdp.best_response import best_responses, colexicographic
from edrp.mdp.partitions import Tasks, count_partitions, enumerate_partitions, sample_partitions
from edrp.mdp.trie import Trie, count_paths, list_partitions, numbered_trie, prepare_values, without_arcs
from edrp.migration.intervals import load_limit


def skewed_tasks(skew: str, seed: int, tasks: int = 64) -> Tasks:
    """Work with few or many heavy tasks, and state that mostly follows it."""
    generator = np.random.default_rng(seed)
    work = generator.uniform(0.5, 1.5, tasks) if skew == "uniform" else generator.lognormal(0.0, 0.5, tasks)
    return Tasks.of(work, work * generator.uniform(0.5, 1.5, tasks))


def plain_partitions(work_before: np.ndarray, nodes: int, limit: float, allow_empty: bool) -> list[tuple[int, ...]]:
    """By definition, in lexicographic order; of those that differ in where empty intervals stand, the one with them last."""
    tasks = work_before.size - 1
    draw = combinations_with_replacement if allow_empty else combinations
    found = []
    for inner in draw(range(0 if allow_empty else 1, tasks + 1 if allow_empty else tasks), nodes - 1):
        ends = (0, *inner, tasks)
        empty_first = any(a == b < tasks for a, b in pairwise(ends))
        if not empty_first and all(work_before[b] - work_before[a] <= limit for a, b in pairwise(ends)):
            found.append(ends)
    return found


def plain_gain(state_before: np.ndarray, left: np.ndarray, right: np.ndarray) -> float:
    """State that stays, by SciPy's assignment over all overlaps."""
    low = np.maximum(left[:-1, None], right[None, :-1])
    high = np.maximum(low, np.minimum(left[1:, None], right[None, 1:]))
    shared = state_before[high] - state_before[low]
    rows, columns = linear_sum_assignment(shared, maximize=True)
    return float(shared[rows, columns].sum())


def small_classes(count: int, seed: int):
    """Tasks with whole or broken sizes, two numbers of nodes, a tight or loose limit for the second."""
    generator = np.random.default_rng(seed)
    for _ in range(count):
        m = int(generator.integers(1, 9))
        whole = generator.integers(2)
        work, state = (generator.integers(0, 4, (2, m)).astype(float)) if whole else generator.random((2, m))
        nodes, others = (int(count) for count in generator.integers(1, 6, 2))
        limit = load_limit(work.sum(), others, generator.choice([0.0, 0.2, 0.5, 1.0, 3.0]))
        yield generator, Tasks.of(work, state), nodes, others, limit, bool(generator.integers(2))


def test_classes_are_those_of_the_definition() -> None:
    for _, tasks, _, nodes, limit, allow_empty in small_classes(400, 1):
        expected = plain_partitions(tasks.work_before, nodes, limit, allow_empty)
        arguments = tasks.work_before, nodes, limit, allow_empty
        found = enumerate_partitions(*arguments)
        assert [tuple(row) for row in found.tolist()] == expected
        assert count_partitions(*arguments) == len(expected)
        trie = Trie.of(*arguments)
        assert trie.count == len(expected)
        if expected:
            assert list_partitions(trie).tolist() == found.tolist()


@pytest.mark.parametrize(("tasks", "nodes"), [(64, 8), (200, 100), (500, 40)])
def test_huge_classes_are_counted_exactly(tasks: int, nodes: int) -> None:
    """Without a limit there are as many partitions as ways to choose boundaries."""
    before = np.arange(tasks + 1.0)
    assert count_partitions(before, nodes, float(tasks), allow_empty=False) == comb(tasks - 1, nodes - 1)
    every = sum(comb(tasks - 1, held - 1) for held in range(1, nodes + 1))
    assert count_partitions(before, nodes, float(tasks), allow_empty=True) == every


def test_classes_that_memory_cannot_hold_are_refused_before_they_are_made() -> None:
    with pytest.raises(ProblemTooLargeError, match=r"8\.39645e\+12 partitions of 64 tasks into 16 intervals need"):
        enumerate_partitions(np.arange(65.0), 16, 8.0, allow_empty=False)
    with pytest.raises(OverflowError, match="too many to be numbered"):
        Trie.of(np.arange(501.0), 40, 500.0, allow_empty=False)


def test_samples_are_uniform_and_feasible() -> None:
    """Every partition of a small class is drawn as often as any other; huge classes can be drawn from."""
    before = skewed_tasks("uniform", 0, 10).work_before
    limit = load_limit(before[-1], 3, 0.3)
    everything = enumerate_partitions(before, 3, limit, allow_empty=False)
    drawn = sample_partitions(before, 3, limit, False, 20_000, np.random.default_rng(5))
    number = {tuple(row): index for index, row in enumerate(everything.tolist())}
    hits = np.bincount([number[tuple(row)] for row in drawn.tolist()], minlength=len(everything))
    expected = 20_000 / len(everything)
    assert ((hits - expected) ** 2 / expected).sum() < len(everything) + 5 * np.sqrt(2 * len(everything))
    huge = np.arange(1001.0)
    rows = sample_partitions(huge, 100, 40.0, True, 50, np.random.default_rng(6)).astype(int)
    assert (np.diff(rows, axis=1) >= 0).all()
    assert np.diff(rows, axis=1).max() <= 40
    again = sample_partitions(huge, 100, 40.0, True, 50, np.random.default_rng(6))
    assert (rows == again).all()
    assert sample_partitions(huge, 2, 40.0, True, 50, np.random.default_rng(6)).shape == (0, 3)


def test_best_replies_are_those_of_a_full_scan() -> None:
    """Whatever the values, the incumbents and the order of the rows; ties go to the lowest number."""
    for generator, tasks, nodes, others, limit, allow_empty in small_classes(1500, 2):
        partitions = enumerate_partitions(tasks.work_before, nodes, tasks.work_before[-1] + 1, allow_empty)
        responses = enumerate_partitions(tasks.work_before, others, limit, allow_empty)
        if not len(partitions):
            continue
        count = len(responses)
        kinds = [np.zeros(count), generator.integers(0, 4, count).astype(float), 3 * generator.random(count)]
        values = kinds[generator.integers(3)]
        if generator.random() < 0.3:
            values[generator.random(count) < 0.5] = np.inf
        trie = Trie.of(tasks.work_before, others, limit, allow_empty)
        rows = colexicographic(partitions) if generator.integers(2) else generator.permutation(len(partitions))
        incumbents = generator.integers(-1, count, len(partitions)) if count else np.full(len(partitions), -1)
        found, chosen = np.empty(len(partitions)), np.empty(len(partitions), np.int64)
        best_responses(trie, prepare_values(trie, values), tasks.state_before, partitions, rows, incumbents, found, chosen)
        for row, partition in enumerate(partitions.astype(int)):
            total = tasks.state_before[-1]
            scan = values + [total - plain_gain(tasks.state_before, partition, response) for response in responses.astype(int)]
            least = scan.min(initial=np.inf)
            assert found[row] == least or abs(found[row] - least) < 1e-9
            assert chosen[row] == (np.flatnonzero(scan <= least + 1e-9)[0] if least < np.inf else -1)


@pytest.mark.parametrize("tasks", [32_767, 32_768])
def test_as_many_tasks_as_boundaries_of_16_bits_can_number(tasks: int) -> None:
    """Two nodes, each with little more than half of all tasks: the partition that is held is its own best response."""
    before = np.arange(tasks + 1.0)
    limit = (tasks + 1) // 2 + 1.0
    partitions = enumerate_partitions(before, 2, limit, allow_empty=False)
    trie, count = Trie.of(before, 2, limit, allow_empty=False), len(partitions)
    found, chosen = np.empty(count), np.empty(count, np.int64)
    rows, incumbents = np.arange(count), np.full(count, -1)
    best_responses(trie, prepare_values(trie, np.zeros(count)), before, partitions, rows, incumbents, found, chosen)
    assert count > 1
    assert (partitions.dtype.itemsize, partitions[0, -1]) == (2 if tasks == 32_767 else 4, tasks)
    assert (chosen.tolist(), found.tolist()) == (list(range(count)), [0.0] * count)


def test_forbidding_intervals_leaves_the_partitions_without_them() -> None:
    for generator, tasks, _, nodes, limit, allow_empty in small_classes(600, 7):
        trie = Trie.of(tasks.work_before, nodes, limit, allow_empty)
        if trie.count == 0:
            continue
        allowed = generator.random(trie.arc_target.size) < 0.7
        kept = allowed[_native.path_arcs(trie, np.arange(trie.count))].all(axis=1)
        smaller, arcs = without_arcs(trie, allowed)
        assert allowed[arcs].all()
        assert count_paths(smaller) == kept.sum()
        if kept.any():
            again = numbered_trie(smaller)
            assert list_partitions(again).tolist() == list_partitions(trie)[kept].tolist()
            assert again.count == kept.sum()
            paths = arcs[_native.path_arcs(again, np.arange(again.count))]
            assert paths.tolist() == _native.path_arcs(trie, np.flatnonzero(kept)).tolist()
