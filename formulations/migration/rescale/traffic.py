"""Products of the shares of both ends of a stream, φ[i,u]·φ[j,v], linearised exactly."""

from __future__ import annotations

from typing import Any

import numpy as np

from edrp.core.arrays import Floats
from edrp.core.program import Linear, Program
from edrp.formulations.migration.rescale.columns import RangeColumns
from edrp.placement.compiled import Compiled


class StreamShares:
    """Columns w[x,v] = x·φ[v] of a stream, x a column of one end, v a node of the other.

    The end with fewer columns is split. Σ_v w = x; with tasks Σ_x w = φ[v] over the columns that hold any given task, of which
    one is chosen; without tasks w ≥ φ[v] + x − 1 for each of the nodes, and φ[v] is the mean over all.
    """

    def __init__(self, program: Program, compiled: Compiled, operators: list[RangeColumns], stream: int) -> None:
        i, j = int(compiled.stream_source[stream]), int(compiled.stream_target[stream])
        self.forward = operators[i].columns.size <= operators[j].columns.size
        self.split, self.other = (operators[i], operators[j]) if self.forward else (operators[j], operators[i])
        self.nodes = self.other.support
        self.name = f"{compiled.operators[i]} → {compiled.operators[j]}"
        size = self.split.columns.size
        self.columns = program.add_columns(f"traffic {self.name}", (size, self.nodes.size), upper=1.0)
        rows = np.arange(size)
        sum_terms = [(rows[:, None], self.columns, 1.0), (rows, self.split.columns, -1.0)]
        program.add_rows(f"traffic of range {self.name}", size, sum_terms, lower=0.0, upper=0.0)
        (self._tie_tasks if self.split.tasks else self._tie_counts)(program)

    def _tie_tasks(self, program: Program) -> None:
        position, task = self.split.covered
        width = self.nodes.size
        across = np.arange(width)
        cells = task[:, None] * width + across
        entries: list[tuple[Any, Any, Any]] = [(cells, self.columns[position], 1.0)]
        index_of = np.searchsorted(self.nodes, self.other.nodes)
        every = np.arange(self.split.tasks)[:, None] * width + index_of
        entries.append((every, self.other.columns, -self.other.share))
        program.add_rows(f"traffic to {self.name}", self.split.tasks * width, entries, lower=0.0, upper=0.0)

    def _tie_counts(self, program: Program) -> None:
        width, position = self.nodes.size, np.searchsorted(self.nodes, self.other.nodes)
        mean = [(np.arange(width), self.columns, self.split.share[:, None]), (position, self.other.columns, -self.other.share)]
        program.add_rows(f"traffic to {self.name}", width, mean, lower=0.0, upper=0.0)
        size = self.split.columns.size
        cells = np.arange(size)[:, None] * width + np.arange(width)
        entries: list[tuple[Any, Any, Any]] = [(cells, self.columns, 1.0), (cells, self.split.columns[:, None], -1.0)]
        every = np.arange(size)[:, None] * width + position
        entries.append((every, self.other.columns, -self.other.share))
        program.add_rows(f"traffic at least {self.name}", size * width, entries, lower=-1.0)

    def total(self, weights: Floats) -> Linear:
        """Σ_{u,v} weights[u,v]·φ[i,u]·φ[j,v], u a node of the source."""
        table = weights if self.forward else weights.T
        return Linear.of(self.columns, table[np.ix_(self.split.nodes, self.nodes)] * self.split.share[:, None])

    def together(self, node: int) -> Linear:
        """φ[i,u]·φ[j,u] on one node u."""
        across = np.flatnonzero(self.nodes == node)
        on_node = self.split.on(node)
        return Linear.of(self.columns[np.ix_(on_node, across)], self.split.share[on_node][:, None])
