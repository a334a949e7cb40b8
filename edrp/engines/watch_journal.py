"""Journals of what is done to a job: a line of JSON per fact, with a checksum, on the disk before what follows from it.

The past of a watched job is a fold over these lines (`WatchState`), live and when a watch goes on with an old journal.
"""

from __future__ import annotations

import fcntl
import os
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from edrp.core.errors import InvalidInstanceError, UnwritableError
from edrp.core.files import naming_errors, open_own, read_regular, read_sealed_line, sealed_line, warn_user
from edrp.engines.errors import EngineError
from edrp.engines.estimates import Estimate
from edrp.engines.predictions import DOWNTIME, Prediction
from edrp.placement.deployment import Deployment

FORMAT, MIGRATION_FORMAT = "edrp-watch 1", "edrp-migration 1"
"""Format of the lines of a watch or a migration and its version, which their checksums hold."""

Entry = dict[str, Any]
"""A line: `at`, in seconds since 1970, `kind`, and what belongs to that kind."""

MAX_MISSES = 2
"""Predictions in a row that miss, after which nothing is applied until one fits."""


class HeldFile:
    """A file that is open for appending, and held by one command alone until the block ends.

    Parameters
    ----------
    file
        Its descriptor.
    in_use
        What to say where another command holds it.
    """

    def __init__(self, path: Path, file: int, in_use: str) -> None:
        self.path, self._file = path, file
        try:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                raise EngineError(str(path), in_use) from None
            self._begin()
        except BaseException:
            os.close(file)
            raise

    def _begin(self) -> None:
        """Read what the file holds, once nobody else writes it."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        os.close(self._file)

    def _append_whole(self, content: bytes) -> None:
        """Append by one write; all is on the disk when this returns."""
        with naming_errors(self.path):
            if os.write(self._file, content) < len(content):
                raise UnwritableError(str(self.path), "cannot be written: the disk is full; free some, and run the command again")
            os.fsync(self._file)


class WatchJournal(HeldFile):
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
        self._form, self._command = form, form.removeprefix("edrp-").partition(" ")[0]
        in_use = f"is in use by another {self._command}; stop that one, or name another journal"
        super().__init__(path, open_own(path, os.O_WRONLY | os.O_APPEND), in_use)

    def _begin(self) -> None:
        """Read all lines; what a crash has left of the last one is dropped."""
        try:
            *lines, end = read_regular(self.path).split(b"\n")
        except InvalidInstanceError as error:
            raise EngineError(str(self.path), error.faults[0].why) from None
        self.entries: list[Entry] = []
        for number, line in enumerate(lines, 1):
            try:
                self.entries.append(read_sealed_line(line, self._form))
            except (ValueError, RecursionError):
                why = f"line {number} is damaged or of no {self._command}, so that it does not tell what was done to the job"
                raise EngineError(str(self.path), f"{why}; name a new journal") from None
        if end:
            with naming_errors(self.path):
                os.ftruncate(self._file, sum(len(line) + 1 for line in lines))
            warn_user(f"{self.path}: its last line was cut off and is dropped; what came before is kept")

    def write(self, entry: Entry) -> None:
        """Write a line; it is on the disk when this returns.

        Raises
        ------
        UnwritableError
            It is not.
        """
        self._append_whole(sealed_line(entry, self._form))


@dataclass
class WatchState:
    """The state after all lines so far.

    Attributes
    ----------
    last_at : time of the newest line; None before the first.
    misses : predictions in a row that missed.
    widths : factors of intervals, by quantity.
    acted_at : when the last change was made or tried.
    unfinished : lines of a change that has begun and not ended.
    stopped : the line that said that the job is being stopped or where its savepoint is, until it runs again.
    probation : the change whose throughput is looked at, as the line that said it was done.
    below : observations in a row whose throughput was below the interval of that change.
    rolled_back : numbers of replicas that were rolled back, which are not tried again.
    mode : how the last change was made.
    changed_at : when the last change that was made was done.
    silences : measured seconds without processing of past changes, by how they were made.
    offered : offered rates as (when the observation began, when it ended, tuples/s).
    """

    last_at: float | None = None
    job: str | None = None
    key: str | None = None
    round: int = 0
    misses: int = 0
    widths: dict[str, float] = field(default_factory=dict)
    prediction: Prediction | None = None
    acted_at: float | None = None
    unfinished: list[Entry] = field(default_factory=list)
    stopped: Entry | None = None
    probation: Entry | None = None
    below: int = 0
    rolled_back: list[dict[str, int]] = field(default_factory=list)
    mode: str | None = None
    changed_at: float | None = None
    silences: dict[str, list[float]] = field(default_factory=dict)
    offered: list[tuple[float, float, float]] = field(default_factory=list)

    def take(self, entry: Entry) -> None:
        """Update the state by one line of the journal."""
        self.last_at = max(entry["at"], self.last_at or entry["at"])
        kind = entry["kind"]
        if kind == "start":
            self.job, self.key = entry["job"], entry["key"]
        elif kind == "observation":
            self.round, self.stopped = entry["round"], None
        elif kind == "outcome":
            self._judged(entry)
        elif kind == "prediction":
            self.prediction = Prediction(
                replicas=entry["replicas"],
                throughput=Estimate(**entry["throughput"]),
                rates=entry["rates"],
                busy={name: Estimate(**values) for name, values in entry["busy"].items()},
                downtime=None if entry["downtime"] is None else Estimate(**entry["downtime"]),
            )
        elif kind == "action":
            self._acted(entry)
        elif kind == "offered" and entry["rate"] is not None:
            self.offered.append((entry["at"] - entry["seconds"], entry["at"], entry["rate"]))

    def _judged(self, entry: Entry) -> None:
        self.prediction = None
        if not entry["comparable"]:
            self.probation, self.below = None, 0
            return
        downtimes = [judged["measured"] for judged in entry["judgements"] if judged["quantity"] == DOWNTIME]
        if self.mode is not None:
            self.silences.setdefault(self.mode, []).extend(downtimes)
        self.misses = 0 if entry["covered"] else self.misses + 1
        self.widths |= entry["widths"]
        self.below = self.below + 1 if entry["below"] else 0
        if not self.below:
            self.probation = None

    def _acted(self, entry: Entry) -> None:
        self.acted_at = entry["at"]
        step = entry["step"]
        if step == "begin":
            self.mode = entry["mode"]
        if step == "begin" and entry["rollback"]:  # once, however that ends
            self.rolled_back.append({name: len(nodes) for name, nodes in entry["before"].items()})
            self.misses = max(self.misses, MAX_MISSES)
            self.probation, self.below = None, 0
        if step in ("stopping", "savepoint", "cancelling"):
            self.stopped = entry
        if step == "started":
            self.key, self.stopped = entry["key"], None
        if step == "done":
            self.key, self.changed_at = entry["key"], entry["at"]
            self.probation, self.below = None if entry["rollback"] else entry, 0
        if step in ("done", "failed"):
            self.unfinished = []
            self.prediction = None
        else:
            self.unfinished = [*self.unfinished, entry]


def deployment_fields(deployment: Deployment) -> dict[str, list[str]]:
    """A deployment as a field of a line: the nodes of each operator's replicas."""
    return {name: list(deployment[name]) for name in deployment}
