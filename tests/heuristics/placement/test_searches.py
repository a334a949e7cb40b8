"""Searches for placements: what all of them promise, and what each does on problems of both kinds."""

from typing import Any

import numpy as np
import pytest

import edrp
from edrp.check_problems.placement.enumeration import brute_force
from edrp.core import budget
from edrp.core.errors import InvalidInstanceError, UnsupportedProblemError
from edrp.core.methods import Options, methods
from edrp.datasets.families.placement.clusters import CLUSTER_FAMILIES
from edrp.datasets.families.placement.geometric import geometric
from edrp.datasets.families.placement.layered import layered
from edrp.datasets.families.placement.random_edrp import random_problem
from edrp.datasets.families.placement.random_latency_aware import random_latency_aware_problem
from edrp.datasets.placement.debs2015 import debs2015
from edrp.datasets.placement.latency_aware_test_bed import paper_problem
from edrp.datasets.placement.latency_aware_test_bed import random_problem as random_paper_problem
from edrp.heuristics.placement.quotient_annealing import cluster_start
from edrp.heuristics.placement.search import search_engine
from edrp.heuristics.placement.search.deployment_engine import DeploymentEngine
from edrp.heuristics.placement.search.methods import IteratedLocalSearch, make_engine
from edrp.heuristics.placement.search.search_engine import ColonyParameters, KickParameters
from edrp.placement.compilation import compile_problem
from edrp.placement.deployment import Deployment
from edrp.placement.latency_aware import LatencyAwareProblem

METHODS = ("hill-climbing", "ant-system", "hybrid", "iterated-local-search")
ALL = (*METHODS, "annealing", "greedy", "random")
FEW = {"ant-system": {"iterations": 20}, "hybrid": {"iterations": 20}, "iterated-local-search": {"kicks": 50}}
SMALL = {"operators": (3, 5), "nodes": (3, 5), "combinations_limit": 1e5}


def on_one_node(problem: LatencyAwareProblem, node: str) -> LatencyAwareProblem:
    return problem.replace(current=Deployment({o.name: [node] * o.instances for o in problem.application.operators}))


def roomy(seed: int) -> edrp.EdrpProblem:
    problem = layered(10, seed=seed, resources=6.0)
    return problem.replace(limits=edrp.Limits(response_time=3.0, cost=100.0))


# What all searches promise


@pytest.mark.parametrize("method", [*METHODS, pytest.param("annealing", marks=pytest.mark.slow), "greedy", "random"])
def test_what_is_reported_improves_up_to_the_answer(method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Feasible, better and later each time; also where a colony ends worse than first fit, which it knows nothing of."""
    monkeypatch.setattr(search_engine, "CHUNK_UNITS", 1e-4)
    few = {"ants": 1, "iterations": 3} if method in ("ant-system", "hybrid") else FEW.get(method, {})
    problems = [roomy(seed) for seed in range(5)] if method in ALL[5:] else [paper_problem("T-R7", load) for load in (0.2, 0.4)]
    most = 0
    for problem in problems:
        reports: list[tuple[float, float, float | None]] = []
        solution = edrp.solve(problem, method, progress=lambda *report, reports=reports: reports.append(report), **few)
        seconds, objectives, bounds = map(list, zip(*reports, strict=True))
        assert (solution.status, seconds, set(bounds)) == ("feasible", sorted(seconds), {None})
        assert objectives == sorted(set(objectives) if method != "annealing" else objectives, reverse=True)
        assert objectives[-1] == pytest.approx(solution.objective, abs=1e-9)
        most = max(most, len(objectives))
    assert most > 2 or method in METHODS


@pytest.mark.parametrize("method", ALL)
def test_an_interrupt_returns_the_best_so_far(method: str) -> None:
    def interrupt(seconds: float, objective: float | None, bound: float | None) -> None:
        reports.append(objective)
        raise KeyboardInterrupt

    reports: list[float | None] = []
    problem = roomy(0) if method in ALL[5:] else paper_problem("T-R7", 0.4)
    solution = edrp.solve(problem, method, progress=interrupt)
    assert (solution.status, solution.stopped_because) == ("feasible", "interrupted")
    assert solution.objective == pytest.approx(reports[-1], abs=1e-9)


@pytest.mark.parametrize("method", ALL[5:])
def test_without_work_the_first_placement_is_the_answer(method: str) -> None:
    answer = methods()[method].run(roomy(0), Options(work_limit=0.0))
    assert (answer.status, answer.stopped_because) == ("feasible", "time_limit")


@pytest.mark.parametrize("method", ["greedy", "random"])
def test_placements_that_break_limits_are_not_reported(method: str) -> None:
    problem, reports = layered(10, seed=0).replace(limits=edrp.Limits(response_time=1e-6, cost=1.0)), []
    solution = edrp.solve(problem, method, progress=lambda *report: reports.append(report))
    assert (solution.status, reports) == ("none", [])
    assert solution.notes[0].startswith("the best deployment met breaks limits.response_time: ")


@pytest.mark.parametrize("method", METHODS)
def test_the_same_seed_gives_the_same_answer_however_the_work_is_divided(method: str) -> None:
    problem = layered(12, seed=3)
    arguments = {"kicks": 100} if method == "iterated-local-search" else {}
    once = edrp.solve(problem, method, seed=5, **arguments)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(search_engine, "CHUNK_UNITS", 1e-4)
        again = edrp.solve(problem, method, seed=5, **arguments)
    assert (once.deployment, once.objective) == (again.deployment, again.objective)


@pytest.mark.parametrize("method", METHODS[1:])
def test_other_seeds_search_elsewhere(method: str) -> None:
    problem = paper_problem("T-R7", 0.7)
    assert len({edrp.solve(problem, method, seed=seed, **FEW[method]).objective for seed in range(4)}) > 1


@pytest.mark.parametrize("method", METHODS)
def test_never_worse_than_the_current_placement(method: str) -> None:
    """The search begins at the better one of the given and the current placement."""
    problem = paper_problem("T-R2", 0.7)
    best = edrp.solve(problem, "iterated-local-search").deployment
    again = edrp.solve(problem.replace(current=best), method, start=on_one_node(problem, "w1").current, **FEW.get(method, {}))
    assert again.objective <= problem.evaluate(best).objective + 1e-9


@pytest.mark.parametrize("method", METHODS)
def test_methods_keep_to_candidates(method: str) -> None:
    """Whatever a search draws, an instance never leaves the nodes that may run it."""
    for problem in map(random_latency_aware_problem, range(25)):
        if any(o.candidates is not None for o in problem.application.operators):
            solution = edrp.solve(problem, method, **FEW.get(method, {}))
            assert not any("candidates" in note for note in solution.notes)
            assert (solution.status == "feasible") == (solution.deployment is not None)


def test_minimum_numbers_of_replicas_are_kept() -> None:
    problem = layered(6, seed=1)
    operators = [o.replace(min_replicas=2) if o.max_replicas > 1 else o for o in problem.application.operators]
    problem = problem.replace(
        application=problem.application.replace(operators=operators), weights={"cost": 1.0}, limits={"cost": 100.0}
    )
    for method in METHODS:
        deployment = edrp.solve(problem, method).deployment
        assert [len(deployment[o.name]) for o in operators] == [o.min_replicas for o in operators], method


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("weights", [{"latency": 1.0}, dict.fromkeys(("latency", "supervisors", "colocation", "events"), 0.0)])
def test_any_weights(method: str, weights: dict[str, float]) -> None:
    problem = paper_problem("T-R2", 0.4).replace(weights=edrp.ScoreWeights(**weights))
    assert edrp.solve(problem, method, **FEW.get(method, {})).status == "feasible"


@pytest.mark.parametrize(
    ("method", "wrong", "says"),
    [
        ("hill-climbing", {"rule": "mended"}, "printed"),
        ("ant-system", {"ants": 0}, "ants"),
        ("hybrid", {"persistence": 1.5}, "persistence"),
        ("iterated-local-search", {"kicks": -1}, "kicks"),
        ("annealing", {"anneals": 0}, "got 0 and None"),
        ("annealing", {"steps": 0}, "got None and 0"),
        ("annealing", {"hot": 1e-5}, "got cold=0.001, hot=1e-05"),
        ("annealing", {"cold": 0.0}, "got cold=0.0"),
    ],
)
def test_wrong_parameters_are_refused(method: str, wrong: dict[str, Any], says: str) -> None:
    with pytest.raises(InvalidInstanceError, match=says):
        edrp.solve(paper_problem("T-M1", 0.2), method, **wrong)


def test_too_many_replicas_are_refused() -> None:
    many = {"name": "a", "external_rate": 1000.0, "latency": {"model": "mm1", "service_rate": 1.1}, "max_replicas": 2000}
    problem = edrp.EdrpProblem(
        application={"operators": [many, {**many, "name": "b"}], "streams": [{"source": "a", "target": "b"}]},
        network={"nodes": [{"name": "x"}, {"name": "y"}], "links": [{"source": "x", "target": "y", "delay": 0.1}]},
        weights={"response_time": 1.0},
        limits={"response_time": 100.0},
    )
    for method in METHODS:
        with pytest.raises(UnsupportedProblemError, match=r"looked at one by one.*; use highs$"):
            edrp.solve(problem, method)


# What they find


@pytest.fixture(scope="module")
def optima() -> dict[str, list[tuple[Any, float]]]:
    """Small random problems of both kinds and their least objectives by brute force, where there is a feasible placement."""
    found: dict[str, list[tuple[Any, float]]] = {"edrp": [], "latency-aware": []}
    for seed in range(40):
        for problem, solved in (
            (random_problem(seed, **SMALL), brute_force),
            (random_latency_aware_problem(seed, operators=(2, 4), nodes=(2, 4)), brute_force),
        ):
            if (best := solved(problem)[0]) is not None:
                found[problem.kind].append((problem, best))
    return found


@pytest.mark.parametrize(
    ("kind", "method", "parameters", "found", "optimal"),
    [
        ("edrp", "hill-climbing", {}, 0.8, 0.3),
        ("edrp", "ant-system", {}, 0.9, 0.3),
        ("edrp", "hybrid", {}, 0.95, 0.5),
        ("edrp", "iterated-local-search", {}, 1.0, 0.97),
        ("latency-aware", "iterated-local-search", {"kicks": 200}, 0.95, 0.95),
    ],
)
def test_most_small_problems_are_solved(kind, method, parameters, found, optimal, optima) -> None:
    """Share of feasible problems for which there is an answer, and for which that is optimal; none is better than the optimum."""
    answers = [(edrp.solve(problem, method, **parameters).objective, best) for problem, best in optima[kind]]
    gaps = np.array([objective - best for objective, best in answers if objective is not None])
    assert len(answers) >= 20
    assert gaps.min() >= -1e-9
    assert gaps.size >= found * len(answers)
    assert (gaps <= 1e-9).sum() >= optimal * len(answers)


@pytest.mark.parametrize("seed", [0, pytest.param(6, marks=pytest.mark.slow)])
def test_annealing_finds_the_optimum_of_ten_operators(seed: int) -> None:
    problem = layered(10, seed=seed)
    assert edrp.solve(problem, "annealing").objective == pytest.approx(edrp.solve(problem).objective, abs=1e-9)


@pytest.mark.parametrize("method", ["hill-climbing", "hybrid", "iterated-local-search", "annealing", "eliminate"])
def test_a_deployment_that_breaks_limits_is_repaired(method: str) -> None:
    """Everything on one node, far beyond its capacity, is where the search starts."""
    problem = debs2015(100.0, network=geometric(10, 0), max_replicas=2)
    overloaded = Deployment({o.name: [o.candidates[0] if o.candidates else "n3"] for o in problem.application.operators})
    weights = edrp.Weights(response_time=0.3, cost=0.3, downtime=0.4)
    stuck = problem.replace(current=overloaded, weights=weights)
    assert not stuck.evaluate(overloaded).feasible
    assert edrp.solve(stuck, method).status in ("feasible", "optimal")


def test_the_printed_rule_does_not_leave_an_overloaded_node() -> None:
    """Counting broken limits, no single move off the node is progress; what the repaired rule sees of it is overload."""
    problem = layered(10, seed=0).replace(limits={"response_time": 9.0, "cost": 100.0})
    inner = {o.name: ["n3"] * 2 for o in problem.application.operators if o.candidates is None}
    start = Deployment({o.name: inner.get(o.name, o.candidates) for o in problem.application.operators})
    assert problem.evaluate(start).broken == ("resources of node n3: 16 against 2",)
    assert edrp.solve(problem, "hill-climbing", start=start).status == "feasible"
    assert edrp.solve(problem, "hill-climbing", start=start, rule="printed").status == "none"


@pytest.mark.parametrize("load", [0.4, 0.7])
def test_the_printed_rule_is_stuck_where_the_repaired_one_is_not(load: float) -> None:
    """Everything on one supervisor breaks one limit with the best of all scores; no single change breaks fewer."""
    problem = on_one_node(random_paper_problem(3, operations=16, load=load), "w2")
    printed = edrp.solve(problem, "hill-climbing", rule="printed")
    assert printed.status == "none"
    assert any("of node w2" in note for note in printed.notes)
    assert edrp.solve(problem, "hill-climbing").status == "feasible"


def test_no_infeasible_end_at_any_load() -> None:
    """With the repaired order, from greedy and from everything on the smallest node."""
    for seed in range(10):
        for load in (0.2, 0.4, 0.7):
            problem = random_paper_problem(seed, load=load)
            for start in (problem, on_one_node(problem, "w3")):
                assert edrp.solve(start, "hill-climbing").status == "feasible", (seed, load)


@pytest.mark.parametrize(("method", "topology", "seeds"), [("hill-climbing", "T-R2", 5), ("ant-system", "T-R8", 1)])
def test_full_clusters_end_feasible(method: str, topology: str, seeds: int) -> None:
    """One filling in 25 fits on T-R2; on T-R8, ants that fill node by node never find a placement that fits."""
    for seed in range(seeds):
        assert edrp.solve(paper_problem(topology, 0.7), method, seed=seed).status == "feasible"


def test_no_kicks_is_hill_climbing() -> None:
    problem = paper_problem("T-R7", 0.7)
    climbed, kicked = edrp.solve(problem, "hill-climbing"), edrp.solve(problem, "iterated-local-search", kicks=0)
    assert climbed.deployment == kicked.deployment


# How long they go on


@pytest.mark.parametrize("method", METHODS[1:])
def test_a_work_limit_is_honoured(method: str) -> None:
    problem = paper_problem("T-R7", 0.4)
    endless = {"kicks": 10**9} if method == "iterated-local-search" else {"iterations": 10**9, "stagnation": 10**9}
    solution = edrp.solve(problem, method, work_limit=0.05, **endless)
    assert (solution.status, solution.stopped_because) == ("feasible", "work_limit")
    if method == "hybrid":
        made = make_engine(compile_problem(problem))
        made.reset(compile_problem(problem).counts(solution.deployment), np.random.default_rng(0))
        list(made.climb("repaired"))
        assert made.value().objective == pytest.approx(solution.objective, abs=1e-9)


@pytest.mark.parametrize("operators", [20, 100])
@pytest.mark.parametrize("method", ["ant-system", "iterated-local-search"])
def test_steps_are_bounded_work(method: str, operators: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """However large the problem is, the caller looks at the clock after a few hundredths of a unit."""
    spent: list[float] = []
    monkeypatch.setattr(budget, "spend", spent.append)
    engine = DeploymentEngine(compile_problem(layered(operators, seed=3, nodes=100, resources=4.0)))
    engine.reset(None, np.random.default_rng(0))
    search = engine.colony(ColonyParameters(), 0) if method == "ant-system" else engine.kicks(KickParameters(), 0)
    for _ in zip(range(5), search, strict=False):
        pass
    assert len(spent) >= 4
    assert max(spent) < 0.05


CHR12C_FLOWS = (90, 10, 23, 43, 88, 26, 16, 1, 96, 29, 37)
"""Flow from facility i to i + 2, at first between 0 and 1; the flows of `chr12c` of QAPLIB form a tree."""

CHR12C_DISTANCES = (
    (36, 54, 26, 59, 72, 9, 34, 79, 17, 46, 95), (73, 35, 90, 58, 30, 78, 35, 44, 79, 36), (21, 10, 97, 58, 66, 69, 61, 54, 63),
    (93, 12, 46, 40, 37, 48, 68, 85), (64, 5, 29, 76, 16, 5, 76), (96, 55, 38, 54, 0, 34), (83, 35, 11, 56, 37), (44, 12, 15, 80),
    (64, 39, 33), (70, 86), (18,),
)  # fmt: skip
"""Distances from each location to those after it."""


def chr12c() -> edrp.EdrpProblem:
    """Twelve facilities on twelve locations with room for one each; the objective is the cost of the assignment."""
    ends = [(0, 1), *((i, i + 2) for i in range(10))]
    streams = [{"source": f"f{i}", "target": f"f{j}", "rate": flow} for (i, j), flow in zip(ends, CHR12C_FLOWS, strict=True)]
    links = [
        {"source": f"l{u}", "target": f"l{u + 1 + k}", "delay": distance}
        for u, row in enumerate(CHR12C_DISTANCES)
        for k, distance in enumerate(row)
    ]
    names = range(12)
    return edrp.EdrpProblem(
        application={"operators": [{"name": f"f{i}", "resources": 1} for i in names], "streams": streams},
        network={"nodes": [{"name": f"l{i}", "resources": 1} for i in names], "links": links},
        weights={"network_usage": 1.0},
        limits={"network_usage": 2.0 * 11_156 / 2},
    )


@pytest.mark.parametrize(
    ("method", "one_run", "units"), [("iterated-local-search", "kicks", 0.1), ("annealing", "anneals", 0.35)]
)
def test_searches_go_on_while_a_limit_lasts(method: str, one_run: str, units: float) -> None:
    """No node has room for what a kick would move there, and ten runs of annealing end above the published optimum."""
    ended = edrp.solve(chr12c(), method, seed=1, **{one_run: 1}, work_limit=units)
    found, again = (edrp.solve(chr12c(), method, seed=1, work_limit=units) for _ in range(2))
    assert (ended.stopped_because, found.stopped_because) == ("finished", "work_limit")
    assert found.deployment == again.deployment
    assert found.objective < ended.objective
    if method == "iterated-local-search":
        assert found.metrics["network_usage"] == pytest.approx(11_156 / 2)


# Greedy


def test_greedy_keeps_a_current_deployment_that_is_as_good() -> None:
    problem = layered(8, seed=1)
    assert edrp.solve(problem.replace(current=edrp.solve(problem).deployment), "greedy").actions == ()
    anywhere = edrp.EdrpProblem(
        application={"operators": [{"name": "a", "cost": 1.0}]},
        network={"nodes": [{"name": "x"}, {"name": "y"}]},
        weights={"cost": 1.0},
        limits={"cost": 9.0},
        current={"a": ["y"]},
    )
    assert edrp.solve(anywhere, "greedy").actions == ()


def test_greedy_stops_where_replication_ceases_to_pay() -> None:
    """Not where the first fit ends, and not with all replicas there may be."""
    queue = {"model": "mm1", "service_rate": 10.0}
    operator = {"name": "a", "external_rate": 9.0, "latency": queue, "cost": 1.0, "max_replicas": 9}
    problem = edrp.EdrpProblem(
        application={"operators": [operator]}, network={"nodes": [{"name": "x"}]}, limits={"response_time": 1.0, "cost": 9.0}
    )
    # Response time 1, 2/11, 1/7, …, each replica costs 1/9: the second pays, the third does not.
    assert len(edrp.solve(problem, "greedy").deployment["a"]) == 2


# Starts on clusters, over classes of equal nodes

FAMILIES = {family.name: family for family in CLUSTER_FAMILIES}


def clusters():
    drawn = [("sequential-cluster", 8), ("layered-cluster", 8), ("sequential-cluster-2-zones", 6)]
    return [FAMILIES[name].make(size, np.random.default_rng(seed)) for name, size in drawn for seed in (0, 1)]


def started(problem, seed=0):
    compiled = compile_problem(problem)
    start = cluster_start(compiled, seed, lambda: False)
    return None if start is None else compiled.deployment(start)


@pytest.mark.parametrize("number", range(6))
def test_a_start_on_a_cluster_is_feasible_and_near_the_optimum(number):
    problem = clusters()[number]
    proof = edrp.solve(problem, "equal-nodes")
    evaluation = problem.evaluate(started(problem))
    assert evaluation.feasible
    assert proof.bound * (1 - 1e-8) <= evaluation.objective <= proof.objective * 1.03


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
    larger = problem.replace(
        application=problem.application.replace(operators=tuple(operators)),
        network=problem.network.replace(nodes=tuple(nodes)),
        limits=problem.limits.replace(cost=1000.0),
    )
    assert larger.evaluate(started(larger)).feasible
