"""Loads of the shared resources of nodes as expressions over the replica columns of any program.

With shares φ[i,u] of an operator's replicas, what a stream (i, j) sends away from node u is φ[i,u]·(1 − φ[j,u]), or where it is
partitioned "forward" max(0, n[i,u] − n[j,u]) / |i|.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from edrp.core.arrays import Floats, Ints
from edrp.core.program import Linear, Program
from edrp.placement.compiled import Compiled


@dataclass(frozen=True, slots=True)
class Holdings:
    """Column `columns[t]` set to 1 means `counts[t]` of the operator's `totals[t]` replicas on node `nodes[t]`.

    At most one column of each node is 1, or one column stands for several nodes.
    """

    columns: Ints
    nodes: Ints
    counts: Ints
    totals: Ints

    @property
    def shares(self) -> Floats:
        """Share of the operator's replicas."""
        return np.asarray(self.counts / self.totals)


@dataclass(frozen=True, slots=True)
class NodeTerms:
    """Terms `coefficients[t]` × `columns[t]` that add up on each node `nodes[t]`."""

    nodes: Ints
    columns: Ints
    coefficients: Floats

    @classmethod
    def joined(cls, parts: Sequence[NodeTerms]) -> NodeTerms:
        """Concatenate the terms of several parts."""
        return cls(
            np.concatenate([part.nodes for part in parts]),
            np.concatenate([part.columns for part in parts]),
            np.concatenate([part.coefficients for part in parts]),
        )


class NodeLoads:
    """Peak loads of a program; the columns of a resource and of a stream are made once."""

    def __init__(self, program: Program, compiled: Compiled, holdings: list[Holdings]) -> None:
        self.program, self.compiled, self.holdings = program, compiled, holdings
        self._leaving: dict[int, NodeTerms] = {}

    def peak(self, resource: str | None) -> Linear:
        """A column that is at least every node's share of a resource, or of any; a row per node, or per resource."""
        names = self.compiled.contention.resources
        if resource is not None:
            return Linear.of(self._peak_expression(names.index(resource)))
        if "peak load" not in self.program.column_blocks:
            peaks = np.array([self._peak_expression(k) for k in range(len(names))])
            peak, rows = self.program.add_columns("peak load"), np.arange(peaks.size)
            entries = [(rows, np.full(peaks.size, peak), 1.0), (rows, peaks, -1.0)]
            self.program.add_rows("peak load", peaks.size, entries, lower=0.0)
        return Linear.of(self.program["peak load"])

    def _peak_expression(self, k: int) -> int:
        """The column above the shares of resource k of all nodes: share ≥ Σ demand / capacity; a row per node."""
        contention, name = self.compiled.contention, f"peak load: {self.compiled.contention.resources[k]}"
        if name in self.program.column_blocks:
            return int(self.program[name])
        parts = []
        for i, holdings in enumerate(self.holdings):
            use = contention.replica_use[i, holdings.totals, k] * holdings.counts
            parts.append(NodeTerms(holdings.nodes, holdings.columns, use))
        for e in np.flatnonzero(contention.stream_use[:, k]):
            leaving = self._leaving_terms(int(e))
            parts.append(NodeTerms(leaving.nodes, leaving.columns, contention.stream_use[e, k] * leaving.coefficients))
        terms = NodeTerms.joined(parts)
        counted = (terms.coefficients != 0) & np.isfinite(contention.capacity[terms.nodes, k])
        nodes, row = np.unique(terms.nodes[counted], return_inverse=True)
        peak = self.program.add_columns(name)
        share = terms.coefficients[counted] / contention.capacity[terms.nodes[counted], k]
        entries = [(np.arange(nodes.size), np.full(nodes.size, peak), 1.0), (row, terms.columns[counted], -share)]
        self.program.add_rows(name, nodes.size, entries, lower=0.0)
        return int(peak)

    def _leaving_terms(self, stream: int) -> NodeTerms:
        """Share of a stream that each node sends to other nodes."""
        if stream not in self._leaving:
            i, j = int(self.compiled.stream_source[stream]), int(self.compiled.stream_target[stream])
            name = f"sent away {self.compiled.operators[i]} → {self.compiled.operators[j]}"
            forward = self.compiled.contention.one_to_one[stream]
            leaving = self._one_to_one if forward else self._all_to_all
            self._leaving[stream] = leaving(name, self.holdings[i], self.holdings[j])
        return self._leaving[stream]

    def _all_to_all(self, name: str, source: Holdings, target: Holdings) -> NodeTerms:
        """φ[i,u] − Σ_b b·w[u,b], with w[u,b] ≤ [taker has share b on u] and Σ_b w[u,b] ≤ φ[giver,u] over nodes u of both.

        The taker is the end with fewer distinct shares b. A row per column, and one per node.
        """
        giver, taker = (target, source) if np.unique(source.shares).size < np.unique(target.shares).size else (source, target)
        sent = NodeTerms(source.nodes, source.columns, source.shares)
        nodes = np.intersect1d(source.nodes, target.nodes)
        if not nodes.size:
            return sent
        shares, group = np.unique(taker.shares, return_inverse=True)
        columns = self.program.add_columns(name, (nodes.size, shares.size), upper=1.0)
        at = np.arange(nodes.size)[:, None]
        place = np.full(len(self.compiled.nodes), -1)
        place[nodes] = np.arange(nodes.size)
        sends, receives = place[giver.nodes] >= 0, place[taker.nodes] >= 0
        rows = [(at, columns, 1.0), (place[giver.nodes[sends]], giver.columns[sends], -giver.shares[sends])]
        self.program.add_rows(f"{name}: given", nodes.size, rows, upper=0.0)
        cell = place[taker.nodes[receives]] * shares.size + group[receives]
        rows = [(np.arange(columns.size), columns.ravel(), 1.0), (cell, taker.columns[receives], -1.0)]
        self.program.add_rows(f"{name}: taken", columns.size, rows, upper=0.0)
        stays = NodeTerms(np.repeat(nodes, shares.size), columns.ravel(), -np.tile(shares, nodes.size))
        return NodeTerms.joined([sent, stays])

    def _one_to_one(self, name: str, source: Holdings, target: Holdings) -> NodeTerms:
        """Columns y[u] ≥ (n[i,u] − n[j,u]) / r for the number of replicas r that i has, where the first term is 0 for others.

        A row per node of the source and number of replicas.
        """
        nodes, place = np.unique(source.nodes, return_inverse=True)
        totals, kind = np.unique(source.totals, return_inverse=True)
        columns = self.program.add_columns(name, nodes.size, upper=1.0)
        row = np.arange(nodes.size * totals.size)
        entries = [(row, np.repeat(columns, totals.size), 1.0), (place * totals.size + kind, source.columns, -source.shares)]
        where = np.full(len(self.compiled.nodes), -1)
        where[nodes] = np.arange(nodes.size)
        met = where[target.nodes] >= 0
        cells = where[target.nodes[met]][:, None] * totals.size + np.arange(totals.size)
        entries.append((cells, target.columns[met][:, None], target.counts[met][:, None] / totals))
        self.program.add_rows(name, row.size, entries, lower=0.0)
        return NodeTerms(nodes, columns, np.ones(nodes.size))
