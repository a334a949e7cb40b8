"""An explanation adds up to what it explains, and the second-best deployment is exactly that."""

import json
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import edrp
from edrp.check_problems.placement.enumeration import brute_force, deployments
from edrp.cli.display.explanation import explanation_parts
from edrp.core.kinds import get_kind
from edrp.datasets.families.migration.rescale import random_rescale
from edrp.datasets.families.placement.clusters import cluster
from edrp.datasets.families.placement.random_clusters import random_cluster
from edrp.datasets.families.placement.random_edrp import random_problem
from edrp.datasets.families.placement.random_latency_aware import random_latency_aware_problem
from edrp.explorer.page import explorer_page
from edrp.formulations.second_best import SecondBest, second_best
from edrp.placement.compilation import compile_problem
from edrp.placement.node_classes import node_classes


def small(seed):
    return random_problem(seed, operators=(3, 4), nodes=(3, 4), combinations_limit=3e3)


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


@pytest.mark.parametrize(
    ("known", "words"),
    [
        ({}, "Second best: objective 0.169818333, +0.00638 (3.9 %)"),
        ({"proven": False}, "Another deployment: objective 0.169818333, +0.00638 (3.9 %); not proven to be the second best"),
        ({"proven": False, "least_distance": 0.02}, "any other is at least +0.02 away"),
        ({"proven": False, "least_distance": -0.3}, "none is better than the one explained by more than 0.3 (proven)"),
        ({"proven": False, "least_distance": 0.0}, "none is better than the one explained (proven), others may be as good"),
        ({"proven": False, "least_distance": None}, "nothing is known of how near others are"),
        ({"objective": 0.163438888889, "distance": 0.0}, "Second best: objective 0.163438889, as good as the one explained"),
    ],
)
def test_only_what_is_proven_is_called_second_best(word_count, known, words):
    second = replace(second_best(word_count, brute_force(word_count)[1][0]), **known)
    assert words in second.sentence()
    assert ("Second best" in second.sentence()) == second.proven


@pytest.mark.parametrize(
    ("proven", "words"),
    [
        (True, "there is no other deployment within all limits, exchanges of equal nodes aside"),
        (False, "none was found within the work limit"),
    ],
)
def test_that_nothing_was_found_is_no_proof_that_there_is_nothing(proven, words):
    assert words in SecondBest(proven=proven).sentence()


def without_names_of_equal_nodes(problem, deployment):
    """What a deployment has in common with those that an exchange of equal nodes makes of it."""
    if problem.kind == "rescale":
        return deployment
    compiled = compile_problem(problem)
    number = dict(zip(compiled.nodes, node_classes(compiled).tolist(), strict=True))
    return sorted(
        (number.get(node, len(number)), [deployment[name].count(node) for name in deployment]) for node in problem.network.by_name
    )


TINY = {
    "edrp": lambda seed: random_problem(seed, operators=(2, 3), nodes=(2, 3), combinations_limit=200),
    "equal nodes": lambda seed: random_cluster(seed, max_combinations=300, running=seed % 2 == 1),
    "latency-aware": lambda seed: random_latency_aware_problem(seed, operators=(2, 3), nodes=(2, 3), combinations_limit=200),
    "rescale": lambda seed: random_rescale(seed, keyed=(1, 1), tasks=(3, 4), nodes=(2, 2)),
}


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("draw", TINY.values(), ids=TINY)
def test_what_is_called_second_best_is_the_second_of_all_by_brute_force(draw, seed):
    problem = draw(seed)
    judged = [(problem.evaluate(decision), decision) for decision in deployments(problem)]
    feasible = sorted((evaluation.objective, n) for n, (evaluation, _) in enumerate(judged) if evaluation.feasible)
    if not feasible:
        return
    objective, best = feasible[0][0], judged[feasible[0][1]][1]
    same = without_names_of_equal_nodes(problem, best)
    others = [value for value, n in feasible if without_names_of_equal_nodes(problem, judged[n][1]) != same]
    found = second_best(problem, best)
    assert found.proven
    assert found.objective == (pytest.approx(min(others), abs=1e-9) if others else None)
    assert found.distance == (pytest.approx(min(others) - objective, abs=1e-9) if others else None)


def test_equal_nodes_exchanged_are_no_second_best():
    """Nor does anything hide behind them where they can be exchanged in too many ways."""

    queue = {"model": "mm1", "service_rate": 10.0}

    def on(nodes):
        return edrp.EdrpProblem(
            application={"operators": [{"name": "work", "latency": queue, "external_rate": 5.0}]},
            network={"nodes": [{"name": f"equal{u}", "speedup": 2.0} for u in range(nodes)] + [{"name": "slow"}]},
            weights={"response_time": 1.0},
            limits={"response_time": 1.0},
        )

    found = second_best(on(3), {"work": ["equal1"]})
    assert (found.deployment, found.proven) == ({"work": ["slow"]}, True)
    assert "equal nodes can be exchanged in more than 500 ways" in second_best(on(501), {"work": ["equal1"]}).sentence()


@pytest.mark.parametrize("name", ["word_count", "contention", "rescale"])
def test_terminal_page_and_library_name_the_same_second_best(examples, name):
    problem = TINY[name](1) if name in TINY else edrp.load(examples / f"{name}.json")
    solution = edrp.solve(problem, "highs")
    sentence = second_best(problem, solution.deployment).sentence()
    page = explorer_page(problem, solution)
    lines = json.loads(page.partition('<script type="application/json" id="view">')[2].partition("</script>")[0])["lines"]
    assert lines[0].rstrip(":.") == sentence
    shown = [str(part) for part in get_kind(problem.kind).explain(problem, solution, None)]
    assert sentence in shown
    assert [line for line in lines if line.startswith("•")] == [part for part in shown if part.startswith("•")][: len(lines)]


def test_a_work_limit_repeats_and_says_that_a_program_is_too_large_for_it(word_count, run, examples, tmp_path):
    deployment = brute_force(word_count)[1][0]
    small = second_best(word_count, deployment, work_limit=0.001)
    assert small == second_best(word_count, deployment, work_limit=0.001)
    assert "too large for a work limit of 0.001 units" in small.sentence()
    target = tmp_path / "answer.json"
    edrp.solve(word_count).save(target)
    assert small.sentence() in run("explain", examples / "word_count.json", target, "--work-limit", "0.001").out
    page = tmp_path / "page.html"
    run("explore", examples / "word_count.json", target, "-o", page, "--work-limit", "0.001")
    assert small.sentence() in page.read_text(encoding="utf-8")


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


def test_second_best_is_not_searched_where_it_would_take_too_much():
    problem = edrp.EdrpProblem(
        application={"operators": [{"name": name} for name in "ab"], "streams": [{"source": "a", "target": "b"}]},
        network={"nodes": [{"name": f"n{i}"} for i in range(400)], "between_zones": {"delay": 0.001}},
        weights={"cost": 1.0},
        limits={"cost": 1.0},
    )
    found = second_best(problem, {"a": ["n0"], "b": ["n0"]})
    assert (found.proven, found.deployment) == (False, None)
    assert "too large for a work limit of 2 units" in found.sentence()


def test_reconfiguration_actions_carry_their_downtime(reconfigure):
    found = edrp.explain(reconfigure, brute_force(reconfigure)[1][0], runner_up=False)
    assert {str(standstill): standstill.downtime for standstill in found.standstills} == {
        "splitter: +1 on cloud": 0.2,
        "counter: +1 on cloud": 0.2,
    }


def test_storm_restarts_the_operators_that_stay(reconfigure):
    storm = reconfigure.replace(reconfiguration="storm")
    found = edrp.explain(storm, brute_force(storm)[1][0], runner_up=False)
    assert {"reader restarted", "writer restarted"} <= {str(standstill) for standstill in found.standstills}
    assert max(standstill.downtime for standstill in found.standstills) == pytest.approx(found.evaluation.metrics["downtime"])


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
