"""Instances on hosts as arrays, and the choice of the host for a new instance (cost-efficient enactment, Alg. 2)."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, fields

import numpy as np

from edrp.core.arrays import Bools, Floats, Ints
from edrp.core.budget import look
from edrp.core.document import named_resources
from edrp.core.tolerances import LIMIT_SLACK
from edrp.enactment import TentativeState
from edrp.enactment.containers import UNNEEDED, ContainerOperator, Host, HostType, Sizes, fitting
from edrp.heuristics.placement.filling import first_fit_shares


@dataclass(frozen=True, slots=True)
class PricedSizes(Sizes):
    """Operators and host types as arrays, with prices.

    Attributes
    ----------
    price : shape (types,), price by which types are compared: of a billing time unit (BTU), as in eq. 1, or of a second.
    max_hosts : shape (types,), hosts that can be leased, a whole number even where there is no limit.
    """

    price: Floats
    max_hosts: Ints

    @classmethod
    def priced(
        cls,
        operators: Iterable[ContainerOperator],
        types: Iterable[HostType],
        apart: Iterable[Collection[str]] = (),
        *,
        per_second: bool = False,
    ) -> PricedSizes:
        """Convert documents of operators and host types into arrays."""
        sizes = Sizes.of(operators, types, apart)
        price = np.array([host_type.price / (host_type.billing_time if per_second else 1.0) for host_type in sizes.types])
        max_hosts = np.array(
            [np.iinfo(np.int64).max if host_type.limit is None else host_type.limit for host_type in sizes.types]
        )
        own = {field.name: getattr(sizes, field.name) for field in fields(Sizes)}
        return cls(**own, price=price, max_hosts=max_hosts)

    def cheapest(self, operator: int, leased: Ints) -> int | None:
        """The host type with the least price per instance that an empty host could run of this operator.

        Ties go to the type on which that many instances leave more room.

        Parameters
        ----------
        leased : shape (types,)
            Hosts of each type that are leased; None is returned where no further one helps.
        """
        able = np.flatnonzero((self.room[:, operator] > 0) & (leased < self.max_hosts))
        if not able.size:
            return None
        used = self.needs[operator] > 0
        exactly = (self.capacity[able][:, used] / self.needs[operator, used]).min(axis=1, initial=UNNEEDED)
        return int(able[np.lexsort((self.price[able] / exactly, self.price[able] / self.room[able, operator]))[0]])

    def decreasing(self) -> list[int]:
        """Operators, the one whose instance takes the largest share of a resource of its roomiest host type first."""
        with np.errstate(divide="ignore", invalid="ignore"):
            share = np.where(self.needs[:, None] > 0, self.needs[:, None] / self.capacity, 0.0).max(axis=2)
        return np.argsort(-np.where(self.room.T > 0, share, np.inf).min(axis=1), kind="stable").tolist()


class Packing:
    """Hosts and the instances on them, changed in place while they are filled."""

    def __init__(self, sizes: PricedSizes, hosts: Sequence[Host] = ()) -> None:
        self.sizes = sizes
        kinds = {host_type.name: index for index, host_type in enumerate(sizes.types)}
        self.hosts = list(hosts)
        self.type = np.array([kinds[host.type] for host in hosts], np.int64)
        counts = [[host.instances.get(operator.name, 0) for operator in sizes.operators] for host in hosts]
        self.counts = np.array(counts, np.int64).reshape(len(hosts), len(sizes.operators))
        self._last = 0

    @property
    def capacity(self) -> Floats:
        """Resources of each host, shape (hosts, resources)."""
        return self.sizes.capacity[self.type]

    @property
    def free(self) -> Floats:
        """Free resources of each host, shape (hosts, resources); negative where a host is overfull."""
        return self.capacity - self.counts @ self.sizes.needs

    @property
    def slack(self) -> Floats:
        """Use beyond capacity that counts as rounding, shape (hosts, resources)."""
        return LIMIT_SLACK * self.capacity

    @property
    def totals(self) -> Ints:
        """Number of instances of each operator, shape (operators,)."""
        return self.counts.sum(axis=0)

    def room(self, operator: int) -> Ints:
        """Instances of an operator that each host could take in addition, shape (hosts,)."""
        allowed = (self.sizes.room[self.type, operator] > 0) & ~self.sizes.barred(operator, self.counts)
        return fitting(self.free, self.capacity, self.sizes.needs[operator]) * allowed

    @property
    def leased(self) -> Ints:
        """Number of hosts of each type, shape (types,)."""
        return np.bincount(self.type, minlength=len(self.sizes.types))

    def lease(self, host_type: int, number: int = 1) -> None:
        """Add empty hosts under unused names."""
        used_names = {host.name for host in self.hosts}
        for _ in range(number):
            self._last += 1
            while f"host-{self._last}" in used_names:
                self._last += 1
            self.hosts.append(Host(name=f"host-{self._last}", type=self.sizes.types[host_type].name))
        self.type = np.append(self.type, np.full(number, host_type))
        self.counts = np.vstack([self.counts, np.zeros((number, self.counts.shape[1]), np.int64)])

    def copy(self) -> Packing:
        """Return an independent copy."""
        twin = Packing(self.sizes)
        twin.hosts, twin.type, twin.counts, twin._last = list(self.hosts), self.type.copy(), self.counts.copy(), self._last
        return twin

    def drop(self, host: int) -> None:
        """Remove a host with all its instances."""
        del self.hosts[host]
        self.type, self.counts = np.delete(self.type, host), np.delete(self.counts, host, axis=0)

    def first_fit(self, operator: int, number: int) -> int:
        """Put instances on the first hosts with room, then on hosts leased for them; returns how many found no room."""
        shares = first_fit_shares(self.room(operator), number)
        self.counts[:, operator] += shares
        missing = number - int(shares.sum())
        while missing and (kind := self.sizes.cheapest(operator, self.leased)) is not None:
            look("a packing")
            room = int(self.sizes.room[kind, operator])
            hosts = min(int(self.sizes.max_hosts[kind] - self.leased[kind]), max(1, missing // room))
            self.lease(kind, hosts)
            shares = first_fit_shares(np.full(hosts, room), missing)
            self.counts[-hosts:, operator] += shares
            missing -= int(shares.sum())
        return missing

    def host_documents(self) -> tuple[Host, ...]:
        """Convert the hosts into documents; hosts that existed before keep their images."""
        names = [operator.name for operator in self.sizes.operators]
        return tuple(
            host.replace(instances={name: count for name, count in zip(names, row, strict=True) if count})
            for host, row in zip(self.hosts, self.counts.tolist(), strict=True)
        )


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
