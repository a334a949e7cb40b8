"""Rows of experiments on clusters of Flink: files of JSON lines."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from edrp.core.errors import Fault, InvalidInstanceError
from edrp.core.files import read_whole

Row = Mapping[str, Any]

ROWS = "rows.jsonl"
"""File of rows that were measured for a report."""

NEEDED = {
    "prediction": ("job", "load", "quantities"),
    "control": (
        *("seed", "policy", "day", "seconds", "peak", "bound", "load"),
        *("tuples", "late", "replica_hours", "standstill", "rescales"),
    ),
    "calibration": ("seed", "load", "delay_factor", "status"),
    "placement": ("seed", "load", "placement", "optimum", "predicted", "measured"),
}
"""Fields that a row of each kind has at least."""


@dataclass(frozen=True, slots=True)
class FlinkRows:
    """Rows by experiment.

    Attributes
    ----------
    predictions : one for each rescale, by `benchmarks/flink_predictions.py`.
    control : one for each day and policy, by `benchmarks/flink_control.py`.
    calibrations, placements : one for each run, and one for each placement, by `benchmarks/flink_places.py`.
    """

    predictions: list[Row] = field(default_factory=list)
    control: list[Row] = field(default_factory=list)
    calibrations: list[Row] = field(default_factory=list)
    placements: list[Row] = field(default_factory=list)

    def add(self, row: Row) -> None:
        """Add a row to those of its experiment."""
        kinds = dict(zip(NEEDED, (self.predictions, self.control, self.calibrations, self.placements), strict=True))
        kinds[row_kind(row)].append(row)

    def text(self) -> str:
        """All rows as JSON lines."""
        every = [*self.predictions, *self.control, *self.calibrations, *self.placements]
        return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in every)


def row_kind(row: Row) -> str:
    """The kind of a row by its fields; empty for none."""
    if row.get("experiment") == "control":
        return "control"
    if row.get("kind") in ("calibration", "placement"):
        return str(row["kind"])
    return "prediction" if "quantities" in row else ""


def read_rows(paths: Iterable[Path]) -> FlinkRows:
    """Read files of rows, in any order.

    Raises
    ------
    InvalidInstanceError
        A line is no row of any experiment, days cannot be compared with one another, or there is none at all.
    """
    rows = FlinkRows()
    for row in read_lines(paths, _why_no_row):
        rows.add(row)
    faults = [fault for of_job in job_rows(rows.control).values() for fault in _mixed_days(of_job)]
    InvalidInstanceError.raise_if_any(faults, "rows of control")
    if not any((rows.predictions, rows.control, rows.placements)):
        raise InvalidInstanceError([Fault("rows", "", "there are none; see benchmarks/flink_*.py, which write them")])
    return rows


def job_name(row: Row) -> str:
    """The job that was controlled; rows without one are of the chain.

    >>> job_name({"seed": 1}), job_name({"job": "large-state"})
    ('chain', 'large-state')
    """
    return str(row.get("job", "chain"))


def job_rows(control: Iterable[Row]) -> dict[str, list[Row]]:
    """Rows of control by their job."""
    rows: dict[str, list[Row]] = {}
    for row in control:
        rows.setdefault(job_name(row), []).append(row)
    return rows


def read_lines(paths: Iterable[Path], why_no_row: Callable[[Any], str]) -> Iterator[Row]:
    """Read files of JSON lines.

    Parameters
    ----------
    why_no_row
        Says why what stands in a line is no row; empty for a row.

    Raises
    ------
    InvalidInstanceError
        With all lines of a file that are no rows.
    """
    for path in paths:
        faults = []
        for number, line in enumerate(read_whole(path).splitlines(), start=1):
            try:
                row = json.loads(line)
                why = why_no_row(row)
            except (ValueError, RecursionError):
                why = "is no JSON; a run that was cut off leaves such a line, which can be removed"
            if why:
                faults.append(Fault(f"line {number}", "", why))
            else:
                yield row
        InvalidInstanceError.raise_if_any(faults, str(path))


def _mixed_days(rows: Sequence[Row]) -> Iterator[Fault]:
    """Days of a job that differ in more than their seed, or that stand there twice."""
    for name in ("seconds", "peak", "bound"):
        values = sorted({row[name] for row in rows})
        if len(values) > 1:
            yield Fault(name, ", ".join(map(str, values)), "must be the same on all days that are compared; give others apart")
    twice = sorted(key for key, count in Counter((row["seed"], row["policy"]) for row in rows).items() if count > 1)
    for seed, policy in twice:
        yield Fault(f"seed {seed}", policy, "stands there twice under this policy; leave one out")


def _why_no_row(row: Any) -> str:
    """Why this is no row of any experiment; empty for a row."""
    kind = row_kind(row) if isinstance(row, dict) else ""
    if not kind:
        return "is no row of predictions, control or places (benchmarks/flink_*.py)"
    return missing_fields(row, NEEDED[kind])


def missing_fields(row: Row, needed: Iterable[str]) -> str:
    """Which fields a row lacks, as the reason to refuse it; empty for none.

    >>> missing_fields({"a": 1}, ("a", "b"))
    'has no b, which a row of this experiment has'
    """
    missing = [name for name in needed if name not in row]
    return f"has no {', '.join(missing)}, which a row of this experiment has" if missing else ""


def load_text(rows: Iterable[Row]) -> str:
    """Load of the machine over rows, such as "1.2 to 7.6".

    >>> load_text([{"load": 1.23}, {"load": {"min": 2.0, "mean": 3.0, "max": 7.64}}])
    '1.2 to 7.6'
    """
    known = [row["load"] for row in rows]
    loads = [end for load in known for end in ((load["min"], load["max"]) if isinstance(load, Mapping) else (load,))]
    return f"{min(loads):.1f} to {max(loads):.1f}" if loads else "unknown"
