"""Leasing over several periods as a program, exact: "leases".

The units bought determine the number of hosts in each period. Hosts of a type are equal and instances move between periods
free of charge, so that each period only asks whether its instances fit into that many hosts: instances by host and period.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import NamedTuple

import numpy as np

from edrp.core.arrays import Floats, Ints, places_within
from edrp.core.budget import refuse_beyond_memory, units_left
from edrp.core.program import Program
from edrp.enactment.leasing import LeasingProblem, PlannedHost
from edrp.formulations.enactment.aggregate import add_host_rows
from edrp.formulations.enactment.leasing_area import (
    AreaPlan,
    add_area_rows,
    add_lease_columns,
    add_unserved_rows,
    area_plan,
    covering,
    lease_objective,
)
from edrp.formulations.enactment.leasing_arrays import LeasingArrays, enough_hosts, leasing_arrays, useful_units
from edrp.formulations.enactment.leasing_hosts import (
    Arrangement,
    packed_area_plan,
    packed_plan,
    planned_hosts,
    units_and_contents,
)
from edrp.formulations.formulation import Formulation, best_feasible

BOUND = "bound it by edrp.formulations.enactment.leasing_area.area_relaxation"

BYTES_PER_COLUMN = 3000
"""Memory of a column with its entries, most of it in the solver."""


AREA_SHARE = 0.3
"""Share of the work that is left for the plan with resources in aggregate; it mostly takes a hundredth of a unit."""


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
    plan : the cheapest one with resources in aggregate.
    packed : its units and contents of hosts; None where it was not packed.

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
    plan: AreaPlan
    packed: tuple[Ints, Arrangement] | None

    @property
    def bound(self) -> float | None:
        """What the plan with resources in aggregate costs at least."""
        return self.plan.bound

    @property
    def current(self) -> tuple[PlannedHost, ...] | None:
        """The plan with resources in aggregate where it was packed; it is optimal.

        Else the best of a few plans that pack the fewest instances by best fit, where one keeps to all limits.
        """
        if self.packed is not None:
            return planned_hosts(self.problem, self.arrays, *self.packed)
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
        bought, host_contents = units_and_contents(self.problem, self.arrays, decision)
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
    arrays = leasing_arrays(problem)
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
    plan = area_plan(arrays, whole=True, work_limit=AREA_SHARE * units_left())
    packed = None if plan.bound is None else packed_area_plan(arrays, plan)
    return LeasingFormulation(problem, program, built, objective, perf_counter() - started, arrays, slots, plan, packed)


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
