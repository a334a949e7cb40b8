"""Optimal migration sequences with too many partitions to list: bound, forbid intervals, and list the rest."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from edrp.core.budget import memory_limit
from edrp.core.tolerances import EQUAL_GAINS, OPTIMALITY_GAP
from edrp.mdp.best_response import colexicographic
from edrp.mdp.partitions import partition_bytes
from edrp.mdp.sequence.course import Course, Path
from edrp.mdp.sequence.dynamic_program import LastStep, ListedStep, PathSearchTimeoutError, best_path, search_work
from edrp.mdp.sequence.path_heuristic import PartitionPools, improved_path
from edrp.mdp.sequence.price_relaxation import PriceRelaxation
from edrp.mdp.trie import count_paths, list_partitions, numbered_trie

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
