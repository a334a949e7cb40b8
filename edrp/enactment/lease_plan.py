"""Plan when to lease how many hosts, from the number of hosts that each period needs.

A billing time unit (BTU) lasts a whole number of periods and is paid in full. The matrix of which unit covers which period is
an interval matrix, so that whole units cost no more than fractional ones would, and buying as late as possible is optimal.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from edrp.core.document import named_resources
from edrp.enactment.containers import ContainerOperator, HostType, largest_share
from edrp.enactment.state import has_room


@dataclass(frozen=True, slots=True)
class LeasePlan:
    """The units to buy of one host type.

    Attributes
    ----------
    bought
        Units that begin in each period, prolongations included.
    prolonged
        For each host that is paid already: whether it is prolonged when its paid time ends.
    cost
        Money for all units bought.
    """

    bought: tuple[int, ...]
    leased: tuple[int, ...]
    prolonged: tuple[bool, ...]
    cost: float


def cheapest_leases(
    needed: Sequence[int], unit_periods: int, price: float = 1.0, paid: Sequence[int] = (), *, prorate: bool = False
) -> LeasePlan:
    """Plan the cheapest units that cover the needed hosts, each bought as late as possible.

    In the first period that lacks a host some unit must be bought that covers it. The one that begins there covers all
    that an earlier one would still cover, and never costs more: so the plan is optimal, in one pass.

    Parameters
    ----------
    unit_periods
        Periods that a unit lasts.
    paid
        For each host that is leased already, the number of first periods that are paid.
    prorate
        Whether a unit that reaches beyond the last period costs only its share before.

    Raises
    ------
    ValueError
        If a unit lasts less than one period.

    Examples
    --------
    Two hosts are needed for three periods, then three; one is paid for two periods more:

    >>> plan = cheapest_leases([2, 2, 2, 3, 3], unit_periods=3, paid=[2])
    >>> plan.bought, plan.prolonged, plan.cost
    ((1, 0, 1, 2, 0), (True,), 4.0)
    """
    if unit_periods < 1:
        raise ValueError(f"a unit must last at least one period, not {unit_periods}")
    periods = len(needed)
    active = [0] * (periods + unit_periods)
    for host in paid:
        for period in range(min(host, periods)):
            active[period] += 1
    bought, cost = [0] * periods, 0.0
    for period, count in enumerate(needed):
        bought[period] = max(0, count - active[period])
        for covered in range(period, period + unit_periods):
            active[covered] += bought[period]
        cost += bought[period] * price * (min(1.0, (periods - period) / unit_periods) if prorate else 1.0)
    left, prolonged = list(bought), []
    for host in paid:
        prolonged.append(host < periods and left[host] > 0)
        if prolonged[-1]:
            left[host] -= 1
    return LeasePlan(tuple(bought), tuple(active[:periods]), tuple(prolonged), cost)


def hosts_needed(instances: Mapping[str, int], operators: Mapping[str, ContainerOperator], host_type: HostType) -> int:
    """Number of hosts of one type that hold these instances, packed by first fit, the largest instances first.

    Raises
    ------
    ValueError
        When an operator does not fit on an empty host of the type.

    Examples
    --------
    >>> work = ContainerOperator(name="work", processing_duration=1.0, resources={"cpu": 3})
    >>> side = ContainerOperator(name="side", processing_duration=1.0, resources={"cpu": 1})
    >>> small = HostType(name="small", resources={"cpu": 4}, price=1.0, billing_time=600.0)
    >>> hosts_needed({"work": 2, "side": 3}, {"work": work, "side": side}, small)
    3
    """
    capacity = host_type.capacity
    free: list[dict[str, float]] = []
    for name in sorted(instances, key=lambda operator: -largest_share(operators[operator], host_type)):
        operator = operators[name]
        first = 0  # hosts before had no room for an equal instance
        for _ in range(instances[name]):
            while first < len(free) and not has_room(operator, host_type, free[first]):
                first += 1
            if first == len(free):
                free.append(dict(capacity))
                if not has_room(operator, host_type, capacity):
                    raise ValueError(f"an instance of {name} does not fit on an empty host of type {host_type.name}")
            for resource, amount in named_resources(operator.resources).items():
                free[first][resource] = free[first].get(resource, 0.0) - amount
    return len(free)
