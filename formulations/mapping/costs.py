"""Which costs the exact methods take."""

from __future__ import annotations

from edrp.mapping.path_mapping import MappingProblem


def refusal(problem: MappingProblem) -> str | None:
    """Why labels and programs cannot express the cost of a problem; None if they can.

    Examples
    --------
    >>> problem = MappingProblem(
    ...     network={"nodes": [{"name": "a", "capacity": 1}]}, cost="load-balance",
    ...     task={"source": "a", "delivery": "a", "components": [], "bandwidths": [1]},
    ... )
    >>> refusal(problem)
    "cost 'load-balance' is no sum over links; process-map enumerates maps under it, least-cost-map searches them"
    """
    if problem.cost == "additive":
        return None
    return f"cost {problem.cost!r} is no sum over links; process-map enumerates maps under it, least-cost-map searches them"
