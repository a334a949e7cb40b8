"""Run a suite through the batch layer, and write its tables and its report."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypedDict, Unpack

import pyarrow as pa
import pyarrow.compute as pc

from edrp.batch import read_rows, solve_batch
from edrp.batch.tasks import Choice, read_choices, read_seeds
from edrp.certified.records import Row
from edrp.core.errors import BackendUnavailableError, Fault, InvalidInstanceError
from edrp.core.folders import filling, refuse_folder
from edrp.core.problem import Problem
from edrp.core.solution import resolution
from edrp.core.tolerances import OPTIMALITY_GAP, RECHECKED_VALUE
from edrp.report.page import require_packages
from edrp.validation.benchmark.recheck import Alarm, find_alarms, unchecked_kinds
from edrp.validation.benchmark.suites import Suite

if TYPE_CHECKING:
    import pandas as pd
    from pyspark.sql import SparkSession

ROWS, REPORT = "rows", "report.html"
WRITTEN = (REPORT, *(f"{name}.{ending}" for name in ("runs", "summary", "pairs") for ending in ("parquet", "csv")))
"""Files that a benchmark writes next to its rows."""


@dataclass(frozen=True, slots=True)
class Benchmark:
    """Findings of a benchmark, and where they were written.

    Attributes
    ----------
    report
        The HTML page; None where a package that it needs is not installed.
    runs
        One line per run, as in `runs.parquet`.
    summaries
        By kind of problem, one line per method, as in `summary.parquet`.
    alarms
        Claims that do not hold: defects.
    recommendations
        Which method to use when, in sentences, or why none is recommended.
    better
        Answers that are better than what the library knows, in sentences.
    """

    report: Path | None
    runs: pd.DataFrame
    summaries: Mapping[str, pd.DataFrame]
    alarms: tuple[Alarm, ...]
    recommendations: tuple[str, ...] = ()
    better: tuple[str, ...] = ()


class BenchmarkOptions(TypedDict, total=False):
    """Options of `run_benchmark`: what is tried instead of the suite's own, and where it runs."""

    methods: Sequence[str] | None
    seeds: int | None
    time_limit: float | None
    work_limit: float | None
    certify: bool
    spark: SparkSession | None
    n_jobs: int | None


def run_benchmark(
    suite: Suite,
    out: str | Path,
    *,
    data: str | Path | None = None,
    command: str = "",
    force: bool = False,
    progress: Any = None,
    **options: Unpack[BenchmarkOptions],
) -> Benchmark:
    """Solve all instances of a suite with all its methods, then compare them.

    Parameters
    ----------
    suite
        From `all_suites()`, `own_suite` of files and folders, or your own.
    out
        Folder for everything: `rows/` (resumable), the tables `runs`, `summary` and `pairs` as Parquet and CSV, and
        `report.html`. The same call again solves only what is missing or failed.
    data
        Folder of data, for suites that need it.
    command
        That repeats the run, for the report.
    force
        Whether to replace files that an earlier run did not write.
    progress
        As of `solve_batch`.
    **options
        `methods`, `seeds`, `time_limit`: instead of the suite's; `work_limit`: instead of a time limit.
        `certify`: whether proofs get certificates that are checked; the report says what share of them has one. `spark`:
        session to solve on; without it, `n_jobs` processes.

    Raises
    ------
    BackendUnavailableError
        Before any work: naming the extra that the tables need.
    InvalidInstanceError
        Before any work: an unknown method, no data where some is needed, a folder that holds something else.
    """
    require_packages(pandas="report")
    refuse_folder(out, WRITTEN, force=force)
    rows, instances, settings = solve_suite(suite, Path(out) / ROWS, data=data, progress=progress, **options)
    return write_benchmark(rows, instances, Path(out), suite, settings, command, force=force)


class SuiteRows(NamedTuple):
    """Rows of a suite (`RESULT_SCHEMA`), its instances by id, and how the rows were made, for the report."""

    rows: pa.Table
    instances: dict[str, Problem | str]
    settings: dict[str, str]


def solve_suite(
    suite: Suite,
    folder: Path | None,
    *,
    data: str | Path | None = None,
    progress: Any = None,
    **options: Unpack[BenchmarkOptions],
) -> SuiteRows:
    """Solve all instances of a suite with all its methods; rows are kept in a folder and continued there, where there is one.

    The other parameters and errors are those of `run_benchmark`.
    """
    tried: dict[str, Any] = {name: value for name, value in options.items() if value is not None}
    work_limit = tried.get("work_limit")
    time_limit = tried.get("time_limit", suite.time_limit if work_limit is None else None)
    limits: dict[str, Any] = {"time_limit": time_limit, "work_limit": work_limit, "gap": OPTIMALITY_GAP}
    if tried.get("certify"):
        limits["certify"] = True
    choices = read_choices(tried.get("methods", suite.methods), **limits)
    seeds = read_seeds(range(tried.get("seeds", suite.seeds)))
    if suite.needs_data and data is None:
        raise InvalidInstanceError([Fault("data", "", f"suite {suite.name!r} needs a folder of data")])
    instances = dict(suite.instances(None if data is None else Path(data)))
    where = {"spark": tried["spark"]} if "spark" in tried else {"n_jobs": tried.get("n_jobs")}
    names = [choice.method for choice in choices]
    solved = solve_batch(instances, names, out=folder, seed=seeds, progress=progress, **limits, **where)
    rows = solved if folder is None else _rows_of_choices(read_rows(folder), choices, seeds)
    return SuiteRows(rows, instances, _settings(suite, choices, seeds, limits, tried.get("spark")))


def _settings(
    suite: Suite, choices: Sequence[Choice], seeds: Sequence[int], limits: Mapping[str, Any], spark: SparkSession | None
) -> dict[str, str]:
    return {
        "suite": suite.name,
        "time limit for each run": "none" if limits["time_limit"] is None else f"{limits['time_limit']:g} s",
        **({} if limits["work_limit"] is None else {"work limit for each run": f"{limits['work_limit']:g} units"}),
        "gap that counts as proven": f"{limits['gap']:g}",
        "methods": ", ".join(choice.method for choice in choices),
        "seeds": ", ".join(map(str, seeds)),
        "run by": f"Spark on {spark.conf.get('spark.master', 'a cluster')}" if spark is not None else "processes on this machine",
    }


def write_benchmark(
    rows: pa.Table,
    instances: Mapping[str, Problem | str],
    out: Path,
    suite: Suite,
    settings: Mapping[str, str],
    command: str,
    *,
    force: bool = False,
) -> Benchmark:
    """Compare rows of the schema `RESULT_SCHEMA` and write tables and report into a folder, which is made if needed.

    Instances are problems or their text by id: every answer is evaluated once more. The suite gives the title; settings (names
    and values) and the command that repeats the run are part of the report. `force` replaces files that others wrote. Without
    jinja2 and plotly, which only the page needs, there is no page.
    """
    require_packages(pandas="report")
    from edrp.validation.benchmark.measures import UNREADABLE, compare_runs
    from edrp.validation.benchmark.recommendations import compare_kind, write_tables

    runs = compare_runs(rows, suite.known)
    better = list(_better(runs, suite.known))
    alarms = (*find_alarms(rows, instances), *(alarm for alarm in better if suite.known[alarm.id].closed))
    kinds = [kind for kind in dict.fromkeys(runs["kind"]) if kind != UNREADABLE]
    comparisons = [compare_kind(kind, runs[runs["kind"] == kind]) for kind in kinds]
    title = (f"Benchmark {suite.name}", f"{suite.summary[:1].upper()}{suite.summary[1:]}")
    unchecked = ", ".join(unchecked_kinds(kinds))
    but = f" but those of kind {unchecked}: their solutions offer no `decision`" if unchecked else ""
    settings = {**settings, "evaluated once more": f"all answers{but}"}
    with filling(out, force=force) as folder:
        write_tables(folder, runs, comparisons)
        if drawn := not missing_for_page():
            from edrp.validation.benchmark.report import write_page

            write_page(folder / REPORT, title, runs, comparisons, alarms, command, settings)
    advice = tuple(sentence for comparison in comparisons for sentence in comparison.recommendations)
    summaries = {comparison.kind: comparison.summary for comparison in comparisons}
    return Benchmark(
        out / REPORT if drawn else None,
        runs,
        summaries,
        alarms,
        advice,
        tuple(f"{alarm}; `edrp library submit` records it" for alarm in better if not suite.known[alarm.id].closed),
    )


def _better(runs: pd.DataFrame, known: Mapping[str, Row]) -> Iterator[Alarm]:
    """Yield the best answers to instances of which less is known, which is a defect where that is certified."""
    solved = runs[runs["solved"]]
    for run in solved.loc[solved.groupby("id")["objective"].idxmin()].itertuples():
        before = known[run.id].best if run.id in known else None
        if before is None:
            continue
        room = RECHECKED_VALUE * max(1.0, abs(before.value)) if known[run.id].closed else resolution(before.value)
        if run.objective < before.value - room:
            yield Alarm(run.id, run.method, run.run_seed, f"{run.objective!r} is better than {before.value!r}, which is known")


def missing_for_page() -> str:
    """Which package the page lacks, and how to install it; empty where it lacks none."""
    try:
        require_packages(jinja2="report", plotly="report")
    except BackendUnavailableError as error:
        return str(error)
    return ""


def _rows_of_choices(rows: pa.Table, choices: Sequence[Choice], seeds: Sequence[int]) -> pa.Table:
    """The rows of these choices, without those that earlier calls with other methods, limits or seeds left in the folder."""
    chosen = {(choice.method, choice.parameters) for choice in choices}
    pairs = zip(rows["method"].to_pylist(), rows["parameters"].to_pylist(), strict=True)
    is_chosen = pa.array([pair in chosen for pair in pairs], pa.bool_())
    return rows.filter(pc.and_(is_chosen, pc.is_in(rows["run_seed"], pa.array(list(seeds), pa.int64()))))
