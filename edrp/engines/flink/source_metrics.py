"""Backlog as sources of Flink report it: `pendingRecords` and `currentEmitEventTimeLag`, as connectors report them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import Any
from urllib.parse import quote

from edrp.engines.capture import Capture
from edrp.engines.flink.client import FlinkClient
from edrp.engines.observation import BacklogSample

PENDING, LAG = "pendingRecords", "currentEmitEventTimeLag"
"""Standard metrics of source readers, since Flink 1.14; the second is in milliseconds."""

MILLISECONDS = 1e-3

MAX_NAMES = 200
"""Names that are asked for in one request: addresses of requests have a limited length."""


class SourceMetrics:
    """Asks the sources of a job in every round of a capture.

    Metrics are named `SUBTASK.OPERATOR.pendingRecords`. Which there are is asked until there are any: right after a start a
    cluster has gathered none.
    """

    def __init__(self, client: FlinkClient, root: str, job: Any) -> None:
        self._client, self._root = client, root
        nodes = (job.get("plan") or {}).get("nodes", ())
        reading = {node["id"] for node in nodes if node.get("inputs")}
        sources = (node["id"] for node in nodes if node["id"] not in reading)
        self._names: dict[str, list[str] | None] = dict.fromkeys(sources)

    def ask(self) -> None:
        """Ask for the values, which the client remembers."""
        for vertex, names in self._names.items():
            path = f"{self._root}/vertices/{vertex}/metrics"
            if names is None:
                names = self._listed(path, vertex)
            for begin in range(0, len(names), MAX_NAMES):
                self._client.get(f"{path}?get={quote(','.join(names[begin : begin + MAX_NAMES]))}")

    def _listed(self, path: str, vertex: str) -> list[str]:
        """Names of the metrics of a source that tell its backlog."""
        answer = self._client.get(path).answer
        listed = [str(row["id"]) for row in answer if "id" in row] if isinstance(answer, list) else []
        names = [name for name in listed if name.endswith((f".{PENDING}", f".{LAG}"))]
        if listed:
            self._names[vertex] = names
        return names


def backlog_samples(capture: Capture, vertex: str, replicas: int) -> tuple[BacklogSample, ...]:
    """Samples of a source from a capture; empty where the capture has none, as those made before sources were asked.

    Parameters
    ----------
    vertex
        Path of the source.
    replicas
        Number of its replicas now: sums over others are of before a change and left out.
    """
    prefix = f"{vertex}/metrics?get="
    samples, at = [], 0.0
    for answer in capture.answers:
        if answer.status == 200 and answer.path == vertex:
            at = answer.answer["now"] * MILLISECONDS
        if answer.status == 200 and answer.path.startswith(prefix):
            rows = list(_values(answer.answer))
            pending = _complete((value for name, value in rows if name == PENDING), replicas)
            lags = _complete((value for name, value in rows if name == LAG), replicas)
            lag = None if lags is None else lags * MILLISECONDS / replicas
            if pending is not None or lag is not None:
                samples.append(BacklogSample(at, pending, lag))
    return tuple(samples)


def _values(rows: Any) -> Iterator[tuple[str, float]]:
    for row in rows if isinstance(rows, list) else ():
        try:
            value = float(row["value"])
        except (KeyError, TypeError, ValueError):
            continue
        if math.isfinite(value) and value >= 0:
            yield str(row.get("id", "")).rpartition(".")[2], value


def _complete(values: Iterable[float], replicas: int) -> float | None:
    """The sum over all replicas; None where one is missing."""
    known = list(values)
    return sum(known) if len(known) == replicas else None
