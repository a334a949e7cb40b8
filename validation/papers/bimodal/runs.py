"""The runs behind Figs. 8 and 9 of bi-modal networks: point by point through the batch layer, metrics over the networks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from edrp.batch import read_rows, solve_batch
from edrp.core.arrays import Floats
from edrp.core.errors import EdrpError
from edrp.core.problem import Problem
from edrp.datasets.families.mapping.platforms import bimodal_scenario
from edrp.validation.papers.bimodal.plan import Cell, Extent, Group, groups
from edrp.validation.papers.bimodal.progress import Overall

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

COLUMNS = ("id", "method", "outcome", "status", "objective", "metrics", "size", "solve_seconds", "error_message")
"""What reports read of the rows: whole runs stay in their files."""

Samples = Mapping[Cell, Mapping[str, Floats]]
"""By cell each metric over the networks, in the order of their seeds."""

Made = Callable[..., Problem]
"""Makes a scenario as `bimodal_scenario` does."""


def observe(extent: Extent, *, out: Path | None = None, **how: Any) -> Samples:
    """Run everything that Figs. 8 and 9 and the comparison of choices need.

    Parameters
    ----------
    extent
        How much.
    out
        Folder for the rows; the same call again runs only what is missing. None to keep nothing.
    how
        Where to run, as of `batch_rows`.

    Raises
    ------
    EdrpError
        When a run failed, naming the first.
    """
    found: dict[Cell, Mapping[str, Floats]] = {}
    for group in groups(extent):
        where = None if out is None else out / extent.folder / group.name
        found |= run_group(group, extent, out=where, **how)
    return found


def run_group(
    group: Group,
    extent: Extent,
    *,
    make: Made = bimodal_scenario,
    given: Mapping[str, Any] | None = None,
    out: Path | None = None,
    **how: Any,
) -> dict[Cell, Mapping[str, Floats]]:
    """The runs of one group.

    Parameters
    ----------
    group
        Which.
    extent
        Which networks and traces, and how streams are simulated.
    make, given
        What makes the scenarios, and further arguments of it.
    out, how
        As of `batch_rows`.

    Raises
    ------
    EdrpError
        When a run failed, naming the first.
    """
    fields = {
        "rate": group.rate,
        "links": group.links,
        "tasks": extent.tasks,
        "flow": extent.flow,
        **group.fields,
        **(given or {}),
    }
    instances = {
        f"{networks}/{seed}": make(networks=networks, seed=seed, **fields) for networks in group.networks for seed in extent.seeds
    }
    methods = list(dict.fromkeys(method for _, method in group.cells))
    rows = {(row["id"], row["method"]): row for row in batch_rows(instances, methods, out=out, **how)}
    found: dict[Cell, Mapping[str, Floats]] = {}
    for cell, method in group.cells:
        own = [_metrics(rows[f"{cell.networks}/{seed}", method]) for seed in extent.seeds]
        found[cell] = {name: np.array([each[name] for each in own]) for name in own[0]}
    return found


def batch_rows(
    instances: Mapping[str, Problem],
    methods: Sequence[str],
    *,
    out: Path | None = None,
    spark: SparkSession | None = None,
    n_jobs: int | None = None,
    progress: Overall | None = None,
) -> Iterable[dict[str, Any]]:
    """The rows of a batch of these methods, without what they decided.

    Parameters
    ----------
    instances
        By id.
    methods
        As `solve_batch` takes them.
    out
        Folder for the rows; the same call again runs only what is missing. None to keep nothing.
    spark, n_jobs
        As of `solve_batch`.
    progress
        Over this batch and others.
    """
    where: dict[str, Any] = {"n_jobs": n_jobs} if spark is None else {"spark": spark}
    with nullcontext() if progress is None else progress.batch(len(instances) * len(methods)) as report:
        made: Any = solve_batch(instances, methods, out=out, progress=report, **where)
    if out is not None:
        made = read_rows(out, COLUMNS)
    elif spark is not None:
        made = made.toArrow()
    table: pa.Table = made.select(COLUMNS)
    return (row for row in table.to_pylist() if row["method"] in methods)


def _metrics(row: Mapping[str, Any]) -> dict[str, float]:
    """Metrics of a run, and the `seconds` that simulating it took.

    Raises
    ------
    EdrpError
        When there is none.
    """
    if row["outcome"] != "solved":
        raise EdrpError(f"{row['method']} on {row['id']}: {row['outcome']}: {row['error_message']}")
    return {**dict(row["metrics"]), "seconds": row["solve_seconds"]}
