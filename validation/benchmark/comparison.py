"""Results of a benchmark for each kind of problem, as tables in files; the page that shows it is in `report`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import pandas as pd

from edrp.core.files import write_whole, writing
from edrp.validation.benchmark.measures import by_instance, summarise
from edrp.validation.benchmark.recommendations import recommend
from edrp.validation.benchmark.statistics import PairedTest, paired_tests


@dataclass(frozen=True, slots=True)
class KindComparison:
    """The comparison of methods on one kind of problem.

    Attributes
    ----------
    kind
        Kind of problem.
    summary
        One line per method.
    tests
        Every pair of methods.
    recommendations
        Which method to use when, in sentences.
    """

    kind: str
    summary: pd.DataFrame
    tests: tuple[PairedTest, ...]
    recommendations: tuple[str, ...]


def compare_kind(kind: str, runs: pd.DataFrame) -> KindComparison:
    """Compare methods by the runs of one kind of problem."""
    summary = summarise(runs)
    gaps = by_instance(runs)["gap"].dropna()
    row_methods = gaps.index.get_level_values("method")
    by_method = {
        str(name): {str(key): float(gap) for key, gap in gaps.loc[name].items()} for name in summary.index if name in row_methods
    }
    return KindComparison(kind, summary, tuple(paired_tests(by_method)), tuple(recommend(kind, runs, summary)))


def write_tables(out: Path, runs: pd.DataFrame, comparisons: Sequence[KindComparison]) -> None:
    """Write `runs`, `summary` and `pairs`, each as `.parquet` and `.csv`; fractions and SI units throughout."""
    lines = [
        {"kind": comparison.kind, **line}
        for comparison in comparisons
        for line in comparison.summary.reset_index().to_dict("records")
    ]
    pairs = [{"kind": comparison.kind, **asdict(test)} for comparison in comparisons for test in comparison.tests]
    tables = {"runs": runs.drop(columns="trace"), "summary": pd.DataFrame(lines), "pairs": pd.DataFrame(pairs)}
    for name, table in tables.items():
        with writing(out / f"{name}.parquet") as file:
            table.to_parquet(file, index=False)
        write_whole(out / f"{name}.csv", table.to_csv(index=False))
