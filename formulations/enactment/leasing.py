"""Leasing over several periods as a program, exact: "leases".

The units bought determine the number of hosts in each period. Hosts of a type are equal and instances move between periods
free of charge, so that each period only asks whether its instances fit into that many hosts: instances by host and period.

Lease plans: the periods in which to lease hosts of a type, from the number of hosts that each period needs.

A billing time unit (BTU) lasts a whole number of periods and is paid in full. The matrix of which unit covers which period is
an interval matrix, so that whole units cost no more than fractional ones would, and buying as late as possible is optimal.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from heapq import heappop, heappush
from itertools import count
from time import perf_counter
from typing import NamedTuple

import numpy as np

from edrp.core.arrays import Floats, Ints, places_within
from edrp.core.budget import refuse_beyond_memory, units_left
from edrp.core.problem import derived
from edrp.core.program import Program
from edrp.enactment.leasing import LeasingProblem, PaidHost, PlannedHost
from edrp.formulations.enactment.aggregate import add_host_rows
from edrp.formulations.enactment.leasing_area import (
    AreaPlan,
    LeasingArrays,
    add_area_rows,
    add_lease_columns,
    add_unserved_rows,
    area_plan,
    covering,
    enough_hosts,
    lease_objective,
    leasing_arrays,
    useful_units,
)
from edrp.formulations.enactment.packing import Contents, pack, pack_by_exchanges, pack_openly
from edrp.formulations.formulation import Formulation, best_feasible


def cheapest_units(needed: Sequence[int], unit_periods: int, paid: Sequence[int] = ()) -> tuple[int, ...]:
    """Units to buy in each period, as late as possible, to cover the needed hosts at least cost.

    In the first period that lacks a host some unit must be bought that covers it. The one that begins there covers all
    that an earlier one would still cover, and never costs more: so the plan is optimal, in one pass.

    Parameters
    ----------
    unit_periods
        Periods that a unit lasts, at least one.
    paid
        For each host that is leased already, the number of first periods that are paid.

    Examples
    --------
    Two hosts are needed for three periods, then three; one is paid for two periods more:

    >>> cheapest_units([2, 2, 2, 3, 3], unit_periods=3, paid=[2])
    (1, 0, 1, 2, 0)
    """
    bought: list[int] = []
    for period, hosts in enumerate(needed):
        leased = sum(host > period for host in paid) + sum(bought[max(0, period - unit_periods + 1) :])
        bought.append(max(0, hosts - leased))
    return tuple(bought)


Arrangement = list[list[Contents]]
"""Contents of the hosts, by host type, then by period."""


def planned_hosts(
    problem: LeasingProblem, arrays: LeasingArrays, bought: Ints, arrangement: Arrangement
) -> tuple[PlannedHost, ...]:
    """Leased hosts, from units bought (K, T) and the contents of hosts, the fullest first in each period.

    A unit prolongs a host whose last one ends where it begins, else it begins another lease.
    """
    hosts: list[PlannedHost] = []
    nothing: dict[str, int] = {}  # one for most periods of most hosts
    taken = {host.name for host in problem.leased}
    names = (fresh for fresh in map("host-{}".format, count(1)) if fresh not in taken)
    for kind, name in enumerate(arrays.sizes.type_names):
        leases = _chained([host for host in problem.leased if host.type == name], bought[kind], int(arrays.unit[kind]), names)
        paid = [problem.paid(PlannedHost(name=n, type=name, first=f, units=u, instances=())) for n, f, u in leases]
        contents: list[list[dict[str, int]]] = [[nothing] * len(problem.forecast) for _ in leases]
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


def units_and_contents(arrays: LeasingArrays, decision: Sequence[PlannedHost]) -> tuple[Ints, Arrangement]:
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


BOUND = "bound it by edrp.formulations.enactment.leasing_area.area_relaxation"

BYTES_PER_COLUMN = 3000
"""Memory of a column with its entries, most of it in the solver."""


AREA_SHARE = 0.3
"""Share of the work that is left for the plan with resources in aggregate; it mostly takes a hundredth of a unit."""


class Aggregate(NamedTuple):
    """Leases where instances may be cut into pieces over hosts, and what becomes of them.

    Attributes
    ----------
    plan : the cheapest one.
    packed : its units, and contents of hosts without any cut; None where none were found.
    """

    arrays: LeasingArrays
    plan: AreaPlan
    packed: tuple[Ints, Arrangement] | None


@derived
def leased_in_aggregate(problem: LeasingProblem) -> Aggregate:
    """The cheapest leases with resources in aggregate, and their hosts packed."""
    arrays = leasing_arrays(problem)
    plan = area_plan(arrays, whole=True, work_limit=AREA_SHARE * units_left())
    return Aggregate(arrays, plan, None if plan.bound is None else packed_area_plan(arrays, plan))


def bound_and_leases(problem: LeasingProblem) -> tuple[float | None, tuple[PlannedHost, ...] | None]:
    """What the plan with resources in aggregate costs at least, and the plan itself where its hosts could be packed."""
    arrays, plan, packed = leased_in_aggregate(problem)
    return plan.bound, None if packed is None else planned_hosts(problem, arrays, *packed)


class Slots(NamedTuple):
    """Hosts that may carry something, each in one period; arrays of shape (S,).

    Attributes
    ----------
    period, kind : when, and of which type.
    place : number among those of this period and type.
    """

    period: Ints
    kind: Ints
    place: Ints


@dataclass(frozen=True, slots=True)
class LeasingFormulation(Formulation):
    """A leasing problem formulated as a program.

    Attributes
    ----------
    slots : host type, period and number of each row of the block `instances`.
    aggregate : the leases with resources in aggregate.

    Examples
    --------
    Two periods of little load around one of much, with units of two periods; a row forbids to buy at the start:

    >>> problem = LeasingProblem(
    ...     application={"operators": [{"name": "f", "processing_duration": 1.0, "external_rate": 1.0, "resources": {"cpu": 1}}]},
    ...     host_types=[{"name": "small", "resources": {"cpu": 2}, "price": 1.0, "billing_time": 600.0}],
    ...     period=300.0, forecast=[2, 4, 2], leased=[{"name": "mine", "type": "small", "paid_periods": 1}],
    ... )
    >>> formulation = formulate_leasing(problem)
    >>> from edrp.formulations.methods import solve_formulation
    >>> from edrp.core.program import Linear
    >>> formulation.program.add_row("not at once", Linear.of(formulation.program["bought"][:, 0]), upper=0)
    >>> solution = solve_formulation(formulation)
    >>> solution.objective, [(host.name, host.first, host.units) for host in solution.hosts]
    (2.0, [('mine', 1, 1), ('host-1', 1, 1)])
    """

    arrays: LeasingArrays
    slots: Slots
    aggregate: Aggregate

    @property
    def bound(self) -> float | None:
        """What the plan with resources in aggregate costs at least."""
        return self.aggregate.plan.bound

    @property
    def current(self) -> tuple[PlannedHost, ...] | None:
        """The plan with resources in aggregate where it was packed; it is optimal.

        Else the best of a few plans that pack the fewest instances by best fit, where one keeps to all limits.
        """
        if self.aggregate.packed is not None:
            return planned_hosts(self.problem, self.arrays, *self.aggregate.packed)
        plans = []
        for first in range(self.arrays.unit.size):
            ranked = [first, *(kind for kind in range(self.arrays.unit.size) if kind != first)]
            packed = packed_plan(self.problem, self.arrays, ranked)
            if packed is not None:
                plans.append(planned_hosts(self.problem, self.arrays, *packed))
        return best_feasible(self.problem, plans)

    @property
    def limits(self) -> Mapping[str, str]:
        """Instances that the load needs, those that are allowed, and limits of host types."""
        return {"fewest": "instances that the load needs", "most": "max_instances", "limit": "limits of the host types"}

    def decode(self, values: Floats) -> tuple[PlannedHost, ...]:
        """Leased hosts, their units, and their instances in each period."""
        bought = np.rint(values[self.program["bought"]]).astype(np.int64)
        return planned_hosts(self.problem, self.arrays, bought, self._held(values))

    def encode(self, decision: Sequence[PlannedHost]) -> Floats | None:
        """A starting point; None where more hosts carry something than ever need to."""
        program, slots = self.program, self.slots
        bought, host_contents = units_and_contents(self.arrays, decision)
        start = np.full(program.columns, np.nan)
        start[program["bought"]] = bought
        start[program["instances"]] = start[program["open"]] = 0.0
        start[program["count"]] = sum(np.array([contents.sum(axis=0) for contents in periods]) for periods in host_contents)
        for kind, periods in enumerate(host_contents):
            for period, contents in enumerate(periods):
                mine = np.flatnonzero((slots.kind == kind) & (slots.period == period))
                if len(contents) > mine.size:
                    return None
                start[program["instances"][mine[: len(contents)]]] = contents
                start[program["open"][mine[: len(contents)]]] = 1.0
        return start

    def objective_at(self, values: Floats, decision: Sequence[PlannedHost]) -> float:
        """Price of the units, and penalties by the counts of the program, without a solver's tolerance on the items left."""
        bought, counts = (np.rint(values[self.program[name]]) for name in ("bought", "count"))
        late = self.arrays.late * self.arrays.unserved(counts).sum()
        return float((self.arrays.charge * bought).sum() + late)

    def _held(self, values: Floats) -> Arrangement:
        contents = np.rint(values[self.program["instances"]]).astype(np.int64)
        used = contents.any(axis=1)
        kinds, periods = self.arrays.paid.shape
        return [
            [contents[used & (self.slots.kind == kind) & (self.slots.period == period)] for period in range(periods)]
            for kind in range(kinds)
        ]


def formulate_leasing(problem: LeasingProblem, program: str = "leases") -> LeasingFormulation:
    """Formulate leasing over several periods as the program "leases".

    Raises
    ------
    ProblemTooLargeError
        When the program would not fit into memory; `area_relaxation` bounds and plans long horizons.
    """
    started = perf_counter()
    aggregate = leased_in_aggregate(problem)
    arrays = aggregate.arrays
    enough = enough_hosts(arrays)
    periods, operators = arrays.min_counts.shape
    what = f"{int(enough.sum())} hosts in {periods} periods with {operators} operators"
    refuse_beyond_memory(float(enough.sum()) * operators * BYTES_PER_COLUMN, what, BOUND, ("first-fit-leases",))
    kind, period = (part.ravel() for part in np.indices(enough.shape))
    repeats = enough.ravel()
    slots = Slots(np.repeat(period, repeats), np.repeat(kind, repeats), places_within(repeats))
    built = Program()
    add_lease_columns(built, arrays, whole=True, units=useful_units(enough, arrays.unit))
    _add_slots(built, arrays, slots)
    opened = built["open"][:, None]
    add_host_rows(built, arrays.sizes, slots.kind, arrays.max_counts[slots.period], opened, np.ones(opened.shape))
    add_area_rows(built, arrays)
    add_unserved_rows(built, arrays)
    objective = lease_objective(built, arrays)
    built.minimise(objective)
    return LeasingFormulation(problem, program, built, objective, perf_counter() - started, arrays, slots, aggregate)


def _add_slots(program: Program, arrays: LeasingArrays, slots: Slots) -> None:
    """Columns `open` (S,) and `instances` (S, O); rows `hosts`: no more open than leased; rows `total`: counts by operator."""
    kinds, periods = arrays.paid.shape
    opened = program.add_columns("open", slots.kind.size, upper=1.0, integer=True)
    room = np.minimum(arrays.sizes.room[slots.kind], arrays.max_counts[slots.period])
    instances = program.add_columns("instances", room.shape, upper=room, integer=True)
    rows = slots.kind * periods + slots.period
    covered, bought = covering(arrays.unit, periods)
    entries = [(rows, opened, 1.0), (covered, program["bought"].ravel()[bought], -1.0)]
    program.add_rows("hosts", kinds * periods, entries, upper=arrays.paid.ravel())
    count = program["count"]
    totals = slots.period[:, None] * count.shape[1] + np.arange(count.shape[1])
    entries = [(totals, instances, 1.0), (np.arange(count.size), count.ravel(), -1.0)]
    program.add_rows("total", count.size, entries, lower=0.0, upper=0.0)
