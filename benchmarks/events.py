"""Events through the pipeline on Spark, and how many of them a second; run from anywhere after `make test`.

    python benchmarks/events.py generated                  # 100 million events made on Spark as they are summed up
    python benchmarks/events.py stored --folder /big/disk  # the same events, written to Parquet and read from there

Times include nothing but the job: the session runs, and a small stream has gone through it before.
"""

from __future__ import annotations

import shutil
import tempfile
from itertools import pairwise
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.table import Table

from edrp.core.spark import spark_session
from edrp.datasets.traces.events import prepare_trace
from edrp.datasets.traces.trace import TraceSettings
from edrp.datasets.traces.zipf_stream import zipf_events

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

app = typer.Typer(add_completion=False, help=__doc__)
console = Console()
MILLION = 1e6

Events = Annotated[int, typer.Option(help="in the stream")]
Keys = Annotated[int, typer.Option(help="that may occur")]
Master = Annotated[str, typer.Option("--spark", help="master")]


@app.command()
def generated(events: Events = 100_000_000, keys: Keys = 1_000_000, spark: Master = "local[2]", memory: str = "3g") -> None:
    """The stream is made on Spark, twice: once to be summed up, once to count its keys."""
    with spark_session(spark, memory=memory) as session:
        warm(session)
        measure(zipf_events(session, events, keys=keys), events, "generated")


@app.command()
def stored(
    events: Events = 100_000_000,
    keys: Keys = 1_000_000,
    spark: Master = "local[2]",
    memory: str = "3g",
    folder: Annotated[Path | None, typer.Option(help="with room for 10 bytes an event")] = None,
    text: Annotated[bool, typer.Option(help="keys as texts of 12 characters")] = False,
) -> None:
    """The stream is written to Parquet first, which is timed too, and removed afterwards."""
    place = Path(tempfile.mkdtemp(dir=folder))
    try:
        with spark_session(spark, memory=memory) as session:
            warm(session)
            stream = zipf_events(session, events, keys=keys)
            if text:
                stream = stream.selectExpr("time", "format_string('user%08d', key) as key")
            begin = perf_counter()
            stream.write.mode("overwrite").parquet(str(place / "events"))
            size = sum(file.stat().st_size for file in (place / "events").glob("*.parquet"))
            console.print(f"written in {perf_counter() - begin:.1f} s, {size / events:.1f} bytes an event")
            measure(session.read.parquet(str(place / "events")), events, "Parquet, keys as text" if text else "Parquet")
    finally:
        shutil.rmtree(place)


def warm(session: SparkSession) -> None:
    """Let Spark and Java compile what they need."""
    prepare_trace(zipf_events(session, 2_000_000))


def measure(stream: DataFrame, events: int, name: str) -> None:
    """Sum up one stream and print what each step took."""
    steps: list[tuple[str, float]] = []
    begin = perf_counter()
    trace = prepare_trace(stream, TraceSettings(), progress=lambda step: steps.append((step, perf_counter())))
    steps.append(("", perf_counter()))
    assert int(trace.events.sum()) == events
    table = Table("step", "seconds", "million events/s", title=f"{events / MILLION:g} million events, {name}")
    for (step, start), (_, end) in pairwise(steps):
        passes = step in ("events by interval and task", "distinct keys by task")
        table.add_row(step, f"{end - start:.1f}", f"{events / (end - start) / MILLION:.2f}" if passes else "")
    seconds = steps[-1][1] - begin
    table.add_row("all", f"{seconds:.1f}", f"{events / seconds / MILLION:.2f}")
    console.print(table)
    console.print(
        f"{trace.events.size} intervals, {trace.work.size} tasks, {int(trace.keys.sum())} keys, {trace.changes.size} changes"
    )


if __name__ == "__main__":
    app()
