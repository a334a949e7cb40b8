"""Leasing with resources in aggregate: a lower bound, and a plan of hosts, for long horizons."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from edrp.backends import solve_program
from edrp.core.arrays import Floats, Ints
from edrp.core.program import Program
from edrp.enactment.leasing import LeasingProblem
from edrp.formulations.enactment.leasing_arrays import leasing_tables
from edrp.formulations.enactment.leasing_rows import add_area_rows, add_lease_columns, add_unserved_rows, lease_objective


@dataclass(frozen=True, slots=True)
class AreaPlan:
    """Leases when instances may be cut into pieces over hosts.

    Attributes
    ----------
    bound
        Money: no decision costs less. None where limits leave too little of a resource: there is no decision.
    bought
        Shape (K, T): units that begin in each period; parts of units unless they were asked for whole.
    leased
        Shape (K, T): hosts of each type in each period.
    instances
        Shape (T, O): of each operator in each period.
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
    problem
        What to decide.
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
    tables = leasing_tables(problem)
    program = Program()
    add_lease_columns(program, tables, whole=whole)
    add_area_rows(program, tables)
    add_unserved_rows(program, tables)
    program.minimise(lease_objective(program, tables))
    result = solve_program(program, time_limit=time_limit)
    if result.values is None:
        nothing = np.zeros(tables.paid.shape)
        bound = None if result.status == "infeasible" else result.bound
        return AreaPlan(bound, nothing, tables.paid + nothing, tables.fewest.astype(float))
    bought = result.values[program["bought"]]
    return AreaPlan(result.bound, bought, _leased(bought, tables.unit, tables.paid), result.values[program["count"]])


def _leased(bought: Floats, unit: Ints, paid: Ints) -> Floats:
    """Hosts in each period, by the units that cover it."""
    total = np.cumsum(bought, axis=1)
    before = np.stack([np.concatenate([np.zeros(length), row])[: row.size] for length, row in zip(unit, total, strict=True)])
    return total - before + paid
