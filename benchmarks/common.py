"""Rows of benchmarks in files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


def add_row(file: Path, row: dict[str, Any]) -> None:
    """Append a row."""
    with file.open("a", encoding="utf-8") as rows:
        rows.write(json.dumps(row, ensure_ascii=False) + "\n")
