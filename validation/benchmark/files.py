"""The tables of a benchmark as files, Parquet and CSV."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import pandas as pd

from edrp.validation.benchmark.sections import Section


def write_tables(out: Path, runs: pd.DataFrame, sections: Sequence[Section]) -> None:
    """`runs`, `summary` and `pairs`, each as `.parquet` and `.csv`; fractions and SI units throughout."""
    summaries = [section.summary.reset_index().assign(kind=section.kind) for section in sections]
    pairs = [pd.DataFrame([asdict(test) for test in section.tests]).assign(kind=section.kind) for section in sections]
    tables = {
        "runs": runs.drop(columns="trace"),
        "summary": pd.concat(summaries, ignore_index=True) if summaries else pd.DataFrame(),
        "pairs": pd.concat(pairs, ignore_index=True) if pairs else pd.DataFrame(),
    }
    for name, table in tables.items():
        table.to_parquet(out / f"{name}.parquet", index=False)
        table.to_csv(out / f"{name}.csv", index=False)
