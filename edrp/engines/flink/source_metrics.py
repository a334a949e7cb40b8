"""Metrics of sources: their backlog as connectors report it, and what the first operator of a chain sends."""

from __future__ import annotations

import math
import re
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
                # Names of the metrics of a source that tell its backlog.
                answer = self._client.get(path).answer
                listed = [str(row["id"]) for row in answer if "id" in row] if isinstance(answer, list) else []
                sent = self._heads.get(vertex, ())
                names = [name for name in listed if name.endswith((f".{PENDING}", f".{LAG}")) or name.partition(".")[2] in sent]
                if listed:
                    self._names[vertex] = names
            for begin in range(0, len(names), MAX_NAMES):
                self._client.get(f"{path}?get={quote(','.join(names[begin : begin + MAX_NAMES]))}")


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


def head_shares(capture: Capture, job: Any, nodes: Any) -> dict[str, float]:
    """What the first operator of a source has sent over what the task counts, by vertex; only where the capture has both."""
    shares = {}
    for vertex, metrics in _heads(job, nodes).items():
        newest: dict[str, float] = {}
        for answer in capture.answers:
            if answer.status == 200 and answer.path.startswith(f"/jobs/{capture.job}/vertices/{vertex}/metrics?get="):
                newest.update(_values(answer.answer))
        sent, counted = (sum(newest[name] for name in newest if name.partition(".")[2] == metric) for metric in metrics)
        if sent and counted:
            shares[vertex] = min(1.0, sent / counted)
    return shares


def _heads(job: Any, nodes: Any) -> dict[str, tuple[str, str]]:
    """Metrics of what the first operator and the task have sent, of each source that is a chain and has several edges."""
    edges = Counter(origin["id"] for node in nodes for origin in node.get("inputs", ()))
    sources = {node["id"] for node in nodes if not node.get("inputs") and edges[node["id"]] > 1}
    heads = {one["id"]: one["name"].partition(" -> ") for one in job.get("vertices", ()) if one["id"] in sources}
    return {key: (f"{re.sub('[ :.,]', '_', name)[:80]}.{SENT}", SENT) for key, (name, _, others) in heads.items() if others}


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
