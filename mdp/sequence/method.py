"""The method `oms` for known sequences of migrations, which chooses an algorithm by the number of partitions."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

import numpy as np

from edrp.core import budget
from edrp.core.budget import memory_limit
from edrp.core.methods import Method, Options
from edrp.core.solution import Answer
from edrp.core.tolerances import EQUAL_GAINS, OPTIMALITY_GAP
from edrp.mdp.best_response import colexicographic
from edrp.mdp.partitions import partition_bytes
from edrp.mdp.sequence.course import (
    Course,
    LastStep,
    ListedStep,
    Path,
    PathSearchTimeoutError,
    best_path,
    enumerate_path,
    enumeration_needs,
    search_work,
)
from edrp.mdp.sequence.path_heuristic import PartitionPools, improved_path, search_path
from edrp.mdp.sequence.price_relaxation import PriceRelaxation
from edrp.mdp.trie import count_paths, list_partitions, numbered_trie
from edrp.migration.sequence import MigrationSequence

LISTING_UNITS = 5.0
"""Units of work within which all remaining partitions are searched, which ends the passes."""

STALLED_LISTING_UNITS = 600.0
"""Units of work within which all remaining partitions are searched once passes close no more of the gap."""

MAX_PRICE_POOL = 300
"""Maximum number of partitions of a step that are recombined after a pass."""

EXTENDED_PARTITIONS = 60
"""Number of partitions of a step from which others are searched by prices."""

MIN_CLOSED_SHARE = 1e-3
"""Minimum share of the gap that `STALLED_PASSES` passes have to close to go on."""

STALLED_PASSES = 25
"""Number of passes over which the closed share of the gap is measured."""

SearchEnd = Literal["finished", "time_limit", "iteration_limit", "interrupted"]


@dataclass
class PriceSearch:
    """State of a search by prices.

    Attributes
    ----------
    cost, path : best known.
    bound : no path costs less, in bytes.
    proven : whether the bound is within the gap that was asked for.
    ended : why the search ended; `iteration_limit` where further passes would close no more of the gap.
    passes : over the course, so far.
    """

    cost: float
    path: Path
    bound: float = 0.0
    proven: bool = False
    ended: SearchEnd = "time_limit"
    passes: int = 0


def search_by_prices(
    course: Course,
    cost: float,
    path: Path,
    *,
    gap: float = OPTIMALITY_GAP,
    threads: int = 1,
    seed: int = 0,
    out_of_time: Callable[[], bool] = lambda: False,
    progress: Callable[[float, float], None] = lambda cost, bound: None,
) -> PriceSearch:
    """Improve and prove a path: passes over prices, each followed by a search for better paths.

    Parameters
    ----------
    course
        Feasible at every step.
    cost, path
        A known path, such as that of `search_path`.
    gap
        Relative gap at which the path counts as optimal.
    """
    search = PriceSearch(cost, path)
    try:
        _pass_until_proven(course, search, gap, threads, seed, out_of_time, progress)
    except PathSearchTimeoutError:
        search.ended = "time_limit"
    except KeyboardInterrupt:
        search.ended = "interrupted"
    return search


def _pass_until_proven(
    course: Course,
    search: PriceSearch,
    gap: float,
    threads: int,
    seed: int,
    out_of_time: Callable[[], bool],
    progress: Callable[[float, float], None],
) -> None:
    pools = PartitionPools(course, MAX_PRICE_POOL)
    rounding = EQUAL_GAINS * sum(float(step.state_before[-1]) for step in course.steps)
    relaxation = PriceRelaxation(course, seed, out_of_time)
    gaps: list[float] = []
    while True:
        below = search.cost - max(gap * search.cost, rounding)
        search.bound = max(search.bound, min(relaxation.bound - rounding, below))
        progress(search.cost, search.bound)
        any_path = relaxation.forbid(below)
        if not any_path:
            search.bound, search.proven, search.ended = max(search.bound, below), True, "finished"
            return
        gaps.append(search.cost - search.bound)
        stalled = len(gaps) > STALLED_PASSES and gaps[-1] > (1 - MIN_CLOSED_SHARE) * gaps[-1 - STALLED_PASSES]
        if _is_listable(relaxation, STALLED_LISTING_UNITS if stalled else LISTING_UNITS):
            _finish(course, relaxation, search, below, threads, out_of_time)
            return
        if stalled:
            search.ended = "iteration_limit"
            return
        relaxation.ascend()
        search.passes += 1
        if search.passes % max(1, search.passes // 8) == 0:  # passes get faster, the search for paths does not
            _improve(course, relaxation, pools, search, out_of_time)


def _is_listable(relaxation: PriceRelaxation, work: float) -> bool:
    """Whether the remaining partitions, except of the last step, fit the given work and memory."""
    graphs = relaxation.graphs[1:-1]
    counts = [count_paths(graph) for graph in graphs]
    if search_work(counts) > work:
        return False
    tasks = relaxation.course.start[-1]
    tables = sum(partition_bytes(tasks, graph.nodes, count) + 64 * count for graph, count in zip(graphs, counts, strict=True))
    return bool(tables <= memory_limit())


def _improve(
    course: Course, relaxation: PriceRelaxation, pools: PartitionPools, search: PriceSearch, out_of_time: Callable[[], bool]
) -> None:
    """Search for a better path among partitions that prices suggest."""
    pools.add_path(search.path)
    for step, boundaries in relaxation.attaining():
        pools.add(step, boundaries)
    last = len(course.steps) - 1
    for step in range(last + 1):
        before = pools.newest(step - 1, EXTENDED_PARTITIONS) if step > 0 else course.start[np.newaxis]
        for boundaries in relaxation.after(step, before):
            pools.add(step, boundaries)
    for step in range(last - 1, -1, -1):
        for boundaries in relaxation.before(step, pools.newest(step + 1, EXTENDED_PARTITIONS)):
            pools.add(step, boundaries)
    path = improved_path(course, pools.best_path()[1], out_of_time)
    pools.add_path(path)
    cost = float(course.costs(path).sum())
    if cost < search.cost:
        search.cost, search.path = cost, path


def _finish(
    course: Course, relaxation: PriceRelaxation, search: PriceSearch, below: float, threads: int, out_of_time: Callable[[], bool]
) -> None:
    """List all remaining partitions, and take the best path through them if it is better."""
    stages = []
    for step, graph in zip(course.steps[:-1], relaxation.graphs[1:-1], strict=True):
        trie = numbered_trie(graph)
        partitions = list_partitions(trie)
        stages.append(ListedStep(step.state_before, trie, partitions, colexicographic(partitions)))
    last = LastStep(course.steps[-1].state_before, relaxation.graphs[-1])
    cost, path = best_path(course.start, stages, last, threads=threads, out_of_time=out_of_time)
    if cost < below:
        search.cost, search.path = float(course.costs(path).sum()), path
    search.bound, search.proven, search.ended = max(search.bound, min(below, search.cost)), True, "finished"


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
