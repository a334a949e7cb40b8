"""Resumable runs of a report: batches in a row, their progress as one, and constants changed one at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any, TypeVar

import pyarrow as pa

from edrp.batch import read_rows, solve_batch
from edrp.batch.journal import BatchProgress
from edrp.batch.journal import Report as ReportProgress
from edrp.core.errors import EdrpError
from edrp.core.problem import Problem

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

DOCUMENTED = "as documented"
"""Name of the variant in which no constant is changed."""

Variant = TypeVar("Variant")
Found = TypeVar("Found")


@dataclass(slots=True)
class Overall:
    """Progress of several batches in a row as if they were one.

    The total counts all rows, those solved by an earlier call included; done and failed ones are of the batches that have
    ended, and the first began at `since`. Two batches of five rows, of which the first had three left to solve:

    >>> seen = []
    >>> overall = Overall(lambda now: seen.append((now.total, now.done)), total=10)
    >>> for left in (3, 5):
    ...     with overall.batch(5) as report:
    ...         report(BatchProgress(total=left, done=1, failed=0, running=1, seconds=0.1))
    >>> seen
    [(10, 3), (10, 6)]
    """

    report: ReportProgress
    total: int
    done: int = 0
    failed: int = 0
    since: float = 0.0

    @contextmanager
    def batch(self, rows: int) -> Iterator[ReportProgress]:
        """Give the next batch, which has `rows` rows in all, what it is to call."""
        self.since = self.since or perf_counter()
        failed = 0

        def report(progress: BatchProgress) -> None:
            nonlocal failed
            failed = progress.failed
            done, seconds = self.done + rows - progress.total + progress.done, perf_counter() - self.since
            self.report(replace(progress, total=self.total, done=done, failed=self.failed + failed, seconds=seconds))

        yield report
        self.done += rows
        self.failed += failed


def batch_rows(
    instances: Mapping[str, Problem],
    methods: Sequence[str],
    columns: Sequence[str],
    *,
    out: Path | None = None,
    spark: SparkSession | None = None,
    n_jobs: int | None = None,
    progress: Overall | None = None,
) -> list[dict[str, Any]]:
    """Run methods on instances and return these columns of the result rows, `method` among them.

    Parameters
    ----------
    instances : problems by id.
    out : folder for the rows; the same call again runs only what is missing. None keeps nothing.
    methods, spark, n_jobs : what to run and where, as in `solve_batch`.
    progress : over this batch and others.
    """
    where: dict[str, Any] = {"n_jobs": n_jobs} if spark is None else {"spark": spark}
    with nullcontext() if progress is None else progress.batch(len(instances) * len(methods)) as report:
        rows: Any = solve_batch(instances, methods, out=out, progress=report, **where)
    if out is not None:
        rows = read_rows(out, columns)
    elif spark is not None:
        rows = rows.toArrow()
    table: pa.Table = rows.select(list(columns))
    return [row for row in table.to_pylist() if row["method"] in methods]


def require_solved(row: Mapping[str, Any]) -> Mapping[str, Any]:
    """The row itself, which must hold an answer; otherwise the reason is raised as EdrpError."""
    if row["outcome"] != "solved":
        raise EdrpError(f"{row['method']} on {row['id']}: {row['outcome']}: {row['error_message']}")
    return row


def vary(variants: Mapping[str, Variant], run: Callable[[str, Variant], Found]) -> dict[str, Found]:
    """The results of a run under each variant of its constants; `run` gets a name for its folder and the variant.

    >>> vary({"k = 1": 1, DOCUMENTED: 2}, lambda folder, value: (folder, 10 * value))
    {'k = 1': ('k-1', 10), 'as documented': ('as-documented', 20)}
    """
    folders = {name: "-".join("".join(sign if sign.isalnum() else " " for sign in name).split()) for name in variants}
    return {name: run(folders[name], variant) for name, variant in variants.items()}
