"""The compact program: O(N²·|E|) columns instead of O(N^{2k}·|E|), the same optimum, for any DAG.

Instead of one column per multiset it says of each operator how many replicas there are, and of each node how
many of them it runs: h[i,u,(c,r)] = 1 when exactly c of the r replicas of operator i run on node u. Shares
φ[i,u] = Σ c/r·h[i,u,(c,r)] are then linear. Everything else is made only where a weight or a limit needs it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from edrp.compiled import Compiled
from edrp.formulations.compact_downtime import add_downtime_rows
from edrp.formulations.compact_response import add_response_rows
from edrp.formulations.compact_streams import PairSums
from edrp.formulations.placement import (
    Holdings,
    Index,
    PlacementExpressions,
    Values,
    add_capacity_rows,
    add_objective_and_limits,
    exceeds_capacity,
)
from edrp.program import Linear, Program


@dataclass(frozen=True, slots=True)
class OperatorColumns:
    """Columns of one operator.

    Attributes
    ----------
    nodes : shape (candidates,)
        Node indices.
    counts, degrees : shape (patterns,)
        c and r of each pattern (c of r replicas).
    pattern : shape (candidates, patterns)
        Columns h[u,(c,r)].
    present : shape (candidates,)
        Columns z[u]: any replica on u.
    degree : shape (max_replicas,)
        Columns s[r] for r = 1, 2, …: r replicas in all; none where there can be one only.
    replicas : int
        Most replicas.
    """

    nodes: Index
    counts: Index
    degrees: Index
    pattern: Index
    present: Index
    degree: Index
    replicas: int

    @property
    def single(self) -> bool:
        """Whether there can be one replica only; then h = z and s has nothing to say."""
        return self.replicas == 1

    @property
    def share(self) -> Values:
        """c/r of each pattern."""
        return np.asarray(self.counts / self.degrees)


def build_compact(compiled: Compiled) -> CompactExpressions:
    """The compact program of a problem."""
    expressions = CompactExpressions(compiled)
    add_degree_rows(expressions)
    add_pattern_rows(expressions)
    add_capacity_rows(expressions)
    add_objective_and_limits(expressions)
    return expressions


class CompactExpressions(PlacementExpressions):
    """Metrics over h, z, s and what is derived from them."""

    def __init__(self, compiled: Compiled) -> None:
        self.compiled = compiled
        self.program = Program()
        self.operators = [_add_columns(self.program, compiled, i) for i in range(len(compiled.operators))]
        self.pair_sums = PairSums(self.program, compiled, self.operators)
        self._response: Linear | None = None
        self._downtime: Linear | None = None

    def holdings(self, operator: int) -> Holdings:
        """Each pattern holds its c replicas on its node."""
        own = self.operators[operator]
        nodes, counts = np.broadcast_arrays(own.nodes[:, None], own.counts)
        return Holdings(own.pattern.ravel(), nodes.ravel(), counts.ravel())

    def start(self, counts: NDArray[np.int64]) -> Values | None:
        """h, z and s of a deployment; everything else is left to the solver."""
        values = np.full(self.program.columns, np.nan)
        for i, own in enumerate(self.operators):
            degree = int(counts[i].sum())
            if degree > own.replicas or counts[i].sum() != counts[i, own.nodes].sum():
                return None
            held = counts[i, own.nodes]
            if not own.single:
                values[own.degree] = np.arange(1, own.replicas + 1) == degree
            values[own.pattern] = (held[:, None] == own.counts) & (own.degrees == degree)
            values[own.present] = held > 0
        return values

    def replica_sum(self, weights: Values) -> Linear:
        """Σ_i weights[i]·Σ_r r·s[i,r]."""
        total = Linear.zero()
        for own, weight in zip(self.operators, weights, strict=True):
            if weight and own.single:
                total += float(weight)
            elif weight:
                total += Linear.of(own.degree, weight * np.arange(1, own.replicas + 1))
        return total

    def stream_pair_sum(self, weights: Values) -> Linear:
        """Σ_e Σ_{u,v} weights[e,u,v]·φ[i,u]·φ[j,v], linearised."""
        return self.pair_sums.total(weights)

    def response_time(self) -> Linear:
        """A column above the finishing time of every operator."""
        if self._response is None:
            self._response = add_response_rows(self)
        return self._response

    def downtime(self) -> Linear:
        """A column above every operator's downtime; 0 without a current deployment."""
        if self._downtime is None:
            self._downtime = add_downtime_rows(self)
        return self._downtime

    def node_in_use(self) -> Index:
        """Columns n_u ≥ z[i,u]; one row per operator and candidate."""
        used = self.program.add_columns("node in use", len(self.compiled.nodes), upper=1.0)
        present = np.concatenate([own.present for own in self.operators])
        nodes = np.concatenate([own.nodes for own in self.operators])
        rows = np.arange(present.size)
        self.program.add_rows("node in use", present.size, [(rows, used[nodes], 1.0), (rows, present, -1.0)], lower=0.0)
        return used

    def link_in_use(self) -> Index:
        """Columns l_{uv} ≥ z[i,u] + z[j,v] − 1; one row per stream and pair of candidates."""
        count = len(self.compiled.nodes)
        used = self.program.add_columns("link in use", (count, count), upper=1.0)
        for i, j in zip(self.compiled.stream_source, self.compiled.stream_target, strict=True):
            source, target = self.operators[i], self.operators[j]
            a, b = np.nonzero(source.nodes[:, None] != target.nodes)
            rows = np.arange(a.size)
            entries = [(rows, used[source.nodes[a], target.nodes[b]], 1.0), (rows, source.present[a], -1.0), (rows, target.present[b], -1.0)]
            name = f"link in use {self.compiled.operators[i]} → {self.compiled.operators[j]}"
            self.program.add_rows(name, a.size, entries, lower=-1.0)
        return np.where(np.eye(count, dtype=bool), -1, used)


def _add_columns(program: Program, compiled: Compiled, operator: int) -> OperatorColumns:
    """h, z and s of one operator; what is unstable or too much for a node has upper bound 0."""
    name, limit = compiled.operators[operator], int(compiled.max_replicas[operator])
    nodes = compiled.candidates(operator)
    degrees, counts = np.nonzero(np.tri(limit, dtype=bool))  # every r with every c ≤ r
    degrees, counts = degrees + 1, counts + 1
    stable = np.isfinite(compiled.latency[operator, degrees])
    usable = stable & ~exceeds_capacity(compiled, operator, nodes[:, None], np.broadcast_to(counts, (nodes.size, counts.size)))
    shape = (nodes.size, counts.size)
    pattern = program.add_columns(f"pattern {name}", shape, upper=usable.astype(float), integer=True)
    if limit == 1:
        return OperatorColumns(nodes, counts, degrees, pattern, pattern[:, 0], np.zeros(0, np.int64), 1)
    present = program.add_columns(f"present {name}", nodes.size, upper=usable.any(axis=1).astype(float), integer=True)
    finite = np.isfinite(compiled.latency[operator, 1 : limit + 1])
    degree = program.add_columns(f"degree {name}", limit, upper=finite.astype(float), integer=True)
    return OperatorColumns(nodes, counts, degrees, pattern, present, degree, limit)


def add_degree_rows(expressions: CompactExpressions) -> None:
    """Σ_r s[i,r] = 1, or Σ_u z[i,u] = 1 where there is one replica only; one row per operator."""
    entries = [(np.full(c.size, i), c, 1.0) for i, own in enumerate(expressions.operators) for c in [own.present if own.single else own.degree]]
    expressions.program.add_rows("one degree", len(entries), entries, lower=1.0, upper=1.0)


def add_pattern_rows(expressions: CompactExpressions) -> None:
    """What ties h, z and s together, for each operator that can have several replicas.

    Σ_u Σ_c c·h[u,(c,r)] = r·s[r], k rows; Σ_{c,r} h[u,(c,r)] = z[u], N rows; Σ_c h[u,(c,r)] ≤ s[r], N·k rows
    that hold at integers anyway and cut off fractions.
    """
    program = expressions.program
    for name, own in zip(expressions.compiled.operators, expressions.operators, strict=True):
        if own.single:
            continue
        replicas, size = own.replicas, own.nodes.size
        row = own.degrees - 1
        count_all = [(row, own.pattern, own.counts), (np.arange(replicas), own.degree, -np.arange(1, replicas + 1))]
        program.add_rows(f"count {name}", replicas, count_all, lower=0.0, upper=0.0)
        node = np.arange(size)
        program.add_rows(f"present {name}", size, [(node[:, None], own.pattern, 1.0), (node, own.present, -1.0)], lower=0.0, upper=0.0)
        cell = node[:, None] * replicas
        cuts = [(cell + row, own.pattern, 1.0), (cell + np.arange(replicas), own.degree, -1.0)]
        program.add_rows(f"degree {name}", size * replicas, cuts, upper=0.0)
