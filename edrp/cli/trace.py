"""`edrp trace`: from a log of events to load, nodes and problems, on Spark."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Annotated

from edrp.cli.options import ForceFolder, argument, choice_option, command_group, finite_option, option, out_option
from edrp.cli.terminal import errors, output, say, show, table
from edrp.core.errors import Fault, InvalidInstanceError, NoSuchFileError
from edrp.core.folders import filling, refuse_folder
from edrp.core.instances import save
from edrp.core.spark import require_spark, spark_session
from edrp.core.wording import nearest, suggestion
from edrp.datasets.traces.events import EventColumns, keyed_events, prepare_trace, read_events
from edrp.datasets.traces.flights import flight_events
from edrp.datasets.traces.trace import Measure, State, Trace, TraceSettings, save_trace
from edrp.mdp.chain.transition_matrix import TransitionMatrix
from edrp.report.progress import working

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

trace = command_group()

TRACE_FILES = ("tasks.parquet", "intervals.parquet", "loads.parquet", "trace.json", "migration.json", "migration-policy.json")
"""Files that a trace is written to."""

FLIGHTS = "flights"
"""The log that has a name; anything else is a path."""

FLIGHT_KEYS = ("", "route", "aircraft")
"""Keys of the flights, after a colon; route by default."""

Memory = Annotated[str, option("Memory of the Spark driver, such as 2g.", "--memory")]
Interval = Annotated[float, finite_option("Length of an interval in seconds; the number of nodes is constant in each.", min=None)]
StateMeasure = Annotated[State, choice_option(State, "State of a task: its distinct keys, or its events of the last window.")]
BytesEach = Annotated[float, finite_option("State size in bytes of each key, or of each event without a size.", min=None)]
MalformedLimit = Annotated[float, finite_option("Permitted unreadable events: a share if below 1, otherwise a number.", min=None)]
Discount = Annotated[float, finite_option("Discount γ of the policy problem that is written.")]
Tolerance = Annotated[float, finite_option("Tolerance τ of the problems that are written.")]
BytesColumn = Annotated[str | None, option("Column of event sizes in bytes; default: all events have the same size.")]


@trace.command("prepare")
def prepare(
    events: Annotated[str, argument("Parquet or CSV file, or flights or flights:aircraft for departures from New York in 2013.")],
    tasks: Annotated[int, option("Number of tasks to which keys are hashed.")] = 64,
    interval: Interval = 3600.0,
    low: Annotated[int, option("Smallest number of nodes.")] = 8,
    high: Annotated[int, option("Largest number of nodes.")] = 16,
    capacity: Annotated[
        float | None,
        finite_option(
            "Load that a node carries in an interval; default: the range of loads is spread over --low to --high.", min=None
        ),
    ] = None,
    outliers: Annotated[
        float, finite_option("Share of the lowest and of the highest loads that is ignored when loads are spread.", min=None)
    ] = 0.0,
    work: Annotated[Measure, choice_option(Measure, "Measure of load.")] = "events",
    state: StateMeasure = "keys",
    bytes_each: BytesEach = 100.0,
    window: Annotated[float, finite_option("Length of the window in seconds, for --state window.", min=None)] = 3600.0,
    malformed_limit: MalformedLimit = 0.01,
    time_column: Annotated[str, option("Column of times, in seconds or as ISO timestamps (UTC by default).")] = "time",
    key_column: Annotated[str, option("Column of the keys by which the operator is partitioned.")] = "key",
    bytes_column: BytesColumn = None,
    tolerance: Tolerance = 0.2,
    discount: Discount = 0.8,
    loads: Annotated[bool, option("Also write the work of each task in each interval.", "--loads")] = False,
    out: Annotated[Path | None, out_option("Output folder for the trace and the problems.")] = None,
    force: ForceFolder = False,
    spark: Annotated[
        str, option("Spark master: local[2], spark://…, yarn, or sc://… for Spark Connect.", "--spark")
    ] = "local[2]",
    memory: Memory = "2g",
) -> None:
    """Sum up a log of events: work and state by task, nodes by interval, how often their number changed.

    With --out, the folder holds the trace (tasks.parquet, intervals.parquet, trace.json) and, if the number of nodes
    ever changes, migration.json and migration-policy.json: the last change, as problems for `edrp solve`.
    """
    require_spark(spark)
    if out is not None:
        refuse_folder(out, TRACE_FILES, force=force)
    settings = TraceSettings(
        tasks=tasks,
        interval=interval,
        low=low,
        high=high,
        capacity=capacity,
        outliers=outliers,
        work=work,
        state=state,
        bytes_each=bytes_each,
        window=window,
        malformed_limit=malformed_limit,
    )
    _refuse_log(events, spark)
    columns = EventColumns(time_column, key_column, bytes_column)
    with working(errors(), f"preparing {events}") as tell:
        tell("starting Spark")
        with spark_session(spark, memory=memory) as session:
            source = _source(session, events, columns)
            begin = perf_counter()
            prepared = prepare_trace(source, settings, keep_loads=loads, progress=tell)
            seconds = perf_counter() - begin
    _print(events, prepared, seconds)
    if out is not None:
        with filling(out, force=force) as folder:
            what = _write(prepared, folder, tolerance, discount)
        say(output(), f"written to {out}{what}")


def _refuse_log(events: str, master: str) -> None:
    """Refuse, before Spark starts, a log that is not there, and one whose name has a wrong detail."""
    name, _, detail = events.partition(":")
    if name == FLIGHTS and detail not in FLIGHT_KEYS:
        raise InvalidInstanceError([Fault("EVENTS", events, f"has no such key{suggestion(detail, FLIGHT_KEYS[1:])}")])
    # Paths of a cluster are not those of this machine.
    elsewhere = not master.startswith("local") or "HADOOP_CONF_DIR" in os.environ or "://" in events
    if name == FLIGHTS or elsewhere or any(sign in events for sign in "*?[{"):
        return
    if not Path(events).exists():
        meant = nearest(name, [FLIGHTS])
        raise NoSuchFileError(events, f"did you mean {meant!r}?" if meant else "")


def _source(session: SparkSession, events: str, columns: EventColumns) -> DataFrame:
    name, _, detail = events.partition(":")
    if name == FLIGHTS:
        return flight_events(session, "aircraft" if detail == "aircraft" else "route")
    return keyed_events(read_events(session, events), columns)


def _print(events: str, prepared: Trace, seconds: float) -> None:
    total = int(prepared.events.sum())
    begin, end = prepared.start_times[0], prepared.start_times[-1] + prepared.settings.interval
    nodes, times = prepared.node_counts, f"{begin:.6g} … {end:.6g} s"
    if begin > 1e8:  # seconds since 1970
        times = " … ".join(f"{datetime.fromtimestamp(time, UTC):%Y-%m-%d %H:%M}" for time in (begin, end))
    heaviest = prepared.work.max() * prepared.work.size / max(prepared.work.sum(), 1e-300)
    rows = [
        ("events", f"{total}"),
        ("unreadable events", ", ".join(f"{count} without {what}" for what, count in prepared.malformed.items()) or "none"),
        ("time", times),
        ("intervals", f"{prepared.events.size} of {prepared.settings.interval:g} s"),
        ("nodes", f"{nodes.min()} … {nodes.max()}, {prepared.changes.size} changes"),
        ("heaviest task", f"{heaviest:.3g} times the average work"),
        ("state", f"{prepared.state_size.sum():.6g} B" + ("" if prepared.keys is None else f", {int(prepared.keys.sum())} keys")),
        ("throughput", f"{total / seconds:.3g} events/s in {seconds:.1f} s"),
    ]
    show(output(), [table(("quantity", "value"), rows, title=events)])


def _write(prepared: Trace, out: Path, tolerance: float, discount: float) -> str:
    """Write the trace and the problems that it gives; return what else is to be said."""
    save_trace(prepared, out)
    if not prepared.changes.size:
        return "; the number of nodes never changes, so there is no problem to solve"
    matrix = TransitionMatrix.from_counts(prepared.transitions.node_counts, prepared.transitions.counts)
    save(prepared.migration_problem(tolerance=tolerance), out / "migration.json")
    counts = matrix.node_counts.tolist()
    policy = prepared.policy_problem(counts, matrix.probabilities, tolerance=tolerance, discount=discount)
    save(policy, out / "migration-policy.json")
    never = f"; counts never left: {', '.join(map(str, matrix.never_left))}" if matrix.never_left else ""
    return f": the trace, migration.json and migration-policy.json{never}"
