"""Batches of small migrations against what a practitioner would write: a loop of joblib, and a plain `mapInArrow` job.

The peers guard nothing, resume nothing and write three columns; `edrp` writes all of a row. On Spark, the first rows are a whole
process with a session of its own, and the rows after them 500 in a session that is warm.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter, process_time
from typing import Any

import joblib
import pyarrow as pa
import pyarrow.parquet as pq
from joblib.externals.loky import get_reusable_executor
from peer_pairs import Call, Outcome, Pair, register

import edrp
from edrp.core.spark import spark_session
from edrp.datasets import generate

METHOD = "ssm"
LOCAL_ROWS, FIRST_ROWS, SPARK_ROWS = 4000, 20, 500
PARTITIONS = 4
OPEN = ExitStack()
Run = Callable[[], Outcome]


def texts(count: int) -> dict[str, str]:
    """So many small migrations, of which eight differ."""
    known = [problem.model_dump_json() for _, problem in generate("migration", 8, size=6)]
    return {f"i{index:06d}": known[index % len(known)] for index in range(count)}


def solved(name: str, text: str) -> dict[str, Any]:
    """What the peers keep of an answer."""
    solution = edrp.solve(edrp.loads(text), METHOD)
    return {"id": name, "objective": solution.objective, "solution": solution.model_dump_json()}


def total(folder: str | Path, note: str = "") -> Outcome:
    """The sum of the objectives in a folder of Parquet files."""
    objectives = pq.read_table(folder, columns=["objective"])["objective"].to_pylist()
    return Outcome(sum(objectives), note=f"{len(objectives)} rows{note}")


def prepare_batch() -> Run:
    """A batch in two processes; the note says what this process alone has spent."""
    instances = texts(LOCAL_ROWS)

    def run() -> Outcome:
        with TemporaryDirectory() as place:
            begin = process_time()
            edrp.solve_batch(instances, METHOD, out=Path(place) / "out", n_jobs=2)
            driver = (process_time() - begin) / LOCAL_ROWS
            return total(Path(place) / "out", f", driver {1e3 * driver:.3f} ms a row")

    return run


def prepare_joblib() -> Run:
    """A loop over processes of joblib, which end with the batch."""
    instances = texts(LOCAL_ROWS)

    def run() -> Outcome:
        with TemporaryDirectory() as place:
            begin = process_time()
            rows = joblib.Parallel(n_jobs=2)(joblib.delayed(solved)(*pair) for pair in instances.items())
            pq.write_table(pa.Table.from_pylist(rows), f"{place}/rows.parquet")
            driver = (process_time() - begin) / LOCAL_ROWS
            get_reusable_executor().shutdown()
            return total(place, f", driver {1e3 * driver:.3f} ms a row")

    return run


def batch_on(session: Any, count: int, place: Path) -> Outcome:
    """A batch of `edrp` on a session of Spark."""
    edrp.solve_batch(texts(count), METHOD, out=place, spark=session)
    return total(place)


def job_on(session: Any, count: int, place: Path) -> Outcome:
    """A plain job on a session of Spark."""

    def solve(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            yield pa.RecordBatch.from_pylist([solved(*pair.values()) for pair in batch.to_pylist()])

    frame = session.createDataFrame(list(texts(count).items()), "id string, text string").repartition(PARTITIONS)
    frame.mapInArrow(solve, "id string, objective double, solution string").write.parquet(str(place))
    return total(place)


def plain_session() -> Any:
    """A session as a tutorial opens it, with the variable without which workers run another Python."""
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    return SparkSession.builder.master("local[2]").config("spark.log.level", "ERROR").getOrCreate()


def own_session() -> Any:
    """A session as `edrp batch --spark local[2]` opens it."""
    return OPEN.enter_context(spark_session("local[2]", in_python=True))


SIDES: dict[str, tuple[Callable[[], Any], Callable[[Any, int, Path], Outcome]]] = {
    "ours": (own_session, batch_on),
    "peer": (plain_session, job_on),
}


def prepare_warm(side: str) -> Callable[[], Run]:
    """Rows on a session that has solved some."""
    opened, solve = SIDES[side]

    def prepare() -> Run:
        session = opened()

        def run(count: int = SPARK_ROWS) -> Outcome:
            with TemporaryDirectory() as place:
                begin = perf_counter()
                outcome = solve(session, count, Path(place) / "out")
                return Outcome(outcome.objective, note=f"{1e3 * (perf_counter() - begin) / count:.1f} ms a row by the clock")

        run(FIRST_ROWS)
        return run

    return prepare


def prepare_first(side: str) -> Callable[[], Run]:
    """The first rows, with all that has to start."""

    def prepare() -> Run:
        def run() -> Outcome:
            words = [sys.executable, __file__, side]
            process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True, start_new_session=True)
            assert process.stdout
            outcome = Outcome(*json.loads(process.stdout.readline()))
            # What Java and its workers have used is counted while they live, which is until a moment after the call.
            threading.Timer(1.0, os.killpg, (process.pid, signal.SIGKILL)).start()
            return outcome

        return run

    return prepare


def main(side: str) -> None:
    """Solve the first rows in this process, say so, and wait to be killed."""
    opened, solve = SIDES[side]
    with TemporaryDirectory() as place:
        outcome = solve(opened(), FIRST_ROWS, Path(place) / "out")
    print(json.dumps([outcome.objective, outcome.bound, outcome.note]), flush=True)
    signal.pause()


if __name__ == "__main__":
    main(sys.argv[1])
else:
    register(
        Pair("batch-driver", "driver at most 0.1 ms a row", Call("edrp", prepare_batch), Call("joblib loop", prepare_joblib))
    )
    for NAME, GOAL, PREPARE in (
        ("spark-first-rows", "at most 12 s of the clock", prepare_first),
        ("spark-per-row", "at most 5 ms a row beyond the solve", prepare_warm),
    ):
        register(Pair(NAME, GOAL, Call("edrp", PREPARE("ours")), Call("mapInArrow job", PREPARE("peer")), ("pyspark",)))
