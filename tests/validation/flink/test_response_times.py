"""What measures response times after migrations, without a cluster: cells, plans, moves and delays."""

from itertools import pairwise

import numpy as np
import pytest

from edrp.engines.flink.migrating.discovery import (
    CheckpointSettings,
    ControlState,
    InstalledStep,
    LiveJob,
    LiveOperator,
    TaskLoad,
)
from edrp.mdp.chain.transition_matrix import TransitionMatrix
from edrp.migration.intervals import load_limit
from edrp.validation.flink import response_times
from edrp.validation.flink.lab.patterns import PatternChange, PatternSettings
from edrp.validation.flink.response_times import (
    MAX_MIGRATIONS,
    Loads,
    Migration,
    ResponseSettings,
    TypicalPlans,
    cells,
    flight_course,
    measure,
    measured_loads,
    response_row,
    task_moves,
)
from edrp.validation.flink.task_paths import (
    HASHING,
    METHODS,
    MTM,
    SINGLE_STEP,
    STORM,
    allowed_pace,
    moved_share,
    placed,
    task_paths,
    typical_migration,
)

TOLERANCE = 0.2


@pytest.fixture(scope="module")
def load():
    rng = np.random.default_rng(0)
    return rng.uniform(1, 3, 16), rng.uniform(1, 2, 16)


COURSE = [3, 5, 4, 5, 4, 3, 5, 4, 5, 4, 3]
TRANSITIONS = TransitionMatrix([3, 4, 5], [[0, 0, 1], [0.5, 0, 0.5], [0, 1, 0]])


@pytest.fixture(scope="module")
def paths(load):
    return COURSE, task_paths(*load, COURSE, TRANSITIONS, TOLERANCE, 0.8, seed=0)


def test_every_method_uses_as_many_workers_as_there_are_nodes(paths):
    counts, of_method = paths
    assert set(of_method) == set(METHODS)
    for method in (SINGLE_STEP, MTM, STORM):
        assert [np.unique(workers).size for workers in of_method[method]] == counts
    assert [int(workers.max()) < nodes for workers, nodes in zip(of_method[HASHING], counts, strict=True)] == [True] * len(counts)


def test_planned_paths_keep_the_load_limit_and_an_even_split_does_not(load, paths):
    work, _ = load
    counts, of_method = paths

    def excess(method):
        ends = zip(of_method[method][1:], counts[1:], strict=True)
        return max(np.bincount(workers, work).max() - load_limit(work.sum(), nodes, TOLERANCE) for workers, nodes in ends)

    assert max(excess(SINGLE_STEP), excess(MTM)) <= 1e-9
    assert excess(HASHING) > 0


def test_looking_ahead_moves_less_than_single_steps_and_these_less_than_rules(load, paths):
    _, size = load
    moved = {name: sum(moved_share(a, b, size) for a, b in pairwise(path)) for name, path in paths[1].items()}
    assert moved[MTM] < moved[SINGLE_STEP] < min(moved[HASHING], moved[STORM])


def test_migrations_of_typical_costs_come_first_and_each_comes_once(load, paths):
    _, size = load
    order = [typical_migration(paths[1], size, rank) for rank in range(10)]
    assert sorted(order) == list(range(10))
    shares = [[moved_share(a, b, size) for a, b in pairwise(path)] for path in paths[1].values()]
    off = [sum(abs(share[at] * len(share) / sum(share) - 1) for share in shares) for at in range(10)]
    assert off[order[0]] == pytest.approx(min(off))
    assert off[order[-1]] == pytest.approx(max(off))


def test_groups_go_where_their_state_is_and_new_ones_to_workers_without_tasks():
    before = np.array([4, 4, 4, 1, 1, 1])
    assert placed(before, np.array([0, 0, 0, 1, 1, 1]), np.ones(6)).tolist() == before.tolist()
    assert placed(before, np.array([0, 0, 1, 1, 2, 2]), np.ones(6)).tolist() == [4, 4, 0, 0, 1, 1]
    assert placed(before, np.zeros(6, np.int64), np.array([1, 1, 1, 1, 1, 2])).tolist() == [1] * 6


@pytest.mark.parametrize(
    ("before", "after", "pace"),
    [([0, 0, 1], [2, 2, 1], 8.0), ([0, 1, 2], [3, 3, 3], 8 / 3), ([0, 0, 0], [1, 2, 3], 8.0), ([0, 1], [0, 1], 8.0)],
)
def test_neither_senders_nor_receivers_have_more_than_their_link(before, after, pace):
    assert allowed_pace(np.array(before), np.array(after), np.ones(len(before)), 8.0) == pytest.approx(pace)


def test_cells_cover_all_ways_in_turned_order_and_what_is_done_is_left_out():
    settings = ResponseSettings(windows=(30.0, 60.0))
    every = cells(settings, 2)
    assert len(set(every)) == len(every) == 2 * 2 * 7
    assert every[0][2:] not in (every[7][2:], every[14][2:])  # neither windows nor rounds start with the same method
    assert [cell.mode for cell in every if cell.method == STORM] == ["restart"] * 4
    assert every[:14] == cells(settings, 1)
    assert list(measure(settings, 2, every, print)) == []  # starts no cluster


def test_a_course_of_departures_changes_the_number_of_nodes_each_time():
    course, transitions = flight_course()
    assert len(course) == MAX_MIGRATIONS + 1
    assert all(a != b for a, b in pairwise(course))
    assert set(course) <= set(transitions.node_counts.tolist()) == {3, 4, 5, 6}


def test_a_round_has_one_plan_for_all_its_windows_and_each_round_another(load, monkeypatch):
    monkeypatch.setattr(response_times, "flight_course", lambda: (COURSE, TRANSITIONS))
    plans = TypicalPlans(ResponseSettings())
    first = plans.of_round(0, Loads(*load))
    assert plans.of_round(0, Loads(load[0][::-1], load[1])) is first
    assert plans.of_round(1, Loads(*load)).migration != first.migration
    for before, after in (first.ends[method] for method in (SINGLE_STEP, MTM, STORM)):
        assert [np.unique(before).size, np.unique(after).size] == first.nodes


def test_moves_are_of_both_operators_and_lead_to_key_groups_of_the_new_worker():
    settings = PatternSettings(tasks=4, groups=8, workers=2, used=1)
    moves = task_moves(settings, np.array([0, 0, 0, 0]), np.array([0, 1, 0, 1]))
    assert [(move.operator, move.task, move.source, move.target) for move in moves] == [
        *[("detector", 1, 1, 5), ("detector", 3, 3, 7)],
        *[("maximal", 1, 1, 5), ("maximal", 3, 3, 7)],
    ]


def job(loads):
    """A job whose operators have loads by task."""
    operators = {name: LiveOperator(name, 3, 8, ("a",), (0, 1, 2), of_task) for name, of_task in loads.items()}
    checkpoints = CheckpointSettings(5.0, True, False, True)
    return LiveJob("1", "live", "file:///log", ControlState(0, None, {}), operators, checkpoints, 100.0)


def test_loads_are_those_between_two_observations_over_both_operators():
    before = job({"detector": {0: TaskLoad(1, 10, 100, 1)}, "maximal": {0: TaskLoad(1, 5, 50, 1)}})
    after = job({"detector": {0: TaskLoad(5, 40, 120, 2)}, "maximal": {0: TaskLoad(9, 6, 60, 1)}})
    found = measured_loads(before, after, 2.0, 3)
    assert found.work.tolist() == [31, 0, 0]
    assert found.size.tolist() == [180, 0, 0]


def test_delays_count_what_is_due_within_the_time_however_late_it_arrives():
    due = [900, 1000, 1999, 2000]
    results = [PatternChange(at + delay, at, 1, 1, 1) for at, delay in zip(due, (7, 500, 9000, 1), strict=True)]
    row = response_row(results, 1000, 1.0)
    assert (row["results"], row["mean"], row["max"], row["quiet"]) == (2, 4750.0, 9000, 7.0)
    assert row["silence"] == pytest.approx((1999 + 9000 - 1500) / 1000)


def test_rows_of_moves_and_of_restarts_have_the_same_fields():
    found = response_times._row(Migration(0, 30.0, MTM, "live"), {}, {"mean": 1.0}, 0.1, InstalledStep(1.0, 2, 3, 4.0, 0))
    restart = response_times._row(Migration(0, 30.0, STORM, "restart"), {}, {"mean": 1.0}, 0.1, None, 2.5)
    assert found.keys() == restart.keys()
    assert (found["moved_bytes"], found["link_seconds"], restart["moved_bytes"], restart["link_seconds"]) == (2, None, None, 2.5)


def test_windows_are_scaled_as_time_is():
    settings = ResponseSettings(seconds=12.0, rate=50.0)
    assert [settings.tweets(window) for window in (30, 120)] == [150, 600]
    assert Migration(0, 30.0, MTM, "live") in cells(ResponseSettings(), 1)
