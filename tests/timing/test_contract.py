"""Every registered method stops at its time limit with an honest answer, on the largest problem of its kind's contract."""

from contextlib import suppress
from time import perf_counter

import pytest

import edrp
from edrp.core.errors import UnsupportedProblemError
from edrp.core.kinds import get_kind
from edrp.core.methods import methods

LIMIT, SECOND = 0.5, 1.0
"""Seconds of the limit, and those beyond it for starting a solver and for what cannot be interrupted."""


@pytest.mark.parametrize("name", sorted(set(methods()) - {"stored-policy"}))  # which looks its answer up
def test_method_stops_in_time(name):
    method = methods()[name]
    timed = 0
    for kind in method.kinds:
        problems = get_kind(kind).check_problems()
        small = [problem for problem in problems.feasible().values() if method.refusal(problem) is None]
        taken = [problem for problem in (problems.large(), *problems.rare()) if method.refusal(problem) is None]
        for problem in [*taken, *small][:1]:
            edrp.solve(small[0], name)  # imports solvers
            began = perf_counter()
            with suppress(UnsupportedProblemError):  # of a licence for small programs
                edrp.solve(problem, name, time_limit=LIMIT)
            assert perf_counter() - began <= LIMIT + SECOND, f"{name} on a problem of kind {kind}"
            timed += 1
    assert timed
