"""A refusal says why, and names a method that takes the problem, if there is one."""

import pickle
import re

import pytest

import edrp
from edrp.core.errors import (
    EdrpError,
    Fault,
    InvalidArgumentError,
    KernelsMissingError,
    NoSuchFileError,
    PolicyError,
    ProblemTooLargeError,
    RefusedError,
    UnsupportedProblemError,
    UnwritableError,
)
from edrp.core.kinds import kinds
from edrp.core.methods import alternative, get_method, methods

STORM = edrp.EdrpSequence(
    application={"operators": [{"name": "work", "usage": {"io": {"per_tuple": 0.5}}, "external_rate": 0.1, "cost": 1.0}]},
    network={"nodes": [{"name": "a", "capacity": {"io": 1.0}}]},
    reconfiguration="storm",
    weights={"cost": 0.75, "peak_load": 0.25},
    limits={"cost": 1000.0, "downtime": 400.0},
    periods=[{"duration": 600.0}, {"duration": 60.0, "external_rates": {"work": 0.2}}],
)
"""No exact method takes peak loads together with Storm's downtime."""


@pytest.mark.parametrize("kind", list(kinds()))
def test_every_refusal_names_a_method_that_takes_the_problem(kind):
    problems = kinds()[kind].check_problems()
    drawn = [*list(problems.feasible().values())[-2:], *problems.degenerate().values()]
    for problem in drawn:
        for name, method in methods(kind).items():
            if method.refusal(problem) is not None:
                with pytest.raises(UnsupportedProblemError) as refused:
                    method.resolve(problem)
                other = re.search(r"; use ([\w-]+)(, which proves nothing)?$", str(refused.value))
                assert other, f"{name}: {refused.value}"
                named = get_method(other[1], kind)
                assert named.refusal(problem) is None
                assert named.exact == (other[2] is None)


@pytest.mark.parametrize("method", ["priced-course", "highs", "replica-vectors"])
def test_methods_that_refuse_the_same_problem_do_not_name_one_another(method):
    with pytest.raises(UnsupportedProblemError, match=r"; use myopic, which proves nothing$"):
        edrp.solve(STORM, method)


def test_auto_answers_where_no_exact_method_takes_the_problem():
    solution = edrp.solve(STORM)
    assert (solution.status, solution.method) == ("optimal", "auto: myopic")


def test_a_problem_that_no_method_takes_is_refused_as_one(monkeypatch):
    for method in {type(method) for method in methods("migration").values()}:
        monkeypatch.setattr(method, "refusal", lambda self, problem: "no")
    problem = next(iter(kinds()["migration"].check_problems().feasible().values()))
    with pytest.raises(UnsupportedProblemError, match=r"^no; no method takes this problem$"):
        edrp.solve(problem, "ssm")


def test_what_is_too_large_names_only_methods_of_its_kind(word_count):
    assert alternative(word_count, "highs", ("ssm", "greedy")) == "use greedy, which proves nothing"
    assert alternative(STORM, "highs", ("greedy", "annealing")) == ""
    error = pickle.loads(pickle.dumps(ProblemTooLargeError("too large", "narrow it", ("greedy",))))
    assert isinstance(error, RefusedError)
    assert (str(error), error.instead) == ("too large; narrow it", ("greedy",))


class NamedError(EdrpError):
    def __init__(self, name, *, why):
        self.name, self.why = name, why
        super().__init__(f"{name}: {why}")


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
@pytest.mark.parametrize(
    "error",
    [
        InvalidArgumentError([Fault("seed", "null", "must be a whole number")], "edrp.solve"),
        KernelsMissingError("install edrp again"),
        NoSuchFileError("a.json", "is it b.json?"),
        PolicyError("no room", action="place"),
        UnwritableError("a.json", "is a folder"),
        NamedError("mine", why="made of words"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_errors_come_back_from_another_process_as_they_were(error, protocol):
    known = pickle.loads(pickle.dumps(error, protocol))
    assert (type(known), str(known), vars(known), known.args) == (type(error), str(error), vars(error), error.args)
