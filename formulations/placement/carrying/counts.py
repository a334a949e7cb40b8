"""A small program over numbers of replicas, for problems in which nothing but numbers of replicas counts.

Of each operator y[r] says whether it has r replicas, and n[u,r] how many of them node u runs, with Σ_u n[u,r] = r·y[r]. What n
replicas of r use of a shared resource is linear in n[u,r]. An operator that uses none has one n[u] for all r.
"""

from __future__ import annotations

import numpy as np

from edrp.core.arrays import Floats
from edrp.core.program import Linear, Program
from edrp.formulations.placement.builder import add_capacity_rows, add_objective_and_limits, exceeds_capacity
from edrp.formulations.placement.compact import CompactExpressions
from edrp.formulations.placement.compact_columns import OperatorColumns
from edrp.placement.compiled import Compiled


def only_counts(compiled: Compiled) -> bool:
    """Whether the program states a problem: no slow nodes, and no limits or rules but on numbers of replicas and their use."""
    terms = {term.metric for term in compiled.problem.terms if np.isfinite(compiled.limit.get(term.metric, term.scaled_limit))}
    terms -= {row.name for row in compiled.problem.metric_rows} | ({"cost"} if not compiled.links.priced else set())
    cells = compiled.candidate.size
    presence = compiled.rules.matrix.shape[1] > cells and (compiled.rules.matrix.indices >= cells).any()
    slow = (compiled.speedup[compiled.candidate.any(axis=0)] < 1).any()
    return not (terms or presence or slow or compiled.contention.stream_use.any())


def build_counts(compiled: Compiled) -> CountExpressions:
    """The program of a problem that `only_counts` says it can state."""
    expressions = CountExpressions(compiled)
    add_capacity_rows(expressions)
    add_objective_and_limits(expressions)
    return expressions


class CountExpressions(CompactExpressions):
    """Numbers of replicas as columns; `operators` has the columns of each."""

    def __init__(self, compiled: Compiled) -> None:
        self.compiled, self.program = compiled, Program()
        self.operators = [self._add(i) for i in range(len(compiled.operators))]

    def _add(self, operator: int) -> OperatorColumns:
        """The columns y and n of an operator, and the rows between them."""
        compiled, program, name = self.compiled, self.program, self.compiled.operators[operator]
        nodes = compiled.candidates(operator)
        totals = np.arange(int(compiled.min_replicas[operator]), int(compiled.max_replicas[operator]) + 1)
        stable = np.isfinite(compiled.latency[operator, totals])
        split = program.add_columns(f"split {name}", totals.size, upper=stable.astype(float), integer=True)
        program.add_row(f"one split {name}", Linear.of(split), lower=1.0, upper=1.0)
        most = np.arange(1, totals[-1] + 1)
        fits = ~exceeds_capacity(compiled, operator, nodes[:, None], np.broadcast_to(most, (nodes.size, most.size)))
        uses = compiled.contention.replica_use[operator].any()
        degrees = totals if uses else totals[-1:]
        bound = np.minimum(fits.sum(axis=1)[:, None], degrees).astype(float)
        pattern = program.add_columns(f"replicas {name}", bound.shape, upper=bound, integer=True)
        row = np.arange(degrees.size)
        counted = [(row, pattern, 1.0), (np.arange(totals.size) if uses else 0, split, -totals.astype(float))]
        program.add_rows(f"replicas {name}", degrees.size, counted, lower=0.0, upper=0.0)
        if uses:
            cell = np.arange(bound.size).reshape(bound.shape)
            cuts = [(cell, pattern, 1.0), (cell, np.broadcast_to(split, bound.shape), -bound)]
            program.add_rows(f"split {name}", bound.size, cuts, upper=0.0)
        ones, none, splits = np.ones(degrees.size, np.int64), np.zeros(0, np.int64), np.arange(totals.size)[-degrees.size :]
        return OperatorColumns(nodes, ones, splits, ones, totals, pattern, none, split)

    def stream_pair_sum(self, weights: Floats) -> Linear:
        """Nothing: no stream has a weight in the problems that this program can state."""
        assert not weights.any()
        return Linear.zero()
