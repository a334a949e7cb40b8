"""Mini-migrations: few move-ins per node and step, the fewest steps, and every step as even as the others."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edrp.core.arrays import Floats, Ints
from edrp.core.errors import InvalidInstanceError
from edrp.mdp.transfer.migration_plan import mini_migrations, node_loads
from edrp.mdp.transfer.schedules import roles, traffic_between


def random_plan(seed: int) -> tuple[Ints, Ints, Floats, Floats, int]:
    """Two assignments of up to 60 tasks to up to 8 nodes, sizes (some zero), work, and a limit of move-ins."""
    generator = np.random.default_rng(seed)
    tasks, nodes = int(generator.integers(1, 60)), int(generator.integers(1, 9))
    before, after = generator.integers(0, nodes, (2, tasks))
    size = np.floor(generator.pareto(1.0, tasks) * 3)
    return before, after, size, generator.random(tasks), int(generator.integers(1, 6))


def move_ins(before: Ints, after: Ints, nodes: int) -> Ints:
    return np.bincount(after[before != after], minlength=nodes)


@settings(max_examples=300)
@given(st.integers(0, 2**32 - 1), st.booleans())
def test_steps_are_fewest_limited_and_even(seed: int, in_order: bool) -> None:
    before, after, size, work, most = random_plan(seed)
    path = mini_migrations(before, after, most, size, work if in_order else None)
    nodes = int(max(before.max(), after.max())) + 1
    np.testing.assert_array_equal(path[0], before)
    np.testing.assert_array_equal(path[-1], after)
    assert len(path) - 1 == -(-move_ins(before, after, nodes).max() // most)
    assert (np.count_nonzero(path[:-1] != path[1:], axis=0) == (before != after)).all()
    if len(path) == 1:
        return
    coming = np.stack([move_ins(a, b, nodes) for a, b in pairwise(path)])
    leaving = np.stack([move_ins(b, a, nodes) for a, b in pairwise(path)])
    assert coming.max() <= most
    assert (np.ptp(coming, axis=0) <= 1).all()
    assert (np.ptp(leaving, axis=0) <= 1).all()
    traffic = np.stack([traffic_between(a, b, size, nodes) for a, b in pairwise(path)])
    for node, role in enumerate(roles(before, after, nodes)):
        assert np.ptp(traffic[:, :, node].sum(axis=1)) <= size[role.to_move_in].max(initial=0) + 1e-9
        assert np.ptp(traffic[:, node, :].sum(axis=1)) <= size[role.to_move_out].max(initial=0) + 1e-9


def test_order_by_work_lowers_the_peak() -> None:
    """Over random plans, the most that any node has beyond its work before and after is smaller on average."""

    def excess(path: Ints, work: Floats) -> float:
        held = node_loads(path, work, 8)
        return float((held - np.maximum(held[0], held[-1])).max())

    plain, ordered = [], []
    for seed in range(200):
        before, after, size, work, _ = random_plan(seed)
        plain.append(excess(mini_migrations(before, after, 1, size), work))
        ordered.append(excess(mini_migrations(before, after, 1, size, work), work))
    assert np.mean(ordered) < 0.8 * np.mean(plain)


def test_nothing_to_move_takes_no_step() -> None:
    assert mini_migrations([0, 1], [0, 1], 3, [1.0, 1.0]).tolist() == [[0, 1]]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (([0, 1], [0], 1, [1.0, 1.0]), "after: must be a flat list with one entry for each of the 2 tasks"),
        (([0, 1], [1, 0], 1, [1.0]), "state_size: must be a flat list"),
        (([0, 1], [1, 0], 1, [1.0, 1.0], [1.0]), "work: must be a flat list"),
        (([0, 1], [1, 0], 0, [1.0, 1.0]), "max_move_ins: must be at least 1"),
    ],
)
def test_bad_plans_are_refused(arguments: tuple[object, ...], words: str) -> None:
    with pytest.raises(InvalidInstanceError, match=words):
        mini_migrations(*arguments)
