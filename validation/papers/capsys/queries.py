"""Placements of CAPSys's queries: proven optima, its own rule, Flink's two policies."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from time import process_time
from typing import Any

import numpy as np

from edrp.core.arrays import Floats, Ints
from edrp.core.solve import solve
from edrp.core.tolerances import CAPS_PEAK_ROOM
from edrp.datasets.placement.capsys import RESOURCES
from edrp.placement.compilation import compile_problem
from edrp.placement.edrp import EdrpProblem
from edrp.placement.fixed_tasks import read_fixed_tasks
from edrp.placement.metrics.peak_load import PEAK_LOADS

OPTIMUM, WITHIN, ALONE = "optimum", "optimum within CAPS's", "least of each alone"
CAPS, FIRST = "CAPS", "CAPS, first plan"
EVENLY, DEFAULT = "Flink, evenly", "Flink, default"

DRAWS = 100
"""Placements drawn of each of Flink's policies, in which the order of tasks is random."""


@dataclass(frozen=True, slots=True)
class QueryRow:
    """The load of the fullest worker of a query, which has so many tasks, under a way to place it.

    Attributes
    ----------
    peaks : use of each shared resource by the worker that is asked for most of it, in the resource's unit; means over draws.
    worst : the largest of all draws; None where nothing is drawn.
    seconds : of processor time to solve; None where that says nothing.
    proven, note : whether all stages are proven, and what the method says.
    """

    query: str
    tasks: int
    placement: str
    peaks: Mapping[str, float]
    worst: Mapping[str, float] | None = None
    seconds: float | None = None
    proven: bool = False
    note: str = ""


def query_rows(name: str, problem: EdrpProblem, *, slack: float = 0.0, alone: bool = True, seed: int = 0) -> Iterator[QueryRow]:
    """Place a query in every way; all peaks are its priorities, and later ones may worsen an earlier one by the slack.

    `alone` says whether each peak is minimised alone as well.
    """
    problem = problem.replace(priorities=[priority.replace(slack=slack) for priority in problem.priorities])
    optimum = optimum_row(name, problem)
    yield optimum
    if not optimum.peaks:
        return
    row = partial(QueryRow, name, _tasks(problem))
    caps, seconds = timed(problem, "caps", seed=seed)
    peaks = _peaks(problem, caps.metrics)
    yield row(CAPS, peaks, seconds=seconds, note="; ".join(caps.notes))
    first, seconds = timed(problem, "caps", plans=1)
    yield row(FIRST, _peaks(problem, first.metrics), seconds=seconds, note="; ".join(first.notes))
    if caps.deployment is not None:
        shares = {resource: caps.metrics[f"{PEAK_LOADS}.{resource}"] * (1 + CAPS_PEAK_ROOM) for resource in peaks}
        yield optimum_row(name, problem.replace(limits={"peak_loads": shares}), WITHIN)
    if alone:
        yield _alone_row(row, problem)
    for placement, evenly in ((EVENLY, True), (DEFAULT, False)):
        drawn = flink_peaks(problem, evenly, seed)
        mean = {resource: float(drawn[resource].mean()) for resource in optimum.peaks}
        yield row(placement, mean, {resource: float(drawn[resource].max()) for resource in optimum.peaks})


def optimum_row(name: str, problem: EdrpProblem, placement: str = OPTIMUM) -> QueryRow:
    """The peaks one after the other, by `fixed-tasks`."""
    solution, seconds = timed(problem, "fixed-tasks")
    peaks = _peaks(problem, solution.metrics)
    return QueryRow(name, _tasks(problem), placement, peaks, seconds=seconds, proven=solution.status == "optimal")


def timed(problem: EdrpProblem, method: str, **options: Any) -> tuple[Any, float]:
    """A solution, and the seconds of processor time that it took."""
    started = process_time()
    solution = solve(problem, method, **options)
    return solution, process_time() - started


def _alone_row(row: Any, problem: EdrpProblem) -> QueryRow:
    """The least peak of each resource, whatever the others are; no placement need have them all."""
    least_seconds: dict[str, float] = {}
    proven = True
    for priority in problem.priorities:
        resource = priority.metric.removeprefix(f"{PEAK_LOADS}.")
        single = problem.replace(priorities=[], weights={"peak_loads": {resource: 1.0}})
        solution = solve(single, "fixed-tasks")
        least_seconds[resource] = _peaks(single, solution.metrics)[resource]
        proven = proven and solution.status == "optimal"
    return row(ALONE, least_seconds, proven=proven)


def flink_peaks(problem: EdrpProblem, evenly: bool, seed: int) -> dict[str, Floats]:
    """Peaks by resource of `DRAWS` placements by one of Flink's policies, shape (draws,) each."""
    tasks, random = read_fixed_tasks(problem), np.random.default_rng(seed)
    compiled = compile_problem(problem)
    every = np.repeat(np.arange(tasks.operators), tasks.arrays.totals)
    slots = int(tasks.room.min())
    drawn = [flink_counts(random.permutation(every), (tasks.nodes, tasks.operators), slots, evenly) for _ in range(DRAWS)]
    peaks = np.array([tasks.loads(counts).max(axis=0) for counts in drawn]) * compiled.contention.capacity[0]
    return dict(zip(compiled.contention.resources, peaks.T, strict=True))


def flink_counts(tasks: Ints, shape: tuple[int, int], slots: int, evenly: bool) -> Ints:
    """Tasks of each operator on each node: dealt to the nodes in turn, or to one node after the other until its slots are full.

    The shape is (nodes, operators); `tasks` has the operator of each task, in the order in which Flink gives out slots, and
    `evenly` is whether `cluster.evenly-spread-out-slots` is set.

    >>> flink_counts(np.array([0, 0, 1]), (2, 2), 2, evenly=False).tolist()
    [[2, 0], [0, 1]]
    >>> flink_counts(np.array([0, 0, 1]), (2, 2), 2, evenly=True).tolist()
    [[1, 1], [1, 0]]
    """
    position = np.arange(tasks.size)
    counts = np.zeros(shape, np.int64)
    np.add.at(counts, (position % shape[0] if evenly else position // slots, tasks), 1)
    return counts


def _tasks(problem: EdrpProblem) -> int:
    return sum(operator.max_replicas for operator in problem.application.operators)


def _peaks(problem: EdrpProblem, metrics: Mapping[str, float]) -> dict[str, float]:
    """Use by the fullest worker, in the unit of each resource; nothing where there is no placement."""
    capacity = problem.network.nodes[0].capacity
    names = {name: f"{PEAK_LOADS}.{name}" for name in RESOURCES}
    return {name: metrics[metric] * capacity[name] for name, metric in names.items() if metric in metrics}
