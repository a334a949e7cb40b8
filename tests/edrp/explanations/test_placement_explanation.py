"""An explanation adds up to what it explains, and the second-best deployment is exactly that."""

from dataclasses import replace
from itertools import pairwise, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import edrp
from edrp.check_problems.placement.edrp_brute_force import brute_force
from edrp.cli.display.explanation import explained_parts, explanation_parts
from edrp.core.errors import UnsupportedProblemError
from edrp.datasets.families.placement.clusters import cluster
from edrp.datasets.families.placement.random_edrp import random_problem
from edrp.formulations.placement.second_best import second_best
from edrp.placement.compiled import multisets


def small(seed):
    return random_problem(seed, operators=(3, 4), nodes=(3, 4), combinations_limit=3e3)


def every_deployment(problem):
    """All deployments, feasible or not."""
    pools = []
    for operator in problem.application.operators:
        names = operator.candidates or tuple(node.name for node in problem.network.nodes)
        rows = multisets(range(len(names)), operator.max_replicas)
        pools.append([[names[u] for u in row if u >= 0] for row in rows])
    names = [operator.name for operator in problem.application.operators]
    return [edrp.Deployment(dict(zip(names, chosen, strict=True))) for chosen in product(*pools)]


@settings(deadline=None, max_examples=12)
@given(seed=st.integers(0, 5000))
def test_the_parts_add_up(seed):
    problem = small(seed)
    objective, optima = brute_force(problem)
    if objective is None:
        return
    found = edrp.explain(problem, optima[0], runner_up=False)
    metrics = found.evaluation.metrics
    assert sum(share.amount for share in found.shares) == pytest.approx(objective, rel=1e-12)
    assert sum(part.seconds for part in found.critical_path) == pytest.approx(metrics["response_time"], rel=1e-12)
    assert sum(part.money for part in found.cost_parts) == pytest.approx(metrics["cost"], rel=1e-12)
    assert max((standstill.downtime for standstill in found.standstills), default=0.0) == pytest.approx(
        metrics["downtime"], rel=1e-12
    )
    assert all(margin.used <= 1 + 1e-9 for margin in found.margins)
    ends = [part.name for part in found.critical_path if not part.is_stream]
    streams = {(stream.source, stream.target) for stream in problem.application.streams}
    assert set(pairwise(ends)) <= streams


@pytest.mark.parametrize("least_distance", [None, -0.3, 0.02])
@pytest.mark.parametrize("found", [True, False])
def test_a_search_for_the_second_best_that_ran_out_of_time_says_what_is_known(word_count, found, least_distance):
    explanation = edrp.explain(word_count, edrp.solve(word_count), alike=False)
    assert explanation.second_best is not None
    known = {} if found else {"deployment": None, "objective": None, "distance": None, "differences": ()}
    second = replace(explanation.second_best, least_distance=least_distance, finished=False, **known)
    text = "\n".join(map(str, explained_parts(replace(explanation, second_best=second), running=False)))
    assert ("time; " in text, "ran out; " in text) == (not found, found)
    assert ("nothing is known of how near others are" in text) == (least_distance != 0.02)
    assert ("any other is at least +0.02 away" in text) == (least_distance == 0.02)


@pytest.mark.parametrize("seed", [0, 2, 6, 12, 15])
def test_second_best_is_the_best_of_all_other_deployments(seed):
    problem = small(seed)
    objective, optima = brute_force(problem)
    if objective is None:
        pytest.fail("choose a seed of a feasible problem")
    found = second_best(problem, optima[0])
    evaluated = [problem.evaluate(deployment) for deployment in every_deployment(problem) if deployment != optima[0]]
    others = [evaluation.objective for evaluation in evaluated if evaluation.feasible]
    assert found.finished
    if others:
        assert found.deployment != optima[0]
        assert found.objective == pytest.approx(min(others), abs=1e-9)
        assert found.distance == pytest.approx(min(others) - objective, abs=1e-9)
        assert found.least_distance <= found.distance + 1e-9
    else:
        assert found.deployment is None


def test_second_best_of_a_poor_deployment_is_the_optimum(word_count):
    objective, optima = brute_force(word_count)
    poor = edrp.Deployment({"reader": ["edge"], "splitter": ["fog", "fog"], "counter": ["cloud"], "writer": ["cloud"]})
    found = second_best(word_count, poor)
    assert found.deployment == optima[0]
    assert found.distance == pytest.approx(objective - word_count.evaluate(poor).objective)
    assert found.distance < 0
    assert found.better
    assert not second_best(word_count, optima[0]).better


def test_second_best_of_a_deployment_outside_the_candidates_is_the_optimum(word_count):
    outside = edrp.Deployment({"reader": ["cloud"], "splitter": ["cloud", "cloud"], "counter": ["cloud"], "writer": ["cloud"]})
    found = edrp.explain(word_count, outside)
    assert found.second_best.deployment == brute_force(word_count)[1][0]
    assert found.evaluation.broken == ("candidates of reader: cloud",)


def test_second_best_is_not_searched_where_it_would_take_too_much(word_count):
    many = edrp.Network(nodes=[{"name": f"n{i}"} for i in range(2000)])
    problem = edrp.EdrpProblem(
        application={"operators": [{"name": "a", "candidates": ["n0"]}, {"name": "b", "candidates": ["n0"]}, {"name": "c"}]},
        network=many,
        weights={"cost": 1.0},
        limits={"cost": 1.0},
    )
    deployment = edrp.Deployment({name: ["n0"] for name in "abc"})
    assert second_best(problem, deployment).finished
    joined = problem.replace(
        application=edrp.Application(operators=problem.application.operators, streams=[{"source": "a", "target": "b"}])
    )
    assert second_best(joined, deployment) is None


def test_reconfiguration_actions_carry_their_downtime(reconfigure):
    found = edrp.explain(reconfigure, brute_force(reconfigure)[1][0], runner_up=False)
    assert {str(standstill): standstill.downtime for standstill in found.standstills} == {
        "splitter scaled out on cloud": 0.2,
        "counter scaled out on cloud": 0.2,
    }


def test_storm_restarts_the_operators_that_stay(reconfigure):
    storm = reconfigure.replace(reconfiguration="storm")
    found = edrp.explain(storm, brute_force(storm)[1][0], runner_up=False)
    assert {"reader restarted", "writer restarted"} <= {str(standstill) for standstill in found.standstills}
    assert max(standstill.downtime for standstill in found.standstills) == pytest.approx(found.evaluation.metrics["downtime"])


@pytest.mark.parametrize(("name", "way"), [("migration", "solution.explore"), ("rescale", "explain_rescale")])
def test_other_kinds_are_refused_with_another_way(examples, name, way):
    problem = edrp.load(examples / f"{name}.json")
    with pytest.raises(UnsupportedProblemError, match=f"is of kind {name!r}: .*{way}"):
        edrp.explain(problem, {"reader": ["edge"]})


def test_nodes_that_may_be_exchanged_are_alike():
    """Until something runs on one of them."""
    problem = cluster(4, np.random.default_rng(0), size=(16, 8, 24))
    solution = edrp.solve(problem)
    names = tuple(f"tm{u}" for u in range(16))
    assert edrp.explain(problem, solution, runner_up=False).alike == (names,)
    shown = [str(part) for part in explanation_parts(problem, solution, 0.0)]
    assert "Nodes tm0…tm15 are alike: exchanging them changes nothing." in shown
    running = problem.replace(current={operator: ["tm3"] for operator in solution.deployment})
    assert edrp.explain(running, solution, runner_up=False).alike == (names[:3] + names[4:],)
