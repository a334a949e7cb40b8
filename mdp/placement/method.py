"""The method `priced-course`: the best deployments for known periods, with a proven bound."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from math import inf
from typing import Annotated

import numpy as np
from pydantic import Field

from edrp.core.arrays import Ints
from edrp.core.errors import OutOfTimeError
from edrp.core.methods import Method, Options
from edrp.core.solution import Answer, Status, StoppedBecause, within_gap
from edrp.mdp.placement.course_search import BorderMultipliers, CourseSearch
from edrp.mdp.placement.intervals import SolvePriced, SolveUnderLoads, differing_rows
from edrp.mdp.placement.pool import count_deployments
from edrp.placement.compiled import Compiled
from edrp.placement.metrics.base import PEAKS, SEARCHED
from edrp.placement.sequence import EdrpSequence
from edrp.placement.sequence_arrays import SequenceArrays, compile_sequence

MAX_PERIODS = 1000
"""Periods beyond which the method is refused: intervals are as many as their pairs."""


@dataclass(frozen=True, slots=True)
class PricedCourseParameters:
    """Parameters of "priced-course".

    Attributes
    ----------
    enumeration : number of deployments up to which all are listed; 0 for never.
    """

    enumeration: Annotated[int, Field(ge=0)] = 20_000


class PricedCourse(Method):
    """Certified courses: a dynamic program over a pool of deployments, and Lagrangian multipliers on the borders of periods.

    Parameters
    ----------
    solve
        Solves a problem whose replicas have prices.
    under_loads
        Bounds one for several periods, each with its own response time.
    relax
        Gives first multipliers from the linear relaxation of all periods.
    expected_work
        Units of work that this takes.
    """

    name = "priced-course"
    kinds = ("edrp-sequence",)
    takes = SEARCHED - {PEAKS}  # peak loads are no sums over means of periods
    exact = True
    summary = "deployments for known periods: dynamic program over a pool, bound by prices between periods"
    parameters = PricedCourseParameters
    undivided = "the linear relaxation of all periods"

    def __init__(
        self,
        solve: SolvePriced,
        under_loads: SolveUnderLoads,
        relax: BorderMultipliers,
        expected_work: Callable[[Sequence[Compiled]], float],
    ) -> None:
        self._solve, self._under_loads, self._relax, self._expected_work = solve, under_loads, relax, expected_work

    def obstacle(self, problem: EdrpSequence) -> str | None:
        """Intervals of very many periods are too many, and their rows are those of all periods."""
        if len(problem.periods) > MAX_PERIODS:
            return f"{len(problem.periods)} periods are too many for priced-course, which takes {MAX_PERIODS}; join periods"
        return differing_rows(compile_sequence(problem).periods, self.name)

    def run(self, problem: EdrpSequence, options: Options) -> Answer:
        """Find a course and a bound; at a limit, return the best ones so far."""
        parameters = self.read_parameters(options)
        arrays = compile_sequence(problem)
        build_seconds = options.seconds
        search = CourseSearch(arrays, options, self._solve, self._under_loads, self._relax)
        stopped: StoppedBecause = "finished"
        try:
            exact = count_deployments(arrays.periods[0]) <= parameters.enumeration and search.enumerate()
            if not exact and not search.done:
                search.start(_known(problem, arrays, options))
                if not search.done:
                    search.climb(search.first_multipliers(self._expected_work))
        except OutOfTimeError:
            stopped = "time_limit"
        except KeyboardInterrupt:
            stopped = "interrupted"
        size = {"deployments": len(search.pool), "priced problems": search.bounds.priced, "passes": search.passes}
        if not search.feasible:
            period = search.bounds.infeasible
            notes = () if period is None else (f"no deployment is feasible in periods[{period}]",)
            return Answer("infeasible", "finished", size=size, build_seconds=build_seconds, notes=notes)
        closed = search.upper < inf and within_gap(search.upper, min(search.lower, search.upper), options.gap)
        reason: StoppedBecause = "finished" if closed else "iteration_limit" if stopped == "finished" else stopped
        if reason == "iteration_limit" and (options.remaining <= 0 or search.bounds.cut):
            reason = "time_limit"
        if search.upper == inf:
            return Answer("none", reason, bound=search.lower, size=size, build_seconds=build_seconds)
        pool, members = search.pool, search.program.incumbent.members
        decision = tuple(arrays.periods[0].deployment(pool.counts[member]) for member in members.tolist())
        objective = problem.evaluate(decision).objective
        status: Status = "optimal" if closed else "feasible"
        return Answer(status, reason, decision, objective, min(search.lower, objective), size, build_seconds)


def _known(problem: EdrpSequence, arrays: SequenceArrays, options: Options) -> list[Ints]:
    """Courses that are known before, each of shape (periods, operators, nodes)."""
    courses = []
    if arrays.initial is not None:
        courses.append(np.repeat(arrays.initial[None], len(arrays.periods), axis=0))
    if options.start is not None:
        deployments = problem.read_decision(options.start, "start")
        with suppress(KeyError):  # of nodes that no operator may use
            courses.append(np.array([arrays.periods[0].counts(deployment) for deployment in deployments]))
    return courses
