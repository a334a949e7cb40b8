"""Orders of moves: the same tasks in each, in steps that keep what they promise."""

from collections import Counter

import numpy as np
import pytest

from edrp.validation.flink.live.orders import (
    BATCH,
    MAX_SUBSCALES,
    MIN_SUBSCALE,
    ORDERS,
    TaskTransfer,
    even_ranges,
    greedy,
    subscales,
    task_transfers,
)


def drawn(seed: int) -> tuple[list[TaskTransfer], list[int]]:
    """What moves between random assignments of 120 tasks to six workers of which two are new, and tasks held before."""
    random = np.random.default_rng(seed)
    before, after = random.integers(0, 4, 120).tolist(), random.integers(0, 6, 120).tolist()
    size, work = random.uniform(1.0, 9.0, 120).tolist(), random.uniform(0.0, 1.0, 120).tolist()
    held = Counter(before)
    return task_transfers(before, after, size, work), [held[worker] for worker in range(6)]


@pytest.mark.parametrize("name", ORDERS)
@pytest.mark.parametrize("seed", range(5))
def test_every_order_moves_the_same_tasks_and_each_once(name, seed):
    transfers, held = drawn(seed)
    steps = ORDERS[name](transfers, held)
    assert all(steps)
    assert sorted(transfer for step in steps for transfer in step) == sorted(transfers)
    assert ORDERS[name]([], held) == []


def test_one_task_comes_to_a_worker_in_a_planned_step_and_steps_are_as_few_as_can_be():
    transfers, held = drawn(1)
    steps = ORDERS["planned"](transfers, held)
    assert all(max(Counter(transfer.target for transfer in step).values()) == 1 for step in steps)
    assert len(steps) == max(Counter(transfer.target for transfer in transfers).values())


def test_megaphones_orders_differ_in_how_many_tasks_move_at_once():
    transfers, held = drawn(2)
    assert ORDERS["sudden"](transfers, held) == [transfers]
    assert {len(step) for step in ORDERS["fluid"](transfers, held)} == {1}
    *whole, last = map(len, ORDERS["batched"](transfers, held))
    assert set(whole) == {BATCH}
    assert last <= BATCH


def test_subscales_have_few_tasks_of_one_pair_and_no_rest_of_its_own():
    transfers = [TaskTransfer(task, 0, 1 if task < 16 else 2, 1.0, 1.0) for task in range(21)]
    parts = subscales(transfers)
    assert [len(part) for part in parts[0, 1]] == [8, 8]  # not 7, 7 and 2
    assert [len(part) for part in parts[0, 2]] == [5]
    assert min(map(len, parts[0, 1])) >= MIN_SUBSCALE


def test_the_worker_with_the_fewest_tasks_is_served_first_in_the_greedy_order():
    new = [TaskTransfer(task, 0, 2, 1.0, 1.0) for task in range(20, 40)]
    old = [TaskTransfer(task, 0, 1, 1.0, 1.0) for task in range(20)]
    steps = greedy([*old, *new], [60, 30, 0])
    assert {transfer.target for transfer in steps[0]} == {2}
    assert len(steps[0]) == 20  # worker 0 takes part in two subscales
    assert {transfer.target for transfer in steps[1]} == {1}


@pytest.mark.parametrize("seed", range(5))
def test_a_worker_takes_part_in_two_subscales_at_most(seed):
    transfers, held = drawn(seed)
    parts = {
        transfer.task: part
        for pair, listed in subscales(transfers).items()
        for i, p in enumerate(listed)
        for part in [(pair, i)]
        for transfer in p
    }
    for step in greedy(transfers, held):
        busy = Counter(end for pair, _ in {parts[transfer.task] for transfer in step} for end in pair)
        assert max(busy.values()) <= MAX_SUBSCALES


def test_even_ranges_are_those_of_flinks_key_groups():
    workers = even_ranges(128, 12)
    assert workers == sorted(workers)
    assert set(Counter(workers).values()) == {10, 11}
