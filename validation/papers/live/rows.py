"""Rows of live migrations: files of JSON lines, as `benchmarks/flink_live.py` and `flink_response_times.py` write them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from edrp.core.errors import Fault, InvalidInstanceError
from edrp.validation.papers.flink.rows import Row, missing_fields, read_lines

CHANGED = ("load", "seconds", "before", "during", "silence", "stable", "missing")
MOVED = ("steps", "moves", "planned", "bytes", "held", "wait")
KEYS = {
    "against": ("megabytes", "backend", "round", "service", "method"),
    "orders": ("workload", "round", "order"),
    "throughput": ("round", "micros", "mode"),
    "response": ("round", "method"),
    "windows": ("round", "window", "method", "mode"),
}
"""Fields that tell a row from others, by experiment."""

NEEDED = {
    "against": ("change", *CHANGED),
    "orders": ("workers", "direction", *CHANGED, *MOVED),
    "throughput": ("load", "rate"),
    "response": ("load", "minute", "minutes", "workers", "missing"),
    "windows": ("load", "seconds", "mean", "quiet", "moved_share"),
}
"""Further fields of every row, by experiment; what moves live has those of `MOVED` as well."""


@dataclass(frozen=True, slots=True)
class LiveRows:
    """Rows by experiment, by the names of `KEYS`."""

    against: list[Row] = field(default_factory=list)
    orders: list[Row] = field(default_factory=list)
    throughput: list[Row] = field(default_factory=list)
    response: list[Row] = field(default_factory=list)
    windows: list[Row] = field(default_factory=list)

    def all(self) -> list[Row]:
        """Every row."""
        return [row for kind in fields(self) for row in getattr(self, kind.name)]

    def done(self, experiment: str, names: Iterable[str]) -> set[tuple[Any, ...]]:
        """Measurements of an experiment, by fields of its rows."""
        return {tuple(row[name] for name in names) for row in getattr(self, experiment)}


def read_rows(paths: Iterable[Path]) -> LiveRows:
    """Read files of rows, in any order.

    Raises
    ------
    InvalidInstanceError
        A line is no row of any experiment, rows stand there twice or cannot be compared, or there is none at all.
    """
    rows = LiveRows()
    for row in read_lines(paths, _why_no_row):
        getattr(rows, row["experiment"]).append(row)
    faults = list(_clashes(rows))
    InvalidInstanceError.raise_if_any(faults, "rows")
    if not rows.all():
        raise InvalidInstanceError([Fault("rows", "", "there are none; `python benchmarks/flink_live.py run ROWS` writes them")])
    return rows


def _why_no_row(row: Any) -> str:
    """Why this is no row of any experiment; empty for a row."""
    experiment = row.get("experiment") if isinstance(row, dict) else None
    if experiment not in KEYS:
        return "is no row of benchmarks/flink_live.py or flink_response_times.py"
    moved = MOVED if experiment == "against" and row.get("method") == "live" else ()
    return missing_fields(row, (*KEYS[experiment], *NEEDED[experiment], *moved))


def _clashes(rows: LiveRows) -> Iterator[Fault]:
    """Rows that stand there twice, and figures of runs with other lengths of a minute or of a migration."""
    for experiment, names in KEYS.items():
        count = Counter(tuple(row[name] for name in names) for row in getattr(rows, experiment))
        for key in sorted(key for key, times in count.items() if times > 1):
            yield Fault(experiment, ", ".join(map(str, key)), "stands there twice; leave one out")
    for name, compared in (("minute", rows.response), ("seconds", rows.windows)):
        values = sorted({row[name] for row in compared})
        if len(values) > 1:
            yield Fault(name, ", ".join(map(str, values)), "must be the same in all runs that are compared; give others apart")
