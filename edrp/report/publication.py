"""A finished report: printed on a terminal, written as a page, as Markdown, CSV and JSON."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from rich.console import Console

from edrp.core.files import write_whole
from edrp.core.folders import filling
from edrp.report.page import Page, Section, render
from edrp.report.statements import Statement, print_statements
from edrp.report.tables import Table, markdown_table, print_tables

Record = Mapping[str, Any]

PAGE, JSON, MARKDOWN = "report.html", "tables.json", "tables.md"
WRITTEN = (PAGE, JSON, MARKDOWN)
"""Files that every report writes."""


@dataclass(frozen=True, slots=True)
class Report:
    """The contents of a report.

    Attributes
    ----------
    statements : sentences of the paper, judged.
    shown, documented : tables for the terminal, and for a Markdown document.
    sections
        Gives the sections of the page; takes the folder that figures are drawn into and the command that repeats the run.
    records : rows of the CSV files by their names; the JSON file holds them too.
    further : further entries of the JSON file, before and after the records.
    """

    title: str
    summary: str
    verdicts: Sequence[str]
    statements: Sequence[Statement]
    shown: Sequence[Table]
    documented: Sequence[Table]
    sections: Callable[[Path, str], Iterable[Section]]
    records: Mapping[str, Sequence[Record]]
    further: tuple[Mapping[str, Any], Mapping[str, Any]] = field(default=({}, {}))

    def print(self, console: Console) -> None:
        """Print tables, statements and results."""
        print_tables(console, *self.shown)
        print_statements(console, self.statements)
        for sentence in self.verdicts:
            console.print(sentence, highlight=False, markup=False)

    def write(self, out: Path, command: str, *, force: bool = False) -> Path:
        """Write the page, its figures and the tables into a folder, which is made if needed; all of them or none.

        Parameters
        ----------
        command
            Repeats the run.
        force
            Whether to replace files of the same names that others wrote.

        Returns
        -------
        Path
            The page.
        """
        with filling(out, force=force) as folder:
            sections = list(self.sections(folder, command))
            write_whole(folder / PAGE, render(Page(self.title, self.summary, self.verdicts, sections, datetime.now(UTC))))
            write_records(folder, self.records)
            before, after = self.further
            write_whole(folder / JSON, json.dumps({**before, **self.records, **after}, indent=2, ensure_ascii=False) + "\n")
            write_whole(folder / MARKDOWN, "\n".join([*self.verdicts, "", *map(markdown_table, self.documented)]))
        return out / PAGE


def write_records(out: Path, records: Mapping[str, Sequence[Record]]) -> None:
    """Write each list of records as a CSV file of its name; empty lists make no file."""
    for name, rows in records.items():
        if rows:
            write_whole(out / f"{name}.csv", csv_text(rows))


def csv_text(records: Sequence[Record]) -> str:
    r"""Records as CSV; the first says which columns there are.

    >>> csv_text([{"a": 1, "b": None}])
    'a,b\n1,\n'
    """
    text = io.StringIO()
    writer = csv.DictWriter(text, list(records[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(records)
    return text.getvalue()
