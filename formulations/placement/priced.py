"""Problems whose replicas have prices, given as arrays: an optimum with a proven bound.

What decides for several periods at once prices the copies of a deployment apart, and asks for the best one under these prices,
again and again. No document describes such a problem: rates, weights and prices are replaced in the arrays of another one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import inf

import numpy as np

from edrp.backends.solving import solve_program
from edrp.core.arrays import Ints
from edrp.core.budget import now, passed, units_left
from edrp.core.errors import OutOfTimeError
from edrp.core.solution import within_gap
from edrp.core.tolerances import OPTIMALITY_GAP
from edrp.formulations.placement.compact import build_compact
from edrp.formulations.placement.elimination.method import MAX_CONFIGURATIONS, roots
from edrp.formulations.placement.elimination.model import build_model
from edrp.formulations.placement.elimination.tree import BoxTree, EliminationParameters, best_known, counts_of
from edrp.placement.compiled import Compiled, count_configurations
from edrp.placement.counted_values import counts_objective
from edrp.placement.metrics import NetworkUsage

ELIMINATION_SHARE, ELIMINATION_WORK = 0.5, 30.0
"""Share of the work that elimination has before the program takes over, and units of work that it has at most."""

PARAMETERS = EliminationParameters(efforts=((2_000, 20_000), (20_000, 200_000), (200_000, 1_000_000)), tilts=2, annealing=False)
"""Effort of elimination on each box: many problems of one kind are asked for, and few of them are hard."""


@dataclass(frozen=True, slots=True)
class PricedAnswer:
    """The best deployment that was found, and what is proven of all.

    Attributes
    ----------
    bound : no deployment has a smaller objective; infinite where none is feasible, −infinite where nothing is known. Where a
        cutoff was given, nothing is proven above it.
    counts : shape (operators, nodes), replicas; None where none was found.
    objective : that of `counts`, prices included.
    proven : whether the bound comes as near to the objective, or to the cutoff, as was asked for.
    others : further deployments that the search met on its way, better ones first.
    """

    bound: float
    counts: Ints | None
    objective: float | None
    proven: bool
    others: tuple[Ints, ...] = ()


def solve_priced(
    compiled: Compiled,
    work: float | None = None,
    start: Ints | None = None,
    cutoff: float = inf,
    gap: float = OPTIMALITY_GAP,
) -> PricedAnswer:
    """Find the best deployment by arrays whose replicas may have prices, with a bound that holds wherever it stops.

    By elimination, and by HiGHS on the compact program what that does not take, or does not prove in half of the work.

    Parameters
    ----------
    compiled
        Arrays of a problem; its weights, limits and `replica_prices` count, whatever the problem says.
    work
        Units of work (docs/explanation/work.md); None for no limit of its own.
    start
        Replicas to begin with, shape (operators, nodes).
    cutoff
        Objective from which on nothing need be told apart: a bound there is enough.
    gap
        Relative gap at which a deployment is good enough.

    Examples
    --------
    A replica elsewhere that pays is taken:

    >>> from dataclasses import replace
    >>> import numpy as np
    >>> from edrp.placement.compilation import compile_problem
    >>> from edrp.placement.edrp import EdrpProblem
    >>> problem = EdrpProblem(
    ...     application={"operators": [{"name": "parser", "external_rate": 1.0, "max_replicas": 2, "cost": 1.0}]},
    ...     network={"nodes": [{"name": "a"}, {"name": "b"}]},
    ...     weights={"cost": 1.0},
    ...     limits={"cost": 4.0},
    ... )
    >>> prices = np.zeros((1, 3, 2))
    >>> prices[0, 2, 1] = -0.5
    >>> answer = solve_priced(replace(compile_problem(problem), replica_prices=prices))
    >>> answer.counts.tolist(), answer.objective, round(answer.bound, 9), answer.proven
    ([[0, 2]], -0.5, -0.5, True)
    """
    if not np.isfinite(compiled.latency).any(axis=1).all():
        return PricedAnswer(inf, None, None, True)
    left = units_left() if work is None else min(work, units_left())
    if not eliminable(compiled):
        return _by_program(compiled, left, start, cutoff, gap)
    ends = now() + left
    first = _by_elimination(compiled, min(ELIMINATION_WORK, ELIMINATION_SHARE * left), start, cutoff, gap)
    if first.proven or passed(ends):
        return first
    second = _by_program(compiled, ends - now(), start if first.counts is None else first.counts, cutoff, gap)
    best = _answer(compiled, max(first.bound, second.bound), [first.counts, second.counts], cutoff, gap)
    return replace(best, others=first.others)


def solve_under_loads(
    compiled: Compiled, periods: Sequence[Compiled], work: float, start: Ints | None, gap: float
) -> PricedAnswer:
    """A bound for several periods in which nothing changes, by HiGHS: the response time of each has rows of its own.

    Parameters
    ----------
    compiled
        The periods as one problem with their mean latencies, and prices of replicas; its objective is at most the sum of theirs.
    periods
        The periods, whose weights are proportional to their durations.
    start
        Replicas that are feasible in all periods, shape (operators, nodes).
    gap
        Relative gap at which a bound is good enough.
    """
    whole = compiled.weight["response_time"]
    loads = [(period.weight["response_time"] / whole, period.latency) for period in periods] if whole else ()
    expressions = build_compact(compiled, loads)
    point = None if start is None else expressions.start(start)
    result = solve_program(expressions.program, work_limit=None if work == inf else work, gap=gap, start=point)
    bound = inf if result.status == "infeasible" else -inf if result.bound is None else result.bound
    counts = None if result.values is None else expressions.counts(result.values)
    return PricedAnswer(bound, counts, None, result.status in ("optimal", "infeasible"))


def eliminable(compiled: Compiled) -> bool:
    """Whether `eliminate` models all of a problem: no availability, no peak loads, no cycles, not too many configurations."""
    counted = [metric for metric in (*compiled.weight, "supervisors") if compiled.counts_metric(metric)]
    known = {"response_time", "cost", "downtime", NetworkUsage.name}.issuperset(counted)
    sizes = zip(compiled.candidate.sum(axis=1).tolist(), compiled.max_replicas.tolist(), strict=True)
    few = all(count_configurations(nodes, replicas) <= MAX_CONFIGURATIONS for nodes, replicas in sizes)
    return known and few and bool(compiled.forward.all())


def _by_elimination(compiled: Compiled, work: float, start: Ints | None, cutoff: float, gap: float) -> PricedAnswer:
    """By `eliminate`, which needs no document."""
    ends, model = now() + work, build_model(compiled)
    incumbent = best_known(model, [start])
    if cutoff < incumbent.objective:
        incumbent.objective, incumbent.members = cutoff, None
    search = BoxTree(model, PARAMETERS, incumbent, 0.5 * gap, lambda: passed(ends), lambda incumbent, bound: None)
    try:
        bound = search.run(roots(model))
    except OutOfTimeError:
        bound = search.bound
    counts = None if incumbent.members is None else counts_of(model, incumbent.members)
    if counts is None and bound >= incumbent.objective:
        bound = inf if cutoff == inf else bound
    elif counts is not None:
        # Bounds include the tie terms, which are below anything that counts.
        bound += counts_objective(compiled, counts) - incumbent.objective
    distinct = {other.tobytes(): other for _, members in search.met for other in [counts_of(model, members)]}
    if counts is not None:
        distinct.pop(counts.tobytes(), None)
    return replace(_answer(compiled, bound, [counts, start], cutoff, gap), others=tuple(distinct.values()))


def _by_program(compiled: Compiled, work: float, start: Ints | None, cutoff: float, gap: float) -> PricedAnswer:
    """By HiGHS on the compact program."""
    expressions = build_compact(compiled)
    expressions.program.count_building()
    point = None if start is None or counts_objective(compiled, start) == inf else expressions.start(start)
    result = solve_program(expressions.program, work_limit=None if work == inf else work, gap=gap, start=point)
    bound = inf if result.status == "infeasible" else -inf if result.bound is None else result.bound
    return _answer(compiled, bound, [None if result.values is None else expressions.counts(result.values), start], cutoff, gap)


def _answer(compiled: Compiled, bound: float, found: list[Ints | None], cutoff: float, gap: float) -> PricedAnswer:
    """The best of what was found, next to a bound."""
    values = [inf if counts is None else counts_objective(compiled, counts) for counts in found]
    objective = min(values)
    if objective == inf:
        return PricedAnswer(bound, None, None, bound >= cutoff)
    bound = min(bound, objective)
    proven = bound >= cutoff or within_gap(objective, bound, gap)
    return PricedAnswer(bound, found[values.index(objective)], objective, proven)
