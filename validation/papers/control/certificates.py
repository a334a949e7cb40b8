"""Costs of policies over certified bounds: means by data set, differences on the same days, and what is claimed of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import Any

import numpy as np

from edrp.core.arrays import Floats
from edrp.core.tolerances import LIMIT_SLACK
from edrp.report.comparison import estimate_seeds
from edrp.report.estimates import Estimate
from edrp.report.formatting import Unit
from edrp.report.statements import Statement, claim
from edrp.report.tables import Table
from edrp.validation.papers.claims import Claims, Requirement, judged, positive
from edrp.validation.papers.control.runs import KNOWING, OPTIMUM, ROLLING, RULES, DayRow

AIM = 1.1
"""Ratio that the rolling horizon is to keep on average."""

RATIO, PERCENT, HOURS, COUNT = Unit(1, ".3f"), Unit(100, ".1f"), Unit(1, ".1f"), Unit(1, ".1f")

Rows = Sequence[DayRow]
Place = tuple[str, float]
"""A data set and seconds of silence."""


def places(rows: Rows) -> list[tuple[str, Place]]:
    """Data sets and silences, with what they are called."""
    found = dict.fromkeys((row.data_set, row.silence) for row in rows)
    return [(f"{data_set}, {silence:g} s", (data_set, silence)) for data_set, silence in found]


def values(rows: Rows, place: Place, policy: str, value: Callable[[DayRow], float]) -> Floats:
    """A quantity of a policy on every day of a place, in the order of the days."""
    return np.array([value(row) for row in rows if (row.data_set, row.silence) == place and row.policy == policy])


def _ratios(rows: Rows, place: Place, policy: str) -> Floats:
    return values(rows, place, policy, lambda row: row.ratio)


def _at_most(maximum: float, policy: str) -> Requirement:
    return Requirement(places, lambda rows, place: estimate_seeds(_ratios(rows, place, policy)), RATIO, maximum=maximum)


def _above_rolling(policy: str) -> Callable[[Rows, Place], Estimate]:
    return lambda rows, place: estimate_seeds(_ratios(rows, place, policy) - _ratios(rows, place, ROLLING))


CLAIMS: Claims = (
    ("", f"the rolling horizon costs at most {AIM:g} times the bound", _at_most(AIM, ROLLING)),
    *(
        ("", f"the rolling horizon costs less than “{policy}”", positive(places, _above_rolling(policy), RATIO.signed))
        for policy in RULES
    ),
    (
        "",
        "with known rates the rolling horizon costs at most 1.02 times the bound: the rest is lost to forecasts",
        _at_most(1.02, KNOWING),
    ),
)
"""Expectations of each data set and silence."""


def statements(rows: Rows) -> tuple[Statement, ...]:
    """Checks of the bounds, and the claims, judged."""
    least = min(rows, key=lambda row: row.ratio)
    gaps = [row.ratio - 1 for row in rows if row.policy == OPTIMUM]
    return (
        claim(
            "no policy costs less than the bound of its day",
            least.ratio >= 1 - LIMIT_SLACK,
            f"least ratio {least.ratio:.4f}, of {least.policy}, in {len(rows)} runs",
        ),
        claim(
            "each bound is within 1 % of what a course costs",
            max(gaps) <= 0.01,
            f"gap {100 * np.mean(gaps):.3f} % in the mean of {len(gaps)}, {100 * max(gaps):.2f} % at most",
        ),
        *judged(CLAIMS, rows),
    )


def ratio_table(rows: Rows) -> Table:
    """Cost over bound of every policy, one column for each data set and silence."""
    policies = list(dict.fromkeys(row.policy for row in rows))
    shown = tuple(
        (policy, *(RATIO.above_interval(estimate_seeds(_ratios(rows, place, policy)), " to ") for _, place in places(rows)))
        for policy in policies
    )
    columns = tuple(where.replace(", ", "\n") for where, _ in places(rows))
    days = ", ".join(str(len(values(rows, place, OPTIMUM, lambda row: row.bound))) for _, place in places(rows))
    note = f"Means over days ({days}) with 95 % bootstrap intervals. Seconds are those of the silence that a change costs."
    return Table("Cost over the certified bound", ("policy", *columns), shown, columns, note=note, open=True)


def composition_table(rows: Rows) -> Table:
    """Late tuples, replica-hours and changes of every policy."""
    quantities: dict[str, tuple[Unit, Callable[[DayRow], float]]] = {
        "late tuples\n[%]": (PERCENT, lambda row: row.late),
        "replica-hours": (HOURS, lambda row: row.replica_hours),
        "changes": (COUNT, lambda row: row.cost.changes),
    }
    shown = [
        (policy, where, *(u.number(float(values(rows, place, policy, value).mean())) for u, value in quantities.values()))
        for where, place in places(rows)
        for policy in dict.fromkeys(row.policy for row in rows)
    ]
    right = tuple(quantities)
    return Table("What the costs are made of", ("policy", "days", *right), tuple(shown), right, note="Means over days.")


def day_records(rows: Rows) -> list[dict[str, Any]]:
    """Every run as a row of a CSV file."""
    names = ("data_set", "day", "silence", "policy", "bound", "cost.cost", "ratio", "late", "replica_hours", "cost.changes")
    return [{name.rpartition(".")[2]: attrgetter(name)(row) for name in names} for row in rows]
