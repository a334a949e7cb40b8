"""The columns of the compact program that say where replicas are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from edrp.core.arrays import Bools, Floats, Ints
from edrp.core.program import Program
from edrp.formulations.placement.builder import exceeds_capacity
from edrp.placement.compiled import Compiled

SPLIT_LIMIT = 5
"""Maximum replicas for which splits are distinguished by their parts; above, by the number of replicas only."""


@dataclass(frozen=True, slots=True)
class OperatorColumns:
    """Columns of one operator.

    Attributes
    ----------
    nodes : shape (candidates,)
        Node indices.
    counts, splits, times : shape (patterns,)
        A pattern is a part c of a split p that occurs `times` in it; 0 where the split does not tell.
    totals : shape (splits,)
        Replicas of each split.
    pattern : shape (candidates, patterns)
        Columns h[u,(c,p)].
    present : shape (candidates,)
        Columns z[u]: any replica on u.
    split : shape (splits,)
        Columns s[p]; none where there can be one replica only.
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

    def patterns_held(self, held: Ints) -> Bools:
        """Which patterns are set where each candidate runs `held` replicas; shape (candidates, patterns), false if none fit."""
        parts = np.sort(held[held > 0])
        fits = [
            total == parts.sum()
            and all((parts == c).sum() == t for c, t in zip(self.counts[mine], self.times[mine], strict=True) if t)
            for p, total in enumerate(self.totals)
            for mine in [self.splits == p]
        ]
        return np.asarray((held[:, None] == self.counts) & np.array(fits)[self.splits])


def splits(replicas: int) -> list[dict[int, int]]:
    """Every way to write 1, 2, …, `replicas` as a sum of parts: how often each part occurs.

    >>> splits(3)
    [{1: 1}, {2: 1}, {1: 2}, {3: 1}, {2: 1, 1: 1}, {1: 3}]
    """

    def parts(total: int, largest: int) -> Iterator[list[int]]:
        if total == 0:
            yield []
        for part in range(min(total, largest), 0, -1):
            for rest in parts(total - part, part):
                yield [part, *rest]

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
        known = [split for split in splits(limit) if sum(part * times for part, times in split.items()) >= min_replicas]
    else:
        known = [dict.fromkeys(range(1, total + 1), 0) for total in range(min_replicas, limit + 1)]
    totals = np.array([sum(c * t for c, t in split.items()) or max(split) for split in known])
    member, counts, times = np.array([(p, c, t) for p, split in enumerate(known) for c, t in split.items()]).T
    stable = np.isfinite(compiled.latency[operator, totals])
    too_much = exceeds_capacity(compiled, operator, nodes[:, None], np.broadcast_to(counts, (nodes.size, counts.size)))
    usable = stable[member] & ~too_much
    pattern = program.add_columns(f"pattern {name}", usable.shape, upper=usable.astype(float), integer=True)
    if limit == 1:
        return OperatorColumns(nodes, counts, member, times, totals, pattern, pattern[:, 0], np.zeros(0, np.int64))
    present = program.add_columns(f"present {name}", nodes.size, upper=usable.any(axis=1).astype(float), integer=True)
    split = program.add_columns(f"split {name}", totals.size, upper=stable.astype(float), integer=True)
    return OperatorColumns(nodes, counts, member, times, totals, pattern, present, split)
