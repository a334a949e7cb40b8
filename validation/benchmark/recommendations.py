"""Methods compared on one kind of problem: tables in files, and which method to use when, in sentences."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from edrp.core.errors import numbered
from edrp.core.files import write_whole, writing
from edrp.core.tolerances import EQUAL_GAPS
from edrp.core.wording import enumerated
from edrp.report.estimates import MIN_RESAMPLED, Estimate, bootstrap_mean, estimate_share
from edrp.validation.benchmark.formatting import duration, listed, percent
from edrp.validation.benchmark.measures import by_instance, summarise
from edrp.validation.benchmark.sentences import reference_name
from edrp.validation.benchmark.statistics import PairedTest, paired_tests

ANSWERS_MOST, ANSWERS_SOME = 0.95, 0.5
"""Shares of the instances that anything answered from which on a method may be recommended for its speed, or with that said."""

PROOF, CLOSENESS, SPEED = "a proof is needed", "the best answer counts", "time is short"
"""The needs that methods are recommended for."""


def recommend(kind: str, runs: pd.DataFrame, summary: pd.DataFrame) -> list[str]:
    """Sentences on which method to use when, for one kind of problem.

    Parameters
    ----------
    kind
        Kind of problem.
    runs
        Its runs, as `compare_runs` gives them.
    summary
        One line per method, as `summarise` gives it.

    Returns
    -------
    list of str
        One sentence for each method that is best for a need, with the instances that it answered, its gaps, its time and its
        proofs; methods that the instances do not tell apart from it are named. Below 8 instances nothing is recommended.
    """
    answered = summary[summary["answered"] > 0]
    possible = int(summary["possible"].iloc[0])
    if answered.empty:
        return [f"Kind {kind}: no method found an answer, so none is recommended."]
    if possible < MIN_RESAMPLED:
        few = "is too few" if possible == 1 else "are too few"
        return [f"Kind {kind}: {numbered(possible, 'instance')} {few} to recommend a method ({MIN_RESAMPLED} at least)."]
    if len(answered) == 1:
        name = str(answered.index[0])
        return [f"Kind {kind}: only `{name}` has answers, so nothing is compared: {_evidence(answered.loc[name], runs)}."]
    chosen = {PROOF: _prover(runs, answered), CLOSENESS: _closest(runs, answered), SPEED: (_fastest(answered, ANSWERS_MOST), [])}
    if (quick := _fastest(answered, ANSWERS_SOME)) not in (name for name, _ in chosen.values()):
        some = f"{SPEED} and {int(summary.loc[quick, 'answered'])} of {possible} answers are enough"
        chosen[some] = (quick, [])
    needs: dict[str, list[str]] = {}
    alike: dict[str, list[str]] = {}
    for need, (names, similar) in chosen.items():
        if names:
            needs.setdefault(names, []).append(need)
            alike.setdefault(names, []).extend(name for name in similar if name not in alike.get(names, []))
    sentences = [
        f"Kind {kind}: use `{name}` when {enumerated(case, last='or')}: "
        f"{_evidence(summary.loc[name], runs)}{_alike(alike[name], summary)}."
        for name, case in needs.items()
    ]
    return sentences if chosen[PROOF][0] else [*sentences, f"Kind {kind}: no method proved an optimum."]


def _prover(runs: pd.DataFrame, summary: pd.DataFrame) -> tuple[str, list[str]]:
    """The method that proves most, the faster of equals, and those not told apart from it; empty where none proves."""
    lost = 1.0 - by_instance(runs)["proven"].unstack("method").reindex(columns=summary.index).fillna(0.0)
    proving = [name for name in summary.index if summary.loc[name, "proven"] > 0]
    return _least(lost[proving], summary) if proving else ("", [])


def _closest(runs: pd.DataFrame, summary: pd.DataFrame) -> tuple[str, list[str]]:
    """The method with the least mean gap of those that answered most, and those not told apart from it."""
    most_answers = [str(name) for name in summary.index[summary["answered"] == summary["answered"].max()]]
    gaps = by_instance(runs)["gap"].unstack("method")
    common = gaps[most_answers].dropna()
    return _least(common if len(common) else gaps[most_answers[:1]].dropna(), summary)


def _fastest(summary: pd.DataFrame, share: float) -> str:
    """The method with the least median time of those that answer at least this share of what any answers."""
    able = summary[summary["answered"] >= share * summary["answered"].max()]["median_seconds"].dropna()
    return "" if able.empty else str(able.idxmin())


def _least(values: pd.DataFrame, summary: pd.DataFrame) -> tuple[str, list[str]]:
    """The column with the least mean, the fastest of ties, and the others whose difference may be none."""
    means = values.mean()
    ties = [str(name) for name in means.index[means <= means.min() + EQUAL_GAPS]]
    best = min(ties, key=lambda name: float(summary.loc[name, "median_seconds"]))
    others = [str(name) for name in values.columns if name != best]
    return best, [name for name in others if not _certain((values[name] - values[best]).to_numpy(np.float64))]


def _certain(differences: np.ndarray) -> bool:
    if np.abs(differences).max(initial=0.0) <= EQUAL_GAPS:
        return False
    interval = bootstrap_mean(differences)
    return interval.low is not None and interval.low > 0


def _evidence(line: pd.Series, runs: pd.DataFrame) -> str:
    answered, possible = int(line["answered"]), int(line["possible"])
    interval = _interval(Estimate(line["mean_gap"], line["mean_gap_low"], line["mean_gap_high"]))
    proven = round(float(line["proven"] * line["instances"]))
    share = estimate_share(proven, possible)
    proofs = f"{proven} proven optimal ({percent(share.mean)}{_interval(share)})" if proven else "none proven optimal"
    return (
        f"{answered} of {numbered(possible, 'instance')} answered, median gap to {reference_name(runs)} "
        f"{percent(line['median_gap'])} (mean {percent(line['mean_gap'])}{interval}), median time "
        f"{duration(line['median_seconds'])}, {proofs}"
    )


def _interval(estimate: Estimate) -> str:
    """The 95 % interval of a share; empty where there is none."""
    if estimate.low is None or estimate.high is None or not np.isfinite([estimate.low, estimate.high]).all():
        return ""
    return f", 95 % interval {percent(estimate.low)} to {percent(estimate.high)}"


def _alike(names: Sequence[str], summary: pd.DataFrame) -> str:
    if not names:
        return ""
    times = ", ".join(f"`{name}` {duration(summary.loc[name, 'median_seconds'])}" for name in names)
    return f"; not told apart from it on these instances: {listed(names) if len(names) > 6 else times}"


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
