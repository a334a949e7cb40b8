"""Patterns at given prices: the best of all, bounds that hold however few labels go on, and what some operators alone tell."""

from itertools import product

import numpy as np
import pytest

from edrp.core.budget import deadline, now
from edrp.core.errors import OutOfTimeError
from edrp.core.methods import Options
from edrp.formulations.placement.fixed_tasks import pattern_program as pricing
from edrp.formulations.placement.fixed_tasks.method import PeakInterval, first_counts
from edrp.formulations.placement.fixed_tasks.pattern_program import Pricing
from edrp.placement.fixed_tasks import FixedTasks, LoadArrays

WIDE = 100_000
"""Labels of which none of these problems has more."""


def drawn(seed: int, operators: int = 5, cyclic: bool = True) -> FixedTasks:
    """Random tasks with slots and two shared resources, one of which streams use."""
    random = np.random.default_rng(seed)
    pairs = [(i, j) for i in range(operators) for j in range(i + 1, operators) if random.random() < (0.5 if cyclic else 0.2)]
    source, target = np.array(pairs, np.int64).reshape(-1, 2).T
    arrays = LoadArrays(
        totals=random.integers(1, 5, operators),
        demand=random.choice([1.0, 1.0, 1.0, 2.0], (operators, 1)) if seed % 2 else random.random((operators, 1)),
        use=np.stack([random.random(operators) * (random.random(operators) < 0.7), np.zeros(operators)], axis=1),
        source=np.ascontiguousarray(source),
        target=np.ascontiguousarray(target),
        one_to_one=random.random(source.size) < 0.3,
        sent=np.stack([np.zeros(source.size), random.random(source.size)], axis=1),
    )
    return FixedTasks(arrays, np.array([4.0 if seed % 2 else 1.7]), 4)


def every_pattern(tasks: FixedTasks, limits: np.ndarray) -> np.ndarray:
    patterns = np.array(list(product(*(range(total + 1) for total in tasks.arrays.totals))))
    fitting = (patterns @ tasks.arrays.demand <= tasks.room * (1 + 1e-9)).all(axis=1)
    return patterns[fitting & (tasks.loads(patterns) <= limits * (1 + 1e-9)).all(axis=1)]


@pytest.mark.parametrize("units", [64, 5, 0])
@pytest.mark.parametrize("seed", range(20))
def test_the_best_pattern_is_that_of_an_enumeration(seed, units, monkeypatch):
    monkeypatch.setattr(pricing, "MAX_UNITS", units)
    tasks, random = drawn(seed), np.random.default_rng([seed, 1])
    limits = np.array([random.choice([np.inf, 1.5]), random.choice([np.inf, 0.6])])
    patterns = every_pattern(tasks, limits)
    prices, weights = -random.random(tasks.operators), random.random(2)
    costs = patterns @ prices + tasks.loads(patterns) @ weights
    found, bound = Pricing(tasks, limits).best(prices, weights, np.inf, WIDE)
    assert bound == pytest.approx(costs.min(), abs=1e-9)
    assert found[-1] @ prices + tasks.loads(found[-1:])[0] @ weights == pytest.approx(costs.min(), abs=1e-9)
    assert {tuple(pattern) for pattern in found.tolist()} <= {tuple(pattern) for pattern in patterns.tolist()}


@pytest.mark.parametrize("width", [1, 2, 6, 20])
@pytest.mark.parametrize("seed", range(12))
def test_few_labels_give_a_lower_bound(seed, width):
    tasks, random = drawn(seed, cyclic=seed % 3 == 0), np.random.default_rng([seed, 2])
    limits = np.array([1.5, 0.6])
    patterns = every_pattern(tasks, limits)
    prices, weights = -random.random(tasks.operators), random.random(2)
    costs = patterns @ prices + tasks.loads(patterns) @ weights
    search = Pricing(tasks, limits)
    for cutoff in (np.inf, float(np.quantile(costs, 0.01)), float(costs.min()) - 0.1):
        found, bound = search.best(prices, weights, cutoff, width)
        assert bound <= costs.min() + 1e-9
        assert (found @ prices + tasks.loads(found) @ weights < cutoff).all()


def test_the_clock_is_looked_at_between_parts_of_a_search(monkeypatch):
    """Wherever a search is divided it finds the same, and a limit ends it there."""
    tasks, looks = drawn(1), []
    limits, prices, weights = np.full(2, np.inf), -np.ones(tasks.operators), np.ones(2)
    whole, bound = Pricing(tasks, limits).best(prices, weights, np.inf, WIDE)
    monkeypatch.setattr(pricing, "LABELS_PER_CALL", 1)
    monkeypatch.setattr(pricing, "look", looks.append)
    found, same = Pricing(tasks, limits).best(prices, weights, np.inf, WIDE)
    assert len(looks) == tasks.operators - 1
    assert (found.tolist(), same) == (whole.tolist(), bound)
    monkeypatch.undo()
    monkeypatch.setattr(pricing, "LABELS_PER_CALL", 1)
    with deadline(now() - 1), pytest.raises(OutOfTimeError):
        Pricing(tasks, limits).best(prices, weights, np.inf, WIDE)


@pytest.mark.parametrize("seed", [0, 3, 7, 8, 12, 15])  # whose tasks fit
def test_some_operators_alone_have_no_larger_peak(seed):
    """What all together reach is never below what the users of a resource need without the others."""
    tasks = drawn(seed)
    users = tasks.users([0])
    assert (tasks.arrays.use[users, 0] > 0).all()
    limits = np.full(2, np.inf)
    whole, alone = PeakInterval(tasks, [0], limits, Options()), PeakInterval(tasks.restricted_to(users), [0], limits, Options())
    whole.run()
    alone.run()
    assert alone.value <= whole.value * (1 + 1e-9)
    assert np.allclose(tasks.restricted_to(users).loads(whole.counts[:, users])[:, 0], tasks.loads(whole.counts)[:, 0])


def test_users_of_what_streams_carry_are_at_both_ends():
    tasks = drawn(4)
    assert set(tasks.users([1])) == set(tasks.arrays.source) | set(tasks.arrays.target)


def test_tasks_that_have_their_places_keep_them():
    """The next one would go to the empty first node."""
    tasks = drawn(3)
    assert first_counts(tasks)[3, 0] == 0
    placed = np.zeros((tasks.nodes, tasks.operators), np.int64)
    placed[3, 0] = 1
    counts = first_counts(tasks, placed)
    assert counts[3, 0] >= 1
    assert (counts.sum(axis=0) == tasks.arrays.totals).all()
    assert (counts @ tasks.arrays.demand <= tasks.room * (1 + 1e-9)).all()
