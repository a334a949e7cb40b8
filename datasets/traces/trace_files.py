"""A trace as a folder: tables as Parquet, everything else in one JSON file that is written last."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow
from pyarrow import parquet

from edrp.core.errors import Fault, InvalidInstanceError
from edrp.core.files import read_whole, write_whole, writing
from edrp.datasets.migration.node_counts import TransitionCounts
from edrp.datasets.traces.trace import Trace, TraceSettings

HEAD = "trace.json"
FORMAT = 1


def save_trace(trace: Trace, folder: str | Path) -> None:
    """Write a trace: `tasks.parquet`, `intervals.parquet`, perhaps `loads.parquet` (one row an interval), `trace.json`.

    Raises
    ------
    OSError
        When the folder cannot be written to.
    """
    place = Path(folder)
    place.mkdir(parents=True, exist_ok=True)
    (place / HEAD).unlink(missing_ok=True)  # what is there from now on is of no trace until the head is back
    tasks: dict[str, Any] = {"task": np.arange(trace.work.size), "work": trace.work, "state_size": trace.state_size}
    intervals: dict[str, Any] = {"start": trace.start_times, "events": trace.events, "nodes": trace.node_counts}
    if trace.keys is not None:
        tasks["keys"] = trace.keys
    if trace.bytes is not None:
        intervals["bytes"] = trace.bytes
    _write(place / "tasks.parquet", tasks)
    _write(place / "intervals.parquet", intervals)
    (place / "loads.parquet").unlink(missing_ok=True)
    if trace.loads is not None:
        rows = pyarrow.FixedSizeListArray.from_arrays(pyarrow.array(trace.loads.ravel()), trace.loads.shape[1])
        _write(place / "loads.parquet", {"work": rows})
    head = {
        "format": FORMAT,
        "settings": trace.settings.to_dict(),
        "first": trace.first,
        "intervals": int(trace.events.size),
        "malformed": trace.malformed,
        "node_counts": list(trace.transitions.node_counts),
        "transitions": trace.transitions.counts.tolist(),
        "loads": trace.loads is not None,
    }
    write_whole(place / HEAD, json.dumps(head, indent=2) + "\n")


def load_trace(folder: str | Path) -> Trace:
    """Read a trace that `save_trace` has written.

    Raises
    ------
    InvalidInstanceError
        When the folder holds no trace, or one half written or of another format.
    """
    place = Path(folder)
    if not (place / HEAD).is_file():
        why = f"holds no {HEAD}: it is no trace, or one half written; make it with `edrp trace prepare`"
        raise InvalidInstanceError([Fault("trace", str(place), why)])
    try:
        head = json.loads(read_whole(place / HEAD))
        if head["format"] != FORMAT:
            raise InvalidInstanceError([Fault("format", str(head["format"]), f"must be {FORMAT}; prepare the trace again")])
        tasks, intervals = parquet.read_table(place / "tasks.parquet"), parquet.read_table(place / "intervals.parquet")
        trace = Trace(
            settings=TraceSettings(**head["settings"]),
            first=int(head["first"]),
            events=_column(intervals, "events"),
            bytes=_column(intervals, "bytes") if "bytes" in intervals.column_names else None,
            node_counts=_column(intervals, "nodes"),
            work=_column(tasks, "work"),
            state_size=_column(tasks, "state_size"),
            keys=_column(tasks, "keys") if "keys" in tasks.column_names else None,
            transitions=TransitionCounts(tuple(head["node_counts"]), np.array(head["transitions"], np.int64)),
            malformed={str(name): int(count) for name, count in head["malformed"].items()},
            loads=_matrix(place, tasks.num_rows) if head["loads"] else None,
        )
    except (KeyError, TypeError, ValueError, OSError, pyarrow.ArrowException) as error:
        if isinstance(error, InvalidInstanceError):
            raise
        raise InvalidInstanceError([Fault("trace", str(place), f"cannot be read: {error}")]) from None
    if trace.events.size != head["intervals"] or trace.work.size != trace.settings.tasks:
        raise InvalidInstanceError([Fault("trace", str(place), "its tables do not have the sizes that trace.json says")])
    return trace


def _write(path: Path, columns: dict[str, Any]) -> None:
    with writing(path) as file:
        parquet.write_table(pyarrow.table(columns), file)


def _column(table: pyarrow.Table, name: str) -> Any:
    return table.column(name).to_numpy()


def _matrix(place: Path, tasks: int) -> Any:
    rows = parquet.read_table(place / "loads.parquet").column("work").combine_chunks()
    return rows.flatten().to_numpy().reshape(-1, tasks)
