"""Measures computed from result rows: gaps to one reference per instance, times, shares."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa

from edrp.certified.records import Row
from edrp.core.methods import methods
from edrp.core.tolerances import BENCHMARK_OPTIMUM, EQUAL_GAPS, RECHECKED_VALUE, SAME_VALUE
from edrp.report.estimates import bootstrap_mean

NEAR_GAP = 0.01
"""Relative: an answer this close to a reference is a good one."""

UNREADABLE = "unreadable"
"""Kind under which instances stand that no method could read."""

MAX_FAMILIES = 20
"""Families that one table shows."""

OPTIMUM, BOUND, BEST = "proven optimum", "best bound", "best answer"
"""References for the answers to an instance: the first of these that exists."""

COLUMNS = (
    *("id", "kind", "method", "run_seed", "outcome", "status", "stopped_because", "objective", "bound", "build_seconds"),
    *("solve_seconds", "wall_seconds", "trace", "found_by", "proof", "error_type", "error_place", "error_message"),
)
"""Columns of the result rows that are needed here."""


def compare_runs(rows: pa.Table, known: Mapping[str, Row] | None = None) -> pd.DataFrame:
    """One line per run, with what its instance's answers are compared with.

    Parameters
    ----------
    rows
        Rows of the schema `RESULT_SCHEMA`. Those of methods that do not take the instance's kind are left out. Objectives and
        bounds of problems with priorities are replaced by those of the decisive stage (`in_decisive_stages`).
    known
        Records of the library by id, whose values are references, too, but those of problems with priorities.

    Returns
    -------
    pandas.DataFrame
        Columns of the rows, and: `family` (the id without its numbers), `seconds` (build and solve), `solved` (there is a
        decision), `proven`, `claimed` (an optimum or infeasibility) and `checked` (that by a certificate), `infeasible` (the
        instance, by proof), `reference` and `reference_is`, `best` (least objective of any method), `gap`
        ((objective - reference) / |objective|) and `excess` (the same to `best`).
    """
    texts = zip(rows["id"].to_pylist(), rows["solution"].to_pylist(), strict=True)
    staged = {name for name, text in texts if text and WITH_STAGES.search(text)}  # whose decisive stage need not be the last one
    known = {name: row for name, row in (known or {}).items() if name not in staged}
    rows = in_decisive_stages(rows)
    runs = rows.select([name for name in COLUMNS if name != "trace"]).to_pandas()
    runs["trace"] = rows["trace"].to_pylist()
    kinds = runs.dropna(subset=["kind"]).groupby("id")["kind"].first()
    runs["kind"] = runs["id"].map(kinds).astype(object).where(lambda known: known.notna(), UNREADABLE)
    taken = [
        (registered := methods().get(method.partition(":")[0])) is None or kind in (UNREADABLE, *registered.kinds)
        for method, kind in zip(runs["method"], runs["kind"], strict=True)
    ]
    runs = runs[np.array(taken, dtype=bool)].copy()
    runs["family"] = [family_name(name) for name in runs["id"]]
    for name in ("objective", "bound", "build_seconds", "solve_seconds"):
        runs[name] = runs[name].astype(float)
    runs["seconds"] = runs["build_seconds"] + runs["solve_seconds"]
    runs["solved"] = (runs["outcome"] == "solved") & runs["objective"].notna()
    runs["proven"] = runs["solved"] & (runs["status"] == "optimal")
    runs["claimed"] = runs["status"].isin(["optimal", "infeasible"])
    runs["checked"] = runs["claimed"] & (runs["proof"] == "checked certificate")
    return _compared(runs, known).sort_values(["kind", "id", "method", "run_seed"], ignore_index=True)


def _compared(runs: pd.DataFrame, known: Mapping[str, Row]) -> pd.DataFrame:
    """Add to each run the reference of its instance: a proven optimum, else the best bound, else the best answer."""
    by_id = runs.groupby("id")
    runs["infeasible"] = by_id["outcome"].transform(
        lambda outcomes: (outcomes == "infeasible").any() and not (outcomes == "solved").any()
    )
    objectives = runs["objective"].where(runs["solved"])
    optimum = objectives.where(runs["proven"]).groupby(runs["id"]).transform("min")
    bound = by_id["bound"].transform("max")
    runs["best"] = objectives.groupby(runs["id"]).transform("min")
    if known:
        best_known = runs["id"].map({name: row.best.value for name, row in known.items() if row.best}).astype(float)
        is_closed = runs["id"].isin([name for name, row in known.items() if row.closed])
        optimum = optimum.fillna(best_known.where(is_closed))
        bound = np.fmax(bound, runs["id"].map({name: row.bound.value for name, row in known.items() if row.bound}).astype(float))
        runs["best"] = best_known.where(is_closed, np.fmin(runs["best"], best_known))  # below an optimum are estimates alone
    runs["reference"] = optimum.fillna(bound).fillna(runs["best"])
    runs["reference_is"] = np.select([optimum.notna(), bound.notna()], [OPTIMUM, BOUND], BEST)
    runs["gap"] = _gap(objectives, runs["reference"])
    runs["excess"] = _gap(objectives, runs["best"])
    return runs


def _gap(objective: pd.Series, reference: pd.Series) -> pd.Series:
    """`edrp.core.solution.relative_gap` of columns; NaN where there is no objective."""
    difference, size = objective - reference, objective.abs()
    relative = difference / size.where(size > SAME_VALUE, np.maximum(size, reference.abs()))
    return relative.mask(difference <= SAME_VALUE * size.clip(lower=1.0), 0.0)


def compared_runs(runs: pd.DataFrame) -> pd.DataFrame:
    """Runs that count in comparisons: on instances not proven infeasible, not refused by the method."""
    return runs[~runs["infeasible"].astype(bool) & (runs["outcome"] != "refused")]


def by_instance(runs: pd.DataFrame) -> pd.DataFrame:
    """Means over the seeds, one line per method and instance: instances are what is independent, not seeds.

    Returns
    -------
    pandas.DataFrame
        Indexed by method and id: `gap` and `excess` (NaN without an answer), times, and the shares of seeds `solved`, `proven`,
        `optimal` (NaN where the optimum is unknown) and `near`.
    """
    counted = compared_runs(runs)
    known = counted["reference_is"] == OPTIMUM
    shares = {
        "optimal": (counted["gap"] <= BENCHMARK_OPTIMUM).astype(float).where(known),
        "near": (counted["gap"] <= NEAR_GAP).astype(float),
    }
    means = ["gap", "excess", "seconds", "build_seconds", "solve_seconds", "solved", "proven", "optimal", "near"]
    return counted.assign(**shares).groupby(["method", "id"])[means].mean()


def common_instances(runs: pd.DataFrame) -> frozenset[str]:
    """Ids that every method has answered which has answered any: on these the gaps of all methods can be compared."""
    gaps = by_instance(runs)["gap"].dropna()
    answered = [frozenset(gaps.loc[method].index) for method in gaps.index.unique("method")]
    return frozenset[str].intersection(*answered) if answered else frozenset()


def common_runs(runs: pd.DataFrame) -> pd.DataFrame:
    """Runs on the instances that all methods answered; all runs where there is no such instance."""
    common = common_instances(runs)
    return runs[runs["id"].isin(common)] if common else runs


def summarise(runs: pd.DataFrame) -> pd.DataFrame:
    """One line per method of one kind of problem: those that answered most first, of these the closest to the reference.

    Returns
    -------
    pandas.DataFrame
        Indexed by method. Shares and gaps are fractions, times in seconds. Gaps are over the instances that the method
        answered; those called `common_…` are over the instances that all methods answered, of which there are `common`.
    """
    instances = by_instance(runs)
    common = common_instances(runs)
    possible = runs.loc[~runs["infeasible"].astype(bool), "id"].nunique()
    lines = {}
    for method, method_runs in runs.groupby("method"):
        answers = instances.loc[method] if method in instances.index.get_level_values("method") else instances.iloc[:0]
        gaps = answers.loc[[name for name in answers.index if name in common], "gap"].dropna()
        worst = method_runs[method_runs["id"].isin(common)]["gap"].max()
        lines[method] = {
            **_line(method_runs, answers),
            "possible": possible,
            "common": len(common),
            **{f"common_{name}": value for name, value in {**_gaps(gaps), "worst_gap": worst}.items()},
        }
    summary = pd.DataFrame.from_dict(lines, orient="index").rename_axis("method")
    order = ["answered", "solved", "mean_gap", "median_seconds"]
    return summary.sort_values(order, ascending=[False, False, True, True], kind="stable")


def answered_fewer(summary: pd.DataFrame) -> pd.Series:
    """Whether a method answered fewer instances than another one, by method."""
    return summary["answered"] < summary["answered"].max()


def _gaps(gaps: pd.Series) -> dict[str, float]:
    interval = bootstrap_mean(gaps)
    return {
        "median_gap": gaps.median(),
        "mean_gap": gaps.mean(),
        "mean_gap_low": np.nan if interval.low is None else interval.low,
        "mean_gap_high": np.nan if interval.high is None else interval.high,
        "p90_gap": gaps.quantile(0.9),
    }


def _line(method_runs: pd.DataFrame, answers: pd.DataFrame) -> dict[str, Any]:
    gaps, compared = answers["gap"].dropna(), compared_runs(method_runs)
    infeasible = method_runs[method_runs["infeasible"].astype(bool)]
    return {
        "instances": len(answers),
        "runs": len(method_runs),
        "answered": len(gaps),
        "solved": answers["solved"].mean(),
        "proven": answers["proven"].mean(),
        "claimed": int(method_runs["claimed"].sum()),
        "checked": int(method_runs["checked"].sum()),
        "optimal": answers["optimal"].mean(),
        "near": answers["near"].mean(),
        **_gaps(gaps),
        "worst_gap": compared["gap"].max(),
        "median_seconds": answers["seconds"].dropna().median(),
        "p90_seconds": answers["seconds"].quantile(0.9),
        "median_build_seconds": answers["build_seconds"].dropna().median(),
        "median_solve_seconds": answers["solve_seconds"].dropna().median(),
        "total_seconds": method_runs["wall_seconds"].sum(),
        "infeasible_proven": int(infeasible.loc[infeasible["outcome"] == "infeasible", "id"].nunique()),
        "nothing_found": int((compared["outcome"] == "nothing found").sum()),
        "refused": int((method_runs["outcome"] == "refused").sum()),
        "failed": int((method_runs["outcome"] == "failed").sum()),
    }


class FamilyCell(NamedTuple):
    """Results of one method on one family of instances.

    Attributes
    ----------
    instances, answered
        Numbers of instances.
    mean_gap
        Mean gap of the answers; NaN without any.
    wins
        Whether no method that answered all of the family has a smaller mean gap; only such a method can win.
    """

    instances: int
    answered: int
    mean_gap: float
    wins: bool


def gaps_by_family(runs: pd.DataFrame) -> dict[str, dict[str, FamilyCell]]:
    """Gaps by family of instances and method.

    Where there are more than 20 families, those that share all but the last word of their names are one.
    """
    counted = compared_runs(runs)
    while counted["family"].nunique() > MAX_FAMILIES and counted["family"].str.contains("-").any():
        shorter = counted["family"].str.rpartition("-")[0]
        counted = counted.assign(family=shorter.where(shorter != "", counted["family"]))
    by_family = counted.groupby(["family", "method", "id"])["gap"].mean()
    cells: dict[str, dict[str, FamilyCell]] = {}
    for family, gaps in by_family.groupby("family"):
        gap_statistics = gaps.groupby("method").agg(["size", "count", "mean"])
        least_gap = gap_statistics.loc[gap_statistics["size"] == gap_statistics["count"], "mean"].min()
        cells[str(family)] = {
            str(method): FamilyCell(int(size), int(count), float(mean), bool(size == count and mean <= least_gap + EQUAL_GAPS))
            for method, size, count, mean in gap_statistics.itertuples()
        }
    return cells


def family_name(name: str) -> str:
    """An instance's id without the numbers that stand alone in it or end it.

    >>> family_name("edrp-000017-diamond-ans"), family_name("cluster01/Topology003"), family_name("7")
    ('edrp-diamond-ans', 'cluster01/Topology', '7')
    """
    return re.sub(r"(^|[-_/ .])\d+(?=[-_/ .]|$)|\d+$", "", name).lstrip("-_/ .") or name


Stages = Sequence[dict[str, Any]]
"""Outcomes of the stages of one answer, as its document has them."""

WITH_STAGES = re.compile(r'"stages":\s*\[\s*\{')
"""Part of the documents of solutions of problems with priorities."""


def in_decisive_stages(rows: pa.Table) -> pa.Table:
    """Result rows whose objective and bound are those of their instance's decisive stage.

    An answer that is worse in an earlier stage may have any value in a later one, so that the values of the last stage alone
    compare nothing. Rows of problems without priorities stay as they are.
    """
    documents = zip(rows["id"].to_pylist(), rows["solution"].to_pylist(), strict=True)
    stages = {i: json.loads(text)["stages"] for i, (_, text) in enumerate(documents) if text and WITH_STAGES.search(text)}
    if not stages:
        return rows
    by_id: dict[str, list[int]] = {}
    for i in stages:
        by_id.setdefault(rows["id"][i].as_py(), []).append(i)
    values = {name: rows[name].to_pylist() for name in ("objective", "bound")}
    for answers in by_id.values():
        k = decisive_stage([stages[i] for i in answers])
        for i in answers:
            values["objective"][i], values["bound"][i] = stages[i][k]["value"], stages[i][k]["bound"]
    for name, column in values.items():
        rows = rows.set_column(rows.schema.get_field_index(name), name, pa.array(column, pa.float64()))
    return rows


def decisive_stage(answers: Sequence[Stages]) -> int:
    """Index of the first stage in which an answer is worse than another one allows, or better than its bound; else the last.

    >>> best = [{"value": 1.0, "bound": 1.0, "limit": 1.1}, {"value": 5.0, "bound": None, "limit": None}]
    >>> decisive_stage([best, [{"value": 1.1, "bound": None, "limit": 1.2}, {"value": 4.0, "bound": None, "limit": None}]])
    1
    >>> decisive_stage([best, [{"value": 2.0, "bound": None, "limit": 2.2}, {"value": 0.0, "bound": None, "limit": None}]])
    0
    """
    last = min(map(len, answers)) - 1
    for k in range(last):
        values, limit = [stages[k]["value"] for stages in answers], min(stages[k]["limit"] for stages in answers)
        bound = max((stages[k]["bound"] for stages in answers if stages[k]["bound"] is not None), default=-math.inf)
        slack = RECHECKED_VALUE * max(map(abs, values))
        if max(values) > limit + slack or min(values) < bound - slack:
            return k
    return last
