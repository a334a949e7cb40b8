"""`edrp.benchmark`: a benchmark in a Python session, whose result can be looked at before anything is written."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from rich.console import Console

from edrp.core.arguments import check_arguments
from edrp.core.errors import Fault, InvalidInstanceError, UnwritableError
from edrp.report.page import require_packages
from edrp.report.tables import Table, html_parts, print_tables
from edrp.validation.benchmark.recheck import Alarm, find_alarms
from edrp.validation.benchmark.suite_run import REPORT, ROWS, SuiteRows, missing_for_page, solve_suite, write_benchmark
from edrp.validation.benchmark.suites import Suite, all_suites, get_suite, instances_suite

if TYPE_CHECKING:
    import pandas as pd
    from pyspark.sql import SparkSession

LINE_WIDTH = 120
"""Characters of a line of the printed result."""


@dataclass(frozen=True, eq=False)
class BenchmarkResult:
    """Methods side by side on a set of instances; printed, or shown by a notebook, it is a table for each kind of problem.

    Attributes
    ----------
    rows
        One row per run, an Arrow table of `edrp.batch.RESULT_SCHEMA`.
    """

    rows: pa.Table = field(repr=False)
    _solved: SuiteRows = field(repr=False)
    _suite: Suite = field(repr=False)
    _out: Path | None = field(repr=False)

    @cached_property
    def runs(self) -> pd.DataFrame:
        """One line per run with its reference and gap, as in `runs.parquet` of the report."""
        from edrp.validation.benchmark.measures import compare_runs

        return compare_runs(self.rows, self._suite.known)

    @cached_property
    def summaries(self) -> dict[str, pd.DataFrame]:
        """By kind of problem, one line per method, as in `summary.parquet` of the report."""
        from edrp.validation.benchmark.measures import UNREADABLE, summarise

        kinds = [kind for kind in dict.fromkeys(self.runs["kind"]) if kind != UNREADABLE]
        return {kind: summarise(self.runs[self.runs["kind"] == kind]) for kind in kinds}

    @cached_property
    def alarms(self) -> tuple[Alarm, ...]:
        """Claims of methods that do not hold when their answers are evaluated again: defects."""
        return tuple(find_alarms(self.rows, self._solved.instances))

    def report(self, out: str | Path | None = None, *, force: bool = False) -> Path:
        """Write the tables and the page of the report into a folder; return the path of the page, to be opened in a browser.

        Parameters
        ----------
        out
            The folder; None for that of the benchmark.
        force
            Whether to replace files in it that another program wrote.

        Raises
        ------
        BackendUnavailableError
            Naming the extra that the report needs.
        UnwritableError
            When nothing can be written there.
        """
        folder = self._out if out is None else Path(out)
        if folder is None:
            raise UnwritableError("report", "needs a folder; name one: report(out)")
        require_packages(jinja2="report", plotly="report")
        command = f"edrp.benchmark(…) in Python, {len(self._solved.instances)} instances"
        write_benchmark(self.rows, self._solved.instances, folder, self._suite, self._solved.settings, command, force=force)
        return folder / REPORT

    def _parts(self) -> Iterator[Table | str]:
        from edrp.validation.benchmark.sentences import common_sentence
        from edrp.validation.benchmark.tables import summary_table

        for kind, summary in self.summaries.items():
            yield summary_table(kind, summary)
            if note := common_sentence(summary).replace("`", ""):
                yield note
        if failed := int((self.runs["outcome"] == "failed").sum()):
            yield f"failed runs: {failed}; the columns error_type and error_message of rows say why"
        yield from (f"defect: {alarm}" for alarm in self.alarms)

    def __str__(self) -> str:
        text = StringIO()
        console = Console(file=text, width=LINE_WIDTH, highlight=False, markup=False)
        for part in self._parts():
            if isinstance(part, Table):
                print_tables(console, part)
            else:
                console.print(part)
        return text.getvalue()

    __repr__ = __str__

    def _repr_html_(self) -> str:
        """The HTML that notebooks show."""
        return html_parts(f"Benchmark {self._suite.name}", self._parts())


def benchmark(
    instances: Any,
    method: str | Sequence[str] | None = None,
    *,
    out: str | Path | None = None,
    time_limit: float | None = None,
    work_limit: float | None = None,
    seeds: int | None = None,
    certify: bool = False,
    spark: SparkSession | None = None,
    n_jobs: int | None = None,
    data: str | Path | None = None,
    progress: Any = None,
) -> BenchmarkResult:
    """Compare methods with the proven optimum on your own instances or on a suite, as the command `edrp benchmark` does.

    Parameters
    ----------
    instances
        As in `solve_batch`, or the name of a suite, such as "smoke".
    method
        Name in the registry, or several; `name:key=value,…` passes arguments. None for those that fit the instances.
    out
        Folder that gets the rows as they come, where the same call continues, and the report; None for neither.
    time_limit, work_limit
        Seconds, and units of work, for each run; None for those of the suite, which are 10 s for your own instances.
    seeds
        How many seeds each method gets on each instance; None for as many as the suite says, which is 1 for your own.
    certify
        Whether optimal and infeasible answers get a checked certificate.
    spark, n_jobs
        Session to solve on, which needs `out`; else number of processes at the same time, None for one per core.
    data
        Folder of data, for suites that need it.
    progress
        As in `solve_batch`, such as `edrp.progress_bar()`.

    Returns
    -------
    BenchmarkResult
        `rows` is an Arrow table, `print` shows the comparison, and `report` writes it as a page.

    Raises
    ------
    BackendUnavailableError
        Naming the extra that comparisons need.
    InvalidInstanceError
        Before any work: instances that cannot be read, an unknown method or suite, no data where some is needed.

    Examples
    --------
    `print(benchmark(problems, ["highs", "greedy"], time_limit=60))` compares two methods on a list of problems.

    >>> benchmark("smok")
    Traceback (most recent call last):
    edrp.core.errors.InvalidInstanceError: 1 fault in the input
      suite: is no suite; did you mean 'smoke'? (got 'smok')
    """
    require_packages(pandas="report")
    if missing := missing_for_page():
        warnings.warn(f"{missing}; without it, the result can be printed, and has no report", stacklevel=2)
    limits: dict[str, Any] = {"time_limit": time_limit, "work_limit": work_limit}
    options = {**limits, "seeds": seeds, "certify": certify, "n_jobs": n_jobs, "progress": progress}
    check_arguments("edrp.benchmark", instances=[] if isinstance(instances, Suite) else instances, **options)
    if spark is not None and out is None:
        raise InvalidInstanceError([Fault("out", "", "is missing; on Spark, name a folder that all workers see")])
    suite, folder = _suite(instances), None if out is None else Path(out)
    names = [method] if isinstance(method, str) else method
    solved = solve_suite(suite, None if folder is None else folder / ROWS, data=data, methods=names, spark=spark, **options)
    return BenchmarkResult(solved.rows, solved, suite, folder)


def _suite(instances: Any) -> Suite:
    """The suite of that name, or the instances as one."""
    if isinstance(instances, Suite):
        return instances
    if isinstance(instances, str | Path):
        path = Path(instances)
        if not path.exists() and (str(instances) in all_suites() or (path.name == str(instances) and not path.suffix)):
            return get_suite(str(instances))
        return instances_suite(path, str(path))
    return instances_suite(instances, "a Python session")
