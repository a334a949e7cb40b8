"""rEDRP (section 7.2): the literal program over configurations one step from the current ones."""

from __future__ import annotations

import numpy as np

from edrp.core.arrays import Ints32
from edrp.core.budget import refuse_beyond_memory
from edrp.core.errors import UnsupportedProblemError
from edrp.formulations.placement.literal import LiteralExpressions, build_over
from edrp.placement.compiled import NO_NODE, Compiled


def build_restricted(compiled: Compiled) -> LiteralExpressions:
    """The literal program over every operator's neighbourhood.

    Its optimum is a feasible deployment of the problem, not always the best, and it may be infeasible where
    the problem is not.

    Raises
    ------
    UnsupportedProblemError
        Without a current deployment.
    ProblemTooLargeError
        When memory could not hold some operator's neighbourhood.
    """
    if compiled.current is None:
        raise UnsupportedProblemError(
            "the program 'restricted' needs a current deployment to start from; use the program 'compact'"
        )
    for i, replicas in enumerate(compiled.current.sum(axis=1)):
        steps = int((replicas + 1) * compiled.candidate[i].sum())
        refuse_beyond_memory(
            steps * int(max(replicas + 1, compiled.max_replicas[i])) * 16.0,
            f"the {steps:,} neighbours of {compiled.operators[i]}'s current configuration",
            "use the method 'annealing'",
        )
    return build_over(compiled, [neighbourhood(compiled, i) for i in range(len(compiled.operators))])


def neighbourhood(compiled: Compiled, operator: int) -> Ints32:
    """P(V_res^i; k_i; U_0): the current configuration, and those with one replica more, less, or elsewhere.

    Returns
    -------
    numpy.ndarray
        Shape (configurations, max_replicas), padded with -1, members ascending. A current configuration with
        more replicas than allowed has none but its reductions by one, if those are few enough.
    """
    assert compiled.current is not None
    current = np.repeat(np.arange(len(compiled.nodes)), compiled.current[operator]).tolist()
    candidates = compiled.candidates(operator).tolist()
    neighbours = {tuple(current)}
    neighbours |= {tuple(sorted([*current, node])) for node in candidates}
    for replica in range(len(current)):
        rest = current[:replica] + current[replica + 1 :]
        neighbours |= {tuple(sorted([*rest, node])) for node in candidates}
        neighbours.add(tuple(rest))
    limit = int(compiled.max_replicas[operator])
    allowed = (members for members in neighbours if 0 < len(members) <= limit)
    kept = sorted(allowed, key=lambda members: (len(members), members))
    result = np.full((len(kept), limit), NO_NODE, np.int32)
    for row, members in enumerate(kept):
        result[row, : len(members)] = members
    return result
