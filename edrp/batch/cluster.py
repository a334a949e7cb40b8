"""A batch on Spark: many partitions, each solved in a guarded process next to Spark's own worker."""

from __future__ import annotations

import gc
import json
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import islice
from pathlib import Path
from sys import maxsize
from time import perf_counter
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from edrp.batch.folder import TASKS, ResultFolder
from edrp.batch.journal import ROWS_PER_PART, BatchProgress, FolderWatch, Journal, Report, new_run, result_table
from edrp.batch.rows import RESULT_SCHEMA
from edrp.batch.source import Fingerprint, fingerprint, instances_of_columns, open_instances, refuse_missing_columns
from edrp.batch.stored import SORTED_BY, part_paths
from edrp.batch.tasks import SEPARATOR, BatchPlan, Choice, Instance, Keys, Task, Tasks
from edrp.batch.worker import BatchFolder, Worker, solved
from edrp.core.errors import Fault, InvalidInstanceError
from edrp.core.files import warn_user
from edrp.core.spark import in_background, map_in_arrow, translated_errors

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

PARTITIONS_PER_SLOT = 16
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
TaskReader = Callable[[Batches], Iterator[Task]]


@translated_errors("the batch")
def solve_on_spark(
    spark: SparkSession, source: Any, plan: BatchPlan, seeds: Sequence[int], out: str | Path | None, report: Report | None
) -> DataFrame:
    """Rows of a batch as a DataFrame; solved now and read from the folder `out`, or solved when it is used."""
    is_frame = hasattr(source, "sparkSession")
    if out is None:
        frame = _checked(source) if is_frame else spark.createDataFrame(_instance_table(open_instances(source)))
        tasks = _tasks_on_spark(frame, plan.choices, seeds)
        return _rows(_even(tasks, tasks.count()), plan)
    if is_frame:
        folder = _solve_frame(_checked(source), plan, seeds, out, report)
    else:
        folder = _solve_files(spark, source, plan, seeds, out, report)
    # With the schema named, Spark need not look for it in the files.
    return spark.read.schema(_spark_schema(RESULT_SCHEMA)).parquet(str(folder.path)).orderBy(*SORTED_BY)


def _solve_files(
    spark: SparkSession, source: Any, plan: BatchPlan, seeds: Sequence[int], out: str | Path, report: Report | None
) -> ResultFolder:
    """Solve instances of this machine: the tasks of each partition go to the workers as a file in the folder of results."""
    instances = open_instances(source)
    folder = ResultFolder(out, instances.fingerprint)
    with folder.exclusive():
        tasks = Tasks(instances, plan.choices, seeds)
        done, count = folder.make_room(tasks)
        if count:
            with _task_files(folder.path, tasks.without(done), plan.choices, _sizes(count, _slots(spark))) as files:

                def read(batches: Batches) -> Iterator[Task]:
                    for batch in batches:
                        for number in batch.column(0).to_pylist():
                            yield from _tasks_of_file(files[number], plan.choices)

                numbers = spark.range(0, len(files), 1, len(files))
                _write_all(lambda: numbers, read, count, plan, folder, report)
        folder.recover()
    return folder


def _solve_frame(frame: DataFrame, plan: BatchPlan, seeds: Sequence[int], out: str | Path, report: Report | None) -> ResultFolder:
    """Solve instances of a DataFrame, which never come to this machine."""
    tasks = _tasks_on_spark(frame, plan.choices, seeds)
    folder = ResultFolder(out, _fingerprint(frame))
    with folder.exclusive():
        if len(folder.recover().failed):
            retried = tasks.select("key").join(_keys(tasks.sparkSession, folder, "outcome = 'failed'"), "key", "left_semi")
            folder.forget(Keys(row["key"] for row in retried.toLocalIterator()))

        def unsolved() -> DataFrame:
            if not part_paths(folder.path):
                return tasks
            return tasks.join(_keys(tasks.sparkSession, folder), "key", "left_anti")

        count = unsolved().count()
        if count:
            read = _frame_reader(plan.choices)
            _write_all(lambda: _even(unsolved(), count), read, count, plan, folder, report)
        folder.recover()
    return folder


def _write_all(
    job: Callable[[], DataFrame], read: TaskReader, count: int, plan: BatchPlan, folder: ResultFolder, report: Report | None
) -> None:
    """Solve all tasks; a job that Spark gives up because it lost a worker is sent again with what it has not written.

    Spark itself tries a task again on a cluster, but not with the master `local[cores]`, which a user's session may have.
    """
    from pyspark.errors import PythonException

    run, begin, watch = new_run(), perf_counter(), FolderWatch.of(folder.path)

    def look() -> None:
        if report is not None:
            report(BatchProgress(count, *watch.look(), perf_counter() - begin))

    for attempt in range(1, JOB_ATTEMPTS + 1):
        try:
            _write(job(), read, plan, BatchFolder(folder.path, folder.batch), run, look)
        except PythonException:  # what our own code raises, such as on a full disk, it would raise again
            raise
        except Exception as error:
            if attempt == JOB_ATTEMPTS or not any(sign in str(error) for sign in LOST_WORKER):
                raise
            folder.recover()
            warn_user("Spark gave the batch up because it lost a worker; it is sent the rows that are left again")
        else:
            look()
            return


@contextmanager
def _task_files(folder: Path, tasks: Iterable[Task], choices: Sequence[Choice], sizes: Iterable[int]) -> Iterator[list[str]]:
    """Files of `sizes` tasks next to the results, which all workers see, for as long as the block lasts."""
    place, tasks = folder / TASKS.format(new_run()), iter(tasks)
    numbers = {choice.method: number for number, choice in enumerate(choices)}
    place.mkdir()
    try:
        paths: list[str] = []
        for size in sizes:
            paths.append(str(place / f"{len(paths):06d}.jsonl"))
            with Path(paths[-1]).open("w", encoding="utf-8") as file:
                for task in islice(tasks, size):
                    file.write(json.dumps([task.instance, numbers[task.choice.method], task.run_seed]) + "\n")
        yield paths
    finally:
        shutil.rmtree(place, ignore_errors=True)


def _tasks_of_file(path: str, choices: Sequence[Choice]) -> Iterator[Task]:
    with Path(path).open(encoding="utf-8") as file:
        for line in file:
            instance, choice, run_seed = json.loads(line)
            yield Task(Instance(*instance), choices[choice], run_seed)


def _sizes(count: int, slots: int) -> Iterator[int]:
    """Numbers of tasks of the partitions: even, then ever fewer, so that the last ones keep no slot waiting for another.

    >>> list(_sizes(100, 2))
    [4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 3, 2, 1, 1, 1, 1, 1, 1, 1]
    """
    max_size = max(1, min(ROWS_PER_PART, -(-count // (PARTITIONS_PER_SLOT * slots))))
    while count:
        size = max(1, min(max_size, count // (2 * slots)))
        yield size
        count -= size


def _checked(source: DataFrame) -> DataFrame:
    """The instances of a DataFrame with the columns `id`, `instance` and `fault`."""
    refuse_missing_columns(source.columns, "the DataFrame")

    def read(batches: Batches) -> Batches:
        for batch in batches:
            yield from _instance_table(instances_of_columns(batch["id"], batch["instance"], "row")).to_batches()

    texts = source.selectExpr("cast(id as string) as id", "coalesce(cast(instance as string), '') as instance")
    frame: DataFrame = map_in_arrow(texts, read, _spark_schema(INSTANCES)).selectExpr(OWN_NAME, "instance", "fault")
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

    rows = map_in_arrow(frame, summed, _spark_schema(schema)).collect()
    return Fingerprint(sum(row["count"] for row in rows), sum(int(row["digest"]) for row in rows) % 2**64)


def _tasks_on_spark(frame: DataFrame, choices: Sequence[Choice], seeds: Sequence[int]) -> DataFrame:
    """Instances × methods × seeds, with the key that `Task.identity` computes."""
    combinations = [(index, choice.method, choice.parameters, seed) for index, choice in enumerate(choices) for seed in seeds]
    names = "choice int, method string, parameters string, run_seed long"
    chosen = frame.sparkSession.createDataFrame(combinations, names)
    parts = ("id", "sha2(instance, 256)", "method", "parameters", "cast(run_seed as string)")
    key = f"sha2(concat_ws('{SEPARATOR}', {', '.join(parts)}), 256) as key"
    return frame.crossJoin(chosen).selectExpr(*INSTANCES.names, "choice", "run_seed", key)


def _keys(spark: SparkSession, folder: ResultFolder, condition: str = "true") -> DataFrame:
    """Keys of the rows of a folder."""
    return spark.read.schema("key string, outcome string").parquet(str(folder.path)).where(condition).select("key")


def _even(tasks: DataFrame, count: int) -> DataFrame:
    """Tasks in many partitions of the same size."""
    partitions = max(PARTITIONS_PER_SLOT * _slots(tasks.sparkSession), -(-count // ROWS_PER_PART))
    return tasks.drop("key").repartition(max(1, min(count, partitions)))


def _slots(spark: SparkSession) -> int:
    with suppress(Exception):  # Spark Connect has no context, and says so with errors of its own
        return int(spark.sparkContext.defaultParallelism)
    return SLOTS


def _rows(tasks: DataFrame, plan: BatchPlan) -> DataFrame:
    """Rows of all tasks, solved when they are used."""
    read = _frame_reader(plan.choices)

    def rows(batches: Batches) -> Batches:
        for row in solved(read(batches), maxsize, [_worker(plan)]):
            yield from result_table([row]).to_batches()

    return map_in_arrow(tasks, rows, _spark_schema(RESULT_SCHEMA))


def _write(tasks: DataFrame, read: TaskReader, plan: BatchPlan, place: BatchFolder, run: str, watch: Callable[[], None]) -> None:
    """Solve all tasks; each partition writes a journal of its own, which a second run of the partition goes on with."""

    def written(batches: Batches) -> Batches:
        from pyspark import TaskContext

        context = TaskContext.get()
        assert context is not None
        with Journal(place.folder, f"{run}-{context.partitionId():06d}", place.batch) as journal:
            known = frozenset(journal.keys)
            fresh = (task for task in read(batches) if not known or task.key not in known)
            for row in solved(fresh, maxsize, [_worker(plan)]):
                journal.write(row)
            yield pa.RecordBatch.from_pylist([{"rows": len(journal)}], schema=COUNTS)

    counts = map_in_arrow(tasks, written, _spark_schema(COUNTS))
    in_background(tasks.sparkSession, counts.collect, watch)


def _frame_reader(choices: Sequence[Choice]) -> TaskReader:
    def read(batches: Batches) -> Iterator[Task]:
        for batch in batches:
            columns = (batch[name].to_pylist() for name in (*INSTANCES.names, "choice", "run_seed"))
            for name, text, fault, choice, run_seed in zip(*columns, strict=True):
                yield Task(Instance(name, text, fault), choices[choice], run_seed)

    return read


_WORKERS: dict[tuple[bytes, float | None], Worker] = {}
"""Workers of this Python process of Spark, which serves one partition after the other."""


def _worker(plan: BatchPlan) -> Worker:
    settings = (plan.additions, plan.kill_after)
    if settings not in _WORKERS:
        for other in _WORKERS.values():
            other.close()
        _WORKERS.clear()
        gc.freeze()  # Spark collects garbage after every task, and would look at all modules again each time
        _WORKERS[settings] = Worker(plan)
    return _WORKERS[settings]


def _spark_schema(schema: pa.Schema) -> Any:
    from pyspark.sql.pandas.types import from_arrow_schema

    return from_arrow_schema(schema)
