"""Progress of a batch, counted from the rows that its writers have put on disk."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow.parquet as pq

from edrp.batch.journal import JOURNAL
from edrp.batch.parts import FAILED, part_name, part_paths

FAILED_ROW = b'"outcome": "failed"'


@dataclass(frozen=True, slots=True)
class BatchProgress:
    """Progress of a batch.

    Attributes
    ----------
    total
        Rows that this run has to solve.
    done
        Rows solved, the failed ones among them.
    failed
        Rows whose instance, method or worker failed.
    running
        Tasks (on Spark: partitions) at work now.
    seconds
        Since the start.
    """

    total: int
    done: int
    failed: int
    running: int
    seconds: float

    @property
    def remaining_seconds(self) -> float | None:
        """Estimated from the pace so far; None before the first row.

        >>> BatchProgress(total=10, done=4, failed=0, running=2, seconds=8.0).remaining_seconds
        12.0
        """
        return self.seconds / self.done * (self.total - self.done) if self.done else None

    @property
    def note(self) -> str:
        """Remarks to print after the counts; before the first row, the reason why none is there yet.

        >>> BatchProgress(total=40, done=12, failed=1, running=2, seconds=3.0).note
        '1 failed, 2 running'
        >>> BatchProgress(total=40, done=0, failed=0, running=2, seconds=3.0).note
        '2 running; kernels that are not compiled yet come first'
        """
        failed = f"{self.failed} failed, " if self.done else ""
        return f"{failed}{self.running} running{'' if self.done else '; kernels that are not compiled yet come first'}"


Report = Callable[[BatchProgress], None]


@dataclass(slots=True)
class FolderWatch:
    """Counts rows that writers elsewhere put into a folder, reading each byte once.

    `known` are the files that were there before.
    """

    folder: Path
    known: frozenset[str]
    _read: dict[str, tuple[int, int, int]] = field(default_factory=dict)

    @classmethod
    def of(cls, folder: Path) -> FolderWatch:
        """Watch a folder for files that are written from now on."""
        return cls(folder, frozenset(path.name for path in part_paths(folder)))

    def look(self) -> tuple[int, int, int]:
        """Count the rows done, the rows failed and the open journals."""
        journals = list(self.folder.glob(JOURNAL.format("*")))
        for journal in journals:
            self._follow(journal)
        for part in part_paths(self.folder):
            if part.name not in self.known:
                self._finish(part)
        counts = self._read.values()
        return sum(rows for rows, _, _ in counts), sum(failed for _, failed, _ in counts), len(journals)

    def _follow(self, journal: Path) -> None:
        name = journal.stem.removeprefix("_journal-")
        rows, failed, offset = self._read.get(name, (0, 0, 0))
        try:
            with journal.open("rb") as file:
                file.seek(offset)
                fresh = file.read()
        except FileNotFoundError:  # it has just become a part
            return
        whole_lines = fresh[: fresh.rfind(b"\n") + 1]
        self._read[name] = (rows + whole_lines.count(b"\n"), failed + whole_lines.count(FAILED_ROW), offset + len(whole_lines))

    def _finish(self, part: Path) -> None:
        name = part_name(part)
        if self._read.get(name, (0, 0, 0))[2] == -1:
            return
        metadata = pq.read_metadata(part)
        self._read[name] = (metadata.num_rows, int(metadata.metadata[FAILED]), -1)
