"""Rescalings for loads that will probably follow: the expected response time, and stability in every scenario."""

import json

import pytest

import edrp
from edrp.errors import InvalidInstanceError, UnsupportedProblemError
from edrp.mdp.chain.transition_matrix import load_scenarios
from edrp.migration.rescale.documents import multiplied


@pytest.fixture
def problem(examples):
    return edrp.load(examples / "rescale.json")


def scenarios(*pairs):
    return tuple({"factor": factor, "probability": probability} for factor, probability in pairs)


def test_the_response_time_is_the_mean_over_scenarios(problem):
    deployment = edrp.solve(problem, "highs").deployment
    light, heavy = (problem.replace(application=multiplied(problem.application, factor)) for factor in (0.5, 1.02))
    expected = problem.replace(scenarios=scenarios((0.5, 0.3), (1.02, 0.7)))
    now, low, high, mixed = (case.evaluate(deployment) for case in (problem, light, heavy, expected))
    assert mixed.feasible
    assert low.metrics["response_time"] < now.metrics["response_time"] < high.metrics["response_time"]
    mean = 0.3 * low.metrics["response_time"] + 0.7 * high.metrics["response_time"]
    assert mixed.metrics["response_time"] == pytest.approx(mean, rel=1e-12)
    others = {name: value for name, value in now.metrics.items() if name != "response_time"}
    assert {name: value for name, value in mixed.metrics.items() if name != "response_time"} == others


def test_replicas_are_stable_in_every_scenario(problem):
    keen = edrp.solve(problem.replace(weights={"cost": 1.0}), "highs").deployment
    prepared = problem.replace(scenarios=scenarios((1.0, 0.99), (1.4, 0.01)))
    evaluation = prepared.evaluate(keen)
    assert not evaluation.feasible
    assert any("tuples/s at up to 1.4 times the load" in why for why in evaluation.broken)
    answer = edrp.solve(prepared, "highs")
    assert answer.status == "optimal"
    assert sum(map(len, answer.deployment.root.values())) > sum(map(len, keen.root.values()))
    hopeless = edrp.solve(problem.replace(scenarios=scenarios((1.0, 0.5), (1.6, 0.5))), "highs")
    assert hopeless.status == "infeasible"
    assert "of 4 replicas at most does not serve at up to 1.6 times the load" in hopeless.clashes[0]


def test_a_bound_for_one_load_is_refused_and_auto_proves_without_it(problem):
    prepared = problem.replace(scenarios=scenarios((1.0, 0.9), (1.2, 0.1)))
    with pytest.raises(UnsupportedProblemError, match="does not take scenarios into account; use highs"):
        edrp.solve(prepared, "range-decomposition")
    assert edrp.solve(prepared).status == "optimal"


def test_probabilities_that_do_not_sum_to_one_and_repeated_factors_are_refused(problem):
    document = json.loads(problem.model_dump_json())
    document["scenarios"] = [*scenarios((1.0, 0.5), (1.0, 0.4))]
    with pytest.raises(InvalidInstanceError) as caught:
        edrp.loads(json.dumps(document))
    said = {fault.place: fault.why for fault in caught.value.faults}
    assert "given twice" in said["scenarios[1].factor"]
    assert "must sum to 1" in said["scenarios"]


def test_scenarios_come_from_how_loads_followed_each_other():
    observed = [10.0, 10.0, 30.0] * 100
    after_first = [(scenario.factor, round(scenario.probability, 2)) for scenario in load_scenarios(observed, 10.0, 1, levels=3)]
    assert after_first == [(1.0, 0.5), (3.0, 0.5)], "the chain does not know which of two quiet hours it is in"
    peak = load_scenarios(observed, 30.0, 1, levels=3)
    assert [(round(scenario.factor, 3), scenario.probability) for scenario in peak] == [(0.333, 1.0)]
    assert len(load_scenarios(observed, 30.0, 2, levels=3)) == 2
    with pytest.raises(InvalidInstanceError, match="load: must be above 0"):
        load_scenarios(observed, 0.0, 1)
