"""`edrp batch`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Annotated, Any

import pyarrow as pa
import pyarrow.compute as pc
import typer

from edrp.batch import read_rows, solve_batch
from edrp.batch.progress import Report
from edrp.batch.rows import warned_instances
from edrp.batch.source import read_instances
from edrp.batch.tasks import read_choices
from edrp.cli.app import ExitCode, gravest
from edrp.cli.options import Strict, TimeLimit, WorkLimit, finite
from edrp.cli.terminal import errors, output, say, show, table
from edrp.core.errors import Fault, InvalidInstanceError, numbered
from edrp.core.spark import require_spark, spark_session
from edrp.core.tolerances import OPTIMALITY_GAP
from edrp.report.progress import Count, counting

SHOWN_REASONS = 20
SHOWN_WARNINGS = 20
SUMMARISED = ("outcome", "error_type", "error_message", "warnings")

Out = Annotated[
    Path, typer.Option("--out", "-o", help="Output folder for the rows (Parquet); the same command continues a stopped batch.")
]
Master = Annotated[
    str | None,
    typer.Option("--spark", metavar="MASTER", help="Spark master, such as local[2] or spark://host:port; default: no Spark."),
]
Jobs = Annotated[int | None, typer.Option("--jobs", "-j", help="Number of processes; default: one per core.")]


def solve_many(
    source: Annotated[
        Path,
        typer.Argument(
            help="Instance file, folder of instance files, or Parquet or .jsonl file with the columns id and instance."
        ),
    ],
    out: Out,
    method: Annotated[
        list[str] | None,
        typer.Option("--method", "-m", help="Method, or name:key=value,… with parameters; may be repeated; default: auto."),
    ] = None,
    spark: Master = None,
    jobs: Jobs = None,
    time_limit: TimeLimit = None,
    work_limit: WorkLimit = None,
    gap: Annotated[
        float, typer.Option(min=0, callback=finite, help="Relative gap at which a solution counts as optimal.")
    ] = OPTIMALITY_GAP,
    certify: Annotated[
        bool, typer.Option("--certify", help="Store a checked certificate in the row of every optimum that has one.")
    ] = False,
    strict: Strict = False,
    seed: Annotated[
        list[int] | None, typer.Option(min=0, help="Seed of the random number generator; may be repeated; default: 0.")
    ] = None,
    kill_after: Annotated[
        float | None,
        typer.Option(
            min=0, callback=finite, help="Seconds after which a row is stopped; default: twice the time limit plus 120."
        ),
    ] = None,
) -> None:
    """Solve many instances with one or several methods, on this machine or on Spark, and write a row for each.

    Broken instances, crashes and instances that do not end affect only their own row. If a batch is stopped, the same
    command continues it and solves only the rows that are missing or failed.
    """
    check_place(spark, jobs)
    read_choices(method or ["auto"])  # before a long source is read and a session started
    instances = read_instances(source)
    with place_of_work(spark, jobs) as where, batch_progress("solving") as report, saying_what_is_kept(out):
        solve_batch(
            instances,
            method or "auto",
            out=out,
            time_limit=time_limit,
            work_limit=work_limit,
            gap=gap,
            certify=certify,
            strict=strict,
            seed=seed or 0,
            kill_after=kill_after,
            progress=report,
            **where,
        )
    rows = read_rows(out, SUMMARISED)
    print_warnings(rows)
    print_summary(rows, out)
    raise typer.Exit(exit_code(rows))


def check_place(spark: str | None, jobs: int | None) -> None:
    """Refuse, before anything is done, Spark where it is not installed, and jobs where Spark decides what it does at once."""
    if spark is not None and jobs is not None:
        why = "goes without --spark, where the master says how many, as in local[2]"
        raise InvalidInstanceError([Fault("--jobs", str(jobs), why)])
    if spark is not None:
        require_spark(spark)
    if jobs == 0:
        raise InvalidInstanceError([Fault("--jobs", "0", "must be a number of processes, or -1 for one per core")])


@contextmanager
def place_of_work(master: str | None, jobs: int | None) -> Iterator[dict[str, Any]]:
    """Where to run, as arguments of `solve_batch`: a Spark session on that master, or so many processes without one."""
    with nullcontext() if master is None else spark_session(master, in_python=True) as session:
        yield {"n_jobs": jobs} if session is None else {"spark": session}


@contextmanager
def saying_what_is_kept(out: Path) -> Iterator[None]:
    """Say after Ctrl-C that the same command goes on, and end the command."""
    try:
        yield
    except KeyboardInterrupt:
        say(errors(), f"interrupted; what is solved is kept in {out}, the same command goes on from there", "red")
        raise typer.Exit(ExitCode.INTERRUPTED) from None


@contextmanager
def batch_progress(text: str) -> Iterator[Report]:
    """Show how far a batch is while the block runs; yields what `solve_batch` calls."""
    with counting(errors(), text) as report:
        yield lambda now: report(Count(now.done, now.total, now.note))


def print_summary(rows: pa.Table, out: Path) -> None:
    """How many rows had which outcome by method, and why there is no answer, failures first."""
    outcomes = Counter(zip(rows["method"].to_pylist(), rows["outcome"].to_pylist(), strict=True))
    names = ("solved", "infeasible", "nothing found", "refused", "failed")
    methods = list(dict.fromkeys(rows["method"].to_pylist()))
    cells = [(method, *(str(outcomes[method, name]) for name in names)) for method in methods]
    console = output()
    show(console, [table(("method", *names), cells, right=names)])
    columns = ("id", "method", "outcome", "error_message")
    graves = [rows.filter(pc.equal(rows["outcome"], name)).select(columns) for name in ("failed", "infeasible", "nothing found")]
    found = pa.concat_tables(graves)
    if found.num_rows:
        shown = found.slice(0, SHOWN_REASONS).to_pylist()
        reasons = [(row["id"], row["method"], row["outcome"], _short(row["error_message"])) for row in shown]
        show(console, [table(("id", "method", "outcome", "why"), reasons)])
    if found.num_rows > SHOWN_REASONS:
        say(console, f"… and {found.num_rows - SHOWN_REASONS} more: see the columns error_type, error_place and error_message")
    say(console, f"{rows.num_rows} rows in {out}")


def print_warnings(rows: pa.Table) -> None:
    """Print each warning of the instances of a batch once, with the number of instances, the most frequent first."""
    counts = list(warned_instances(rows).items())
    for text, count in counts[:SHOWN_WARNINGS]:
        say(errors(), f"warning: {text} ({numbered(count, 'instance')})", "yellow")
    if len(counts) > SHOWN_WARNINGS:
        say(errors(), f"… and {len(counts) - SHOWN_WARNINGS} more warnings: see the column warnings", "yellow")


def exit_code(rows: pa.Table) -> ExitCode:
    """The gravest outcome counts; a refusal only where no method took the instance."""
    by_outcome = {"infeasible": ExitCode.INFEASIBLE, "nothing found": ExitCode.NOTHING_FOUND, "failed": ExitCode.BAD_INPUT}
    codes = [by_outcome.get(outcome, ExitCode.SOLVED) for outcome in set(rows["outcome"].to_pylist())]
    if "VerificationError" in rows["error_type"].to_pylist():
        codes.append(ExitCode.DEFECT)
    refused = rows.filter(pc.equal(rows["outcome"], "refused"))["id"].to_pylist()
    taken = rows.filter(pc.not_equal(rows["outcome"], "refused"))["id"].to_pylist()
    if set(refused) - set(taken):
        codes.append(ExitCode.BAD_INPUT)
    return gravest(codes)


def _short(message: str | None) -> str:
    text = message or ""
    return text if len(text) <= 160 else text[:159] + "…"
