"""Searches on clusters begin with what is good over classes of equal nodes."""

import numpy as np
import pytest

import edrp
from edrp.core.methods import Options
from edrp.datasets.families.placement.clusters import CLUSTER_FAMILIES
from edrp.datasets.families.placement.layered import layered
from edrp.heuristics.placement.quotient_annealing import cluster_start
from edrp.heuristics.placement.search.methods import IteratedLocalSearch
from edrp.placement.compilation import compile_problem

FAMILIES = {family.name: family for family in CLUSTER_FAMILIES}


def clusters():
    drawn = [("sequential-cluster", 8), ("layered-cluster", 8), ("sequential-cluster-2-zones", 6)]
    return [FAMILIES[name].make(size, np.random.default_rng(seed)) for name, size in drawn for seed in (0, 1)]


def started(problem, seed=0):
    compiled = compile_problem(problem)
    start = cluster_start(compiled, seed, lambda: False)
    return None if start is None else compiled.deployment(start)


@pytest.mark.parametrize("number", range(6))
def test_it_is_feasible_and_near_the_optimum(number):
    problem = clusters()[number]
    proof = edrp.solve(problem, "equal-nodes")
    evaluation = problem.evaluate(started(problem))
    assert evaluation.feasible
    assert evaluation.objective >= proof.bound * (1 - 1e-8)
    assert evaluation.objective <= proof.objective * 1.03


@pytest.mark.parametrize("method", ["iterated-local-search", "annealing"])
def test_searches_are_no_worse_than_their_start(method):
    for problem in clusters()[:3]:
        found = edrp.solve(problem, method, work_limit=0.3)
        assert found.objective <= problem.evaluate(started(problem)).objective * (1 + 1e-9)


def test_where_downtime_counts_local_search_begins_with_what_runs_now():
    problem = FAMILIES["layered-cluster-running"].make(10, np.random.default_rng(1))
    without = problem.replace(weights={"response_time": 0.5, "cost": 0.5})
    assert problem.weights.downtime > 0
    given = [IteratedLocalSearch().additional_starts(compile_problem(drawn), Options()) for drawn in (problem, without)]
    assert [len(starts) for starts in given] == [0, 1]


def test_networks_of_different_nodes_are_searched_at_once():
    assert started(layered(10, 0)) is None


def test_replicas_of_unequal_size_are_packed():
    problem = clusters()[0]
    operators = [operator.replace(resources=1.0 + n % 2) for n, operator in enumerate(problem.application.operators)]
    nodes = [node.replace(resources=16) for node in problem.network.nodes]
    application = problem.application.replace(operators=tuple(operators))
    limits = problem.limits.replace(cost=1000.0)
    larger = problem.replace(application=application, network=problem.network.replace(nodes=tuple(nodes)), limits=limits)
    assert larger.evaluate(started(larger)).feasible
