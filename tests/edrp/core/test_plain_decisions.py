"""Decisions are taken as plain dicts and lists wherever they are taken; wrong ones are refused with their place."""

import json
import re
from functools import cache

import pytest
from pydantic_core import to_jsonable_python

import edrp
from edrp.core.errors import InvalidInstanceError
from edrp.core.instances import schema
from edrp.core.kinds import get_kind, kinds
from edrp.migration.policy import PolicyDecision

OWN_KINDS = [name for name, kind in kinds().items() if kind.has("check_problems")]


@cache
def solved(kind):
    problem = next(iter(get_kind(kind).check_problems().feasible().values()))
    return problem, edrp.solve(problem)


def plain(decision):
    """The decision after a round trip through JSON."""
    return json.loads(json.dumps(to_jsonable_python(decision)))


@pytest.mark.parametrize("kind", OWN_KINDS)
def test_a_decision_from_json_is_evaluated_like_the_decision(kind):
    problem, solution = solved(kind)
    decision = plain(solution.decision)
    assert isinstance(decision, (dict, list))
    assert problem.evaluate(decision) == problem.evaluate(solution.decision)


@pytest.mark.parametrize("kind", OWN_KINDS)
def test_a_problem_and_its_solution_survive_their_files(kind, tmp_path):
    """With exactly the fields that the schema describes."""
    problem, solution = solved(kind)
    edrp.save(problem, tmp_path / "problem.json")
    solution.save(tmp_path / "solution.json")
    assert edrp.load(tmp_path / "problem.json") == problem
    assert edrp.load_solution(tmp_path / "solution.json") == solution
    assert set(json.loads((tmp_path / "solution.json").read_text())) == set(schema(f"{kind}-solution")["properties"])


@pytest.mark.parametrize("kind", OWN_KINDS)
def test_a_decision_from_json_is_a_start(kind):
    problem, solution = solved(kind)
    again = edrp.solve(problem, start=plain(solution.decision), work_limit=0.05)
    assert again.objective == pytest.approx(solution.objective)


@pytest.mark.parametrize("kind", OWN_KINDS)
@pytest.mark.parametrize("wrong", [7, {"": None}, [None, {}]])
def test_what_is_no_decision_is_refused_with_its_place(kind, wrong):
    if kind == "migration" and wrong == [None, {}]:
        wrong = [[0, 1], {}]
    problem, _ = solved(kind)
    with pytest.raises(InvalidInstanceError) as caught:
        edrp.solve(problem, start=wrong)
    assert caught.value.faults
    assert all(re.match(r"start\b", fault.place) for fault in caught.value.faults)


@pytest.mark.parametrize(
    ("kind", "spoil", "place"),
    [
        ("mapping", lambda d: d["routes"][0].__setitem__(0, "nowhere"), "start.routes[0][0]"),
        ("link-allocation", lambda d: d[0].__setitem__("flow", "nobody"), "start[0].flow"),
        ("enactment", lambda d: d[0].__setitem__("type", "huge"), "start[0].type"),
        ("enactment", lambda d: d[0]["instances"].__setitem__("nobody", 1), "start[0].instances.nobody"),
        ("leasing", lambda d: d[0].__setitem__("type", "huge"), "start[0].type"),
        ("leasing", lambda d: d[0]["instances"][0].__setitem__("nobody", 1), "start[0].instances[0].nobody"),
    ],
)
def test_names_in_decisions_of_other_kinds_are_checked_too(kind, spoil, place):
    problem, solution = solved(kind)
    decision = plain(solution.decision)
    spoil(decision)
    with pytest.raises(InvalidInstanceError) as caught:
        edrp.solve(problem, start=decision)
    assert [fault.place for fault in caught.value.faults] == [place]


def test_a_wrong_deployment_is_refused_by_evaluate_and_explain(word_count):
    right = dict(edrp.solve(word_count).deployment)
    first = next(iter(right))
    for wrong, place in [
        (right | {first: "a"}, f"deployment.{first}"),
        (right | {first: []}, f"deployment.{first}"),
        (right | {first: [3]}, f"deployment.{first}[0]"),
        (right | {first: ["nowhere"]}, f"deployment.{first}[0]"),
        (right | {"nobody": right[first]}, "deployment.nobody"),
        ({name: nodes for name, nodes in right.items() if name != first}, f"deployment.{first}"),
    ]:
        for take in (word_count.evaluate, lambda wrong: edrp.explain(word_count, wrong, runner_up=False)):
            with pytest.raises(InvalidInstanceError) as caught:
                take(wrong)
            assert [fault.place for fault in caught.value.faults] == [place]


def test_a_plain_dict_is_explained_and_replaces_what_runs(word_count):
    solution = edrp.solve(word_count)
    places = {name: list(nodes) for name, nodes in solution.deployment.items()}
    assert edrp.explain(word_count, places) == edrp.explain(word_count, solution)
    assert word_count.replace(current=places).current == places
    assert solution.deployment.actions_to(places) == ()
    assert edrp.solve_formulation(edrp.formulate(word_count), start=places).objective == pytest.approx(solution.objective)


def test_a_replanner_is_told_by_a_plain_dict_what_runs():
    problem, solution = solved("latency-aware")
    replanner = edrp.Replanner(problem)
    replanner.running = {name: list(nodes) for name, nodes in solution.deployment.items()}
    assert replanner.running == solution.deployment
    with pytest.raises(InvalidInstanceError, match=r"running\.nobody: must be a list"):
        replanner.running = {"nobody": 3}


def test_a_decision_with_its_table_of_costs_stays_as_it_is():
    problem, solution = solved("migration-policy")
    decision = solution.decision
    assert problem.read_decision(decision) is decision
    assert isinstance(problem.read_decision(plain(decision)), PolicyDecision)
