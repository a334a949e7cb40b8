"""`column-generation`: proven optima of latency-aware placements, and the patterns that it begins with."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from edrp.core.arrays import Floats, Ints
from edrp.core.errors import OutOfTimeError
from edrp.core.methods import Method, Options
from edrp.core.problem import RULES
from edrp.core.solution import Answer, StoppedBecause
from edrp.formulations.placement.column_generation.model import ScoreModel, build_model
from edrp.formulations.placement.column_generation.tree import BestPlacement, BranchAndPrice
from edrp.formulations.placement.compact import estimated_columns
from edrp.formulations.placement.handover import answer_with_bound, finish_by_program, leaving_out_rules, nothing_found
from edrp.placement.compilation import compile_problem
from edrp.placement.latency_aware import LatencyAwareProblem
from edrp.placement.metrics.base import IN_USE, TIMES, TRAFFIC


def first_fits(model: ScoreModel) -> Iterator[Ints]:
    """Counts per operator and node, shape (operators, nodes), of every first fit that finds room for all.

    Operators in topological order, or those with the greatest needs first; supervisors largest first, or smallest first;
    those with the fewest choices before all others.
    """
    classes = [(u, supervisors.capacity, supervisors.max_instances) for supervisors in model.classes for u in supervisors.members]
    choices = np.sum([limit > 0 for _, _, limit in classes], axis=0)
    scarce = np.array([capacity for _, capacity, _ in classes])
    total = np.maximum(model.instances @ model.demand, 1e-300)
    need = (model.demand / total).max(axis=1, initial=0.0)
    size = (scarce / total).min(axis=1, initial=1.0)
    operators = np.arange(model.instances.size)
    for order in (np.lexsort((operators, choices)), np.lexsort((-need, choices)), np.lexsort((choices, -need))):
        for sign in (-1, 1):
            nodes = [classes[i] for i in np.argsort(sign * size, kind="stable")]
            counts = _fill(model, order, nodes)
            if counts is not None:
                yield counts


def _fill(model: ScoreModel, order: Ints, nodes: list[tuple[int, Floats, Ints]]) -> Ints | None:
    counts = np.zeros(model.compiled.candidate.shape, np.int64)
    room = {u: capacity.copy() for u, capacity, _ in nodes}
    for a in order:
        uncovered = int(model.instances[a])
        for u, _, limit in nodes:
            while uncovered and counts[a, u] < limit[a] and (model.demand[a] <= room[u]).all():
                room[u] -= model.demand[a]
                counts[a, u] += 1
                uncovered -= 1
        if uncovered:
            return None
    return counts


MAX_COMPACT_COLUMNS = 1_000
"""Columns of the compact program up to which it takes over where patterns settle nothing in time.

It is tighter than patterns where path latency decides: patterns bound latency by classes of supervisors only.
"""

TAKEN_OVER = "patterns were too many or took too long; the compact program took over"

PATTERN_SECONDS = 5.0
"""Seconds for patterns, or half of the time limit, where the compact program is that small."""

KICKS = 1000
"""Kicks of the search for a start: tenths of a second for 60 instances, where its answer is often the optimum."""


@dataclass(frozen=True, slots=True)
class ColumnGenerationParameters:
    """The initial deployment, patterns and windows of the search.

    Attributes
    ----------
    search : whether a heuristic looks for a placement first; without, proofs start from first fits.
    """

    search: bool = True


class ColumnGeneration(Method):
    """Exact method for latency-aware placement: any topology, resources, candidates, weights."""

    name = "column-generation"
    kinds = ("latency-aware",)
    takes = frozenset({TIMES, TRAFFIC, IN_USE, RULES})
    exact = True
    summary = "column generation over what a supervisor holds, branching on how many are used, latency as second phase"
    parameters = ColumnGenerationParameters

    def __init__(self, heuristic: Method | None = None) -> None:
        self.heuristic = heuristic

    @leaving_out_rules
    def run(self, problem: LatencyAwareProblem, options: Options) -> Answer:
        """Prove the optimum, or return incumbent, bound and gap when time runs out."""
        parameters = self.read_parameters(options)
        compiled = compile_problem(problem)
        model = build_model(compiled)
        patterns = options
        search = BranchAndPrice(
            model=model,
            incumbent=BestPlacement(model.largest_score * (1 + 1e-6) + 1e-6),
            gap=0.5 * options.gap,  # leaves the other half to rounding
            remaining=lambda: patterns.remaining,
            report=options.tell,
        )
        build_seconds = options.seconds
        interrupted = False
        try:
            for counts in self._starts(problem, model, options, parameters):
                search.offer(counts)
            if estimated_columns(compiled) <= MAX_COMPACT_COLUMNS:
                patterns = options.within(min(PATTERN_SECONDS, 0.5 * options.remaining))
            if model.price > 0 or model.together.any():  # otherwise patterns do not matter, only where they are
                search.run()
        except OutOfTimeError:
            pass  # with what was found and proven until then
        except KeyboardInterrupt:
            interrupted = True
        answer = _answer(problem, search, interrupted, build_seconds, options)
        return answer if interrupted else finish_by_program(problem, answer, options, self.name, TAKEN_OVER)

    def _starts(
        self, problem: LatencyAwareProblem, model: ScoreModel, options: Options, parameters: ColumnGenerationParameters
    ) -> list[Ints]:
        """Counts of the start in the options and the current deployment, where feasible, of first fits, and of a search."""
        if not model.classes:
            return []
        starts = [start for start in (options.start, problem.current) if start is not None and problem.evaluate(start).feasible]
        if parameters.search and self.heuristic is not None:
            # Kicks, not seconds, so that runs repeat; the time limit is shared fairly where there is one.
            sub = replace(options.within(0.5 * options.remaining), parameters={"kicks": KICKS})
            decision = self.heuristic.run(problem, sub).decision
            starts += [decision] if decision is not None else []
        return [*(model.compiled.counts(deployment) for deployment in starts), *first_fits(model)]


def _answer(
    problem: LatencyAwareProblem, search: BranchAndPrice, interrupted: bool, build_seconds: float, options: Options
) -> Answer:
    incumbent, bound = search.incumbent, search.bound
    size = {
        "windows": search.windows,
        "patterns": len(search.pool.cost),
        "patterns listed": search.listed,
        "choices of patterns": search.choices,
    }
    out_of_time = options.remaining <= 0 and bound < search.target
    stopped: StoppedBecause = "interrupted" if interrupted else "time_limit" if out_of_time else "finished"
    if incumbent.counts is None:
        return nothing_found(stopped, bound, size, build_seconds, search.target)
    deployment = search.model.compiled.deployment(incumbent.counts)
    return answer_with_bound(problem, deployment, incumbent.objective - bound, options.gap, stopped, size, build_seconds)
