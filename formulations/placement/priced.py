"""Problems whose replicas have prices, given as arrays: an optimum with a proven bound.

What decides for several periods at once prices the copies of a deployment apart, and asks for the best one under these prices,
again and again. No document describes such a problem: rates, weights and prices are replaced in the arrays of another one.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

from edrp.backends import solve_program
from edrp.core.arrays import Ints
from edrp.core.tolerances import OPTIMALITY_GAP
from edrp.formulations.placement.compact import build_compact
from edrp.placement.compiled import Compiled
from edrp.placement.counts_objective import counts_objective


@dataclass(frozen=True, slots=True)
class PricedAnswer:
    """The best deployment that was found, and what is proven of all.

    Attributes
    ----------
    bound : no deployment has a smaller objective; infinite where none is feasible, −infinite where nothing is known.
    counts : shape (operators, nodes), replicas; None where none was found.
    objective : that of `counts`, prices included.
    proven : whether the bound comes as near to the objective as was asked for, or there is nothing to be found.
    """

    bound: float
    counts: Ints | None
    objective: float | None
    proven: bool


def solve_priced(
    compiled: Compiled,
    work: float | None = None,
    start: Ints | None = None,
    cutoff: float = inf,
    gap: float = OPTIMALITY_GAP,
) -> PricedAnswer:
    """Find the best deployment by arrays whose replicas may have prices, with a bound that holds wherever it stops.

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
    >>> answer.counts.tolist(), answer.objective, answer.bound, answer.proven
    ([[0, 2]], -0.5, -0.5, True)
    """
    expressions = build_compact(compiled)
    feasible = start is not None and counts_objective(compiled, start) < inf
    point = expressions.start(start) if feasible else None
    result = solve_program(expressions.program, work_limit=work, gap=gap, start=point)
    if result.status == "infeasible":
        return PricedAnswer(inf, None, None, True)
    bound = -inf if result.bound is None else result.bound
    found = [] if start is None else [start]
    if result.values is not None:
        found.insert(0, expressions.counts(result.values))
    values = [counts_objective(compiled, counts) for counts in found]
    if not values or min(values) == inf:
        return PricedAnswer(bound, None, None, bound >= cutoff)
    objective = min(values)
    bound = min(bound, objective)
    proven = bound >= min(cutoff, objective - max(gap, OPTIMALITY_GAP) * max(1.0, abs(objective)))
    return PricedAnswer(bound, found[values.index(objective)], objective, proven)
