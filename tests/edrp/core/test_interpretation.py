"""Kernels that Python runs itself: they find the same as compiled ones, and begin again compiled where it is too much work."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import edrp
from edrp.core.budget import LOOK, TooMuchWorkError, at_most, spend
from edrp.core.kernels import SMALL, InterpretationError, inlined, interpreted_first, interpreting, kernel
from edrp.core.kinds import get_kind
from edrp.core.methods import Options, methods

LITTLE = 0.02
"""Units of work that are interpreted to be compared; two seconds."""


@inlined
def half(x):
    return x / 2


@kernel
def halves(values):
    total = 0.0
    for x in values:
        total += half(x)
    return total


def test_an_interpreted_kernel_is_not_compiled():
    with interpreting():
        assert halves(np.array([1.0, 2.0])) == 1.5
        assert half(3.0) == 1.5
    assert "dispatcher" not in vars(halves)


@pytest.mark.parametrize(("units", "ways"), [(SMALL - LOOK, ["interpreted"]), (SMALL + LOOK, ["interpreted", "compiled"])])
def test_work_begins_again_compiled_once_it_is_more_than_a_little(units, ways):
    seen = []

    def work():
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(type(halves), "dispatcher", lambda self, values: "compiled", raising=True)
            seen.append("compiled" if halves(np.array([1.0])) == "compiled" else "interpreted")
        spend(units)
        return "done"

    assert interpreted_first(work) == "done"
    assert seen == ways


def test_a_kernel_that_python_refuses_is_compiled():
    ways = []

    def work():
        ways.append(len(ways))
        if len(ways) == 1:
            halves(np.array(["a"], object))
        return "done"

    assert interpreted_first(work) == "done"
    assert ways == [0, 1]
    with interpreting(), pytest.raises(InterpretationError, match="halves: "):
        halves(np.array(["a"], object))


def test_errors_of_the_work_itself_are_not_repeated():
    calls = []

    def work():
        calls.append(1)
        raise ValueError("wrong")

    with pytest.raises(ValueError, match="wrong"):
        interpreted_first(work)
    assert calls == [1]


@pytest.mark.parametrize("kind", ["migration", "migration-sequence", "mapping", "migration-policy"])
def test_interpreted_and_compiled_kernels_decide_the_same(kind):
    problems = get_kind(kind).check_problems()
    names = [name for name, method in methods(kind).items() if method.interpreted_first and name != "stored-policy"]
    assert names
    compared = 0
    for label, problem in {**problems.feasible(), **problems.degenerate()}.items():
        for name in names:
            method = methods(kind)[name]
            if method.refusal(problem) is not None:
                continue
            try:
                with interpreting(), at_most(LITTLE):
                    interpreted = method.run(problem, Options(seed=5))
            except TooMuchWorkError:
                continue
            with interpreting(False):
                compiled = method.run(problem, Options(seed=5))
            assert interpreted.objective == compiled.objective, (label, name)
            assert pickle.dumps(interpreted.decision) == pickle.dumps(compiled.decision), (label, name)
            compared += 1
    assert compared >= 3


def test_a_small_problem_is_solved_without_the_compiler(examples):
    solution = edrp.solve(edrp.load(examples / "migration.json"))
    assert solution.status == "optimal"
    assert solution.seconds["compile"] == 0.0
