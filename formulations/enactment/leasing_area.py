"""Leasing with resources in aggregate: rows that the program of leases shares, a lower bound, and a plan for long horizons."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from edrp.backends.solving import solve_program
from edrp.core.arrays import Floats, Ints
from edrp.core.program import Linear, Program
from edrp.core.tolerances import LIMIT_SLACK
from edrp.enactment.containers import Sizes
from edrp.enactment.leasing import LeasingProblem
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


def covering(unit: Ints, periods: int) -> tuple[Ints, Ints]:
    """Pairs (type and period, type and period in which a unit begins that covers it), both as flat indices of (K, T).

    >>> [each.tolist() for each in covering(np.array([2]), 3)]
    [[0, 1, 1, 2, 2], [0, 1, 0, 2, 1]]
    """
    pairs = []
    for kind, length in enumerate(np.minimum(unit, periods)):
        period, offset = (part.ravel() for part in np.indices((periods, length)))
        inside = offset <= period
        pairs.append(kind * periods + np.array([period, period - offset])[:, inside])
    covered, begins = np.concatenate(pairs, axis=1)
    return covered, begins


def add_lease_columns(program: Program, arrays: LeasingArrays, *, whole: bool, units: Floats | float = np.inf) -> None:
    """Columns `bought` (K, T) and `count` (T, O); rows `fewest` and `most` of the counts, rows `limit` of the host types.

    Relaxed, counts and units are not whole. At most `units` are bought, shape (K, T).
    """
    kinds, periods = arrays.paid.shape
    bought = program.add_columns("bought", (kinds, periods), upper=units, integer=whole)
    count = program.add_columns("count", arrays.min_counts.shape, upper=arrays.max_counts, integer=whole)
    cells = np.arange(count.size)
    program.add_rows("fewest", count.size, [(cells, count.ravel(), 1.0)], lower=arrays.min_counts.ravel())
    program.add_rows("most", count.size, [(cells, count.ravel(), 1.0)], upper=np.tile(arrays.allowed, periods))
    limited = np.isfinite(arrays.sizes.limit)
    covered, begins = covering(arrays.unit, arrays.paid.shape[1])
    limits = np.where(limited, arrays.sizes.limit, 0.0)[:, None] - arrays.paid
    limits[~limited] = np.inf
    program.add_rows("limit", kinds * periods, [(covered, bought.ravel()[begins], 1.0)], upper=limits.ravel())


def add_area_rows(program: Program, arrays: LeasingArrays) -> None:
    """Rows `area`: all instances of a period use no more of a resource than all hosts offer; rows `whole`: whole hosts.

    The second round up the hosts that the fewest instances need by the scarcest resource, were all of the largest type. There
    are more of both for operators that only some types may run.
    """
    sizes, periods = arrays.sizes, arrays.paid.shape[1]
    count, bought = program["count"], program["bought"].ravel()
    covered, begins = covering(arrays.unit, periods)
    kind, period = covered // periods, covered % periods
    for number, (kinds, operators) in enumerate(sizes.confined(np.ones(arrays.unit.size, bool))):
        suffix = f" {number}" if number else ""
        largest = sizes.capacity[kinds].max(axis=0, initial=0.0)
        inside = np.flatnonzero(kinds[kind])
        for resource in np.flatnonzero(largest):
            shares = sizes.needs[operators, resource] / largest[resource]
            offered = np.where(kinds, sizes.capacity[:, resource], 0.0) / largest[resource]
            entries = [
                (np.arange(periods)[:, None], count[:, operators], shares[None, :]),
                (period[inside], bought[begins[inside]], -offered[kind[inside]]),
            ]
            name = f"area {sizes.resources[resource]}{suffix}"
            program.add_rows(name, periods, entries, upper=offered @ arrays.paid + LIMIT_SLACK / 2)
        fewest = arrays.min_counts[:, operators]
        needed = fewest @ sizes.needs[operators]
        shares = np.divide(needed, largest, out=np.zeros_like(needed), where=largest > 0)
        hosts = np.ceil(shares.max(axis=1, initial=0.0) - LIMIT_SLACK * (1 + len(shares)))
        hosts = np.maximum(hosts, fewest.any(axis=1)) - arrays.paid[kinds].sum(axis=0)
        program.add_rows(f"whole{suffix}", periods, [(period[inside], bought[begins[inside]], 1.0)], lower=hosts)


def add_unserved_rows(program: Program, arrays: LeasingArrays) -> None:
    """Columns and rows `unserved`: items left at the end of a period, of operators that the fewest instances keep waiting.

    The fewest instances leave the most items, and no more than that are ever left.
    """
    waits = arrays.waits
    periods = arrays.min_counts.shape[0]
    max_unserved = np.ceil(arrays.unserved(arrays.min_counts)[:, waits]) + 1.0
    unserved = program.add_columns("unserved", (periods, waits.size), upper=max_unserved)
    rows = np.arange(unserved.size).reshape(unserved.shape)
    entries = [(rows, unserved, 1.0), (rows[1:], unserved[:-1], -1.0), (rows, program["count"][:, waits], arrays.served[waits])]
    program.add_rows("unserved", unserved.size, entries, lower=arrays.arriving[:, waits].ravel())


def lease_objective(program: Program, arrays: LeasingArrays) -> Linear:
    """Price of all units, and penalty of the items left unserved in each period."""
    return Linear.of(program["bought"], arrays.charge) + Linear.of(program["unserved"], arrays.late)


@dataclass(frozen=True, slots=True)
class AreaPlan:
    """Leases when instances may be cut into pieces over hosts.

    Attributes
    ----------
    bound : money: no decision costs less. None where limits leave too little of a resource: there is no decision.
    bought : shape (K, T): units that begin in each period; parts of units unless they were asked for whole.
    leased : shape (K, T): hosts of each type in each period.
    instances : shape (T, O): of each operator in each period.
    """

    bound: float | None
    bought: Floats
    leased: Floats
    instances: Floats


def area_relaxation(problem: LeasingProblem, *, whole: bool = False, time_limit: float | None = None) -> AreaPlan:
    """Lease hosts for the resources of all instances in aggregate: a linear program, with a row that rounds up hosts.

    With one type of hosts and no items that wait it is exact but for the packing: units are whole by themselves, since
    which units cover which periods is an interval matrix.

    Parameters
    ----------
    whole
        Whether units and instances must be whole: a sharper bound, by branch and bound.
    time_limit
        Seconds; the bound that is proven by then is valid.

    Examples
    --------
    >>> problem = LeasingProblem(
    ...     application={"operators": [{"name": "f", "processing_duration": 1.0, "external_rate": 1.0, "resources": {"cpu": 1}}]},
    ...     host_types=[{"name": "small", "resources": {"cpu": 2}, "price": 1.0, "billing_time": 600.0}],
    ...     period=300.0, forecast=[2, 4, 2],
    ... )
    >>> plan = area_relaxation(problem)
    >>> plan.bound, plan.leased.min(axis=1)
    (2.0, array([1.]))
    """
    return area_plan(leasing_arrays(problem), whole=whole, time_limit=time_limit)


def area_plan(
    arrays: LeasingArrays, *, whole: bool, time_limit: float | None = None, work_limit: float | None = None
) -> AreaPlan:
    """The plan of `area_relaxation`, within limits of `solve_program`."""
    program = Program()
    add_lease_columns(program, arrays, whole=whole)
    add_area_rows(program, arrays)
    add_unserved_rows(program, arrays)
    program.minimise(lease_objective(program, arrays))
    result = solve_program(program, time_limit=time_limit, work_limit=work_limit)
    if result.values is None:
        nothing = np.zeros(arrays.paid.shape)
        bound = None if result.status == "infeasible" else result.bound
        return AreaPlan(bound, nothing, arrays.paid + nothing, arrays.min_counts.astype(float))
    bought = result.values[program["bought"]]
    return AreaPlan(result.bound, bought, _leased(bought, arrays.unit, arrays.paid), result.values[program["count"]])


def _leased(bought: Floats, unit: Ints, paid: Ints) -> Floats:
    """Hosts in each period, by the units that cover it."""
    total = np.cumsum(bought, axis=1)
    before = np.stack([np.concatenate([np.zeros(length), row])[: row.size] for length, row in zip(unit, total, strict=True)])
    return total - before + paid
