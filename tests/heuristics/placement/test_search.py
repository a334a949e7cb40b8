"""Hill climbing, ant system, hybrid and iterated local search on latency-aware problems."""

from io import StringIO
from typing import Any

import numba
import numpy as np
import pytest
from rich.console import Console

import edrp
from edrp.check_problems.placement.enumeration import brute_force
from edrp.core.errors import InvalidInstanceError
from edrp.datasets.families.placement.random_latency_aware import random_latency_aware_problem
from edrp.datasets.placement.latency_aware_test_bed import paper_problem, random_problem
from edrp.heuristics.placement.search import search_engine
from edrp.heuristics.placement.search.acceptance import better, near
from edrp.heuristics.placement.search.methods import make_engine
from edrp.placement.compilation import compile_problem
from edrp.placement.deployment import Deployment
from edrp.placement.latency_aware import LatencyAwareProblem
from edrp.validation.papers.latency_aware import table_4

METHODS = ("hill-climbing", "ant-system", "hybrid", "iterated-local-search")
FEW = {"ant-system": {"iterations": 20}, "hybrid": {"iterations": 20}, "iterated-local-search": {"kicks": 50}}

# Inlined kernels that are called from here.
better_alone = numba.njit(better.function)
near_alone = numba.njit(near.function)


def on_one_node(problem: LatencyAwareProblem, node: str) -> LatencyAwareProblem:
    everything = {o.name: [node] * o.instances for o in problem.application.operators}
    return problem.replace(current=Deployment(everything))


@pytest.mark.parametrize(
    ("value", "than", "expected"),
    [
        ((0, 0.0, 2.0), (1, 0.1, 1.0), True),
        ((1, 0.1, 2.0), (1, 0.2, 1.0), True),
        ((1, 0.2, 0.5), (1, 0.1, 1.0), False),
        ((0, 0.0, 1.0), (0, 0.0, 1.0), False),
        ((0, 0.0, 1.0 - 1e-6), (0, 0.0, 1.0), True),
    ],
)
def test_placements_are_compared_by_violations_overload_objective(value: Any, than: Any, expected: bool) -> None:
    assert better_alone(np.array(value, float), np.array(than, float)) == expected


@pytest.mark.parametrize(("objective", "violations", "expected"), [(1.01, 0, True), (1.03, 0, False), (0.5, 1, False)])
def test_near_enough_to_go_on_from(objective: float, violations: int, expected: bool) -> None:
    assert near_alone(np.array([violations, 0.0, objective]), np.array([0, 0.0, 1.0]), 0.02) == expected


@pytest.mark.parametrize("load", [0.4, 0.7])
def test_the_printed_rule_is_stuck_where_the_repaired_one_is_not(load: float) -> None:
    """Everything on one supervisor breaks one limit with the best of all scores; no single change breaks fewer."""
    problem = on_one_node(random_problem(3, operations=16, load=load), "w2")
    printed = edrp.solve(problem, "hill-climbing", rule="printed")
    assert printed.status == "none"
    assert any("of node w2" in note for note in printed.notes)
    assert edrp.solve(problem, "hill-climbing").status == "feasible"


def test_no_infeasible_end_at_any_load() -> None:
    """With the repaired order, from greedy and from everything on the smallest node."""
    for seed in range(10):
        for load in (0.2, 0.4, 0.7):
            problem = random_problem(seed, load=load)
            for start in (problem, on_one_node(problem, "w3")):
                assert edrp.solve(start, "hill-climbing").status == "feasible", (seed, load)


@pytest.mark.parametrize(("method", "topology", "seeds"), [("hill-climbing", "T-R2", 5), ("ant-system", "T-R8", 1)])
def test_full_clusters_end_feasible(method: str, topology: str, seeds: int) -> None:
    """One filling in 25 fits on T-R2; on T-R8, ants that fill node by node never find a placement that fits."""
    for seed in range(seeds):
        assert edrp.solve(paper_problem(topology, 0.7), method, seed=seed).status == "feasible"


@pytest.mark.parametrize("method", METHODS[1:])
def test_other_seeds_search_elsewhere(method: str) -> None:
    problem = paper_problem("T-R7", 0.7)
    objectives = {edrp.solve(problem, method, seed=seed, **FEW[method]).objective for seed in range(4)}
    assert len(objectives) > 1


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
    for seed in range(25):
        problem = random_latency_aware_problem(seed)
        if all(o.candidates is None for o in problem.application.operators):
            continue
        solution = edrp.solve(problem, method, **FEW.get(method, {}))
        assert not any("candidates" in note for note in solution.notes)
        assert (solution.status == "feasible") == (solution.deployment is not None)


def test_iterated_local_search_finds_what_brute_force_finds() -> None:
    """On problems small enough to enumerate, nearly always, and it is never better."""
    optimal = 0
    for seed in range(40):
        problem = random_latency_aware_problem(seed, operators=(2, 4), nodes=(2, 4))
        optimum = brute_force(problem)[0]
        objective = edrp.solve(problem, "iterated-local-search", kicks=200).objective
        assert (objective is None) or objective >= optimum - 1e-9
        optimal += optimum is None or (objective is not None and objective <= optimum + 1e-9)
    assert optimal >= 38


@pytest.mark.parametrize(("method", "endless"), [("iterated-local-search", {"kicks": 10**9}), ("ant-system", {"iterations": 10**9, "stagnation": 10**9}), ("hybrid", {"iterations": 10**9, "stagnation": 10**9})])  # fmt: skip  # noqa: E501
def test_a_work_limit_is_honoured(method: str, endless: dict[str, int]) -> None:
    problem = paper_problem("T-R7", 0.4)
    solution = edrp.solve(problem, method, work_limit=0.05, **endless)
    assert (solution.status, solution.stopped_because) == ("feasible", "work_limit")
    if method == "hybrid":
        made = make_engine(compile_problem(problem))
        counts = compile_problem(problem).counts(solution.deployment)
        made.reset(counts, np.random.default_rng(0))
        list(made.climb("repaired"))
        assert made.value().objective == pytest.approx(solution.objective, abs=1e-9)


def test_an_interrupt_returns_the_best_so_far() -> None:
    def interrupt(seconds: float, objective: float | None, bound: float | None) -> None:
        reports.append(objective)
        raise KeyboardInterrupt

    reports: list[float | None] = []
    solution = edrp.solve(paper_problem("T-R7", 0.7), "iterated-local-search", kicks=10**9, progress=interrupt)
    assert (solution.status, solution.stopped_because) == ("feasible", "interrupted")
    assert solution.objective == pytest.approx(reports[-1], abs=1e-9)


def test_no_kicks_is_hill_climbing() -> None:
    problem = paper_problem("T-R7", 0.7)
    climbed, kicked = edrp.solve(problem, "hill-climbing"), edrp.solve(problem, "iterated-local-search", kicks=0)
    assert climbed.deployment == kicked.deployment


@pytest.mark.parametrize(
    ("method", "wrong", "says"),
    [
        ("hill-climbing", {"rule": "mended"}, "printed"),
        ("ant-system", {"ants": 0}, "ants"),
        ("hybrid", {"persistence": 1.5}, "persistence"),
        ("iterated-local-search", {"kicks": -1}, "kicks"),
    ],
)
def test_wrong_parameters_are_refused(method: str, wrong: dict[str, Any], says: str) -> None:
    with pytest.raises(InvalidInstanceError, match=says):
        edrp.solve(paper_problem("T-M1", 0.2), method, **wrong)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("weights", [{"latency": 1.0}, dict.fromkeys(("latency", "supervisors", "colocation", "events"), 0.0)])
def test_any_weights(method: str, weights: dict[str, float]) -> None:
    problem = paper_problem("T-R2", 0.4).replace(weights=edrp.ScoreWeights(**weights))
    solution = edrp.solve(problem, method, **FEW.get(method, {}))
    assert solution.status == "feasible"


def test_table_4_next_to_ours() -> None:
    """Every method is there with its time, the paper's and its gap; the recommended one is optimal on a small topology."""
    console = Console(file=StringIO(), width=160)
    cells = table_4.run(console, topologies=["T-R2"], loads=[0.4], seeds=2)
    text = console.file.getvalue()  # type: ignore[attr-defined]
    assert {cell.method for cell in cells} == set(table_4.METHODS)
    assert all(f"({mean:g} ± {deviation:.2f})" in text for mean, deviation in table_4.TABLE_4["T-R2"].values())
    ours = next(cell for cell in cells if cell.method == table_4.RECOMMENDED)
    assert ours.optimal == 1.0
    assert "holds: hill climbing always ends feasible" in text
    assert all(gap >= -1e-9 for cell in cells for gap in cell.gaps)


def test_claims_of_table_4_can_fail() -> None:
    cells = [table_4.SearchRuns("T-R7", 42, 0.7, method, (100.0,), (np.inf,)) for method in table_4.METHODS]
    statements = table_4.statements_4(cells)
    assert len(statements) == 5
    assert not any(statement.holds for statement in statements)
    assert cells[0].quality == "none in 1 of 1"


@pytest.mark.parametrize("method", METHODS)
def test_what_is_reported_improves_up_to_the_answer(method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Feasible, better and later each time; also where a colony ends worse than first fit, which it knows nothing of."""
    monkeypatch.setattr(search_engine, "CHUNK_UNITS", 1e-4)
    for load in (0.2, 0.4):
        reports: list[tuple[float, float]] = []
        few = {"ants": 1, "iterations": 3} if method in ("ant-system", "hybrid") else FEW.get(method, {})
        problem = paper_problem("T-R7", load)
        solution = edrp.solve(problem, method, progress=lambda s, o, b, reports=reports: reports.append((s, o)), **few)
        seconds, objectives = map(list, zip(*reports, strict=True))
        assert (solution.status, seconds) == ("feasible", sorted(seconds))
        assert objectives == sorted(set(objectives), reverse=True)
        assert objectives[-1] == pytest.approx(solution.objective, abs=1e-9)


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
