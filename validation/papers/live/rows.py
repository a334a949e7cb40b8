"""Rows of live migrations: files of JSON lines, as `benchmarks/flink_response_times.py` writes them."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from edrp.core.errors import Fault, InvalidInstanceError
from edrp.core.files import read_whole

Row = Mapping[str, Any]
LiveRows = dict[str, list[Row]]
"""Rows by experiment, by the names of `KEYS`."""

SCRIPT = "benchmarks/flink_response_times.py"

KEYS = {"response": ("round", "method"), "windows": ("round", "window", "method", "mode")}
"""Fields that tell a row from others, by experiment."""

NEEDED = {
    "response": ("load", "minute", "minutes", "workers", "missing"),
    "windows": ("load", "seconds", "mean", "quiet", "moved_share"),
}
"""Further fields of every row, by experiment."""

SCALES = {"response": "minute", "windows": "seconds"}
"""Field that must be the same in all rows that are compared, by experiment: the length of a minute, or of a migration."""


def read_rows(paths: Iterable[Path]) -> LiveRows:
    """Read files of rows, in any order.

    Raises
    ------
    InvalidInstanceError
        A line is no row of any experiment, rows stand there twice or cannot be compared, or there is none at all.
    """
    rows: LiveRows = {experiment: [] for experiment in KEYS}
    for path in paths:
        faults = []
        for number, line in enumerate(read_whole(path).splitlines(), start=1):
            try:
                row = json.loads(line)
                why = _why_no_row(row)
            except (ValueError, RecursionError):
                why = "is no JSON; a run that was cut off leaves such a line, which can be removed"
            if why:
                faults.append(Fault(f"line {number}", "", why))
            else:
                rows[row["experiment"]].append(row)
        if faults:
            raise InvalidInstanceError(faults, str(path))
    if faults := list(_clashes(rows)):
        raise InvalidInstanceError(faults, "rows")
    if not any(rows.values()):
        raise InvalidInstanceError([Fault("rows", "", f"there are none; `python {SCRIPT} run ROWS` writes them")])
    return rows


def _why_no_row(row: Any) -> str:
    """Why this is no row of any experiment; empty for a row."""
    experiment = row.get("experiment") if isinstance(row, dict) else None
    if experiment not in KEYS:
        return f"is no row of {SCRIPT}"
    missing = [name for name in (*KEYS[experiment], *NEEDED[experiment]) if name not in row]
    return f"has no {', '.join(missing)}, which a row of this experiment has" if missing else ""


def _clashes(rows: LiveRows) -> Iterator[Fault]:
    """Rows that stand there twice, and figures of runs with other lengths of a minute or of a migration."""
    for experiment, names in KEYS.items():
        count = Counter(tuple(row[name] for name in names) for row in rows[experiment])
        for key in sorted(key for key, times in count.items() if times > 1):
            yield Fault(experiment, ", ".join(map(str, key)), "stands there twice; leave one out")
        values = sorted({row[SCALES[experiment]] for row in rows[experiment]})
        if len(values) > 1:
            why = "must be the same in all runs that are compared; give others apart"
            yield Fault(SCALES[experiment], ", ".join(map(str, values)), why)


def load_text(rows: Iterable[Row]) -> str:
    """Load of the machine over rows, such as "1.2 to 7.6".

    >>> load_text([{"load": 1.23}, {"load": 7.64}])
    '1.2 to 7.6'
    """
    loads = [row["load"] for row in rows]
    return f"{min(loads):.1f} to {max(loads):.1f}" if loads else "unknown"
