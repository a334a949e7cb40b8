"""Aggregates of keyed events on Spark: DataFrames in, DataFrames out, no row of an event ever reaches Python."""

from __future__ import annotations

from typing import TYPE_CHECKING

from edrp.datasets.migration.node_counts import NodeRule

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

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
