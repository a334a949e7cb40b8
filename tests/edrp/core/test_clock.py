"""Limits: whatever happens between call and answer looks at the clock, and is given up when its work is done."""

from __future__ import annotations

import threading

import numpy as np
import pytest

import edrp
from edrp.backends.base import in_fresh_thread
from edrp.core.budget import LOOK, deadline, look, now, running, spend, units_left
from edrp.core.errors import OutOfTimeError
from edrp.datasets.families.placement.layered import layered
from edrp.placement.compiled import BLOCK, LinkArrays
from edrp.placement.network import Network

YEAR = 3e7


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


@pytest.mark.parametrize("backend", ["highs", "scipy"])
@pytest.mark.parametrize("looks", [1, 5, 20])
def test_work_that_is_over_while_a_program_is_built_leaves_nothing_and_says_so(backend, looks):
    solution = edrp.solve(layered(15, 0), backend, work_limit=looks * LOOK)
    assert (solution.status, solution.stopped_because, solution.bound) == ("none", "work_limit", None)
    assert any("the limit passed during the preparation of" in note for note in solution.notes)


def test_the_limit_that_comes_first_ends_a_run_and_is_named():
    stopped = [
        edrp.solve(layered(15, 0), "highs", **limits).stopped_because for limits in ({"work_limit": 0.0}, {"time_limit": 0.0})
    ]
    assert stopped == ["work_limit", "time_limit"]
    assert edrp.solve(layered(15, 0), "highs", work_limit=LOOK, time_limit=YEAR).stopped_because == "work_limit"


def test_what_runs_is_answered_where_there_was_no_work_for_a_program(word_count):
    running = edrp.solve(word_count, "first-fit").deployment
    solution = edrp.solve(word_count.replace(current=running), "highs", work_limit=0.0)
    assert (solution.status, solution.stopped_because, solution.deployment) == ("feasible", "work_limit", running)


@pytest.mark.parametrize("method", ["annealing", "iterated-local-search"])
def test_a_search_without_work_for_its_tables_answers_with_first_fit(word_count, method):
    solution = edrp.solve(word_count, method, work_limit=0.0)
    assert (solution.status, solution.stopped_because) == ("feasible", "work_limit")


def test_the_work_of_a_part_counts_for_the_whole_and_ends_with_it():
    with running(work_limit=5.0) as whole:
        spend(2.0)
        with running(work_limit=10.0) as part:
            assert units_left() == 3.0
            spend(3.0)
            with pytest.raises(OutOfTimeError):
                look("the cake")
        assert (part.work, whole.work) == (3.0 + LOOK, 5.0 + LOOK)
        assert units_left() < 0


def test_a_solver_that_does_not_hear_is_left_to_itself(monkeypatch):
    monkeypatch.setattr("edrp.backends.base.PATIENCE", 0.0)
    asked, end = threading.Event(), threading.Event()
    with running(time_limit=0.0), pytest.raises(OutOfTimeError, match="cannot be interrupted"):
        in_fresh_thread(lambda: end.wait(300), asked.set)
    assert asked.is_set()
    end.set()


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
