"""Compiled: the least seconds that moves of an operator take, and the replicas that stay whichever moves are made in time."""

from __future__ import annotations

import numpy as np

from edrp.core.arrays import Floats, Ints
from edrp.core.kernel_helpers import value_in_place
from edrp.core.kernels import inlined, kernel


@inlined
def _second(before: Ints, upload: Floats, room: Ints, slowest: int) -> float:
    """Seconds that the second slowest sender takes at least; minus infinity where there is no other."""
    second = -np.inf
    for u in range(before.size):
        if u != slowest and before[u] > 0:
            second = max(second, upload[u, room[u]])
    return second


@kernel
def least_time(before: Ints, code: Floats, upload: Floats, download: Floats, room: Ints, replicas: int) -> float:
    """Least seconds of moving an operator to so many replicas, at most `room` on each node; infinite where they find none.

    Every node that sends is tried as the one that takes longest, with every number of replicas that may stay on it. The others
    then keep as many as they must to take no longer, and further replicas go where they take least. Data that the slowest sender
    itself fetches waits for the second slowest, which is taken to be as fast as can be, so that this is a lower bound.
    """
    nodes = before.size
    best = np.inf
    values = np.empty(nodes * (replicas + 1))
    for slowest in range(nodes):
        if before[slowest] == 0:
            continue
        second = _second(before, upload, room, slowest)
        for stay in range(room[slowest] + 1):
            longest = upload[slowest, stay]
            time = second + download[slowest, stay] if stay > 0 and second > -np.inf else 0.0
            left, count, possible = replicas - stay, 0, second <= longest
            for v in range(nodes):
                if v == slowest:
                    continue
                least = 0
                while before[v] > 0 and least <= room[v] and upload[v, least] > longest:
                    least += 1
                if least > room[v]:
                    possible = False
                    break
                start = max(code[v], longest)
                if least > 0:
                    time = max(time, start + download[v, least])
                    left -= least
                for number in range(least + 1, room[v] + 1):
                    values[count] = start + download[v, number]
                    count += 1
            if not possible or left < 0 or left > count:
                continue
            if left > 0:
                time = max(time, value_in_place(values, count, left - 1))
            best = min(best, time)
    return best


@kernel
def least_kept(
    before: Ints, code: Floats, upload: Floats, download: Floats, room: Ints, replicas: int, allowed: float
) -> tuple[bool, Ints]:
    """Least replicas on each node over all configurations that take no longer than `allowed`; whether there are any, too.

    As in `least_time`, every node that sends is tried as the one that takes longest. The others then have to keep some replicas,
    and what a node can fetch in time bounds its replicas from above; what finds no room elsewhere has to stay as well.
    """
    nodes = before.size
    least = np.full(nodes, replicas)
    lower, upper = np.empty(nodes, np.int64), np.empty(nodes, np.int64)
    found = False
    for slowest in range(nodes):
        if before[slowest] == 0:
            continue
        second = _second(before, upload, room, slowest)
        for stay in range(min(room[slowest], before[slowest]) + 1):
            longest = upload[slowest, stay]
            possible = second <= longest and not (stay > 0 and second > -np.inf and second + download[slowest, stay] > allowed)
            most, fewest = 0, 0
            for v in range(nodes if possible else 0):
                lower[v], upper[v] = 0, 0
                if v == slowest:
                    lower[v], upper[v] = stay, stay
                    for number in range(stay + 1, room[v] + 1 if stay == before[v] else 0):
                        if second == -np.inf or second + download[v, number] <= allowed:
                            upper[v] = number
                else:
                    while before[v] > 0 and lower[v] <= room[v] and upload[v, lower[v]] > longest:
                        lower[v] += 1
                    start = max(code[v], longest)
                    for number in range(1, room[v] + 1):
                        if start + download[v, number] <= allowed:
                            upper[v] = number
                if lower[v] > upper[v]:
                    possible = False
                    break
                fewest += lower[v]
                most += upper[v]
            if not possible or not fewest <= replicas <= most:
                continue
            found = True
            for v in range(nodes):
                least[v] = min(least[v], max(lower[v], replicas - (most - upper[v])))
    return found, least
