"""Records of a report as CSV and JSON files."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from edrp.core.files import write_whole

Record = Mapping[str, Any]


def write_records(out: Path, records: Mapping[str, Sequence[Record]]) -> None:
    """Write each list of records as a CSV file of its name; empty lists make no file."""
    for name, rows in records.items():
        if rows:
            write_whole(out / f"{name}.csv", csv_text(rows))


def csv_text(records: Sequence[Record]) -> str:
    r"""Records as CSV; the first says which columns there are.

    >>> csv_text([{"a": 1, "b": None}])
    'a,b\n1,\n'
    """
    text = io.StringIO()
    writer = csv.DictWriter(text, list(records[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(records)
    return text.getvalue()
