"""`solve_batch`: many instances, several methods, one row of results each, on this machine or on Spark."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import TYPE_CHECKING, Any, TypedDict, Unpack, overload

import pyarrow as pa
from joblib import effective_n_jobs

from edrp.batch.cluster import solve_on_spark
from edrp.batch.folder import ResultFolder
from edrp.batch.journal import BatchProgress, Report
from edrp.batch.rows import warned_instances
from edrp.batch.source import open_instances
from edrp.batch.stored import StoredRows
from edrp.batch.tasks import BatchPlan, Choice, Tasks, packed_additions, read_choices, read_seeds
from edrp.batch.worker import BatchFolder, solve_here
from edrp.core.arguments import check_arguments
from edrp.core.errors import Fault, InvalidInstanceError, numbered
from edrp.core.problem import warn_caller
from edrp.core.tolerances import OPTIMALITY_GAP

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


REPORT_SECONDS = 0.1
"""Seconds between two reports of progress, at least."""

BEGINNING = 20.0
"""Seconds in which a worker starts and imports what its first row needs, beyond the time limit of the row."""


class BatchOptions(TypedDict, total=False):
    """Options of `solve_batch` that do not depend on where the batch runs."""

    out: str | Path | None
    time_limit: float | None
    work_limit: float | None
    gap: float
    certify: bool
    strict: bool
    seed: int | Iterable[int]
    kill_after: float | None
    progress: Report | None


@overload
def solve_batch(
    instances: Any,
    method: str | Sequence[str] = ...,
    *,
    spark: None = ...,
    n_jobs: int | None = ...,
    **options: Unpack[BatchOptions],
) -> pa.Table | StoredRows: ...


@overload
def solve_batch(
    instances: Any, method: str | Sequence[str] = ..., *, spark: SparkSession, **options: Unpack[BatchOptions]
) -> DataFrame: ...


def solve_batch(
    instances: Any,
    method: str | Sequence[str] = "auto",
    *,
    out: str | Path | None = None,
    spark: SparkSession | None = None,
    n_jobs: int | None = None,
    time_limit: float | None = None,
    work_limit: float | None = None,
    gap: float = OPTIMALITY_GAP,
    certify: bool = False,
    strict: bool = False,
    seed: int | Iterable[int] = 0,
    kill_after: float | None = None,
    progress: Report | None = None,
) -> Any:
    """Solve many instances of any kinds with one or several methods, on this machine or on Spark.

    Each instance, method and seed gives a row of `edrp.batch.RESULT_SCHEMA`; what is broken or crashes costs its own row.

    Parameters
    ----------
    instances
        A folder of instance files; a Parquet file, JSON lines, Arrow table, pandas or (with `spark`) Spark frame with columns
        `id` and `instance` (JSON text); a mapping of ids to problems; an iterable of problems or of pairs (id, problem).
    method
        Name in the registry, or several; `name:key=value,…` passes arguments. A kind that it does not take gives "refused" rows.
    out
        Folder, seen by all workers, that gets the rows as Parquet files; the same call again solves what is missing or failed.
    spark, n_jobs
        Session to run on, left running; without `out` rows are solved whenever the DataFrame is used. Else number of processes,
        as joblib counts them; None for one per core.
    time_limit, work_limit
        Seconds, and units of work, for each row, with which rows are the same on every machine of one kind; None for none.
    gap, certify, strict
        Relative gap of a proven optimum; whether optimal and infeasible answers get a checked certificate, as in `edrp.solve`;
        whether rows fail of which it would warn. The column `warnings` has warnings; those of all rows are given once.
    seed
        Seed of the random number generators, or several. Each instance gets a seed of its own from this and its id.
    kill_after
        Seconds after which a row is killed and fails; default: twice the time limit and 120 s, never without a time limit.
    progress
        Called with a `BatchProgress` now and then.

    Returns
    -------
    pyarrow.Table, StoredRows or pyspark.sql.DataFrame
        All rows by id, method and seed; with `out` those of the folder, read when used; a DataFrame where `spark` is given.

    Raises
    ------
    InvalidInstanceError, EdrpError
        Before any work: a source that cannot be read, an unknown method, a folder of other results, or of a batch at work.
    BackendUnavailableError
        Spark gave the batch up; with `out` the same call goes on from what is solved.

    Examples
    --------
    >>> from edrp.datasets import generate
    >>> solve_batch({**dict(generate("migration", 1)), "other": "no JSON"}, "ssm", n_jobs=1)["outcome"].to_pylist()
    ['solved', 'failed']
    """
    limits: dict[str, Any] = {"time_limit": time_limit, "work_limit": work_limit, "gap": gap}
    where: dict[str, Any] = {"out": out, "spark": spark, "n_jobs": n_jobs, "kill_after": kill_after, "progress": progress}
    check_arguments("edrp.solve_batch", instances=instances, certify=certify, **limits, **where)
    plan = _plan(read_choices(method, **limits, certify=certify or None, strict=strict or None), kill_after)
    asked = (instances, plan, read_seeds(seed), out, progress)
    rows: Any = _solve_locally(n_jobs, *asked) if spark is None else solve_on_spark(spark, *asked)
    warn_caller(_warning_texts(rows, out))
    return rows


def _plan(choices: Sequence[Choice], kill_after: float | None) -> BatchPlan:
    """What each instance is solved with."""
    return BatchPlan(tuple(choices), packed_additions(choices), kill_limit(kill_after, choices))


def _warning_texts(rows: Any, out: str | Path | None) -> Iterator[str]:
    """Yield warnings about the instances, with the number of instances of each; none for a DataFrame that is not computed yet."""
    tables = [rows] if isinstance(rows, pa.Table) else () if out is None else StoredRows(out).parts(("id", "warnings"))
    for text, count in warned_instances(tables).items():
        yield f"{text} ({numbered(count, 'instance')})"


def _solve_locally(
    n_jobs: int | None, source: Any, plan: BatchPlan, seeds: Sequence[int], out: str | Path | None, report: Report | None
) -> pa.Table | StoredRows:
    """Rows of a batch that is solved on this machine, with those of earlier calls if there is a folder `out`."""
    instances = open_instances(source)
    if out is not None:
        folder = ResultFolder(out, instances.fingerprint)
        _into(folder, Tasks(instances, plan.choices, seeds), plan, n_jobs, report)
        return folder.rows()
    with TemporaryDirectory(prefix="edrp-") as place:
        folder = ResultFolder(place, instances.fingerprint)
        _into(folder, Tasks(instances, plan.choices, seeds), plan, n_jobs, report)
        return folder.rows().table()


def _into(folder: ResultFolder, tasks: Tasks, plan: BatchPlan, n_jobs: int | None, report: Report | None) -> None:
    """Solve what a folder lacks, row by row, and report how far it is."""
    with folder.exclusive():
        done, count = folder.make_room(tasks)
        allowed: int = effective_n_jobs(-1 if n_jobs is None else n_jobs)  # −2: all cores but one
        jobs = max(1, min(allowed, count))
        tell = _teller(count, jobs, report)
        for outcome in solve_here(tasks.without(done), count, plan, jobs, BatchFolder(folder.path, folder.batch)):
            tell(outcome)


def _teller(count: int, jobs: int, report: Report | None) -> Callable[[str], None]:
    """Build what counts outcomes and reports them now and then: at the start, every so often, and at the end."""
    begin = told = perf_counter()
    done = failures = 0

    def tell(outcome: str = "") -> None:
        nonlocal done, failures, told
        done, failures = done + bool(outcome), failures + (outcome == "failed")
        now = perf_counter()
        if report is not None and (not outcome or done == count or now - told > REPORT_SECONDS):
            told = now
            report(BatchProgress(count, done, failures, min(jobs, count - done), now - begin))

    tell()
    return tell


def kill_limit(kill_after: float | None, choices: Sequence[Choice]) -> float | None:
    """Seconds after which a row is killed: as given, or from the longest time limit if every method has one.

    By default twice the time limit, since the explanation of an infeasible instance may take as long again, and the time in
    which a worker may start.

    >>> kill_limit(None, [Choice.read("greedy", time_limit=10.0)])
    40.0
    """
    if kill_after is not None:
        if not 0 < kill_after < math.inf:
            raise InvalidInstanceError([Fault("kill_after", repr(kill_after), "must be more than 0 s")])
        return kill_after
    limits = [choice.arguments.get("time_limit") for choice in choices]
    finite_limits = [limit for limit in limits if limit is not None]
    return 2 * max(finite_limits) + BEGINNING if len(finite_limits) == len(limits) else None
