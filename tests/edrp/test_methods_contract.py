"""Every registered method keeps every clause of the contract; a new one cannot be forgotten."""

import hashlib
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

import edrp
from edrp import testing
from edrp.backends import OWN_BACKENDS
from edrp.check_problems import CheckProblems
from edrp.core.kinds import get_kind
from edrp.core.methods import Method, Options, methods
from edrp.core.problem import EVERYTHING
from edrp.core.solution import Answer
from edrp.mdp.policy.methods import StoredPolicy
from edrp.mdp.policy.pmc import Threads
from edrp.mdp.policy.process import PolicyModel
from edrp.mdp.policy.store import precompute_policy
from edrp.testing import CHECKS, check_method


class StoredPolicyOfEachProblem(StoredPolicy):
    """`stored-policy` with a folder for every problem, precomputed when it is first needed."""

    def __init__(self, folder: Path):
        self.folder = folder

    def refusal(self, problem):
        self.precomputed(problem)  # before the clock of the time limit starts
        return super().refusal(problem)

    def run(self, problem, options: Options) -> Answer:
        return super().run(problem, replace(options, parameters={"policy": self.precomputed(problem)}))

    def precomputed(self, problem) -> Path:
        folder = self.folder / hashlib.sha256(problem.model_dump_json().encode()).hexdigest()
        model = PolicyModel.of(problem, problem.reachable_counts)
        if 0 not in model.size.states and not folder.exists():
            precompute_policy(model, Threads(1), folder)
        return folder


WITH_PARAMETERS = {"stored-policy": StoredPolicyOfEachProblem}
"""Methods that cannot run without parameters: with those that each problem needs, made in a folder of the test."""


OTHERS = [name for name in OWN_BACKENDS if name != "highs"]
"""Methods that solve the programs of `highs` by another library."""

PARTS = {name: slice(number % 3, None, 3) for number, name in enumerate(OTHERS)}
"""Each solves a third of the problems; where no optimum is compared, of a third of the kinds."""

FIFTHS = {name: slice(number, None, 15) for number, name in enumerate(OTHERS)}
"""Every fifth one of these problems, some with rules among them, which is what the default tests solve of the feasible ones."""

LONG = ("feasible_problems", "work_limit")
"""Clauses that `make test-slow` checks on all problems, and with the work limits of the package."""


@cache
def shared_problems(kind: str) -> CheckProblems:
    """Problems that are made once, and their optima found once, for all methods and clauses."""
    problems, optima = get_kind(kind).check_problems(), {}
    find = problems.optimum

    def optimum(problem):
        key = problem.model_dump_json()
        if key not in optima:
            optima[key] = find(problem)
        return optima[key]

    problems.optimum = optimum
    for made in ("feasible", "large"):
        setattr(problems, made, cache(getattr(problems, made)))
    return problems


@pytest.fixture
def keep(tmp_path, monkeypatch):
    """Check a clause on a method; on a part of what it is about unless it is `whole`."""

    def check(name: str, clause: str, *, whole: bool) -> None:
        part = PARTS.get(name, slice(None))
        kinds = slice(None) if clause == "described" or clause.endswith("problems") else part
        if not whole:
            part = FIFTHS.get(name, slice(0, None, 5)) if clause == "feasible_problems" else part
            kinds = slice(None, None, 2) if clause == "work_limit" and kinds == slice(None) else kinds
            monkeypatch.setattr(testing, "WORK_LIMITS", (testing.WORK_LIMITS[0], 0.03))
        monkeypatch.setattr(testing, "PART", part)
        monkeypatch.setattr(testing, "CHANGING", 1)
        monkeypatch.setattr(testing, "SEARCHED", 0.03)
        monkeypatch.setattr(testing, "_check_problems", lambda method: map(shared_problems, method.kinds[kinds]))
        CHECKS[clause](WITH_PARAMETERS[name](tmp_path) if name in WITH_PARAMETERS else methods()[name])

    return check


NAMES = [pytest.param(name, marks=pytest.mark.xdist_group(name)) for name in methods()]
"""All clauses of one method are for one worker, which imports its modules once."""

CASES = [
    pytest.param(name, clause, marks=[pytest.mark.xdist_group(name), *[pytest.mark.slow] * slow])
    for name in methods()
    for clause in CHECKS
    for slow in [name in OTHERS and not clause.endswith("feasible_problems")]  # what they share with `highs` is checked there
]


@pytest.mark.parametrize(("name", "clause"), CASES)
def test_method_keeps_the_contract(name, clause, keep):
    keep(name, clause, whole=False)


@pytest.mark.slow
@pytest.mark.parametrize("clause", LONG)
@pytest.mark.parametrize("name", NAMES)
def test_method_keeps_the_long_clauses_in_full(name, clause, keep):
    keep(name, clause, whole=True)


class Cheat(Method):
    """Greedy, with its answers spoiled by `spoil`."""

    takes = EVERYTHING
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
        (lambda answer: replace(answer, status="optimal", bound=answer.objective), "proves"),
        (lambda answer: replace(answer, bound=1e3), "bound"),
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
