"""A problem is compiled once in a `solve`, and nothing of it stays behind."""

import gc
import weakref
from collections import Counter

import pytest

import edrp
from edrp.core.problem import derived, derived_once
from edrp.datasets.families.placement.random_edrp import random_problem
from edrp.datasets.families.placement.random_latency_aware import random_latency_aware_problem
from edrp.placement import compilation

FEASIBLE = 4


@pytest.fixture
def compiled(monkeypatch) -> Counter:
    """How often each problem was compiled, by its identity."""
    counts: Counter = Counter()
    alive = []  # so that no other problem takes the identity of one that is gone
    used_nodes = compilation._used_nodes

    def counted(problem, operators):
        alive.append(problem)
        counts[id(problem)] += 1
        return used_nodes(problem, operators)

    monkeypatch.setattr(compilation, "_used_nodes", counted)
    return counts


PLACING = ["auto", "eliminate", "highs", "annealing", "greedy", "iterated-local-search"]
LATENCY_AWARE = ["auto", "column-generation", "highs", "iterated-local-search"]


@pytest.mark.parametrize(
    ("draw", "seed", "method"),
    [
        *((random_problem, FEASIBLE, method) for method in PLACING),
        *((random_latency_aware_problem, 3, method) for method in LATENCY_AWARE),
    ],
)
def test_a_problem_is_compiled_once_in_a_solve(draw, seed, method, compiled):
    problem = draw(seed)
    edrp.solve(problem, method)
    assert compiled == {id(problem): 1}


def test_variants_of_an_infeasible_problem_are_compiled_once_each(compiled):
    problem = random_problem(3)
    impossible = problem.replace(limits=problem.limits.replace(response_time=1e-9))
    assert edrp.solve(impossible, "eliminate").status == "infeasible"
    assert set(compiled.values()) == {1}


def test_nothing_of_a_problem_stays_behind():
    problem = random_problem(3)
    edrp.solve(problem, "greedy")
    gone = weakref.ref(problem)
    del problem
    gc.collect()
    assert gone() is None


def test_results_are_shared_inside_a_block_only():
    calls = []

    @derived
    def length(text):
        calls.append(text)
        return len(text)

    one, other = "one", "other"
    with derived_once(one):
        assert length(one) == length(one) == 3
        assert length(other) == length(other) == 5, "another problem is derived each time"
        with derived_once(one):
            assert length(one) == 3
        with derived_once(other):
            assert length(other) == length(other) == 5
        assert length(one) == 3
    assert length(one) == 3
    assert calls == [one, other, other, other, one]
