"""The worth of look-ahead control on real days, against certified optima of those who know the day: run, judged, reported."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from edrp.report.page import Section, how_run, require_packages
from edrp.report.progress import Tell
from edrp.report.publication import Report
from edrp.report.statements import Statement
from edrp.report.tables import Table
from edrp.validation.papers.claims import claim_records, claim_table
from edrp.validation.papers.control.certificates import composition_table, day_records, ratio_table, statements
from edrp.validation.papers.control.days import DATA_SETS, FLIGHTS, traced_days
from edrp.validation.papers.control.runs import DayRow, run_days
from edrp.validation.papers.control.setting import LATE, LATE_PRICE, PEAK, SERVICE, SILENCES, SPEED

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
