"""Findings of a benchmark as sentences."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from edrp.core.errors import numbered
from edrp.core.tolerances import EQUAL_GAPS
from edrp.report.estimates import MIN_RESAMPLED
from edrp.validation.benchmark.curves import Curve
from edrp.validation.benchmark.formatting import GLUE, duration, listed, number, percent
from edrp.validation.benchmark.measures import BEST, BOUND, OPTIMUM, answered_fewer
from edrp.validation.benchmark.statistics import PairedTest

SIGNIFICANT = 0.05


def reference_sentence(runs: pd.DataFrame) -> str:
    """The sentence on what the answers of a kind are compared with."""
    usable = runs[~runs["infeasible"].astype(bool)].groupby("id")[["reference_is", "reference"]].first()
    usable = usable[usable["reference"].notna()]
    total = len(usable)
    if not total:
        return "No method has an answer or a bound, so there is nothing to compare with."
    counts = usable["reference_is"].value_counts()
    proven, best = int(counts.get(OPTIMUM, 0)), int(counts.get(BEST, 0))
    if proven == total:
        return f"The optimum is proven for {'the instance' if total == 1 else f'all {total} instances'}."
    parts = [f"the optimum is proven for {proven} of {numbered(total, 'instance')}" if proven else "no optimum is proven"]
    if bound := total - proven - best:
        parts.append(f"{numbered(bound, 'instance')} compared with the best bound, which no answer may reach")
    if best:
        parts.append(f"{numbered(best, 'instance')} without a bound, compared with the best answer of any method")
    sentence = "; ".join(parts)
    return f"{sentence[0].upper()}{sentence[1:]}."


def reference_name(runs: pd.DataFrame) -> str:
    """The name of what gaps are measured to."""
    kinds = set(runs.loc[runs["gap"].notna(), "reference_is"])
    return {(OPTIMUM,): "the proven optimum", (BOUND,): "the best bound", (BEST,): "the best answer"}.get(
        tuple(kinds), "the reference"
    )


def gap_sentence(summary: pd.DataFrame, runs: pd.DataFrame) -> str:
    """The sentence on the chart of gaps."""
    answered = summary[summary["answered"] > 0]
    if answered.empty:
        return "No method found an answer."
    best_line = answered.iloc[0]
    equal = answered[
        (answered["answered"] == best_line["answered"]) & (answered["mean_gap"] <= best_line["mean_gap"] + EQUAL_GAPS)
    ]
    names = [str(name) for name in equal.index]
    sentence = (
        f"{listed(names)} {_is(names)} within 1{GLUE}% of {reference_name(runs)} on {percent(best_line['near'])} of "
        f"{numbered(int(best_line['instances']), 'instance')} (mean gap {percent(best_line['mean_gap'])})"
    )
    if not best_line["common"]:
        return f"{sentence}."
    farthest = answered["common_mean_gap"].idxmax()
    if farthest in names:
        return f"{sentence}."
    gap = percent(answered.loc[farthest, "common_mean_gap"])
    return f"{sentence}; {_on_common(summary)}`{farthest}` is farthest, {gap} on average."


def _on_common(summary: pd.DataFrame) -> str:
    """Begins a clause that compares methods of which some answered fewer instances than others."""
    common = int(summary["common"].iloc[0])
    return f"on the {numbered(common, 'instance')} that all answered, " if answered_fewer(summary).any() else ""


def common_sentence(summary: pd.DataFrame) -> str:
    """The note on methods that answered fewer instances than others; empty where there are none."""
    fewer = summary[answered_fewer(summary)]
    some, none = fewer[fewer["answered"] > 0], [str(name) for name in fewer.index[fewer["answered"] == 0]]
    sentences = []
    if len(some):
        named = [f"`{name}` ({int(line['answered'])} of {int(line['possible'])})" for name, line in some.iterrows()]
        common = int(summary["common"].iloc[0])
        how = (
            f"gaps of all methods are compared on the {numbered(common, 'instance')} that all answered"
            if common
            else "no instance was answered by all, so gaps are compared in pairs only"
        )
        sentences.append(f"{', '.join(named)} answered fewer instances than others: {how}.")
    if none:
        sentences.append(f"{listed(none)} answered no instance and {_is(none)} not compared.")
    return " ".join(sentences)


def time_sentence(summary: pd.DataFrame) -> str:
    """The sentence on the chart of times."""
    timed = summary.dropna(subset=["median_seconds"])
    if timed.empty:
        return "No run came to an end, so there are no times."
    fast, slow = timed["median_seconds"].idxmin(), timed["median_seconds"].idxmax()
    fast_line, slow_line = timed.loc[fast], timed.loc[slow]
    if fast == slow:
        return (
            f"`{fast}` takes {duration(fast_line['median_seconds'])} (median; 90 % within {duration(fast_line['p90_seconds'])})."
        )
    times = slow_line["median_seconds"] / max(fast_line["median_seconds"], 1e-6)
    return (
        f"`{fast}` is fastest with a median of {duration(fast_line['median_seconds'])}; `{slow}` takes "
        f"{duration(slow_line['median_seconds'])}, {number(times, 2)} times as long."
    )


def profile_sentence(curves: Mapping[str, Curve], factor: float, predicate: tuple[str, str]) -> str:
    """The sentence on a performance profile at factor 1, and on the methods that do most within a factor.

    `predicate` is said of one method and of several: ("has the best answer", "have the best answer").
    """
    if not curves:
        return "Objectives below 0 have no ratios, so this profile is not drawn."
    often, share = _highest({name: curve.at(1.0) for name, curve in curves.items()})
    sturdy, within = _highest({name: curve.at(factor) for name, curve in curves.items()})
    apiece = " each" if len(often) > 1 else ""
    first = f"{listed(often)} {predicate[len(often) > 1]} on {percent(share)} of the instances{apiece}"
    if sturdy == often:
        return f"{first}, and {_is(often)} within a factor of {factor:g} of the best on {percent(within)}."
    return f"{first}; {listed(sturdy)} {_is(sturdy)} within a factor of {factor:g} of the best on {percent(within)}."


def _highest(shares: Mapping[str, float]) -> tuple[list[str], float]:
    greatest = max(shares.values())
    return [name for name, share in shares.items() if share >= greatest - EQUAL_GAPS], greatest


def _is(names: Sequence[str]) -> str:
    return "is" if len(names) == 1 else "are"


def over_time_sentence(curves: Mapping[str, Curve], ends: Mapping[str, tuple[float, float]]) -> str:
    """The sentence on the chart of gaps over time."""
    if not ends:
        return "No run came to an end, so nothing is drawn."
    if not curves:
        return "No method reported answers on its way: each is one point, its median time and gap."
    sentences = []
    for name, curve in curves.items():
        reached = np.flatnonzero(curve.y <= 0.01)
        if reached.size:
            sentences.append(f"`{name}` is within 1{GLUE}% after {duration(float(curve.x[reached[0]]))}")
        else:
            sentences.append(f"`{name}` ends at {percent(float(curve.y[-1]))}")
    notes = f"medians; no answer counts as a gap of 100{GLUE}%"
    return f"{'; '.join(sentences)} ({notes}). Methods that report nothing on their way are points."


def test_sentence(tests: Sequence[PairedTest]) -> str:
    """The sentence on the paired tests."""
    tested = [test for test in tests if test.p_value is not None]
    if not tests:
        return "There is one method only, so nothing is compared."
    if not tested:
        return "No two methods differ on any instance that both answered."
    differing = [test for test in tested if (test.p_value or 0) < SIGNIFICANT]
    if not differing:
        return f"Of {numbered(len(tested), 'pair')} not one differs significantly: too few instances, or too little difference."
    wins = Counter(test.first if (test.effect or 0) > 0 else test.second for test in differing)
    highest = max(wins.values())
    best = [name for name, count in wins.items() if count == highest]
    differ = "differs" if len(differing) == 1 else "differ"
    apiece = " each" if len(best) > 1 else ""
    return (
        f"{len(differing)} of {numbered(len(tested), 'pair')} {differ} at the 5{GLUE}% level; "
        f"{listed(best)} {_is(best)} significantly closer than {numbered(highest, 'other method')}{apiece}."
    )


def verdicts(kind: str, summary: pd.DataFrame, exact: Sequence[str]) -> list[str]:
    """Sentences on which method wins on a kind of problem, by how much, and at what price; with few instances none wins."""
    answered = summary[summary["answered"] > 0]
    if answered.empty:
        return [f"Kind {kind}: no method found an answer."]
    sentences = []
    enough = int(summary["possible"].iloc[0]) >= MIN_RESAMPLED
    provers = answered[answered.index.isin(exact) & (answered["proven"] > 0)]
    if enough and not provers.empty:
        name = provers.sort_values(["proven", "median_seconds"], ascending=[False, True]).index[0]
        line = provers.loc[name]
        sentences.append(
            f"Proof: `{name}` proves the optimum of {percent(line['proven'])} of {numbered(int(line['instances']), 'instance')}, "
            f"in a median of {duration(line['median_seconds'])}{_refusing(line)}."
        )
    if claimed := int(summary["claimed"].sum()):
        share = percent(int(summary["checked"].sum()) / claimed)
        sentences.append(f"Certificates: {share} of {numbered(claimed, 'proof')} rest on a certificate that was checked.")
    searchers = answered[~answered.index.isin(exact)]
    if enough and not searchers.empty:
        name = searchers.index[0]
        line = searchers.loc[name]
        sentences.append(
            f"Search: `{name}` answers {percent(line['solved'])}, with a mean gap of {percent(line['mean_gap'])} (worst "
            f"{percent(line['worst_gap'])}), in a median of {duration(line['median_seconds'])}{_refusing(line)}."
        )
        others = searchers.drop(name)
        if not others.empty:
            quick = others["median_seconds"].idxmin()
            if others.loc[quick, "median_seconds"] < line["median_seconds"]:
                rate = others.loc[quick]
                off = f" {_on_common(summary)}it is off by {percent(rate['common_mean_gap'])} on average," * bool(rate["common"])
                sentences.append(
                    f"Speed: `{quick}` takes {duration(rate['median_seconds'])};{off} answering {percent(rate['solved'])}."
                )
    return sentences


def _refusing(line: pd.Series) -> str:
    return f"; it refuses {numbered(int(line['refused']), 'other run')}" if line["refused"] else ""
