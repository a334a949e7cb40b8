"""The Spark job that turns raw keyed events into a `Trace`.

Events are read as columns `time`, `key` and `bytes` and aggregated as DataFrames: no row of an event ever reaches Python.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from edrp.core.arrays import Floats
from edrp.core.budget import refuse_beyond_memory
from edrp.core.errors import Fault, InvalidInstanceError, NoSuchFileError
from edrp.core.spark import cancelled_with_us, failure_reason, translated_errors
from edrp.core.wording import suggestion
from edrp.datasets.migration.node_counts import NodeRule, TransitionCounts
from edrp.datasets.traces.trace import Trace, TraceSettings

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

logger = logging.getLogger(__name__)
MAX_TRACE_INTERVALS = 5_000_000
"""Maximum number of intervals, nearly ten years of minutes: beyond it, a wrong time has probably stretched the trace."""

IntervalSums = dict[str, NDArray[Any]]


def prepare_trace(
    events: DataFrame,
    settings: TraceSettings | None = None,
    *,
    keep_loads: bool = False,
    progress: Callable[[str], object] | None = None,
) -> Trace:
    """Summarise a log of events: load and nodes by interval, work and state by task, changes of the number of nodes.

    Spark reads the events once, and a second time, keys only, where distinct keys are to be counted. Only sums come
    to the driver: one row per interval, per task, and per pair of node counts.

    Parameters
    ----------
    events
        As `keyed_events` gives them: columns `time` (s), `key` and perhaps `bytes`.
    keep_loads
        Bring the load by interval and task as well, T·m numbers.

    Raises
    ------
    InvalidInstanceError
        When a file is damaged, more events are unreadable than allowed, none are left, or their times span too many
        intervals.
    BackendUnavailableError
        When the job fails on Spark.
    ProblemTooLargeError
        When the loads that are to be kept do not fit into memory.
    """
    settings = TraceSettings() if settings is None else settings
    if settings.work not in (*events.columns, "events"):
        raise InvalidInstanceError([Fault("work", settings.work, "needs events with sizes; name their column")])
    with translated_errors("the trace"), cancelled_with_us(events.sparkSession):
        loads = event_loads(events, settings.tasks, settings.interval).persist()
        try:
            return _summed_up(events, loads, settings, keep_loads, progress or logger.info)
        except Exception as error:
            if "FAILED_READ_FILE" in str(error):
                raise unreadable(error, "") from None
            raise
        finally:
            loads.unpersist()


def _summed_up(
    events: DataFrame, loads: DataFrame, settings: TraceSettings, keep_loads: bool, tell: Callable[[str], object]
) -> Trace:
    measure = settings.work
    tell("events by interval and task")
    first, sums, malformed = _by_interval(loads)
    refuse_unreadable(malformed, int(sums["events"].sum()), settings.malformed_limit)
    intervals = sums["events"].size
    if keep_loads:
        refuse_beyond_memory(16.0 * intervals * settings.tasks, "loads by interval and task", "lengthen the interval")
    tell("changes of the number of nodes")
    rule = settings.node_rule(sums[measure])
    transitions = _transitions(transition_table(loads, first, first + intervals - 1, measure, rule))
    tell("work by task")
    window = first + intervals - int(np.ceil(settings.window / settings.interval))
    by_task = _dense(task_loads(loads, window).toPandas(), "task", settings.tasks)
    kept_loads = _matrix(loads, measure, first, intervals, settings.tasks) if keep_loads else None
    keys = None
    state_size = by_task["bytes_in_window"] if "bytes" in by_task else by_task["events_in_window"] * settings.bytes_each
    if settings.state == "keys":
        tell("distinct keys by task")
        keys = _dense(distinct_keys(events, settings.tasks).toPandas(), "task", settings.tasks)["keys"].astype(np.int64)
        state_size = np.multiply(keys, settings.bytes_each, dtype=np.float64)
    return Trace(
        settings=settings,
        first=first,
        events=sums["events"].astype(np.int64),
        bytes=sums.get("bytes"),
        node_counts=rule(sums[measure]),
        work=by_task[measure],
        state_size=state_size,
        keys=keys,
        transitions=transitions,
        malformed=malformed,
        loads=kept_loads,
    )


def _by_interval(loads: DataFrame) -> tuple[int, IntervalSums, dict[str, int]]:
    """Collect the first interval, sums of each interval up to the last, and numbers of unreadable events by fault."""
    frame: Any = interval_loads(loads).limit(MAX_TRACE_INTERVALS + 1).toPandas()
    wrong = frame[frame["interval"].isna()]
    malformed = {UNREADABLE[int(task)]: int(count) for task, count in zip(wrong["task"], wrong["events"], strict=True)}
    frame = frame.dropna(subset="interval")
    if frame.empty:
        unread = sum(malformed.values())
        raise InvalidInstanceError([Fault("events", f"{unread} unreadable", "there is no event with a time, a key and a size")])
    index = frame["interval"].to_numpy(np.int64)
    first, last = int(index.min()), int(index.max())
    if last - first >= MAX_TRACE_INTERVALS:
        why = (
            f"is too many (more than {MAX_TRACE_INTERVALS}); "
            "give times in seconds, lengthen the interval, or leave out wrong times"
        )
        raise InvalidInstanceError([Fault("intervals from first to last event", str(last - first + 1), why)])
    sums = _dense(frame.drop(columns="task"), "interval", last - first + 1, first)
    return first, sums, malformed


def refuse_unreadable(malformed: dict[str, int], readable: int, limit: float) -> None:
    """Refuse events of which too many could not be read.

    Parameters
    ----------
    limit
        A share of all if below 1, else a number.

    Raises
    ------
    InvalidInstanceError
        One fault for each kind of unreadable value.
    """
    unread = sum(malformed.values())
    total = unread + readable
    if unread <= (limit * total if limit < 1 else limit):
        return
    allowed = f"{limit:.6g} of them" if limit < 1 else f"{limit:.6g}"
    faults = [
        Fault(f"{what} of {count} events", "", f"cannot be read; of {total} events at most {allowed} may be unreadable")
        for what, count in malformed.items()
    ]
    raise InvalidInstanceError(faults)


def _dense(frame: Any, index: str, size: int, first: int = 0) -> IntervalSums:
    """Convert columns of a small table into arrays over all values of `index` from `first` on; 0 where a value has no row."""
    dense = {}
    for name in frame.columns.drop(index):
        dense[name] = np.zeros(size)
        dense[name][frame[index].to_numpy(np.int64) - first] = frame[name].to_numpy(np.float64)
    return dense


def _matrix(loads: DataFrame, measure: str, first: int, intervals: int, tasks: int) -> Floats:
    frame: Any = loads.where("task >= 0").select("interval", "task", measure).toPandas()
    matrix = np.zeros((intervals, tasks))
    matrix[frame["interval"].to_numpy(np.int64) - first, frame["task"].to_numpy(np.int64)] = frame[measure].to_numpy(np.float64)
    return matrix


def _transitions(table: DataFrame) -> TransitionCounts:
    frame: Any = table.toPandas()
    source, target = frame["source"].to_numpy(np.int64), frame["target"].to_numpy(np.int64)
    node_counts = np.union1d(source, target)
    counts = np.zeros((node_counts.size, node_counts.size), np.int64)
    counts[np.searchsorted(node_counts, source), np.searchsorted(node_counts, target)] = frame["count"].to_numpy(np.int64)
    return TransitionCounts(tuple(int(count) for count in node_counts), counts)


UNREADABLE = {-1: "time", -2: "key", -3: "bytes"}
"""Faults of unreadable events, by the number that such events have in place of a task."""


def task_of_key(key: Column, tasks: int) -> Column:
    """Compute the task of a key: XXH64 of the key (seed 42) modulo the number of tasks, never negative.

    A whole number is hashed as its 8 bytes (little endian), anything else as its UTF-8 text.
    """
    import pyspark.sql.functions as sf

    return sf.pmod(sf.xxhash64(key), sf.lit(tasks)).cast("int")


def event_loads(events: DataFrame, tasks: int, interval: float) -> DataFrame:
    """Count events per interval and task, in one pass: columns `interval`, `task`, `events` and, if present, `bytes`.

    Interval i holds the times from i·`interval` up to (i + 1)·`interval`. Events that cannot be read are counted under
    the task numbers of `UNREADABLE`, in interval 0.

    Parameters
    ----------
    events
        As `keyed_events` gives them.
    interval
        Seconds.
    """
    import pyspark.sql.functions as sf

    has_bytes = "bytes" in events.columns
    time, key = sf.col("time"), sf.col("key")
    task = sf.when(time.isNull(), -1).when(key.isNull(), -2)
    readable = time.isNotNull() & key.isNotNull()
    if has_bytes:
        sized = (sf.col("bytes") >= 0) & (sf.col("bytes") < 1e300)  # Spark orders NaN above all numbers
        task, readable = task.when(sf.coalesce(~sized, sf.lit(True)), -3), readable & sf.coalesce(sized, sf.lit(False))
    sums = [sf.count(sf.lit(1)).alias("events"), *([sf.sum("bytes").alias("bytes")] if has_bytes else [])]
    return events.groupBy(
        sf.when(readable, sf.floor(time / interval)).otherwise(sf.lit(0)).alias("interval"),
        task.otherwise(task_of_key(key, tasks)).alias("task"),
    ).agg(*sums)


def distinct_keys(events: DataFrame, tasks: int) -> DataFrame:
    """Count the keys of each task exactly, in two stages: columns `task`, `keys`. Unreadable events do not count."""
    import pyspark.sql.functions as sf

    readable = sf.col("time").isNotNull() & sf.col("key").isNotNull()
    if "bytes" in events.columns:
        readable &= (sf.col("bytes") >= 0) & (sf.col("bytes") < 1e300)
    keys = events.where(readable).select("key").distinct()
    return keys.groupBy(task_of_key(sf.col("key"), tasks).alias("task")).agg(sf.count(sf.lit(1)).alias("keys"))


def interval_loads(loads: DataFrame) -> DataFrame:
    """Sum loads over the tasks: columns `interval` (null for unreadable events, by `task`), `task`, `events`, `bytes`."""
    import pyspark.sql.functions as sf

    unreadable = sf.col("task") < 0
    sums = [sf.sum(name).alias(name) for name in ("events", "bytes") if name in loads.columns]
    return loads.groupBy(
        sf.when(~unreadable, sf.col("interval")).alias("interval"), sf.when(unreadable, sf.col("task")).alias("task")
    ).agg(*sums)


def task_loads(loads: DataFrame, window_begin: int) -> DataFrame:
    """Sum loads over the intervals: `task`, `events`, `bytes`, and `…_in_window` from interval `window_begin` on."""
    import pyspark.sql.functions as sf

    inside = sf.col("interval") >= window_begin
    names = [name for name in ("events", "bytes") if name in loads.columns]
    whole = [sf.sum(name).alias(name) for name in names]
    window = [sf.sum(sf.when(inside, sf.col(name)).otherwise(sf.lit(0))).alias(f"{name}_in_window") for name in names]
    return loads.where("task >= 0").groupBy("task").agg(*whole, *window)


def transition_table(loads: DataFrame, first: int, last: int, load: str, rule: NodeRule) -> DataFrame:
    """Count how often one node count follows another: columns `source`, `target`, `count`.

    Parameters
    ----------
    loads
        As `event_loads` gives them; intervals without events have none.
    first, last
        The intervals to look at, both included.
    load
        Column that the number of nodes follows: `events` or `bytes`.
    """
    import pyspark.sql.functions as sf
    from pyspark.sql import Window

    sums = loads.where("task >= 0").groupBy("interval").agg(sf.sum(load).cast("double").alias("load"))
    everyone = loads.sparkSession.range(first, last + 1).select(sf.col("id").alias("interval"))
    nodes = everyone.join(sums, "interval", "left").select(
        "interval", rule.column(sf.coalesce("load", sf.lit(0.0))).alias("target")
    )
    in_order = Window.orderBy("interval")  # one row an interval: a single partition holds them
    return (
        nodes.select(sf.lag("target").over(in_order).alias("source"), "target")
        .where("source is not null")
        .groupBy("source", "target")
        .agg(sf.count(sf.lit(1)).alias("count"))
    )


ZONE = r"(Z|UTC|GMT|[+-]\d{1,2}:?\d{2})$"
DATE = r"^\d{4}-\d{1,2}-\d{1,2}$"
TO_THE_MINUTE = r"^\d{4}-\d{1,2}-\d{1,2}[ T]\d{1,2}:\d{2}$"
NUMBERS = ("tinyint", "smallint", "int", "bigint", "float", "double")


@dataclass(frozen=True, slots=True)
class EventColumns:
    """Names of the columns of an event log.

    Attributes
    ----------
    time
        Seconds as numbers, or ISO 8601 timestamps; those without a zone are taken as UTC.
    key
        Keys that the operator partitions by.
    bytes
        Size of each event, or None when every event counts the same.
    """

    time: str = "time"
    key: str = "key"
    bytes: str | None = None


def read_events(spark: SparkSession, path: str | Path) -> DataFrame:
    """Read an event log from a Parquet or CSV file (with a header), or from a folder of such files.

    Columns of a CSV stay text: guessing their types would read everything twice.

    Raises
    ------
    InvalidInstanceError
        When there is no such file or Spark cannot read it.
    """
    source = str(path)
    try:
        frame = spark.read.option("header", True).csv(source) if _is_csv(source) else spark.read.parquet(source)
        _ = frame.columns  # over Spark Connect nothing is looked at before somebody asks
    except Exception as error:  # what Java throws reaches us as PySpark's, py4j's or gRPC's error
        raise unreadable(error, source) from None
    return frame


def unreadable(error: Exception, source: str) -> InvalidInstanceError:
    """Build the error for a file that Spark cannot read, with its reason in one sentence."""
    lines = str(error).splitlines()
    if "[PATH_NOT_FOUND]" in lines[0]:
        return NoSuchFileError(source)
    return InvalidInstanceError([Fault("events", source, f"cannot be read: {failure_reason(error)}")])


def keyed_events(frame: DataFrame, columns: EventColumns | None = None) -> DataFrame:
    """Convert events into the columns `time` (s, null where it cannot be read), `key` and, if present, `bytes`.

    Nothing is dropped: rows that cannot be read are counted where they are aggregated.

    Raises
    ------
    InvalidInstanceError
        When a column is missing or its type is no time, key or size.
    """
    columns = EventColumns() if columns is None else columns
    types = dict(frame.dtypes)
    names_by_role = {"time": columns.time, "key": columns.key, **({"bytes": columns.bytes} if columns.bytes else {})}
    present = ", ".join(frame.columns)
    missing = [
        Fault(f"{role} column", name, f"there is no such column among {present}{suggestion(name, frame.columns)}")
        for role, name in names_by_role.items()
        if name not in types
    ]
    InvalidInstanceError.raise_if_any(missing)
    chosen = [_seconds(frame, columns.time, types).alias("time"), _key(frame, columns.key, types).alias("key")]
    if columns.bytes:
        chosen.append(frame[_quoted(columns.bytes)].try_cast("double").alias("bytes"))
    return frame.select(*chosen)


def _seconds(frame: DataFrame, name: str, types: dict[str, str]) -> Column:
    """Convert times into seconds: numbers as given, timestamps since 1970; null where there is no time."""
    import pyspark.sql.functions as sf

    column, kind = frame[_quoted(name)], types[name]
    if kind in NUMBERS or kind.startswith("decimal"):
        seconds = column.cast("double")
    elif kind == "timestamp":
        seconds = sf.unix_micros(column) / 1e6
    elif kind == "timestamp_ntz":
        seconds = sf.timestamp_diff("MICROSECOND", sf.lit("1970-01-01 00:00:00").cast("timestamp_ntz"), column) / 1e6
    elif kind == "date":
        seconds = sf.unix_date(column) * 86_400.0
    elif kind == "string":
        seconds = sf.coalesce(column.try_cast("double"), _seconds_of_text(sf.trim(column)))
    else:
        raise InvalidInstanceError([Fault("time column", name, f"holds {kind}; give seconds or timestamps")])
    return sf.when(sf.abs(seconds) < 1e15, seconds)  # neither NaN nor infinite


def _seconds_of_text(text: Column) -> Column:
    """Convert an ISO timestamp into seconds since 1970; the time zone of the session plays no part."""
    import pyspark.sql.functions as sf

    zoned = (
        sf.when(text.rlike(DATE), sf.concat(text, sf.lit("T00:00:00Z")))
        .when(text.rlike(TO_THE_MINUTE), sf.concat(text, sf.lit(":00Z")))
        .when(text.rlike(ZONE), text)
        .otherwise(sf.concat(text, sf.lit("Z")))
    )
    return sf.unix_micros(zoned.try_cast("timestamp")) / 1e6


def _key(frame: DataFrame, name: str, types: dict[str, str]) -> Column:
    """Convert keys: whole numbers to 64 bits, everything else to text; an empty text is no key."""
    import pyspark.sql.functions as sf

    column = frame[_quoted(name)]
    if types[name] in ("tinyint", "smallint", "int", "bigint"):
        return column.cast("bigint")
    if types[name].startswith(("array", "map", "struct")):
        raise InvalidInstanceError([Fault("key column", name, f"holds {types[name]}; a key is a text or a number")])
    return sf.nullif(column.cast("string"), sf.lit(""))


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def _is_csv(source: str) -> bool:
    folder = Path(source)
    names = [path.name for path in folder.iterdir()] if folder.is_dir() else [source.rstrip("/")]
    return any(name.endswith((".csv", ".csv.gz", ".csv.bz2", ".csv.zst")) for name in names)
