"""Downtimes of the moves of one operator, stored because the search of a quotient needs them repeatedly.

Compiled: the least seconds that moves of an operator take, and the replicas that stay whichever moves are made in time.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from edrp.core.arrays import Floats, Ints
from edrp.core.kernel_helpers import value_in_place
from edrp.core.kernels import inlined, kernel
from edrp.core.tolerances import DOWNTIME_SLACK
from edrp.placement.compiled import Compiled
from edrp.placement.reconfiguration import code_times, download_times, upload_times


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


MAX_KEPT = 5_000
"""Results of each kind that are kept; then they are forgotten, since a search may go on for hours."""

Box = tuple[Floats, Floats]
"""Fewest and most of something on each node."""


@dataclass(frozen=True)
class MoveTimes:
    """Seconds that parts of a reconfiguration of one operator to a number of replicas take.

    Attributes
    ----------
    before : shape (nodes,), replicas now.
    code : shape (nodes,), to bring the code there.
    upload : shape (nodes, 1 + most), to store what leaves a node on which so many replicas stay.
    download : shape (nodes, 1 + most), to fetch what a node with so many replicas needs, and to start the new ones.
    """

    before: Ints
    code: Floats
    upload: Floats
    download: Floats


def move_times(compiled: Compiled, operator: int, replicas: int, most: int) -> MoveTimes:
    """Parts of the downtime (EDRP, eqs. 28 to 32) of an operator of the compiled problem, with up to `most` on a node."""
    assert compiled.current is not None
    nodes = np.arange(len(compiled.nodes), dtype=np.int32)
    counts = np.arange(most + 1)
    new = np.full(counts.size, replicas)
    upload = np.array([upload_times(compiled, operator, int(u), counts, new) for u in nodes])
    download = np.array([download_times(compiled, operator, np.full(counts.size, v, np.int32), counts, new) for v in nodes])
    return MoveTimes(compiled.current[operator], code_times(compiled, operator, nodes), upload, download)


class Moves:
    """Times of moves of all operators of a quotient, kept for as long as it is searched.

    Parameters
    ----------
    order : shape (operators,), operators of the problem in the order of the quotient.
    most : shape (operators, classes), replicas that a node of each class holds at most.
    """

    def __init__(self, compiled: Compiled, order: Ints, most: Ints) -> None:
        self.compiled, self.order, self.most = compiled, order, most
        self._times: dict[tuple[int, int], MoveTimes] = {}
        self._breakpoints: dict[tuple[int, int], Floats] = {}
        self._spread: dict[tuple[int, int, bytes], float] = {}
        self._kept: dict[tuple[int, int, bytes, float], tuple[bool, Ints]] = {}
        self._boxes: dict[tuple[int, int, bytes, float], list[Box]] = {}

    def times(self, j: int, replicas: int) -> MoveTimes:
        """Times of an operator's move to so many replicas."""
        if (j, replicas) not in self._times:
            most = int(min(self.most[j].max(), replicas))
            self._times[j, replicas] = move_times(self.compiled, int(self.order[j]), replicas, most)
        return self._times[j, replicas]

    def breakpoints(self, j: int, replicas: int) -> Floats:
        """All downtimes at which an operator's moves to so many replicas change, in ascending order."""
        if (j, replicas) not in self._breakpoints:
            times = self.times(j, replicas)
            sent = np.unique(times.upload[times.before > 0])
            seconds = np.maximum(times.code[:, None], sent)[:, :, None] + times.download[:, None, :]
            _keep(self._breakpoints, (j, replicas), self.compiled.synchronisation_time + np.unique(seconds))
        return self._breakpoints[j, replicas]

    def spread(self, j: int, replicas: int, room: Ints) -> float:
        """Least downtime of an operator's move to so many replicas, at most `room` on each node; infinite where there is none."""
        key = (j, replicas, room.tobytes())
        if key not in self._spread:
            times = self.times(j, replicas)
            seconds = least_time(times.before, times.code, times.upload, times.download, room, replicas)
            _keep(self._spread, key, float(self.compiled.synchronisation_time + seconds))
        return self._spread[key]

    def kept(self, j: int, replicas: int, room: Ints, longest: float) -> tuple[bool, Ints]:
        """Whether a move within a given downtime exists, and the minimum replicas on each node after any such move."""
        key = (j, replicas, room.tobytes(), longest)
        if key not in self._kept:
            times, allowed = self.times(j, replicas), longest * (1 + DOWNTIME_SLACK) - self.compiled.synchronisation_time
            found = least_kept(times.before, times.code, times.upload, times.download, room, replicas, allowed)
            _keep(self._kept, key, found)
        return self._kept[key]

    def boxes(self, j: int, replicas: int, room: Ints, longest: float) -> list[Box]:
        """Boxes of replicas on each node, in each of which a move takes no longer than this; each move in time is in one."""
        key = (j, replicas, room.tobytes(), longest)
        if key not in self._boxes:
            times, allowed = self.times(j, replicas), longest * (1 + DOWNTIME_SLACK) - self.compiled.synchronisation_time
            senders = np.flatnonzero(times.before) if allowed >= 0 else ()
            tried = [
                _box(times, room, int(slowest), stay, allowed)
                for slowest in senders
                for stay in range(int(min(room[slowest], times.before[slowest])) + 1)
            ]
            known = {np.concatenate(box).tobytes(): box for box in tried if box is not None}
            _keep(self._boxes, key, list(known.values()))
        return self._boxes[key]


def _keep(known: dict[Any, Any], key: Any, value: Any) -> None:
    if len(known) >= MAX_KEPT:
        known.clear()
    known[key] = value


def _box(times: MoveTimes, room: Ints, slowest: int, stay: int, allowed: float) -> Box | None:
    """Replicas that may be on each node where the given one sends longest, with at least so many that stay on it."""
    upload = float(times.upload[slowest, stay])
    others = [u for u in np.flatnonzero(times.before) if u != slowest]
    lower, upper = np.zeros(room.size), np.zeros(room.size)
    lower[slowest] = stay
    for u in others:
        enough = np.flatnonzero(times.upload[u, : room[u] + 1] <= upload + 1e-12)
        if not enough.size:
            return None
        lower[u] = enough.min()
    second = max((float(times.upload[u, int(lower[u])]) for u in others), default=-np.inf)
    for v in np.flatnonzero(room):
        start = second if v == slowest else max(float(times.code[v]), upload)
        fitting = np.flatnonzero(start + times.download[v, : room[v] + 1] <= allowed)
        upper[v] = fitting.max() if fitting.size else 0
    return (lower, upper) if (lower <= upper).all() else None
