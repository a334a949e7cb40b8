"""Instances packed into given hosts that they nearly fill, by exchanges between two hosts, each the best of billions.

Whether instances fit into a few hosts is seldom a question of bounds: a hundred instances have so many arrangements that some of
them leave next to nothing free on every host. An exchange finds one host's share of it. All small sets of instances that may
leave a host are listed, and all that may come from another one; sorted by the scarcest resource, the two lists hold the best pair
side by side (the meeting in the middle of Horowitz and Sahni, *Computing partitions*, 1974).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from edrp.core.arrays import Bools, Floats, Ints
from edrp.core.budget import LOOK, spend, units_left
from edrp.core.tolerances import LIMIT_SLACK
from edrp.enactment.sizes import Sizes
from edrp.formulations.enactment.packing import ENTRY_WORK, Contents, packing_order

MAX_SETS = 3_000, 60_000
"""Sets of instances that are listed for a host, in the first `QUICK_ROUNDS` and in the others; of more, some are drawn."""

QUICK_ROUNDS = 2
"""Turns with the shorter lists: enough where hosts are not quite full."""

MAX_MOVED = 12
"""Number of instances in the largest sets."""

MAX_ROUNDS, MAX_IDLE_ROUNDS, INSTANCES_PER_ROUND = 12, 3, 4
"""Turns of all hosts before the search gives up, fewer where there are few instances, and turns without any exchange.

Most packings take two turns."""

NEIGHBOURS = 6
"""Sets looked at for each set of the other list: the next ones that leave the scarcest resource least free."""

SET_WORK = 4e-7
"""Units of work for a set of instances, listed, sorted and compared."""


def pack_by_exchanges(sizes: Sizes, counts: Ints, types: Sequence[int], until: float = -np.inf) -> Contents | None:
    """Pack instances of each operator into hosts of the given types by exchanges; None where none is found that fits.

    All are placed where most is left, full or not. Then one host after the other exchanges instances with one that comes later,
    so that it is full and not overfull; the last one bears the rest. What is free in all is what the hosts before it may leave.
    Nothing is found either where less than `until` is left of the time, or where operators may not share hosts, which exchanges
    do not look at.
    """
    kinds = np.array(types, np.int64)
    may_run = np.any(sizes.room[kinds] > 0, axis=0)
    if sizes.apart.any() or not kinds.size or not may_run[counts > 0].all():
        return None
    packing = _Packing(sizes, kinds, _placed(sizes, counts, kinds))
    if (packing.free.sum(axis=0) < 0).any():
        return None
    generator, idle = np.random.default_rng(0), 0
    for number in range(min(MAX_ROUNDS, QUICK_ROUNDS + int(counts.sum()) // INSTANCES_PER_ROUND)):
        packing.max_sets = MAX_SETS[number >= QUICK_ROUNDS]
        if (packing.free >= 0).all():
            return packing.contents
        order, before = generator.permutation(kinds.size), packing.contents.copy()
        for place, host in enumerate(order[:-1]):
            if units_left() < until:
                return None
            if not packing.full(host):
                packing.exchange(int(host), int(generator.choice(order[place + 1 :])), generator)
        idle = idle + 1 if (packing.contents == before).all() else 0
        if idle == MAX_IDLE_ROUNDS:
            return None
    return packing.contents if (packing.free >= 0).all() else None


class _Sets(NamedTuple):
    """Sets of instances (M, O) of some operators (O,), and the resources that they need (M, R)."""

    operators: Ints
    counts: NDArray[np.int8]
    needs: Floats


class _Packing:
    """Contents of hosts, which exchange instances.

    Attributes
    ----------
    contents : shape (hosts, O).
    free : shape (hosts, R), negative where a host is overfull.
    max_sets : sets that are listed for a host.
    """

    max_sets: int

    def __init__(self, sizes: Sizes, kinds: Ints, contents: Contents) -> None:
        self.sizes, self.contents = sizes, contents
        self.allowed: Bools = sizes.room[kinds] > 0
        self.capacity = sizes.capacity[kinds] * (1 + LIMIT_SLACK)
        self.free = self.capacity - contents @ sizes.needs
        total = self.capacity.sum(axis=0)
        self.price = 1.0 / np.maximum(self.free.sum(axis=0), LIMIT_SLACK * np.where(total > 0, total, 1.0))
        self.scarcest = int((self.price * total).argmax()) if total.size else 0

    def full(self, host: int) -> bool:
        """Whether a host is not overfull, and leaves no more than its share of what all of them may leave."""
        free = self.free[host]
        return bool((free >= 0).all() and (free * self.price).max(initial=0.0) * len(self.free) <= 1.0)

    def exchange(self, host: int, other: int, generator: np.random.Generator) -> None:
        """Exchange the instances of two hosts that leave the first one least free; nothing where it would stay overfull."""
        leaving = self._sets(np.where(self.allowed[other], self.contents[host], 0), generator)
        coming = self._sets(np.where(self.allowed[host], self.contents[other], 0), generator)
        order = np.argsort(coming.needs[:, self.scarcest], kind="stable")
        needs, free = coming.needs[order], self.free[host] + leaving.needs
        place = np.searchsorted(needs[:, self.scarcest], free[:, self.scarcest], side="right") - 1
        least, best = np.inf, (0, 0)
        for back in range(NEIGHBOURS):
            left = free - needs[np.maximum(place - back, 0)]
            fits = (place >= back) & (left >= 0).all(axis=1)
            score = np.where(fits, left @ self.price, np.inf)
            index = int(score.argmin())
            if score[index] < least:
                least, best = score[index], (index, int(order[place[index] - back]))
        if np.isfinite(least):
            change = np.zeros(self.contents.shape[1], np.int64)
            change[leaving.operators] -= leaving.counts[best[0]]
            change[coming.operators] += coming.counts[best[1]]
            for index, sign in ((host, 1), (other, -1)):
                self.contents[index] += sign * change
                self.free[index] = self.capacity[index] - self.contents[index] @ self.sizes.needs

    def _sets(self, available: Ints, generator: np.random.Generator) -> _Sets:
        """List sets of the available instances (O,), the smallest first."""
        operators = np.flatnonzero(available)
        layer, last = np.zeros((1, operators.size), np.int8), np.zeros(1, np.int64)
        layers = [layer]
        for _ in range(MAX_MOVED):
            # One instance more, of the operator that came last or of a later one: every set is listed once.
            added = [np.flatnonzero((last <= index) & (layer[:, index] < available[o])) for index, o in enumerate(operators)]
            last = np.repeat(np.arange(operators.size), [rows.size for rows in added])
            layer = layer[np.concatenate([*added, np.zeros(0, np.int64)])]
            layer[np.arange(last.size), last] += 1
            room = self.max_sets - sum(map(len, layers))
            if len(layer) > room:
                layers.append(layer[generator.choice(len(layer), room, replace=False)])
                break
            layers.append(layer)
        counts = np.concatenate(layers)
        spend(LOOK + SET_WORK * len(counts))
        return _Sets(operators, counts, counts @ self.sizes.needs[operators])


def _placed(sizes: Sizes, counts: Ints, kinds: Ints) -> Contents:
    """Every instance where the scarcest resource would be least short."""
    contents = np.zeros((kinds.size, counts.size), np.int64)
    offered = np.where(sizes.capacity[kinds] > 0, sizes.capacity[kinds], 1.0)
    free = sizes.capacity[kinds].copy()
    for operator in packing_order(sizes):
        spend((LOOK + ENTRY_WORK * free.size) * int(counts[operator]))
        for _ in range(int(counts[operator])):
            free_share = ((free - sizes.needs[operator]) / offered).min(axis=1, initial=np.inf)
            host = int(np.where(sizes.room[kinds, operator] > 0, free_share, -np.inf).argmax())
            contents[host, operator] += 1
            free[host] -= sizes.needs[operator]
    return contents
