"""`edrp benchmark`."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from edrp.cli.batch import Jobs, Master, batch_progress, check_place, session_on
from edrp.cli.exit import ExitCode
from edrp.cli.solve import TimeLimit
from edrp.cli.terminal import errors, output, say, table
from edrp.core.errors import Fault, InvalidInstanceError
from edrp.core.files import refuse_missing
from edrp.validation.benchmark.suite_run import require_report_packages, run_benchmark
from edrp.validation.benchmark.suites import SUITES, get_suite

if TYPE_CHECKING:
    from edrp.validation.benchmark.suite_run import Benchmark

SHOWN_ALARMS = 20
NAMES = ", ".join(suite.name for suite in SUITES)


def compare_methods(
    suite: Annotated[str, typer.Option("--suite", help=f"One of {NAMES}, or of another package.", show_default=False)],
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder for rows, tables and report; the same command again goes on.")],
    method: Annotated[
        list[str] | None,
        typer.Option("--method", "-m", help="Instead of the suite's; name or name:key=value,…; may be repeated."),
    ] = None,
    spark: Master = None,
    jobs: Jobs = None,
    data: Annotated[Path | None, typer.Option("--data", help="Folder of data, for suites that need it.")] = None,
    time_limit: TimeLimit = None,
    seeds: Annotated[int | None, typer.Option("--seeds", min=1, help="Seeds for each method and instance.")] = None,
) -> None:
    """Compare methods with the proven optimum on a suite of instances: tables and one HTML report.

    Exit code 1 if an answer beats what another method proved, or does not hold when evaluated once more.
    """
    check_place(spark, jobs)
    require_report_packages()
    chosen = get_suite(suite)
    if data is not None:
        refuse_missing(data)
    if out.exists() and not out.is_dir():
        raise InvalidInstanceError([Fault("--out", str(out), "must be a folder")])
    options: dict[str, Any] = {"--suite": [suite], "--method": method, "--spark": [spark], "--jobs": [jobs], "--data": [data]}
    options |= {"--time-limit": [time_limit], "--seeds": [seeds], "--out": [out]}
    with session_on(spark) as session, batch_progress(f"benchmark {suite}") as report:
        arguments: dict[str, Any] = {"spark": session} if session is not None else {"n_jobs": jobs}
        try:
            found = run_benchmark(
                chosen,
                out,
                data=data,
                methods=method,
                seeds=seeds,
                time_limit=time_limit,
                command=_command(options),
                progress=report,
                **arguments,
            )
        except KeyboardInterrupt:
            say(errors(), f"interrupted; what is solved is kept in {out}, the same command goes on from there", "red")
            raise typer.Exit(ExitCode.INTERRUPTED) from None
    _print(found)
    raise typer.Exit(exit_code(found))


def exit_code(found: Benchmark) -> ExitCode:
    """A defect counts most, then rows that failed; that a method finds nothing or refuses is a result, not a failure."""
    if found.alarms:
        return ExitCode.DEFECT
    return ExitCode.BAD_INPUT if (found.runs["outcome"] == "failed").any() else ExitCode.SOLVED


def _command(options: dict[str, Any]) -> str:
    words = ["edrp", "benchmark"]
    for name, values in options.items():
        words += [word for value in values or [] if value is not None for word in (name, str(value))]
    return shlex.join(words)


def _print(found: Benchmark) -> None:
    from edrp.validation.benchmark.formatting import counted, duration, percent

    console = output()
    columns = ("method", "feasible", "proven", "median gap", "mean gap", "worst gap", "median time", "failed")
    for kind, summary in found.summaries.items():
        rows = [
            (
                str(method),
                *(percent(own[name]) for name in ("solved", "proven", "median_gap", "mean_gap", "worst_gap")),
                duration(own["median_seconds"]),
                str(int(own["failed"])),
            )
            for method, own in summary.iterrows()
        ]
        console.print(table(columns, rows, f"kind {kind}", right=columns[1:]))
    failed = int((found.runs["outcome"] == "failed").sum())
    if failed:
        say(errors(), f"{counted(failed, 'run')} failed; the report says why", "red")
    for alarm in found.alarms[:SHOWN_ALARMS]:
        say(errors(), f"defect: {alarm}", "bold red")
    if len(found.alarms) > SHOWN_ALARMS:
        say(errors(), f"… and {len(found.alarms) - SHOWN_ALARMS} more defects; all are in the report", "bold red")
    say(console, f"report: {found.report}")
