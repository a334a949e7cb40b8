"""Peak loads of shared resources of a deployment under search, in compiled kernels."""

from __future__ import annotations

from edrp.core.arrays import Floats, Ints
from edrp.core.kernels import inlined
from edrp.heuristics.placement.problem_arrays import PlacementArrays, SharedUse


@inlined
def measure_peaks(t: PlacementArrays, place: Ints, degree: Ints, demand: Floats, peaks: Floats) -> None:
    """Write the largest share of a node's capacity, of any resource and of each, to `peaks`; `demand` is scratch.

    The work is a pass over replicas, and over pairs of replicas of streams whose traffic uses a resource.
    """
    use = t.shared
    for u in range(demand.shape[0]):
        for k in range(demand.shape[1]):
            demand[u, k] = 0.0
    for i in range(degree.size):
        for p in range(degree[i]):
            for k in range(demand.shape[1]):
                demand[place[i, p], k] += use.replica_use[i, degree[i], k]
    for e in range(t.source.size):
        if _is_charged(use, e):
            _add_stream(t, place, degree, demand, e)
    peaks[:] = 0.0
    for u in range(demand.shape[0]):
        for k in range(demand.shape[1]):
            share = demand[u, k] / use.capacity[u, k]
            peaks[1 + k] = max(peaks[1 + k], share)
            peaks[0] = max(peaks[0], share)


@inlined
def _is_charged(use: SharedUse, e: int) -> bool:
    """Whether sending stream e to another node uses any resource."""
    for k in range(use.stream_use.shape[1]):
        if use.stream_use[e, k] > 0:
            return True
    return False


@inlined
def _add_stream(t: PlacementArrays, place: Ints, degree: Ints, demand: Floats, e: int) -> None:
    """Add what stream e sends away from the nodes of its senders."""
    use, i, j = t.shared, t.source[e], t.target[e]
    for p in range(degree[i]):
        u, near, earlier = place[i, p], 0, 0
        for q in range(degree[j]):
            near += place[j, q] == u
        if use.one_to_one[e]:
            for q in range(p):
                earlier += place[i, q] == u
            away = 1.0 if earlier >= near else 0.0
        else:
            away = 1.0 - near / degree[j]
        for k in range(demand.shape[1]):
            demand[u, k] += use.stream_use[e, k] * away / degree[i]
