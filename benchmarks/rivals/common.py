"""What all sides of the comparison share: the data that libraries start from, and one form in which programs are compared.

The libraries start from tables by configuration, made and in memory, as a modeller holds them before a line of the model is
written; `edrp` starts from the documents. Only `tables_of` needs edrp, so that a process which measures another library does not
carry ours.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

from edrp.core.arrays import Bools, Floats
from edrp.core.tolerances import LIMIT_SLACK

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


@dataclass(frozen=True, slots=True)
class Canonical:
    """`min objective·x`, `row_lower ≤ matrix·x ≤ row_upper`, bounds; columns x_{i,U}, y_{e,(U,V)}, r, t_D in this order."""

    objective: Floats
    lower: Floats
    upper: Floats
    integer: Bools
    matrix: sparse.csr_array
    row_lower: Floats
    row_upper: Floats


def difference(one: Canonical, other: Canonical) -> float:
    """Largest relative difference between two entries of the programs; infinite where they differ in shape or kind.

    Order, sign and scale of rows do not count, and a row of one column is a bound.
    """
    one, other = _ordered(_bounds_apart(one)), _ordered(_bounds_apart(other))
    if one.matrix.shape != other.matrix.shape or (one.integer != other.integer).any():
        return np.inf
    for name in ("indptr", "indices"):
        if not np.array_equal(getattr(one.matrix, name), getattr(other.matrix, name)):
            return np.inf
    numbers = ("objective", "lower", "upper", "row_lower", "row_upper")
    apart = [_apart(getattr(one, name), getattr(other, name)) for name in numbers]
    return max(*apart, _apart(one.matrix.data, other.matrix.data))


def _apart(a: Floats, b: Floats) -> float:
    """Largest relative difference between two arrays; infinite where an infinite entry differs."""
    different = a != b  # infinite ends of ranges may be equal
    a, b = a[different], b[different]
    if not (np.isfinite(a) & np.isfinite(b)).all():
        return np.inf
    return float((np.abs(a - b) / np.maximum(np.abs(a), np.abs(b))).max(initial=0.0))


def _bounds_apart(program: Canonical) -> Canonical:
    """Rows of one column as bounds of that column; rows of none dropped."""
    entries = np.diff(program.matrix.indptr)
    single = np.flatnonzero(entries == 1)
    column, factor = program.matrix.indices[program.matrix.indptr[single]], program.matrix.data[program.matrix.indptr[single]]
    ends = np.sort([program.row_lower[single] / factor, program.row_upper[single] / factor], axis=0)
    lower, upper = program.lower.copy(), program.upper.copy()
    np.maximum.at(lower, column, ends[0])
    np.minimum.at(upper, column, ends[1])
    kept = entries > 1
    matrix, ends = program.matrix[kept], (program.row_lower[kept], program.row_upper[kept])
    return replace(program, lower=lower, upper=upper, matrix=matrix, row_lower=ends[0], row_upper=ends[1])


def _ordered(program: Canonical) -> Canonical:
    """Rows scaled to a largest entry of 1 and a positive value at a random point, in ascending order of that value."""
    matrix = program.matrix
    point = np.random.default_rng(0).uniform(0.5, 1.5, matrix.shape[1])
    value = matrix @ point
    scale = np.sign(value) / abs(matrix).max(axis=1).toarray().ravel()
    order = np.argsort(value * scale)
    ends = np.sort([program.row_lower * scale, program.row_upper * scale], axis=0)[:, order]
    rows = sparse.csr_array(matrix[order])
    rows.data *= np.repeat(scale[order], np.diff(rows.indptr))
    rows.sort_indices()
    return replace(program, matrix=rows, row_lower=ends[0], row_upper=ends[1])
