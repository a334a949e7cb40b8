"""Instances packed into given hosts by best fit, and hosts filled up: where proofs of enactment start."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from edrp.core.arrays import Floats, Ints
from edrp.core.budget import look, spend
from edrp.core.tolerances import LIMIT_SLACK
from edrp.enactment.sizes import UNNEEDED, Sizes
from edrp.enactment.snapshot import EnactmentProblem


@dataclass(frozen=True, slots=True)
class EnactmentArrays:
    """An enactment problem as arrays.

    Attributes
    ----------
    sizes : needs and capacities.
    price : shape (K,): weighted price of a host.
    filling : weight of the free share of each resource.
    late : weighted penalty of an item.
    min_counts, max_counts : shape (O,): instances that the load needs, and instances beyond which nothing can be gained or none
        are allowed.
    arriving, served : shape (O,): items within the horizon, queue included, and items that one instance serves in it.
    """

    sizes: Sizes
    price: Floats
    filling: float
    late: float
    min_counts: Ints
    max_counts: Floats
    arriving: Floats
    served: Floats

    @property
    def always_gains(self) -> bool:
        """Whether the number of instances and hosts is unbounded: no field of the document limits it."""
        fills = self.filling * self.sizes.needs.sum(axis=1) > 0
        unlimited = np.array([operator.max_instances is None for operator in self.sizes.operators])
        return bool((fills & unlimited).any())

    def violations(self, counts: Floats | Ints) -> Floats:
        """Items that are late, for numbers of instances of shape (…, O)."""
        return np.maximum(self.arriving - self.served * counts, 0.0)


def enactment_arrays(problem: EnactmentProblem) -> EnactmentArrays:
    """The problem as arrays."""
    application, weights = problem.application, problem.weights
    sizes = Sizes.of(application.operators, problem.host_types, problem.apart)
    fewest = np.array(list(problem.minimum_instances.values()), np.int64)
    arriving = [problem.queues.get(name, 0.0) + application.load(name) * problem.horizon for name in sizes.operator_names]
    served = [problem.horizon / operator.occupied for operator in application.operators]
    arrays = EnactmentArrays(
        sizes,
        weights.host_cost * np.array([host_type.price for host_type in problem.host_types]),
        weights.free_resources,
        weights.violations * problem.penalty,
        fewest,
        np.array([float(operator.allowed_instances) for operator in application.operators]),
        np.array(arriving),
        np.array(served),
    )
    fills = arrays.filling * sizes.needs.sum(axis=1) > 0
    in_time = np.ceil(arrays.arriving / arrays.served) if arrays.late > 0 else np.zeros(len(fewest))
    arrays.max_counts[~fills] = np.minimum(arrays.max_counts, np.maximum(fewest, in_time))[~fills]
    return arrays


ENTRY_WORK = 2e-8
"""Units of work for a resource of a host when a place for an instance is looked for."""

Contents = Ints
"""Shape (hosts, O): instances of each operator on each host."""


def pack(sizes: Sizes, counts: Sequence[int], types: Sequence[int]) -> Contents | None:
    """Pack instances of each operator into hosts of the given types by best fit; None where some find no room.

    Operators that few types can run go first, then the largest; each instance goes where least is left.
    """
    packed = pack_openly(sizes, counts, (), types)
    return None if packed is None else packed[1]


def pack_openly(
    sizes: Sizes, counts: Sequence[int], ranked: Sequence[int], host_types: Sequence[int] = ()
) -> tuple[list[int], Contents] | None:
    """Pack into hosts of given types, adding one of the first type in `ranked` that may run the instance where none has room.

    Returns
    -------
    tuple
        Types of the hosts, and their contents; None where limits forbid another host.
    """
    remaining, types = sizes.limit.copy(), list(host_types)
    contents, free = np.zeros((len(types), len(sizes.operators)), np.int64), _with_slack(sizes, types)
    for operator in packing_order(sizes):
        left = int(counts[operator])
        while left:
            look("a first packing")
            host = _tightest(sizes, types, free, contents, operator)
            if host is None:
                kind = next((k for k in ranked if remaining[k] >= 1 and sizes.room[k, operator]), None)
                if kind is None:
                    return None
                remaining[kind] -= 1
                types.append(kind)
                contents = np.vstack([contents, np.zeros(contents.shape[1], np.int64)])
                free = np.vstack([free, _with_slack(sizes, [kind])])
                host = len(types) - 1
            # It stays the tightest one until it is full.
            taken = min(left, _repeats(free[host], sizes.needs[operator]))
            contents[host, operator] += taken
            free[host] -= taken * sizes.needs[operator]
            left -= taken
    return types, contents


def _repeats(free: Floats, needs: Floats) -> int:
    """Number of instances that fit into what is free, at least one."""
    used = needs > 0
    count = math.floor(min((free[used] / needs[used]).tolist(), default=UNNEEDED))
    return max(1, count if (count * needs <= free).all() else count - 1)


def fill(arrays: EnactmentArrays, types: Sequence[int], contents: Contents) -> Contents:
    """Add the instance that gains most where it fits tightest, as long as one gains."""
    sizes, contents = arrays.sizes, contents.copy()
    free = _with_slack(sizes, types) - contents @ sizes.needs
    reward = rewards(arrays, sizes.capacity[list(types)].sum(axis=0))
    counts = contents.sum(axis=0)
    possible = np.ones(len(counts), bool)
    while True:
        look("a first packing")
        gain = reward + arrays.late * (arrays.violations(counts) - arrays.violations(counts + 1))
        gain[~possible | (counts >= arrays.max_counts)] = 0.0
        operator = int(gain.argmax())
        if gain[operator] <= 0:
            return contents
        host = _tightest(sizes, types, free, contents, operator)
        if host is None:
            possible[operator] = False
            continue
        contents[host, operator] += 1
        counts[operator] += 1
        free[host] -= sizes.needs[operator]


def rewards(arrays: EnactmentArrays, offered: Floats) -> Floats:
    """Reduction of the weighted free shares (eq. 1) by one instance of each operator, shape (O,), on hosts that offer (R,)."""
    return arrays.filling * (arrays.sizes.needs @ np.divide(1.0, offered, out=np.zeros_like(offered), where=offered > 0))


def packing_order(sizes: Sizes) -> list[int]:
    """Operators in the order in which they are packed."""
    largest = sizes.capacity.max(axis=0, initial=0.0)
    shares = sizes.needs / np.where(largest > 0, largest, 1.0)
    runs_on = (sizes.room > 0).sum(axis=0)
    return sorted(range(len(runs_on)), key=lambda o: (runs_on[o], -shares[o].max(initial=0.0), o))


def _with_slack(sizes: Sizes, types: Sequence[int]) -> Floats:
    return sizes.capacity[list(types)] * (1 + LIMIT_SLACK)


def _tightest(sizes: Sizes, types: Sequence[int], free: Floats, contents: Contents, operator: int) -> int | None:
    """The host that may take an instance and has least free, as the sum of the shares of its resources."""
    if not types:
        return None
    spend(ENTRY_WORK * free.size)
    kinds = np.array(types)
    fits = (free >= sizes.needs[operator]).all(axis=1) & (sizes.room[kinds, operator] > 0)
    if sizes.apart[operator].any():
        fits &= ~sizes.barred(operator, contents)
    if not fits.any():
        return None
    capacity = sizes.capacity[kinds]
    free_share = np.divide(free, capacity, out=np.zeros_like(free), where=capacity > 0).sum(axis=1)
    return int(np.where(fits, free_share, np.inf).argmin())
