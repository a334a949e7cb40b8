"""Time limits: whatever happens between call and answer looks at the clock, here one that jumps ahead."""

from __future__ import annotations

import threading
from itertools import count
from time import perf_counter

import numpy as np
import pytest

import edrp
from edrp.backends.base import in_fresh_thread
from edrp.core.budget import clock_replaced, deadline, look, now, units_left
from edrp.core.errors import OutOfTimeError
from edrp.datasets.families.placement.layered import layered
from edrp.placement.compiled import BLOCK, LinkArrays
from edrp.placement.network import Network

YEAR = 3e7


def jumping(looks):
    """A clock that jumps ahead by a year after so many looks."""
    looked = count()
    return lambda: perf_counter() + (YEAR if next(looked) >= looks else 0.0)


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
@pytest.mark.parametrize("looks", [5, 20])
def test_time_that_runs_out_while_a_program_is_built_leaves_nothing_and_says_so(backend, looks):
    with clock_replaced(jumping(looks)):
        solution = edrp.solve(layered(15, 0), backend, time_limit=YEAR / 2)
    assert (solution.status, solution.stopped_because, solution.bound) == ("none", "time_limit", None)
    assert any("the time limit passed during the preparation of" in note for note in solution.notes)


def test_what_runs_is_answered_where_there_was_no_time_for_a_program(word_count):
    running = edrp.solve(word_count, "first-fit").deployment
    with clock_replaced(jumping(5)):
        solution = edrp.solve(word_count.replace(current=running), "highs", time_limit=YEAR / 2)
    assert (solution.status, solution.stopped_because, solution.deployment) == ("feasible", "time_limit", running)


@pytest.mark.parametrize("method", ["annealing", "iterated-local-search"])
def test_a_search_without_time_for_its_tables_answers_with_first_fit(word_count, method):
    with clock_replaced(jumping(4)):
        solution = edrp.solve(word_count, method, time_limit=YEAR / 2)
    assert (solution.status, solution.stopped_because) == ("feasible", "time_limit")


def test_a_solver_that_does_not_hear_is_left_to_itself():
    ended, begun = threading.Event(), threading.Event()

    def deaf():
        try:
            begun.set()
            while True:
                pass
        finally:
            ended.set()

    with pytest.raises(OutOfTimeError, match="cannot be interrupted"):
        in_fresh_thread(deaf, seconds=0.0)
    assert begun.is_set()
    assert ended.wait(60), "code in Python ends when it is left"


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
