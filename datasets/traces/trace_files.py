"""Files of a trace in a folder: tables as Parquet, everything else in one JSON file that is written last."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow
from pyarrow import parquet

from edrp.core.files import write_whole, writing
from edrp.datasets.traces.trace import Trace

TRACE_HEAD = "trace.json"
TRACE_FORMAT = 1


def save_trace(trace: Trace, folder: str | Path) -> None:
    """Write a trace: `tasks.parquet`, `intervals.parquet`, perhaps `loads.parquet` (one row an interval), `trace.json`.

    Raises
    ------
    OSError
        When the folder cannot be written to.
    """
    path = Path(folder)
    path.mkdir(parents=True, exist_ok=True)
    (path / TRACE_HEAD).unlink(missing_ok=True)  # what is there from now on is of no trace until the head is back
    tasks: dict[str, Any] = {"task": np.arange(trace.work.size), "work": trace.work, "state_size": trace.state_size}
    intervals: dict[str, Any] = {"start": trace.start_times, "events": trace.events, "nodes": trace.node_counts}
    if trace.keys is not None:
        tasks["keys"] = trace.keys
    if trace.bytes is not None:
        intervals["bytes"] = trace.bytes
    _write(path / "tasks.parquet", tasks)
    _write(path / "intervals.parquet", intervals)
    (path / "loads.parquet").unlink(missing_ok=True)
    if trace.loads is not None:
        rows = pyarrow.FixedSizeListArray.from_arrays(pyarrow.array(trace.loads.ravel()), trace.loads.shape[1])
        _write(path / "loads.parquet", {"work": rows})
    head = {
        "format": TRACE_FORMAT,
        "settings": trace.settings.to_dict(),
        "first": trace.first,
        "intervals": int(trace.events.size),
        "malformed": trace.malformed,
        "node_counts": list(trace.transitions.node_counts),
        "transitions": trace.transitions.counts.tolist(),
        "loads": trace.loads is not None,
    }
    write_whole(path / TRACE_HEAD, json.dumps(head, indent=2) + "\n")


def _write(path: Path, columns: dict[str, Any]) -> None:
    with writing(path) as file:
        parquet.write_table(pyarrow.table(columns), file)
