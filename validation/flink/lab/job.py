"""The lab's jobs: settings, running one, changing its rate, and what its writer has measured."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import mkdtemp
from typing import Any, Literal, NamedTuple

from edrp.engines.errors import EngineError
from edrp.engines.flink.local.cluster import LocalFlink
from edrp.engines.flink.local.jobs import RunningJob, now_ms, submit
from edrp.validation.flink.lab.build import LAB

Topology = Literal["chain", "fan-out", "join"]

TOPOLOGIES: dict[Topology, tuple[str, ...]] = {
    "chain": ("reader", "parser", "counter", "writer"),
    "fan-out": ("reader", "parser", "counter", "enricher", "writer"),
    "join": ("left", "right", "join", "writer"),
}
"""Operators of each topology; readers, left, right and writer serve in no time and stay single."""

LEAD_MS = 300
"""Milliseconds from asking for a rate to its begin, so that no replica has gone past that time yet."""


@dataclass(frozen=True, slots=True)
class LabSettings:
    """A job of the lab.

    Attributes
    ----------
    topology : "chain", "fan-out" (counter and enricher both take all), or "join" (of two sources with half the rate each).
    rate : tuples/s of all sources together at the start.
    replicas : of operators; 1 where one is left out.
    service : seconds that a replica takes for a tuple, by operator; 1 ms where one is left out.
    exponential : whether service times are exponentially distributed, instead of all equal.
    keys : how many keys there are.
    skew : exponent of Zipf's law by which keys are drawn; 0 for all alike.
    state_bytes : of each key of the counter; the first tuples bring every key once.
    store_rate : bytes/s of a store that hands the counter's state back after a restart, 0 for as fast as Flink reads it.
    checkpoint_interval : seconds between checkpoints.
    buffer_timeout : seconds after which a buffer is sent that is not full.
    max_parallelism : number of key groups.
    pinned : whether each operator demands the external resource of its name, with which the default scheduler places it.
    places : resources that pinned operators demand instead of that of their name.
    """

    topology: Topology = "chain"
    rate: float = 100.0
    replicas: Mapping[str, int] = field(default_factory=dict)
    service: Mapping[str, float] = field(default_factory=dict)
    exponential: bool = False
    keys: int = 1000
    skew: float = 0.0
    state_bytes: int = 1000
    store_rate: float = 0.0
    checkpoint_interval: float = 5.0
    buffer_timeout: float = 0.01
    max_parallelism: int = 128
    pinned: bool = False
    places: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in (*self.replicas, *self.service, *self.places):
            if name not in TOPOLOGIES[self.topology]:
                known = ", ".join(TOPOLOGIES[self.topology])
                raise EngineError(f"operator {name!r}", f"is none of the topology {self.topology}; they are {known}")

    def arguments(self, folder: Path) -> list[str]:
        """Arguments of the Java program (`LabJob.java`)."""
        words = {
            "topology": self.topology,
            "name": self.topology,
            "rates": folder / "rates.txt",
            "folder": folder,
            "service": "exponential" if self.exponential else "fixed",
            "keys": self.keys,
            "skew": self.skew,
            "state-bytes": self.state_bytes,
            "store-bytes-per-second": self.store_rate,
            "checkpoint-ms": round(1000 * self.checkpoint_interval),
            "buffer-ms": round(1000 * self.buffer_timeout),
            "max-parallelism": self.max_parallelism,
            "pinned": str(self.pinned).lower(),
            **{f"{name}.replicas": count for name, count in self.replicas.items()},
            **{f"{name}.micros": 1e6 * seconds for name, seconds in self.service.items()},
        }
        if self.places:
            words["places"] = ",".join(f"{name}={resource}" for name, resource in self.places.items())
        return program_arguments(words)


def program_arguments(words: Mapping[str, object]) -> list[str]:
    """Arguments of a Java program by their names, in which hyphens stand for underscores.

    >>> program_arguments({"state_bytes": 8})
    ['--state-bytes', '8']
    """
    return [part for name, value in words.items() for part in (f"--{name.replace('_', '-')}", str(value))]


def live_files(folder: Path) -> dict[str, object]:
    """Arguments of a live job that name its files: the rates, the folder of its results, and its control log."""
    return {"rates": folder / "rates.txt", "folder": folder, "control": (folder / "control").as_uri()}


def key_group(task: int, worker: int, groups: int, workers: int) -> int:
    """The key group of a task on a worker, as `LiveSettings.java` spreads tasks at first."""
    begin, end = (-(-groups * edge // workers) for edge in (worker, worker + 1))
    return begin + task % (end - begin)


class Bucket(NamedTuple):
    """The tuples that arrived at the writer in a tenth of a second: times since 1970 and latencies, in milliseconds."""

    first: int
    last: int
    tuples: int
    mean: float
    median: float
    p95: float
    worst: float


class ScheduledJob:
    """A job over all its starts, whose tuples are due by one schedule that may be extended while it runs.

    Parameters
    ----------
    name
        Beginning of the name of its folder.
    entry
        Class of the program in the jar; None for the one that the jar names.
    """

    settings: Any
    job: RunningJob

    def __init__(self, flink: LocalFlink, name: str, entry: str | None = None, jar: Path = LAB.jar) -> None:
        self.flink = flink
        self.folder = Path(mkdtemp(prefix=f"{name}-", dir=flink.folder))
        self.control = self.folder / "control"
        self._entry, self._jar = entry, jar
        self.set_rates([(now_ms(), 0)])  # nothing is due before the job runs

    def start(self, settings: Any, savepoint: str | None = None) -> None:
        """Run the program with these settings, from a savepoint or checkpoint of an earlier start, which has ended, if any."""
        self.settings = settings
        arguments = settings.arguments(self.folder)
        self.job = submit(self.flink.rest, self._jar, arguments, entry_class=self._entry, savepoint=savepoint)

    def set_rates(self, rates: Iterable[tuple[int, float]]) -> None:
        """Change the rate of all sources together at times to come, in order: milliseconds since 1970, and tuples/s."""
        with (self.folder / "rates.txt").open("a", encoding="ascii") as file:
            file.write("".join(f"{at} {rate}\n" for at, rate in rates))


class LabRun(ScheduledJob):
    """A lab's job that runs."""

    def __init__(self, flink: LocalFlink, settings: LabSettings) -> None:
        super().__init__(flink, settings.topology)
        self.start(settings)
        self.set_rate(settings.rate)

    def set_rate(self, rate: float) -> None:
        """Change the rate of all sources together, a moment from now."""
        self.set_rates([(now_ms() + LEAD_MS, rate)])

    def buckets(self, since: int = 0) -> list[Bucket]:
        """Measurements of the writer since a time, in order of time; the newest tenths of a second may be missing."""
        path = self.folder / "latency-0.txt"
        lines = path.read_text(encoding="ascii").splitlines(keepends=True) if path.exists() else []
        parts = (line.split() for line in lines if line.endswith("\n"))  # else it is being written
        read = [Bucket(int(first), int(last), int(count), *map(float, latencies)) for first, last, count, *latencies in parts]
        return [bucket for bucket in read if bucket.first >= since]

    def silence(self, since: int) -> float:
        """Longest time in seconds without a tuple at the writer since a time, up to one that was measured."""
        gaps = (later.first - max(since, earlier.last) for earlier, later in itertools.pairwise(self.buckets(0)))
        return max((0, *gaps)) / 1000
