"""Exports: documents that monitoring keeps of a running job, read from files; nothing is asked."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from pkgutil import resolve_name
from typing import Any, Protocol

from edrp.core.files import read_regular, read_whole
from edrp.engines.capture import read_capture
from edrp.engines.errors import EngineError
from edrp.engines.metrics import Scrape, is_answer, is_mbeans, merge_scrapes, read_answer, read_mbeans, read_text
from edrp.engines.observation import Observation
from edrp.engines.protocol import get_engine

READERS = {
    "flink": "edrp.engines.flink.prometheus:READER",
    "kafka-streams": "edrp.engines.kafka_streams.reading:READER",
    "spark": "edrp.engines.spark.reading:READER",
}
"""Where the reader of each engine's exports is, imported when one is read."""


@dataclass(frozen=True, slots=True)
class Export:
    """The content of files, before anything is known of the engine.

    Attributes
    ----------
    source : the files, for messages.
    scrapes : values of metrics, in the order of time.
    records : JSON objects of any other kind, in the order of the files.
    """

    source: str
    scrapes: tuple[Scrape, ...]
    records: tuple[Any, ...]


class ExportReader(Protocol):
    """The reader of one engine's exports."""

    def recognises(self, export: Export) -> bool:
        """Whether the export is of this engine."""

    def observe(self, export: Export, job: str | None) -> Observation:
        """Read the export; `job` says which one where it holds several. Raises `EngineError` in one line."""


def observe_files(paths: Sequence[Path], job: str | None = None) -> Observation:
    """Read a capture, or exports of metrics in the order of time, as observations of a job.

    Raises
    ------
    EngineError
        In one line: a file is of no known kind, or lacks what rates are computed from.
    InvalidInstanceError
        A file cannot be read.
    """
    if len(paths) == 1 and read_regular(paths[0])[:2] == b"PK":
        capture = read_capture(paths[0])
        return get_engine(capture.engine).observe(capture)
    export = read_export(paths)
    for engine, place in READERS.items():
        reader: ExportReader = resolve_name(place)
        if reader.recognises(export):
            try:
                return reader.observe(export, job)
            except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
                why = f"lacks what {engine} tells ({type(error).__name__}: {error}); export it again"
                raise EngineError(export.source, why) from None
    known = "task metrics of Flink or of Kafka Streams, progress of Spark's streaming queries, or a capture"
    raise EngineError(export.source, f"holds nothing of an engine that is known; name files with {known}")


def read_export(paths: Sequence[Path]) -> Export:
    """Read files of any known format.

    Raises
    ------
    EngineError
        One is of no known format.
    InvalidInstanceError
        One cannot be read.
    """
    scrapes: list[Scrape] = []
    records: list[Any] = []
    for path in paths:
        text, source = read_whole(path), str(path)
        content = _json(text)
        if content is None:
            scrapes.append(read_text(text, source))
        elif is_mbeans(content):
            scrapes.append(read_mbeans(content, source))
        elif is_answer(content):
            scrapes += read_answer(content, source)
        else:
            records += content if isinstance(content, list) else [content]
    return Export(", ".join(map(str, paths)), tuple(merge_scrapes(scrapes)), tuple(records))


def _json(text: str) -> Any:
    """A JSON document, or one of each line as a list; None where it is neither."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        pass
    try:
        return [json.loads(line) for line in text.splitlines() if line.strip()]
    except (ValueError, RecursionError):
        return None
