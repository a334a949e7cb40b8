"""Lease plans: the periods in which to lease hosts of a type, from the number of hosts that each period needs.

A billing time unit (BTU) lasts a whole number of periods and is paid in full. The matrix of which unit covers which period is
an interval matrix, so that whole units cost no more than fractional ones would, and buying as late as possible is optimal.
"""

from __future__ import annotations

from collections.abc import Sequence


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
    for period, count in enumerate(needed):
        leased = sum(host > period for host in paid) + sum(bought[max(0, period - unit_periods + 1) :])
        bought.append(max(0, count - leased))
    return tuple(bought)
