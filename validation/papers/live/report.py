"""Live migration on a real cluster as one report."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from edrp.report.page import Figure, Section, how_run
from edrp.report.publication import Record, Report
from edrp.report.statements import Statement
from edrp.report.tables import Table
from edrp.validation.papers.claims import claim_records, claim_table
from edrp.validation.papers.flink.rows import Row, load_text
from edrp.validation.papers.live.against import against_statements, against_table, prediction_table
from edrp.validation.papers.live.at_rest import (
    draw_response,
    response_statements,
    response_table,
    throughput_statements,
    throughput_table,
)
from edrp.validation.papers.live.plan_orders import order_statements, order_table
from edrp.validation.papers.live.rows import KEYS, LiveRows
from edrp.validation.papers.live.windows import draw_windows, window_statements, window_table


class Drawing(NamedTuple):
    """A figure of an experiment: its file, its caption, and what draws it."""

    file: str
    caption: str
    draw: Callable[[Sequence[Row], Path], None]


class Experiment(NamedTuple):
    """How the rows of an experiment are shown and judged."""

    heading: str
    sentences: tuple[str, ...]
    tables: tuple[Callable[[Sequence[Row]], Table], ...]
    statements: Callable[[Sequence[Row]], Iterator[Statement]]
    drawing: Drawing | None = None


EXPERIMENTS = {
    "against": Experiment(
        "Against Flink",
        (
            "A job with two workers gets a third one, and gives it back: live, by Flink's rescale with a checkpoint that is "
            "triggered after the request, and by a restart from a savepoint. The ways take turns, and a checkpoint comes before "
            "each change.",
        ),
        (against_table, prediction_table),
        against_statements,
    ),
    "orders": Experiment(
        "What the plan is worth",
        (
            "The same moves, between even ranges of tasks, are carried out by the same program in the order of the paper's "
            "mini-migrations (one task comes to a worker in a step), in DRRS's greedy order and in Megaphone's three.",
        ),
        (order_table,),
        order_statements,
    ),
    "throughput": Experiment(
        "At rest",
        ("A burst of tuples comes at once; its throughput is measured at the writer, live and plain in turn.",),
        (throughput_table,),
        throughput_statements,
    ),
    "response": Experiment(
        "Fig. 15: response time by minute",
        ("The paper's baseline writes all state to a file server and starts again, which is what a savepoint restart does.",),
        (response_table,),
        response_statements,
        Drawing(
            "fig15-live-migration.svg", "Mean response time by minute, live and under two ways to start again", draw_response
        ),
    ),
    "windows": Experiment(
        "Fig. 13: response time by window",
        (
            "The frequent-pattern application, its loop unrolled: two live operators whose tasks move together. A link carries "
            "equally many bytes/s to and from each worker. The paper does not say whether tasks were suspended; both are shown.",
        ),
        (window_table,),
        window_statements,
        Drawing("fig13-response-times.svg", "Mean response time after a migration by window and method", draw_windows),
    ),
}
FIGURES = tuple(experiment.drawing.file for experiment in EXPERIMENTS.values() if experiment.drawing is not None)
"""Files of the figures."""


def statements(rows: LiveRows) -> list[Statement]:
    """All aims on which there are rows, judged."""
    return [
        statement
        for name, experiment in EXPERIMENTS.items()
        if getattr(rows, name)
        for statement in experiment.statements(getattr(rows, name))
    ]


def report(rows: LiveRows) -> Report:
    """The report of rows that were read."""
    judged = statements(rows)
    tables = [table(getattr(rows, name)) for name, part in EXPERIMENTS.items() if getattr(rows, name) for table in part.tables]
    return Report(
        "Live migration on Flink",
        "Tasks that move while tuples flow, against Flink's own ways, in several orders, and at rest; Figs. 13 and 15.",
        verdicts=list(_verdicts(rows, judged)),
        statements=judged,
        shown=tables,
        documented=tables,
        sections=lambda drawings, command: _sections(rows, judged, drawings, command),
        records={**{name: list(map(_flat, getattr(rows, name))) for name in KEYS}, "statements": claim_records(judged)},
    )


def _verdicts(rows: LiveRows, judged: list[Statement]) -> Iterator[str]:
    yield f"Of {len(judged)} statements {sum(statement.holds for statement in judged)} hold."
    yield f"Load of the machine: {load_text(rows.all())}."


def _sections(rows: LiveRows, judged: list[Statement], drawings: Path, command: str) -> Iterator[Section]:
    """The sections of the page; figures are drawn into a folder and inlined."""
    yield Section("What we aim at", tables=(claim_table(judged),))
    for name, experiment in EXPERIMENTS.items():
        listed = getattr(rows, name)
        if listed:
            figure = None
            if experiment.drawing is not None:
                file, caption, draw = experiment.drawing
                draw(listed, drawings / file)
                figure = Figure(caption, drawings / file)
            tables = tuple(table(listed) for table in experiment.tables)
            yield Section(experiment.heading, experiment.sentences, figure=figure, tables=tables)
    yield how_run(command, {f"rows of {name}": str(len(getattr(rows, name))) for name in KEYS})


def _flat(row: Row) -> Record:
    """The numbers and words of a row; figures of latency get a column each, and minutes one of their means."""
    flat = {name: value for name, value in row.items() if value is None or isinstance(value, str | int | float)}
    for when in ("before", "during"):
        flat |= {f"{when}_{name}": value for name, value in row.get(when, {}).items()}
    return flat | {f"minute_{number}": figures["mean"] for number, figures in row.get("minutes", {}).items()}
