"""The compact program: O(N²·|E|) columns instead of O(N^{2k}·|E|), the same optimum, for any DAG.

Instead of one column per multiset it says of each operator how its replicas are split, whatever the nodes (its
split: 3 replicas as 2 + 1, say), and of each node which part of that split it runs: h[i,u,(c,p)] = 1 when split p
is chosen and node u runs exactly c of its replicas. Shares φ[i,u] = Σ c/|p|·h[i,u,(c,p)] are then linear.
Everything else is made only where a weight or a limit needs it.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cache, cached_property

import numpy as np

from edrp.core.arrays import Floats, Ints
from edrp.core.budget import refuse_beyond_memory
from edrp.core.program import Linear
from edrp.formulations.placement.builder import PlacementExpressions, add_capacity_rows, add_objective_and_limits
from edrp.formulations.placement.compact_columns import CompactColumns, PairSums
from edrp.formulations.placement.compact_rows import Loads, add_downtime_rows, add_path_rows, add_response_rows
from edrp.formulations.placement.node_loads import Holdings
from edrp.placement.compiled import Compiled
from edrp.placement.metrics import NetworkUsage

BYTES_PER_COLUMN = 3000
"""Memory that a column and its coefficients take, most of it in the solver (measured with HiGHS)."""

MAX_COUNTED_PATTERNS = 5000
"""Patterns of an operator beyond which their distinct shares are not counted one by one."""


def build_compact(compiled: Compiled, loads: Loads = ()) -> CompactExpressions:
    """The compact program of a problem, or of one whose response time is the mean under several loads.

    Raises
    ------
    ProblemTooLargeError
        Before allocating it; the message says how many columns it would have.
    """
    columns = estimated_columns(compiled)
    what = f"the compact program's {columns:,.0f} columns"
    refuse_beyond_memory(BYTES_PER_COLUMN * columns, what, "", ("annealing",))
    expressions = CompactExpressions(compiled, loads)
    # Σ_p s[i,p] = 1, or Σ_u z[i,u] = 1 where there is one replica only; one row per operator.
    splits = [columns_of.present if columns_of.single else columns_of.split for columns_of in expressions.operators]
    entries = [(np.full(split.size, i), split, 1.0) for i, split in enumerate(splits)]
    expressions.program.add_rows("one split", len(entries), entries, lower=1.0, upper=1.0)
    add_pattern_rows(expressions)
    add_capacity_rows(expressions)
    add_objective_and_limits(expressions)
    expressions.pair_sums.add_room_rows()
    return expressions


def estimated_columns(compiled: Compiled) -> float:
    """About the maximum number of columns of the compact program: patterns, and pairs of nodes where they count."""
    nodes = compiled.candidate.sum(axis=1).astype(float)
    ranges = list(zip(compiled.min_replicas.tolist(), compiled.max_replicas.tolist(), strict=True))
    patterns = np.array([_patterns(*replicas) for replicas in ranges])

    def counts(metric: str) -> bool:
        return bool(compiled.weight[metric] or np.isfinite(compiled.limit[metric]))

    i, j = compiled.stream_source, compiled.stream_target
    pairs = nodes[i] * nodes[j]
    if counts(NetworkUsage.name) or (counts("cost") and compiled.links.priced):
        shares = np.array([_distinct_shares(*replicas) for replicas in ranges])
        return float(nodes @ patterns + pairs @ np.minimum(shares[i], shares[j]))
    return float(nodes @ patterns + (pairs.sum() if counts("response_time") else 0.0))


def _patterns(min_replicas: int, max_replicas: int) -> float:
    """Number of pairs c, r with 1 ≤ c ≤ r, `min_replicas` ≤ r ≤ `max_replicas`."""
    return (min_replicas + max_replicas) * (max_replicas - min_replicas + 1) / 2


@cache
def _distinct_shares(min_replicas: int, max_replicas: int) -> float:
    """Number of distinct fractions c/r of such pairs; an upper bound where there are very many."""
    patterns = _patterns(min_replicas, max_replicas)
    if min_replicas == max_replicas or patterns > MAX_COUNTED_PATTERNS:
        return patterns
    return float(len({Fraction(c, r) for r in range(min_replicas, max_replicas + 1) for c in range(1, r + 1)}))


class CompactExpressions(PlacementExpressions):
    """Metrics over h, z, s and what is derived from them."""

    def __init__(self, compiled: Compiled, loads: Loads = ()) -> None:
        self.columns, self._loads = CompactColumns(compiled), loads
        self.compiled, self.program, self.operators = compiled, self.columns.program, self.columns.operators
        self.pair_sums = PairSums(self.columns)
        self._response: Linear | None = None
        self._downtime: Linear | None = None

    def holdings(self, operator: int) -> Holdings:
        """Each pattern holds its c replicas on its node."""
        return self._holdings[operator]

    @cached_property
    def _holdings(self) -> list[Holdings]:
        held = []
        for columns in self.operators:
            nodes, counts, totals = np.broadcast_arrays(columns.nodes[:, None], columns.counts, columns.degrees)
            held.append(Holdings(columns.pattern.ravel(), nodes.ravel(), counts.ravel(), totals.ravel()))
        return held

    def start(self, counts: Ints) -> Floats | None:
        """h, z and s of a deployment; everything else is left to the solver."""
        values = np.full(self.program.columns, np.nan)
        for i, columns in enumerate(self.operators):
            chosen = columns.patterns_held(counts[i, columns.nodes])
            if counts[i].sum() != (chosen * columns.counts).sum():
                return None
            values[columns.pattern] = chosen
            values[columns.present] = chosen.any(axis=1)
            if not columns.single:
                values[columns.split] = np.isin(np.arange(columns.totals.size), columns.splits[chosen.any(axis=0)])
        return values

    def replica_sum(self, weights: Floats) -> Linear:
        """Σ_i weights[i]·Σ_p |p|·s[i,p]."""
        total = Linear.zero()
        for columns, weight in zip(self.operators, weights, strict=True):
            if weight and columns.single:
                total += float(weight)
            elif weight:
                total += Linear.of(columns.split, weight * columns.totals)
        return total

    def stream_pair_sum(self, weights: Floats) -> Linear:
        """Σ_e Σ_{u,v} weights[e,u,v]·φ[i,u]·φ[j,v], linearised."""
        return self.pair_sums.total(weights)

    def response_time(self) -> Linear:
        """A column above the finishing time of every operator, or where paths run through instances above every arrival."""
        if self._response is None:
            if self.compiled.instance_paths:
                self._response = add_path_rows(self.columns, self.pair_sums)
            else:
                self._response = add_response_rows(self.columns, self.pair_sums, self._loads)
        return self._response

    def downtime(self) -> Linear:
        """A column above every operator's downtime; 0 without a current deployment."""
        if self._downtime is None:
            self._downtime = add_downtime_rows(self.columns)
        return self._downtime

    def node_in_use(self) -> Ints:
        """Columns n_u ≥ z[i,u]; one row per operator and candidate."""
        if "node in use" in self.program.column_blocks:
            return self.program["node in use"]
        used = self.program.add_columns("node in use", len(self.compiled.nodes), upper=1.0)
        present = np.concatenate([columns.present for columns in self.operators])
        nodes = np.concatenate([columns.nodes for columns in self.operators])
        rows = np.arange(present.size)
        self.program.add_rows("node in use", present.size, [(rows, used[nodes], 1.0), (rows, present, -1.0)], lower=0.0)
        return used

    def link_in_use(self) -> Ints:
        """Columns l_{uv} ≥ z[i,u] + z[j,v] − 1; one row per stream and pair of candidates."""
        count = len(self.compiled.nodes)
        itself = np.eye(count, dtype=bool)
        if "link in use" in self.program.column_blocks:
            return np.where(itself, -1, self.program["link in use"])
        used = self.program.add_columns("link in use", (count, count), upper=1.0)
        for i, j in zip(self.compiled.stream_source, self.compiled.stream_target, strict=True):
            source, target = self.operators[i], self.operators[j]
            a, b = np.nonzero(source.nodes[:, None] != target.nodes)
            rows = np.arange(a.size)
            entries = [
                (rows, used[source.nodes[a], target.nodes[b]], 1.0),
                (rows, source.present[a], -1.0),
                (rows, target.present[b], -1.0),
            ]
            name = f"link in use {self.compiled.operators[i]} → {self.compiled.operators[j]}"
            self.program.add_rows(name, a.size, entries, lower=-1.0)
        return np.where(itself, -1, used)


def add_pattern_rows(expressions: CompactExpressions) -> None:
    """Tie h, z and s together, for each operator that can have several replicas.

    Σ_u h[u,(c,p)] = times(c,p)·s[p], a row per pattern, or where a split does not tell its parts
    Σ_u Σ_c c·h[u,(c,p)] = |p|·s[p], a row per split; Σ_{c,p} h[u,(c,p)] = z[u], N rows;
    Σ_c h[u,(c,p)] ≤ s[p], a row per node and split that holds at integers anyway and cuts off fractions.
    """
    program = expressions.program
    for name, columns in zip(expressions.compiled.operators, expressions.operators, strict=True):
        if columns.single:
            continue
        if columns.times.all():
            row = np.arange(columns.counts.size)
            parts = [(row, columns.pattern, 1.0), (row, columns.split[columns.splits], -columns.times)]
        else:
            row = np.arange(columns.totals.size)
            parts = [(columns.splits, columns.pattern, columns.counts), (row, columns.split, -columns.totals)]
        program.add_rows(f"parts {name}", row.size, parts, lower=0.0, upper=0.0)
        node = np.arange(columns.nodes.size)
        terms = [(node[:, None], columns.pattern, 1.0), (node, columns.present, -1.0)]
        program.add_rows(f"present {name}", node.size, terms, lower=0.0, upper=0.0)
        cell = node[:, None] * columns.totals.size
        cuts = [(cell + columns.splits, columns.pattern, 1.0), (cell + np.arange(columns.totals.size), columns.split, -1.0)]
        program.add_rows(f"split {name}", node.size * columns.totals.size, cuts, upper=0.0)
