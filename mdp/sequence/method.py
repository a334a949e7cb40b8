"""The method `oms` for known sequences of migrations, which chooses an algorithm by the number of partitions."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from edrp.core import budget
from edrp.core.budget import memory_limit
from edrp.core.methods import Method, Options
from edrp.core.solution import Answer
from edrp.mdp.sequence.course import Course, Path
from edrp.mdp.sequence.dynamic_program import PathSearchTimeoutError, enumerate_path, enumeration_needs
from edrp.mdp.sequence.path_heuristic import PartitionPools, search_path
from edrp.mdp.sequence.price_search import PriceSearch, SearchEnd, search_by_prices
from edrp.migration.sequence import MigrationSequence

log = logging.getLogger("edrp.oms")

OmsWay = Literal["auto", "enumerated", "prices", "heuristic"]

MAX_ENUMERATION_UNITS = 60.0
"""Maximum units of work for which all partitions are listed."""

MAX_COUNTED = 10**18
"""Largest number of partitions that is reported."""

MAX_PLACE_PAIRS = 1e9
"""Maximum number of pairs of places, over consecutive classes, for which bounds are computed by prices."""

HEURISTIC_SHARE = 0.2
"""Share of the limit for the heuristic, before proving begins."""


@dataclass(frozen=True, slots=True)
class OmsParameters:
    """Parameters of "oms".

    Attributes
    ----------
    way : "enumerated", "prices" or "heuristic"; "auto" takes the first of these that is affordable.
    starts : greedy paths of a round of the heuristic.
    patience : rounds without success after which the heuristic ends.
    """

    way: OmsWay = "auto"
    starts: int = 30
    patience: int = 5

    def __post_init__(self) -> None:
        if self.way not in ("auto", "enumerated", "prices", "heuristic"):
            raise ValueError(f"way must be auto, enumerated, prices or heuristic, got {self.way!r}")
        if self.starts < 1 or self.patience < 1:
            raise ValueError(f"starts and patience must be at least 1, got {self.starts} and {self.patience}")


class Oms(Method):
    """Optimal migration sequence (state migration, section 4.1).

    Where all partitions of all steps can be listed, a dynamic program over them; where they cannot, prices that
    prove a lower bound, and usually the optimum; where even that is too much, a heuristic and a weak bound.

    Loads may change from step to step. Each step then has a class and tables of its own, where steps of equal loads
    share those of their number of nodes: what is prepared per class is prepared per step. The cost is then no metric
    over the course (going by way of another partition may pay); nothing here relies on that.
    """

    name = "oms"
    kinds = ("migration-sequence",)
    interpreted_first = True
    exact = True
    summary = "the sequence of migrations that moves the least state: enumeration, or prices with a proven gap"
    parameters = OmsParameters

    def run(self, problem: MigrationSequence, options: Options) -> Answer:
        """Solve; at a time limit, return the best path so far with its bound."""
        parameters = self.read_parameters(options)
        course = Course.of(problem)
        size = {"tasks": problem.tasks, "steps": len(problem.nodes)}
        if not course.feasible:
            return Answer("infeasible", "finished", size=size)
        size["partitions"] = min(sum(step.members.count for step in course.steps), MAX_COUNTED)
        way = parameters.way if parameters.way != "auto" else _affordable_way(course, options)
        log.info("%s: %s steps, %.4g partitions", way, len(course.steps), size["partitions"])
        if way == "enumerated":
            search = _enumeration_search(course, parameters, options)
        else:
            search = _heuristic_search(course, problem, parameters, options)
            if way == "prices" and search.ended != "interrupted":
                search = _price_search(course, search, options)
        return _answer(course, problem, search, way, {**size, "passes": search.passes})


def _affordable_way(course: Course, options: Options) -> OmsWay:
    work, memory = enumeration_needs(course)
    if work <= min(MAX_ENUMERATION_UNITS, 0.5 * options.remaining) and memory <= memory_limit():
        return "enumerated"
    places = [1, *(step.members.places for step in course.steps)]
    pairs = sum(a * b for a, b in pairwise(places))
    return "prices" if pairs <= MAX_PLACE_PAIRS else "heuristic"


def _enumeration_search(course: Course, parameters: OmsParameters, options: Options) -> PriceSearch:
    try:
        cost, path = enumerate_path(course, threads=options.many_threads, out_of_time=lambda: options.remaining <= 0)
    except PathSearchTimeoutError:
        return PriceSearch(*_greedy_search(course), ended="time_limit")
    except KeyboardInterrupt:
        return PriceSearch(*_greedy_search(course), ended="interrupted")
    return PriceSearch(cost, path, cost, True, "finished")


def _greedy_search(course: Course) -> tuple[float, Path]:
    """Return the greedy path, for a search whose time is over before it begins."""
    return search_path(course, PartitionPools(course), out_of_time=lambda: True)


def _heuristic_search(course: Course, problem: MigrationSequence, parameters: OmsParameters, options: Options) -> PriceSearch:
    limit = options.remaining * (1.0 if parameters.way == "heuristic" else HEURISTIC_SHARE)
    end = budget.now() + limit
    pools = PartitionPools(course)
    ended: SearchEnd = "finished"
    try:
        cost, path = search_path(
            course,
            pools,
            starts=parameters.starts,
            patience=parameters.patience,
            seed=options.seed,
            out_of_time=lambda: budget.passed(end),
        )
    except KeyboardInterrupt:
        (cost, path), ended = _greedy_search(course), "interrupted"
    if options.start is not None and problem.evaluate(options.start).feasible:
        start = course.boundary_path(options.start)
        if (value := float(course.costs(start).sum())) < cost:
            cost, path = value, start
    if ended == "finished" and options.remaining <= 0:
        ended = "time_limit"
    # Whatever follows, the first step moves what it has to.
    first = _greedy_search(Course(course.start, course.steps[:1]))[0]
    return PriceSearch(cost, path, first, len(course.steps) == 1, ended)


def _price_search(course: Course, search: PriceSearch, options: Options) -> PriceSearch:
    def report(cost: float, bound: float) -> None:
        log.debug("cost %.9g, bound %.9g", cost, bound)
        options.tell(cost, bound)

    result = search_by_prices(
        course,
        search.cost,
        search.path,
        gap=options.gap,
        threads=options.many_threads,
        seed=options.seed,
        out_of_time=lambda: options.remaining <= 0,
        progress=report,
    )
    result.bound = max(result.bound, search.bound)
    return result


def _answer(course: Course, problem: MigrationSequence, search: PriceSearch, way: OmsWay, size: dict[str, int]) -> Answer:
    decision = course.assignments(search.path, problem.intervals)
    moved = course.moved(decision, problem.intervals)
    bound = moved if search.proven and way == "enumerated" else min(moved, search.bound)
    notes = {
        "enumerated": f"dynamic program over all partitions of every step, {size['partitions']} in all",
        "prices": f"bound by prices of intervals, {search.passes} passes",
        "heuristic": "heuristic; the bound is what the first step moves at least",
    }
    return Answer(
        "optimal" if search.proven else "feasible",
        search.ended,
        decision,
        moved,
        bound,
        size,
        method=f"oms: {way}",
        notes=(notes[way],),
    )


METHODS = (Oms(),)
"""Methods for problems of kind `migration-sequence`."""
