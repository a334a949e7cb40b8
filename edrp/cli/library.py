"""`edrp library`: instances with the best decisions and bounds that are known, and their evidence."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Annotated, Any

import typer

from edrp.certified.library import FOLDER, Library
from edrp.certified.records import Size, Status
from edrp.certified.submissions import read_submission, submit
from edrp.cli.app import ExitCode
from edrp.cli.options import argument, choice_option, command_group, option, out_option
from edrp.cli.terminal import errors, output, say, show, table
from edrp.core.errors import numbered
from edrp.core.folders import filling
from edrp.core.solution import relative_gap
from edrp.report.progress import Count, counting
from edrp.report.tables import Table

library = command_group()

Folder = Annotated[Path, option("Folder of the library; default: that of this package.", "--folder")]
Kind = Annotated[str | None, argument("Kind of problem; default: all.")]
RowName = Annotated[str, argument("Id of a row, such as edrp/layered-10-on-48-0.")]

STATUSES: tuple[Status, ...] = ("full proof", "stated program", "claimed", "open", "no decision")


@library.command("list")
def print_rows(
    kind: Kind = None,
    size: Annotated[Size | None, choice_option(Size, "Work that closed a row: second, minute or hour; or open.")] = None,
    folder: Folder = FOLDER,
) -> None:
    """List rows with the best objective and bound that are known, and what the bound rests on."""
    rows = []
    for row in Library(folder).select(kind, size):
        best, bound = row.record.best, row.record.bound
        values = ("" if found is None else f"{found.value:.9g}" for found in (best, bound))
        gap = "" if best is None or bound is None else f"{100 * relative_gap(best.value, bound.value):.3g} %"
        rows.append((row.name, *values, gap, row.record.status, row.record.size))
    columns = ("row", "objective", "bound", "gap", "evidence", "closed in")
    show(output(), [table(columns, rows, right=("objective", "bound", "gap"))])


@library.command("show")
def show_row(name: RowName, folder: Folder = FOLDER) -> None:
    """Print the record of a row as JSON: origin, decisions and bounds with their history, and evidence."""
    typer.echo(Library(folder)[name].record.model_dump_json(indent=2))


@library.command("get")
def get_row(
    name: RowName,
    out: Annotated[Path, out_option("Folder for instance.json, solution.json and certificate.jsonl.")],
    folder: Folder = FOLDER,
    force: Annotated[bool, option("Replace files that others wrote.", "--force")] = False,
) -> None:
    """Write an instance, the best solution that is known, and its certificate, as `edrp check` takes them."""
    row = Library(folder)[name]
    with filling(out, force=force) as stage:
        (stage / "instance.json").write_text(row.instance.text)
        if row.solution is not None:
            (stage / "solution.json").write_text(json.dumps(row.solution.to_document(), indent=2) + "\n")
        if row.certificate is not None:
            (stage / "certificate.jsonl").write_text(row.certificate)
    say(output(), f"{name} written to {out}")


@library.command("verify")
def verify_rows(
    names: Annotated[list[str] | None, argument("Ids of rows; default: all.", metavar="[ROW]…")] = None,
    jobs: Annotated[int, option("Number of processes.", min=1)] = 2,
    folder: Folder = FOLDER,
) -> None:
    """Check hashes, decisions (by two evaluators), certificates (in exact arithmetic), and that sides do not cross.

    The exit code is 2 if anything does not hold. What cannot be checked is said, and how often.
    """
    checked = Library(folder)
    with counting(errors(), "verifying") as tell:
        judgements = checked.verify(names, n_jobs=jobs, progress=lambda done, total: tell(Count(done, total)))
    wrong = [judgement for judgement in judgements if judgement.fault]
    for judgement in wrong:
        say(output(), f"{judgement.name}: {judgement.fault}", "red")
    for text, count in sorted(Counter(text for row in judgements for text in row.unchecked).items()):
        say(output(), f"not checked in {numbered(count, 'row')}: {text}", "yellow")
    strangers = checked.strangers() if names is None else []
    if strangers:
        say(output(), f"{numbered(len(strangers), 'file')} that no record names, such as {strangers[0]}", "yellow")
    proven = sum(checked[judgement.name].record.closed for judgement in judgements if not judgement.fault)
    say(output(), f"{numbered(len(judgements) - len(wrong), 'row')} of {len(judgements)} hold, {proven} with a certificate")
    raise typer.Exit(ExitCode.BAD_INPUT if wrong else ExitCode.SOLVED)


@library.command("submit")
def submit_files(
    files: Annotated[list[Path], argument("A solution document, a certificate, or both.", metavar="FILE…")],
    row: Annotated[
        str | None, option("Id of the row; default: that which the certificate or the solution states.", "--row")
    ] = None,
    by: Annotated[str, option("What found it, such as a solver with its version; default: what the solution says.", "--by")] = "",
    folder: Folder = FOLDER,
) -> None:
    """Check a solution or certificate of any solver, and record it if it is better than what is known.

    A `bound` without a certificate is kept as a claim. Exit codes: 0 recorded, 4 not better, 2 wrong.
    """
    receipt = submit(Library(folder), read_submission(files, row, by))
    say(output(), f"{receipt.row}: {receipt.sentence}", "green" if receipt.accepted else "yellow")
    raise typer.Exit(ExitCode.SOLVED if receipt.accepted else ExitCode.NOTHING_FOUND)


@library.command("table")
def print_table(folder: Folder = FOLDER) -> None:
    """Count rows by kind, evidence and size."""
    show(output(), [summary_table(Library(folder))])


def summary_table(rows: Library) -> Table:
    """Numbers of rows by kind, evidence and size, and bytes of their files."""
    sizes: tuple[Size, ...] = ("second", "minute", "hour")
    lines = []
    for kind in (*rows.kinds, "all"):
        records = [row.record for name, row in rows.items() if kind in ("all", name.partition("/")[0])]
        counts: list[Any] = [len(records)]
        counts += [sum(record.status == status for record in records) for status in STATUSES]
        counts += [sum(record.size == size for record in records) for size in sizes]
        stored = sum((rows.folder / file.path).stat().st_size for record in records for file in record.files)
        lines.append((kind, *map(str, counts), f"{stored / 1000:.0f}"))
    columns = ("kind", "rows", *STATUSES, *(f"in a {size}" if size != "hour" else "in an hour" for size in sizes), "kB")
    return table(columns, lines, right=columns[1:])
