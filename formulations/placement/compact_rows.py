"""Metrics that take rows of their own in the compact program: downtime, response time and path latency.

Downtime is exact, with rows for the nodes in use now only. Response time has latencies, longest delays, and arrival times instead
of paths. Path latency has arrivals at single instances, by the node they run on: an operator of one instance has one arrival. One
that may be spread over nodes has an arrival a[i,u] for each, and one at least of its mean instance. Rows
a[j,v] ≥ a[i,u] + d_uv·(z[i,u] + z[j,v] − 1) are exact without a large constant, since every instance of i sends to every
instance of j: where no instance of i is on u, a[i,u] need be no more than when the last of its predecessors' tuples leave, and
nothing of j arrives before.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from edrp.core.arrays import Floats, Ints
from edrp.core.program import Linear
from edrp.formulations.placement.builder import add_delay_rows, add_least, change_time, time_unit
from edrp.formulations.placement.compact_columns import CompactColumns, OperatorColumns, PairSums
from edrp.placement.reconfiguration import code_times, download_times, downtime_floor, upload_times


def add_downtime_rows(columns: CompactColumns) -> Linear:
    """T ≥ every operator's downtime (EDRP, eqs. 10, 14, 24–40).

    With same_i = 1 only if operator i stays exactly as it is: T ≥ max(t_syn, restart)·(1 − same_i), and for
    each move from u, in use now, to v the rows of `_add_move_rows`.
    """
    compiled, program = columns.compiled, columns.program
    if compiled.current is None:
        return Linear.zero()
    unit = time_unit(compiled, "downtime")
    min_downtime = change_time(compiled, max(compiled.synchronisation_time, downtime_floor(compiled))) / unit
    column = program.add_columns("downtime")
    for i, operator_columns in enumerate(columns.operators):
        same = _add_same(columns, i, operator_columns)
        changed = Linear.of(column) + same * min_downtime - min_downtime
        program.add_row(f"change {compiled.operators[i]}", changed, lower=0.0)
        for u in np.flatnonzero(compiled.current[i]):
            _add_move_rows(columns, i, int(u), Linear.of(column, unit), same)
    return Linear.of(column, unit)


def _add_same(columns: CompactColumns, operator: int, operator_columns: OperatorColumns) -> Linear:
    """A column at most 1 if the operator keeps its current configuration and at most 0 if not; 0 if it cannot keep it."""
    compiled = columns.compiled
    assert compiled.current is not None
    before = compiled.current[operator]
    unchanged = operator_columns.pattern[operator_columns.patterns_held(before[operator_columns.nodes])]
    if not unchanged.size:
        return Linear.zero()
    return add_least(columns.program, f"same {compiled.operators[operator]}", unchanged)


def _add_move_rows(columns: CompactColumns, operator: int, u: int, downtime: Linear, same: Linear) -> None:
    """T ≥ t_syn + max(code, up) + down for moves from u to every v ≠ u (EDRP, eq. 27; Storm: t_syn + code + up + down, eq. 35).

    Two families of a row per v: with the code, which depends on v's pattern alone, and with the upload, which
    depends on u's pattern as well. Storm's upload does not depend on what stays on u, so one family does.
    """
    compiled, operator_columns = columns.compiled, columns.operators[operator]
    k = np.flatnonzero(operator_columns.nodes != u)
    if not k.size:
        return
    v = operator_columns.nodes[k].astype(np.int32)
    patterns = zip(operator_columns.counts, operator_columns.degrees, strict=True)
    down = np.stack([download_times(compiled, operator, v, c, r) for c, r in patterns], axis=1)
    code = code_times(compiled, operator, v)[:, None]
    upload = _upload(columns, operator, u)
    move = change_time(compiled, compiled.synchronisation_time) + down
    name = f"{compiled.operators[operator]} from {compiled.nodes[u]}"
    if compiled.storm:
        _add_rows(columns, f"move {name}", operator, k, move + code + upload.unchanged, downtime, same)
    else:
        _add_rows(columns, f"code {name}", operator, k, move + code, downtime, same)
        _add_rows(columns, f"move {name}", operator, k, move, downtime, same, upload)


@dataclass(frozen=True, slots=True)
class _Upload:
    """Seconds to upload what leaves a node: as an expression, its greatest value, and its value if nothing changes."""

    seconds: Linear
    greatest: float
    unchanged: float


def _upload(columns: CompactColumns, operator: int, u: int) -> _Upload:
    """UP_u = Σ_p up(0,|p|)·s[p] + Σ_{c,p} (up(c,|p|) − up(0,|p|))·h[u,(c,p)], exact at integers."""
    compiled, operator_columns = columns.compiled, columns.operators[operator]
    assert compiled.current is not None
    before = compiled.current[operator]
    none_left = upload_times(compiled, operator, u, np.zeros_like(operator_columns.totals), operator_columns.totals)
    uploads = upload_times(compiled, operator, u, operator_columns.counts, operator_columns.degrees)
    at = int(np.flatnonzero(operator_columns.nodes == u)[0])
    seconds = Linear.of(operator_columns.pattern[at], uploads - none_left[operator_columns.splits])
    seconds += Linear.of(operator_columns.split, none_left) if not operator_columns.single else float(none_left[0])
    unchanged = upload_times(compiled, operator, u, before[u], before.sum())
    return _Upload(seconds, float(max(none_left.max(), uploads.max())), float(unchanged))


def _add_rows(
    columns: CompactColumns,
    name: str,
    operator: int,
    places: Ints,
    times: Floats,
    downtime: Linear,
    same: Linear,
    upload: _Upload | None = None,
) -> None:
    """T ≥ Σ_{c,r} times[v,(c,p)]·h[v,(c,p)] + UP − max UP·(1 − z[v]) − (the value if nothing changes)·same, a row per v."""
    compiled, operator_columns = columns.compiled, columns.operators[operator]
    assert compiled.current is not None
    unit = time_unit(compiled, "downtime")
    before = compiled.current[operator]
    running = before[operator_columns.nodes[places]]
    stays = operator_columns.patterns_held(before[operator_columns.nodes])[places]
    unchanged = np.where(running > 0, (times * stays).sum(axis=1) + (upload.unchanged if upload else 0.0), 0.0)
    rows = np.arange(places.size)
    entries: list[tuple[Any, Any, Any]] = [
        (rows[:, None], downtime.columns, downtime.coefficients / unit),
        (rows[:, None], operator_columns.pattern[places], -times / unit),
        (rows[:, None], same.columns, unchanged[:, None] / unit),
    ]
    lower = 0.0
    if upload is not None:
        entries.append((rows[:, None], upload.seconds.columns, -upload.seconds.coefficients / unit))
        entries.append((rows, operator_columns.present[places], -upload.greatest / unit))
        lower = (upload.seconds.constant - upload.greatest) / unit
    columns.program.add_rows(name, rows.size, entries, lower=lower)


Loads = Sequence[tuple[float, Floats]]
"""Loads of an application: the share of time of each, and its table of latencies as in `Compiled.latency`."""


def add_response_rows(columns: CompactColumns, pair_sums: PairSums, loads: Loads = ()) -> Linear:
    """r ≥ a_i, a_i ≥ R_i, a_j ≥ a_i + D_ij + R_j (equivalent to EDRP, eqs. 5–7, 13); |V| + |E| rows and r.

    Under several loads, the mean of their response times, each with rows of its own.
    """
    unit = time_unit(columns.compiled, "response_time")

    @cache
    def delay(stream: int) -> Linear:
        return _delay(columns, pair_sums, stream, unit)

    if not loads:
        return _response(columns, columns.compiled.latency, delay, "") * unit
    parts = [_response(columns, latency, delay, f" {number}") * (share * unit) for number, (share, latency) in enumerate(loads)]
    return Linear.total(parts)


def _response(columns: CompactColumns, latencies: Floats, delay: Callable[[int], Linear], name: str) -> Linear:
    """Response time under one load, in units of its columns; names of blocks end with `name`."""
    compiled, program = columns.compiled, columns.program
    size = len(compiled.operators)
    response = program.add_columns(f"response_time{name}")
    finish = program.add_columns(f"finish{name}", size)
    latency = [_latency(columns, i, latencies[i], name) for i in range(size)]
    for i in range(size):
        before = np.flatnonzero((compiled.stream_target == i) & compiled.forward)
        if not before.size:
            program.add_row(f"finish {compiled.operators[i]}{name}", Linear.of(finish[i]) - latency[i], lower=0.0)
        for e in before:
            source = compiled.stream_source[e]
            arrival = Linear.of(finish[source]) + delay(int(e))
            row = f"finish {compiled.operators[i]} after {compiled.operators[source]}{name}"
            program.add_row(row, Linear.of(finish[i]) - arrival - latency[i], lower=0.0)
        if not ((compiled.stream_source == i) & compiled.forward).any():
            program.add_row(
                f"response after {compiled.operators[i]}{name}", Linear.of(response) - Linear.of(finish[i]), lower=0.0
            )
    return Linear.of(response)


def _latency(columns: CompactColumns, operator: int, latencies: Floats, suffix: str) -> Linear:
    """R_i (EDRP, eq. 1): Σ_p R_i(λ_i/|p|)/S·s[p] on equal nodes, else a column with a row per node.

    R_i ≥ Σ_{c,p} R_i(λ_i/|p|)/S_u·h[u,(c,p)] for each node u; and, to cut off fractions, the mean over the
    replicas.
    """
    compiled, operator_columns = columns.compiled, columns.operators[operator]
    unit = time_unit(compiled, "response_time")
    speed = compiled.speedup[operator_columns.nodes]
    table = latencies[operator_columns.degrees]
    table = np.where(np.isfinite(table), table, 0.0) / unit  # unstable ones are fixed to 0
    if operator_columns.single:
        return Linear.of(operator_columns.present, table[0] / speed) if table.any() else Linear.zero()
    if np.ptp(speed) == 0:
        by_split = latencies[operator_columns.totals]
        return Linear.of(operator_columns.split, np.where(np.isfinite(by_split), by_split, 0.0) / unit / speed[0])
    name = f"{compiled.operators[operator]}{suffix}"
    column = columns.program.add_columns(f"latency {name}")
    slowest = table / speed[:, None]
    node = np.arange(operator_columns.nodes.size)
    entries = [(node, np.full(node.size, column), 1.0), (node[:, None], operator_columns.pattern, -slowest)]
    columns.program.add_rows(f"latency {name}", node.size, entries, lower=0.0)
    mean = Linear.of(column) - Linear.of(operator_columns.pattern, slowest * operator_columns.share)
    columns.program.add_row(f"mean latency {name}", mean, lower=0.0)
    return Linear.of(column)


def _delay(columns: CompactColumns, pair_sums: PairSums, stream: int, unit: float) -> Linear:
    """D_e (EDRP, eqs. 3, 7) as an expression.

    Between operators of one replica each Σ d·y is exact. Otherwise a column with D ≥ Σ d·y (a maximum is at
    least a mean) and D ≥ d_uv·(z[i,u] + z[j,v] − 1), a row per pair of nodes apart.
    """
    compiled, program = columns.compiled, columns.program
    i, j = compiled.stream_source[stream], compiled.stream_target[stream]
    source, target = columns.operators[i], columns.operators[j]
    delay = compiled.delay[np.ix_(source.nodes, target.nodes)] / unit
    if not delay.any():
        return Linear.zero()
    flow = pair_sums.coupling(stream)
    mean = Linear.of(flow.columns, delay[:, :, None] * flow.weights)
    if source.single and target.single:
        return mean
    name = f"{compiled.operators[i]} → {compiled.operators[j]}"
    column = program.add_columns(f"delay {name}", upper=float(delay.max()))
    program.add_row(f"mean delay {name}", Linear.of(column) - mean, lower=0.0)
    return add_delay_rows(program, f"delay {name}", column, delay, (source.present, target.present))


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


class _Arrivals:
    """Columns of arrivals: `finish` (operators,), of the mean instance at least, and `at` by node where instances may differ."""

    def __init__(self, columns: CompactColumns, pair_sums: PairSums) -> None:
        self.compiled, self.program, self.operators = columns.compiled, columns.program, columns.operators
        self.pair_sums, self.unit = pair_sums, time_unit(columns.compiled, "response_time")
        self.finish: Ints = self.program.add_columns("finish", len(self.operators))
        self.at: dict[int, Ints] = {}
        for i, operator_columns in enumerate(self.operators):
            if not operator_columns.single and operator_columns.nodes.size > 1:
                self.at[i] = self.program.add_columns(f"arrival {self.compiled.operators[i]}", operator_columns.nodes.size)

    def add_stream(self, stream: int) -> None:
        """The rows of a stream: of the mean, and of single instances."""
        i, j = int(self.compiled.stream_source[stream]), int(self.compiled.stream_target[stream])
        delay = self.compiled.delay[np.ix_(self.operators[i].nodes, self.operators[j].nodes)] / self.unit
        name = f"{self.compiled.operators[i]} → {self.compiled.operators[j]}"
        self._add_mean(stream, i, j, delay, name)
        if i in self.at and j in self.at:
            self._add_pairs(i, j, delay, name)
        elif i in self.at:
            self._add_one(self.at[i], self.finish[j], i, j, delay, name)
        elif j in self.at:
            self._add_one(self.finish[i], self.at[j], j, i, delay.T, name)

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

    def _add_one(self, before: Ints, after: Ints, many: int, one: int, delay: Floats, name: str) -> None:
        """a[j,v] ≥ f_i + Σ_u d_uv·z[i,u] − max_u d_uv·(1 − z[j,v]) for all v; or f_j ≥ a[i,u] + … with the ends exchanged."""
        rows, far = np.arange(delay.shape[0]), delay.max(axis=1)
        entries = [
            (rows, after, 1.0),
            (rows, before, -1.0),
            (rows, self.operators[many].present, -far),
            (rows[:, None], self.operators[one].present, -delay),
        ]
        self.program.add_rows(f"delay {name}", rows.size, entries, lower=-far)
