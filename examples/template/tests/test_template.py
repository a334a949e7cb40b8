"""The package keeps the contract, and everything that edrp has works with it."""

from __future__ import annotations

from pathlib import Path

import pytest
from edrp_template.backend import BRANCH_AND_BOUND
from edrp_template.kind import BROKERS
from edrp_template.metric import FullestNode

import edrp
import edrp.testing

EXAMPLE = Path(__file__).resolve().parents[1] / "brokers.json"


@pytest.mark.parametrize("name", ["one-node-descent", "heaviest-first"])
def test_methods_keep_the_contract(name: str) -> None:
    """On the check problems of every kind that the method takes."""
    edrp.testing.check_method(edrp.methods()[name])


def test_the_backend_keeps_the_contract() -> None:
    """On small random programs."""
    edrp.testing.check_backend(BRANCH_AND_BOUND)


def test_the_metric_keeps_the_contract() -> None:
    """On the check problems of placements."""
    edrp.testing.check_metric(FullestNode)


def test_the_program_proves_what_brute_force_finds() -> None:
    """On problems small enough to be enumerated."""
    problems = BROKERS.check_problems()
    for problem in problems.feasible().values():
        solution = edrp.solve(problem)
        assert solution.status == "optimal"
        assert solution.objective == pytest.approx(problems.optimum(problem))


def test_the_example_moves_one_partition() -> None:
    """The assignment and both metrics, worked out by hand."""
    problem = edrp.load(EXAMPLE)
    solution = edrp.solve(problem)
    assert solution.assignment == {**problem.current, "clicks-0": "b1"}
    assert solution.metrics == {"peak_load": 0.8, "moved": 8e9}


def test_an_assignment_of_something_else_is_refused() -> None:
    """The message names the broker that is not there."""
    problem = edrp.load(EXAMPLE)
    with pytest.raises(edrp.errors.InvalidInstanceError, match="there is no broker b9"):
        problem.replace(current={**problem.current, "clicks-0": "b9"})
