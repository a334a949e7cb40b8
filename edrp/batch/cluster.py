"""A batch on Spark: many even partitions, each solved row by row in a guarded process next to Spark's own worker."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import pyarrow as pa

from edrp.batch.folder import SORTED_BY, Fingerprint, ResultFolder
from edrp.batch.journal import Journal, result_table
from edrp.batch.progress import BatchProgress, FolderWatch, Report
from edrp.batch.rows import RESULT_SCHEMA
from edrp.batch.source import fingerprint, instances_of_columns, read_instances, refuse_missing_columns
from edrp.batch.tasks import SEPARATOR, BatchPlan, Choice, Instance, Task
from edrp.batch.worker import Worker
from edrp.core.errors import Fault, InvalidInstanceError
from edrp.core.files import warn_user
from edrp.core.spark import in_background

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

PARTITIONS_PER_SLOT = 32
"""Times to solve are heavy-tailed: a long row delays only what shares its partition."""

SLOTS = 64
"""Assumed where a session does not say how many tasks run at once (Spark Connect)."""

JOB_ATTEMPTS = 4
"""Attempts at the tasks of a batch whose workers are lost; Spark tries a task on a cluster as often."""

LOST_WORKER = ("Python worker exited", "Python worker process terminated", "EOFException", "Connection reset", "Broken pipe")
"""Texts in Spark's reasons for giving up a job that mean that a worker process was killed."""

COUNTS = pa.schema([("rows", pa.int64())])

INSTANCES = pa.schema([(name, pa.string()) for name in ("id", "instance", "fault")])
"""Columns of a frame of instances: the fields of `Instance` in their order."""

SAME_NAME = "row_number() over (partition by id order by fault <> '', instance)"
OWN_NAME = f"case when fault <> '' and {SAME_NAME} > 1 then concat(id, ' (', {SAME_NAME}, ')') else id end as id"
"""Name of an instance; broken ones that have that of another one, as rows without a name do, are numbered by their text."""

Batches = Iterator[pa.RecordBatch]


def solve_on_spark(
    spark: SparkSession, source: Any, plan: BatchPlan, seeds: Sequence[int], out: str | Path | None, report: Report | None
) -> DataFrame:
    """Rows of a batch as a DataFrame; solved now and read from the folder `out`, or solved when it is used."""
    instances = None if hasattr(source, "sparkSession") else read_instances(source)
    frame = _frame(spark, source, instances)
    tasks = _tasks_on_spark(frame, plan.choices, seeds)
    if out is None:
        return _rows(_even(tasks, tasks.count()), plan)
    folder = ResultFolder(out, _fingerprint(frame) if instances is None else fingerprint(instances))
    with folder.exclusive():
        done = folder.recover()
        folder.forget(_among(tasks, folder.failed()))
        unsolved = _without(tasks, done)
        count = unsolved.count()
        if count:
            begin, watch = perf_counter(), FolderWatch.of(folder.path)

            def look() -> None:
                if report is not None:
                    report(BatchProgress(count, *watch.look(), perf_counter() - begin))

            _write_all(unsolved, count, plan, folder, look)
        folder.recover()
    return spark.read.parquet(str(folder.path)).orderBy(*SORTED_BY)


def _write_all(tasks: DataFrame, count: int, plan: BatchPlan, folder: ResultFolder, watch: Callable[[], None]) -> None:
    """Solve all tasks; a job that Spark gives up because it lost a worker is sent again with what it has not written.

    Spark itself tries a task again on a cluster, but not with the master `local[cores]`, which a user's session may have.
    """
    from pyspark.errors import PythonException

    unsolved = tasks
    for attempt in range(1, JOB_ATTEMPTS + 1):
        try:
            _write(_even(unsolved, count), plan, folder, watch)
        except PythonException:  # what our own code raises, such as on a full disk, it would raise again
            raise
        except Exception as error:
            if attempt == JOB_ATTEMPTS or not any(sign in str(error) for sign in LOST_WORKER):
                raise
            folder.recover()
            unsolved = _without(tasks, folder.keys())
            count = unsolved.count()
            warn_user(f"Spark gave the batch up because it lost a worker; {count} rows are left, which it is sent again")
            if not count:
                return
        else:
            return


def _frame(spark: SparkSession, source: Any, instances: Sequence[Instance] | None) -> DataFrame:
    """The instances with the columns `id`, `instance` and `fault`; a given DataFrame is checked."""
    if instances is not None:
        return spark.createDataFrame(_instance_table(instances))
    refuse_missing_columns(source.columns, "the DataFrame")

    def read(batches: Batches) -> Batches:
        for batch in batches:
            yield from _instance_table(instances_of_columns(batch["id"], batch["instance"], "row")).to_batches()

    texts = source.selectExpr("cast(id as string) as id", "coalesce(cast(instance as string), '') as instance")
    frame: DataFrame = texts.mapInArrow(read, _spark_schema(INSTANCES)).selectExpr(OWN_NAME, "instance", "fault")
    repeated = frame.groupBy("id").count().where("count > 1").limit(5).collect()
    if repeated:
        why = "each instance needs an id of its own"
        faults = [Fault("column id", repr(row["id"]), f"names {row['count']} instances; {why}") for row in repeated]
        raise InvalidInstanceError(faults, "the DataFrame")
    return frame


def _instance_table(instances: Iterable[Instance]) -> pa.Table:
    return pa.Table.from_pylist([dict(zip(INSTANCES.names, instance, strict=True)) for instance in instances], INSTANCES)


def _fingerprint(frame: DataFrame) -> Fingerprint:
    """Fingerprint of the instances, without collecting them."""
    schema = pa.schema([("count", pa.int64()), ("digest", pa.string())])

    def summed(batches: Batches) -> Batches:
        for batch in batches:
            total = fingerprint(Instance(*pair) for pair in zip(*batch.to_pydict().values(), strict=True))
            yield pa.RecordBatch.from_pylist([{"count": total.count, "digest": str(total.digest)}], schema=schema)

    rows = frame.mapInArrow(summed, _spark_schema(schema)).collect()
    return Fingerprint(sum(row["count"] for row in rows), sum(int(row["digest"]) for row in rows) % 2**64)


def _tasks_on_spark(frame: DataFrame, choices: Sequence[Choice], seeds: Sequence[int]) -> DataFrame:
    """Instances × methods × seeds, with the key that `Task.identity` computes."""
    combinations = [(index, choice.method, choice.parameters, seed) for index, choice in enumerate(choices) for seed in seeds]
    names = "choice int, method string, parameters string, run_seed long"
    chosen = frame.sparkSession.createDataFrame(combinations, names)
    parts = ("id", "sha2(instance, 256)", "method", "parameters", "cast(run_seed as string)")
    key = f"sha2(concat_ws('{SEPARATOR}', {', '.join(parts)}), 256) as key"
    return frame.crossJoin(chosen).selectExpr(*INSTANCES.names, "choice", "run_seed", key)


def _among(tasks: DataFrame, keys: set[str]) -> set[str]:
    """Those of the keys that are tasks."""
    if not keys:
        return set()
    return {row["key"] for row in tasks.select("key").join(_keys(tasks.sparkSession, keys), "key", "left_semi").collect()}


def _without(tasks: DataFrame, keys: set[str]) -> DataFrame:
    """Return the tasks whose keys are not among those done."""
    return tasks.join(_keys(tasks.sparkSession, keys), "key", "left_anti") if keys else tasks


def _keys(spark: SparkSession, keys: Iterable[str]) -> DataFrame:
    return spark.createDataFrame(pa.table({"key": pa.array(sorted(keys), pa.string())}))


def _even(tasks: DataFrame, count: int) -> DataFrame:
    """Tasks in many partitions of the same size."""
    slots = SLOTS
    with suppress(Exception):  # Spark Connect has no context, and says so with errors of its own
        slots = int(tasks.sparkSession.sparkContext.defaultParallelism)
    return tasks.drop("key").repartition(max(1, min(count, PARTITIONS_PER_SLOT * slots)))


def _rows(tasks: DataFrame, plan: BatchPlan) -> DataFrame:
    """Rows of all tasks, solved when they are used."""

    def solved(batches: Batches) -> Batches:
        for task in _tasks(batches, plan.choices):
            yield from result_table([_worker(plan).solve(task)]).to_batches()

    return tasks.mapInArrow(solved, _spark_schema(RESULT_SCHEMA))


def _write(tasks: DataFrame, plan: BatchPlan, folder: ResultFolder, watch: Callable[[], None]) -> None:
    """Solve all tasks; each partition writes a journal of its own, which a second run of the partition goes on with."""
    run, path, batch = uuid4().hex[:8], folder.path, folder.batch

    def written(batches: Batches) -> Batches:
        from pyspark import TaskContext

        context = TaskContext.get()
        assert context is not None
        with Journal(path, f"{run}-{context.partitionId():06d}", batch) as journal:
            for task in _tasks(batches, plan.choices):
                if task.identity["key"] not in journal.keys:
                    journal.write(_worker(plan).solve(task))
            yield pa.RecordBatch.from_pylist([{"rows": len(journal)}], schema=COUNTS)

    counts = tasks.mapInArrow(written, _spark_schema(COUNTS))
    in_background(tasks.sparkSession, counts.collect, watch)


def _tasks(batches: Batches, choices: Sequence[Choice]) -> Iterator[Task]:
    for batch in batches:
        columns = (batch[name].to_pylist() for name in (*INSTANCES.names, "choice", "run_seed"))
        for name, text, fault, choice, run_seed in zip(*columns, strict=True):
            yield Task(Instance(name, text, fault), choices[choice], run_seed)


_WORKERS: dict[tuple[bytes, float | None], Worker] = {}
"""Workers of this Python process of Spark, which serves one partition after the other."""


def _worker(plan: BatchPlan) -> Worker:
    settings = (plan.additions, plan.kill_after)
    if settings not in _WORKERS:
        for other in _WORKERS.values():
            other.close()
        _WORKERS.clear()
        _WORKERS[settings] = Worker(plan)
    return _WORKERS[settings]


def _spark_schema(schema: pa.Schema) -> Any:
    from pyspark.sql.pandas.types import from_arrow_schema

    return from_arrow_schema(schema)
