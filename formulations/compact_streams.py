"""Products of shares, φ[i,u]·φ[j,v], along the streams of the compact program."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from edrp.compiled import Compiled
from edrp.program import Linear, Program

if TYPE_CHECKING:
    from edrp.formulations.compact import OperatorColumns

Values = NDArray[np.float64]
Index = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Flow:
    """Share of a stream from u to v as Σ_b weights[b]·columns[u,v,b]; u over the source's candidates, v over the target's."""

    columns: Index
    weights: Values


class PairSums:
    """Weighted sums over pairs of replicas; exact flows are made once per stream and shared."""

    def __init__(self, program: Program, compiled: Compiled, operators: Sequence[OperatorColumns]) -> None:
        self.program = program
        self.compiled = compiled
        self.operators = operators
        self.flows: dict[int, Flow] = {}
        self._kept: dict[int, Linear] = {}

    def total(self, weights: Values) -> Linear:
        """Σ_e Σ_{u,v} weights[e,u,v]·φ[i,u]·φ[j,v]; weights ≥ 0, shape (streams, nodes, nodes), 0 on the diagonal."""
        total = Linear.zero()
        for e, (i, j) in enumerate(zip(self.compiled.stream_source, self.compiled.stream_target, strict=True)):
            table = weights[e][np.ix_(self.operators[i].nodes, self.operators[j].nodes)]
            if not table.any():
                continue
            apart = self.operators[i].nodes[:, None] != self.operators[j].nodes
            price = table[apart]
            if np.ptp(price) <= 1e-12 * price.max() and e not in self.flows:
                total += (self.kept(e) * -1.0 + 1.0) * float(price.max())
            else:
                flow = self.exact(e)
                total += Linear.of(flow.columns, table[:, :, None] * flow.weights)
        return total

    def kept(self, stream: int) -> Linear:
        """Share of a stream that stays on its node, Σ_u φ[i,u]·φ[j,u]; bounded from above, which is all that a price needs.

        With groups b of patterns of equal share: co[u,b] ≤ [j has share b on u], Σ_b co[u,b] ≤ φ[i,u]; the
        kept share is Σ_b b·co[u,b]. At most N rows per group and N more.
        """
        if stream in self._kept:
            return self._kept[stream]
        source, target = self._ends(stream)
        giver, taker = (source, target) if _groups(target)[0].size <= _groups(source)[0].size else (target, source)
        _, a, b = np.intersect1d(giver.nodes, taker.nodes, return_indices=True)
        weights, member = _groups(taker)
        name = f"kept {self._name(stream)}"
        kept = self.program.add_columns(name, (a.size, weights.size), upper=1.0)
        at = np.arange(a.size)[:, None]
        share = [(at, kept, 1.0), (at, giver.pattern[a], -giver.share)]
        self.program.add_rows(f"{name}: sent", a.size, share, upper=0.0)
        cell = at * weights.size
        taken = [(cell + np.arange(weights.size), kept, 1.0), (cell + member, taker.pattern[b], -1.0)]
        self.program.add_rows(f"{name}: taken", kept.size, taken, upper=0.0)
        self._kept[stream] = Linear.of(kept, weights)
        return self._kept[stream]

    def exact(self, stream: int) -> Flow:
        """Columns t[u,v,b] = φ[i,u]·[j has share b on v], exactly.

        Σ_u t[u,v,b] = [j has share b on v] and Σ_{v,b} b·t[u,v,b] = φ[i,u]; where both ends can be split also
        Σ_b t[u,v,b] ≤ φ[i,u]. N² columns per group.
        """
        if stream in self.flows:
            return self.flows[stream]
        source, target = self._ends(stream)
        swap = _groups(source)[0].size < _groups(target)[0].size
        giver, taker = (target, source) if swap else (source, target)
        weights, member = _groups(taker)
        name = f"flow {self._name(stream)}"
        columns = self.program.add_columns(name, (giver.nodes.size, taker.nodes.size, weights.size), upper=1.0)
        u, v, b = np.indices(columns.shape, sparse=True)
        cell = v * weights.size + b
        taken = [(cell, columns, 1.0), (np.arange(taker.nodes.size)[:, None] * weights.size + member, taker.pattern, -1.0)]
        self.program.add_rows(f"{name}: taken", taker.nodes.size * weights.size, taken, lower=0.0, upper=0.0)
        given = [(u, columns, weights), (np.arange(giver.nodes.size)[:, None], giver.pattern, -giver.share)]
        self.program.add_rows(f"{name}: given", giver.nodes.size, given, lower=0.0, upper=0.0)
        if not giver.single and not taker.single:
            pair = u * taker.nodes.size + v
            sent = (np.arange(giver.nodes.size)[:, None] * taker.nodes.size + np.arange(taker.nodes.size))[:, :, None]
            bound = [(pair, columns, 1.0), (sent, giver.pattern[:, None, :], -giver.share)]
            self.program.add_rows(f"{name}: sent", giver.nodes.size * taker.nodes.size, bound, upper=0.0)
        self.flows[stream] = Flow(columns.transpose(1, 0, 2) if swap else columns, weights)
        return self.flows[stream]

    def coupling(self, stream: int) -> Flow:
        """Columns y[u,v] ≥ 0 with marginals φ[i,·] and φ[j,·]: the exact flow if it is there, else a relaxation of it.

        Between operators of one replica each it is exact. 2·N rows.
        """
        if stream in self.flows:
            return self.flows[stream]
        source, target = self._ends(stream)
        name = f"flow {self._name(stream)}"
        columns = self.program.add_columns(name, (source.nodes.size, target.nodes.size, 1), upper=1.0)
        u, v, _ = np.indices(columns.shape, sparse=True)
        given = [(u, columns, 1.0), (np.arange(source.nodes.size)[:, None], source.pattern, -source.share)]
        self.program.add_rows(f"{name}: given", source.nodes.size, given, lower=0.0, upper=0.0)
        taken = [(v, columns, 1.0), (np.arange(target.nodes.size)[:, None], target.pattern, -target.share)]
        self.program.add_rows(f"{name}: taken", target.nodes.size, taken, lower=0.0, upper=0.0)
        return Flow(columns, np.ones(1))

    def _ends(self, stream: int) -> tuple[OperatorColumns, OperatorColumns]:
        return self.operators[self.compiled.stream_source[stream]], self.operators[self.compiled.stream_target[stream]]

    def _name(self, stream: int) -> str:
        source, target = self.compiled.stream_source[stream], self.compiled.stream_target[stream]
        return f"{self.compiled.operators[source]} → {self.compiled.operators[target]}"


def _groups(own: OperatorColumns) -> tuple[Values, Index]:
    """Distinct shares of an operator's patterns, and the group of each pattern."""
    weights, member = np.unique(own.share, return_inverse=True)
    return weights, member
