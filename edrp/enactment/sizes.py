"""Needs of instances and capacities of hosts as arrays, shared by programs and packing rules."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable
from dataclasses import dataclass

import numpy as np

from edrp.core.arrays import Bools, Floats, Ints
from edrp.core.document import named_resources
from edrp.core.tolerances import LIMIT_SLACK
from edrp.enactment.containers import ContainerOperator, HostType

UNNEEDED = 100_000
"""Number of instances on one host that counts as unlimited: those that need no resources."""

MAX_CONFINED = 64
"""Most sets of host types for which resources are counted by themselves."""


@dataclass(frozen=True, slots=True)
class Sizes:
    """Operators and host types by number: O operators, K host types, R resources.

    Attributes
    ----------
    needs, capacity : shapes (O, R) of one instance and (K, R) of an empty host.
    limit : shape (K,): maximum number of hosts of a type, infinity for any number.
    room : shape (K, O): instances of one operator alone that fit on an empty host, 0 where it may not run there.
    apart : shape (O, O): whether two operators may not share a host.
    """

    operators: tuple[ContainerOperator, ...]
    types: tuple[HostType, ...]
    resources: tuple[str, ...]
    needs: Floats
    capacity: Floats
    limit: Floats
    room: Ints
    apart: Bools

    @classmethod
    def of(
        cls, operators: Iterable[ContainerOperator], types: Iterable[HostType], apart: Iterable[Collection[str]] = ()
    ) -> Sizes:
        """Make the arrays from documents, and groups of operators of which no two may share a host."""
        operators, types = tuple(operators), tuple(types)
        described = [named_resources(operator.resources) for operator in operators]
        names = tuple(dict.fromkeys(name for amounts in (*(t.capacity for t in types), *described) for name in amounts))
        needs = np.array([[amounts.get(name, 0.0) for name in names] for amounts in described]).reshape(
            len(operators), len(names)
        )
        capacity = np.array([[host_type.capacity.get(name, 0.0) for name in names] for host_type in types]).reshape(
            len(types), len(names)
        )
        limit = np.array([math.inf if host_type.limit is None else host_type.limit for host_type in types])
        allowed = np.array([[o.candidates is None or t.name in o.candidates for o in operators] for t in types])
        room = np.array([fitting(capacity, capacity, need) for need in needs]).T * allowed
        return cls(operators, types, names, needs, capacity, limit, room, _pairs(operators, apart))

    def barred(self, operator: int, counts: Ints) -> Bools:
        """Whether hosts with these instances, shape (…, O), may not take an operator for the sake of others on them."""
        return np.asarray((counts[..., self.apart[operator]] > 0).any(axis=-1))

    def confined(self, available: Bools) -> list[tuple[Bools, Ints]]:
        """Sets of the available host types (K,), all of them first, with the operators that run on no others.

        Resources suffice for instances cut into pieces where they do in each of these sets (Hall's condition): unions of what
        single operators may use are enough. At most `MAX_CONFINED` sets.
        """
        everywhere = tuple(available.tolist())
        runs = (self.room > 0) & available[:, None]
        sets = [everywhere]
        for each in sorted({tuple(column) for column in runs.T.tolist()} - {everywhere}):
            unions = [tuple(a or b for a, b in zip(each, other, strict=True)) for other in sets[1:]]
            sets += [union for union in dict.fromkeys([each, *unions]) if union not in sets][: MAX_CONFINED - len(sets)]
        return [(kinds, np.flatnonzero(~runs[~kinds].any(axis=0))) for kinds in map(np.array, sets)]

    @property
    def operator_names(self) -> tuple[str, ...]:
        """Names of the operators."""
        return tuple(operator.name for operator in self.operators)

    @property
    def type_names(self) -> tuple[str, ...]:
        """Names of the host types."""
        return tuple(host_type.name for host_type in self.types)


def _pairs(operators: tuple[ContainerOperator, ...], groups: Iterable[Collection[str]]) -> Bools:
    """Which two operators are in a group together."""
    apart = np.zeros((len(operators), len(operators)), np.bool_)
    for group in groups:
        named = np.array([operator.name in group for operator in operators])
        apart |= named[:, None] & named
    np.fill_diagonal(apart, val=False)
    return apart


def fitting(free: Floats, capacity: Floats, need: Floats) -> Ints:
    """Number of instances that fit on each host, shape (hosts,).

    Parameters
    ----------
    free, capacity : shape (hosts, resources)
        Free resources, and those of an empty host, against which rounding is judged.
    need : shape (resources,)
        Resources of one instance.
    """
    used = need > 0
    ratio = (free[:, used] + LIMIT_SLACK * capacity[:, used]) / need[used]
    count: Ints = np.clip(np.floor(ratio.min(axis=1, initial=UNNEEDED)), 0, UNNEEDED).astype(np.int64)
    return count
