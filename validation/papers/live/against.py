"""Live moves against Flink's rescale and a restart: silences, latencies, and how long plans take against their predictions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from statistics import median
from typing import NamedTuple

from edrp.report.formatting import NONE, Unit
from edrp.report.statements import Statement, claim
from edrp.report.tables import Table
from edrp.validation.papers.flink.rows import Row, load_text

LIVE, RESCALE, SAVEPOINT = "live", "rescale", "savepoint"
METHODS = (LIVE, RESCALE, SAVEPOINT)

MAX_SILENCE, MAX_OF_RESCALE = 0.1, 0.25
"""Aims: median silence in seconds, and as a share of that of Flink's rescale."""

MAX_P99 = 5.0
"""Aim: 99th percentile of latencies during a move as a multiple of that before."""

FACTOR, WITHIN = 1.5, 0.85
"""Aims: plans take their predicted time within this factor, in such a share of changes."""

MILLISECONDS, SECONDS, MEGABYTES = Unit(1e3, ".0f"), Unit(1, ".2f"), Unit(1e-6, ".1f")


class Job(NamedTuple):
    """A job that was changed in all ways."""

    megabytes: int
    service: str
    backend: str

    def __str__(self) -> str:
        return f"{self.megabytes} MB, {self.service}{'' if self.backend == 'hashmap' else f', {self.backend}'}"


def jobs(rows: Sequence[Row]) -> list[Job]:
    """The jobs, by size."""
    return sorted({_job(row) for row in rows})


def _job(row: Row) -> Job:
    return Job(row["megabytes"], row["service"], row["backend"])


def changes(rows: Sequence[Row], job: Job, method: str) -> list[Row]:
    """Changes of a job in one way, without the first, which is a warm-up."""
    return [row for row in rows if _job(row) == job and row["method"] == method and row["change"] > 0]


def slowdown(row: Row) -> float:
    """99th percentile during a change as a multiple of that before."""
    return float(row["during"]["p99"] / max(row["before"]["p99"], 1e-3))


def within_prediction(rows: Sequence[Row]) -> tuple[int, int]:
    """Number of plans that took their predicted time within `FACTOR`, and of all.

    >>> within_prediction([{"seconds": 1.4, "planned": 1.0}, {"seconds": 0.5, "planned": 1.0}])
    (1, 2)
    """
    return sum(1 / FACTOR <= row["seconds"] / row["planned"] <= FACTOR for row in rows), len(rows)


def against_table(rows: Sequence[Row]) -> Table:
    """One row for each job and way to change it."""
    shown = []
    for job in jobs(rows):
        for method in METHODS:
            listed = changes(rows, job, method)
            if listed:
                shown.append((f"{job}: {method}", *_cells(listed), load_text(listed)))
    right = (
        *("changes", "silence\n[ms]", "p99 before\n[ms]", "p99 during\n[ms]", "p99 during\nover before", "whole change\n[s]"),
        *("moved\n[MB]", "tuples that\nwaited", "load of the\nmachine"),
    )
    note = (
        "Medians over changes of two workers to three or back, without the first of each job; largest values in the second line. "
        "Latencies are of tuples that were due from the begin of a change to its end, and for at least a second."
    )
    return Table("Live moves against Flink's own ways to change", ("job", *right), tuple(shown), right, note=note, open=True)


def _cells(rows: Sequence[Row]) -> Iterator[str]:
    def both(value: Callable[[Row], float], unit: Unit) -> str:
        values = [value(row) for row in rows]
        return f"{unit.number(median(values))}\n{unit.number(max(values))}"

    yield str(len(rows))
    yield both(lambda row: row["silence"], MILLISECONDS)
    yield both(lambda row: row["before"]["p99"], MILLISECONDS)
    yield both(lambda row: row["during"]["p99"], MILLISECONDS)
    yield both(slowdown, Unit(1, ".1f"))
    yield both(lambda row: row["seconds"], SECONDS)
    moved = "bytes" in rows[0]
    yield both(lambda row: row["bytes"], MEGABYTES) if moved else NONE
    yield both(lambda row: row["held"], Unit(1, ".0f")) if moved else NONE


def prediction_table(rows: Sequence[Row]) -> Table:
    """Predicted and measured seconds of live plans, by job."""
    shown = []
    for job in jobs(rows):
        listed = changes(rows, job, LIVE)
        if listed:
            good, count = within_prediction(listed)
            ratios = [row["seconds"] / row["planned"] for row in listed]
            steps = median(row["steps"] for row in listed)
            times = (SECONDS.number(median(row[name] for row in listed)) for name in ("planned", "seconds"))
            spread = f"{min(ratios):.2f} to {max(ratios):.2f}"
            shown.append((str(job), str(count), f"{steps:g}", *times, spread, f"{100 * good / count:.0f}"))
    right = ("plans", "steps", "predicted [s]", "measured [s]", "measured\nover predicted", f"within {FACTOR:g} ×\n[%]")
    note = (
        "Predicted as by `edrp migrate flink`: the bytes of each sender by its pace, and a constant for each step. Without the "
        "first plan of each job."
    )
    return Table("Predicted and measured time of whole plans", ("job", *right), tuple(shown), right, note=note, open=True)


def against_statements(rows: Sequence[Row]) -> Iterator[Statement]:
    """Judge the aims; the worst job decides."""
    live = {job: listed for job in jobs(rows) if (listed := changes(rows, job, LIVE))}
    if live:
        silence, worst = max((median(row["silence"] for row in listed), job) for job, listed in live.items())
        found = f"at most {1e3 * silence:.0f} ms, at {worst}"
        yield claim(f"the median silence of live moves is at most {MAX_SILENCE:g} s", silence <= MAX_SILENCE, found)
    yield from _against_rescale(rows, live)
    if live:
        ratio, worst = max((median(map(slowdown, listed)), job) for job, listed in live.items())
        single = max(slowdown(row) for listed in live.values() for row in listed)
        found = f"median of changes at most {ratio:.1f}, at {worst}; largest single one {single:.1f}"
        sentence = (
            f"the 99th percentile of latencies during live moves is at most {MAX_P99:g} times that before, after one warm-up"
        )
        yield claim(sentence, ratio <= MAX_P99, found)
        good, count = within_prediction([row for listed in live.values() for row in listed])
        first, firsts = within_prediction([row for row in rows if row["method"] == LIVE and row["change"] == 0])
        sentence = f"{100 * WITHIN:.0f} % of plans take their predicted time within a factor of {FACTOR:g}, after one warm-up"
        yield claim(sentence, good >= WITHIN * count, f"{good} of {count}; of the warm-ups {first} of {firsts}")
    lost = sum(row["missing"] for row in rows)
    yield claim("no tuple is missing after any change", lost == 0, f"{lost} of {len(rows)} changes")


def _against_rescale(rows: Sequence[Row], live: dict[Job, list[Row]]) -> Iterator[Statement]:
    shares = [
        (median(row["silence"] for row in listed) / median(row["silence"] for row in rescales), job)
        for job, listed in live.items()
        if (rescales := changes(rows, job, RESCALE))
    ]
    if shares:
        share, worst = max(shares)
        sentence = "the median silence of live moves is at most a quarter of that of Flink's rescale with its own checkpoint"
        yield claim(sentence, share <= MAX_OF_RESCALE, f"at most {100 * share:.0f} %, at {worst}")
