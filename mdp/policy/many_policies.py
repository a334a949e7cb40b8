"""Policies of many operators: a folder each, side by side, on the threads of one machine or as tasks of Spark.

One policy whose table is large is worth a Spark job for each sweep (`edrp/mdp/policy/spark_engine.py`). Hundreds of
operators with small tables are not: here a policy is one task, computed whole by one core, into its own folder.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow

from edrp.core.budget import memory_limit, running
from edrp.core.errors import EdrpError, Fault, InvalidInstanceError
from edrp.core.folders import refuse_folder
from edrp.core.spark import in_background, map_in_arrow, translated_errors
from edrp.core.tolerances import PROJECTED_COST_ACCURACY
from edrp.mdp.policy.methods import too_many_states
from edrp.mdp.policy.pmc import SweepEngine, Threads
from edrp.mdp.policy.process import PolicyModel, build_model, model_parameters
from edrp.mdp.policy.spark_engine import Spark, WorkerFunction
from edrp.mdp.policy.store import MANIFEST, precompute_policy

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PROGRESS_SCHEMA = pyarrow.schema(
    [
        ("name", pyarrow.string()),
        ("states", pyarrow.int64()),
        ("sweeps", pyarrow.int64()),
        ("error_bound", pyarrow.float64()),
        ("seconds", pyarrow.float64()),
        ("finished", pyarrow.bool_()),
        ("fault", pyarrow.string()),
    ]
)
PROGRESS_COLUMNS = "name string, states long, sweeps long, error_bound double, seconds double, finished boolean, fault string"

ProgressCallback = Callable[[int], None]


class PolicyProgress(NamedTuple):
    """Progress of one of several policies: how far it is computed, or why it failed.

    Attributes
    ----------
    name : name of its folder.
    states : number of partitions.
    sweeps : number of sweeps so far.
    error_bound : largest possible error of the costs, in bytes; infinite before the first sweep.
    seconds : duration of all sweeps together.
    finished : whether the policy can be used; otherwise the same call continues it.
    fault : reason why it was not computed; empty if it was.
    """

    name: str
    states: int
    sweeps: int = 0
    error_bound: float = float("inf")
    seconds: float = 0.0
    finished: bool = False
    fault: str = ""


class PolicyTask(NamedTuple):
    """One policy, as it is sent to a worker.

    Attributes
    ----------
    name : of its folder.
    parameters : of the model, as JSON.
    folder : where its folder is.
    accuracy : as for `precompute_policy`.
    time_limit, work_limit : seconds and units of work after which to stop; None for no limit.
    """

    name: str
    parameters: str
    folder: str
    accuracy: float
    time_limit: float | None = None
    work_limit: float | None = None


def precompute_policies(
    models: Mapping[str, PolicyModel],
    engine: SweepEngine,
    folder: str | Path,
    *,
    accuracy: float = PROJECTED_COST_ACCURACY,
    time_limit: float | None = None,
    work_limit: float | None = None,
    watch: ProgressCallback | None = None,
) -> list[PolicyProgress]:
    """Compute projected costs of several models, each into its own folder; finished ones are not computed again.

    A policy that cannot be computed (too large, folder in use) is reported, and does not stop the others.

    Parameters
    ----------
    models
        By name, which becomes the name of the folder.
    engine
        With `Spark` every policy is a task; threads compute one after the other.
    folder
        Holds all folders; made if there is none. On a cluster all workers must see it.
    accuracy, time_limit, work_limit
        As for `edrp.mdp.precompute_policy`; the limits are for all policies together, or on Spark for each of them.
    watch
        Called with the number of finished policies now and then.

    Raises
    ------
    InvalidInstanceError
        For a name that is no name of a folder.
    BackendUnavailableError
        When the job fails on Spark; finished policies stay.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> import numpy as np
    >>> from edrp.mdp.partitions import Tasks
    >>> swap = np.array([[0.0, 1.0], [1.0, 0.0]])
    >>> models = {name: PolicyModel(Tasks.of(np.ones(m), np.ones(m)), (2, 3), 0.5, False, swap, 0.5)
    ...           for name, m in (("count", 6), ("join", 8))}
    >>> with TemporaryDirectory() as folder:
    ...     [(done.name, done.states, done.finished) for done in precompute_policies(models, Threads(1), folder)]
    [('count', 10, True), ('join', 17, True)]
    """
    _refuse_names(models)
    refuse_folder(folder)
    target = Path(folder).resolve()
    target.mkdir(parents=True, exist_ok=True)
    # The longest first, so that none of them is left to run alone in the end.
    hardest = sorted(models, key=lambda name: -models[name].size.pairs)
    tasks = [PolicyTask(name, json.dumps(model_parameters(models[name])), str(target), accuracy) for name in hardest]
    if isinstance(engine, Spark):
        progress = _compute_on_spark(
            engine.session, [task._replace(time_limit=time_limit, work_limit=work_limit) for task in tasks], watch
        )
    else:
        with running(time_limit, work_limit):
            progress = _compute_in_turn(tasks, engine, watch)
    by_name = {policy.name: policy for policy in progress}
    return [by_name[name] for name in models]


def compute_policy_task(task: PolicyTask, engine: SweepEngine) -> PolicyProgress:
    """Compute one of several policies, in this process or in a worker."""
    model = build_model(json.loads(task.parameters))
    states = sum(model.size.states)
    if 0 in model.size.states:
        why = f"no partition keeps a tolerance of {model.tolerance:g} for {model.counts[model.size.states.index(0)]} nodes"
        return PolicyProgress(task.name, states, fault=why)
    if model.size.memory > memory_limit():
        return PolicyProgress(task.name, states, fault=too_many_states(model))
    limits: dict[str, Any] = {"time_limit": task.time_limit, "work_limit": task.work_limit}
    try:
        target = Path(task.folder) / task.name
        result = precompute_policy(model, engine, target, accuracy=task.accuracy, **limits)
    except EdrpError as error:
        return PolicyProgress(task.name, states, fault=str(error))
    finished = result.error_bound <= task.accuracy * model.total_state
    return PolicyProgress(task.name, states, result.sweeps, result.error_bound, sum(result.seconds), finished)


def _compute_in_turn(tasks: Iterable[PolicyTask], engine: SweepEngine, watch: ProgressCallback | None) -> list[PolicyProgress]:
    progress: list[PolicyProgress] = []
    for task in tasks:
        progress.append(compute_policy_task(task, engine))
        if watch is not None:
            watch(sum(policy.finished for policy in progress))
    return progress


def _compute_on_spark(spark: SparkSession, tasks: list[PolicyTask], watch: ProgressCallback | None) -> list[PolicyProgress]:
    """Run every policy as a Spark task; the task of a killed worker is retried and continues from the last checkpoint."""
    rows: list[PolicyProgress] = []

    def run() -> None:
        numbers = spark.range(0, len(tasks), 1, max(1, len(tasks)))
        frame = map_in_arrow(numbers, _worker_function(tasks), PROGRESS_COLUMNS)
        rows.extend(PolicyProgress(**row) for row in frame.toArrow().to_pylist())

    manifests = [Path(task.folder) / task.name / MANIFEST for task in tasks]
    with translated_errors("the policies"):
        in_background(spark, run, lambda: watch and watch(sum(path.exists() for path in manifests)))
    return rows


def _worker_function(tasks: list[PolicyTask]) -> WorkerFunction:
    """Build the function that workers run; each gets the number of its task."""

    def computed(batches: Iterable[pyarrow.RecordBatch]) -> Iterator[pyarrow.RecordBatch]:
        from edrp.mdp.policy.many_policies import PROGRESS_SCHEMA, compute_policy_task

        for batch in batches:
            for index in batch.column(0).to_pylist():
                yield pyarrow.RecordBatch.from_pylist(
                    [compute_policy_task(tasks[index], Threads(1))._asdict()], schema=PROGRESS_SCHEMA
                )

    return computed


def _refuse_names(names: Iterable[str]) -> None:
    faults = [
        Fault("models", repr(name), "must be the name of a folder: no slash, and neither . nor ..")
        for name in names
        if not name or name in (".", "..") or "/" in name or "\0" in name
    ]
    InvalidInstanceError.raise_if_any(faults)
