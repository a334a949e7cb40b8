"""Instances on hosts as arrays, for first-fit decreasing, host selection and static deployments."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, fields

import numpy as np

from edrp.core.arrays import Floats, Ints
from edrp.core.budget import look
from edrp.core.tolerances import LIMIT_SLACK
from edrp.enactment.containers import ContainerOperator, Host, HostType
from edrp.enactment.sizes import UNNEEDED, Sizes, fitting
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
