"""Response times of live migration on a real cluster as one report: Figs. 13 and 15."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from edrp.report.page import Figure, Section, how_run
from edrp.report.publication import Record, Report
from edrp.report.statements import Statement
from edrp.report.tables import Table
from edrp.validation.papers.claims import claim_records, claim_table
from edrp.validation.papers.live.figures import (
    draw_minutes,
    draw_windows,
    minute_statements,
    minute_table,
    window_statements,
    window_table,
)
from edrp.validation.papers.live.rows import LiveRows, Row, load_text


class Experiment(NamedTuple):
    """How the rows of an experiment are shown, judged and drawn into a file."""

    heading: str
    sentence: str
    table: Callable[[Sequence[Row]], Table]
    statements: Callable[[Sequence[Row]], Iterator[Statement]]
    file: str
    caption: str
    draw: Callable[[Sequence[Row], Path], None]


EXPERIMENTS = {
    "response": Experiment(
        "Fig. 15: response time by minute",
        "The paper's baseline writes all state to a file server and starts again, which is what a savepoint restart does.",
        minute_table,
        minute_statements,
        "fig15-live-migration.svg",
        "Mean response time by minute, live and under two ways to start again",
        draw_minutes,
    ),
    "windows": Experiment(
        "Fig. 13: response time by window",
        "The frequent-pattern application, its loop unrolled: two live operators whose tasks move together. A link carries "
        "equally many bytes/s to and from each worker. The paper does not say whether tasks were suspended; both are shown.",
        window_table,
        window_statements,
        "fig13-response-times.svg",
        "Mean response time after a migration by window and method",
        draw_windows,
    ),
}
FIGURES = tuple(experiment.file for experiment in EXPERIMENTS.values())
"""Files of the figures."""


def report(rows: LiveRows) -> Report:
    """The report of rows that were read; experiments without rows are left out."""
    known = {name: rows[name] for name in EXPERIMENTS if rows.get(name)}
    judged = [statement for name, listed in known.items() for statement in EXPERIMENTS[name].statements(listed)]
    tables = {name: EXPERIMENTS[name].table(listed) for name, listed in known.items()}

    def sections(drawings: Path, command: str) -> Iterator[Section]:
        yield Section("What we aim at", tables=(claim_table(judged),))
        for name, listed in known.items():
            experiment = EXPERIMENTS[name]
            experiment.draw(listed, drawings / experiment.file)
            figure = Figure(experiment.caption, drawings / experiment.file)
            yield Section(experiment.heading, (experiment.sentence,), figure=figure, tables=(tables[name],))
        yield how_run(command, {f"rows of {name}": str(len(rows.get(name, ()))) for name in EXPERIMENTS})

    return Report(
        "Live migration on Flink",
        "Response times while tasks move and tuples flow, next to other ways to change a job; Figs. 13 and 15.",
        verdicts=[
            f"Of {len(judged)} statements {sum(statement.holds for statement in judged)} hold.",
            f"Load of the machine: {load_text(row for listed in known.values() for row in listed)}.",
        ],
        statements=judged,
        shown=list(tables.values()),
        documented=list(tables.values()),
        sections=sections,
        records={**{name: list(map(_flat, listed)) for name, listed in known.items()}, "statements": claim_records(judged)},
    )


def _flat(row: Row) -> Record:
    """The numbers and words of a row; minutes get a column each of their means."""
    flat = {name: value for name, value in row.items() if value is None or isinstance(value, str | int | float)}
    return flat | {f"minute_{number}": figures["mean"] for number, figures in row.get("minutes", {}).items()}
