"""`label-setting`: proven optima of path mapping (bi-modal networks, section 3.1)."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter

import numpy as np

from edrp.core.methods import Method, Options
from edrp.core.solution import Answer, StoppedBecause
from edrp.formulations.mapping.costs import refusal
from edrp.formulations.mapping.label_setting import ROUNDING, LabelSearch
from edrp.formulations.mapping.layered_graph import layers_of
from edrp.formulations.mapping.map_moves import map_of, moves_of
from edrp.mapping.mapping_arrays import MappingTables, mapping_tables
from edrp.mapping.path_mapping import MappingProblem

EXACT = 1e-9
"""Relative gap up to which the optimum itself is asked for."""


class LabelSetting(Method):
    """Exact method for additive costs: every reading of empty hops and bandwidth, with and without the public network.

    See `LabelSearch` for how it works. Stopped before its end, it returns the best map found and a proven bound.

    Examples
    --------
    >>> problem = MappingProblem(
    ...     network={
    ...         "nodes": [{"name": "a", "capacity": 0}, {"name": "b", "capacity": 3}, {"name": "c", "capacity": 9}],
    ...         "links": [{"source": "a", "target": "b", "bandwidth": 10, "cost": 1},
    ...                   {"source": "b", "target": "c", "bandwidth": 10, "cost": 5}],
    ...     },
    ...     task={"source": "a", "delivery": "b", "bandwidths": [4, 2, 1],
    ...           "components": [{"name": "decode", "capacity": 3}, {"name": "join", "capacity": 3}]},
    ... )
    >>> answer = LabelSetting().run(problem, Options())
    >>> answer.status, answer.objective, answer.decision.nodes, answer.decision.routes[2]
    ('optimal', 11.0, ('b', 'c'), ('c', 'b'))
    """

    name = "label-setting"
    kinds = ("mapping",)
    exact = True
    summary = "exact: labels by A*, remembering only resources that matter; rounds of rising bounds; additive cost"

    def refusal(self, problem: MappingProblem) -> str | None:
        """Costs that are not sums over links."""
        return refusal(problem)

    def run(self, problem: MappingProblem, options: Options) -> Answer:
        """Prove the optimum, or return the best map, bound and gap when time runs out."""
        self.read_parameters(options)
        tables = mapping_tables(problem)
        tolerance = options.gap if options.gap > EXACT else ROUNDING
        search = LabelSearch(layers_of(tables), tolerance, lambda: options.remaining, _reporter(options))
        if options.start is not None and problem.evaluate(options.start).feasible:
            search.offer(moves_of(tables, options.start))
        build_seconds = perf_counter() - options.started
        interrupted = False
        try:
            search.run()
        except KeyboardInterrupt:
            interrupted = True
        return _answer(problem, tables, search, options, build_seconds, interrupted)


def _reporter(options: Options) -> Callable[[float, float], None]:
    def report(cost: float, bound: float) -> None:
        if options.progress is not None:
            options.progress(options.elapsed, *(each if np.isfinite(each) else None for each in (cost, bound)))

    return report


def _answer(
    problem: MappingProblem, tables: MappingTables, search: LabelSearch, options: Options, build_seconds: float, interrupted: bool
) -> Answer:
    stopped: StoppedBecause = "interrupted" if interrupted else "iteration_limit" if search.full else "time_limit"
    bound = search.bound if np.isfinite(search.bound) else None
    counts = {"rounds": search.rounds, "labels": search.looked_at, "tracked resources": len(search.resources)}
    notes = ("no room for more labels in memory",) if search.full else ()
    if search.moves is None:
        if search.bound == np.inf:
            return Answer("infeasible", "finished", size=counts, build_seconds=build_seconds)
        return Answer("none", stopped, bound=bound, size=counts, build_seconds=build_seconds, notes=notes)
    decision = map_of(tables, search.moves)
    objective = problem.evaluate(decision).objective
    proven = search.cost - search.bound <= max(options.gap * search.cost, ROUNDING)
    return Answer(
        status="optimal" if proven else "feasible",
        stopped_because="finished" if proven else stopped,
        decision=decision,
        objective=objective,
        bound=None if bound is None else min(bound, objective),
        size=counts,
        build_seconds=build_seconds,
        notes=() if proven else notes,
    )


METHODS = (LabelSetting(),)
"""Methods of this folder, for the registry."""
