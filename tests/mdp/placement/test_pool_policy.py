"""Policies of deployments: against policy iteration over all deployments, and where the answer is known otherwise."""

import numpy as np
import pytest

import edrp
from edrp.check_problems.placement.over_time import brute_force_policy, brute_force_sequence, two_levels
from edrp.core.methods import Options, get_method, run_method
from edrp.core.solve import checked
from edrp.datasets.families.placement.policy import elastic_levels
from edrp.datasets.families.placement.random_sequence import random_policy
from edrp.placement.policy import SHARED_FIELDS, EdrpPolicyProblem
from edrp.placement.sequence import EdrpSequence, Period

CLOSE = {"rel": 1e-6, "abs": 1e-9}


def answer_over_a_pool(problem, **options):
    """The answer of a pool that grows, as on problems with too many deployments to list them all."""
    answer = run_method(get_method("pool-policy"), problem, Options(parameters={"complete": False}, **options))
    assert checked(problem, answer)[1] == ""
    return answer


def over_periods(problem: EdrpPolicyProblem, duration: float) -> EdrpSequence:
    """One period at the level now."""
    level = problem.levels[problem.level_numbers[problem.level]]
    period = Period(duration=duration, external_rates=level.external_rates, limits=level.limits)
    shared = {name: getattr(problem, name) for name in SHARED_FIELDS}
    return EdrpSequence(**shared, periods=[period], initial=problem.current)


@pytest.mark.parametrize(
    "seed", [4, 5, 6, 7, 9, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (*range(4), 8, *range(10, 100)))]
)
def test_a_growing_pool_is_never_better_than_the_optimum_and_its_bound_never_above(seed):
    problem = random_policy(seed)
    best, answer = brute_force_policy(problem), answer_over_a_pool(problem)
    if best is None:
        assert answer.status == "infeasible"
        return
    assert answer.objective >= best * (1 - 1e-9) - 1e-9
    assert answer.objective == pytest.approx(best, **CLOSE)
    assert answer.bound <= best * (1 + 1e-9) + 1e-9


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(12, 150))
def test_all_deployments_make_the_optimum(seed):
    problem = random_policy(seed)
    best, solution = brute_force_policy(problem), edrp.solve(problem)
    assert solution.status == ("infeasible" if best is None else "optimal")
    assert best is None or solution.objective == pytest.approx(best, **CLOSE)


@pytest.mark.parametrize("seed", [3, 5, 6])
def test_without_a_future_the_decision_is_myopic(seed):
    problem = random_policy(seed)
    problem = problem.replace(discount=0.0, transitions=np.eye(len(problem.levels)).tolist())
    best = brute_force_sequence(over_periods(problem, problem.period))
    assert best is not None
    assert edrp.solve(problem).objective == pytest.approx(best, **CLOSE)


@pytest.mark.parametrize("seed", [3, 5, 6])
def test_one_level_is_a_period_as_long_as_all_discounted_ones(seed):
    problem = random_policy(seed)
    problem = problem.replace(discount=0.8, transitions=np.eye(len(problem.levels)).tolist())
    best = brute_force_sequence(over_periods(problem, 5 * problem.period))
    assert edrp.solve(problem).objective == pytest.approx(best, **CLOSE)
    answer = answer_over_a_pool(problem)
    assert answer.objective == pytest.approx(best, **CLOSE)


def test_free_changes_cost_what_the_levels_cost_by_themselves():
    problem = two_levels()
    optima = [60.0 * edrp.solve(problem.at_level(level).problem).objective for level in range(2)]
    expected = np.linalg.solve(np.eye(2) - 0.8 * np.array(problem.transitions), optima)[0]
    for answer in (edrp.solve(problem), answer_over_a_pool(problem)):
        assert answer.status == "optimal"
        assert answer.objective == pytest.approx(expected)
        assert answer.bound == pytest.approx(expected)


@pytest.mark.parametrize("price", ["change", "started_replicas"])
def test_expensive_changes_are_made_once_and_a_pool_proves_it(price):
    problem = two_levels(changes={price: 1e4}, current={"work": ["a"]}, level="high")
    answer = answer_over_a_pool(problem)
    assert answer.status == "optimal"
    assert all(state.next == state.deployment for state in answer.decision.states)
    assert len(answer.decision.deployments) == 1


def test_what_may_never_come_is_no_reason():
    never = [{"name": "low"}, {"name": "high", "external_rates": {"work": 99.0}}]
    problem = two_levels(levels=never, transitions=[[1.0, 0.0], [0.5, 0.5]])
    solution = edrp.solve(problem)
    assert solution.status == "optimal"
    assert {state.level for state in solution.policy.states} == {"low"}


def test_peak_loads_count():
    usage = {"cpu": {"per_tuple": 0.05}}
    queue = {"model": "mm1", "service_rate": 10.0}
    work = {"name": "work", "latency": queue, "external_rate": 5.0, "max_replicas": 2, "usage": usage}
    nodes = [{"name": name, "capacity": {"cpu": 1.0}} for name in "ab"]
    problem = two_levels(
        application={"operators": [work]},
        network={"nodes": nodes, "between_zones": {"delay": 0.01}},
        weights={"peak_load": 1.0},
        changes={"change": 3.0},
        current={"work": ["a"]},
    )
    best = brute_force_policy(problem)
    assert edrp.solve(problem).objective == pytest.approx(best, **CLOSE)
    answer = answer_over_a_pool(problem)
    assert answer.objective == pytest.approx(best, **CLOSE)
    assert answer.bound <= best + 1e-9


def test_a_start_is_not_made_worse():
    problem = elastic_levels(1, operators=3)
    known = answer_over_a_pool(problem, work_limit=0.2)
    again = answer_over_a_pool(problem, start=known.decision, work_limit=0.2)
    assert again.objective <= known.objective * (1 + 1e-9)


@pytest.mark.parametrize("complete", [True, False])
def test_a_start_on_a_node_that_nothing_may_use_is_left_out(complete):
    nodes = [{"name": "a"}, {"name": "b"}, {"name": "full", "resources": 0}]
    problem = two_levels(network={"nodes": nodes, "between_zones": {"delay": 0.01}})
    solution = edrp.solve(problem, start={"work": ["full"]}, complete=complete)
    assert solution.objective == pytest.approx(brute_force_policy(problem), **CLOSE)


TIGHT = {"response_time": 0.15, "cost": 4.0, "downtime": 1.0}
SLOW = {"synchronisation_time": 2.0, "limits": {"response_time": 0.25, "cost": 1.0}, "current": {"work": ["a"]}}
AT_ONCE = [{"name": "low"}, {"name": "high", "limits": TIGHT}]
ONE_ZONE = {"nodes": [{"name": "a", "zone": "z"}, {"name": "b", "zone": "z"}], "within_zone": {"delay": 0.01}}
BOTH = [{"name": "low", "limits": {"response_time": 0.25, "cost": 1.0, "downtime": 1.0}}, AT_ONCE[1]]


@pytest.mark.parametrize(
    ("problem", "said"),
    [
        (two_levels(25.0, discount=0.0), ["level 'high': work: with 2 replicas at most it cannot serve its load of 25 tuples/s"]),
        (
            two_levels(rules=[{"rule": "apart", "name": "R0", "operators": ["work"], "per": "zone"}], network=ONE_ZONE),
            ["level 'high': work: its load of 15 tuples/s needs at least 2 replicas", "level 'high': rule 'R0'"],
        ),
        (
            two_levels(levels=AT_ONCE, **SLOW),
            ["level 'high': limits.downtime of 1 s rules out a change that is needed; without it"],
        ),
        (two_levels(levels=BOTH, **SLOW), [f"level '{name}': limits.downtime of 1 s" for name in ("low", "high")]),
    ],
    ids=["a level to come without a future", "a load and a rule", "a change", "changes there and back"],
)
def test_infeasible_levels_and_changes_are_named(problem, said):
    solution = edrp.solve(problem)
    assert solution.status == "infeasible"
    assert len(solution.clashes) == len(said)
    assert all(clash.startswith(text) for clash, text in zip(solution.clashes, said, strict=True)), solution.clashes


def test_limits_of_levels_to_come_hold_even_if_their_costs_do_not_count():
    assert edrp.solve(two_levels(15.0, discount=0.0)).status == "optimal"
    assert brute_force_policy(two_levels(25.0, discount=0.0)) is None


def test_a_soft_rule_is_priced_at_every_level():
    problem = two_levels(
        rules=[{"rule": "forbidden", "name": "soft", "operators": ["work"], "nodes": ["a", "b"], "penalty": 0.1}]
    )
    assert edrp.solve(problem).objective == pytest.approx(brute_force_policy(problem))
