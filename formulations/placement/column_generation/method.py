"""`column-generation`: proven optima of latency-aware placements."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from time import perf_counter

import numpy as np

from edrp.core.arrays import Ints
from edrp.core.methods import Method, Options, get_method
from edrp.core.solution import Answer, StoppedBecause
from edrp.formulations.placement.column_generation.model import Model, model_of
from edrp.formulations.placement.column_generation.starts import first_fits
from edrp.formulations.placement.column_generation.tree import Incumbent, Search
from edrp.formulations.placement.proof import answer_with_bound
from edrp.placement.compilation import compile_problem
from edrp.placement.compiled import Compiled
from edrp.placement.latency_aware import LatencyAwareProblem

KICKS = 1000
"""Of the search for a start: tenths of a second for 60 instances, where its answer is often the optimum."""


@dataclass(frozen=True, slots=True)
class ColumnGenerationParameters:
    """How to begin.

    Attributes
    ----------
    search : whether iterated local search looks for a placement first; without, proofs start from first fits.
    """

    search: bool = True


class ColumnGeneration(Method):
    """Exact method for latency-aware placement: any topology, resources, candidates, weights.

    Examples
    --------
    >>> problem = LatencyAwareProblem(
    ...     application={
    ...         "operators": [{"name": name, "resources": {"cpu": 0.5}} for name in ("read", "count", "write")],
    ...         "streams": [{"source": "read", "target": "count", "rate": 9}, {"source": "count", "target": "write", "rate": 1}],
    ...     },
    ...     network={
    ...         "nodes": [{"name": name, "resources": {"cpu": 1.2}} for name in "ab"],
    ...         "links": [{"source": "a", "target": "b", "delay": 0.002}],
    ...     },
    ... )
    >>> answer = ColumnGeneration().run(problem, Options())
    >>> answer.status, round(answer.objective, 6), dict(answer.decision.root)
    ('optimal', 1.600002, {'read': ('a',), 'count': ('a',), 'write': ('b',)})
    """

    name = "column-generation"
    kinds = ("latency-aware",)
    exact = True
    summary = "column generation over what a supervisor holds, branching on how many are used, latency as second phase"
    parameters = ColumnGenerationParameters

    def run(self, problem: LatencyAwareProblem, options: Options) -> Answer:
        """Prove the optimum, or return incumbent, bound and gap when time runs out."""
        parameters = self.read_parameters(options)
        compiled = compile_problem(problem)
        model = model_of(compiled)
        search = Search(
            model=model,
            incumbent=Incumbent(model.largest_score * (1 + 1e-6) + 1e-6),
            gap=0.5 * options.gap,  # leaves the other half to rounding
            remaining=lambda: options.remaining,
            report=_reporter(options),
        )
        build_seconds = perf_counter() - options.started
        interrupted = False
        try:
            for counts in _starts(problem, compiled, model, options, parameters):
                search.offer(counts)
            if model.price > 0 or model.together.any():  # otherwise patterns do not matter, only where they are
                search.run()
        except KeyboardInterrupt:
            interrupted = True
        answer = _answer(problem, search, interrupted, build_seconds, options)
        return answer if interrupted or options.remaining <= 0 else _finished(problem, answer, options)


def _reporter(options: Options) -> Callable[[float | None, float], None]:
    def report(incumbent: float | None, bound: float) -> None:
        if options.progress is not None:
            options.progress(options.elapsed, incumbent, bound if np.isfinite(bound) else None)

    return report


def _starts(
    problem: LatencyAwareProblem, compiled: Compiled, model: Model, options: Options, parameters: ColumnGenerationParameters
) -> list[Ints]:
    """Counts of the start asked for and the current deployment, where feasible, of first fits, and of a search."""
    if not model.classes:
        return []
    given = [each for each in (options.start, problem.current) if each is not None and problem.evaluate(each).feasible]
    if parameters.search:
        heuristic: Method = get_method("iterated-local-search", problem.kind)
        # Kicks, not seconds, so that runs repeat; the time limit is shared fairly where there is one.
        sub = replace(options.within(0.5 * options.remaining), parameters={"kicks": KICKS})
        found = heuristic.run(problem, sub).decision
        given += [found] if found is not None else []
    return [*(compiled.counts(each) for each in given), *first_fits(model)]


def _answer(problem: LatencyAwareProblem, search: Search, interrupted: bool, build_seconds: float, options: Options) -> Answer:
    found, bound = search.incumbent, search.bound
    size = {
        "windows": search.windows,
        "patterns": len(search.pool.cost),
        "patterns listed": search.listed,
        "choices of patterns": search.choices,
    }
    out_of_time = options.remaining <= 0 and bound < search.target
    stopped: StoppedBecause = "interrupted" if interrupted else "time_limit" if out_of_time else "finished"
    if found.counts is None:
        if bound >= search.target:
            return Answer("infeasible", "finished", size=size, build_seconds=build_seconds)
        return Answer("none", stopped, bound=bound if np.isfinite(bound) else None, size=size, build_seconds=build_seconds)
    deployment = search.model.compiled.deployment(found.counts)
    return answer_with_bound(problem, deployment, found.objective - bound, options.gap, stopped, size, build_seconds)


def _finished(problem: LatencyAwareProblem, answer: Answer, options: Options) -> Answer:
    """Where too many patterns or choices were left, the whole program for the rest of the gap."""
    if answer.status in ("optimal", "infeasible"):
        return answer
    whole: Method = get_method("highs", problem.kind)
    found = whole.run(problem, replace(options, start=answer.decision or options.start, parameters={}, program=None))
    better = answer.objective is None or (found.objective is not None and found.objective < answer.objective)
    best = found if better else answer
    bound = max((each.bound for each in (answer, found) if each.bound is not None), default=None)
    status = best.status
    if best.objective is not None and bound is not None and best.objective - bound <= _slack(best.objective, options):
        status = "optimal"
    return replace(
        best,
        status=status,
        stopped_because="finished" if status == "optimal" else found.stopped_because,
        bound=bound,
        size=answer.size,
        build_seconds=answer.build_seconds,
        method=f"{ColumnGeneration.name}, {whole.name}",
        notes=("too many patterns were left to list; the compact program took over",),
    )


def _slack(objective: float, options: Options) -> float:
    """Difference between objective and bound at which an incumbent counts as optimal."""
    return max(options.gap * abs(objective), 1e-12)


METHODS = (ColumnGeneration(),)
"""Methods of this folder, for the registry."""
