"""Journals of what is done to a job: a line of JSON per fact, with a checksum, on the disk before what follows from it."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path
from types import TracebackType
from typing import Any

from edrp.core.errors import InvalidInstanceError, UnwritableError
from edrp.core.files import naming_errors, open_own, read_regular, read_sealed_line, sealed_line, warn_user
from edrp.engines.errors import EngineError

FORMAT, MIGRATION_FORMAT = "edrp-watch 1", "edrp-migration 1"
"""Format of the lines of a watch or a migration and its version, which their checksums hold."""

Entry = dict[str, Any]
"""A line: `at`, in seconds since 1970, `kind`, and what belongs to that kind."""


class WatchJournal:
    """A journal that is open, and held by one watch or migration alone.

    Parameters
    ----------
    path
        Path of the file; a journal that is there goes on where it ended.
    form
        Format of its lines.

    Attributes
    ----------
    entries
        Lines that it held when it was opened.

    Raises
    ------
    EngineError
        Another command holds it, or a line before the last is damaged: what was done to the job is not known then.
    UnwritableError
        It cannot be written.
    """

    def __init__(self, path: Path, form: str = FORMAT) -> None:
        self._path, self._form = path, form
        self._command = form.removeprefix("edrp-").partition(" ")[0]
        self._file = _open_alone(path, self._command)
        try:
            self.entries = self._read()
        except BaseException:
            os.close(self._file)
            raise

    def _read(self) -> list[Entry]:
        """All lines; what a crash has left of the last one is dropped."""
        try:
            *lines, end = read_regular(self._path).split(b"\n")
        except InvalidInstanceError as error:
            raise EngineError(str(self._path), error.faults[0].why) from None
        entries = []
        for number, line in enumerate(lines, 1):
            try:
                entries.append(read_sealed_line(line, self._form))
            except (ValueError, RecursionError):
                why = f"line {number} is damaged or of no {self._command}, so that it does not tell what was done to the job"
                raise EngineError(str(self._path), f"{why}; name a new journal") from None
        if end:
            with naming_errors(self._path):
                os.ftruncate(self._file, sum(len(line) + 1 for line in lines))
            warn_user(f"{self._path}: its last line was cut off and is dropped; what came before is kept")
        return entries

    def __enter__(self) -> WatchJournal:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        os.close(self._file)

    def write(self, entry: Entry) -> None:
        """Write a line; it is on the disk when this returns.

        Raises
        ------
        UnwritableError
            It is not.
        """
        line = sealed_line(entry, self._form)
        with naming_errors(self._path):
            written = os.write(self._file, line)
            if written < len(line):
                raise UnwritableError(str(self._path), "cannot be written: the disk is full")
            os.fsync(self._file)


def _open_alone(path: Path, command: str) -> int:
    """Open a file and keep other commands out of it until it is closed."""
    file = open_own(path, os.O_WRONLY | os.O_APPEND)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(file)
        raise EngineError(str(path), f"is in use by another {command}; stop that one, or name another journal") from None
    return file
