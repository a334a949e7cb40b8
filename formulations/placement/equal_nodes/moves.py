"""Downtimes of the moves of one operator, stored because the search of a quotient needs them repeatedly."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from edrp import _native
from edrp.core.arrays import Floats, Ints
from edrp.core.tolerances import DOWNTIME_SLACK
from edrp.placement.compiled import Compiled
from edrp.placement.reconfiguration import code_times, download_times, upload_times

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
    upload : shape (nodes, 1 + most), to store what leaves a node, by the replicas that stay on it.
    download : shape (nodes, 1 + most), to fetch what a node needs, by its replicas, and to start the new ones.
    """

    before: Ints
    code: Floats
    upload: Floats
    download: Floats


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
        """Times of an operator's move to a number of replicas (EDRP, eqs. 28 to 32)."""
        if (j, replicas) not in self._times:
            compiled, operator = self.compiled, int(self.order[j])
            assert compiled.current is not None
            nodes, counts = np.arange(len(compiled.nodes), dtype=np.int32), np.arange(int(min(self.most[j].max(), replicas)) + 1)
            new = np.full(counts.size, replicas)
            upload = np.array([upload_times(compiled, operator, int(u), counts, new) for u in nodes])
            receiving = (np.full(counts.size, v, np.int32) for v in nodes)
            download = np.array([download_times(compiled, operator, receiver, counts, new) for receiver in receiving])
            code = code_times(compiled, operator, nodes)
            self._times[j, replicas] = MoveTimes(compiled.current[operator], code, upload, download)
        return self._times[j, replicas]

    def breakpoints(self, j: int, replicas: int) -> Floats:
        """All downtimes at which an operator's moves to a number of replicas change, in ascending order."""
        if (j, replicas) not in self._breakpoints:
            times = self.times(j, replicas)
            sent = np.unique(times.upload[times.before > 0])
            seconds = np.maximum(times.code[:, None], sent)[:, :, None] + times.download[:, None, :]
            _keep(self._breakpoints, (j, replicas), self.compiled.synchronisation_time + np.unique(seconds))
        return self._breakpoints[j, replicas]

    def spread(self, j: int, replicas: int, room: Ints) -> float:
        """Least downtime of moving an operator to a number of replicas, at most `room` on each node; else infinite."""
        key = (j, replicas, room.tobytes())
        if key not in self._spread:
            times = self.times(j, replicas)
            seconds = _native.least_move_time(times.before, times.code, times.upload, times.download, room, replicas)
            _keep(self._spread, key, float(self.compiled.synchronisation_time + seconds))
        return self._spread[key]

    def kept(self, j: int, replicas: int, room: Ints, longest: float) -> tuple[bool, Ints]:
        """Whether a move within a given downtime exists, and the minimum replicas on each node after any such move."""
        key = (j, replicas, room.tobytes(), longest)
        if key not in self._kept:
            times, allowed = self.times(j, replicas), longest * (1 + DOWNTIME_SLACK) - self.compiled.synchronisation_time
            found = _native.least_kept_replicas(times.before, times.code, times.upload, times.download, room, replicas, allowed)
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
    """Replicas that may be on each node where the given one sends longest, with at least `stay` that stay on it."""
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
