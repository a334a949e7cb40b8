"""The search for replicas, ranges and nodes: annealing from several starts."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from edrp.core.errors import OutOfTimeError
from edrp.core.methods import Method, Options
from edrp.core.solution import Answer
from edrp.heuristics.migration.rescale.annealed_ranges import RangeSearch
from edrp.heuristics.migration.rescale.range_arrays import RangeArrays, range_arrays
from edrp.heuristics.migration.rescale.range_starts import (
    Replicas,
    best_answer,
    evaluated_answer,
    meet_rules,
    packed_start,
    present_start,
    sequential_starts,
)
from edrp.heuristics.migration.rescale.repaired_start import repaired_starts
from edrp.migration.rescale.arrays import KeyedArrays, compile_rescale
from edrp.migration.rescale.problem import RescaleProblem
from edrp.placement.deployment import Deployment

EVEN_STEPS = 20_000
"""Moves of the short search with even loads that provides one of the starts."""


@dataclass(frozen=True, slots=True)
class RangeAnnealingParameters:
    """Parameters of annealing over ranges.

    Attributes
    ----------
    runs : number of runs; every second one goes on from the best known. None for 10, and under a limit for as many as it allows.
    steps : moves tried per run; None for 20,000 per operator.
    hot, cold : temperatures at both ends, relative to the objective.
    """

    runs: int | None = None
    steps: int | None = None
    hot: float = 0.05
    cold: float = 2e-4

    def __post_init__(self) -> None:
        if (self.runs is not None and self.runs < 1) or (self.steps is not None and self.steps < 1):
            raise ValueError(f"runs and steps must be at least 1, got {self.runs} and {self.steps}")
        if not 0 < self.cold <= self.hot:
            raise ValueError(f"temperatures must satisfy 0 < cold <= hot, got cold={self.cold}, hot={self.hot}")


class RangeAnnealing(Method):
    """Annealing from the current deployment, from few and many replicas, and from EDRP with the fewest bytes."""

    name = "range-annealing"
    kinds = ("rescale",)
    summary = "simulated annealing over replicas, key ranges and nodes together, never worse than keeping or EDRP then SSM"
    parameters = RangeAnnealingParameters

    def run(self, problem: RescaleProblem, options: Options) -> Answer:
        """Anneal until all runs are done or the limit is reached."""
        parameters: RangeAnnealingParameters = self.read_parameters(options)
        if clashes := problem.clashes():
            return Answer("none", "finished", notes=clashes)
        arrays = compile_rescale(problem)
        starts = plain_starts(arrays, options)
        try:
            kernel_arrays = range_arrays(arrays)
            starts += sequential_starts(arrays, even_load_nodes(arrays, kernel_arrays, starts, options))
            search = RangeSearch(kernel_arrays, starts)
        except OutOfTimeError:
            best = best_answer(arrays, starts, "a start")
            return Answer("none", "time_limit") if best is None else replace(best, stopped_because="time_limit")
        steps = parameters.steps or 20_000 * len(arrays.tasks)
        stopped = search.anneal(options, parameters.runs, steps, (parameters.hot, parameters.cold))
        # Limits that hold up to rounding are judged by the evaluator; a start that it accepts is not lost.
        answer = evaluated_answer(arrays, search.replicas(), stopped, "the best deployment met")
        best_start = best_answer(arrays, starts, "a start") if answer.decision is None else None
        return (
            replace(best_start, stopped_because=stopped) if best_start is not None and best_start.decision is not None else answer
        )


def plain_starts(arrays: KeyedArrays, options: Options) -> list[Replicas]:
    """Collect starts: the given deployment, the current one as it is and repaired, and few to many replicas.

    Those that break rules are changed until they break none, as far as single replicas help.
    """
    deployments = [present_start(arrays, deployment) for deployment in (options.start, arrays.problem.current)]
    filled = [packed_start(arrays, share) for share in (0.0, 0.3, 1.0)]
    distinct: list[Replicas] = []
    ruled = [meet_rules(arrays, start) for start in (*deployments, *filled) if start is not None]
    for start in [*ruled, *repaired_starts(arrays)]:
        if start not in distinct:
            distinct.append(start)
    return distinct


def even_load_nodes(arrays: KeyedArrays, kernel_arrays: RangeArrays, starts: list[Replicas], options: Options) -> Deployment:
    """Choose nodes of all replicas by a short search in which load and state are split evenly, as in EDRP."""
    even = without_tasks(arrays, kernel_arrays)
    nodes = [[[(u, 0, 0) for u in sorted(u for u, _, _ in replicas)] for replicas in start] for start in starts]
    search = RangeSearch(even, nodes)
    search.anneal(replace(options, progress=None), 1, EVEN_STEPS, (0.05, 1e-3))
    names = arrays.compiled.nodes
    return Deployment(
        {
            name: [names[u] for u, _, _ in replicas]
            for name, replicas in zip(arrays.compiled.operators, search.replicas(), strict=True)
        }
    )


def without_tasks(arrays: KeyedArrays, kernel_arrays: RangeArrays) -> RangeArrays:
    """Return the arrays of the same problem with even loads instead of tasks."""
    size, nodes = kernel_arrays.candidate.shape
    return kernel_arrays._replace(
        tasks=np.zeros(size, np.int64),
        offset=np.arange(size),
        work=np.zeros(size),
        held_bytes=np.zeros((size, nodes)),
        missing_bytes=np.zeros((size, nodes)),
        state_size=np.array([arrays.operator(i).total_state for i in range(size)]),
    )


METHODS = (RangeAnnealing(),)
"""Methods for problems of kind `rescale`."""
