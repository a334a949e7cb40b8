"""Projected migration costs: exact against plain value iteration, the same from every engine, and lawful."""

import itertools
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import edrp
from edrp.check_problems.migration.problems import PolicyBruteForce
from edrp.core.errors import InvalidInstanceError
from edrp.core.methods import Options
from edrp.mdp.fitted.method import single_step_answer
from edrp.mdp.fitted.policies import SingleStepPolicy
from edrp.mdp.partitions import Tasks, gain_between
from edrp.mdp.policy.pmc import Iteration, Sweep, Threads, apply_sweep, discounted_values, iterate, sweep_rows
from edrp.mdp.policy.process import MigrationPolicy, PolicyModel
from edrp.migration.policy import migration_costs


def small_problem(seed: int, **changes) -> edrp.MigrationPolicyProblem:
    generator = np.random.default_rng(seed)
    tasks = int(generator.integers(4, 9))
    counts = sorted(generator.choice(np.arange(1, 5), int(generator.integers(1, 4)), replace=False).tolist())
    transitions = generator.random((len(counts), len(counts))) * (generator.random((len(counts), len(counts))) < 0.7)
    transitions[transitions.sum(axis=1) == 0] = 1.0
    transitions /= transitions.sum(axis=1, keepdims=True)
    cuts = np.sort(generator.integers(0, tasks + 1, int(generator.integers(0, 4))))
    ends = [0, *cuts.tolist(), tasks]
    fields = {
        "work": generator.integers(0, 6, tasks).astype(float).tolist(),
        "state_size": generator.integers(0, 9, tasks).astype(float).tolist(),
        "intervals": list(itertools.pairwise(ends)),
        "nodes": int(generator.choice(counts)),
        "tolerance": float(generator.choice([0.3, 0.8, 1.5])),
        "allow_empty": bool(generator.random() < 0.5),
        "node_counts": counts,
        "transitions": transitions.tolist(),
        "discount": float(generator.choice([0.0, 0.5, 0.8, 0.95])),
    }
    return edrp.MigrationPolicyProblem(**{**fields, **changes})


def single_step(problem: edrp.MigrationPolicyProblem) -> edrp.MigrationProblem:
    fields = ("work", "state_size", "intervals", "nodes", "tolerance", "allow_empty")
    return edrp.MigrationProblem(**{name: getattr(problem, name) for name in fields})


def twelve_tasks() -> edrp.MigrationPolicyProblem:
    generator = np.random.default_rng(7)
    work = generator.lognormal(0, 0.4, 12).tolist()
    fields = {"node_counts": [3, 4], "transitions": [[0.2, 0.8], [0.7, 0.3]], "discount": 0.8, "tolerance": 0.6}
    return edrp.MigrationPolicyProblem(work=work, state_size=work, intervals=[(0, 5), (5, 12)], nodes=3, **fields)


@cache
def sixteen_tasks() -> PolicyModel:
    generator = np.random.default_rng(5)
    work = generator.lognormal(0, 0.4, 16)
    transitions = np.array([[0.0, 0.7, 0.3], [0.5, 0.0, 0.5], [0.2, 0.8, 0.0]])
    return PolicyModel(Tasks.of(work, work * 100), (3, 4, 6), 0.5, False, transitions, 0.8)


@pytest.mark.parametrize("seed", range(60))
def test_projected_costs_are_those_of_plain_value_iteration(seed):
    problem = small_problem(seed)
    expected = PolicyBruteForce(problem)
    if not expected.projected:
        assert edrp.solve(problem, "pmc").status == "infeasible"
        return
    model = PolicyModel.of(problem, problem.reachable_counts)
    costs = iterate(model, Threads(1)).to_costs(model)
    assert costs.states == len(expected.projected)
    for partition, value in expected.projected.items():
        assert costs.cost(partition) == pytest.approx(value, rel=1e-9, abs=1e-9)
    solution = edrp.solve(problem, "pmc")
    assert (solution.status, solution.objective) == ("optimal", pytest.approx(expected.best(), rel=1e-9, abs=1e-9))


def test_where_little_of_all_state_is_at_stake_costs_are_known_as_exactly_as_the_gap_asks():
    """A task of a megabyte that never moves: what is known to a share of all state is not known well enough."""
    problem = edrp.MigrationPolicyProblem(
        work=[1.0] * 6,
        state_size=[1e6, 1.0, 2.0, 1.0, 3.0, 1.0],
        intervals=[[0, 3], [3, 6]],
        nodes=3,
        tolerance=0.5,
        allow_empty=False,
        node_counts=[2, 3],
        transitions=[[0.0, 1.0], [1.0, 0.0]],
        discount=0.8,
    )
    solution = edrp.solve(problem, "pmc")
    assert solution.objective < 100
    assert solution.status == "optimal"
    assert solution.objective - solution.bound <= 1e-9 * solution.objective
    assert solution.objective == pytest.approx(PolicyBruteForce(problem).best(), rel=1e-9)


def test_where_staying_costs_nothing_for_ever_the_answer_is_proven():
    """All projected costs are 0, but for rounding that no sweep takes away."""
    work = (91.3467, 27.6763, 21.1076, 34.5455, 59.4518, 72.068, 35.2838, 33.2978, 73.0354, 59.267)
    size = (2167390.0, 656450.0, 474813.0, 809477.0, 1306990.0, 1297140.0, 641521.0, 653056.0, 1686700.0, 974436.0)
    problem = edrp.MigrationPolicyProblem(
        kind="migration-policy",
        work=work,
        state_size=size,
        intervals=((0, 10),),
        nodes=1,
        tolerance=1.176,
        allow_empty=True,
        node_counts=(1, 2),
        transitions=((0.2, 0.8), (0.5, 0.5)),
        discount=0.82,
    )
    for method in ("pmc", "auto"):
        found = edrp.solve(problem, method)
        assert found.status == "optimal"
        assert 0 <= found.objective <= problem.resolution


def test_counted_before_enumeration():
    model = sixteen_tasks()
    assert [len(rows) for rows in model.partitions] == list(model.size.states)


def test_a_sweep_is_a_full_scan_pruned():
    """The twin: every action by costing every partition of the class in NumPy."""
    model = sixteen_tasks()
    generator = np.random.default_rng(0)
    values = [generator.random(count) * 400 for count in model.size.states]
    sweep = Threads(2).sweep(model, values, None)
    for source, rows in enumerate(model.partitions):
        for column, target in enumerate(model.successors(source)):
            for state in range(0, len(rows), 17):
                totals = migration_costs(rows[state], model.partitions[target], model.tasks.state_size) + 0.8 * values[target]
                action = sweep.actions[source][state, column]
                assert totals[action] == pytest.approx(totals.min(), rel=1e-12)
                cost = totals[action] - 0.8 * values[target][action]
                assert sweep.costs[source][state, column] == pytest.approx(cost, abs=1e-9)


def test_threads_and_chunks_change_nothing():
    model = sixteen_tasks()
    one, two = iterate(model, Threads(1)), iterate(model, Threads(2))
    for a, b in zip(one.values, two.values, strict=True):
        assert np.array_equal(a, b)


def test_bounds_hold_at_every_sweep():
    model = sixteen_tasks()
    exact = iterate(model, Threads(2))
    seen = []
    iterate(model, Threads(2), after_sweep=seen.append)
    assert len(seen) == exact.sweeps > 2
    for state in seen:
        furthest = max(float(np.abs(a - b).max()) for a, b in zip(state.values, exact.values, strict=True))
        assert furthest <= state.error_bound + 1e-6


def test_an_interrupted_iteration_goes_on_where_it_was():
    model = sixteen_tasks()
    whole = iterate(model, Threads(1))
    first = iterate(model, Threads(1), max_sweeps=2)
    assert first.sweeps == 2
    assert first.error_bound > 0
    rest = iterate(model, Threads(1), state=first)
    assert rest.sweeps == whole.sweeps
    assert all(np.array_equal(a, b) for a, b in zip(rest.values, whole.values, strict=True))


@given(st.integers(0, 10_000))
@settings(max_examples=30, deadline=None)
def test_a_decision_is_the_least_of_all(seed):
    model = sixteen_tasks()
    policy = MigrationPolicy(model, _costs())
    generator = np.random.default_rng(seed)
    cuts = np.sort(generator.integers(0, 17, int(generator.integers(0, 7)))).tolist()
    intervals = list(itertools.pairwise([0, *cuts, 16]))
    generator.shuffle(intervals)
    nodes = int(generator.choice(model.counts))
    decision = policy.decide([(int(a), int(b)) for a, b in intervals], nodes)
    before = np.unique([0, *cuts, 16])
    totals = migration_costs(before, policy.costs.boundaries[nodes], model.tasks.state_size) + 0.8 * policy.costs.values[nodes]
    assert decision.objective == pytest.approx(totals.min(), rel=1e-12)
    assert sum(interval is not None for interval in decision.intervals) == nodes


@cache
def _costs():
    model = sixteen_tasks()
    return iterate(model, Threads(2)).to_costs(model)


def test_no_discount_is_the_single_step():
    problem = small_problem(3, discount=0.0, tolerance=1.5)
    assert edrp.solve(problem).metrics["moved_state"] == edrp.solve(single_step(problem)).objective


def test_stopped_early_the_gap_says_so():
    problem = small_problem(1, discount=0.95, tolerance=1.5)
    early = edrp.solve(problem, "pmc", max_sweeps=1)
    exact = edrp.solve(problem, "pmc")
    assert (early.status, early.stopped_because) == ("feasible", "iteration_limit")
    assert early.bound <= exact.objective + 1e-9


@pytest.mark.parametrize(("method", "units"), [("pmc", 1e-6), ("pmc", 3e-4), ("fitted", 1e-6), ("fitted", 0.01)])
def test_without_work_left_for_a_policy_the_single_step_is_the_answer(method, units):
    """The limit comes while tables are prepared, samples are drawn, or policies are simulated."""
    problem = twelve_tasks()
    solution = edrp.solve(problem, method, work_limit=units)
    assert (solution.status, solution.stopped_because) == ("feasible", "work_limit")
    least = pytest.approx(edrp.solve(single_step(problem)).objective)
    assert (solution.bound, solution.metrics["moved_state"]) == (least, least)
    assert any("answer is that of ssm" in note for note in solution.notes)


def test_the_projected_cost_of_the_single_step_is_that_of_going_on_like_this():
    """The exact one comes from a linear system over the partitions that SSM leads to."""
    problem = twelve_tasks()
    model = PolicyModel.of(problem, problem.reachable_counts)
    answer = single_step_answer(problem, Options())
    start = tuple(sorted({0, *(end for _, end in answer.decision.intervals)}))
    states, rows = [start], []
    for state in states:  # grows while new ones are reached
        before, source = np.array(state), model.counts.index(len(state) - 1)
        row = {}
        for target in model.successors(source):
            after = tuple(SingleStepPolicy(model).action(before, int(target)).tolist())
            states += [after] if after not in states else []
            moved = model.total_state - gain_between(model.tasks.state_before, before, np.array(after))
            row[states.index(after)] = (model.transitions[source, target], moved)
        rows.append(row)
    chances, costs = np.zeros((len(states), len(states))), np.zeros(len(states))
    for state, row in enumerate(rows):
        for follower, (chance, moved) in row.items():
            chances[state, follower] += chance
            costs[state] += chance * moved
    exact = np.linalg.solve(np.eye(len(states)) - model.discount * chances, costs)[0]
    assert answer.decision.projected_cost == pytest.approx(exact, rel=0.1)


def test_a_table_that_breaks_the_bellman_equation_is_caught():
    problem = small_problem(1, discount=0.8, tolerance=1.5)
    model = PolicyModel.of(problem, problem.reachable_counts)
    costs = iterate(model, Threads(1)).to_costs(model)
    decision = MigrationPolicy(model, costs).decide(problem.intervals, problem.nodes)
    assert problem.evaluate(decision).feasible
    for values in costs.values.values():
        values *= 1.01
    spoiled = MigrationPolicy(model, costs).decide(problem.intervals, problem.nodes)
    assert "Bellman" in problem.evaluate(spoiled).broken[0]


def test_more_partitions_than_memory_holds_are_refused_by_name_of_what_can():
    problem = edrp.MigrationPolicyProblem(
        work=[1.0] * 64,
        state_size=[1.0] * 64,
        intervals=[(0, 32), (32, 64)],
        nodes=8,
        tolerance=1.2,
        node_counts=[8, 16],
        transitions=[[0, 1], [1, 0]],
        discount=0.8,
    )
    with pytest.raises(edrp.errors.UnsupportedProblemError, match=r"partitions of 64 tasks would take .* GiB.*use fitted"):
        edrp.solve(problem, "pmc")


def test_a_policy_names_the_counts_it_knows():
    with pytest.raises(InvalidInstanceError, match="is not among the counts of the policy, 3, 4, 6"):
        MigrationPolicy(sixteen_tasks(), _costs()).decide([(0, 16)], 5)


def test_a_sweep_of_some_rows_fills_those_only():
    model = sixteen_tasks()
    discounted = discounted_values(model, Iteration.start(model).values)
    costs, actions = np.full((model.size.states[0], 2), -1.0), np.full((model.size.states[0], 2), -1)
    rows = model.orders[0][:5]
    sweep_rows(model, discounted, 0, rows, None, costs, actions)
    assert (actions[rows] >= 0).all()
    assert (np.delete(actions, rows, axis=0) == -1).all()
    assert np.isfinite(costs[rows]).all()


def test_one_step_ahead_is_the_expectation_over_followers():
    model = sixteen_tasks()
    values = Iteration.start(model).values
    sweep = Threads(1).sweep(model, values, None)
    discounted = apply_sweep(model, Sweep(sweep.costs, sweep.actions), values)
    assert discounted[0] == pytest.approx(sweep.costs[0] @ np.array([0.7, 0.3]))
