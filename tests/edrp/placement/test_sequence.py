"""Sequences of deployments: what they mean, agreement with problems of kind `edrp`, bad input, and arrays."""

import numpy as np
import pytest

import edrp
from edrp.check_problems.placement.enumeration import deployments
from edrp.check_problems.placement.over_time import brute_force_sequence, courses
from edrp.core.errors import InvalidInstanceError
from edrp.datasets.families.placement.random_edrp import random_problem
from edrp.datasets.families.placement.random_sequence import random_sequence
from edrp.datasets.families.placement.sequence import elastic_sequence
from edrp.placement.changes import ChangePrices
from edrp.placement.metrics import Downtime
from edrp.placement.sequence import EdrpSequence
from edrp.placement.sequence_arrays import compile_sequence

QUEUE = {"model": "mm1", "service_rate": 10.0}
WORK = {"name": "work", "latency": QUEUE, "external_rate": 5.0, "cost": 1.0, "max_replicas": 2, "state_size": 8.0}
SINK = {"name": "sink", "candidates": ["a"]}
COMMON = {
    "application": {"operators": [WORK, SINK], "streams": [{"source": "work", "target": "sink"}]},
    "network": {"nodes": [{"name": "a"}, {"name": "b"}], "between_zones": {"delay": 0.01}},
    "limits": {"response_time": 1.0, "cost": 4.0},
}
HOUR = {"duration": 3600.0}


def sequence_of(problem: edrp.EdrpProblem) -> EdrpSequence:
    """One period of a problem of kind `edrp`; what downtime weighs is priced instead."""
    kept = {name: weight for name, weight in problem.weights.model_dump().items() if name not in ("downtime", "peak_loads")}
    rest = sum(kept.values())
    price = 0.0 if not problem.weights.downtime else problem.weights.downtime / problem.limits.downtime
    fields = ("application", "network", "synchronisation_time", "reconfiguration", "limits")
    return EdrpSequence(
        **{name: getattr(problem, name) for name in fields},
        weights={name: weight / rest for name, weight in kept.items()},
        periods=[{"duration": rest}],
        changes={"downtime": price},
        initial=problem.current,
    )


@pytest.mark.parametrize("seed", [0, 1, 2, 5, 8, 12])
def test_one_period_is_edrp_and_the_initial_deployment_makes_it_a_change(seed):
    problem = random_problem(seed, operators=(2, 3), nodes=(2, 3), combinations_limit=40)
    sequence = sequence_of(problem)
    for deployment in deployments(problem):
        expected, found = problem.evaluate(deployment), sequence.evaluate([deployment])
        assert found.objective == pytest.approx(expected.objective, rel=1e-9)
        assert found.feasible == expected.feasible
        assert found.metrics["downtime"] == pytest.approx(expected.metrics["downtime"])


def test_what_a_change_costs_by_hand():
    prices = {"change": 7.0, "downtime": 2.0, "moved_state": 0.5, "started_replicas": 3.0}
    problem = EdrpSequence(
        **COMMON, periods=[HOUR, HOUR], changes=prices, synchronisation_time=1.5, initial={"work": ["a"], "sink": ["a"]}
    )
    stay, spread = {"work": ["a"], "sink": ["a"]}, {"work": ["a", "b"], "sink": ["a"]}
    kept, changed = problem.evaluate([stay, stay]), problem.evaluate([stay, spread])
    assert kept.metrics["changing"] == 0.0
    assert changed.metrics["changing"] == 7.0 + 2.0 * 1.5 + 0.5 * 4.0 + 3.0
    assert (changed.metrics["changes"], changed.metrics["moved_state"], changed.metrics["started_replicas"]) == (1, 4.0, 1)
    hour = 3600 * problem.base.replace(current=None).evaluate(stay).objective
    assert kept.objective == pytest.approx(2 * hour)


def test_limits_of_a_period_hold_there_and_normalise_nothing():
    tight = {"response_time": 0.15, "cost": 4.0}
    problem = EdrpSequence(**COMMON, periods=[HOUR, {**HOUR, "limits": tight}])
    one, two = {"work": ["a"], "sink": ["a"]}, {"work": ["a", "a"], "sink": ["a"]}
    first, second = problem.evaluate([one, one]), problem.evaluate([one, two])
    assert [why.partition(":")[0] for why in first.broken] == ["periods[1]"]
    assert second.feasible
    assert first.objective == pytest.approx(problem.replace(periods=[HOUR, HOUR]).evaluate([one, one]).objective)


@pytest.mark.parametrize("seed", [2, 6, 9, 27, 29])
def test_brute_force_is_the_best_of_all_courses(seed):
    problem = random_sequence(seed, combinations=10)
    listed = (problem.evaluate(course) for course in courses(problem))
    best = min((evaluation.objective for evaluation in listed if evaluation.feasible), default=None)
    assert brute_force_sequence(problem) == (best if best is None else pytest.approx(best))


@pytest.mark.parametrize("seed", range(8))
def test_arrays_price_changes_as_the_evaluation_does(seed):
    problem = random_sequence(seed, combinations=12)
    arrays, listed = compile_sequence(problem), list(deployments(problem.base))
    counts = np.array([arrays.periods[0].counts(deployment) for deployment in listed])
    costs = arrays.change_costs(counts, counts, 0)
    for i, before in enumerate(listed):
        loaded = problem.period(0, before)
        for j, after in enumerate(listed):
            downtime = Downtime().evaluate(loaded.problem, after)
            allowed = downtime <= arrays.downtime_limit[0] * (1 + 1e-9)
            expected = problem.changes.of(problem.change(loaded, after)) if allowed or i == j else np.inf
            assert costs[i, j] == pytest.approx(expected)


def test_the_periods_of_arrays_cost_what_the_evaluation_says():
    problem = elastic_sequence(3, operators=4, nodes=4, periods=3)
    arrays = compile_sequence(problem)
    for number, compiled in enumerate(arrays.periods):
        assert compiled.weight["cost"] == pytest.approx(problem.periods[number].duration * 0.5 / problem.limits.cost)
        load = problem.period(number).problem.application.load("o1")
        assert compiled.load[compiled.operators.index("o1")] == pytest.approx(load)


BAD = {
    "no time": ({"periods": [{"duration": 0}]}, r"periods\[0\].duration: must be above 0 s"),
    "no periods": ({"periods": []}, r"periods: must hold at least 1"),
    "unknown operator": (
        {"periods": [HOUR, {**HOUR, "external_rates": {"wrok": 1.0}}]},
        r"periods\[1\].external_rates.wrok: is no operator of the application; did you mean 'work'",
    ),
    "no source": (
        {"periods": [{**HOUR, "external_rates": {"sink": 1.0}}]},
        r"periods\[0\].external_rates.sink: is of no source: streams bring all the load of sink",
    ),
    "initial": ({"initial": {"work": ["c"], "sink": ["a"]}}, r"initial.work\[0\]: is no node of the network"),
    "downtime": ({"weights": {"downtime": 1.0}}, r"weights.downtime: must be 0: .* by changes.downtime"),
    "limit": ({"periods": [{**HOUR, "limits": {"cost": 1.0}}]}, r"periods\[0\].limits.response_time: is missing"),
    "price": ({"changes": {"change": -1.0}}, r"changes.change: must be at least 0"),
}


@pytest.mark.parametrize(("changed", "message"), BAD.values(), ids=BAD)
def test_faults_name_their_places(changed, message):
    with pytest.raises(InvalidInstanceError, match=message):
        EdrpSequence(**{**COMMON, "periods": [HOUR], **changed})


def test_a_decision_needs_one_deployment_for_each_period():
    problem = EdrpSequence(**COMMON, periods=[HOUR, HOUR])
    with pytest.raises(InvalidInstanceError, match="decision: must be one deployment for each of 2 periods"):
        problem.evaluate([{"work": ["a"], "sink": ["a"]}])
    with pytest.raises(InvalidInstanceError, match=r"decision\[1\].work\[0\]: is no node of the network"):
        problem.evaluate([{"work": ["a"], "sink": ["a"]}, {"work": ["x"], "sink": ["a"]}])


def test_an_initial_deployment_that_breaks_limits_is_left():
    problem = EdrpSequence(**COMMON, periods=[HOUR], initial={"work": ["a"] * 3, "sink": ["a"]})
    assert not problem.evaluate([problem.initial]).feasible
    assert edrp.solve(problem).changes == 1


def test_no_change_has_no_price():
    assert ChangePrices(change=9.0).of(None) == 0.0


def test_a_sequence_of_a_problem_and_rates_is_that_of_its_documents():
    prices = {"change": 7.0}
    current = {"work": ["a"], "sink": ["a"]}
    problem = edrp.EdrpProblem(**COMMON, current=current)
    periods = [{**HOUR, "external_rates": {"work": rate}} for rate in (5.0, 15.0)]
    expected = EdrpSequence(**COMMON, periods=periods, changes=prices, initial=current)
    assert EdrpSequence.of(problem, {"work": np.array([5.0, 15.0])}, 3600, prices) == expected


def test_rates_of_sources_must_be_as_many_and_priorities_are_refused():
    problem = edrp.EdrpProblem(**COMMON, priorities=[{"metric": "cost"}])
    with pytest.raises(InvalidInstanceError, match=r"problem.priorities: must be none.*\n.*rates: must be as many"):
        EdrpSequence.of(problem, {"work": [1.0], "sink": [1.0, 2.0]}, 60.0)
    with pytest.raises(InvalidInstanceError, match="periods: must hold at least 1"):
        EdrpSequence.of(edrp.EdrpProblem(**COMMON), {}, 60.0)
