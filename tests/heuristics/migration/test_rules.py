"""Rules in use today: what each promises, what it costs, and when it breaks the load limit."""

from itertools import combinations, pairwise, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment

from edrp.core.methods import Options
from edrp.core.solve import checked
from edrp.heuristics.migration import node_change
from edrp.heuristics.migration.methods import METHODS
from edrp.heuristics.migration.node_change import (
    NEW_NODE,
    BalancedPacking,
    ConsistentHashing,
    EvenSplit,
    NodeCountChange,
    Reassignment,
    ReassignmentRule,
    Sticky,
    StickyByWork,
    least_largest_load,
    new_point,
    reassignment_outcome,
    ring_assignment,
)
from edrp.mdp.partitions import OldNodes, Tasks
from edrp.mdp.single_step.ssm import best_migration
from edrp.migration.intervals import Assignment, load_limit
from edrp.migration.single_step import MigrationProblem

RULES: tuple[ReassignmentRule, ...] = (
    ConsistentHashing(),
    EvenSplit(),
    EvenSplit(matching=True),
    BalancedPacking(),
    BalancedPacking(allow_empty=False),
    Sticky(),
    StickyByWork(),
)
CONTIGUOUS = RULES[1:5]
BY_NAME = {method.name: method for method in METHODS}


def random_change(seed: int, *, contiguous: bool = False) -> NodeCountChange:
    """Up to 40 tasks and 8 nodes, loads even or skewed, some zero."""
    generator = np.random.default_rng(seed)
    tasks, before, after = int(generator.integers(1, 41)), int(generator.integers(1, 9)), int(generator.integers(1, 9))
    held = generator.integers(0, before, tasks)
    work, size = generator.pareto(1.5, tasks), generator.integers(0, 9, tasks).astype(float)
    work[generator.random(tasks) < 0.1] = 0
    tolerance = float(generator.choice([0.0, 0.2, 0.5, 1.2]))
    return NodeCountChange(np.sort(held) if contiguous else held, before, after, work, size, tolerance)


def as_problem(change: NodeCountChange, allow_empty: bool = True) -> MigrationProblem:
    ends = np.searchsorted(change.node_of_task, np.arange(change.nodes_before + 1)).tolist()
    return MigrationProblem(
        work=change.work.tolist(),
        state_size=change.state_size.tolist(),
        intervals=list(pairwise(ends)),
        nodes=change.nodes_after,
        tolerance=change.tolerance,
        allow_empty=allow_empty,
    )


def least_moved(change: NodeCountChange, allow_empty: bool = True) -> float | None:
    """State that SSM moves; None where no intervals keep to the limit."""
    problem = as_problem(change)
    found = best_migration(
        Tasks.of(change.work, change.state_size),
        OldNodes.of(problem.intervals),
        change.nodes_before,
        change.nodes_after,
        change.tolerance,
        allow_empty,
    )
    return None if found is None else float(change.state_size.sum()) - found[0]


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: repr(rule))
@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 2**32 - 1))
def test_every_rule_gives_every_task_to_a_node_that_exists(rule: ReassignmentRule, seed: int) -> None:
    """Old nodes survive at most once, none is invented, and as many survive as can."""
    change = random_change(seed)
    answer = rule(change)
    assert answer.node_of_task.shape == change.work.shape
    assert ((answer.node_of_task >= 0) & (answer.node_of_task < change.nodes_after)).all()
    survivors = answer.former[answer.former >= 0]
    assert answer.former.shape == (change.nodes_after,)
    assert len(set(survivors.tolist())) == survivors.size == min(change.nodes_before, change.nodes_after)
    assert survivors.max() < change.nodes_before
    begun = rule.initial(change.work, change.nodes_before)
    assert ((begun >= 0) & (begun < change.nodes_before)).all()
    again = rule(change)
    np.testing.assert_array_equal(again.node_of_task, answer.node_of_task)


@pytest.mark.parametrize("rule", CONTIGUOUS, ids=lambda rule: repr(rule))
def test_contiguous_rules_never_beat_ssm(rule: ReassignmentRule) -> None:
    """SSM moves the least of all that keep intervals and limit."""
    allow_empty = not isinstance(rule, BalancedPacking) or rule.allow_empty
    compared = 0
    for seed in range(300):
        change = random_change(seed, contiguous=True)
        answer = rule(change)
        assert (np.diff(answer.node_of_task) >= 0).all()
        least = least_moved(change, allow_empty)
        result = reassignment_outcome(change, answer)
        if not result.breaks_limit and (allow_empty or np.bincount(answer.node_of_task, minlength=change.nodes_after).all()):
            assert least is not None
            assert result.moved_state >= least - 1e-9
            compared += 1
    assert compared > 20


def test_outcome_counts_what_changes_hands() -> None:
    change = NodeCountChange(np.array([0, 0, 1, 1]), 2, 2, np.array([1.0, 1.0, 1.0, 3.0]), np.array([1.0, 2.0, 4.0, 8.0]), 0.2)
    swapped = reassignment_outcome(change, Reassignment(np.array([1, 1, 0, 0]), np.array([1, 0])))
    assert (swapped.moved_state, swapped.largest_load, swapped.breaks_limit) == (0.0, 4 / 3, True)
    exchanged = reassignment_outcome(change, Reassignment(np.array([1, 1, 0, 0]), np.array([0, 1])))
    assert exchanged.moved_share == 1.0
    assert not reassignment_outcome(change, Reassignment(np.array([0, 0, 0, 1]), np.array([0, 1]))).breaks_limit


def test_rules_without_state_or_work_cost_nothing() -> None:
    nothing = NodeCountChange(np.array([0, 1]), 2, 1, np.zeros(2), np.zeros(2), 0.2)
    for rule in RULES:
        result = reassignment_outcome(nothing, rule(nothing))
        assert (result.moved_state, result.moved_share, result.largest_load, result.breaks_limit) == (0.0, 0.0, 0.0, False)


class TestConsistentHashing:
    """Monotone, even on average, and repeatable."""

    @settings(max_examples=50, deadline=None)
    @given(st.integers(0, 2**63), st.integers(1, 12), st.integers(1, 4))
    def test_only_new_nodes_receive_and_only_removed_nodes_give(self, seed: int, nodes: int, more: int) -> None:
        rule = ConsistentHashing(virtual_nodes=20, seed=seed)
        few, many = rule.initial(np.ones(200), nodes), rule.initial(np.ones(200), nodes + more)
        assert (many[many != few] >= nodes).all()

    @pytest.mark.parametrize(("before", "after"), [(8, 9), (9, 8)])
    def test_the_mean_share_that_moves_is_that_of_the_new_node(self, before: int, after: int) -> None:
        """1/9 of the tasks move from 8 to 9 nodes, and 1/9 back; within four standard errors."""
        rules = [ConsistentHashing(seed=seed) for seed in range(200)]
        shares = [(rule.initial(np.ones(256), before) != rule.initial(np.ones(256), after)).mean() for rule in rules]
        error = np.std(shares, ddof=1) / np.sqrt(len(shares))
        assert abs(np.mean(shares) - 1 / 9) < 4 * error < 0.04

    def test_the_hash_does_not_change_between_versions(self) -> None:
        """Assignments that were computed elsewhere must come out again."""
        assert ConsistentHashing(seed=3).initial(np.ones(12), 4).tolist() == [3, 1, 1, 2, 3, 2, 1, 2, 0, 2, 2, 2]


class TestEvenSplit:
    @settings(deadline=None)
    @given(st.integers(0, 2**32 - 1))
    def test_counts_differ_by_one_at_most_and_matching_never_costs_more(self, seed: int) -> None:
        change = random_change(seed)
        plain, matched = EvenSplit()(change), EvenSplit(matching=True)(change)
        assert np.ptp(np.bincount(plain.node_of_task, minlength=change.nodes_after)) <= 1
        np.testing.assert_array_equal(plain.node_of_task, matched.node_of_task)
        assert reassignment_outcome(change, matched).moved_state <= reassignment_outcome(change, plain).moved_state + 1e-9

    @settings(deadline=None)
    @given(st.integers(0, 2**32 - 1))
    def test_many_groups_are_matched_as_well_as_few(self, seed: int) -> None:
        """By those that share state alone: the same old nodes in use, and as much that stays."""
        change = random_change(seed)
        few = EvenSplit(matching=True)(change)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(node_change, "MAX_DENSE", 0)
            many = EvenSplit(matching=True)(change)
        assert np.sum(many.former != NEW_NODE) == np.sum(few.former != NEW_NODE)
        moved = reassignment_outcome(change, few).moved_state
        assert reassignment_outcome(change, many).moved_state == pytest.approx(moved, rel=1e-12, abs=1e-9)


class TestBalancedPacking:
    @settings(deadline=None)
    @given(st.lists(st.floats(0, 10), min_size=1, max_size=9), st.integers(1, 4))
    def test_least_largest_load_is_that_of_the_best_split(self, work: list[float], nodes: int) -> None:
        splits = combinations(range(len(work) + nodes - 1), nodes - 1)
        best = np.inf
        for split in splits:
            ends = [0, *(end - i for i, end in enumerate(split)), len(work)]
            best = min(best, max(sum(work[a:b]) for a, b in pairwise(ends)))
        assert least_largest_load(np.array(work), nodes) == pytest.approx(best, rel=1e-9, abs=1e-300)

    @settings(max_examples=200, deadline=None)
    @given(st.integers(0, 2**32 - 1), st.booleans())
    def test_the_limit_is_kept_where_intervals_can_keep_it(self, seed: int, allow_empty: bool) -> None:
        """And where they cannot, the load is as even as can be."""
        change = random_change(seed)
        rule = BalancedPacking(allow_empty)
        result = reassignment_outcome(change, rule(change))
        possible = least_largest_load(change.work, change.nodes_after)
        limit = load_limit(float(change.work.sum()), change.nodes_after, change.tolerance)
        assert result.breaks_limit == (possible > limit)
        if not allow_empty and change.nodes_after <= change.work.size:
            assert np.bincount(rule(change).node_of_task, minlength=change.nodes_after).all()

    def test_boundaries_stay_where_they_are_allowed_to(self) -> None:
        """Nothing moves when the current assignment is within the limit."""
        change = NodeCountChange(np.repeat(np.arange(3), [6, 4, 5]), 3, 3, np.ones(15), np.ones(15), 0.2)
        assert reassignment_outcome(change, BalancedPacking()(change)).moved_state == 0


class TestSticky:
    """Kafka's promise: balance first, then as few moves as balance allows."""

    @settings(max_examples=150, deadline=None)
    @given(st.integers(0, 2**32 - 1))
    def test_counts_are_even_and_the_most_tasks_stay(self, seed: int) -> None:
        """No other assignment with counts as even keeps more tasks: an assignment problem over all places."""
        change = random_change(seed)
        answer = Sticky()(change)
        counts = np.bincount(answer.node_of_task, minlength=change.nodes_after)
        assert np.ptp(counts) <= 1
        kept = int((answer.former[answer.node_of_task] == change.node_of_task).sum())
        tasks, nodes = change.work.size, change.nodes_after
        places = np.repeat(np.arange(nodes), -(-tasks // nodes))
        stays = (change.node_of_task[:, None] == places[None, :]).astype(float)
        optional = np.tile(np.arange(-(-tasks // nodes)) == tasks // nodes, nodes)[None, :]
        # A place beyond ⌊m/n′⌋ costs 1000, so that no more of them are used than must be.
        row, column = linear_sum_assignment(stays - 1000.0 * optional, maximize=True)
        assert kept == stays[row, column].sum()

    def test_it_takes_no_notice_of_neighbours_or_work(self) -> None:
        """Tasks of one node need not be neighbours afterwards."""
        change = NodeCountChange(np.array([0, 0, 0, 0, 1, 1]), 2, 3, np.array([9.0, 1, 1, 1, 1, 1]), np.ones(6), 0.2)
        answer = Sticky()(change)
        assert answer.node_of_task.tolist() == [0, 0, 2, 2, 1, 1]
        assert reassignment_outcome(change, answer).breaks_limit


class TestStickyByWork:
    @settings(max_examples=100, deadline=None)
    @given(st.integers(0, 2**32 - 1))
    def test_nodes_within_the_limit_keep_everything(self, seed: int) -> None:
        change = random_change(seed)
        answer = StickyByWork()(change)
        load = np.bincount(change.node_of_task, change.work, minlength=change.nodes_before)
        for node in range(min(change.nodes_before, change.nodes_after)):
            if load[node] <= change.limit:
                assert (answer.node_of_task[change.node_of_task == node] == node).all()

    def test_fine_tasks_meet_the_limit(self) -> None:
        generator = np.random.default_rng(0)
        for _ in range(100):
            before, after = (int(count) for count in generator.integers(4, 9, 2))
            change = NodeCountChange(generator.integers(0, before, 200), before, after, generator.random(200), np.ones(200), 0.1)
            assert not reassignment_outcome(change, StickyByWork()(change)).breaks_limit


class TestMethods:
    @pytest.mark.parametrize("method", METHODS, ids=lambda method: method.name)
    def test_answers_hold_or_say_what_they_break(self, method) -> None:
        """Every answer survives the independent check, and balanced finds one wherever there is one."""
        found = 0
        for seed, allow_empty in product(range(100), (True, False)):
            problem = as_problem(random_change(seed, contiguous=True), allow_empty)
            answer = method.run(problem, Options())
            assert checked(problem, answer)[1] == ""
            assert answer.status in ("feasible", "none")
            found += answer.status == "feasible"
            if answer.status == "none":
                assert "breaks" in answer.notes[0]
                assert method.name != "balanced" or problem.clashes()
        assert found > 20

    def test_removed_nodes_are_null_and_new_ones_come_last(self) -> None:
        shrunk = MigrationProblem(work=[1] * 4, state_size=[1, 1, 5, 1], intervals=[[3, 4], [0, 2], [2, 3]], nodes=1, tolerance=0)
        assert BY_NAME["balanced"].run(shrunk, Options()).decision == (None, None, (0, 4))
        grown = MigrationProblem(work=[1] * 4, state_size=[1] * 4, intervals=[[2, 4], [0, 2]], nodes=4, tolerance=0)
        assert BY_NAME["even-split"].run(grown, Options()).decision == ((2, 3), (0, 1), (1, 2), (3, 4))


def task_owner(assignment: Assignment, tasks: int) -> list[int]:
    owner = [-1] * tasks
    for node, interval in enumerate(assignment):
        for task in range(*(interval or (0, 0))):
            assert owner[task] == -1
            owner[task] = node
    return owner


class TestRing:
    """One point per node: consistent, expressible, and blind to the load."""

    @settings(max_examples=200, deadline=None)
    @given(st.integers(0, 2**32 - 1), st.integers(0, 99))
    def test_new_nodes_only_receive_and_leaving_ones_only_give(self, seed: int, hashed: int) -> None:
        """The definition of consistency, in both directions; nothing else moves, empty nodes or not."""
        problem = as_problem(random_change(seed, contiguous=True))
        tasks, before = len(problem.work), len(problem.intervals)
        assignment = ring_assignment(problem, hashed)
        assert [interval is not None for interval in assignment] == [node < problem.nodes for node in range(len(assignment))]
        now, then = task_owner(problem.intervals, tasks), task_owner(assignment, tasks)
        assert -1 not in then
        for source, target in zip(now, then, strict=True):
            assert source == target or source >= problem.nodes or target >= before

    @settings(max_examples=200, deadline=None)
    @given(st.integers(0, 2**32 - 1), st.integers(1, 3), st.integers(1, 3))
    def test_points_stay_whatever_the_way(self, seed: int, first: int, second: int) -> None:
        """So many nodes at once, or one after the other: the same ring; and each new node takes from one other only."""
        problem = as_problem(random_change(seed, contiguous=True))
        middle, end = (len(problem.intervals) + more for more in (first, first + second))
        at_once = ring_assignment(problem.replace(nodes=end), seed)
        there = ring_assignment(problem.replace(nodes=middle), seed)
        assert ring_assignment(problem.replace(intervals=there, nodes=end), seed) == at_once

    def test_a_new_node_takes_what_lies_before_its_point(self) -> None:
        """And from no other node than the one in whose interval the point lies."""
        problem = MigrationProblem(work=[1] * 100, state_size=[1] * 100, intervals=[(50, 100), (0, 50)], nodes=3, tolerance=9)
        point = new_point(2, 100, seed=3)
        assert 50 < point < 100
        assert ring_assignment(problem, seed=3) == ((point, 100), (0, 50), (50, point))

    def test_leaving_nodes_give_to_the_next_and_the_last_to_the_one_before(self) -> None:
        """The ring is cut before the first task."""
        tasks = {"work": [1] * 6, "state_size": [1] * 6, "tolerance": 9}
        inner = MigrationProblem(**tasks, intervals=[(0, 2), (4, 6), (2, 4)], nodes=2)
        assert ring_assignment(inner) == ((0, 2), (2, 6), None)
        last = MigrationProblem(**tasks, intervals=[(0, 2), (2, 4), (4, 6)], nodes=2)
        assert ring_assignment(last) == ((0, 2), (2, 6), None)

    def test_points_are_spread_and_the_same_share_of_any_ring(self) -> None:
        """Uniform, within what 2,000 draws allow; seeds and nodes both matter, and values never change."""
        points = np.array([[new_point(node, 1000, seed) for node in range(20)] for seed in range(100)])
        assert abs(points.mean() - 500.5) < 30
        assert np.histogram(points, bins=4, range=(1, 1000))[0].min() > 400
        for tasks in (7, 64, 999):
            assert new_point(3, tasks) == -(-new_point(3, 10 * tasks) // 10)
        assert [new_point(node, 64, seed=7) for node in range(8)] == [59, 24, 64, 18, 45, 31, 3, 1]

    def test_the_method_says_what_it_breaks_and_would_have_moved(self) -> None:
        """Half of the tasks are too many for one of three nodes."""
        problem = MigrationProblem(work=[1] * 100, state_size=[2] * 100, intervals=[(0, 50), (50, 100)], nodes=3, tolerance=0.2)
        method = BY_NAME["consistent-hashing"]
        answer = method.run(problem, Options(seed=3))
        moved = 2 * (new_point(2, 100, seed=3) - 50)
        assert answer.status == "none"
        assert answer.notes == (
            f"consistent-hashing breaks tolerance: node 0 holds work 50 against 40; it would have moved {moved} B",
        )
        loose = method.run(problem.replace(tolerance=0.5), Options(seed=3))
        assert (loose.status, loose.objective) == ("feasible", moved)
