"""`edrp watch flink` against a cluster that behaves, in the time of that cluster."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fake_engine import FakeEngine
from fake_flink import FakeClock, serving

from edrp.core.files import read_sealed_line
from edrp.engines.watch_journal import FORMAT, Entry

LIMITS = ("--max-downtime", "4", "--cooldown", "150", "--replicas", "1:5")
RESCALE = ("--apply", "rescale", *LIMITS)


@dataclass
class Watch:
    """Calls the command with a clock that belongs to the cluster."""

    run: Any
    monkeypatch: Any
    journal: Path
    clock: FakeClock | None = None

    def __call__(self, flink: FakeEngine, *options: object, clock: FakeClock | None = None) -> Any:
        self.clock = clock or FakeClock(flink)
        self.monkeypatch.setattr("edrp.cli.watch.SystemClock", lambda: self.clock)
        with serving(flink) as address:
            return self.run("watch", "flink", "--rest", address, "--journal", self.journal, *options)

    def entries(self, kind: str | None = None) -> list[Entry]:
        """Lines of the journal, each of which must be whole."""
        lines = self.journal.read_bytes().splitlines()
        entries = [read_sealed_line(line, FORMAT) for line in lines]
        return [entry for entry in entries if kind in (None, entry["kind"])]

    def kill(self) -> None:
        """Let the command be killed while it waits next."""

        def killed() -> None:
            raise KeyboardInterrupt

        assert self.clock
        self.clock.during = killed

    def steps(self) -> list[str]:
        """Steps of all changes."""
        return [entry["step"] for entry in self.entries("action")]


def words(text: str) -> str:
    """A text whose lines were broken somewhere."""
    return " ".join(text.split())


def puts(flink: FakeEngine) -> Sequence[Any]:
    """Upper bounds of the counter that were asked for."""
    counter = flink.key("counter")
    return [body[counter]["parallelism"]["upperBound"] for method, _, body in flink.sent if method == "PUT"]
