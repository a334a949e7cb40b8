"""Bounds and courses beyond what can be listed, against the dynamic program over all vectors where that is possible."""

import numpy as np
import pytest

from edrp.core.budget import running
from edrp.core.methods import Options, get_method, run_method
from edrp.mdp.placement.vector_costs import vector_costs
from edrp.mdp.placement.vector_method import vector_program
from edrp.mdp.placement.vector_search import bounded_course
from edrp.placement.compilation import compile_problem
from edrp.placement.sequence import EdrpSequence

CHAIN, DIAMOND = [(0, 1), (1, 2), (2, 3)], [(0, 1), (0, 2), (1, 3), (2, 3)]


def day(streams, seed, *, replicas=4, periods=8, slots=None, change=10.0, initial=None, operators=4):
    """Operators that need 35 to 80 % of their replicas at the peak of a day, on one node."""
    random = np.random.default_rng(seed)
    rates = 60 - 40 * np.cos(np.arange(periods) / periods * 2 * np.pi) + random.uniform(0, 10, periods)
    described = [
        {
            "name": f"o{i}",
            "latency": {"model": "mm1", "service_rate": float(110 / replicas / random.uniform(0.35, 0.8))},
            "external_rate": 100.0 if i == 0 else 0.0,
            "selectivity": 0.5 if len([s for s in streams if s[0] == i]) > 1 else 1.0,
            "cost": float(random.uniform(0.5, 1.5)),
            "max_replicas": replicas,
        }
        for i in range(operators)
    ]
    return EdrpSequence(
        application={"operators": described, "streams": [{"source": f"o{i}", "target": f"o{j}"} for i, j in streams]},
        network={"nodes": [{"name": "a", "resources": slots}]},
        limits={"response_time": 20.0, "cost": 2.0 * operators * replicas},
        periods=[{"duration": 600.0, "external_rates": {"o0": float(rate)}} for rate in rates],
        changes={"change": change, "started_replicas": 1.0},
        initial=initial,
    )


def both(problem, max_vectors=0.0):
    """The course of all vectors, and the one by prices."""
    costs = vector_costs(problem)
    program = vector_program(problem, compile_problem(problem.base), costs)
    return program.best_course(), bounded_course(costs, program, 1e-9, lambda: False, max_vectors)


def limited(problem, factor=1.2):
    """The problem with a limit on response time of `factor` times what the fastest vectors take in the worst period."""
    hastiest = vector_costs(problem).response_times(0, len(problem.periods)).min(axis=1).max()
    return problem.model_copy(update={"limits": problem.limits.model_copy(update={"response_time": factor * hastiest})})


@pytest.mark.parametrize("seed", range(4))
def test_on_a_chain_prices_prove_the_optimum(seed):
    initial = {f"o{i}": ["a"] * 7 for i in range(4)} if seed % 2 else None
    exact, found = both(day(CHAIN, seed, change=[0.0, 2.0, 20.0, 5.0][seed], initial=initial))
    assert found.value == pytest.approx(exact.value, rel=1e-9)
    assert found.bound == pytest.approx(exact.value, rel=1e-5)
    assert found.bound <= exact.value * (1 + 1e-12)


@pytest.mark.parametrize(("streams", "slots"), [(CHAIN, 9), (DIAMOND, None), (DIAMOND, 9), ([(0, 1), (0, 2), (0, 3)], 9)])
def test_bounds_hold_where_limits_and_branches_join_operators(streams, slots):
    exact, found = both(day(streams, 0, slots=slots))
    assert found.bound <= exact.value * (1 + 1e-9)
    assert found.value >= exact.value * (1 - 1e-9)
    assert found.value - found.bound <= 0.05 * found.value


JOINED = [(0, 1), (0, 2), (1, 3), (2, 3), (1, 4), (3, 4)]
SIX = [(0, i) for i in range(1, 7)]
SLOW = pytest.param(JOINED, 1, marks=pytest.mark.slow)


@pytest.mark.parametrize(("streams", "seed"), [(DIAMOND, 1), (JOINED, 0), SLOW, ([(0, 1), (0, 2), (0, 3)], 2), (SIX, 0)])
def test_branches_leave_a_small_gap(streams, seed):
    """Where branches join within others, operators have several nodes, and a limit may bind."""
    problem = day(streams, seed, operators=1 + max(target for _, target in streams), change=2.0 + 8.0 * seed)
    for each, gap in ((problem, 0.005), (limited(problem), 0.025)):
        exact, found = both(each)
        assert found.bound <= exact.value * (1 + 1e-9)
        assert found.value >= exact.value * (1 - 1e-9)
        assert found.value - found.bound <= gap * found.value


def test_a_period_that_no_vector_serves_in_time_is_a_proof():
    problem = day(DIAMOND, 0)
    hasty = problem.model_copy(update={"limits": problem.limits.model_copy(update={"response_time": 1e-3})})
    assert both(hasty)[1].bound == np.inf


@pytest.mark.parametrize("response_time", [20.0, None])
def test_a_period_that_overloads_an_operator_is_a_proof(response_time):
    problem = day([*SIX, *((i, 7) for i in range(1, 7))], 0, operators=8)
    limits = problem.limits.model_copy(update={"response_time": response_time})
    assert both(problem.model_copy(update={"limits": limits}))[1].bound == np.inf


@pytest.mark.parametrize("problem", [day(DIAMOND, 0, slots=11), limited(day(DIAMOND, 3, change=20.0, slots=13), 1.6)])
def test_what_the_bound_leaves_is_listed(problem):
    exact, found = both(problem, max_vectors=4**4)
    assert found.value == pytest.approx(exact.value)
    assert found.bound == pytest.approx(exact.value)


def test_more_vectors_than_can_be_listed():
    """Eight operators with sixteen replicas; the answer is evaluated like any other, and a work limit is kept."""
    problem = day([(i, i + 1) for i in range(7)], 1, replicas=16, periods=24, operators=8, slots=127)
    method = get_method("replica-vectors")
    answer = run_method(method, problem, Options())
    assert answer.size["vectors"] > 10**9
    assert answer.status == "optimal"
    assert problem.evaluate(answer.decision).objective == pytest.approx(answer.objective)
    with running(work_limit=0.02) as run:
        stopped = run_method(method, problem, Options(work_limit=0.02))
    assert run.work < 0.2
    assert stopped.bound <= answer.objective * (1 + 1e-9)


def test_a_first_course_that_breaks_a_limit_does_not_end_the_search():
    exact, found = both(limited(day(DIAMOND, 0, periods=48, change=2.0)))
    assert exact.value * (1 - 1e-9) <= found.value <= 1.01 * exact.value
