"""The clock of a run counts work; seconds end a run and decide nothing else."""

import math
import threading
from itertools import count
from time import perf_counter

import numpy as np
import pytest

import edrp
from edrp.backends.base import in_fresh_thread
from edrp.core import budget, methods
from edrp.core.budget import LOOK, OVER, deadline, look, now, running, spend, units_left
from edrp.core.errors import InvalidInstanceError, OutOfTimeError
from edrp.core.methods import Options
from edrp.datasets.families.placement.layered import layered
from edrp.placement.compiled import BLOCK, LinkArrays
from edrp.placement.network import Network

YEAR = 3e7


def jump_after(looks, monkeypatch):
    """Let a year pass after `looks` looks at the seconds."""
    looked = count()
    monkeypatch.setattr(budget, "perf_counter", lambda: perf_counter() + (YEAR if next(looked) >= looks else 0.0))


def cluster(nodes):
    """A network that is described by zones, with one listed link."""
    return Network(
        nodes=[{"name": f"n{u}", "zone": f"z{u % 3}"} for u in range(nodes)],
        links=[{"source": "n1", "target": "n4", "delay": 0.5}],
        within_zone={"delay": 0.001},
        between_zones={"delay": 0.02},
    )


def test_a_deadline_inside_another_cannot_be_later():
    with deadline(now() - 1), deadline(now() + YEAR), pytest.raises(OutOfTimeError, match="preparation of the cake"):
        look("the cake")
    assert units_left() == float("inf")


def test_a_step_that_would_end_too_late_is_not_begun():
    with deadline(now() + 100.0):
        look("the cake", expected=50.0)
        with pytest.raises(OutOfTimeError, match="would pass during the preparation of the cake"):
            look("the cake", expected=200.0)


def test_without_a_time_limit_no_seconds_are_read(monkeypatch):
    monkeypatch.setattr(budget, "perf_counter", lambda: pytest.fail("seconds were read"))
    with running(work_limit=2.0):
        options = Options(work_limit=2.0)
        spend(0.5)
        assert options.remaining == pytest.approx(1.5, abs=2 * LOOK)
        assert options.within(1.0).remaining == pytest.approx(1.0, abs=2 * LOOK)
        look("the cake")
    with running():
        assert Options().remaining == math.inf


def test_work_of_a_run_inside_another_counts_for_both_and_keeps_to_both_limits():
    with running(work_limit=3.0) as outer:
        spend(1.0)
        with running(work_limit=10.0) as inner:
            assert units_left() == 2.0
            spend(1.5)
        assert (inner.work, outer.work) == (1.5, 2.5)
        assert units_left() == 0.5


def test_seconds_end_a_run_wherever_its_work_is_and_work_alone_does_not_end_one_with_a_time_limit(monkeypatch):
    with running(time_limit=YEAR / 2) as run:
        spend(YEAR)
        assert units_left() > 0
        jump_after(0, monkeypatch)
        assert now() == OVER
        assert run.over


def test_progress_is_told_the_seconds_since_the_start(monkeypatch):
    monkeypatch.setattr(methods, "perf_counter", count(100.0, 7.0).__next__)
    assert [Options(began=30.0).seconds for _ in range(2)] == [70.0, 77.0]


def test_a_run_inside_another_ends_with_it(monkeypatch):
    seconds = [0.0]
    monkeypatch.setattr(budget, "perf_counter", lambda: seconds[0])
    with running(time_limit=1.0), running(time_limit=5.0):
        assert now() == 0.0
        seconds[0] = 2.0
        assert now() == OVER


def test_the_limit_that_comes_first_ends_a_run_and_is_named(monkeypatch):
    problem = layered(8, 0)
    assert edrp.solve(problem, "eliminate", work_limit=0.05, time_limit=YEAR).stopped_because == "work_limit"
    jump_after(2, monkeypatch)
    assert edrp.solve(problem, "eliminate", work_limit=1e9, time_limit=YEAR / 2).stopped_because == "time_limit"


@pytest.mark.parametrize("limit", [-1.0, math.nan, "2", True])
@pytest.mark.parametrize("name", ["work_limit", "time_limit"])
def test_limits_that_cannot_be_are_refused(word_count, name, limit):
    with pytest.raises(InvalidInstanceError, match=rf"{name}: must be a number (of seconds )?of at least 0"):
        edrp.solve(word_count, "greedy", **{name: limit})


@pytest.mark.parametrize("name", ["work_limit", "time_limit"])
def test_a_limit_of_0_is_one(word_count, name):
    assert edrp.solve(word_count, "highs", **{name: 0}).stopped_because == name


@pytest.mark.parametrize("backend", ["highs", "scipy"])
@pytest.mark.parametrize("looks", [3, 20])
def test_a_limit_that_passes_while_a_program_is_built_leaves_nothing_and_says_so(backend, looks):
    solution = edrp.solve(layered(15, 0), backend, work_limit=looks * LOOK)
    assert (solution.status, solution.stopped_because, solution.bound) == ("none", "work_limit", None)
    assert any("the limit passed during the preparation of" in note for note in solution.notes)


def test_what_runs_is_answered_where_there_was_no_time_for_a_program(word_count):
    runs = edrp.solve(word_count, "first-fit").deployment
    solution = edrp.solve(word_count.replace(current=runs), "highs", work_limit=2 * LOOK)
    assert (solution.status, solution.stopped_because, solution.deployment) == ("feasible", "work_limit", runs)


@pytest.mark.parametrize("swapped", [False, True])
def test_of_start_and_current_decision_the_better_is_answered_where_there_was_no_time(word_count, swapped):
    good, bad = (edrp.solve(word_count, method).deployment for method in ("highs", "first-fit"))
    runs, start = (good, bad) if swapped else (bad, good)
    problem = word_count.replace(current=runs)
    solution = edrp.solve(problem, "highs", work_limit=2 * LOOK, start=start)
    assert solution.objective == min(problem.evaluate(one).objective for one in (good, bad))


def test_a_solver_that_does_not_hear_is_left_to_itself():
    begun, let_go = threading.Event(), threading.Event()

    def deaf():
        begun.set()
        let_go.wait(60)

    try:
        with running(time_limit=0.0), pytest.raises(OutOfTimeError, match="cannot be interrupted"):
            in_fresh_thread(deaf)
    finally:
        let_go.set()
    assert begun.wait(60)


def test_looks_inside_a_solvers_thread_know_the_deadline():
    with deadline(now() - 1), pytest.raises(OutOfTimeError):
        in_fresh_thread(lambda: look("a model"))


def test_tables_of_many_nodes_are_filled_block_by_block():
    nodes = cluster(2 * int(BLOCK**0.5))  # four blocks
    links = LinkArrays(nodes, tuple(nodes.by_name))
    with deadline(now() - 1), pytest.raises(OutOfTimeError, match="tables over the pairs"):
        _ = links.delay
    rows = links.delay_from(np.array([1, 4]))
    assert rows[0, :5].tolist() == [0.02, 0.0, 0.02, 0.02, 0.5]
    assert (rows == links.delay[[1, 4]]).all()
    assert not links.priced
    assert not links.lossy
