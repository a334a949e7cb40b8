"""Hosts with their units and instances, from units bought in each period and contents of hosts of each type, and back."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from heapq import heappop, heappush
from itertools import count

import numpy as np

from edrp.core.arrays import Ints
from edrp.enactment.lease_plan import cheapest_units
from edrp.enactment.leasing import LeasingProblem, PaidHost, PlannedHost
from edrp.formulations.enactment.exchanges import pack_by_exchanges
from edrp.formulations.enactment.leasing_area import AreaPlan
from edrp.formulations.enactment.leasing_arrays import LeasingArrays
from edrp.formulations.enactment.packing import Contents, pack, pack_openly

Arrangement = list[list[Contents]]
"""Contents of the hosts, by host type, then by period."""


def planned_hosts(
    problem: LeasingProblem, arrays: LeasingArrays, bought: Ints, arrangement: Arrangement
) -> tuple[PlannedHost, ...]:
    """Leased hosts, from units bought (K, T) and the contents of hosts, the fullest first in each period.

    A unit prolongs a host whose last one ends where it begins, else it begins another lease.
    """
    hosts: list[PlannedHost] = []
    taken = {host.name for host in problem.leased}
    names = (fresh for fresh in map("host-{}".format, count(1)) if fresh not in taken)
    for kind, name in enumerate(arrays.sizes.type_names):
        leases = _chained([host for host in problem.leased if host.type == name], bought[kind], int(arrays.unit[kind]), names)
        paid = [problem.paid(PlannedHost(name=n, type=name, first=f, units=u, instances=())) for n, f, u in leases]
        contents: list[list[dict[str, int]]] = [[{} for _ in problem.forecast] for _ in leases]
        for period, rows in enumerate(arrangement[kind]):
            paid_hosts = [index for index in range(len(leases)) if period in paid[index]]
            for index, row in zip(paid_hosts, rows, strict=False):
                contents[index][period] = {o: int(n) for o, n in zip(arrays.sizes.operator_names, row, strict=True) if n}
        hosts += (
            PlannedHost.model_construct(name=n, type=name, first=first, units=units, instances=tuple(inside))
            for (n, first, units), inside in zip(leases, contents, strict=True)
            if units or any(inside)
        )
    return tuple(hosts)


def units_and_contents(
    problem: LeasingProblem, arrays: LeasingArrays, decision: Sequence[PlannedHost]
) -> tuple[Ints, Arrangement]:
    """The inverse: units bought in each period (K, T), and the contents of the hosts that are not empty."""
    kinds, periods = arrays.paid.shape
    bought = np.zeros((kinds, periods), np.int64)
    contents: list[list[list[list[int]]]] = [[[] for _ in range(periods)] for _ in range(kinds)]
    for host in decision:
        kind = arrays.sizes.type_names.index(host.type)
        for unit in range(host.units):
            begins = host.first + unit * int(arrays.unit[kind])
            if begins < periods:
                bought[kind, begins] += 1
        for period, inside in enumerate(host.instances):
            if any(inside.values()):
                contents[kind][period].append([inside.get(name, 0) for name in arrays.sizes.operator_names])
    width = len(arrays.sizes.operators)
    return bought, [[np.array(rows, np.int64).reshape(len(rows), width) for rows in periods_] for periods_ in contents]


def packed_plan(problem: LeasingProblem, arrays: LeasingArrays, ranked: Sequence[int]) -> tuple[Ints, Arrangement] | None:
    """The fewest instances of each period packed by best fit, and the cheapest units for the hosts that this needs.

    Hosts are added of the first type in `ranked` that will do; None where limits are in the way.
    """
    kinds = arrays.unit.size
    arrangement: Arrangement = [[] for _ in range(kinds)]
    for counts in arrays.min_counts:
        packed = pack_openly(arrays.sizes, counts.tolist(), ranked)
        if packed is None:
            return None
        types, contents = np.array(packed[0], np.int64), packed[1]
        for kind in range(kinds):
            arrangement[kind].append(contents[types == kind])
    bought = []
    for kind, name in enumerate(arrays.sizes.type_names):
        paid = [host.paid_periods for host in problem.leased if host.type == name]
        bought.append(cheapest_units([len(rows) for rows in arrangement[kind]], int(arrays.unit[kind]), paid))
    return np.array(bought, np.int64), arrangement


def packed_area_plan(arrays: LeasingArrays, plan: AreaPlan) -> tuple[Ints, Arrangement] | None:
    """The units of a plan in whole numbers, and in each period the instances that matter packed into its hosts.

    None where those of a period find no arrangement.
    """
    bought, leased = (np.rint(numbers).astype(np.int64) for numbers in (plan.bought, plan.leased))
    kinds, arrangement = np.arange(arrays.unit.size), [[] for _ in arrays.unit]  # type: tuple[Ints, Arrangement]
    cached: dict[bytes, Contents | None] = {}
    for counts, hosts in zip(_that_matter(arrays, np.rint(plan.instances).astype(np.int64)), leased.T, strict=True):
        types = np.repeat(kinds, hosts)
        key = counts.tobytes() + hosts.tobytes()
        if key not in cached:
            packed = pack(arrays.sizes, counts.tolist(), types.tolist())
            cached[key] = pack_by_exchanges(arrays.sizes, counts, types.tolist()) if packed is None else packed
        contents = cached[key]
        if contents is None:
            return None
        for kind in kinds:
            arrangement[kind].append(contents[types == kind])
    return bought, arrangement


def _that_matter(arrays: LeasingArrays, counts: Ints) -> Ints:
    """Instances (T, O) without those that serve nothing; what is left unserved stays the same."""
    waiting, useful = np.zeros(arrays.served.size), np.zeros_like(counts)
    for period, (arriving, fewest) in enumerate(zip(arrays.arriving, arrays.min_counts, strict=True)):
        enough = np.ceil((waiting + arriving) / arrays.served).astype(np.int64)
        useful[period] = np.minimum(counts[period], np.maximum(fewest, enough))
        waiting = np.maximum(0.0, waiting + arriving - useful[period] * arrays.served)
    return useful


def _chained(leased: list[PaidHost], bought: Ints, length: int, names: Iterator[str]) -> list[tuple[str, int, int]]:
    """Hosts of one type as (name, first, units), those that are leased already first."""
    leases = [_Chain(host.name, host.paid_periods) for host in leased]
    # Indices of leases by the period in which their paid time ends; the first lease is prolonged first.
    ending: defaultdict[int, list[int]] = defaultdict(list)
    for index, lease in enumerate(leases):
        ending[lease.first].append(index)
    for period, units in enumerate(bought.tolist()):
        for _ in range(units):
            if ending[period]:
                index = heappop(ending[period])
            else:
                index = len(leases)
                leases.append(_Chain(next(names), period))
            leases[index].units += 1
            heappush(ending[period + length], index)
    return [(lease.name, lease.first, lease.units) for lease in leases]


@dataclass(slots=True)
class _Chain:
    """A host while units are chained: its first unpaid period, and its units."""

    name: str
    first: int
    units: int = 0
