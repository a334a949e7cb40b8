"""The tables of a benchmark as files, Parquet and CSV."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import pandas as pd

from edrp.validation.benchmark.sections import Section


def write_tables(out: Path, runs: pd.DataFrame, sections: Sequence[Section]) -> None:
    """`runs`, `summary` and `pairs`, each as `.parquet` and `.csv`; fractions and SI units throughout."""
    tables = {
        "runs": runs.drop(columns="trace"),
        "summary": pd.DataFrame(
            [{"kind": section.kind, **line} for section in sections for line in section.summary.reset_index().to_dict("records")]
        ),
        "pairs": pd.DataFrame([{"kind": section.kind, **asdict(test)} for section in sections for test in section.tests]),
    }
    for name, table in tables.items():
        table.to_parquet(out / f"{name}.parquet", index=False)
        table.to_csv(out / f"{name}.csv", index=False)
