"""Captures: the raw answers of an engine, each with its path and time, in one file that can be read anywhere."""

from __future__ import annotations

import io
import json
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from edrp.core.files import read_regular, write_whole
from edrp.engines.errors import EngineError

FORMAT = "edrp-capture"
VERSION = 1
"""Version of the format; a reader takes no other."""

MANIFEST, ANSWERS = "capture.json", "answers.jsonl"
MAX_BYTES = 1 << 28
"""Most bytes of either member once it is unpacked."""


@dataclass(frozen=True, slots=True)
class RecordedAnswer:
    """One answer as it came.

    Attributes
    ----------
    path : what was asked for, without the address of the engine.
    at_ms : when the answer was there, in milliseconds since 1970, by the clock of the machine that asked.
    status : of HTTP; 200 where all is well.
    answer : the JSON that came; None where the status is another.
    """

    path: str
    at_ms: int
    status: int
    answer: Any


@dataclass(frozen=True, slots=True)
class Capture:
    """The answers of an engine over a while.

    Attributes
    ----------
    engine : name of the engine, such as "flink".
    address : where it was asked, such as "http://localhost:8081"; a placeholder where hosts are masked.
    job : the engine's identifier of the job.
    answers : in the order in which they came.
    """

    engine: str
    address: str
    job: str
    answers: tuple[RecordedAnswer, ...]
    source: str = "capture"

    def all(self, path: str) -> list[RecordedAnswer]:
        """All good answers to a path, in the order in which they came."""
        return [answer for answer in self.answers if answer.path == path and answer.status == 200]

    def last(self, path: str) -> Any:
        """The last good answer to a path, or None."""
        return next((answer.answer for answer in reversed(self.answers) if answer.path == path and answer.status == 200), None)


def write_capture(capture: Capture, path: str | Path, *, replace: bool = False) -> None:
    """Write a capture; it appears whole or not at all.

    Raises
    ------
    UnwritableError
        When the file is there already and may not be replaced, or cannot be written.
    """
    manifest = {
        "format": FORMAT,
        "version": VERSION,
        "engine": capture.engine,
        "address": capture.address,
        "job": capture.job,
        "answers": len(capture.answers),
    }
    lines = (
        json.dumps({"path": answer.path, "at_ms": answer.at_ms, "status": answer.status, "answer": answer.answer})
        for answer in capture.answers
    )
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in ((MANIFEST, json.dumps(manifest, indent=1) + "\n"), (ANSWERS, "".join(f"{line}\n" for line in lines))):
            archive.writestr(zipfile.ZipInfo(name), text, zipfile.ZIP_DEFLATED)
    write_whole(path, packed.getvalue(), replace=replace)


def read_capture(path: str | Path) -> Capture:
    """Read a capture.

    Raises
    ------
    EngineError
        In one line: the file is no capture, is of another version, or is cut off.
    NoSuchFileError, InvalidInstanceError
        The file does not exist or cannot be read.
    """
    content = read_regular(Path(path))
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            manifest = json.loads(_member(archive, MANIFEST, path))
            _check_manifest(manifest, path)
            answers = tuple(_answers(_member(archive, ANSWERS, path)))
    except (zipfile.BadZipFile, zlib.error, ValueError, KeyError, TypeError, EOFError, RecursionError, NotImplementedError):
        cut = content[:2] == b"PK"
        why = "is cut off or damaged; capture again" if cut else "is no capture; write one with `edrp capture flink`"
        raise EngineError(str(path), why) from None
    if len(answers) != manifest["answers"]:
        raise EngineError(str(path), f"holds {len(answers)} of {manifest['answers']} answers; it is cut off, capture again")
    return Capture(manifest["engine"], manifest["address"], manifest["job"], answers, str(path))


def _member(archive: zipfile.ZipFile, name: str, path: str | Path) -> str:
    """The text of a member, or a refusal of what would be too large."""
    if name not in archive.namelist():
        raise EngineError(str(path), "is a ZIP file but no capture; write one with `edrp capture flink`")
    if archive.getinfo(name).file_size > MAX_BYTES:
        raise EngineError(str(path), f"unpacks {name} to more than {MAX_BYTES >> 20} MiB; capture for fewer --seconds")
    return archive.read(name).decode("utf-8")


def _check_manifest(manifest: Any, path: str | Path) -> None:
    if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
        raise EngineError(str(path), f"is no capture: its format is not {FORMAT!r}; write one with `edrp capture flink`")
    if manifest.get("version") != VERSION:
        version = manifest.get("version")
        raise EngineError(
            str(path), f"is a capture of format version {version}, this edrp reads version {VERSION}; capture again"
        )
    texts = all(isinstance(manifest.get(name), str) for name in ("engine", "address", "job"))
    if not texts or not isinstance(manifest.get("answers"), int):
        raise ValueError(MANIFEST)


def _answers(text: str) -> Iterator[RecordedAnswer]:
    for line in text.splitlines():
        row = json.loads(line)
        if not isinstance(row["path"], str) or not isinstance(row["at_ms"], int) or not isinstance(row["status"], int):
            raise TypeError(ANSWERS)
        yield RecordedAnswer(row["path"], row["at_ms"], row["status"], row["answer"])
