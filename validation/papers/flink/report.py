"""Advice for Flink against a real cluster, as one report: predictions, control, places."""

from __future__ import annotations

from collections.abc import Iterator

from edrp.report.page import Section, how_run
from edrp.report.publication import Record, Report
from edrp.report.statements import Statement
from edrp.report.tables import Table
from edrp.validation.papers.claims import claim_records, claim_table
from edrp.validation.papers.flink.control import control_statements, control_table, day_table
from edrp.validation.papers.flink.places import place_statements, place_table
from edrp.validation.papers.flink.predictions import prediction_statements, prediction_table
from edrp.validation.papers.flink.rows import FlinkRows, Row, job_rows, load_text

SIDE_BY_SIDE = (
    "The policies of a day run side by side on clusters of their own, so that the load of the machine is the same for all. "
    "`static peak` has the replicas that the day's busiest ten minutes need at 80 % busy. `autoscaler` is the rule of Flink's "
    "autoscaler with its default settings on the compressed clock; it is told the rate that is offered and the backlog, as a "
    "source with a log tells them. `watch` is the command `edrp watch flink --apply rescale --decide day`, which is given the "
    "same weekday of six weeks before; `watch, by the minute` is the command without history, which knows counters only."
)


def statements(rows: FlinkRows) -> list[Statement]:
    """All aims on which there are rows, judged."""
    judged = list(prediction_statements(rows.predictions)) if rows.predictions else []
    judged += control_statements(rows.control) if rows.control else []
    return [*judged, *place_statements(rows)]


def report(rows: FlinkRows) -> Report:
    """The report of rows that were read or have just been measured."""
    judged = statements(rows)
    parts = list(_parts(rows))
    return Report(
        "Flink: predictions, control and places on a real cluster",
        "The advice for a running Flink job next to what a cluster of Flink 2.3 did on this machine.",
        verdicts=list(_verdicts(rows, judged)),
        statements=judged,
        shown=[table for _, _, tables in parts for table in tables],
        documented=[table for _, _, tables in parts for table in tables],
        sections=lambda drawings, command: _sections(rows, judged, command),
        records={
            "control": [_flat(row) for row in rows.control],
            "places": [_flat(row) for row in rows.placements],
            "predictions": [
                {"job": row["job"], "rate": row.get("rate"), "load": row["load"], **{name: q.get(name) for name in _QUANTITY}}
                for row in rows.predictions
                for q in row["quantities"]
            ],
            "statements": claim_records(judged),
        },
    )


_QUANTITY = ("quantity", "name", "predicted", "low", "high", "measured", "ds2")


def _verdicts(rows: FlinkRows, judged: list[Statement]) -> Iterator[str]:
    yield f"Of {len(judged)} statements {sum(statement.holds for statement in judged)} hold."
    for name, experiment_rows in (("rescales", rows.predictions), ("days", rows.control), ("placements", rows.placements)):
        if experiment_rows:
            yield f"Load of the machine while {name} were measured: {load_text(experiment_rows)}."


def _parts(rows: FlinkRows) -> Iterator[tuple[str, tuple[str, ...], tuple[Table, ...]]]:
    """Heading, sentences and tables of each experiment of which there are rows."""
    if rows.predictions:
        introduction = (
            "A job is captured before a rescale that was drawn at random; what is predicted is compared with what came."
        )
        yield "Predictions", (introduction,), (prediction_table(rows.predictions),)
    if rows.control:
        of_jobs = job_rows(rows.control).values()
        yield "Control", (SIDE_BY_SIDE,), tuple(table(of_job) for of_job in of_jobs for table in (control_table, day_table))
    if rows.placements:
        introduction = (
            "A chain runs on three sites with delays of proxies between them, placed exactly by a savepoint and a new start."
        )
        yield "Places", (introduction,), (place_table(rows),)


def _sections(rows: FlinkRows, judged: list[Statement], command: str) -> Iterator[Section]:
    yield Section("What we aim at", tables=(claim_table(judged),))
    for heading, sentences, tables in _parts(rows):
        yield Section(heading, sentences, tables=tables)
    counts = {"rescales": len(rows.predictions), "days and policies": len(rows.control), "placements": len(rows.placements)}
    yield how_run(command, {name: str(count) for name, count in counts.items()})


def _flat(row: Row) -> Record:
    """The numbers and words of a row; what is late at every bound gets a column of its own."""
    plain = {name: value for name, value in row.items() if isinstance(value, str | int | float)}
    return plain | {f"late_{bound}": count for bound, count in dict(row.get("late", {})).items()}
