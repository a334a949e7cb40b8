"""`edrp batch`."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pyarrow as pa
import typer

from edrp.batch import StoredRows, solve_batch
from edrp.batch.journal import Report
from edrp.batch.rows import warned_instances
from edrp.batch.source import open_instances
from edrp.batch.tasks import read_choices
from edrp.cli.app import ExitCode, gravest
from edrp.cli.options import Strict, TimeLimit, WorkLimit, argument, finite_option, option, out_option
from edrp.cli.terminal import errors, output, say, show, table
from edrp.core.errors import Fault, InvalidInstanceError, numbered
from edrp.core.spark import require_spark, spark_session
from edrp.core.tolerances import OPTIMALITY_GAP
from edrp.report.progress import Count, counting

SHOWN_REASONS = 20
SHOWN_WARNINGS = 20
SUMMARISED = ("id", "method", "run_seed", "outcome", "error_type", "error_message")
OUTCOMES = ("solved", "infeasible", "nothing found", "refused", "failed")
GRAVE = ("failed", "infeasible", "nothing found")
"""Outcomes whose reasons are printed, in this order."""

Out = Annotated[Path, out_option("Output folder for the rows (Parquet); the same command continues a stopped batch.")]
Master = Annotated[
    str | None, option("Spark master, such as local[2] or spark://host:port; default: no Spark.", "--spark", metavar="MASTER")
]
Jobs = Annotated[int | None, option("Number of processes; default: one per core.", "--jobs", "-j")]


def solve_many(
    source: Annotated[
        Path, argument("Instance file, folder of instance files, or Parquet or .jsonl file with the columns id and instance.")
    ],
    out: Out,
    method: Annotated[
        list[str] | None, option("Method, or name:key=value,… with parameters; may be repeated; default: auto.", "--method", "-m")
    ] = None,
    spark: Master = None,
    jobs: Jobs = None,
    time_limit: TimeLimit = None,
    work_limit: WorkLimit = None,
    gap: Annotated[float, finite_option("Relative gap at which a solution counts as optimal.")] = OPTIMALITY_GAP,
    certify: Annotated[
        bool, option("Store a checked certificate in the row of every optimum that has one.", "--certify")
    ] = False,
    strict: Strict = False,
    seed: Annotated[list[int] | None, option("Seed of the random number generator; may be repeated; default: 0.", min=0)] = None,
    kill_after: Annotated[
        float | None, finite_option("Seconds after which a row is stopped; default: twice the time limit plus 120.")
    ] = None,
) -> None:
    """Solve many instances with one or several methods, on this machine or on Spark, and write a row for each.

    Broken instances, crashes and instances that do not end affect only their own row. If a batch is stopped, the same
    command continues it and solves only the rows that are missing or failed.
    """
    check_place(spark, jobs)
    read_choices(method or ["auto"])  # before a long source is read and a session started
    instances = open_instances(source)
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
    rows = StoredRows(out)
    print_warnings(rows.parts(("id", "warnings")))
    summary = Summary()
    for part in rows.parts(SUMMARISED):
        summary.add(part)
    summary.print(out)
    raise typer.Exit(summary.exit_code)


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
    """Where to run, as arguments of `solve_batch`: a Spark session on `master`, or `jobs` processes without one."""
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


class Summary:
    """Outcomes of rows, which are looked at file by file.

    Attributes
    ----------
    outcomes : number of rows by method and outcome.
    reasons : why there is no answer, failures first: the least rows of their kind, as they are printed.
    """

    def __init__(self) -> None:
        self.outcomes: Counter[tuple[str, str]] = Counter()
        self.reasons: list[tuple[int, str, str, int, str, str]] = []
        self._is_defect = False
        self._refused, self._taken = array("q"), array("q")

    def add(self, rows: pa.Table) -> None:
        """Count rows that have the columns `SUMMARISED`."""
        for row in rows.to_pylist():
            name, method, outcome = row["id"], row["method"], row["outcome"]
            self.outcomes[method, outcome] += 1
            self._is_defect |= row["error_type"] == "VerificationError"
            (self._refused if outcome == "refused" else self._taken).append(hash(name))
            if outcome in GRAVE:
                self.reasons.append((GRAVE.index(outcome), name, method, row["run_seed"], outcome, row["error_message"] or ""))
        self.reasons = sorted(self.reasons)[:SHOWN_REASONS]

    def print(self, out: Path) -> None:
        """Print how many rows had which outcome by method, and why there is no answer."""
        methods = sorted({method for method, _ in self.outcomes})
        cells = [(method, *(str(self.outcomes[method, name]) for name in OUTCOMES)) for method in methods]
        console = output()
        show(console, [table(("method", *OUTCOMES), cells, right=OUTCOMES)])
        if self.reasons:
            reasons = [(name, method, outcome, _short(why)) for _, name, method, _, outcome, why in self.reasons]
            show(console, [table(("id", "method", "outcome", "why"), reasons)])
        more = sum(count for (_, outcome), count in self.outcomes.items() if outcome in GRAVE) - len(self.reasons)
        if more:
            say(console, f"… and {more} more: see the columns error_type, error_place and error_message")
        say(console, f"{sum(self.outcomes.values())} rows in {out}")

    @property
    def exit_code(self) -> ExitCode:
        """The gravest outcome counts; a refusal only where no method took the instance."""
        by_outcome = {"infeasible": ExitCode.INFEASIBLE, "nothing found": ExitCode.NOTHING_FOUND, "failed": ExitCode.BAD_INPUT}
        codes = [by_outcome.get(outcome, ExitCode.SOLVED) for _, outcome in self.outcomes]
        if self._is_defect:
            codes.append(ExitCode.DEFECT)
        if len(self._refused) and len(np.setdiff1d(np.array(self._refused), np.array(self._taken))):
            codes.append(ExitCode.BAD_INPUT)
        return gravest(codes)


def print_warnings(tables: Iterable[pa.Table]) -> None:
    """Print each warning of the instances of a batch once, with the number of instances, the most frequent first."""
    counts = list(warned_instances(tables).items())
    for text, count in counts[:SHOWN_WARNINGS]:
        say(errors(), f"warning: {text} ({numbered(count, 'instance')})", "yellow")
    if len(counts) > SHOWN_WARNINGS:
        say(errors(), f"… and {len(counts) - SHOWN_WARNINGS} more warnings: see the column warnings", "yellow")


def _short(text: str) -> str:
    return text if len(text) <= 160 else text[:159] + "…"
