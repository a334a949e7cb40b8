"""Leasing problems as arrays: periods, operators, host types and resources by number."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from edrp.core.arrays import Floats, Ints
from edrp.enactment.leasing import LeasingProblem
from edrp.enactment.sizes import Sizes
from edrp.formulations.enactment.packing import pack_openly


@dataclass(frozen=True, slots=True)
class LeasingArrays:
    """A leasing problem as arrays, of T periods, O operators and K host types.

    Attributes
    ----------
    sizes : needs and capacities.
    unit : shape (K,): periods that a billing time unit (BTU) lasts.
    charge : shape (K, T): money for a unit that begins in a period.
    paid : shape (K, T): hosts that are paid already.
    min_counts, max_counts : shape (T, O): instances that the load needs, and instances beyond which nothing is gained or none are
        allowed.
    allowed : shape (O,): most instances of each operator.
    arriving : shape (T, O): items of each period; those that wait at the start are in the first.
    served : shape (O,): items that an instance serves in a period.
    late : penalty of an item that a period leaves unserved.
    """

    sizes: Sizes
    unit: Ints
    charge: Floats
    paid: Ints
    min_counts: Ints
    max_counts: Ints
    allowed: Floats
    arriving: Floats
    served: Floats
    late: float

    @property
    def waits(self) -> Ints:
        """Operators of which items are left unserved, at a penalty, where only the fewest instances run."""
        late_items = self.late * self.unserved(self.min_counts).sum(axis=0)
        return np.flatnonzero(late_items > 0)

    def unserved(self, counts: Floats | Ints) -> Floats:
        """Items left at the end of each period, for numbers of instances of the same shape (T, O)."""
        waiting, unserved = np.zeros(len(self.served)), np.zeros(self.arriving.shape)
        for period, (arriving, count) in enumerate(zip(self.arriving, counts, strict=True)):
            waiting = unserved[period] = np.maximum(0.0, waiting + arriving - count * self.served)
        return unserved


def leasing_arrays(problem: LeasingProblem) -> LeasingArrays:
    """The problem as arrays."""
    application, forecast = problem.application, np.array(problem.forecast)
    sizes = Sizes.of(application.operators, problem.host_types)
    periods = np.arange(forecast.size)
    unit = np.array([problem.unit_periods(host_type.name) for host_type in problem.host_types], np.int64)
    price = np.array([host_type.price for host_type in problem.host_types])
    share = np.minimum(1.0, (forecast.size - periods) / unit[:, None]) if problem.prorate else 1.0
    paid = np.zeros((len(unit), forecast.size), np.int64)
    for host in problem.leased:
        paid[sizes.type_names.index(host.type), : host.paid_periods] += 1
    fewest = np.array([list(counts.values()) for counts in problem.minimum_instances], np.int64)
    arriving = np.outer(forecast, [application.load(name) * problem.period for name in sizes.operator_names])
    arriving[0] += [problem.queues.get(name, 0.0) for name in sizes.operator_names]
    served = np.array([problem.period / operator.occupied for operator in application.operators])
    charge = np.broadcast_to(price[:, None] * share, paid.shape)
    allowed = np.array([float(operator.allowed_instances) for operator in application.operators])
    arrays = LeasingArrays(sizes, unit, charge, paid, fewest, fewest, allowed, arriving, served, problem.penalty)
    if problem.penalty == 0:
        return arrays
    # The fewest instances leave the most items; the instances that clear those in one period are enough.
    unserved = arrays.unserved(fewest)
    before = np.vstack([np.zeros(served.size), unserved[:-1]])
    enough = np.minimum(np.ceil((before + arriving) / served), allowed)
    return replace(arrays, max_counts=np.maximum(fewest, enough).astype(np.int64))


def enough_hosts(arrays: LeasingArrays) -> Ints:
    """Number of hosts of each type that always suffices for the instances on the type, shape (K, T).

    It is the number that best fit needs for the most instances that can be of use: any instances on hosts of the type are a
    part of that packing.
    """
    unlimited = replace(arrays.sizes, limit=np.full(arrays.unit.size, math.inf))
    cached: dict[tuple[int, bytes], int] = {}
    hosts = np.zeros(arrays.paid.shape, np.int64)
    for kind in range(arrays.unit.size):
        for period, useful in enumerate(arrays.max_counts):
            counts = np.where(unlimited.room[kind] > 0, useful, 0)
            key = kind, counts.tobytes()
            if key not in cached:
                packed = pack_openly(unlimited, counts.tolist(), [kind])
                cached[key] = 0 if packed is None else len(packed[0])
            hosts[kind, period] = cached[key]
    return np.minimum(hosts, arrays.sizes.limit[:, None]).astype(np.int64)


def useful_units(hosts: Ints, unit: Ints) -> Floats:
    """Most units worth buying at the beginning of each period, shape (K, T): one for each host that carries something later.

    Parameters
    ----------
    hosts
        Hosts of each type that suffice, shape (K, T).
    unit
        Periods that a unit of each type lasts, shape (K,).
    """
    useful = np.zeros(hosts.shape)
    for kind, length in enumerate(unit.tolist()):
        for period in range(hosts.shape[1]):
            useful[kind, period] = hosts[kind, period : period + length].max()
    return useful
