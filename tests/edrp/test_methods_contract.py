"""Every registered method keeps every clause of the contract; a new one cannot be forgotten."""

from __future__ import annotations

from dataclasses import replace

import pytest

import edrp
from edrp.core.kinds import get_kind
from edrp.core.methods import Method, Options, methods
from edrp.core.solution import Answer
from edrp.testing import CHECKS, check_method


# The clauses of one method in one worker, which compiles its kernels once.
@pytest.mark.parametrize("clause", CHECKS)
@pytest.mark.parametrize("name", [pytest.param(name, marks=pytest.mark.xdist_group(name)) for name in methods()])
def test_method_keeps_the_contract(name, clause):
    CHECKS[clause](methods()[name])


class Cheat(Method):
    """Greedy, with its answers spoiled by `spoil`."""

    name = "cheat"
    kinds = ("edrp",)
    summary = "spoils what greedy finds"

    def __init__(self, spoil):
        self.spoil = spoil

    def run(self, problem, options: Options) -> Answer:
        return self.spoil(methods()["greedy"].run(problem, options))


@pytest.mark.parametrize(
    ("spoil", "complaint"),
    [
        (lambda answer: replace(answer, objective=0.0), "claimed objective"),
        (lambda answer: replace(answer, status="infeasible", decision=None, objective=None), "calls the feasible problem"),
        (lambda answer: replace(answer, status="optimal"), "proves|claimed optimal"),
        (lambda answer: replace(answer, bound=1e3), "bound"),
        (lambda answer: replace(answer, decision=None), "holds nothing"),
    ],
)
def test_contract_catches_a_method_that_breaks_it(spoil, complaint):
    with pytest.raises(AssertionError, match=complaint):
        check_method(Cheat(spoil))


def test_degenerate_problems_are_what_they_are_called():
    problems = get_kind("edrp").check_problems().degenerate()
    assert len(problems["one node"].network.nodes) == 1
    assert len(problems["one operator"].application.operators) == 1
    assert problems["no traffic"].application.load("sink") == 0.0
    assert edrp.solve(problems["no room to spare"], "greedy").metrics["cost"] == 2.0
