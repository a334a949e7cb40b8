"""Explanations of deployments over periods, against enumeration of all courses on tiny sequences."""

import math

import numpy as np
import pytest

import edrp
from edrp.check_problems.placement.enumeration import deployments
from edrp.check_problems.placement.over_time import EdrpSequenceCheckProblems, brute_force_sequence, courses
from edrp.core.errors import ProblemTooLargeError
from edrp.datasets.families.placement.random_sequence import random_sequence
from edrp.explanations import sequence
from edrp.explanations.sequence import CoursePool, better_sentence, deciding_sentences, explain_sequence, more_load, worth
from edrp.explanations.sequence_infeasibility import explain_sequence_infeasibility
from edrp.placement.sequence import EdrpSequence

WORK = {"name": "work", "latency": {"model": "mm1", "service_rate": 10.0}, "external_rate": 5.0, "cost": 1.0, "max_replicas": 2}
ONE, TWO = {"work": ["a"]}, {"work": ["a", "a"]}
TINY = (9, 27)


def day(*rates, limit=0.5, **fields):
    """An operator on one node: up to 8 tuples/s with one replica and up to 16 with two keep the limit of 0.5 s."""
    return EdrpSequence(
        application={"operators": [WORK]},
        network={"nodes": [{"name": "a"}]},
        weights={"cost": 1.0},
        limits={"cost": 4.0, "response_time": limit},
        periods=[{"duration": 3600, "external_rates": {"work": rate}} for rate in rates],
        **fields,
    )


def least(problem, allowed):
    """The least objective of all courses of which something holds; infinite where none is feasible."""
    found = (problem.evaluate(course) for course in courses(problem) if allowed(course))
    return min((evaluation.objective for evaluation in found if evaluation.feasible), default=math.inf)


@pytest.mark.parametrize("seed", TINY)
def test_pools_of_all_deployments_know_all_courses(seed):
    problem = random_sequence(seed, combinations=6)
    pool = CoursePool(problem, deployments(problem.base))
    assert pool.best() == pytest.approx(least(problem, lambda course: True))
    assert pool.best() == pytest.approx(brute_force_sequence(problem) or math.inf)
    for number in range(len(problem.periods)):
        raised = more_load(problem, number, 1.05)
        periods = [*problem.periods[:number], raised, *problem.periods[number + 1 :]]
        expected = least(problem.replace(periods=periods), lambda course: True)
        assert pool.with_cost(number, pool.cost(number, raised)) == pytest.approx(expected)
    course = pool.best_course()
    assert (course is None) == math.isinf(pool.best())
    if course is not None:
        assert problem.evaluate(course).objective == pytest.approx(pool.best())


@pytest.mark.parametrize("seed", TINY)
def test_changes_are_priced_and_rivals_are_feasible(seed):
    problem = random_sequence(seed, combinations=6)
    random = np.random.default_rng(seed)
    listed = list(deployments(problem.base))
    course = tuple(listed[index] for index in random.integers(len(listed), size=len(problem.periods)))
    explanation = explain_sequence(problem, course)
    evaluation = problem.evaluate(course)
    assert math.fsum(change.cost for change in explanation.changes) == pytest.approx(evaluation.metrics["changing"])
    assert len(explanation.changes) == evaluation.metrics["changes"]
    assert math.fsum(p.cost + p.change_cost for p in explanation.periods) == pytest.approx(evaluation.objective)
    for rival in explanation.rivals:
        assert rival.course is None or problem.evaluate(rival.course).feasible
    best = brute_force_sequence(problem)
    if explanation.bound is not None and best is not None:
        assert explanation.bound <= best + 1e-9 * abs(best)
    if explanation.better is not None:
        better, objective = explanation.better
        found = problem.evaluate(better)
        assert found.feasible
        assert found.objective == pytest.approx(objective)
        assert not evaluation.feasible or objective < evaluation.objective


@pytest.mark.parametrize("seed", [8, 34, 42])
def test_what_a_change_saves_is_what_any_single_deployment_in_its_place_costs_more(seed):
    problem = random_sequence(seed, combinations=12)
    pool = CoursePool(problem, deployments(problem.base))
    course = pool.best_course()
    assert course is not None
    evaluation = problem.evaluate(course)
    for change in explain_sequence(problem, course).changes:
        (first, end), before = change.span, (problem.initial, *course)[change.period]
        assert set(course[first : change.period]) <= {before}
        assert set(course[change.period : end]) == {course[change.period]}
        instead, saved, span = pool.joined(course, change.period)
        others = pool.deployments if change.period else (problem.initial,)
        found = [problem.evaluate((*course[:first], *(one,) * (end - first), *course[end:])) for one in others]
        least = min((other.objective for other in found if other.feasible), default=math.inf)
        assert span == (first, end)
        assert saved == pytest.approx(least - evaluation.objective)
        assert saved >= -1e-9, "a best course has no change that does not pay"
        assert (instead is None) == math.isinf(saved)
        assert change.saved is not None
        assert change.saved >= saved - 1e-9, "fewer deployments are looked at"


def test_a_change_that_saves_more_than_it_costs():
    problem = day(5.0, 15.0, 5.0, 5.0, changes={"change": 60.0, "started_replicas": 100.0})
    up, down = explain_sequence(problem, [ONE, TWO, ONE, ONE]).changes
    assert (up.prices, up.cost) == ({"change": 60.0, "downtime": 0.0, "moved_state": 0.0, "started_replicas": 100.0}, 160.0)
    assert (up.period, up.begin, str(up.actions[0])) == (1, 3600.0, "work: +1 on a")
    assert (up.saved, up.instead, up.span) == (900.0 - 160.0, TWO, (0, 2))
    assert (down.saved, down.instead, down.span) == (2 * 900.0 - 60.0, TWO, (1, 4))
    assert worth(up) == "costs 160 s; the best single deployment in periods 0–1 would cost 740 s more"


def test_a_change_that_does_not_pay_is_called_so_and_the_better_course_is_named():
    problem = day(5.0, 15.0, 5.0, changes={"change": 2000.0})
    explanation = explain_sequence(problem, [ONE, TWO, ONE])
    down = explanation.changes[1]
    assert down.saved == 900.0 - 2000.0
    assert worth(down) == "does not pay: it costs 2000 s, and a single deployment in periods 1–2 is 1100 s cheaper"
    assert better_sentence(explanation).endswith("-2200 s: period 0 as in period 1; period 2 as in period 1")


def test_a_change_that_a_limit_needs_says_which():
    problem = day(5.0, 15.0)
    tight = problem.replace(periods=[problem.periods[0].replace(limits={"cost": 1.5, "response_time": 0.5}), problem.periods[1]])
    change = explain_sequence(tight, [ONE, TWO]).changes[0]
    assert (change.instead, change.saved) == (None, math.inf)
    assert worth(change) == (
        "costs 0 s; needed: to keep what ran before would break periods[1]: work is overloaded with 1 replica; "
        "to change earlier would break periods[0]: limits.cost: 2 money/h against 1.5"
    )
    left = explain_sequence(day(15.0, initial=ONE), [TWO]).changes[0]
    assert worth(left) == ("costs 0 s; needed: to keep what ran before would break periods[0]: work is overloaded with 1 replica")


def test_the_period_that_decides_is_the_one_without_room_for_more_load():
    explanation = explain_sequence(day(5.0, 15.9, 15.0), [ONE, TWO, TWO])
    assert (explanation.busiest.number, explanation.weightiest.number) == (1, 1)
    assert math.isinf(explanation.weightiest.more_load)
    first, second = deciding_sentences(explanation)
    assert first.startswith("Most replicas: 2 replicas in period 1 (01:00–02:00); limits.response_time is")
    assert second == "Period that decides: with 1 % more load in period 1 (01:00–02:00) none of these deployments is feasible."


def test_rivals_and_the_bound_with_free_changes():
    problem = day(5.0, 15.0, 5.0, changes={"started_replicas": 100.0})
    explanation = edrp.explain(problem, edrp.solve(problem, "myopic"))
    assert {rival.method: rival.objective for rival in explanation.rivals} == {"static-deployment": 5400.0, "myopic": 3700.0}
    assert explanation.free_bound == pytest.approx(3600.0)
    assert explanation.closed == 0.0
    assert "one deployment for all periods" in explanation._repr_html_()


def test_infeasible_sequences_name_the_period_or_the_change():
    problems = EdrpSequenceCheckProblems().infeasible()
    (why,) = explain_sequence_infeasibility(problems["overload"], 20.0).clashes
    assert why.startswith("periods[1]: work: with 2 replicas at most it cannot serve its load of 25 tuples/s; that takes")
    (why,) = explain_sequence_infeasibility(problems["downtime"], 20.0).clashes
    assert why.startswith("periods[1]: limits.downtime of 1 s rules out every change that is needed")
    explanation = edrp.explain(problems["overload"], edrp.solve(problems["overload"]))
    assert explanation.course is None
    assert explanation.clashes[0].startswith("periods[1]: work")


def test_limits_that_clash_in_one_period_are_named_as_for_one_deployment():
    problem = day(5.0, 15.0, limit=0.5)
    periods = [problem.periods[0], problem.periods[1].replace(limits={"cost": 1.0, "response_time": 0.5})]
    clashes = explain_sequence_infeasibility(problem.replace(periods=periods), 20.0).clashes
    assert clashes
    assert all(clash.startswith("periods[1]: ") for clash in clashes)
    assert any("limits.cost" in clash for clash in clashes)


@pytest.mark.parametrize(
    ("loads", "told"), [((15.0, 14.0), " (other periods, which were not looked at, may need more)"), ((5.0, 15.0), "")]
)
def test_remedies_of_one_period_say_whether_others_were_not_looked_at(loads, told):
    problem = day(*loads).replace(limits={"cost": 1.0, "response_time": 0.5})
    remedies = explain_sequence_infeasibility(problem, 20.0).remedies
    assert any(remedy.endswith(f"with limits.cost of 2 money/h the period by itself is feasible{told}") for remedy in remedies)


def test_too_many_deployments_and_periods_are_refused(monkeypatch):
    monkeypatch.setattr(sequence, "MAX_EVALUATIONS", 3)
    with pytest.raises(ProblemTooLargeError, match="2 deployments over 2 periods are too many to be compared"):
        explain_sequence(day(5.0, 15.0), [ONE, TWO])


def test_the_command_explains(run, examples, tmp_path):
    path = examples / "day.json"
    run("solve", path, "-m", "static-deployment", "-o", tmp_path / "solution.json")
    result = run("explain", path, tmp_path / "solution.json").ended(0)
    assert "Not optimal: another course has objective 35253.6818 s" in result.out
    assert "Nothing changes in any period." in result.out
