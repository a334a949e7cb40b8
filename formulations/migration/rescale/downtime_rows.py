"""Rows of the downtime: state by way of the data store (EDRP, eqs. 24–32), or from node to node."""

from __future__ import annotations

import numpy as np

from edrp.core.arrays import Ints
from edrp.core.program import Linear
from edrp.formulations.migration.rescale.quantities import RangeQuantities
from edrp.formulations.placement.builder import HOPELESS_LIMITS, add_least, breaks_limit, change_time, time_unit
from edrp.placement.reconfiguration import code_times


def add_store_rows(quantities: RangeQuantities) -> Linear:
    """Add rows T ≥ every operator's downtime: synchronisation, then from each node in use now to each other used afterwards."""
    compiled, program = quantities.compiled, quantities.program
    unit = time_unit(compiled, "downtime")
    column = program.add_columns("downtime")
    downtime = Linear.of(column)
    for index, name in enumerate(compiled.operators):
        same = _add_same(quantities, index)
        min_downtime = change_time(compiled, compiled.synchronisation_time) / unit
        program.add_row(f"change {name}", downtime + same * min_downtime, lower=min_downtime)
        for number, (u, v) in enumerate(_pairs(quantities, index)):
            _add_move(quantities, index, (u, v), downtime * unit, same, f"{number} of {name}")
    return Linear.of(column, unit)


def _pairs(quantities: RangeQuantities, index: int) -> list[tuple[int, int]]:
    current = quantities.compiled.current
    assert current is not None
    return [(int(u), int(v)) for u in np.flatnonzero(current[index]) for v in _reachable(quantities, index) if u != v]


def _reachable(quantities: RangeQuantities, index: int) -> Ints:
    """Nodes to which the code is brought within the limit; all others are taken from the operator."""
    support = quantities.operators[index].support
    code = code_times(quantities.compiled, index, support.astype(np.int32))
    late = breaks_limit(code, quantities.compiled.limit["downtime"])
    if late.any():
        quantities.program.fix(quantities.presence(index)[support[late]], 0.0)
    return support[~late]


def _add_same(quantities: RangeQuantities, index: int) -> Linear:
    """A column that is at most 1 where the operator stays exactly as it is and else 0; 0 where it cannot."""
    current_columns = quantities.current_columns(index)
    if current_columns is None:
        return Linear.zero()
    return add_least(quantities.program, f"same {quantities.compiled.operators[index]}", current_columns)


def _add_move(quantities: RangeQuantities, index: int, pair: tuple[int, int], downtime: Linear, same: Linear, name: str) -> None:
    """T ≥ t_syn + max(code, upload of u) + download of v + start of replicas, where v is in use and something changes (eq. 27).

    Where v is not in use, or nothing changes, as much is taken off as the row would ask for then.
    """
    compiled, program = quantities.compiled, quantities.program
    u, v = pair
    unit = time_unit(compiled, "downtime")
    used = Linear.of(quantities.presence(index)[v])
    trip_u, trip_v = 2 * compiled.store_delay[u], 2 * compiled.store_delay[v]
    download = quantities.downloaded(index, v) * (1 / compiled.store_bandwidth[v]) + _spawn(quantities, index, v) + trip_v
    code = float(code_times(compiled, index, np.array([v], np.int32))[0])
    upload, largest = quantities.uploaded(index, u)
    seconds = upload * (1 / compiled.store_bandwidth[u]) + trip_u
    max_time = largest / compiled.store_bandwidth[u] + trip_u
    syn = change_time(compiled, compiled.synchronisation_time)
    parts = [("upload", seconds, max_time, trip_u), *([("code", Linear.zero() + code, code, code)] if code else [])]
    for part, before, off, idle in parts:
        # With v unused nothing is downloaded or started there; unchanged, u uploads nothing.
        row = downtime - before - download - used * (syn + off + trip_v) + same * (syn + idle + trip_v) + (off + trip_v)
        program.add_row(f"{part} {name}", row * (1 / unit), lower=0.0)


def _spawn(quantities: RangeQuantities, index: int, v: int) -> Linear:
    """Seconds to start replicas where there are more than now."""
    compiled, columns = quantities.compiled, quantities.operators[index]
    assert compiled.current is not None
    seconds, before = float(compiled.spawn_time[v]), int(compiled.current[index, v])
    if not seconds:
        return Linear.zero()
    here = columns.on(v)
    if not columns.tasks:
        more = columns.counts[here] > before
        return Linear.of(columns.columns[here][more], seconds)
    if not before:
        return Linear.of(quantities.presence(index)[v], seconds)
    max_total = int(columns.layers[:, 1].max())
    if max_total <= before:
        return Linear.zero()
    return Linear.of(quantities.more_replicas(index, v, before, max_total), seconds)


def add_direct_rows(quantities: RangeQuantities) -> Linear:
    """T ≥ t_syn + max(transfers of any node, code) + start of replicas, where anything changes."""
    compiled, program, arrays = quantities.compiled, quantities.program, quantities.arrays
    unit = time_unit(compiled, "downtime")
    column, idle = program.add_columns("downtime"), program.add_columns("nothing changes", upper=1.0)
    start = Linear.of(program.add_columns("start of replicas"), unit)
    for index, name in enumerate(compiled.operators):
        program.add_row(f"idle {name}", Linear.of(idle) - _add_same(quantities, index), upper=0.0)
    syn = change_time(compiled, compiled.synchronisation_time)
    transfer_time = Linear.of(column, unit) - start + Linear.of(idle) * syn - syn
    program.add_row("synchronisation", transfer_time * (1 / unit), lower=0.0)
    for index, name in enumerate(compiled.operators):
        current = compiled.current
        assert current is not None
        for v in _reachable(quantities, index).tolist():
            spawn = _spawn(quantities, index, v)
            if spawn.columns.size:
                program.add_row(f"start {name} on {compiled.nodes[v]}", (start - spawn) * (1 / unit), lower=0.0)
            code = float(code_times(compiled, index, np.array([v], np.int32))[0])
            if code:
                row = transfer_time - Linear.of(quantities.presence(index)[v], code)
                program.add_row(f"code {name} on {compiled.nodes[v]}", row * (1 / unit), lower=0.0)
    for u, node in enumerate(compiled.nodes):
        for what, amounts, rate in (("up", quantities.leaving, arrays.up_rate), ("down", quantities.arriving, arrays.down_rate)):
            if np.isfinite(rate[u]):
                max_amount = HOPELESS_LIMITS * compiled.limit["downtime"] * rate[u]
                total = Linear.total([amounts(index, u, max_amount) for index in range(len(compiled.operators))])
                program.add_row(f"{what} {node}", (transfer_time - total * (1 / rate[u])) * (1 / unit), lower=0.0)
    return Linear.of(column, unit)
