"""Downtime of choices when an application already runs: the least over all configurations that are such a choice."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from edrp.core.arrays import Bools, Floats, Ints
from edrp.core.kernels import kernel
from edrp.formulations.placement.equal_nodes.model import Choices, Quotient
from edrp.placement.compiled import NO_NODE, Compiled
from edrp.placement.metrics.base import LIMIT_SLACK
from edrp.placement.reconfiguration import code_times, download_times, upload_times


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


def with_downtimes(quotient: Quotient) -> Quotient:
    """The quotient with the least downtime of every choice, those beyond the limit taken away.

    Choices of one node where the operator runs now are apart, a row for each node: operators on different nodes cannot be
    brought together without a move.
    """
    rows = _Rows(quotient)
    for j in range(quotient.operators):
        rows.add_operator(j)
    choices = rows.choices()
    limit = float(quotient.model.limits[2]) * (1 + LIMIT_SLACK)
    if quotient.model.downtime == 0 and (choices.downtime <= limit).all():
        return quotient  # downtime does not count, and hardly any placement takes too long
    choices = choices.select(np.flatnonzero(choices.downtime <= limit))
    return replace(quotient, choices=choices, least_downtime=_least_change(quotient.model.compiled, choices))


def _least_change(compiled: Compiled, choices: Choices) -> float:
    """Least downtime of any change, in seconds.

    A choice that can be had for nothing may also be had otherwise, with some replica that starts on another node.
    """
    changes = choices.downtime[choices.downtime > 0]
    if not changes.size or not compiled.synchronisation_time:
        return 0.0
    start = compiled.synchronisation_time + 4 * compiled.store_delay.min() + compiled.spawn_time.min()
    return float(min(changes.min(), start))


class _Rows:
    """Choices with their downtimes, operator by operator."""

    def __init__(self, quotient: Quotient) -> None:
        self.quotient, self.compiled = quotient, quotient.model.compiled
        self.source: list[int] = []
        self.downtime: list[float] = []
        self.anchor: list[int] = []
        self.owner = np.zeros(len(self.compiled.nodes), np.int64)
        for k, nodes in enumerate(quotient.members):
            self.owner[nodes] = k

    def choices(self) -> Choices:
        """All that were added."""
        chosen = self.quotient.choices.select(np.array(self.source, np.int64))
        return replace(chosen, downtime=np.array(self.downtime), anchor=np.array(self.anchor, np.int64))

    def add_operator(self, j: int) -> None:
        """Add the choices of one operator."""
        choices, operator = self.quotient.choices, int(self.quotient.model.order[j])
        own = np.flatnonzero(choices.operator == j)
        room = most_on_node(self.quotient, j)[self.owner]
        for replicas in np.unique(choices.replicas[own]):
            times = move_times(self.compiled, operator, int(replicas), int(min(room.max(), replicas)))
            for row in own[choices.replicas[own] == replicas]:
                inside = (choices.classes[row] >> self.owner & 1) == 1
                if choices.single[row]:
                    self._add_single(int(row), times, inside)
                else:
                    self._add(int(row), self._spread(int(replicas), int(choices.classes[row]), times, inside, room), NO_NODE)

    def _add(self, row: int, downtime: float, anchor: int) -> None:
        if np.isfinite(downtime):
            self.source.append(row)
            self.downtime.append(downtime)
            self.anchor.append(anchor)

    def _spread(self, replicas: int, classes: int, times: MoveTimes, inside: Bools, room: Ints) -> float:
        """Least downtime of replicas on nodes of these classes; 0 where they may stay as they are."""
        now = np.flatnonzero(times.before)
        if times.before.sum() == replicas and np.bitwise_or.reduce(1 << self.owner[now]) == classes:
            return 0.0
        time = least_time(times.before, times.code, times.upload, times.download, inside, np.minimum(room, replicas), replicas)[0]
        return float(self.compiled.synchronisation_time + time)

    def _add_single(self, row: int, times: MoveTimes, inside: Bools) -> None:
        """One row for each node where the operator runs now, and one for any other node of the class."""
        replicas = int(self.quotient.choices.replicas[row])
        fresh = np.flatnonzero(inside & (times.before == 0))
        for node in [*np.flatnonzero(inside & (times.before > 0)), *fresh[:1]]:
            others = [u for u in np.flatnonzero(times.before) if u != node]
            upload = max((float(times.upload[u, 0]) for u in others), default=-np.inf)
            moved = max(float(times.code[node]), upload) + float(times.download[node, replicas]) if others else 0.0
            same = not others and times.before[node] == replicas
            downtime = 0.0 if same else self.compiled.synchronisation_time + moved
            self._add(row, downtime, int(node) if times.before[node] else NO_NODE)


def most_on_node(quotient: Quotient, j: int) -> Ints:
    """Replicas of an operator that a node of each class holds at most, shape (classes,)."""
    demand = quotient.demand[j]
    most = np.full(len(quotient.members), int(quotient.model.degrees[j]))
    for m in np.flatnonzero(demand > 0):
        fitting = np.where(np.isfinite(quotient.capacity[:, m]), quotient.capacity[:, m], 1e9) / demand[m]
        most = np.minimum(most, np.floor(fitting + 1e-9).astype(np.int64))
    return most


@kernel
def least_time(
    before: Ints, code: Floats, upload: Floats, download: Floats, inside: Bools, room: Ints, replicas: int
) -> tuple[float, int, int, float]:
    """Least seconds of moving an operator to so many replicas on the nodes `inside`, at most `room` on each.

    Every node that sends is tried as the one that takes longest, with every number of replicas that may stay on it. The others
    then keep as many as they must to take no longer, and further replicas go where they take least. Data that the slowest sender
    itself fetches waits for the second slowest, which is taken to be as fast as can be, so that this is a lower bound. Returns
    it with the slowest sender, the number of replicas that stay there, and the seconds that it sends.
    """
    nodes = before.size
    best, best_node, best_count, best_upload = np.inf, -1, 0, 0.0
    values = np.empty(nodes * (replicas + 1))
    for slowest in range(nodes):
        if before[slowest] == 0:
            continue
        second = -np.inf
        for u in range(nodes):
            if u != slowest and before[u] > 0:
                second = max(second, upload[u, room[u] if inside[u] else 0])
        for stay in range((room[slowest] if inside[slowest] else 0) + 1):
            longest = upload[slowest, stay]
            time = second + download[slowest, stay] if stay > 0 and second > -np.inf else 0.0
            left, count, possible = replicas - stay, 0, second <= longest
            for v in range(nodes):
                if v == slowest:
                    continue
                most, least = room[v] if inside[v] else 0, 0
                while before[v] > 0 and least <= most and upload[v, least] > longest:
                    least += 1
                if least > most:
                    possible = False
                    break
                start = max(code[v], longest)
                if least > 0:
                    time = max(time, start + download[v, least])
                    left -= least
                for number in range(least + 1, most + 1):
                    values[count] = start + download[v, number]
                    count += 1
            if not possible or left < 0 or left > count:
                continue
            if left > 0:
                time = max(time, np.sort(values[:count])[left - 1])
            if time < best:
                best, best_node, best_count, best_upload = time, slowest, stay, longest
    return best, best_node, best_count, best_upload
