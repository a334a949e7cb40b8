"""Column generation on latency-aware placement: optima, infeasibility, bounds at any stop."""

from itertools import product

import numpy as np
import pytest

import edrp
from edrp.check_problems.placement.enumeration import brute_force
from edrp.core.methods import Options, methods
from edrp.core.solve import checked
from edrp.datasets.families.placement.random_latency_aware import random_latency_aware_problem
from edrp.datasets.placement.latency_aware_test_bed import paper_problem, random_problem
from edrp.formulations.placement.column_generation import pricing as ordering
from edrp.formulations.placement.column_generation.choices import list_choices
from edrp.formulations.placement.column_generation.model import build_model
from edrp.formulations.placement.column_generation.pricing import Pricer, common_divisor, decision_order, resource_grid
from edrp.formulations.placement.column_generation.selection import PatternPool
from edrp.formulations.placement.column_generation.tree import BranchAndPrice, Relabelling
from edrp.formulations.placement.column_generation.windows import Window, certificate
from edrp.placement.compilation import compile_problem
from edrp.placement.latency_aware import LatencyAwareProblem

METHOD = methods()["column-generation"]


def proven(problem, *, search=False, **options):
    """The method's answer, checked by the evaluator, with bound and objective equal; from weak incumbents unless said."""
    answer = METHOD.run(problem, Options(parameters={"search": search}, **options))
    assert checked(problem, answer)[1] == ""
    assert answer.status == "optimal"
    assert answer.objective - answer.bound <= 1e-9 * max(1.0, abs(answer.objective))
    return answer


def agrees_with_brute_force(problem, searches=(False, True)):
    best, _ = brute_force(problem)
    if best is None:
        assert METHOD.run(problem, Options()).status == "infeasible"
    else:
        for search in searches:
            assert proven(problem, search=search).objective == pytest.approx(best, abs=1e-9)
    return best


def line(operators, streams, nodes, weights=None, **fields):
    """A problem from short descriptions; nodes are 1 ms apart per place between them."""
    names = [node["name"] for node in nodes]
    links = [
        {"source": u, "target": v, "delay": 0.001 * (j - i)} for i, u in enumerate(names) for j, v in enumerate(names) if i < j
    ]
    joined = [{"source": source, "target": target, "rate": rate} for source, target, rate in streams]
    return LatencyAwareProblem(
        application={"operators": operators, "streams": joined},
        network={"nodes": nodes, "links": links, "symmetric": True},
        weights=weights or {},
        **fields,
    )


def test_a_self_loop_pays_for_instances_apart():
    """Two instances of one operator fit on one node only where they need no more than it has."""
    loop = [("a", "a", 1.0)]
    nodes = [{"name": name, "resources": {"cpu": 1.0}} for name in "xy"]
    together = line([{"name": "a", "resources": {"cpu": 0.4}, "instances": 2}], loop, nodes)
    assert agrees_with_brute_force(together) == pytest.approx(0.5)
    apart = together.replace(utilisation={"cpu": 0.5})
    # One supervisor more, and two of the four pairs apart, in number and in rate; a loop counts for no path.
    assert agrees_with_brute_force(apart) == pytest.approx(1.0 + 0.5 + 0.5)


def test_infeasible_in_every_arrangement():
    """All needs together fit, and each alone, but three of 0.6 do not fit on two of 1."""
    operators = [{"name": name, "resources": {"disk": 0.6}} for name in "abc"]
    answer = METHOD.run(line(operators, [], [{"name": n, "resources": {"disk": 1.0}} for n in "xy"]), Options())
    assert (answer.status, answer.decision) == ("infeasible", None)
    solution = edrp.solve(line(operators, [], [{"name": n, "resources": {"disk": 0.5}} for n in "xyz"]), METHOD.name)
    assert solution.status == "infeasible"
    assert any("0.1 short" in clash for clash in solution.clashes)


def test_streams_beyond_the_memory_are_bounded_instead(monkeypatch):
    """Nothing is remembered of operators decided before: bounds are weaker, optima the same."""
    monkeypatch.setattr(ordering, "MAX_REMEMBERED_COUNTS", 2)
    for seed in range(14):
        agrees_with_brute_force(random_latency_aware_problem(seed))


@pytest.mark.parametrize("seed", range(12))
def test_pricing_finds_all_patterns_that_plain_enumeration_finds(seed):
    problem = random_latency_aware_problem(seed)
    model = build_model(compile_problem(problem))
    order = decision_order(model.together, model.instances)
    worth = np.random.default_rng(seed).normal(scale=0.3, size=model.instances.size)
    for supervisors in model.classes:
        plain = np.array([n for n in product(*(range(most + 1) for most in supervisors.max_instances)) if any(n)])
        plain = plain[(plain @ model.demand <= supervisors.capacity).all(axis=1)]
        value = model.saved(plain) + plain @ worth
        pricer = Pricer(model, order, supervisors)
        priced = pricer.best(worth, -10.0, np.inf)
        assert priced.worth[-1] == pytest.approx(value.max())
        assert value.max() <= priced.at_most + 1e-12
        threshold = float(np.median(value)) - 1e-9
        listed = pricer.all_above(worth, threshold, 10**5, 10**6)
        assert sorted(map(tuple, listed.patterns)) == sorted(map(tuple, plain[value > threshold]))
        assert pricer.all_above(worth, threshold, int((value > threshold).sum()) - 1, 10**6) is None


@pytest.mark.parametrize("off", [-1e-9, 1e-9])
def test_needs_that_are_almost_a_whole_number_of_cells_of_the_grid_fit(off):
    """Four of a and four of b fill a node to the last, and no grid tells their needs, a billionth apart, from one another."""
    needs = {"a": 0.125 * (1 + off), "b": 0.125 * (1 - off)}
    operators = [{"name": name, "resources": {"cpu": need}, "instances": 5} for name, need in needs.items()]
    nodes = [{"name": name, "resources": {"cpu": 1.0}} for name in "xy"]
    model = build_model(compile_problem(line(operators, [("a", "b", 1.0)], nodes, utilisation={"cpu": 1.0})))
    pricer = Pricer(model, decision_order(model.together, model.instances), model.classes[0])
    assert pricer.best(np.array([1.0, 1.0]), -10.0, np.inf).patterns[-1].tolist() == [4, 4]


def test_several_supervisors_may_hold_the_same_pattern():
    """All ways to cover four instances by one, by two and by three of them, with three supervisors at most."""
    nodes = [{"name": name, "resources": {"cpu": 1.0}} for name in "xyz"]
    model = build_model(compile_problem(line([{"name": "a", "resources": {"cpu": 0.3}, "instances": 4}], [], nodes)))
    zeros, owner = np.zeros(3), np.zeros(3, np.int64)
    pool = PatternPool(owner, np.array([[1], [2], [3]]), zeros, zeros, fixed=0.0, least=0.0, limit=1.0)
    listed = list_choices(model, pool, Window(0, 3, (0,), (3,)), np.zeros((1, 1)))
    assert {tuple(sorted(row + 1 for row in choice if row >= 0)) for choice in listed.tolist()} == {(1, 3), (2, 2), (1, 1, 2)}


def test_a_grid_never_forbids_what_fits():
    random = np.random.default_rng(3)
    for fineness in (2, 7, 32):
        demand, most = random.uniform(0.05, 0.5, (6, 3)), np.full(6, 2)
        capacity = np.array([1.0, 0.7, 1.3])
        grid = resource_grid(demand, capacity, most, (fineness, 2 * fineness))
        plain = np.array(list(product(range(3), repeat=6)))
        fits = plain[(plain @ demand <= capacity).all(axis=1)]
        assert (fits @ grid.need < grid.cells).all()
    assert common_divisor(np.array([0.3, 0.45, 0.6])) == pytest.approx(0.15)


def test_bounds_hold_at_every_window():
    """Any prices prove a bound; the optimum lies above it."""
    problem = random_latency_aware_problem(3)
    model = build_model(compile_problem(problem))
    best, _ = brute_force(problem)
    order = decision_order(model.together, model.instances)
    sizes = tuple(supervisors.members.size for supervisors in model.classes)
    window = Window(0, sum(sizes), (0,) * len(sizes), sizes)
    for seed in range(5):
        worth = np.random.default_rng(seed).uniform(0.0, 0.5, model.instances.size)
        least = np.array(
            [model.price - Pricer(model, order, supervisors).best(worth, -10.0, np.inf).at_most for supervisors in model.classes]
        )
        proof = certificate(model.apart + float(worth @ model.instances), worth, least, window)
        assert proof.bound <= best + 1e-12
        assert (proof.using >= proof.bound - 1e-12).all()


def test_labels_are_the_best_of_all_permutations():
    """Against every assignment of patterns to the supervisors of their classes."""
    problem = paper_problem("T-R2", 0.7)
    compiled = compile_problem(problem)
    model = build_model(compiled)
    counts = compiled.counts(proven(problem).decision)
    used = [(c, u) for c, each in enumerate(model.classes) for u in each.members if counts[:, u].any()]
    owner, patterns = np.array([c for c, _ in used]), np.array([counts[:, u] for _, u in used])
    found = Relabelling(model).shortest(owner, patterns)
    random, shortest = np.random.default_rng(0), np.inf
    for _ in range(300):
        labels = [random.permutation(supervisors.members) for supervisors in model.classes]
        moved = np.zeros_like(counts)
        for i, c in enumerate(owner):
            moved[:, labels[c][i - np.flatnonzero(owner == c)[0]]] = patterns[i]
        shortest = min(shortest, problem.evaluate(compiled.deployment(moved)).metrics["path_latency"])
    assert found.bound == found.seconds <= shortest + 1e-12


def test_no_start_is_needed(monkeypatch):
    """Without first fits, and from the worst placement as a start."""
    monkeypatch.setattr("edrp.formulations.placement.column_generation.method.first_fits", lambda model: [])
    for seed in (3, 5, 9):
        agrees_with_brute_force(random_latency_aware_problem(seed))
    problem = paper_problem("T-R2", 0.4)
    spread = edrp.solve(problem, "even")
    best = proven(problem).objective
    assert spread.objective > 2 * best
    assert proven(problem, start=spread.deployment).objective == pytest.approx(best, abs=1e-12)


@pytest.mark.parametrize("limit", [0.0, 0.3, 1.0])
def test_honest_bounds_at_a_work_limit(limit):
    """Eighty operators are not done in a second; what is held is feasible, and the optimum lies within the bounds."""
    problem = random_problem(3, operations=41, load=0.7)
    answer = METHOD.run(problem, Options(work_limit=limit, parameters={"search": False}))
    assert answer.status == "feasible"
    assert checked(problem, answer)[1] == ""
    assert 0 < answer.bound <= 0.8713907777 <= answer.objective


def test_progress_closes_in_on_the_optimum():
    """Bounds only rise, incumbents only fall, and both end at the optimum."""
    seen = []
    answer = proven(paper_problem("T-R6", 0.7), progress=lambda *report: seen.append(report))
    incumbents = [incumbent for _, incumbent, _ in seen if incumbent is not None]
    bounds = [bound for _, _, bound in seen if bound is not None]
    assert incumbents == sorted(incumbents, reverse=True)
    assert bounds == sorted(bounds)
    assert len(set(incumbents)) > 1
    assert bounds[-1] == pytest.approx(incumbents[-1], abs=1e-9)
    assert incumbents[-1] == pytest.approx(answer.objective, abs=1e-12)
    assert [seconds for seconds, _, _ in seen] == sorted(seconds for seconds, _, _ in seen)


def test_the_rest_of_the_gap_goes_to_the_whole_program(monkeypatch):
    """Where no patterns may be listed, the bound is the relaxation's, and the compact program finishes."""
    problem = random_problem(2, operations=4, load=0.7)
    best = proven(problem).objective
    monkeypatch.setattr(BranchAndPrice, "_list", lambda *_: None)
    answer = proven(problem)
    assert answer.objective == pytest.approx(best, abs=1e-9)
    assert "compact program" in answer.notes[0]


def test_where_latency_is_most_of_the_objective_a_small_compact_program_takes_over(monkeypatch):
    """Patterns know little of latency: alone they prove 2.9 of 7.5 in 25 s, HiGHS takes one second."""
    monkeypatch.setattr("edrp.formulations.placement.column_generation.method.PATTERN_SECONDS", 0.2)
    answer = proven(random_latency_aware_problem(365))
    assert answer.objective == pytest.approx(7.498675806200343, abs=1e-9)
    assert "compact program" in answer.notes[0]


def test_an_optimal_start_is_proven_where_nothing_but_latency_counts():
    """HiGHS bounds the optimum by its start less an absolute tolerance, a ten-millionth of this objective."""
    problem = random_latency_aware_problem(375)
    optimum = edrp.solve(problem, "highs")
    started = edrp.solve(problem, METHOD.name, start=optimum.deployment)
    assert (optimum.status, started.status) == ("optimal", "optimal")
    assert started.objective == optimum.objective == pytest.approx(0.01, abs=1e-12)


@pytest.mark.parametrize("name", ["t-r1-70", "t-r4-40", "t-r7-70", "t-r8-40", "t-m2-70"])
def test_optima_of_the_papers_topologies_are_proven_again(name):
    row = edrp.library[f"latency-aware/{name}"]
    assert proven(row.problem).objective == pytest.approx(row.record.best.value, abs=1e-9)
