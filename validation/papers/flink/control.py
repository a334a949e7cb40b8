"""Policies over days of taxi trips: their means, differences on the same days, and what is claimed of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from operator import sub
from typing import NamedTuple

from edrp.report.estimates import Estimate
from edrp.report.formatting import Unit
from edrp.report.statements import Finding, Statement
from edrp.report.tables import Table
from edrp.validation.papers.claims import MIN_PAIRED, estimate_paired
from edrp.validation.papers.flink.rows import Row, job_name, job_rows, load_text

STATIC, AUTOSCALER, WATCH, BY_MINUTE = "static peak", "autoscaler", "watch", "watch, by the minute"

EQUAL = 0.02
"""Relative difference of replica-hours up to which these are taken for equal."""

SAVED = 0.05
"""Share of replica-hours that is to be saved where a change is cheap."""

SHARE = Unit(100, "+.1f", " %")
"""How a relative difference is written."""

LARGE_STATE = "large-state"
"""The job whose changes silence it for seconds."""


class Measure(NamedTuple):
    """A quantity of a row, with its name and how it is written."""

    name: str
    unit: Unit
    value: Callable[[Row], float]


LATE = Measure("late tuples\n[%]", Unit(100, ".2f"), lambda row: float(row["late"][str(row["bound"])] / row["tuples"]))
HOURS = Measure("replica-hours", Unit(1, ".1f"), lambda row: float(row["replica_hours"]))
STILL = Measure("standstill\n[s]", Unit(1, ".1f"), lambda row: float(row["standstill"]))
RESCALES = Measure("rescales", Unit(1, ".1f"), lambda row: float(row["rescales"]))
MEASURES = (LATE, HOURS, STILL, RESCALES)


def seeds(rows: Sequence[Row]) -> list[int]:
    """Days on which all policies ran."""
    policies = {row["policy"] for row in rows}
    return sorted({row["seed"] for row in rows if {r["policy"] for r in rows if r["seed"] == row["seed"]} == policies})


def values(rows: Sequence[Row], policy: str, measure: Measure) -> list[float]:
    """A quantity of a policy on every day on which all ran."""
    value_of_seed = {row["seed"]: measure.value(row) for row in rows if row["policy"] == policy}
    return [value_of_seed[seed] for seed in seeds(rows)]


def difference(
    rows: Sequence[Row], first: str, second: str, measure: Measure, less: Callable[[float, float], float] = sub
) -> Estimate:
    """Mean over days of the first policy's quantity less the second's, or of what `less` makes of both."""
    return estimate_paired(list(map(less, values(rows, first, measure), values(rows, second, measure))))


def control_table(rows: Sequence[Row]) -> Table:
    """Means of the policies of a job, and differences to watching, each with its 95 % bootstrap interval over the days."""
    policies = [name for name in (STATIC, AUTOSCALER, WATCH, BY_MINUTE) if any(row["policy"] == name for row in rows)]
    shown = [
        (name, *(m.unit.above_interval(estimate_paired(values(rows, name, m)), " to ") for m in MEASURES)) for name in policies
    ]
    shown += [
        (f"{WATCH} less {other}", *(m.unit.signed.above_interval(difference(rows, WATCH, other, m), " to ") for m in MEASURES))
        for other in policies
        if WATCH in policies and other != WATCH
    ]
    right = tuple(measure.name for measure in MEASURES)
    count = len(seeds(rows))
    intervals = f"with 95 % bootstrap intervals over days; these need at least {MIN_PAIRED}"
    terms = (
        f"A day lasts {rows[0]['seconds']:g} s; a tuple is late above {rows[0]['bound']:g} s; replica-hours are those of the "
        "original day; standstill is all time without a tuple at the sink for more than 0.5 s."
    )
    note = f"Means over {count} day{'s' * (count != 1)}, {intervals}. {terms}"
    title = f"Control of the job {job_name(rows[0])} over days of taxi trips"
    return Table(title, ("policy", *right), tuple(shown), right, note=note, open=True)


def day_table(rows: Sequence[Row]) -> Table:
    """One row for each day and policy."""
    shown = tuple(
        (f"{row['seed']}: {row['day']}", row["policy"], *(m.unit.number(m.value(row)) for m in MEASURES), load_text([row]))
        for row in rows
    )
    right = (*(measure.name for measure in MEASURES), "load of the machine")
    return Table(f"{job_name(rows[0])}, day by day", ("day", "policy", *right), shown, right)


def control_statements(rows: Sequence[Row]) -> Iterator[Statement]:
    """Claims about watching, judged by differences on the same days, for each job."""
    for job, of_job in job_rows(rows).items():
        policies = {row["policy"] for row in of_job}
        if {AUTOSCALER, WATCH} <= policies:
            yield from _expensive_changes(job, of_job) if job == LARGE_STATE else _cheap_changes(job, of_job)
        if {STATIC, WATCH} <= policies:
            sentence = f"{job}: `watch` takes fewer replica-hours than the static peak"
            yield _claim(sentence, of_job, STATIC, WATCH, HOURS, " replica-hours")
        if {BY_MINUTE, WATCH} <= policies:
            sentence = f"{job}: fewer tuples are late where `watch` decides for the day than by the minute"
            yield _claim(sentence, of_job, BY_MINUTE, WATCH, LATE, " %")


def _cheap_changes(job: str, rows: Sequence[Row]) -> Iterator[Statement]:
    """Where a change is cheap, replicas are saved."""
    late = Finding(
        f"{WATCH} less {AUTOSCALER}, late tuples", difference(rows, WATCH, AUTOSCALER, LATE), _signed(LATE, " %"), maximum=0
    )
    above = difference(rows, WATCH, AUTOSCALER, HOURS, lambda one, other: one / other - 1)
    hours = Finding(f"{WATCH} against {AUTOSCALER}, replica-hours", above, SHARE, maximum=-SAVED)
    yield Statement(f"{job}: no more tuples are late under `watch` than under the autoscaler's rule", findings=(late,))
    yield Statement(f"{job}: `watch` takes at least 5 % fewer replica-hours than the autoscaler's rule", findings=(hours,))


def _expensive_changes(job: str, rows: Sequence[Row]) -> Iterator[Statement]:
    """Where a change is expensive, tuples are saved at equal replica-hours: the latter is a condition, not an inference."""
    hours = sum(values(rows, WATCH, HOURS)) / sum(values(rows, AUTOSCALER, HOURS)) - 1
    condition = Finding(f"{WATCH} against {AUTOSCALER}, all replica-hours", Estimate(hours, hours, hours), SHARE, maximum=EQUAL)
    half = difference(rows, WATCH, AUTOSCALER, LATE, lambda one, other: one - other / 2)
    late = Finding(f"{WATCH} less half of {AUTOSCALER}, late tuples", half, _signed(LATE, " %"), maximum=0)
    sentence = f"{job}: at most 2 % more replica-hours and half of the late tuples of the autoscaler's rule under `watch`"
    yield Statement(sentence, findings=(condition, late))
    more = difference(rows, WATCH, AUTOSCALER, RESCALES)
    rescales = Finding(f"{WATCH} less {AUTOSCALER}, rescales", more, _signed(RESCALES, " rescales"), maximum=0)
    yield Statement(f"{job}: `watch` rescales no more often than the autoscaler's rule", findings=(rescales,))


def _signed(measure: Measure, name: str) -> Unit:
    return measure.unit.signed._replace(name=name)


def _claim(sentence: str, rows: Sequence[Row], more: str, less: str, measure: Measure, name: str) -> Statement:
    """The statement that one policy has more of a quantity than another."""
    value = difference(rows, more, less, measure)
    return Statement(sentence, findings=(Finding(f"{more} less {less}", value, _signed(measure, name), 0.0, strict=True),))
