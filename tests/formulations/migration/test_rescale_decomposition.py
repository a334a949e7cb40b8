"""Bounds of rescalings are never above the optimum, and answers are proven where bounds and answers meet."""

import numpy as np
import pytest

import edrp
from edrp.auto.choices import choose_for_rescale
from edrp.check_problems.placement.enumeration import brute_force
from edrp.core.methods import Method, Options
from edrp.core.problem import EVERYTHING, derived_once
from edrp.core.solution import Answer
from edrp.datasets.families.migration.rescale import random_rescale, rescaled, zipf_tasks
from edrp.formulations.migration.rescale.decomposition import method as decomposition
from edrp.formulations.migration.rescale.decomposition import model as states
from edrp.formulations.migration.rescale.decomposition.combining import complete
from edrp.formulations.migration.rescale.decomposition.model import (
    SHARE_RANGES,
    build_bound_model,
    largest_rate,
    least_seconds,
    node_sets,
)
from edrp.formulations.migration.rescale.decomposition.relaxation import (
    PriceBlocks,
    PriceRelaxation,
    allowed,
    cheapest_flow,
    even_flow,
    least_prices,
    least_states,
    scales,
)
from edrp.migration.rescale.arrays import compile_rescale
from edrp.placement.latency import PolynomialLatency, TableLatency


@pytest.fixture(scope="module")
def scale_out():
    return rescaled(48, np.random.default_rng(5), zipf_tasks, 1.5)


@pytest.mark.parametrize("seed", range(30))
def test_any_allowed_prices_bound_the_optimum(seed):
    """Random prices: the bound does not depend on how they were found."""
    problem = random_rescale(seed)
    optimum, optima = brute_force(problem)
    if optimum is None or problem.current in optima:
        return
    with derived_once(problem):
        model = build_bound_model(compile_rescale(problem))
    relaxation, blocks = PriceRelaxation(model), PriceBlocks.of(model)
    random = np.random.default_rng(seed)
    for _ in range(20):
        values = random.normal(0.0, 1.0, blocks.size) * scales(model, blocks, optimum) * random.choice([0.01, 0.1, 1.0])
        bound = relaxation.evaluate(blocks, allowed(model, blocks, values)).value
        assert bound <= optimum + 1e-9


@pytest.mark.parametrize("seed", range(200, 230))
def test_bounds_without_the_program_are_never_above_the_optimum(seed, monkeypatch):
    monkeypatch.setattr(decomposition, "MAX_PROGRAM", 0)
    problem = random_rescale(seed)
    optimum, _ = brute_force(problem)
    solution = edrp.solve(problem, "range-decomposition")
    if optimum is None:
        assert solution.status in ("infeasible", "none")
        return
    assert solution.status in ("optimal", "feasible")
    assert solution.bound <= optimum + 1e-9
    assert solution.objective >= optimum - 1e-7
    if solution.status == "optimal":
        assert solution.objective == pytest.approx(optimum, abs=1e-7)


@pytest.mark.parametrize("seed", range(300, 330))
def test_bounds_over_groups_of_nodes_and_ranges_of_shares_are_never_above_the_optimum(seed, monkeypatch):
    """As on many nodes, where not every set of them is a state."""
    monkeypatch.setattr(decomposition, "MAX_PROGRAM", 0)
    monkeypatch.setattr(states, "MAX_LISTED_NODES", 1)
    problem = random_rescale(seed, nodes=(3, 4), keyed=(2, 2))
    optimum, _ = brute_force(problem)
    solution = edrp.solve(problem, "range-decomposition", rounds=80)
    if optimum is None:
        assert solution.status in ("infeasible", "none")
    else:
        assert solution.bound <= optimum + 1e-9
        assert solution.objective >= optimum - 1e-7


@pytest.mark.parametrize("seed", range(400, 420))
@pytest.mark.parametrize("listed", [4, 1], ids=["sets", "groups"])
def test_alternatives_within_the_gap_contain_the_optimum_whatever_the_prices(seed, listed, monkeypatch):
    monkeypatch.setattr(states, "MAX_LISTED_NODES", listed)
    problem = random_rescale(seed, nodes=(3, 4), keyed=(2, 2))
    optimum, optima = brute_force(problem)
    if optimum is None or problem.current in optima:
        return
    most = optimum * (1 + 1e-6) + 1e-9
    with derived_once(problem):
        model = build_bound_model(compile_rescale(problem)).with_ranges()
    relaxation, blocks = PriceRelaxation(model), PriceBlocks.of(model)
    shift = np.random.default_rng(seed).normal(0.0, 0.05, blocks.size) * scales(model, blocks, optimum)
    told = []

    def improve(replicas):
        evaluation = problem.evaluate(model.arrays.deployment(replicas))
        told.append(evaluation.objective if evaluation.feasible else np.inf)
        return most

    prices = allowed(model, blocks, even_flow(model, blocks) + shift)
    assert complete(relaxation, blocks, prices, most, improve) == most
    assert min(told) == pytest.approx(optimum, abs=1e-9)


def test_what_a_gap_leaves_open_is_listed_and_proven(monkeypatch):
    """48 tasks, for which the program over ranges is too large."""
    problem = rescaled(48, np.random.default_rng(8), zipf_tasks, 1.5)
    bounded = []
    run = decomposition._BoundedSearch._complete
    monkeypatch.setattr(
        decomposition._BoundedSearch, "_complete", lambda self, ascent: (bounded.append(self.bound), run(self, ascent))
    )
    start = edrp.solve(problem, "range-annealing", runs=2, steps=20_000).deployment
    solution = edrp.solve(problem, "range-decomposition", start=start)
    assert solution.status == "optimal"
    assert bounded[0] < 0.9999 * solution.objective


@pytest.mark.parametrize("seed", range(240, 255))
def test_tiny_problems_are_proven(seed):
    problem = random_rescale(seed)
    optimum, _ = brute_force(problem)
    solution = edrp.solve(problem, "range-decomposition")
    assert solution.status == ("infeasible" if optimum is None else "optimal")
    assert solution.objective == (None if optimum is None else pytest.approx(optimum, abs=1e-7))


def test_a_scale_out_is_bounded_closely_and_never_worse_than_its_start(scale_out):
    start = edrp.solve(scale_out, "range-annealing", runs=1, steps=5_000)
    solution = edrp.solve(scale_out, "range-decomposition", start=start.deployment)
    assert solution.objective <= start.objective + 1e-12
    assert solution.gap < 0.1


@pytest.mark.parametrize("options", [{"operator_latency": "mean"}, {"transfer": "store"}, {"ranges": "even"}, {"tolerance": 1.0}])
def test_every_option_of_the_kind_is_bounded(scale_out, options):
    problem = scale_out.replace(**options)
    solution = edrp.solve(problem, "range-decomposition", rounds=60)
    assert solution.bound is not None
    assert solution.bound > 0
    if solution.objective is not None:
        assert solution.bound <= solution.objective


def test_progress_tells_bounds_below_answers(scale_out):
    told = []
    edrp.solve(scale_out, "range-decomposition", rounds=20, progress=lambda *report: told.append(report))
    bounds = [bound for _, _, bound in told if bound is not None]
    assert bounds == sorted(bounds)
    assert all(bound <= objective for _, objective, bound in told if bound is not None and objective is not None)


def test_the_last_search_is_repeated_with_other_seeds_for_as_long_as_it_gains(scale_out):
    found = [edrp.solve(scale_out, name, **how) for name, how in (("repair-ranges", {}), ("range-annealing", {"runs": 2}))]
    worse, better = found
    assert better.objective < worse.objective * (1 - decomposition.WORTH_A_SEARCH)
    asked = []

    class Scripted(Method):
        takes = EVERYTHING
        name, kinds, summary = "scripted", ("rescale",), "for tests"

        def run(self, problem, options):
            asked.append((options.seed, options.start))
            answer = found[min(len(asked), len(found)) - 1]
            return Answer("feasible", "finished", decision=answer.deployment, objective=answer.objective)

    search = decomposition._BoundedSearch(scale_out, Options(seed=7), Scripted())
    search._search_on()
    assert [seed for seed, _ in asked] == [8, 9, 10], "the third gains nothing more"
    assert [start for _, start in asked] == [None, worse.deployment, better.deployment]


def test_load_scenarios_are_refused_and_left_to_the_search(scale_out):
    problem = scale_out.replace(scenarios=[{"factor": 0.8, "probability": 0.5}, {"factor": 1.0, "probability": 0.5}])
    assert "scenarios" in edrp.methods("rescale")["range-decomposition"].refusal(problem)
    assert "range-decomposition" not in stage_names(problem)
    assert "range-decomposition" in stage_names(scale_out)


def stage_names(problem):
    return [stage.method.name for stage in choose_for_rescale(problem).stages]


def test_groups_of_nodes_are_zones():
    zone = np.array([0, 0, 0, 1, 1, 1])
    delay = np.where(zone[:, None] == zone, 1.0, 5.0)
    np.fill_diagonal(delay, 0.0)
    sets = node_sets(delay, np.zeros((6, 6)))
    assert sets.inside.sum(axis=1).tolist() == [1] * 6 + [3, 3, 6]
    assert sets.delay[0].tolist() == [0.0, 1.0, 1.0, 5.0, 5.0, 5.0, 1.0, 5.0, 5.0]
    assert sets.delay[6, 6] == 1.0
    assert sets.delay[8, 8] == 5.0


def test_nodes_are_parted_where_links_cost_most():
    zone = np.array([0, 0, 0, 1, 1])
    price = np.where(zone[:, None] == zone, 1.0, 9.0) * (1 - np.eye(5))
    sets = node_sets(price, price)
    assert sets.part.tolist() == [True, True, True, False, False]
    assert (sets.ranged >= 0).sum() == SHARE_RANGES
    alone = sets.ranged < 0
    assert np.array_equal(sets.low[alone], sets.high[alone])


@pytest.mark.parametrize("seed", range(20))
def test_least_prices_of_streams_are_floors(seed):
    """Whatever shares two states allow, their product costs at least what is charged."""
    random = np.random.default_rng(seed)
    price = random.uniform(0.0, 1.0, (6, 6)) * (1 - np.eye(6))
    sets = node_sets(price, price)
    table = random.normal(0.0, 1.0, (6, 6))
    least = least_prices(sets, table)
    for _ in range(100):
        s, t = random.integers(len(sets.low), size=2)
        p, q = (random_shares(sets, state, random) for state in (s, t))
        assert least[s, t] <= p @ table @ q + 1e-12
    flow = cheapest_flow(sets, table, 6, 7)
    assert (flow * table).sum() == pytest.approx(least[6, 7])


def random_shares(sets, state, random):
    first, second = sets.inside[state] & sets.part, sets.inside[state] & ~sets.part
    share = random.uniform(sets.low[state], sets.high[state])
    shares = np.zeros(len(first))
    if first.any():
        shares[first] = share * random.dirichlet(np.ones(first.sum()))
    if second.any():
        shares[second] = (1 - share) * random.dirichlet(np.ones(second.sum()))
    return shares


@pytest.mark.parametrize("seed", range(5))
def test_states_are_joined_as_by_trying_all(seed):
    random = np.random.default_rng(seed)
    own = random.uniform(size=(4, 3))
    pairs = {pair: random.uniform(size=(3, 3)) for pair in [(0, 1), (1, 2), (0, 2), (2, 3)]}
    values = {
        states: sum(own[i, s] for i, s in enumerate(states)) + sum(table[states[i], states[j]] for (i, j), table in pairs.items())
        for states in np.ndindex(3, 3, 3, 3)
    }
    least, chosen = least_states(own, pairs)
    assert least == pytest.approx(min(values.values()))
    assert values[tuple(chosen.tolist())] == pytest.approx(least)


def test_floors_of_latencies_that_fall_and_rise():
    table = TableLatency(rates=[0.0, 10.0, 20.0, 30.0], latencies=[0.5, 0.1, 0.2, 0.4])
    assert largest_rate(table, 0.15, 1, 100.0) == pytest.approx(15.0)
    assert largest_rate(table, 0.05, 1, 100.0) < 0
    assert least_seconds(table, 0.0, 1) == 0.1
    rising = PolynomialLatency(coefficients=[0.1, 0.01])
    assert largest_rate(rising, 0.5, 1, 100.0) == pytest.approx(40.0)
    assert least_seconds(PolynomialLatency(coefficients=[0.1, -0.001]), 5.0, 1) == 0.0
