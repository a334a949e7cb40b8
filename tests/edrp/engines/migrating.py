"""`edrp migrate flink` against a cluster that follows the control log, in the time of that cluster and without a network."""

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fake_flink import HANG_UP, FakeClock
from fake_live import FakeLive

from edrp.core.files import read_sealed_line
from edrp.engines.errors import NoAnswerError
from edrp.engines.flink.migrating.discovery import LiveReader
from edrp.engines.watch_journal import MIGRATION_FORMAT


def connect(flink: FakeLive, client: Any) -> None:
    """Have a client ask the cluster without a network."""

    def exchange(path: str, method: str = "GET", content: Any = None, content_type: str = "") -> tuple[int, bytes]:
        flink.asked.append((method, path))
        answer = flink.respond(method, path, content)
        if answer is HANG_UP:
            raise NoAnswerError(client.address, "hangs up")
        return (answer, b"") if isinstance(answer, int) else (200, json.dumps(answer).encode())

    client.exchange = exchange


def reader_of(flink: FakeLive, clock: FakeClock | None = None) -> LiveReader:
    """A reader of the job."""
    reader = LiveReader(flink.address, None, clock or FakeClock(flink))
    connect(flink, reader.client)
    return reader


@dataclass
class Migrate:
    """Calls the command; `flink` may be changed between two calls."""

    run: Any
    monkeypatch: Any
    folder: Path
    flink: FakeLive = field(init=False)

    def __post_init__(self) -> None:
        self.log, self.journal = self.folder / "control.log", self.folder / "migration.jsonl"
        self.log.write_text("")
        self.flink = FakeLive(log=self.log)

    def __call__(self, *options: object, clock: FakeClock | None = None) -> Any:
        clock = clock or FakeClock(self.flink)
        self.monkeypatch.setattr("edrp.cli.migrate.SystemClock", lambda: clock)
        self.monkeypatch.setattr("edrp.cli.migrate.LiveReader", lambda *given: reader_of(self.flink, clock))
        return self.run("migrate", "flink", "--rest", self.flink.address, "--journal", self.journal, *options)

    def entries(self, kind: str | None = None) -> list[dict[str, Any]]:
        """Lines of the journal."""
        lines = self.journal.read_bytes().splitlines() if self.journal.exists() else []
        entries = [read_sealed_line(line, MIGRATION_FORMAT) for line in lines]
        return [entry for entry in entries if kind in (None, entry["kind"])]

    def plan(self, content: dict[str, Any] | str, name: str = "plan.json") -> Path:
        """A file with a plan."""
        path = self.folder / name
        path.write_text(content if isinstance(content, str) else json.dumps(content))
        return path
