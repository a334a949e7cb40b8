"""Hill climbing, ant system, hybrid and iterated local search on latency-aware problems."""

from __future__ import annotations

from io import StringIO
from time import perf_counter, process_time
from typing import Any

import numba
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import Console

import edrp
from edrp.check_problems.placement.latency_aware_brute_force import brute_force_latency_aware
from edrp.core.errors import InvalidInstanceError
from edrp.core.kernels import inner_loop, interpreting
from edrp.datasets.families.placement.random_latency_aware import random_latency_aware_problem
from edrp.datasets.placement.latency_aware_test_bed import paper_problem, random_problem
from edrp.heuristics.placement.search import instance_ants
from edrp.heuristics.placement.search.acceptance import COMPARED, better, near
from edrp.heuristics.placement.search.instance_ants import InstancePheromone
from edrp.heuristics.placement.search.instance_arrays import InstanceArrays, InstanceState
from edrp.heuristics.placement.search.instance_climbing import (
    MOVE,
    MOVE_ALL,
    NOTHING,
    SWAP,
    climb_scans,
    consider_move,
    consider_move_all,
    consider_swap,
    perform,
    prepare,
)
from edrp.heuristics.placement.search.instance_engine import InstanceEngine
from edrp.heuristics.placement.search.instance_state import adopt, evaluate, lift
from edrp.heuristics.placement.search.method_parameters import OVERLOAD_RULES, ColonyParameters, KickParameters
from edrp.heuristics.placement.start import Placement, first_fit
from edrp.placement.compilation import compile_problem
from edrp.placement.deployment import Deployment
from edrp.placement.latency_aware import LatencyAwareProblem
from edrp.validation.oracles.placement.plain_hill_climbing import PlainClimbing
from edrp.validation.papers.latency_aware import table_4

METHODS = ("hill-climbing", "ant-system", "hybrid", "iterated-local-search")
FEW = {"ant-system": {"iterations": 20}, "hybrid": {"iterations": 20}, "iterated-local-search": {"kicks": 50}}

# Inlined kernels that are called from here.
better_alone = numba.njit(better.function)
near_alone = numba.njit(near.function)
lift_alone = numba.njit(lift.function)
weigh_alone = numba.njit(instance_ants.weigh.function)
deposit_alone = numba.njit(instance_ants.deposit.function)
evaporate_alone = numba.njit(instance_ants.evaporate.function)
combined_alone = numba.njit(instance_ants.combined.function)


def anywhere(engine: InstanceEngine, seed: int) -> list[int]:
    """Each instance on a random node that may run it."""
    random = np.random.default_rng(seed)
    return [int(random.choice(engine.compiled.candidates(int(o)))) for o in engine.arrays.operator]


def on_one_node(problem: LatencyAwareProblem, node: str) -> LatencyAwareProblem:
    """The problem with everything running on one node."""
    everything = {o.name: [node] * o.instances for o in problem.application.operators}
    return problem.replace(current=Deployment(everything))


@inner_loop
def make(t: InstanceArrays, s: InstanceState, kind: int, a: int, b: int) -> bool:
    """Make a change where it is allowed, however bad it is; what it was valued at stays in `found` and `found_base`."""
    prepare(t, s)
    violations, s.value[0] = s.value[0], s.value[0] + 1000  # everything is better than that
    s.chosen[0] = np.inf
    if kind == MOVE:
        consider_move(t, s, a, b, COMPARED)
    elif kind == SWAP:
        consider_swap(t, s, a, b, COMPARED)
    elif a != b and not s.barred[a, b]:
        consider_move_all(t, s, a, b, COMPARED)
    s.value[0] = violations
    s.chosen[0] -= 1000
    if s.change[0] == NOTHING:
        return False
    perform(t, s)
    return True


@pytest.mark.parametrize("printed", [False, True])
@pytest.mark.parametrize("block", range(0, 60, 20))
def test_compiled_climbing_takes_the_steps_of_plain_python(block: int, printed: bool) -> None:
    """Cycles, candidates, several instances, weights of zero: every step is the same, and none is left out."""
    taken = 0
    for seed in range(block, block + 20):
        problem = random_latency_aware_problem(seed)
        engine, plain = InstanceEngine(compile_problem(problem)), PlainClimbing(problem, printed=printed)
        node = [plain.nodes.index(name) for name in engine.compiled.nodes]
        start = anywhere(engine, seed)
        rule = OVERLOAD_RULES["printed" if printed else "repaired"].value
        adopt(engine.arrays, engine.now, np.array(start), rule)
        for places in plain.climb([node[u] for u in start]):
            assert climb_scans(engine.arrays, engine.now, rule, 1), (seed, places)
            assert [node[u] for u in engine.now.place] == places, seed
            taken += 1
        assert not climb_scans(engine.arrays, engine.now, rule, 1), seed
    assert taken > 20


@settings(max_examples=150, deadline=None)
@given(seed=st.integers(0, 3000), draw=st.integers(0, 10_000), kind=st.sampled_from([MOVE, SWAP, MOVE_ALL]))
def test_what_a_change_is_worth_is_what_it_makes(seed: int, draw: int, kind: int) -> None:
    """Violations, overload and objective of a change in constant time are those of the placement that it leads to."""
    problem = random_latency_aware_problem(seed, max_instances=4)
    engine = InstanceEngine(compile_problem(problem))
    t, s = engine.arrays, engine.now
    random = np.random.default_rng(draw)
    adopt(t, s, np.array(anywhere(engine, draw)), COMPARED)
    p, q, v = int(random.integers(s.place.size)), int(random.integers(s.place.size)), int(random.integers(s.total.size))
    if kind == MOVE:
        v = int(random.choice(engine.compiled.candidates(int(t.operator[p]))))
    if not make(t, s, kind, int(s.place[p]) if kind == MOVE_ALL else p, q if kind == SWAP else v):
        return
    violations, overload, base = s.chosen[0], s.chosen[1], s.chosen_base[0]
    evaluation = problem.evaluate(engine.compiled.deployment(s.number))
    assert violations == len(evaluation.broken)
    plain = PlainClimbing(problem)
    node = [plain.nodes.index(name) for name in engine.compiled.nodes]
    assert overload == pytest.approx(plain.rank([node[u] for u in s.place])[1], abs=1e-8)
    latency = problem.weights.latency * 1000 * evaluation.metrics["path_latency"]
    assert base == pytest.approx(evaluation.objective - latency, abs=1e-9)
    with interpreting(600.0):  # a part of other kernels: it is not compiled to be called alone
        evaluate(t, s, COMPARED)
    assert s.value[2] == pytest.approx(evaluation.objective, abs=1e-9)


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
    """In this order, and equal ones are not better."""
    assert better_alone(np.array(value, float), np.array(than, float)) == expected


@pytest.mark.parametrize(("objective", "violations", "expected"), [(1.01, 0, True), (1.03, 0, False), (0.5, 1, False)])
def test_near_enough_to_go_on_from(objective: float, violations: int, expected: bool) -> None:
    """Within the tolerance, never with more limits broken."""
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


@pytest.mark.parametrize("method", METHODS)
def test_the_same_seed_gives_the_same_answer(method: str) -> None:
    problem = paper_problem("T-R3", 0.7)
    once, again = (edrp.solve(problem, method, seed=3, **FEW.get(method, {})) for _ in range(2))
    assert once.deployment == again.deployment
    assert once.stopped_because == "finished"


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
        optimum = brute_force_latency_aware(problem)[0]
        objective = edrp.solve(problem, "iterated-local-search", kicks=200).objective
        assert (objective is None) or objective >= optimum - 1e-9
        optimal += optimum is None or (objective is not None and objective <= optimum + 1e-9)
    assert optimal >= 38


def test_what_is_reported_improves_up_to_the_answer() -> None:
    """Each placement that is reported is feasible, better and later than the one before; the last one is the answer."""
    reports: list[tuple[float, float]] = []
    problem = random_problem(4, operations=22, load=0.7)
    solution = edrp.solve(problem, "iterated-local-search", kicks=300, progress=lambda s, o, b: reports.append((s, o)))
    objectives = [objective for _, objective in reports]
    assert len(objectives) > 2
    assert objectives == sorted(set(objectives), reverse=True)
    assert [seconds for seconds, _ in reports] == sorted(seconds for seconds, _ in reports)
    assert objectives[-1] == pytest.approx(solution.objective, abs=1e-9)


@pytest.mark.parametrize(("method", "endless"), [("iterated-local-search", {"kicks": 10**9}), ("ant-system", {"iterations": 10**9, "stagnation": 10**9}), ("hybrid", {"iterations": 10**9, "stagnation": 10**9})])  # fmt: skip  # noqa: E501
def test_a_time_limit_is_honoured(method: str, endless: dict[str, int]) -> None:
    """The best placement so far, milliseconds of work after the limit, whoever holds the cores; the hybrid still climbs."""
    problem = paper_problem("T-R7", 0.4)
    edrp.solve(problem, method, **FEW[method])
    begin, used = perf_counter(), process_time()
    solution = edrp.solve(problem, method, time_limit=0.1, **endless)
    assert perf_counter() - begin > 0.05
    assert process_time() - used < 0.2
    assert (solution.status, solution.stopped_because) == ("feasible", "time_limit")
    if method == "hybrid":
        engine = InstanceEngine(compile_problem(problem))
        engine.reset(Placement.of_counts(engine.compiled, engine.compiled.counts(solution.deployment)), np.random.default_rng(0))
        assert [*engine.climb("repaired")][-1].objective == pytest.approx(solution.objective, abs=1e-9)


def test_an_interrupt_returns_the_best_so_far() -> None:
    """Control-C ends the search, not the program."""

    def interrupt(seconds: float, objective: float | None, bound: float | None) -> None:
        reports.append(objective)
        if len(reports) == 2:
            raise KeyboardInterrupt

    reports: list[float | None] = []
    solution = edrp.solve(paper_problem("T-R7", 0.7), "iterated-local-search", kicks=10**9, progress=interrupt)
    assert (solution.status, solution.stopped_because) == ("feasible", "interrupted")
    assert solution.objective == pytest.approx(reports[-1], abs=1e-9)


def colony_on(problem: LatencyAwareProblem, **changed: Any) -> tuple[InstanceEngine, InstancePheromone]:
    """An engine for the problem, and the pheromone of a colony on it."""
    engine = InstanceEngine(compile_problem(problem))
    return engine, InstancePheromone.of(engine.arrays, ColonyParameters(**changed))


def chain() -> LatencyAwareProblem:
    """Three operators in a row, three equal nodes that hold two of them."""
    return LatencyAwareProblem(
        application={
            "operators": [{"name": f"o{i}", "resources": {"cpu": 0.4, "memory": 1.0}} for i in range(3)],
            "streams": [{"source": f"o{i}", "target": f"o{i + 1}", "rate": 1.0} for i in range(2)],
        },
        network={
            "nodes": [{"name": f"n{u}", "resources": {"cpu": 1.0, "memory": 2.0}} for u in range(3)],
            "links": [{"source": f"n{u}", "target": f"n{v}", "delay": 0.001} for u in range(3) for v in range(u)],
        },
    )


def test_ants_choose_by_equations_2_and_3() -> None:
    """Doubled next to any operator, again next to a neighbour, halved per overloaded resource; times the pheromone."""
    engine, pheromone = colony_on(chain(), heuristic_power=2.0, pheromone_power=1.0, initial_pheromone=3.0)
    t, s = engine.arrays, engine.now
    adopt(t, s, np.array([0, 0, 1]), COMPARED)
    lift_alone(t, s, 2)
    pheromone.pull[:] = pheromone.trail
    pheromone.pull[2, 1] = 5.0
    total = weigh_alone(t, s, pheromone, 2, False)
    next_to_neighbour_overloading_both = 3.0 * (2.0 * 2.0 / 4.0) ** 2
    assert pheromone.chance.tolist() == pytest.approx(np.cumsum([next_to_neighbour_overloading_both, 5.0, 3.0]).tolist())
    assert total == pytest.approx(11.0)
    assert weigh_alone(t, s, pheromone, 2, True) == pytest.approx(8.0)


def test_pheromone_follows_equations_4_and_5() -> None:
    """Q over the score where the ant went, ρ of what was there, never below the least."""
    _, pheromone = colony_on(chain(), deposit=2.0, persistence=0.5, initial_pheromone=1.0, minimum_pheromone=0.6)
    deposit_alone(pheromone, pheromone.fresh, np.array([0, 0, 1]), 4.0, 3.0)
    evaporate_alone(pheromone)
    expected = np.full((3, 3), 0.6)
    expected[[0, 1, 2], [0, 0, 1]] = 0.5 * 1.0 + 3 * 2.0 / 4.0
    assert pheromone.trail.tolist() == pytest.approx(expected)
    assert not pheromone.fresh.any()


def test_violations_count_in_an_ants_score() -> None:
    """10,000 each."""
    assert combined_alone(np.array([2.0, 0.7, 1.5])) == 20_001.5


def test_one_ant_is_a_random_placement() -> None:
    """With one ant and one iteration the seed decides alone; overloads are allowed as printed."""
    problem = paper_problem("T-R7", 0.7)
    solutions = [edrp.solve(problem, "ant-system", seed=s, ants=1, iterations=1, rule="printed") for s in range(10)]
    assert {solution.status for solution in solutions} <= {"none", "feasible"}
    assert any("breaks" in note for solution in solutions for note in solution.notes)


def test_the_current_placement_guides_the_first_ants() -> None:
    """Enough of its pheromone and the first ant repeats it."""
    problem = paper_problem("T-R1", 0.4)
    current = edrp.solve(problem, "hill-climbing").deployment
    alone = edrp.solve(problem, "ant-system", ants=1, iterations=1, seed=1)
    engine = InstanceEngine(compile_problem(problem))
    engine.reset(Placement.of_counts(engine.compiled, engine.compiled.counts(current)), np.random.default_rng(0))
    parameters = ColonyParameters(ants=1, iterations=1, current_deposits=1e9, pheromone_power=2.0)
    list(engine.colony(parameters, 1))
    assert (engine.now.place == engine.best).all()
    assert alone.deployment != current


def test_the_repaired_colony_is_feasible_at_high_load_and_the_printed_one_is_not() -> None:
    """Ants that may overload any node pay 10,000 per violation in scores that then all look alike."""
    problem = paper_problem("T-R7", 0.7)
    assert edrp.solve(problem, "ant-system", seed=1).status == "feasible"
    assert edrp.solve(problem, "ant-system", rule="printed", seed=1).status == "none"


def test_hybrid_is_at_least_as_good_as_its_colony() -> None:
    problem = paper_problem("T-R6", 0.7)
    for seed in range(5):
        ants, both = (edrp.solve(problem, name, seed=seed, iterations=30) for name in ("ant-system", "hybrid"))
        assert both.objective <= ants.objective + 1e-12


def test_the_recommended_method_is_better_than_one_climb() -> None:
    """Never worse, and much better somewhere."""
    gains = []
    for name in ("T-R3", "T-R4", "T-R7"):
        problem = paper_problem(name, 0.7)
        once, many = (edrp.solve(problem, method).objective for method in ("hill-climbing", "iterated-local-search"))
        gains.append(once / many - 1)
    assert min(gains) >= -1e-12
    assert max(gains) > 0.05


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
    """By name, with what is right."""
    with pytest.raises(InvalidInstanceError, match=says):
        edrp.solve(paper_problem("T-M1", 0.2), method, **wrong)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("weights", [{"latency": 1.0}, dict.fromkeys(("latency", "supervisors", "colocation", "events"), 0.0)])
def test_any_weights(method: str, weights: dict[str, float]) -> None:
    """Latency that decides everything, and weights that decide nothing."""
    problem = paper_problem("T-R2", 0.4).replace(weights=edrp.ScoreWeights(**weights))
    solution = edrp.solve(problem, method, **FEW.get(method, {}))
    assert solution.status == "feasible"


def test_kicks_keep_the_parameters_of_the_engine() -> None:
    """Steps of the iterator cut up the work, nothing else."""
    problem = paper_problem("T-R7", 0.7)
    places = []
    for work in (1, 10**9):
        engine = InstanceEngine(compile_problem(problem))
        engine.scan_size = 200_000 // work + 1
        engine.reset(None, np.random.default_rng(0))
        list(engine.kicks(KickParameters(100), 5))
        places.append(engine.best.tolist())
    assert places[0] == places[1]


def test_table_4_next_to_ours() -> None:
    """Every method is there with its time, the paper's and its gap; the recommended one is optimal on a small topology."""
    console = Console(file=StringIO(), width=160)
    cells = table_4.run(console, topologies=["T-R2"], loads=[0.4], seeds=2)
    text = console.file.getvalue()  # type: ignore[attr-defined]
    assert {cell.method for cell in cells} == set(table_4.METHODS)
    assert all(f"({milliseconds:g})" in text for milliseconds in table_4.PAPER["T-R2"].values())
    ours = next(cell for cell in cells if cell.method == table_4.RECOMMENDED)
    assert ours.optimal == 1.0
    assert "holds: hill climbing always ends feasible" in text
    assert all(gap >= -1e-9 for cell in cells for gap in cell.gaps)


def test_claims_of_table_4_can_fail() -> None:
    """Slow, infeasible and far from optimal runs are reported."""
    cells = [table_4.SearchRuns("T-R7", 42, 0.7, method, (100.0,), (np.inf,)) for method in table_4.METHODS]
    statements = table_4.statements_4(cells)
    assert len(statements) == 5
    assert not any(statement.holds for statement in statements)
    assert cells[0].quality == "none in 1 of 1"


def test_searches_open_with_first_fit_along_the_streams() -> None:
    """A search starts from the placement of the baseline of that name, wherever that finds room for everything."""
    compared = 0
    for seed in range(20):
        problem = random_problem(seed, load=0.4)
        compiled = compile_problem(problem)
        engine = InstanceEngine(compiled)
        engine.reset(None, np.random.default_rng(0))
        if engine.value().violations == 0:
            assert (engine.counts() == first_fit(compiled).counts(compiled)).all(), seed
            compared += 1
    assert compared > 10


@pytest.mark.parametrize("method", METHODS)
def test_nothing_better_than_the_answer_is_reported(method: str) -> None:
    """Also where a colony ends worse than first fit, which it knows nothing of."""
    for load in (0.2, 0.4):
        reports: list[float] = []
        few = {"ants": 1, "iterations": 3} if method in ("ant-system", "hybrid") else FEW.get(method, {})
        problem = paper_problem("T-R7", load)
        solution = edrp.solve(problem, method, progress=lambda s, o, b, reports=reports: reports.append(o), **few)
        assert solution.status == "feasible"
        assert reports[-1] == pytest.approx(solution.objective, abs=1e-9)
