"""The data of the literal program as a modeller holds it before a line of the model is written: tables by configuration.

The libraries beside us start from these tables, made and in memory, while `edrp` starts from the documents. Only
`tables_of` needs edrp, so that a process which measures another library does not carry ours.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from edrp.core.arrays import Bools, Floats

if TYPE_CHECKING:
    from edrp.placement.edrp import EdrpProblem


@dataclass(frozen=True, slots=True)
class Tables:
    """Operators i, their configurations U, streams e from i to j, node resources u; times relative to the limit R_max.

    Attributes
    ----------
    usable : one array per operator, shape (configurations,), bool
        Whether U is stable and no node is too small for it; x_{i,U} = 0 where not.
    use : one array per operator, shape (configurations, node resources)
        Share of each node resource that U takes.
    latency, replica_cost : one array per operator, shape (configurations,)
    streams : tuple of (i, j)
    delay, traffic_cost : one array per stream, shape (configurations of i, configurations of j)
    paths : tuple of (operators, streams)
    cost_limit, response_weight, cost_weight : float
        C_max, and the weights of the objective per unit of r and of cost.
    """

    usable: tuple[Bools, ...]
    use: tuple[Floats, ...]
    latency: tuple[Floats, ...]
    replica_cost: tuple[Floats, ...]
    streams: tuple[tuple[int, int], ...]
    delay: tuple[Floats, ...]
    traffic_cost: tuple[Floats, ...]
    paths: tuple[tuple[tuple[int, ...], tuple[int, ...]], ...]
    cost_limit: float
    response_weight: float
    cost_weight: float

    @property
    def sizes(self) -> tuple[int, ...]:
        """Configurations of each operator."""
        return tuple(usable.size for usable in self.usable)


def tables_of(problem: EdrpProblem) -> Tables:
    """Tables of an initial placement with weights and limits on response time and cost, as in `debs2015`."""
    from edrp.formulations.placement.literal import latencies, longest_delays, mean_over_pairs
    from edrp.placement.compilation import compile_problem
    from edrp.placement.compiled import degrees, multisets, replica_counts
    from edrp.placement.metrics.base import LIMIT_SLACK

    compiled = compile_problem(problem)
    members = [multisets(compiled.candidates(i), int(k)) for i, k in enumerate(compiled.max_replicas)]
    limited = np.isfinite(compiled.capacity) & (compiled.capacity > 0)
    node, resource = np.nonzero(limited)
    held = [replica_counts(member, len(compiled.nodes))[:, node] for member in members]
    use = [counts * compiled.demand[i, resource] / compiled.capacity[node, resource] for i, counts in enumerate(held)]
    seconds = [latencies(compiled, i, each) for i, each in enumerate(members)]
    longest, streams = compiled.limit["response_time"], tuple(zip(compiled.stream_source, compiled.stream_target, strict=True))
    ends = [(members[i], members[j]) for i, j in streams]
    traffic = [rate * compiled.link_cost for rate in compiled.stream_rate]
    operator = {name: i for i, name in enumerate(compiled.operators)}
    stream = {(compiled.operators[i], compiled.operators[j]): e for e, (i, j) in enumerate(streams)}
    return Tables(
        usable=tuple(
            np.isfinite(latency) & (share <= 1 + LIMIT_SLACK).all(axis=1) for latency, share in zip(seconds, use, strict=True)
        ),
        use=tuple(use),
        latency=tuple(np.where(np.isfinite(second), second, 0.0) / longest for second in seconds),
        replica_cost=tuple(compiled.replica_cost[i] * degrees(each) for i, each in enumerate(members)),
        streams=tuple((int(i), int(j)) for i, j in streams),
        delay=tuple(longest_delays(compiled.delay, *end) / longest for end in ends),
        traffic_cost=tuple(mean_over_pairs(table, *end) for table, end in zip(traffic, ends, strict=True)),
        paths=tuple(
            (tuple(operator[name] for name in path), tuple(stream[leg] for leg in pairwise(path)))
            for path in problem.application.paths
        ),
        cost_limit=compiled.limit["cost"],
        response_weight=compiled.weight["response_time"] * longest,
        cost_weight=compiled.weight["cost"],
    )
