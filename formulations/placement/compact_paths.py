"""Path latency in the compact program: arrivals at single instances, by the node they run on.

An operator of one instance has one arrival. One that may be spread over nodes has an arrival a[i,u] for each, and one at least
of its mean instance. Rows a[j,v] ≥ a[i,u] + d_uv·(z[i,u] + z[j,v] − 1) are exact without a large constant, since every
instance of i sends to every instance of j: where no instance of i is on u, a[i,u] need be no more than when the last of its
predecessors' tuples leave, and nothing of j arrives before.
"""

from __future__ import annotations

import numpy as np

from edrp.core.arrays import Floats, Ints
from edrp.core.program import Linear
from edrp.formulations.placement.builder import time_unit
from edrp.formulations.placement.compact_columns import CompactColumns, OperatorColumns
from edrp.formulations.placement.compact_streams import PairSums


def add_path_rows(columns: CompactColumns, pair_sums: PairSums) -> Linear:
    """r ≥ every arrival; N² rows for a stream both of whose ends may be spread, N where one may, and one for its mean."""
    arrivals = _Arrivals(columns, pair_sums)
    compiled, program = columns.compiled, columns.program
    response = program.add_columns("response_time")
    for e in np.flatnonzero(compiled.forward):
        arrivals.add_stream(int(e))
    sends = np.isin(np.arange(len(compiled.operators)), compiled.stream_source[compiled.forward])
    for i in np.flatnonzero(~sends):
        last = np.concatenate([arrivals.at.get(int(i), arrivals.finish[i : i + 1]), arrivals.finish[i : i + 1]])
        rows = np.arange(last.size)
        name = f"response after {compiled.operators[i]}"
        program.add_rows(name, last.size, [(rows, response, 1.0), (rows, last, -1.0)], lower=0.0)
    return Linear.of(response, arrivals.unit)


def _may_spread(own: OperatorColumns) -> bool:
    return not own.single and own.nodes.size > 1


class _Arrivals:
    """Columns of arrivals: `finish` (operators,), of the mean instance at least, and `at` by node where instances may differ."""

    def __init__(self, columns: CompactColumns, pair_sums: PairSums) -> None:
        self.compiled, self.program, self.operators = columns.compiled, columns.program, columns.operators
        self.pair_sums, self.unit = pair_sums, time_unit(columns.compiled, "response_time")
        self.finish: Ints = self.program.add_columns("finish", len(self.operators))
        self.at: dict[int, Ints] = {}
        for i, own in enumerate(self.operators):
            if _may_spread(own):
                self.at[i] = self.program.add_columns(f"arrival {self.compiled.operators[i]}", own.nodes.size)

    def add_stream(self, stream: int) -> None:
        """The rows of a stream: of the mean, and of single instances."""
        i, j = int(self.compiled.stream_source[stream]), int(self.compiled.stream_target[stream])
        delay = self.compiled.delay[np.ix_(self.operators[i].nodes, self.operators[j].nodes)] / self.unit
        name = f"{self.compiled.operators[i]} → {self.compiled.operators[j]}"
        self._add_mean(stream, i, j, delay, name)
        if i in self.at and j in self.at:
            self._add_pairs(i, j, delay, name)
        elif i in self.at:
            self._add_to_one(i, j, delay, name)
        elif j in self.at:
            self._add_from_one(i, j, delay, name)

    def _add_mean(self, stream: int, i: int, j: int, delay: Floats, name: str) -> None:
        """f_j ≥ f_i + Σ d·y, which is exact between operators of one instance each: a path is at least as long as on average."""
        row = Linear.of(self.finish[j]) - Linear.of(self.finish[i])
        if delay.any():
            flow = self.pair_sums.coupling(stream)
            row = row - Linear.of(flow.columns, delay[:, :, None] * flow.weights)
        self.program.add_row(f"mean delay {name}", row, lower=0.0)
        if j in self.at:
            rows = np.arange(self.at[j].size)
            after = [(rows, self.at[j], 1.0), (rows, self.finish[i], -1.0)]
            self.program.add_rows(f"after the mean {name}", rows.size, after, lower=0.0)

    def _add_pairs(self, i: int, j: int, delay: Floats, name: str) -> None:
        """a[j,v] ≥ a[i,u] + d_uv·(z[i,u] + z[j,v] − 1) for all u and v."""
        u, v = (index.ravel() for index in np.indices(delay.shape))
        rows, far = np.arange(u.size), delay.ravel()
        present = (rows, self.operators[i].present[u], -far), (rows, self.operators[j].present[v], -far)
        entries = [(rows, self.at[j][v], 1.0), (rows, self.at[i][u], -1.0), *present]
        self.program.add_rows(f"delay {name}", rows.size, entries, lower=-far)

    def _add_to_one(self, i: int, j: int, delay: Floats, name: str) -> None:
        """f_j ≥ a[i,u] + Σ_v d_uv·z[j,v] − max_v d_uv·(1 − z[i,u]) for all u."""
        rows, far = np.arange(delay.shape[0]), delay.max(axis=1)
        entries = [
            (rows, self.finish[j], 1.0),
            (rows, self.at[i], -1.0),
            (rows, self.operators[i].present, -far),
            (rows[:, None], self.operators[j].present, -delay),
        ]
        self.program.add_rows(f"delay {name}", rows.size, entries, lower=-far)

    def _add_from_one(self, i: int, j: int, delay: Floats, name: str) -> None:
        """a[j,v] ≥ f_i + Σ_u d_uv·z[i,u] − max_u d_uv·(1 − z[j,v]) for all v."""
        rows, far = np.arange(delay.shape[1]), delay.max(axis=0)
        entries = [
            (rows, self.at[j], 1.0),
            (rows, self.finish[i], -1.0),
            (rows, self.operators[j].present, -far),
            (rows[:, None], self.operators[i].present, -delay.T),
        ]
        self.program.add_rows(f"delay {name}", rows.size, entries, lower=-far)
