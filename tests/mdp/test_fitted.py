"""Policies beyond enumeration: exact for what they fit, never better than possible, and not used unless they save."""

from dataclasses import dataclass, replace
from functools import cache

import numpy as np
import pytest

import edrp
from edrp.mdp.fitted.method import choose_policy, fit, restrict
from edrp.mdp.fitted.policies import (
    FittedPolicy,
    PricedClass,
    SingleStepPolicy,
    arc_intervals,
    draw_node_counts,
    follow,
    random_partitions,
    visit,
)
from edrp.mdp.partitions import Boundaries, Tasks
from edrp.mdp.policy.pmc import Threads, iterate
from edrp.mdp.policy.process import MigrationPolicy, PolicyModel
from edrp.migration.policy import migration_costs


@cache
def process(tasks: int = 24, discount: float = 0.9, allow_empty: bool = False) -> PolicyModel:
    generator = np.random.default_rng(2)
    work = generator.lognormal(0, 0.3, tasks)
    transitions = np.array([[0.0, 0.8, 0.2], [0.5, 0.0, 0.5], [0.2, 0.8, 0.0]])
    return PolicyModel(Tasks.of(work, 10 * work), (3, 4, 5), 0.5, allow_empty, transitions, discount)


@cache
def exact() -> MigrationPolicy:
    return MigrationPolicy(process(), iterate(process(), Threads(2)).to_costs(process()))


@cache
def fitted() -> FittedPolicy:
    return fit(process(), np.random.default_rng(0), rounds=8, samples=60)


@pytest.mark.parametrize("allow_empty", [False, True])
def test_priced_replies_are_the_best_of_all(allow_empty):
    model = process(12, allow_empty=allow_empty)
    generator = np.random.default_rng(4)
    for target, rows in enumerate(model.partitions):
        graph = model.graphs[target]
        price = generator.normal(0, 5, graph.arc_target.size)
        first, end = arc_intervals(graph)
        position = np.repeat(np.searchsorted(graph.level, np.arange(graph.boundary.size), side="right"), np.diff(graph.arc_start))
        by_arc = dict(zip(zip(position, first, end, strict=True), price, strict=True))
        values = [sum(by_arc[k + 1, row[k], row[k + 1]] for k in range(len(row) - 1)) for row in rows.tolist()]
        befores = random_partitions(model, (target + 1) % 3, 20, generator)
        found, chosen = PricedClass(graph, price, 7.0).best_responses(model.tasks.state_before, befores)
        for before, value, action in zip(befores, found, chosen, strict=True):
            totals = migration_costs(before, rows, model.tasks.state_size) + np.array(values) + 7.0
            assert value == pytest.approx(totals.min(), rel=1e-9, abs=1e-9)
            at = np.flatnonzero((rows == action).all(axis=1))
            assert totals[at[0]] == pytest.approx(value, rel=1e-9, abs=1e-9)


def test_nothing_fitted_is_the_single_step():
    model = process()
    nothing = FittedPolicy(model, tuple(np.zeros(1 + 25 + 12) for _ in model.counts))
    start = random_partitions(model, 0, 1, np.random.default_rng(0))[0]
    classes = draw_node_counts(model, 0, 1, np.random.default_rng(1))
    assert follow(nothing, model, start, classes)[1] == pytest.approx(follow(SingleStepPolicy(model), model, start, classes)[1])


def test_the_restricted_process_costs_no_less_than_the_whole():
    """It has fewer choices: its C bounds the exact one from above, and comes close."""
    restricted = restrict(fitted(), np.random.default_rng(1), kept=120)
    ratios = []
    for nodes, rows, values in zip(process().counts, restricted.partitions, restricted.values, strict=True):
        truth = np.array([exact().costs.cost(row.tolist()) for row in rows])
        assert (values >= truth - 1e-6).all(), nodes
        ratios.append(float((values / truth).mean()))
    assert max(ratios) < 1.15


def test_most_of_the_exact_saving_is_found():
    policies = {"fitted": fitted(), "restricted": restrict(fitted(), np.random.default_rng(1), kept=200), "exact": exact()}
    savings = choose_policy(process(), policies, 7, runs=20, steps=60).savings
    assert savings["exact"].low > 0
    assert savings["restricted"].mean > 0.6 * savings["exact"].mean
    assert savings["fitted"].mean <= savings["exact"].mean * 1.05


@dataclass(frozen=True)
class Random:
    model: PolicyModel

    def action(self, before: Boundaries, target: int) -> Boundaries:
        return random_partitions(self.model, target, 1, np.random.default_rng(int(before.sum())))[0]


def test_a_policy_that_loses_is_not_used():
    recommended = choose_policy(process(), {"random": Random(process())}, 0)
    assert recommended.name == "ssm"
    assert recommended.savings["random"].high < 0


def test_a_policy_that_saves_nothing_is_not_used():
    recommended = choose_policy(process(), {"the same": SingleStepPolicy(process())}, 0)
    assert recommended.name == "ssm"


def test_visits_reach_every_class_also_where_the_chain_rarely_goes():
    model = replace(process(), transitions=np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.5, 0.5, 0.0]]))
    visited = visit(SingleStepPolicy(model), model, 10, 0.2, np.random.default_rng(0))
    assert [len(rows) for rows in visited] == [10, 10, 10]


def test_partitions_beyond_counting_are_no_obstacle():
    generator = np.random.default_rng(0)
    work = generator.lognormal(0, 0.5, 200).tolist()
    problem = edrp.MigrationPolicyProblem(
        work=work, state_size=work, intervals=[(0, 65), (65, 135), (135, 200)], nodes=20, tolerance=1.0, allow_empty=False,
        node_counts=[20, 24], transitions=[[0, 1], [1, 0]], discount=0.5,
    )  # fmt: skip
    solution = edrp.solve(problem, "fitted", rounds=1, samples=20, kept=20)
    assert solution.status == "feasible"
    assert solution.bound <= solution.metrics["moved_state"] + 1e-9
    assert any("saving of restricted" in note for note in solution.notes)
