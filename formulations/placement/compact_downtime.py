"""Downtime in the compact program: exact, with rows for the nodes in use now only."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from edrp.core.arrays import Floats, Ints
from edrp.core.program import Linear
from edrp.formulations.placement.builder import time_unit
from edrp.formulations.placement.compact_columns import CompactColumns, OperatorColumns
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
    least = max(compiled.synchronisation_time, downtime_floor(compiled)) / unit
    column = program.add_columns("downtime")
    for i, own in enumerate(columns.operators):
        same = _add_same(columns, i, own)
        changed = Linear.of(column) + same * least - least
        program.add_row(f"change {compiled.operators[i]}", changed, lower=0.0)
        for u in np.flatnonzero(compiled.current[i]):
            _add_move_rows(columns, i, int(u), Linear.of(column, unit), same)
    return Linear.of(column, unit)


def _add_same(columns: CompactColumns, operator: int, own: OperatorColumns) -> Linear:
    """A column at most 1 if the operator keeps its current configuration and at most 0 if not; 0 if it cannot keep it."""
    compiled, program = columns.compiled, columns.program
    assert compiled.current is not None
    before = compiled.current[operator]
    kept = own.pattern[own.patterns_held(before[own.nodes])]
    if not kept.size:
        return Linear.zero()
    name = compiled.operators[operator]
    same = program.add_columns(f"same {name}", upper=1.0)
    rows = np.arange(kept.size)
    entries = [(rows, np.full(rows.size, same), 1.0), (rows, kept, -1.0)]
    program.add_rows(f"same {name}", rows.size, entries, upper=0.0)
    return Linear.of(same)


def _add_move_rows(columns: CompactColumns, operator: int, u: int, downtime: Linear, same: Linear) -> None:
    """T ≥ t_syn + max(code, up) + down for moves from u to every v ≠ u (EDRP, eq. 27; Storm: t_syn + code + up + down, eq. 35).

    Two families of a row per v: with the code, which depends on v's pattern alone, and with the upload, which
    depends on u's pattern as well. Storm's upload does not depend on what stays on u, so one family does.
    """
    compiled, own = columns.compiled, columns.operators[operator]
    k = np.flatnonzero(own.nodes != u)
    if not k.size:
        return
    v = own.nodes[k].astype(np.int32)
    patterns = zip(own.counts, own.degrees, strict=True)
    down = np.stack([download_times(compiled, operator, v, c, r) for c, r in patterns], axis=1)
    code = code_times(compiled, operator, v)[:, None]
    upload = _upload(columns, operator, u)
    move = compiled.synchronisation_time + down
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
    compiled, own = columns.compiled, columns.operators[operator]
    assert compiled.current is not None
    before = compiled.current[operator]
    none_left = upload_times(compiled, operator, u, np.zeros_like(own.totals), own.totals)
    left = upload_times(compiled, operator, u, own.counts, own.degrees)
    at = int(np.flatnonzero(own.nodes == u)[0])
    seconds = Linear.of(own.pattern[at], left - none_left[own.splits])
    seconds += Linear.of(own.split, none_left) if not own.single else float(none_left[0])
    unchanged = upload_times(compiled, operator, u, before[u], before.sum())
    return _Upload(seconds, float(max(none_left.max(), left.max())), float(unchanged))


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
    compiled, own = columns.compiled, columns.operators[operator]
    assert compiled.current is not None
    unit = time_unit(compiled, "downtime")
    before = compiled.current[operator]
    held = before[own.nodes[places]]
    stays = own.patterns_held(before[own.nodes])[places]
    unchanged = np.where(held > 0, (times * stays).sum(axis=1) + (upload.unchanged if upload else 0.0), 0.0)
    rows = np.arange(places.size)
    entries: list[tuple[Any, Any, Any]] = [
        (rows[:, None], downtime.columns, downtime.coefficients / unit),
        (rows[:, None], own.pattern[places], -times / unit),
        (rows[:, None], same.columns, unchanged[:, None] / unit),
    ]
    lower = 0.0
    if upload is not None:
        entries.append((rows[:, None], upload.seconds.columns, -upload.seconds.coefficients / unit))
        entries.append((rows, own.present[places], -upload.greatest / unit))
        lower = (upload.seconds.constant - upload.greatest) / unit
    columns.program.add_rows(name, rows.size, entries, lower=lower)
