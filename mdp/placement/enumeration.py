"""All deployments of a problem, where they are few."""

from __future__ import annotations

import numpy as np

from edrp.core.arrays import Ints, flattened
from edrp.placement.compiled import Compiled, count_configurations, multisets, replica_counts


def count_deployments(compiled: Compiled) -> float:
    """Number of deployments by candidates and numbers of replicas alone.

    >>> from edrp.placement.compilation import compile_problem
    >>> from edrp.placement.edrp import EdrpProblem
    >>> problem = EdrpProblem(
    ...     application={"operators": [{"name": "parser", "max_replicas": 2}]},
    ...     network={"nodes": [{"name": "a"}, {"name": "b"}]},
    ...     weights={"cost": 1.0},
    ...     limits={"cost": 4.0},
    ... )
    >>> count_deployments(compile_problem(problem))
    5.0
    """
    total = 1.0
    for i, nodes in enumerate(compiled.candidate.sum(axis=1).tolist()):
        least, most = int(compiled.min_replicas[i]), int(compiled.max_replicas[i])
        below = count_configurations(nodes, least - 1) if least > 1 else 0
        total *= count_configurations(nodes, most) - below
    return total


def all_deployments(compiled: Compiled) -> Ints:
    """All deployments by candidates and numbers of replicas alone, shape (deployments, operators, nodes)."""
    nodes = compiled.candidate.shape[1]
    rows = []
    for i in range(len(compiled.operators)):
        members = multisets(compiled.candidates(i), int(compiled.max_replicas[i]))
        counts = replica_counts(members, nodes).astype(np.int64)
        rows.append(counts[counts.sum(axis=1) >= compiled.min_replicas[i]])
    choice = flattened(np.indices([len(counts) for counts in rows]))
    return np.stack([counts[chosen] for counts, chosen in zip(rows, choice, strict=True)], axis=1)
