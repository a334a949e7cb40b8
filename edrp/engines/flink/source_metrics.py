"""Metrics of sources: their backlog as connectors report it, and what the first operator of a chain sends."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any
from urllib.parse import quote

from edrp.engines.capture import Capture
from edrp.engines.flink.client import FlinkClient
from edrp.engines.observation import BacklogSample

PENDING, LAG = "pendingRecords", "currentEmitEventTimeLag"
"""Standard metrics of source readers, since Flink 1.14; the second is in milliseconds."""

SENT = "numRecordsOut"
"""Tuples that an operator, or a task, has sent; a task's are the sum over those of its operators that send to other tasks."""

REPLACED = str.maketrans(" :.,", "____")
"""Characters of names of operators that Flink replaces in names of metrics."""

MAX_OPERATOR_NAME = 80
"""Length of names of operators in names of metrics; Flink cuts longer ones."""

MILLISECONDS = 1e-3

MAX_NAMES = 200
"""Names that are asked for in one request: addresses of requests have a limited length."""


class SourceMetrics:
    """Asks the sources of a job in every round of a capture.

    Metrics are named `SUBTASK.OPERATOR.pendingRecords`. Which there are is asked until there are any: right after a start a
    cluster has gathered none. Of a chain with several edges, what its first operator has sent is asked, too.
    """

    def __init__(self, client: FlinkClient, root: str, job: Any) -> None:
        self._client, self._root = client, root
        nodes = (job.get("plan") or {}).get("nodes", ())
        reading = {node["id"] for node in nodes if node.get("inputs")}
        sources = (node["id"] for node in nodes if node["id"] not in reading)
        self._names: dict[str, list[str] | None] = dict.fromkeys(sources)
        self._heads = _heads(job, nodes)

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
        sent = (SENT, f"{self._heads[vertex]}.{SENT}") if vertex in self._heads else ()
        names = [name for name in listed if name.endswith((f".{PENDING}", f".{LAG}")) or name.partition(".")[2] in sent]
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
            pending = _complete((value for name, value in rows if name.endswith(f".{PENDING}")), replicas)
            lags = _complete((value for name, value in rows if name.endswith(f".{LAG}")), replicas)
            lag = None if lags is None else lags * MILLISECONDS / replicas
            if pending is not None or lag is not None:
                samples.append(BacklogSample(at, pending, lag))
    return tuple(samples)


def head_shares(capture: Capture, root: str, job: Any, nodes: Any) -> dict[str, float]:
    """What the first operator of a source's chain has sent over what is counted for the task, by vertex with several edges.

    Empty where the capture has no such metrics, as those made before they were asked for.
    """
    shares = {}
    for vertex, head in _heads(job, nodes).items():
        prefix = f"{root}/vertices/{vertex}/metrics?get="
        newest: dict[str, float] = {}
        for answer in capture.answers:
            if answer.status == 200 and answer.path.startswith(prefix):
                newest.update(_values(answer.answer))
        sent, counted = (
            sum(value for name, value in newest.items() if name.partition(".")[2] == metric)
            for metric in (f"{head}.{SENT}", SENT)
        )
        if sent and counted:
            shares[vertex] = min(1.0, sent / counted)
    return shares


def _heads(job: Any, nodes: Any) -> dict[str, str]:
    """Name of the first operator in names of metrics, of each source that is a chain and has several edges."""
    edges = Counter(origin["id"] for node in nodes for origin in node.get("inputs", ()))
    reading = {node["id"] for node in nodes if node.get("inputs")}
    return {
        vertex["id"]: vertex["name"].partition(" -> ")[0].translate(REPLACED)[:MAX_OPERATOR_NAME]
        for vertex in job.get("vertices", ())
        if edges[vertex["id"]] > 1 and vertex["id"] not in reading and " -> " in vertex["name"]
    }


def _values(rows: Any) -> Iterator[tuple[str, float]]:
    for row in rows if isinstance(rows, list) else ():
        try:
            value = float(row["value"])
        except (KeyError, TypeError, ValueError):
            continue
        if math.isfinite(value) and value >= 0:
            yield str(row.get("id", "")), value


def _complete(values: Iterable[float], replicas: int) -> float | None:
    """The sum over all replicas; None where one is missing."""
    known = list(values)
    return sum(known) if len(known) == replicas else None
