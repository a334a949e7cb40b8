"""The columns of the compact program: where replicas are, and products of shares, φ[i,u]·φ[j,v], along the streams."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from edrp.core.arrays import Bools, Floats, Ints
from edrp.core.program import Linear, Program
from edrp.core.tolerances import LIMIT_SLACK
from edrp.formulations.placement.builder import exceeds_capacity, share_of_room
from edrp.placement.compiled import Compiled

SPLIT_LIMIT = 5
"""Maximum replicas for which splits are distinguished by their parts; above, by the number of replicas only."""


@dataclass(frozen=True, slots=True)
class OperatorColumns:
    """Columns of one operator.

    Attributes
    ----------
    nodes : shape (candidates,), node indices.
    counts, splits, times : shape (patterns,), a pattern is a part c of a split p that occurs `times` in it; 0 where the split
        does not tell.
    totals : shape (splits,), replicas of each split.
    pattern : shape (candidates, patterns), columns h[u,(c,p)].
    present : shape (candidates,), columns z[u]: any replica on u.
    split : shape (splits,), columns s[p]; none where there can be one replica only.
    """

    nodes: Ints
    counts: Ints
    splits: Ints
    times: Ints
    totals: Ints
    pattern: Ints
    present: Ints
    split: Ints

    @property
    def single(self) -> bool:
        """Whether there can be one replica only; then h = z and s is not needed."""
        return self.replicas == 1

    @property
    def replicas(self) -> int:
        """Maximum replicas."""
        return int(self.totals.max())

    @property
    def degrees(self) -> Ints:
        """Replicas of each pattern's split, shape (patterns,)."""
        return np.asarray(self.totals[self.splits])

    @property
    def share(self) -> Floats:
        """Share of the operator's replicas that each pattern is."""
        return np.asarray(self.counts / self.degrees)

    def patterns_held(self, counts: Ints) -> Bools:
        """Patterns that are set where each candidate runs `counts` replicas; shape (candidates, patterns); false if none fit."""
        parts = np.sort(counts[counts > 0])
        fits = [
            total == parts.sum()
            and all((parts == c).sum() == t for c, t in zip(self.counts[mine], self.times[mine], strict=True) if t)
            for p, total in enumerate(self.totals)
            for mine in [self.splits == p]
        ]
        return np.asarray((counts[:, None] == self.counts) & np.array(fits)[self.splits])


def splits(replicas: int) -> list[dict[int, int]]:
    """Every way to write 1, 2, …, `replicas` as a sum of parts: how often each part occurs.

    >>> splits(3)
    [{1: 1}, {2: 1}, {1: 2}, {3: 1}, {2: 1, 1: 1}, {1: 3}]
    """

    def parts(total: int, largest: int) -> Iterator[list[int]]:
        if total == 0:
            yield []
        for part in range(min(total, largest), 0, -1):
            for other_parts in parts(total - part, part):
                yield [part, *other_parts]

    return [dict(Counter(split)) for total in range(1, replicas + 1) for split in parts(total, total)]


class CompactColumns:
    """A program with the columns h, z and s of every operator of a problem."""

    def __init__(self, compiled: Compiled) -> None:
        self.compiled = compiled
        self.program = Program()
        self.operators = [_add_columns(self.program, compiled, i) for i in range(len(compiled.operators))]


def _add_columns(program: Program, compiled: Compiled, operator: int) -> OperatorColumns:
    """h, z and s of one operator; what is unstable or too much for a node has upper bound 0."""
    name, limit = compiled.operators[operator], int(compiled.max_replicas[operator])
    nodes, min_replicas = compiled.candidates(operator), int(compiled.min_replicas[operator])
    if limit <= SPLIT_LIMIT:
        patterns = [split for split in splits(limit) if sum(part * times for part, times in split.items()) >= min_replicas]
    else:
        patterns = [dict.fromkeys(range(1, total + 1), 0) for total in range(min_replicas, limit + 1)]
    totals = np.array([sum(c * t for c, t in split.items()) or max(split) for split in patterns])
    member, counts, times = np.array([(p, c, t) for p, split in enumerate(patterns) for c, t in split.items()]).T
    stable = np.isfinite(compiled.latency[operator, totals])
    too_much = exceeds_capacity(compiled, operator, nodes[:, None], np.broadcast_to(counts, (nodes.size, counts.size)))
    too_slow = totals[member] < compiled.fewest_replicas[operator, nodes, None]
    usable = stable[member] & ~too_much & ~too_slow
    pattern = program.add_columns(f"pattern {name}", usable.shape, upper=usable.astype(float), integer=True)
    if limit == 1:
        return OperatorColumns(nodes, counts, member, times, totals, pattern, pattern[:, 0], np.zeros(0, np.int64))
    present = program.add_columns(f"present {name}", nodes.size, upper=usable.any(axis=1).astype(float), integer=True)
    split = program.add_columns(f"split {name}", totals.size, upper=stable.astype(float), integer=True)
    return OperatorColumns(nodes, counts, member, times, totals, pattern, present, split)


@dataclass(frozen=True, slots=True)
class StreamFlow:
    """Share of a stream from u to v as Σ_b weights[b]·columns[u,v,b]; u over the source's candidates, v over the target's."""

    columns: Ints
    weights: Floats


@dataclass(frozen=True, slots=True)
class Stay:
    """Share of a stream that stays on a node: at most Σ_b weights[b]·columns[k,b] on the k-th node of `nodes`.

    `columns[k,b]` is at most the giver's share there, and at most 1 if the taker has share `weights[b]` there,
    else 0. `giver` and `taker` are operator indices; `giver_at` and `taker_at` the nodes' places among their
    candidates.
    """

    columns: Ints
    weights: Floats
    nodes: Ints
    giver: int
    taker: int
    giver_at: Ints
    taker_at: Ints


class PairSums:
    """Weighted sums over pairs of replicas; the columns of a stream are made once and shared."""

    def __init__(self, columns: CompactColumns) -> None:
        self.program, self.compiled, self.operators = columns.program, columns.compiled, columns.operators
        self.flows: dict[int, StreamFlow] = {}
        self.stays: dict[int, Stay] = {}

    def total(self, weights: Floats) -> Linear:
        """Σ_e Σ_{u,v} weights[e,u,v]·φ[i,u]·φ[j,v]; weights ≥ 0, shape (streams, nodes, nodes), 0 on the diagonal.

        Where all pairs of nodes apart have one weight, only what stays on a node need be known.
        """
        total = Linear.zero()
        for e, (i, j) in enumerate(zip(self.compiled.stream_source, self.compiled.stream_target, strict=True)):
            table = weights[e][np.ix_(self.operators[i].nodes, self.operators[j].nodes)]
            if not table.any():
                continue
            price = table[self.operators[i].nodes[:, None] != self.operators[j].nodes]
            if np.ptp(price) <= 1e-12 * price.max():
                stay = self.stay(e)
                total += (Linear.of(stay.columns, -stay.weights) + 1.0) * float(price.max())
            else:
                flow = self.exact(e)
                total += Linear.of(flow.columns, table[:, :, None] * flow.weights)
        return total

    def stay(self, stream: int) -> Stay:
        """The share that stays on each node, bounded from above, as suffices for a price.

        With groups b of patterns of equal share: co[u,b] ≤ [taker has share b on u], Σ_b co[u,b] ≤ φ[giver,u],
        counting only patterns that leave room for the other operator. A row per column and one per node.
        """
        if stream in self.stays:
            return self.stays[stream]
        giver, taker = self._roles(stream)
        source, target = self.operators[giver], self.operators[taker]
        nodes, a, b = np.intersect1d(source.nodes, target.nodes, return_indices=True)
        weights, member = np.unique(target.share, return_inverse=True)
        name = f"stay {self._name(stream)}"
        columns = self.program.add_columns(name, (nodes.size, weights.size), upper=1.0)
        at = np.arange(nodes.size)[:, None]
        share = source.share * self._leaves_room(giver, taker, nodes)
        self.program.add_rows(f"{name}: given", nodes.size, [(at, columns, 1.0), (at, source.pattern[a], -share)], upper=0.0)
        cell = at * weights.size
        has_room = self._leaves_room(taker, giver, nodes).astype(float)
        taken = [(cell + np.arange(weights.size), columns, 1.0), (cell + member, target.pattern[b], -has_room)]
        self.program.add_rows(f"{name}: taken", columns.size, taken, upper=0.0)
        self.stays[stream] = Stay(columns, weights, nodes, giver, taker, a, b)
        return self.stays[stream]

    def exact(self, stream: int) -> StreamFlow:
        """Columns t[u,v,b] = φ[giver,u]·[taker has share b on v], exactly.

        Σ_u t[u,v,b] = [taker has share b on v] and Σ_{v,b} b·t[u,v,b] = φ[giver,u]; where both ends can be
        split also Σ_b t[u,v,b] ≤ φ[giver,u]. N² columns per group.
        """
        if stream in self.flows:
            return self.flows[stream]
        giver, taker = self._roles(stream)
        source, target = self.operators[giver], self.operators[taker]
        weights, member = np.unique(target.share, return_inverse=True)
        name = f"flow {self._name(stream)}"
        columns = self.program.add_columns(name, (source.nodes.size, target.nodes.size, weights.size), upper=1.0)
        grid: Any = np.indices(columns.shape, sparse=True)
        u, v, b = grid
        cell = v * weights.size + b
        taken = [(cell, columns, 1.0), (np.arange(target.nodes.size)[:, None] * weights.size + member, target.pattern, -1.0)]
        self.program.add_rows(f"{name}: taken", target.nodes.size * weights.size, taken, lower=0.0, upper=0.0)
        terms = [(u, columns, weights), (np.arange(source.nodes.size)[:, None], source.pattern, -source.share)]
        self.program.add_rows(f"{name}: given", source.nodes.size, terms, lower=0.0, upper=0.0)
        if not source.single and not target.single:
            pair = u * target.nodes.size + v
            sent = (np.arange(source.nodes.size)[:, None] * target.nodes.size + np.arange(target.nodes.size))[:, :, None]
            bound = [(pair, columns, 1.0), (sent, source.pattern[:, None, :], -source.share)]
            self.program.add_rows(f"{name}: sent", source.nodes.size * target.nodes.size, bound, upper=0.0)
        self.flows[stream] = StreamFlow(
            columns if giver == self.compiled.stream_source[stream] else columns.transpose(1, 0, 2), weights
        )
        return self.flows[stream]

    def coupling(self, stream: int) -> StreamFlow:
        """Columns y[u,v] ≥ 0 with marginals φ[i,·] and φ[j,·]: the exact flow if it is there, else a relaxation of it.

        Between operators of one replica each it is exact. On one node it is what stays there. 2·N rows, and
        one per node that both may use.
        """
        if stream in self.flows:
            return self.flows[stream]
        i, j = self.compiled.stream_source[stream], self.compiled.stream_target[stream]
        source, target = self.operators[i], self.operators[j]
        name = f"coupling {self._name(stream)}"
        columns = self.program.add_columns(name, (source.nodes.size, target.nodes.size, 1), upper=1.0)
        grid: Any = np.indices(columns.shape, sparse=True)
        u, v, _ = grid
        sent_terms = [(u, columns, 1.0), (np.arange(source.nodes.size)[:, None], source.pattern, -source.share)]
        self.program.add_rows(f"{name}: given", source.nodes.size, sent_terms, lower=0.0, upper=0.0)
        taken = [(v, columns, 1.0), (np.arange(target.nodes.size)[:, None], target.pattern, -target.share)]
        self.program.add_rows(f"{name}: taken", target.nodes.size, taken, lower=0.0, upper=0.0)
        stay = self.stay(stream)
        at = (stay.giver_at, stay.taker_at) if stay.giver == i else (stay.taker_at, stay.giver_at)
        rows = np.arange(stay.nodes.size)
        staying_terms = [(rows, columns[(*at, 0)], 1.0), (rows[:, None], stay.columns, -stay.weights)]
        self.program.add_rows(f"{name}: stays", rows.size, staying_terms, lower=0.0, upper=0.0)
        return StreamFlow(columns, np.ones(1))

    def add_room_rows(self) -> None:
        """The capacity row of a node multiplied by "operator j is here": Σ_i Res_i·co_ij[u] + Res_j·n_j[u] ≤ Res_u·z[j,u].

        Over the operators i that share a stream with j. It holds at integers anyway, and is what keeps
        fractions from having every operator share a node with both its neighbours. One row per operator,
        node and resource.
        """
        compiled = self.compiled
        limited = np.isfinite(compiled.capacity) & (compiled.capacity > 0)
        for j, columns in enumerate(self.operators):
            joined = [stay for stay in self.stays.values() if j in (stay.giver, stay.taker) and stay.giver != stay.taker]
            # Streams both ways between two operators keep the same replicas together: these count once.
            around = list({frozenset((stay.giver, stay.taker)): stay for stay in joined}.values())
            for resource in np.flatnonzero(compiled.demand[j]) if around else ():
                row = np.full(len(compiled.nodes), -1)
                limited_nodes = columns.nodes[limited[columns.nodes, resource]]
                row[limited_nodes] = np.arange(limited_nodes.size)
                room = compiled.capacity[:, resource]
                at = np.flatnonzero(row[columns.nodes] >= 0)
                need = share_of_room(columns.counts * compiled.demand[j, resource], room[columns.nodes[at], None])
                entries = [
                    (row[columns.nodes[at]][:, None], columns.pattern[at], need),
                    (row[columns.nodes[at]], columns.present[at], -1.0),
                ]
                for stay in around:
                    other = stay.taker if stay.giver == j else stay.giver
                    k = np.flatnonzero(row[stay.nodes] >= 0)
                    need = share_of_room(compiled.demand[other, resource], room[stay.nodes[k], None])
                    entries.append((row[stay.nodes[k]][:, None], stay.columns[k], need))
                self.program.add_rows(
                    f"room next to {compiled.operators[j]}: {compiled.resources[resource]}",
                    limited_nodes.size,
                    entries,
                    upper=0.0,
                )

    def _leaves_room(self, operator: int, other: int, nodes: Ints) -> Bools:
        """Whether a pattern of an operator leaves room for one replica of the other; shape (nodes, patterns)."""
        counts = self.operators[operator].counts[:, None]
        need = counts * self.compiled.demand[operator]
        if operator != other:
            need = need + self.compiled.demand[other]
        room = self.compiled.capacity[nodes][:, None, :]
        slack = LIMIT_SLACK * np.where(np.isfinite(room), room, 0.0)
        return np.asarray((need <= room + slack).all(axis=2))

    def _roles(self, stream: int) -> tuple[int, int]:
        """Giver and taker: the taker is the end with fewer distinct shares."""
        i, j = int(self.compiled.stream_source[stream]), int(self.compiled.stream_target[stream])
        return (j, i) if self.operators[i].replicas < self.operators[j].replicas else (i, j)

    def _name(self, stream: int) -> str:
        source, target = self.compiled.stream_source[stream], self.compiled.stream_target[stream]
        return f"{self.compiled.operators[source]} → {self.compiled.operators[target]}"
