"""Instances placed one by one by the paper's host selection (Alg. 2), on packings."""

from __future__ import annotations

import numpy as np

from edrp.core.arrays import Ints
from edrp.heuristics.enactment.host_selection import CACHED_FACTOR, suitabilities
from edrp.heuristics.enactment.packing import Packing, PricedSizes

MOST_SPREAD = 10_000
"""Hosts over which instances are spread at once."""


def spread(sizes: PricedSizes, fewest: Ints) -> Packing | None:
    """The fewest instances, the largest first, over all hosts that may be leased; empty hosts are given back. None: no room.

    Balance where hosts are few: for limits so tight that first fit leaves some operator without a place.
    """
    if int(sizes.most.max()) > MOST_SPREAD:
        return None
    packing = Packing(sizes)
    for kind, number in enumerate(sizes.most.tolist()):
        packing.lease(kind, number)
    for operator in sizes.decreasing():
        if place(packing, operator, int(fewest[operator]), lease=False, cached_factor=1.0):
            return None
    for host in reversed(np.flatnonzero(packing.counts.sum(axis=1) == 0).tolist()):
        packing.drop(host)
    return packing


def place(
    packing: Packing,
    operator: int,
    number: int,
    *,
    lease: bool,
    without: int | None = None,
    cached_factor: float = CACHED_FACTOR,
) -> int:
    """Put instances one by one on the host that suits each best (Alg. 2), or on one leased for it; returns how many find none.

    Parameters
    ----------
    packing
        Changed.
    operator, number
        Of what, and how many.
    lease
        Whether hosts may be leased.
    without
        A host that must not be chosen.
    cached_factor
        CF of Alg. 2; 1 to look at balance alone.
    """
    board = _Board(packing, operator, without, cached_factor)
    for left in range(number, 0, -1):
        host = board.best()
        if host is None:
            kind = packing.sizes.cheapest(operator, packing.leased) if lease else None
            if kind is None:
                return left
            packing.lease(kind)
            board, host = _Board(packing, operator, without, cached_factor), len(packing.hosts) - 1
        packing.counts[host, operator] += 1
        board.take(host)
    return 0


class _Board:
    """How all hosts suit one operator; an instance changes that of its own host only."""

    def __init__(self, packing: Packing, operator: int, without: int | None, cached_factor: float) -> None:
        self._cached_factor = cached_factor
        sizes = packing.sizes
        self._need, self._free, self._capacity = sizes.needs[operator], packing.free, packing.capacity
        self._names = [host.name for host in packing.hosts]
        self._cpu = sizes.resources.index("cpu") if "cpu" in sizes.resources else 0
        name = sizes.operators[operator].name
        cached = np.array([name in host.images for host in packing.hosts], bool) | (packing.counts[:, operator] > 0)
        self._values = suitabilities(self._free, self._capacity, self._need, cached, cached_factor)
        self._values[sizes.room[packing.type, operator] == 0] = -1.0
        if without is not None:
            self._values[without] = -1.0

    def best(self) -> int | None:
        """The lowest value, ties to the host with most free CPU (or of the first resource, without one), then by name."""
        able = self._values >= 0
        if not able.any():
            return None
        tied = np.flatnonzero(self._values == self._values[able].min()).tolist()
        return min(tied, key=lambda host: (-self._free[host, self._cpu], self._names[host]))

    def take(self, host: int) -> None:
        """One instance more on a host."""
        self._free[host] -= self._need
        row = slice(host, host + 1)
        self._values[row] = suitabilities(self._free[row], self._capacity[row], self._need, np.array([True]), self._cached_factor)
