"""Kernels that Python runs itself: they find the same as compiled ones, and are compiled where the work is not small."""

import pickle
import threading

import numpy as np
import pytest

import edrp
from edrp.core.budget import spend
from edrp.core.kernels import REPEATED, SMALL, carried, inlined, interpretation, interpreted_first, interpreting, kernel
from edrp.core.kinds import get_kind
from edrp.core.methods import Options, methods, run_method


@pytest.fixture(autouse=True)
def _nothing_interpreted_before(monkeypatch):
    monkeypatch.setattr(interpretation, "units", 0.0)


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


def test_kernels_of_other_threads_are_run_in_the_same_way():
    seen = []
    with interpreting():
        thread = threading.Thread(target=carried(lambda: seen.append(half(3.0))))
        thread.start()
        thread.join()
    assert seen == [1.5]


def test_small_work_is_interpreted_and_other_work_begins_again_compiled():
    ways = []

    def work(units):
        ways.append(units)
        spend(units)
        return "done"

    assert interpreted_first(lambda: work(0.5 * SMALL)) == "done"
    assert len(ways) == 1
    assert interpreted_first(lambda: work(2 * SMALL)) == "done"
    assert len(ways) == 3


def test_kernels_are_loaded_once_a_process_has_interpreted_for_long(monkeypatch):
    @kernel
    def ways(values):
        return f"interpreted, its part {part(values)}"

    @kernel
    def part(values):
        return "interpreted"

    def run():
        spend(0.6 * REPEATED)
        return ways(None)

    for each in (ways, part):
        monkeypatch.setattr(type(each), "dispatcher", property(lambda self: lambda values: "compiled"))
    assert [interpreted_first(run) for _ in range(3)] == ["interpreted, its part interpreted"] * 2 + ["compiled"]
    assert interpretation.units == pytest.approx(1.8 * REPEATED)


def test_a_kernel_whose_machine_code_is_kept_is_run_compiled(monkeypatch):
    @kernel
    def ways(values):
        return "interpreted"

    monkeypatch.setattr("edrp.core.kernel_store.compiled_before", lambda *_: lambda values: "compiled")
    assert interpreted_first(lambda: ways(np.array([1.0]))) == "compiled"
    with interpreting():
        assert ways(np.array([1.0])) == "interpreted"


def test_a_kernel_that_python_refuses_is_compiled():
    tries = []

    def work():
        tries.append(1)
        if len(tries) == 1:
            halves(None)
        return "done"

    assert interpreted_first(work) == "done"
    assert len(tries) == 2


def test_errors_of_the_work_itself_are_not_repeated():
    calls = []

    def work():
        calls.append(1)
        raise ValueError("wrong")

    with pytest.raises(ValueError, match="wrong"):
        interpreted_first(work)
    assert calls == [1]


@pytest.mark.parametrize("kind", ["migration", "migration-sequence", "migration-policy"])
def test_interpreted_and_compiled_kernels_decide_the_same(kind):
    problems = get_kind(kind).check_problems()
    names = [name for name, method in methods(kind).items() if method.interpreted_first and name != "stored-policy"]
    assert names
    compared = 0
    for label, problem in [*problems.feasible().items()][:2]:
        for name in names:
            method = methods(kind)[name]
            if method.refusal(problem) is not None:
                continue
            answers = []
            for way in (True, False):
                with interpreting(way):
                    answers.append(run_method(method, problem, Options(seed=5, work_limit=0.02)))
            interpreted, compiled = answers
            assert interpreted.objective == compiled.objective, (label, name)
            assert pickle.dumps(interpreted.decision) == pickle.dumps(compiled.decision), (label, name)
            compared += 1
    assert compared >= 2


def test_a_small_problem_is_solved_without_the_compiler(examples):
    solution = edrp.solve(edrp.load(examples / "migration.json"))
    assert solution.status == "optimal"
    assert solution.seconds["compile"] == 0.0
