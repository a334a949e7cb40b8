"""The largest multiple of a load that a limit on the response time leaves, by one path of operators: a bound.

Tuples go from an operator to the next without delay only where all replicas of both are on one node (EDRP, eq. 6). A dynamic
program over how much of the roomiest node is taken hence bounds the response time of a path from below.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from edrp.core.limits import with_rounding
from edrp.core.tolerances import RATE_STEP
from edrp.placement.compilation import compile_problem
from edrp.placement.compiled import Compiled
from edrp.placement.throughput import GrowingLoad

GRID = 60
"""Parts of the roomiest node that are told apart: a multiple of the numbers of replicas that commonly fill a node."""


def highest_in_time(load: GrowingLoad, highest: float) -> float:
    """A multiple of at most `highest` that nothing within the limit on the response time exceeds; latencies must not fall."""
    limit, start = load.problem.limits.response_time, compile_problem(load.start)
    low, high = load.extremes

    def too_slow(multiple: float) -> bool:
        at = replace(start, latency=compile_problem(load.at(multiple)).latency)
        return limit is not None and least_response_time(at) > with_rounding(limit)

    high = min(highest, high)
    if high <= low or too_slow(low) or not too_slow(high):
        return highest
    while high > low * (1 + RATE_STEP):
        middle = math.sqrt(low * high)
        low, high = (low, middle) if too_slow(middle) else (middle, high)
    return high


def least_response_time(compiled: Compiled) -> float:
    """Seconds that no deployment falls below, of the path on which the fastest numbers of replicas take longest."""
    fastest = np.where(compiled.candidate, compiled.speedup, 0.0).max(axis=1)
    latency = np.minimum.accumulate(compiled.latency, axis=1) / fastest[:, None]  # with so many replicas or fewer
    apart = compiled.delay[~np.eye(len(compiled.nodes), dtype=bool)]
    hop, finish, before = float(apart.min()) if apart.size else 0.0, latency[:, -1].copy(), np.full(len(latency), -1)
    for i in range(len(latency)):
        if (sources := compiled.stream_source[compiled.stream_target == i]).size:
            before[i] = sources[finish[sources].argmax()]
            finish[i] += finish[before[i]] + hop
    path = [int(finish.argmax())]
    while before[path[-1]] >= 0:
        path.append(int(before[path[-1]]))
    room = compiled.capacity.max(axis=0)
    share = np.divide(compiled.demand, room, out=np.zeros(compiled.demand.shape), where=room > 0)
    need = share[:, share[path].sum(axis=0).argmax()] if share.size else np.zeros(len(latency))
    parts = np.arange(GRID + 1)
    sums = np.add.outer(parts, parts)
    together, soonest = np.full(GRID + 1, math.inf), -hop  # by how much of one node is taken, and wherever the replicas are
    for i in reversed(path):
        taken = np.floor(GRID * need[i] * np.arange(latency.shape[1]))
        alone = np.array([latency[i, taken <= part].min(initial=math.inf) for part in parts])
        on_one_node = soonest + hop + alone
        np.minimum.at(on_one_node, sums[sums <= GRID], np.add.outer(alone, together)[sums <= GRID])
        together, soonest = on_one_node, min(float(on_one_node.min()), soonest + hop + float(latency[i, -1]))
    return soonest
