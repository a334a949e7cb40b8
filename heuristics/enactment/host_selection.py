"""Choice of the host for a new instance (cost-efficient enactment, Alg. 2), one at a time or for whole packings."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from edrp.core.arrays import Bools, Floats, Ints
from edrp.core.budget import look
from edrp.core.document import named_resources
from edrp.core.tolerances import LIMIT_SLACK
from edrp.enactment import TentativeState
from edrp.heuristics.enactment.host_packing import Packing, PricedSizes

CACHED_FACTOR = 0.01
"""CF of Alg. 2 as in the paper: hosts that hold the container image come before all others."""


def suitabilities(free: Floats, capacity: Floats, need: Floats, cached: Bools, cached_factor: float = CACHED_FACTOR) -> Floats:
    """Unsuitability of each host for one more instance (cost-efficient enactment, Alg. 2): the lowest is best, -1 has no room.

    The paper subtracts normalised memory from normalised CPU; with further resources, the difference is that between
    the freest and the scarcest. Its line 10 is read as "if the image of the operator is on the host".

    Parameters
    ----------
    free, capacity : shape (hosts, resources)
        Free resources, and those of an empty host.
    need : shape (resources,)
        Resources of one instance.
    cached : shape (hosts,)
        Whether the container image is there.
    cached_factor
        CF, by which the value of these hosts is multiplied.
    """
    needed, existing = need > 0, capacity > 0
    feasibility = (free[:, needed] / need[needed]).min(axis=1, initial=np.inf)
    remaining = np.divide(free - need, capacity, out=np.full(free.shape, np.nan), where=existing)
    difference = np.fmax.reduce(remaining, axis=1) - np.fmin.reduce(remaining, axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):  # of hosts without room, which are overwritten
        value = np.where(cached, cached_factor, 1.0) * difference / feasibility
    return np.where((need <= free + LIMIT_SLACK * capacity).all(axis=1), value, -1.0)


def best_host(tentative: TentativeState, operator: str, hosts: Sequence[str], cached_factor: float = CACHED_FACTOR) -> str | None:
    """The host that suits one more instance best, ties to the one with most free CPU, then by name; None has room nowhere."""
    able = [host for host in hosts if tentative.fits(host, operator)]
    if not able:
        return None
    frees = [tentative.free(host) for host in able]
    capacities = [tentative.type(host).capacity for host in able]
    needs = named_resources(tentative.state.operators[operator].operator.resources)
    resources = tuple(dict.fromkeys(name for amounts in (needs, *capacities) for name in amounts))
    values = suitabilities(
        np.array([[amounts.get(name, 0.0) for name in resources] for amounts in frees]),
        np.array([[amounts.get(name, 0.0) for name in resources] for amounts in capacities]),
        np.array([needs.get(name, 0.0) for name in resources]),
        np.array([tentative.has_image(host, operator) for host in able]),
        cached_factor,
    )
    best = min(range(len(able)), key=lambda index: (values[index], -frees[index].get("cpu", 0.0), able[index]))
    return able[best]


def usable(tentative: TentativeState, *, starting: bool) -> tuple[str, ...]:
    """Hosts on which instances can be placed: all that are not being released, or only those of them that are up."""
    hosts = tentative.state.hosts
    return tuple(host for host in tentative.hosts if starting or (host in hosts and hosts[host].ready))


MAX_SPREAD_HOSTS = 10_000
"""Largest number of hosts over which instances are spread at once."""


def spread(sizes: PricedSizes, fewest: Ints) -> Packing | None:
    """The fewest instances, the largest first, over all hosts that may be leased; empty hosts are given back. None: no room."""
    if int(sizes.max_hosts.max()) > MAX_SPREAD_HOSTS:
        return None
    packing = Packing(sizes)
    for kind, number in enumerate(sizes.max_hosts.tolist()):
        packing.lease(kind, number)
    for operator in sizes.decreasing():
        if place(packing, operator, int(fewest[operator]), lease=False, cached_factor=1.0):
            return None
    for host in reversed(np.flatnonzero(packing.counts.sum(axis=1) == 0).tolist()):
        packing.drop(host)
    return packing


def place(
    packing: Packing, operator: int, number: int, *, lease: bool, without: int | None = None, cached_factor: float = CACHED_FACTOR
) -> int:
    """Put instances one by one on the host that suits each best (Alg. 2), or on one leased for it; returns how many find none.

    Parameters
    ----------
    packing
        Hosts and instances; changed in place.
    without
        A host that must not be chosen.
    cached_factor
        CF of Alg. 2; 1 to look at balance alone.
    """
    ranking = _HostRanking(packing, operator, without, cached_factor)
    for remaining in range(number, 0, -1):
        look("a packing")
        host = ranking.best()
        if host is None:
            kind = packing.sizes.cheapest(operator, packing.leased) if lease else None
            if kind is None:
                return remaining
            packing.lease(kind)
            ranking, host = _HostRanking(packing, operator, without, cached_factor), len(packing.hosts) - 1
        packing.counts[host, operator] += 1
        ranking.take(host)
    return 0


class _HostRanking:
    """Unsuitability of all hosts for one operator; an instance changes that of its own host only."""

    def __init__(self, packing: Packing, operator: int, without: int | None, cached_factor: float) -> None:
        self._cached_factor = cached_factor
        sizes = packing.sizes
        self._need, self._free, self._capacity = sizes.needs[operator], packing.free, packing.capacity
        self._names = [host.name for host in packing.hosts]
        self._cpu = sizes.resources.index("cpu") if "cpu" in sizes.resources else 0
        name = sizes.operators[operator].name
        cached = np.array([name in host.images for host in packing.hosts], bool) | (packing.counts[:, operator] > 0)
        self._values = suitabilities(self._free, self._capacity, self._need, cached, cached_factor)
        self._values[(sizes.room[packing.type, operator] == 0) | sizes.barred(operator, packing.counts)] = -1.0
        if without is not None:
            self._values[without] = -1.0

    def best(self) -> int | None:
        """Host with the lowest value; ties go to most free CPU (or first resource), then by name."""
        able = self._values >= 0
        if not able.any():
            return None
        tied = np.flatnonzero(self._values == self._values[able].min()).tolist()
        return min(tied, key=lambda host: (-self._free[host, self._cpu], self._names[host]))

    def take(self, host: int) -> None:
        """Take room for one more instance on a host."""
        self._free[host] -= self._need
        row = slice(host, host + 1)
        self._values[row] = suitabilities(self._free[row], self._capacity[row], self._need, np.array([True]), self._cached_factor)
