"""Progress of a streaming query of Spark, as `StreamingQueryProgress` tells it: one JSON object per batch.

A batch is processed as a whole: the query is one operator with one replica, fed by its sources. From the start of one batch to
that of the next, it is busy for as long as the batch takes.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from itertools import pairwise
from typing import Any

from edrp.engines.errors import EngineError
from edrp.engines.exports import Export
from edrp.engines.metrics import choose_job
from edrp.engines.observation import (
    CheckpointObservation,
    NodeObservation,
    Observation,
    OperatorObservation,
    OperatorWindow,
    StoreObservation,
    StreamObservation,
    SubtaskWindow,
)

QUERY = "query"
"""Name of the operator that is the whole query."""

MILLISECONDS = 1e-3

NAME_LENGTH = 40
"""Most characters of a source's description that are its name; of a longer one, what stands before its options is."""

UNTOLD = (
    "Spark tells of a query as a whole: neither tasks, nor executors, nor bytes, nor times of a restart: no advice",
    "a batch has costs of its own however few rows it has: the service rate is that of batches of the size seen",
)


class SparkReader:
    """Reads progress of streaming queries."""

    def recognises(self, export: Export) -> bool:
        """Whether there are records of progress."""
        return any(_is_progress(record) for record in export.records)

    def observe(self, export: Export, job: str | None) -> Observation:
        """Read the export.

        Raises
        ------
        EngineError
            It holds several queries, or a single batch whose rate is not told.
        """
        records = [record for record in export.records if _is_progress(record)]
        query = choose_job([_query_name(record) for record in records], job, export.source)
        batches = sorted((r for r in records if _query_name(r) == query), key=lambda record: record["timestamp"])
        seconds = list(_spans(batches))
        if not seconds:
            why = "holds no two batches of one run, nor a batch with its rate; export recentProgress of the query once more"
            raise EngineError(export.source, why)
        names = _source_names(batches[-1])
        stores = tuple(_stores(batches[-1]))
        sources = [_source(name, index, seconds) for index, name in enumerate(names)]
        return Observation(
            engine="spark",
            version="",
            job=query,
            key=str(batches[-1]["id"]),
            live=False,
            max_delay=None,
            operators=(*sources, _query(seconds, stores)),
            streams=tuple(StreamObservation(name, QUERY, "rebalance") for name in names),
            nodes=(NodeObservation("", 1, 0, {}),),
            checkpoints=CheckpointObservation(None, (), sum(store.size for store in stores), None),
            rescales=(),
            stores=stores,
            untold=(*UNTOLD, *_unknown_output(batches[-1])),
        )


READER = SparkReader()
"""The reader, which has no state."""

Span = tuple[float, Mapping[str, Any]]
"""Seconds from the start of a batch to that of the next one, and the batch."""


def _is_progress(record: Any) -> bool:
    return isinstance(record, dict) and {"timestamp", "batchId", "durationMs", "sources", "numInputRows"} <= record.keys()


def _query_name(record: Mapping[str, Any]) -> str:
    """Name of the query, which may be null; then its identifier."""
    return str(record.get("name") or record["id"])


def _spans(batches: Sequence[Mapping[str, Any]]) -> Iterator[Span]:
    """Batches with rows that have a next one in the same run; the first of a run, which compiles, where there are no others.

    Of a single batch, the time since the one before follows from its rate of input.
    """
    pairs = [(a, b) for a, b in pairwise(batches) if a["runId"] == b["runId"] and a["numInputRows"]]
    spans = [((_time(b) - _time(a)).total_seconds(), a) for a, b in pairs]
    spans = [(seconds, batch) for seconds, batch in spans if seconds > 0]
    later = [(seconds, batch) for seconds, batch in spans if batch["batchId"] > 0]
    if later or spans:
        yield from later or spans
    elif batches:
        rate = float(batches[-1].get("inputRowsPerSecond") or 0.0)
        if math.isfinite(rate) and rate > 0:
            yield batches[-1]["numInputRows"] / rate, batches[-1]


def _time(batch: Mapping[str, Any]) -> datetime:
    return datetime.fromisoformat(batch["timestamp"])


def _source_names(batch: Mapping[str, Any]) -> list[str]:
    """Descriptions of the sources; equal ones are numbered."""
    seen: Counter[str] = Counter()
    names = []
    for source in batch["sources"]:
        name = str(source["description"])
        name = name if len(name) <= NAME_LENGTH else name.partition("[")[0][:NAME_LENGTH]
        seen[name] += 1
        names.append(name if seen[name] == 1 else f"{name} ({seen[name]})")
    return names


def _source(name: str, index: int, spans: Sequence[Span]) -> OperatorObservation:
    rows = [int(batch["sources"][index]["numInputRows"]) for _, batch in spans]
    windows = tuple(
        OperatorWindow(seconds, (SubtaskWindow("", 0, count, 0, 0, None, 0.0, 0.0),))
        for (seconds, _), count in zip(spans, rows, strict=True)
    )
    return OperatorObservation(name, name, ("",), 1, None, "", windows, (0.0, 0.0), ())


def _query(spans: Sequence[Span], stores: Sequence[StoreObservation]) -> OperatorObservation:
    sizes = (sum(store.size for store in stores),) if stores else ()
    windows = tuple(OperatorWindow(seconds, (_batch_window(seconds, batch),)) for seconds, batch in spans)
    return OperatorObservation(QUERY, QUERY, ("",), 1, None, "", windows, (0.0, 0.0), sizes)


def _batch_window(seconds: float, batch: Mapping[str, Any]) -> SubtaskWindow:
    busy = min(seconds, batch["durationMs"]["triggerExecution"] * MILLISECONDS)
    rows_out = max(0, int((batch.get("sink") or {}).get("numOutputRows", 0)))
    return SubtaskWindow("", int(batch["numInputRows"]), rows_out, 0, 0, busy, seconds - busy, 0.0)


def _stores(batch: Mapping[str, Any]) -> Iterator[StoreObservation]:
    """Stateful operators of the query, by their places in its plan."""
    for number, store in enumerate(batch.get("stateOperators") or (), 1):
        name = f"{number} {store.get('operatorName', 'state')}"
        partitions = int(store.get("numShufflePartitions", 1))
        yield StoreObservation(QUERY, name, partitions, int(store["memoryUsedBytes"]), int(store["numRowsTotal"]))


def _unknown_output(batch: Mapping[str, Any]) -> Iterator[str]:
    """A sentence where the sink does not count rows, which it tells by -1."""
    if int((batch.get("sink") or {}).get("numOutputRows", -1)) < 0:
        yield "the sink does not count rows: the selectivity is not known"
