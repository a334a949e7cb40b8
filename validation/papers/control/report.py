"""Look-ahead control on real days against certified optima of those who know the day: run, judged, reported.

Costs of policies over certified bounds: means by data set, differences on the same days, and what is claimed of them.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from operator import attrgetter
from pathlib import Path
from typing import Any

import numpy as np

from edrp.core.arrays import Floats
from edrp.core.tolerances import LIMIT_SLACK
from edrp.report.comparison import estimate_seeds
from edrp.report.estimates import Estimate
from edrp.report.formatting import Unit
from edrp.report.page import Section, how_run, require_packages
from edrp.report.progress import Tell
from edrp.report.publication import Report
from edrp.report.statements import Statement, claim
from edrp.report.tables import Table
from edrp.validation.papers.claims import Claims, Requirement, claim_records, claim_table, judged, positive
from edrp.validation.papers.control.days import DATA_SETS, FLIGHTS, LATE, LATE_PRICE, PEAK, SERVICE, SILENCES, SPEED, traced_days
from edrp.validation.papers.control.policies import KNOWING, OPTIMUM, ROLLING, RULES, DayRow, run_days

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


COSTS = (
    "The job is a fluid queue whose capacity is that of its slowest operator; every change of the replicas silences it. All "
    f"policies pay the same: 1 for a second of a replica, {LATE_PRICE:g} for a tuple that waits longer than {LATE:g} s. What "
    "piles up is carried from period to period. The bound of a day is proven by a dynamic program over replicas and backlogs "
    "that rounds backlogs down; it holds for every course, also for those that are late on purpose."
)
KNOWLEDGE = (
    "At the begin of a period of ten minutes a policy knows the rates of the periods before it, the backlog, and up to six weeks "
    "before the day; rates are scaled by these weeks alone. Days were drawn by a seed that was not used while the policies were "
    "developed. The static peak of the day itself and the rolling horizon with known rates know what nobody knows."
)
TERMS = {
    "static": "the fewest replicas that serve the highest rate, of the day itself or of the weeks before it",
    "myopic": "what costs least in this period if the last rate and the backlog stay as they are and changes are free",
    "myopic with penalty": "the rule of `edrp watch`: at most 85 % busy, a gain lasts an hour, silence makes its tuples late",
    "autoscaler's rule": "that of Flink's autoscaler with its defaults, told the offered rate and the backlog",
    "DS2": "the fewest replicas that are at most 70 % busy at the last rate",
    "rolling horizon": "`edrp watch --decide day`: the cheapest course of the next four hours over ten scenarios of a forecast",
}


SEED = 40
"""Draws the days of the report; policies were developed on those that seed 1 draws."""


def investigate(
    data: Path | None = None, *, days: int = 20, seed: int = SEED, tell: Tell = str, out: Path | None = None
) -> list[DayRow]:
    """Run all policies on days of each data set.

    Parameters
    ----------
    data : folder of the taxi stream and the tweets; default: what EDRP_DATA names, and without it there are only flights.
    days, seed : number of days of each data set, and what they are drawn by.
    out : folder of the report; packages that it needs are looked for before anything runs.
    """
    if out is not None:
        require_packages(jinja2="report")
    data_sets = (FLIGHTS,) if data is None and "EDRP_DATA" not in os.environ else DATA_SETS
    drawn = [day for data_set in data_sets for day in traced_days(data_set, days, seed, PEAK, data)]
    return run_days(drawn, SILENCES, tell)


def report(rows: Sequence[DayRow]) -> Report:
    """The report of finished runs."""
    found = statements(rows)
    return Report(
        "Control over days: cost over certified bounds",
        "Replicas of a job through real days: constant, by rules, and by a rolling horizon, against a clairvoyant bound.",
        verdicts=[f"Of {len(found)} statements {sum(statement.holds for statement in found)} hold."],
        statements=found,
        shown=[ratio_table(rows), composition_table(rows)],
        documented=[ratio_table(rows), claim_table(found), composition_table(rows)],
        sections=lambda drawings, command: _sections(rows, found, command),
        records={"days": day_records(rows), "statements": claim_records(found)},
    )


def _sections(rows: Sequence[DayRow], found: Sequence[Statement], command: str) -> Iterator[Section]:
    yield Section("What we aim at", tables=(claim_table(found),))
    yield Section("Cost over the certified bound", (COSTS, KNOWLEDGE), tables=(ratio_table(rows),), terms=TERMS)
    yield Section("What the costs are made of", tables=(composition_table(rows), _setting()))
    names = dict.fromkeys((row.data_set, row.day) for row in rows)
    counts = {data_set: str(sum(name[0] == data_set for name in names)) for data_set in DATA_SETS}
    yield how_run(command, {f"days of {data_set}": count for data_set, count in counts.items()})


def _setting() -> Table:
    services = "; ".join(f"{name}: {rate:g} tuples/s a replica, at most {most}" for name, (rate, most) in SERVICE.items())
    facts = {
        "operators": services,
        "median of past daily peaks": f"{PEAK:g} tuples/s",
        "compression": f"{SPEED:g} times",
        "silence of a change": ", ".join(f"{silence:g} s" for silence in SILENCES),
    }
    return Table("The job", ("what", "value"), tuple(facts.items()))
