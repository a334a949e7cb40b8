"""`edrp benchmark`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from edrp.batch import read_rows
from edrp.cli import options
from edrp.cli.app import ExitCode
from edrp.cli.batch import Jobs, Master, batch_progress, check_place, place_of_work, print_warnings, saying_what_is_kept
from edrp.cli.terminal import errors, output, say, show
from edrp.core.errors import Fault, InvalidInstanceError, numbered
from edrp.core.files import refuse_missing
from edrp.core.folders import refuse_folder
from edrp.report.page import require_packages
from edrp.validation.benchmark.suite_run import ROWS, WRITTEN, missing_for_page, run_benchmark
from edrp.validation.benchmark.suites import SUITES, Suite, get_suite, own_suite

if TYPE_CHECKING:
    from edrp.validation.benchmark.suite_run import Benchmark

SHOWN_ALARMS = 20
NAMES = ", ".join([*(suite.name for suite in SUITES), "library/KIND/SIZE"])

Out = Annotated[Path, options.out_option("Output folder for rows, tables and report; the same command continues a stopped run.")]
More = Annotated[list[Path] | None, options.argument("Further instances, as for --instances.", metavar="[FILE|FOLDER]…")]
SuiteTimeLimit = Annotated[float | None, options.seconds_option("Time limit for each instance; default: the suite's.")]
Seeds = Annotated[
    int | None, options.option("Number of seeds for each method and instance; default: that of the suite.", "--seeds", min=1)
]


def compare_methods(
    out: Out,
    more: More = None,
    suite: Annotated[str | None, options.option(f"Suite of instances: {NAMES}, or one of another package.", "--suite")] = None,
    instances: Annotated[
        list[Path] | None,
        options.option(
            "Instead of a suite: instance files, folders, or Parquet or .jsonl files with the columns id and instance.",
            "--instances",
            metavar="FILE|FOLDER …",
        ),
    ] = None,
    method: Annotated[
        list[str] | None,
        options.option(
            "Method, or name:key=value,… with parameters; may be repeated; default: those of the suite.", "--method", "-m"
        ),
    ] = None,
    spark: Master = None,
    jobs: Jobs = None,
    data: Annotated[Path | None, options.option("Folder of input data, for suites that need it.", "--data")] = None,
    time_limit: SuiteTimeLimit = None,
    work_limit: Annotated[
        float | None,
        options.finite_option("Units of work for each instance instead of a time limit; answers repeat.", "--work-limit"),
    ] = None,
    seeds: Seeds = None,
    force: options.ForceFolder = False,
    certify: Annotated[bool, options.option("Certify proofs and report the share that was checked.", "--certify")] = False,
) -> None:
    """Compare methods with the proven optimum on a suite or on your own instances, and write tables and a report.

    The exit code is 1 if an answer beats an optimum that another method proved, or does not hold when it is evaluated again.
    """
    check_place(spark, jobs)
    require_packages(pandas="report")
    options.warn_of_missing(jinja2="report", plotly="report")
    paths = [*(instances or ()), *(more or ())]
    chosen = _suite(suite, paths)
    if data is not None:
        refuse_missing(data)
    refuse_folder(out, WRITTEN, force=force)
    flags: dict[str, Any] = {
        "--suite": [suite],
        "--instances": paths,
        "--method": method or [],
        "--spark": [spark],
        "--jobs": [jobs],
    }
    flags |= {"--data": [data], "--time-limit": [time_limit], "--work-limit": [work_limit], "--seeds": [seeds], "--out": [out]}
    with place_of_work(spark, jobs) as where, batch_progress(f"benchmark {chosen.name}") as report, saying_what_is_kept(out):
        found = run_benchmark(
            chosen,
            out,
            data=data,
            methods=method,
            seeds=seeds,
            time_limit=time_limit,
            work_limit=work_limit,
            force=force,
            certify=certify,
            command=options.command_text("benchmark", flags) + " --certify" * certify,
            progress=report,
            **where,
        )
    print_warnings([read_rows(out / ROWS, ("warnings",))])
    _print(found)
    raise typer.Exit(exit_code(found))


def _suite(name: str | None, paths: list[Path]) -> Suite:
    """The suite of that name, or the instances at these paths as one; exactly one of both must be given."""
    if name is None and not paths:
        raise InvalidInstanceError([Fault("--suite", "", "is missing; name a suite, or give your own files with --instances")])
    if name is not None and paths:
        raise InvalidInstanceError([Fault("--suite", name, "goes without --instances and files: a suite has instances already")])
    return own_suite(paths) if name is None else get_suite(name)


def exit_code(found: Benchmark) -> ExitCode:
    """A defect counts most, then rows that failed; that a method finds nothing or refuses is a result, not a failure."""
    if found.alarms:
        return ExitCode.DEFECT
    return ExitCode.BAD_INPUT if (found.runs["outcome"] == "failed").any() else ExitCode.SOLVED


def _print(found: Benchmark) -> None:
    from edrp.validation.benchmark.sentences import common_sentence
    from edrp.validation.benchmark.tables import summary_table

    console = output()
    for kind, summary in found.summaries.items():
        show(console, [summary_table(kind, summary)])
        if note := common_sentence(summary).replace("`", ""):
            say(console, note)
    for sentence in found.recommendations:
        say(console, sentence.replace("`", ""))
    for sentence in found.better:
        say(console, sentence, "green")
    where = "the report" if found.report else "runs.csv"
    failed = int((found.runs["outcome"] == "failed").sum())
    if failed:
        say(errors(), f"{numbered(failed, 'run')} failed; {where} says why", "red")
    shown = found.alarms[:SHOWN_ALARMS] if found.report else found.alarms
    for alarm in shown:
        say(errors(), f"defect: {alarm}", "bold red")
    if len(found.alarms) > len(shown):
        say(errors(), f"… and {len(found.alarms) - len(shown)} more defects; all are in the report", "bold red")
    if found.report:
        say(console, f"report: {found.report}")
    else:
        say(console, f"no page: {missing_for_page()}; then the same command writes it")
