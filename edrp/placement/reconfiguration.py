"""Downtime of all configurations of an operator at once, for the tables of solvers."""

from __future__ import annotations

import numpy as np

from edrp.core.arrays import Bools, Floats, Ints, Ints32
from edrp.placement.compiled import NO_NODE, Compiled


def downtime_floor(compiled: Compiled) -> float:
    """The minimum downtime of any reconfiguration, in seconds.

    Storm restarts every operator when one changes (EDRP, eqs. 33, 39–40); pause-and-resume stops only
    what changes.
    """
    if compiled.current is None or not compiled.storm:
        return 0.0
    share = compiled.current / compiled.current.sum(axis=1, keepdims=True)
    swap = 2 * compiled.state_size[:, None] * share / compiled.local_bandwidth
    restart = np.where(compiled.current > 0, swap + compiled.current * compiled.spawn_time, 0.0)
    return float(compiled.synchronisation_time + restart.max())


def downtimes(compiled: Compiled, counts: Ints) -> Floats:
    """Seconds of the changes from the current deployment to others, shape (deployments, operators, nodes) (EDRP, eq. 10).

    0 where nothing changes, and without a current deployment; shape (deployments,).
    """
    longest = np.zeros(len(counts))
    if compiled.current is None:
        return longest
    for i in range(counts.shape[1]):
        rows, inverse = np.unique(counts[:, i], axis=0, return_inverse=True)
        members = np.array([compiled.members(np.where(np.arange(counts.shape[1])[:, None] == i, row, 0))[i] for row in rows])
        longest = np.maximum(longest, operator_downtimes(compiled, i, members)[inverse.reshape(-1)])
    changed = (counts != compiled.current).any(axis=(1, 2))
    return np.where(changed, np.maximum(longest, downtime_floor(compiled)), 0.0)


def operator_downtimes(compiled: Compiled, operator: int, members: Ints32) -> Floats:
    """Downtime in seconds of moving one operator to each configuration (EDRP, eqs. 25–32; Storm 34–38).

    Parameters
    ----------
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
    longest = np.zeros(len(members))
    for u in np.flatnonzero(before):
        left = (members == u).sum(axis=1)
        for replica in range(members.shape[1]):
            v = members[:, replica]
            pair = (v != NO_NODE) & (v != u)
            if pair.any():
                time = pair_times(compiled, operator, int(u), v[pair], left[pair], after[pair, replica], new[pair])
                longest[pair] = np.maximum(longest[pair], time)
    changed = ~is_current(compiled, operator, members)
    result[changed] = compiled.synchronisation_time + longest[changed]
    return result


def is_current(compiled: Compiled, operator: int, members: Ints32) -> Bools:
    """Which configurations are the operator's current one, shape (configurations,); none without a current deployment."""
    if compiled.current is None:
        return np.zeros(len(members), bool)
    before = compiled.current[operator]
    held = np.where(members == NO_NODE, 0, before[members])
    after = (members[:, :, None] == members[:, None, :]).sum(axis=2)
    same = ((after == held) | (members == NO_NODE)).all(axis=1)
    return np.asarray(same & ((members != NO_NODE).sum(axis=1) == before.sum()))


def pair_times(compiled: Compiled, operator: int, u: int, v: Ints32, left: Ints, after: Ints, new: Ints) -> Floats:
    """Seconds of moving from node u to each node v (EDRP, eq. 27; Storm eq. 35).

    There are `new` replicas in all, of which `left` stay on u and `after` are on v; arrays of one shape.
    """
    code = code_times(compiled, operator, v)
    up = upload_times(compiled, operator, u, left, new)
    down = download_times(compiled, operator, v, after, new)
    return code + up + down if compiled.storm else np.maximum(code, up) + down


def code_times(compiled: Compiled, operator: int, v: Ints32) -> Floats:
    """Seconds to bring the code to v, 0 where it is (EDRP, eq. 28; Storm eq. 36: that of the whole application)."""
    assert compiled.current is not None
    present, size = compiled.current[operator] > 0, compiled.code_size[operator]
    if compiled.storm:
        present, size = (compiled.current > 0).any(axis=0), compiled.code_size.sum()
    return np.where(present[v], 0.0, 2 * compiled.store_delay[v] + size / compiled.store_bandwidth[v])


def upload_times(compiled: Compiled, operator: int, u: int, left: Ints, new: Ints) -> Floats:
    """Seconds to store the state that leaves u (EDRP, eqs. 29, 31; Storm eq. 37)."""
    assert compiled.current is not None
    before, old = compiled.current[operator, u], compiled.current[operator].sum()
    if compiled.storm:
        share = np.full(np.shape(new), before / old)
    else:
        share = np.maximum(before - left, 0) / old + before * np.maximum(new - old, 0) / (old * new)
    return np.asarray(2 * compiled.store_delay[u] + compiled.state_size[operator] * share / compiled.store_bandwidth[u])


def download_times(compiled: Compiled, operator: int, v: Ints32, after: Ints, new: Ints) -> Floats:
    """Seconds to fetch state to v and start replicas there (EDRP, eqs. 30, 32 and the last term of 27; Storm eq. 38)."""
    assert compiled.current is not None
    before, old = compiled.current[operator][v], compiled.current[operator].sum()
    if compiled.storm:
        share, started = after / new, after
    else:
        kept = np.minimum(before, after) * np.maximum(old - new, 0)
        share, started = np.maximum(after - before, 0) / new + kept / (old * new), after > before
    fetch = 2 * compiled.store_delay[v] + compiled.state_size[operator] * share / compiled.store_bandwidth[v]
    return np.asarray(fetch + started * compiled.spawn_time[v])
