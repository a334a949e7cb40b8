"""Kernels that Python runs itself: they find the same as compiled ones, and are given up where they take too long."""

from __future__ import annotations

import pickle
import threading
import time

import numpy as np
import pytest

import edrp
from edrp.core import kernels
from edrp.core.kernels import (
    InterpretationTooSlowError,
    carried,
    compiling_at_once,
    inlined,
    interpreted_first,
    interpreting,
    kernel,
)
from edrp.core.kinds import get_kind
from edrp.core.methods import Options, methods

PATIENT = 30.0


@inlined
def half(x):
    return x / 2


@kernel
def halves(values):
    total = 0.0
    for x in values:
        total += half(x)
    return total


@kernel
def endless(values):
    while values[0] > 0:
        values[0] += 1
    return values[0]


@pytest.fixture
def fresh(monkeypatch):
    """A process that has interpreted nothing yet."""
    monkeypatch.setattr(kernels, "_used", 0.0)
    monkeypatch.setattr(kernels, "PATIENCE", 0.5)


def test_an_interpreted_kernel_is_not_compiled():
    with interpreting(PATIENT):
        assert halves(np.array([1.0, 2.0])) == 1.5
        assert half(3.0) == 1.5
    assert "dispatcher" not in vars(halves)


def test_a_kernel_that_takes_too_long_is_stopped_wherever_it_is():
    with pytest.raises(InterpretationTooSlowError), interpreting(0.1):
        endless(np.array([1]))


def test_after_a_kernel_was_stopped_nothing_is_interrupted_any_more():
    for _ in range(20):
        with pytest.raises(InterpretationTooSlowError), interpreting(0.01):
            endless(np.array([1]))
        sum(range(20_000))


def test_kernels_of_other_threads_are_stopped_too():
    seen = []

    def work():
        try:
            endless(np.array([1]))
        except InterpretationTooSlowError:
            seen.append("stopped")

    with interpreting(0.1):
        thread = threading.Thread(target=carried(work))
        thread.start()
        thread.join(PATIENT)
    assert seen == ["stopped"]


def test_work_begins_again_compiled_once_patience_is_over(fresh):
    ways = []

    def work():
        ways.append(kernels.current_interpreter() is not None)
        if ways[-1]:
            endless(np.array([1]))
        return "done"

    assert interpreted_first(work) == "done"
    assert interpreted_first(work) == "done"
    assert ways == [True, False, False]  # no patience is left for the second


def test_a_kernel_that_python_refuses_is_compiled(fresh):
    ways = []

    def work():
        ways.append(kernels.current_interpreter() is not None)
        if ways[-1]:
            halves(np.array(["a"], object))
        return "done"

    assert interpreted_first(work) == "done"
    assert ways == [True, False]


def test_errors_of_the_work_itself_are_not_repeated(fresh):
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
                with interpreting(3.0):
                    interpreted = method.run(problem, Options(seed=5))
            except InterpretationTooSlowError:
                continue
            with compiling_at_once():
                compiled = method.run(problem, Options(seed=5))
            assert interpreted.objective == compiled.objective, (label, name)
            assert pickle.dumps(interpreted.decision) == pickle.dumps(compiled.decision), (label, name)
            compared += 1
    assert compared >= 3


def test_a_small_problem_is_solved_without_the_compiler(examples, fresh):
    began = time.perf_counter()
    solution = edrp.solve(edrp.load(examples / "migration.json"))
    assert solution.status == "optimal"
    assert solution.seconds["compile"] == 0.0
    assert solution.seconds["solve"] <= time.perf_counter() - began
