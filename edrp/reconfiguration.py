"""Downtime of every configuration of an operator at once, as the solvers' tables need it.

The plain face of the metric (`edrp.metrics.downtime`) is independent of this code and checks it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from edrp.compiled import Compiled
from edrp.configurations import NO_NODE

Values = NDArray[np.float64]


def downtime_floor(compiled: Compiled) -> float:
    """Least downtime of any reconfiguration at all, in seconds.

    Storm restarts every operator when one changes (EDRP, eqs. 33, 39–40); pause-and-resume stops only
    what changes.
    """
    if compiled.current is None or not compiled.storm:
        return 0.0
    share = compiled.current / compiled.current.sum(axis=1, keepdims=True)
    swap = 2 * compiled.state_size[:, None] * share / compiled.local_bandwidth
    restart = np.where(compiled.current > 0, swap + compiled.current * compiled.spawn_time, 0.0)
    return float(compiled.synchronisation_time + restart.max())


def operator_downtimes(compiled: Compiled, operator: int, members: NDArray[np.int32]) -> Values:
    """Downtime in seconds of moving one operator to each configuration (EDRP, eqs. 25–32; Storm 34–38).

    Parameters
    ----------
    compiled
        The problem.
    operator
        Index of the operator.
    members
        Shape (configurations, replicas), padded with -1.

    Returns
    -------
    numpy.ndarray
        Shape (configurations,); 0 for the current configuration and without one.
    """
    result = np.zeros(len(members))
    if compiled.current is None:
        return result
    before = compiled.current[operator]
    after = (members[:, :, None] == members[:, None, :]).sum(axis=2)  # multiplicity of each member
    new = (members != NO_NODE).sum(axis=1)
    held = np.where(members == NO_NODE, 0, before[members])
    unchanged = (new == before.sum()) & ((after == held) | (members == NO_NODE)).all(axis=1)
    longest = np.zeros(len(members))
    for u in np.flatnonzero(before):
        left = (members == u).sum(axis=1)
        for place in range(members.shape[1]):
            v = members[:, place]
            pair = (v != NO_NODE) & (v != u)
            if pair.any():
                time = _pair_times(compiled, operator, int(u), v[pair], left[pair], after[pair, place], new[pair])
                longest[pair] = np.maximum(longest[pair], time)
    result[~unchanged] = compiled.synchronisation_time + longest[~unchanged]
    return result


def _pair_times(
    compiled: Compiled,
    operator: int,
    u: int,
    v: NDArray[np.int32],
    left: NDArray[np.int64],
    after: NDArray[np.int64],
    new: NDArray[np.int64],
) -> Values:
    """Times of moving from u to each v (EDRP, eq. 27; Storm eq. 35); `left` replicas stay on u, `after` are on v."""
    assert compiled.current is not None
    before = compiled.current[operator]
    old, state = before.sum(), compiled.state_size[operator]
    round_trip, bandwidth, spawn = 2 * compiled.store_delay, compiled.store_bandwidth, compiled.spawn_time
    if compiled.storm:
        fresh = ~(compiled.current.sum(axis=0) > 0)[v]
        code = np.where(fresh, round_trip[v] + compiled.code_size.sum() / bandwidth[v], 0.0)
        up = round_trip[u] + state * before[u] / old / bandwidth[u]
        down = round_trip[v] + state * after / new / bandwidth[v]
        return np.asarray(code + up + down + after * spawn[v])
    leaving, arriving = np.maximum(before[u] - left, 0), np.maximum(after - before[v], 0)
    grown, shrunk = np.maximum(new - old, 0), np.maximum(old - new, 0)
    uploaded = state * (leaving / old + before[u] * grown / (old * new))
    downloaded = state * (arriving / new + np.minimum(before[v], after) * shrunk / (old * new))
    code = np.where(before[v] == 0, round_trip[v] + compiled.code_size[operator] / bandwidth[v], 0.0)
    up = round_trip[u] + uploaded / bandwidth[u]
    down = round_trip[v] + downloaded / bandwidth[v]
    return np.asarray(np.maximum(code, up) + down + spawn[v] * (after > before[v]))
