"""Rules of problems: searches and baselines never return a broken one, and a start that breaks one is repaired."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import edrp
from edrp import _native
from edrp.core.methods import Options, get_method, run_method
from edrp.core.problem import derived_once
from edrp.core.solution import Answer
from edrp.core.tolerances import LIMIT_SLACK
from edrp.datasets.families.placement.random_edrp import random_problem
from edrp.datasets.families.placement.random_latency_aware import random_latency_aware_problem
from edrp.datasets.families.placement.rules import with_rules
from edrp.heuristics.placement.deployment_starts import given_starts, random_fit
from edrp.heuristics.placement.filling import Filling, RuleRoom
from edrp.heuristics.placement.problem_arrays import evaluation_units
from edrp.heuristics.placement.rule_rows import rule_rows, searched_rows
from edrp.heuristics.placement.search.methods import make_engine
from edrp.placement.compilation import compile_problem
from edrp.placement.deployment import Deployment

SEARCHES = ("annealing", "ant-system", "hybrid", "hill-climbing", "iterated-local-search")
SHORT = {
    "annealing": {"anneals": 2, "steps": 200},
    "ant-system": {"ants": 10, "iterations": 10},
    "hybrid": {"ants": 10, "iterations": 10},
    "iterated-local-search": {"kicks": 10},
    "random": {"samples": 10},
}
"""Parameters with which methods take milliseconds."""

SIZES = {"operators": (2, 3), "nodes": (2, 4), "combinations_limit": 2e3}


def tiny(seed: int, *, hard: bool = False) -> edrp.EdrpProblem | edrp.LatencyAwareProblem:
    """A problem with rules, of one kind or the other, that enumeration solves."""
    problem = random_problem(seed, **SIZES) if seed % 2 else random_latency_aware_problem(seed, **SIZES)
    return with_rules(problem, seed, hard=hard)


def spread_out(rules: list[dict], **fields: object) -> edrp.EdrpProblem:
    """Two operators of two replicas each, on four nodes of two zones, of which the first is large enough for all."""
    nodes = [{"name": f"n{u}", "zone": f"z{u // 2}", "resources": 8.0 - 2 * u} for u in range(4)]
    operators = [
        {"name": name, "min_replicas": 2, "max_replicas": 2, "cost": 1.0, "resources": 2.0, "external_rate": 1.0}
        for name in ("read", "write")
    ]
    application = {"operators": operators, "streams": [{"source": "read", "target": "write"}]}
    network = {"nodes": nodes, "within_zone": {"delay": 0.01}, "between_zones": {"delay": 0.1}}
    document = {"weights": {"response_time": 1.0}, "limits": {"response_time": 1.0}, **fields}
    return edrp.EdrpProblem(application=application, network=network, rules=rules, **document)


def answered(method: str, problem: edrp.EdrpProblem | edrp.LatencyAwareProblem, **options: Any) -> Answer:
    """What a method answers, before `solve` verifies it."""
    with derived_once(problem):
        parameters = SHORT.get(method, {})
        return run_method(get_method(method, problem.kind), problem, Options(parameters=parameters, **options))


@settings(max_examples=30)
@given(seed=st.integers(0, 300), draw=st.integers(0, 3))
def test_kernels_judge_rules_as_their_arrays_do(seed: int, draw: int) -> None:
    compiled = compile_problem(tiny(seed))
    counts = np.random.default_rng(draw).integers(0, 3, compiled.candidate.shape)
    rows = rule_rows(compiled, 2.0)
    broken, breach, price = _native.judge_rules(rows, counts)
    rules = searched_rows(compiled)
    violated = rules.violations(counts)
    hard = np.isinf(rules.penalty) & (violated > rules.slack)
    assert broken == hard.sum()
    assert breach == pytest.approx(LIMIT_SLACK * (violated[hard] / rules.slack[hard]).sum())
    assert price == pytest.approx(rules.price(counts) / 2)
    allowed = np.minimum(counts, compiled.max_replicas[:, None])
    assert rules.price(allowed) <= rules.price_ceiling(compiled.max_replicas) * (1 + 1e-9)


@settings(max_examples=25)
@given(seed=st.integers(0, 300), draw=st.integers(0, 3))
def test_room_is_up_to_where_a_rule_is_exceeded_for_good(seed: int, draw: int) -> None:
    """Rows without negative coefficients are the ones that replicas placed later cannot make up for."""
    compiled = compile_problem(tiny(seed, hard=True))
    rules = compiled.rules
    counts = np.random.default_rng(draw).integers(0, 2, compiled.candidate.shape) * compiled.candidate
    final = np.isfinite(rules.upper) & ((rules.matrix.toarray() >= 0).all(axis=1) if len(rules) else False)

    def exceeded(placed: np.ndarray) -> np.ndarray:
        on = placed.ravel() > 0
        values = rules.matrix @ np.concatenate([placed.ravel(), on, rules.members @ on > 0])
        return final & (values > rules.upper + 1e-9)

    for i, nodes in enumerate(map(compiled.candidates, range(len(compiled.operators)))):
        filling = Filling.of(compiled, counts.copy())
        filling.free[:] = np.inf
        for u, room in zip(nodes, filling.room(i, nodes), strict=True):
            for q in range(1, int(compiled.max_replicas[i]) + 1):
                more = counts.copy()
                more[i, u] += q
                touched = ~np.isclose(rules.matrix @ _columns(rules, more), rules.matrix @ _columns(rules, counts))
                assert (q <= room) == (not (exceeded(more) & touched).any()), (i, u, q)


def _columns(rules, counts: np.ndarray) -> np.ndarray:
    on = counts.ravel() > 0
    return np.concatenate([counts.ravel(), on, rules.members @ on > 0]).astype(float)


RULES = {
    "apart": {"rule": "apart", "operators": ["read", "write"], "per": "node"},
    "closed": {"rule": "forbidden", "operators": ["read", "write"], "nodes": ["n0"]},
    "zones": {"rule": "at_least_zones", "operators": ["write"], "zones": 2},
    "spread": {"rule": "spread", "operators": ["read", "write"], "per": "zone", "most": 2},
}


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("method", SEARCHES)
def test_a_start_that_breaks_a_rule_is_repaired(method: str, rule: str) -> None:
    start = Deployment({"read": ["n0", "n0"], "write": ["n0", "n0"]})
    problem = spread_out([{"name": rule, **RULES[rule]}])
    assert not problem.evaluate(start).feasible
    answer = answered(method, problem, start=start)
    assert answer.status == "feasible"
    running = problem.replace(current=start)
    assert answered(method, running).status == "feasible"


def test_a_start_keeps_what_rules_leave_where_it_is() -> None:
    problem = spread_out([{"name": "closed", "rule": "forbidden", "operators": ["read"], "nodes": ["n0"]}])
    start = Deployment({"read": ["n0", "n2"], "write": ["n0", "n0"]})
    compiled = compile_problem(problem)
    (counts,) = given_starts(compiled, Options(start=start))
    assert compiled.deployment(counts) == Deployment({"read": ["n1", "n2"], "write": ["n0", "n0"]})
    assert given_starts(compile_problem(spread_out([])), Options(start=start))[0].tolist() == [[1, 0, 1, 0], [2, 0, 0, 0]]


@pytest.mark.parametrize("method", ["first-fit", "largest-node", "greedy", "random"])
@pytest.mark.parametrize("rule", RULES)
def test_simple_methods_keep_to_rules(method: str, rule: str) -> None:
    assert edrp.solve(spread_out([{"name": rule, **RULES[rule]}]), method).status == "feasible"


def test_first_fit_goes_on_where_a_rule_ends_the_room() -> None:
    """The operator that is placed second goes to the first node of the second zone: no replica of the first one moves."""
    plain, ruled = (edrp.solve(spread_out(rules), "first-fit").deployment for rules in ([], [{"name": "s", **RULES["spread"]}]))
    assert plain == Deployment({"read": ["n0", "n0"], "write": ["n0", "n0"]})
    assert ruled == Deployment({"read": ["n2", "n2"], "write": ["n0", "n0"]})


def test_an_imitated_scheduler_answers_with_the_rule_that_it_does_not_know() -> None:
    answer = edrp.solve(spread_out([{"name": "two", "rule": "spread", "operators": ["read"], "per": "zone", "most": 1}]), "even")
    assert answer.status == "none"
    assert "rule 'two'" in answer.notes[-1]


def test_a_price_that_dwarfs_the_objective_does_not_pass_for_infeasible() -> None:
    problem = spread_out([{"name": "dear", "penalty": 1e6, "rule": "forbidden", "zones": ["z0", "z1"]}])
    answer = answered("annealing", problem)
    assert answer.status == "feasible"
    assert answer.objective >= 1e6


def test_rules_count_as_work_and_only_where_there_are_any() -> None:
    plain, ruled = (compile_problem(spread_out(rules)) for rules in ([], [{"name": "s", **RULES["spread"]}]))
    assert evaluation_units(ruled) > evaluation_units(plain)
    assert rule_rows(plain, 1.0).lower.size == 0
    assert random_fit(plain, np.random.default_rng(0)).shape == (2, 4)


def test_counts_give_way_to_whole_deployments_where_there_are_rules() -> None:
    """The engine of latency-aware placement exchanges equal nodes, which rules tell apart."""
    nodes = [{"name": f"host{u}", "resources": {"cpu": 4.0}} for u in range(4)]
    operators = [{"name": name, "instances": 3, "resources": {"cpu": 1.0}} for name in ("read", "write")]
    problem = edrp.LatencyAwareProblem(
        application={"operators": operators, "streams": [{"source": "read", "target": "write", "rate": 2.0}]},
        network={"nodes": nodes, "between_zones": {"delay": 0.0}},
    )
    ruled = problem.replace(rules=[{"name": "a", "rule": "apart", "operators": ["read"], "per": "node"}])
    engines = [type(make_engine(compile_problem(each))).__name__ for each in (problem, ruled)]
    assert engines == ["CountEngine", "DeploymentEngine"]


@pytest.mark.parametrize("seed", range(12))
def test_room_and_prices_do_not_depend_on_what_was_counted_before(seed):
    compiled = compile_problem(tiny(seed))
    generator, used = np.random.default_rng(seed), RuleRoom(compiled)
    for most in (0, 1, 3, 1, 0):
        counts = generator.integers(most + 1, size=compiled.candidate.shape)
        for i in range(len(counts)):
            fresh = RuleRoom(compiled)
            assert used.room(counts, i, 3).tolist() == fresh.room(counts, i, 3).tolist()
            assert used.prices(counts, i).tolist() == fresh.prices(counts, i).tolist()
