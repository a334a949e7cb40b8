"""The Spark job that turns raw keyed events into a `Trace`."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from edrp.core.arrays import Floats
from edrp.core.budget import refuse_beyond_memory
from edrp.core.errors import Fault, InvalidInstanceError
from edrp.core.spark import cancelled_with_us, translated_errors
from edrp.datasets.migration.node_counts import TransitionCounts
from edrp.datasets.traces.event_aggregates import (
    UNREADABLE,
    distinct_keys,
    event_loads,
    interval_loads,
    task_loads,
    transition_table,
)
from edrp.datasets.traces.event_input import unreadable
from edrp.datasets.traces.trace import Trace, TraceSettings

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

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
