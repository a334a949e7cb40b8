"""Plan mechanics: roles of tasks, traffic between nodes, and transfer schedules as short as can be."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edrp.core.arrays import Floats
from edrp.core.errors import InvalidInstanceError
from edrp.mdp.transfer.schedules import TransferSchedule, nodes_of_tasks, roles, schedule_transfers, traffic_between, traffic_of
from edrp.migration.intervals import moves_between


def random_traffic(generator: np.random.Generator) -> Floats:
    """Between 1 and 12 nodes, sparse or dense, sizes even, skewed, whole or tiny next to huge."""
    nodes = int(generator.integers(1, 13))
    sizes = [
        generator.random((nodes, nodes)),
        generator.pareto(1.0, (nodes, nodes)),
        generator.integers(1, 6, (nodes, nodes)).astype(float),
        10.0 ** generator.uniform(-9, 12, (nodes, nodes)),
    ][generator.integers(4)]
    sizes[generator.random((nodes, nodes)) > generator.choice([0.1, 0.4, 1.0])] = 0
    np.fill_diagonal(sizes, 0)
    return sizes


def random_links(generator: np.random.Generator, nodes: int) -> tuple[Floats, Floats]:
    """Equal links, or links that differ tenfold."""
    if generator.random() < 0.5:
        return np.full(nodes, 125e6), np.full(nodes, 125e6)
    return 10.0 ** generator.uniform(7, 8, nodes), 10.0 ** generator.uniform(7, 8, nodes)


def check(schedule: TransferSchedule, traffic: Floats, up: Floats, down: Floats) -> None:
    """Everything arrives, no node is used twice in a phase, no link is overdriven, phases follow each other without a gap."""
    delivered = np.zeros_like(traffic)
    clock = 0.0
    tick = schedule.total_seconds * 1e-14
    for phase in schedule.phases:
        assert phase.start == pytest.approx(clock, rel=1e-12, abs=tick)
        assert phase.duration > 0
        clock = phase.start + phase.duration
        senders = [transfer.source for transfer in phase.transfers]
        receivers = [transfer.target for transfer in phase.transfers]
        assert len(set(senders)) == len(senders)
        assert len(set(receivers)) == len(receivers)
        for transfer in phase.transfers:
            rate = min(up[transfer.source], down[transfer.target])
            assert transfer.size <= rate * (phase.duration + tick) * (1 + 1e-9)
            delivered[transfer.source, transfer.target] += transfer.size
    assert clock == pytest.approx(schedule.total_seconds, rel=1e-12)
    np.testing.assert_allclose(delivered, traffic, rtol=1e-12)
    assert not delivered[traffic == 0].any()


def test_a_thousand_random_plans_take_as_long_as_the_bound() -> None:
    """Total time = largest row or column sum of the transfer times."""
    generator = np.random.default_rng(20)
    for _ in range(1000):
        traffic = random_traffic(generator)
        up, down = random_links(generator, len(traffic))
        schedule = schedule_transfers(traffic, up, down)
        seconds = traffic / np.minimum(up[:, None], down[None, :])
        bound = max(seconds.sum(axis=0).max(), seconds.sum(axis=1).max())
        assert schedule.bound_seconds == pytest.approx(bound, rel=1e-12)
        assert schedule.total_seconds == pytest.approx(bound, rel=1e-12)
        assert schedule.fluid_seconds <= bound * (1 + 1e-12)
        assert len(schedule.phases) <= np.count_nonzero(traffic) + 2 * len(traffic)
        check(schedule, traffic, up, down)


@settings(max_examples=50)
@given(st.integers(0, 2**32 - 1))
def test_shared_links_take_the_fluid_time(seed: int) -> None:
    """All transfers at once; no link carries more than its bandwidth, and one of them is full throughout."""
    generator = np.random.default_rng(seed)
    traffic = random_traffic(generator)
    up, down = random_links(generator, len(traffic))
    schedule = schedule_transfers(traffic, up, down, exclusive=False)
    if not traffic.any():
        assert schedule.phases == ()
        return
    (phase,) = schedule.phases
    rates = np.zeros_like(traffic)
    for transfer in phase.transfers:
        rates[transfer.source, transfer.target] = transfer.size / phase.duration
    load = np.concatenate([rates.sum(axis=1) / up, rates.sum(axis=0) / down])
    assert load.max() == pytest.approx(1, rel=1e-12)
    np.testing.assert_allclose(rates * schedule.total_seconds, traffic, rtol=1e-12)
    assert schedule.total_seconds <= schedule_transfers(traffic, up, down).total_seconds * (1 + 1e-12)


def test_nothing_to_send_takes_no_time() -> None:
    for nodes in (0, 3):
        schedule = schedule_transfers(np.zeros((nodes, nodes)), 1.0)
        assert schedule == ((), 0.0, 0.0, 0.0)
        assert schedule.to_rows() == []


def test_whole_seconds_stay_whole() -> None:
    """Numbers that a reader can check by hand: node 0 sends 4 + 2 and receives 3."""
    schedule = schedule_transfers([[0, 4, 2], [3, 0, 1], [0, 0, 0]], 1.0)
    rows = schedule.to_rows()
    assert all(value == round(value) for row in rows for value in row.values())
    assert sum(row["size"] for row in rows if row["source"] == 1) == 4.0


def test_roles_follow_from_two_assignments() -> None:
    """A task of a removed node only moves out there; a new node has only arrivals."""
    before = nodes_of_tasks([(0, 3), (3, 6)], 6)
    after = nodes_of_tasks([None, (2, 6), (0, 2)], 6)
    gone, kept, new = roles(before, after)
    assert [tasks.tolist() for tasks in gone] == [[], [0, 1, 2], []]
    assert [tasks.tolist() for tasks in kept] == [[3, 4, 5], [], [2]]
    assert [tasks.tolist() for tasks in new] == [[], [], [0, 1]]
    assert len(roles(before, after, nodes=5)) == 5


@given(st.integers(0, 2**32 - 1))
def test_roles_and_traffic_account_for_every_task(seed: int) -> None:
    generator = np.random.default_rng(seed)
    tasks = int(generator.integers(1, 20))
    size = generator.random(tasks)
    plans = []
    for _ in range(2):
        nodes = int(generator.integers(1, 6))
        cuts = np.concatenate([[0], np.sort(generator.integers(0, tasks + 1, nodes - 1)), [tasks]])
        plans.append([(int(a), int(b)) for a, b in generator.permutation(np.stack([cuts[:-1], cuts[1:]], axis=1))])
    before, after = (nodes_of_tasks(plan, tasks) for plan in plans)
    count = max(map(len, plans))
    traffic = traffic_between(before, after, size, nodes=count)
    np.testing.assert_allclose(traffic_of(moves_between(*plans, size.tolist()), nodes=count), traffic, rtol=1e-12)
    for node, role in enumerate(roles(before, after, nodes=count)):
        assert size[role.to_move_out].sum() == pytest.approx(traffic[node].sum())
        assert size[role.to_move_in].sum() == pytest.approx(traffic[:, node].sum())
        np.testing.assert_array_equal(np.union1d(role.to_stay, role.to_move_out), np.flatnonzero(before == node))


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (([[0, -1], [0, 0]], 1.0), r"traffic\[0\]\[1\]: must be a finite number of bytes, at least 0 \(got -1.0\)"),
        (([[0, np.nan], [0, 0]], 1.0), r"traffic\[0\]\[1\]"),
        (([[3, 1], [0, 0]], 1.0), r"traffic\[0\]\[0\]: a node sends nothing to itself"),
        (([0, 1], 1.0), "traffic: must have one row and one column per node"),
        (([[0, 1], [0, 0]], 0.0), "uplink: must be a finite number of bytes per second above 0"),
        (([[0, 1], [0, 0]], [1.0, 2.0], [1.0, -2.0]), r"downlink\[1\]: must be a finite number"),
        (([[0, 1], [0, 0]], [1.0, 2.0, 3.0]), "uplink: must be one number, or one for each of the 2 nodes"),
    ],
)
def test_bad_traffic_and_links_are_refused(arguments: tuple[object, ...], words: str) -> None:
    with pytest.raises(InvalidInstanceError, match=words):
        schedule_transfers(*arguments)


def test_assignments_that_miss_tasks_are_refused() -> None:
    with pytest.raises(
        InvalidInstanceError,
        match=r"assignment: some tasks are held by no node; it must hold each task once \(got tasks 2 to 3\)",
    ):
        nodes_of_tasks([(0, 2), (4, 5)], 5)
