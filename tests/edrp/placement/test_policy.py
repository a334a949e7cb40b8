"""Documents of kind `edrp-policy`: their faults, and what a policy is expected to cost."""

import numpy as np
import pytest

import edrp
from edrp.check_problems.placement.over_time import two_levels
from edrp.core.errors import InvalidInstanceError

PAIR, ONE = {"work": ["a", "a"]}, {"work": ["a"]}

FAULTS = {
    "level": ({"level": "noon"}, r"level: is no level.*'noon'|level: .*noon"),
    "levels[1].name": ({"levels": [{"name": "low"}, {"name": "low"}]}, "already the name of levels"),
    "levels[1].external_rates.sink": (
        {"levels": [{"name": "low"}, {"name": "high", "external_rates": {"sink": 1.0}}]},
        "no operator of the application",
    ),
    "transitions[0]": ({"transitions": [[0.8, 0.1], [0.5, 0.5]]}, "sums to 0.9; the probabilities of leaving for each level"),
    "transitions[1]": ({"transitions": [[0.8, 0.2], [1.0]]}, "one probability for each of 2 levels"),
    "transitions": ({"transitions": [[0.8, 0.2]]}, "one row for each of 2 levels"),
    "discount": ({"discount": 1.0}, "below 1"),
    "period": ({"period": 0.0}, "above 0"),
    "current.work[0]": ({"current": {"work": ["z"]}}, "no node of the network"),
    "weights.downtime": (
        {"weights": {"downtime": 1.0}, "limits": {"downtime": 1.0}},
        "downtime is priced for each change, by changes.downtime",
    ),
}


@pytest.mark.parametrize("place", FAULTS)
def test_every_fault_is_named_with_its_place(place):
    changes, why = FAULTS[place]
    with pytest.raises(InvalidInstanceError, match=why) as caught:
        two_levels(**changes)
    assert place in {fault.place for fault in caught.value.faults}


def test_rates_of_operators_that_only_streams_feed_are_refused():
    application = {
        "operators": [{"name": "work", "external_rate": 1.0}, {"name": "sink"}],
        "streams": [{"source": "work", "target": "sink"}],
    }
    with pytest.raises(InvalidInstanceError, match="streams bring all the load of sink") as caught:
        two_levels(application=application, levels=[{"name": "low"}, {"name": "high", "external_rates": {"sink": 2.0}}])
    assert [fault.place for fault in caught.value.faults] == ["levels[1].external_rates.sink"]


def test_a_current_deployment_may_break_limits_and_is_left():
    problem = two_levels(current={"work": ["b", "b"]})
    assert not problem.evaluate(problem.current).feasible
    assert edrp.solve(problem).deployment != problem.current


def test_a_deployment_alone_never_changes():
    problem = two_levels(changes={"change": 7.0}, current=ONE)
    costs = [problem.period * problem.at_level(level).problem.evaluate(PAIR).objective for level in range(2)]
    expected = np.linalg.solve(np.eye(2) - problem.discount * np.array(problem.transitions), costs)
    assert problem.evaluate(PAIR).objective == pytest.approx(7.0 + expected[0])


def test_without_a_future_only_this_period_and_its_change_count():
    problem = two_levels(discount=0.0, changes={"started_replicas": 9.0}, current={"work": ["b"]})
    now = problem.at_level(0).problem.evaluate(PAIR)
    assert problem.evaluate(PAIR).objective == pytest.approx(60.0 * now.objective + 18.0)


def test_limits_that_a_later_level_breaks_are_named():
    broken = two_levels().evaluate(ONE).broken
    assert broken[0] == "level 'high': work is overloaded with 1 replica"


def policy(low: float, high: float) -> dict:
    states = [("low", 0, 0, low), ("high", 0, 1, high), ("low", 1, 0, low + 5.0), ("high", 1, 1, high - 5.0)]
    return {
        "deployments": [ONE, PAIR],
        "states": [dict(zip(("level", "deployment", "next", "cost"), state, strict=True)) for state in states],
    }


def test_costs_of_states_satisfy_the_bellman_equation_of_the_policy():
    problem = two_levels(changes={"change": 5.0})
    f = [60.0 * problem.at_level(level).problem.evaluate(run).objective for level, run in enumerate((ONE, PAIR))]
    # V(low, 0) = f0 + 0.64·V(low, 0) + 0.16·V(high, 0), V(high, 0) = 5 + f1 + 0.4·(V(low, 0) + 5) + 0.4·(V(high, 0) − 5)
    low, high = np.linalg.solve([[1 - 0.64, -0.16], [-0.4, 1 - 0.4]], [f[0], 5.0 + f[1]])
    evaluation = problem.evaluate(policy(low, high))
    assert evaluation.broken == ()
    assert evaluation.objective == pytest.approx(low)
    wrong = problem.evaluate(policy(low, high + 0.1)).broken
    assert len(wrong) == 2
    assert "projected cost of deployment 0 at level 'high'" in wrong[0]
    assert "does not satisfy the Bellman equation" in wrong[0]


@pytest.mark.parametrize(
    ("states", "place"),
    [
        ([{"level": "noon", "deployment": 0, "next": 0, "cost": 1.0}], "decision.states[0].level"),
        ([{"level": "low", "deployment": 0, "next": 3, "cost": 1.0}], "decision.states[0].next"),
        ([{"level": "low", "deployment": 0, "next": 0, "cost": 1.0}] * 2, "decision.states[1]"),
    ],
)
def test_faults_of_a_policy_are_named_with_their_places(states, place):
    with pytest.raises(InvalidInstanceError) as caught:
        two_levels().evaluate({"deployments": [ONE], "states": states})
    assert [fault.place for fault in caught.value.faults] == [place]


def test_a_solution_is_read_back_with_its_policy(tmp_path):
    problem = two_levels(changes={"change": 1.0}, current=ONE)
    solution = edrp.solve(problem)
    solution.save(tmp_path / "solution.json")
    again = edrp.load_solution(tmp_path / "solution.json")
    assert again == solution
    assert problem.evaluate(again).objective == pytest.approx(solution.objective)
    assert problem.evaluate(again).feasible
