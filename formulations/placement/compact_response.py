"""Response time in the compact program: latencies, longest delays, arrival times instead of paths."""

from __future__ import annotations

import numpy as np

from edrp.core.program import Linear
from edrp.formulations.placement.builder import time_unit
from edrp.formulations.placement.compact_columns import CompactColumns
from edrp.formulations.placement.compact_streams import PairSums


def add_response_rows(columns: CompactColumns, pair_sums: PairSums) -> Linear:
    """r ≥ a_i, a_i ≥ R_i, a_j ≥ a_i + D_ij + R_j (equivalent to EDRP, eqs. 5–7, 13); |V| + |E| rows and r."""
    compiled, program = columns.compiled, columns.program
    unit = time_unit(compiled, "response_time")
    size = len(compiled.operators)
    response = program.add_columns("response_time")
    finish = program.add_columns("finish", size)
    latency = [_latency(columns, i, unit) for i in range(size)]
    for i in range(size):
        before = np.flatnonzero((compiled.stream_target == i) & compiled.forward)
        if not before.size:
            program.add_row(f"finish {compiled.operators[i]}", Linear.of(finish[i]) - latency[i], lower=0.0)
        for e in before:
            source = compiled.stream_source[e]
            arrival = Linear.of(finish[source]) + _delay(columns, pair_sums, int(e), unit)
            name = f"finish {compiled.operators[i]} after {compiled.operators[source]}"
            program.add_row(name, Linear.of(finish[i]) - arrival - latency[i], lower=0.0)
        if not ((compiled.stream_source == i) & compiled.forward).any():
            program.add_row(f"response after {compiled.operators[i]}", Linear.of(response) - Linear.of(finish[i]), lower=0.0)
    return Linear.of(response, unit)


def _latency(columns: CompactColumns, operator: int, unit: float) -> Linear:
    """R_i (EDRP, eq. 1): Σ_p R_i(λ_i/|p|)/S·s[p] on equal nodes, else a column with a row per node.

    R_i ≥ Σ_{c,p} R_i(λ_i/|p|)/S_u·h[u,(c,p)] for each node u; and, to cut off fractions, the mean over the
    replicas.
    """
    compiled, own = columns.compiled, columns.operators[operator]
    speed = compiled.speedup[own.nodes]
    table = compiled.latency[operator, own.degrees]
    table = np.where(np.isfinite(table), table, 0.0) / unit  # unstable ones are fixed to 0
    if own.single:
        return Linear.of(own.present, table[0] / speed) if table.any() else Linear.zero()
    if np.ptp(speed) == 0:
        by_split = compiled.latency[operator, own.totals]
        return Linear.of(own.split, np.where(np.isfinite(by_split), by_split, 0.0) / unit / speed[0])
    name = compiled.operators[operator]
    column = columns.program.add_columns(f"latency {name}")
    slowest = table / speed[:, None]
    node = np.arange(own.nodes.size)
    entries = [(node, np.full(node.size, column), 1.0), (node[:, None], own.pattern, -slowest)]
    columns.program.add_rows(f"latency {name}", node.size, entries, lower=0.0)
    mean = Linear.of(column) - Linear.of(own.pattern, slowest * own.share)
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
    u, v = np.nonzero(delay)
    rows = np.arange(u.size)
    far = delay[u, v]
    entries = [(rows, np.full(u.size, column), 1.0), (rows, source.present[u], -far), (rows, target.present[v], -far)]
    program.add_rows(f"delay {name}", u.size, entries, lower=-far)
    return Linear.of(column)
