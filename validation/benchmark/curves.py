"""Curves over many instances: performance profiles, and the gap over time."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from edrp.core.arrays import Floats
from edrp.core.tolerances import MIN_PLOTTED_SECONDS, SAME_VALUE
from edrp.validation.benchmark.measures import NEAR_GAP, compared_runs

POINTS = 80
"""Points of a curve over time."""


@dataclass(frozen=True, slots=True)
class Curve:
    """A step curve of one method: `y` holds from `x` on, shapes (n,)."""

    x: Floats
    y: Floats

    def at(self, x: float) -> float:
        """Height at `x`; 0 before the first step.

        >>> Curve(np.array([1.0, 2.0]), np.array([0.5, 0.75])).at(1.5)
        0.5
        """
        index = int(np.searchsorted(self.x, x, side="right")) - 1
        return float(self.y[index]) if index >= 0 else 0.0


def performance_profiles(costs: pd.DataFrame) -> dict[str, Curve]:
    """Share of the instances that each method does within a factor of the best method (Dolan and Moré, 2002).

    Parameters
    ----------
    costs
        Instances down, methods across: what is to be small, at least 0; NaN or infinite where the method failed. Instances
        on which all failed count against all.

    Returns
    -------
    dict
        By method, from factor 1 on; `y` at the last `x` is the share done at all.

    Examples
    --------
    >>> curves = performance_profiles(pd.DataFrame({"a": [1.0, 4.0], "b": [2.0, np.inf]}, index=["i", "j"]))
    >>> curves["b"].at(1.0), curves["b"].at(2.0), curves["a"].at(1.0)
    (0.0, 0.5, 1.0)
    """
    values = costs.fillna(np.inf)
    best = values.min(axis=1)
    curves = {}
    for method in values.columns:
        ratio = _ratio(values[method].to_numpy(), best.to_numpy())
        steps, counts = np.unique(ratio[np.isfinite(ratio)], return_counts=True)
        x = steps if steps.size and steps[0] == 1.0 else np.insert(steps, 0, 1.0)
        y = np.cumsum(counts) / len(values) if x is steps else np.insert(np.cumsum(counts) / len(values), 0, 0.0)
        curves[str(method)] = Curve(x, y)
    return curves


def _ratio(value: Floats, best: Floats) -> Floats:
    """Value over best, 1 where they are the same (both 0 included), infinite where the method failed."""
    ratio = np.full(value.shape, np.inf)
    is_finite = np.isfinite(value)
    same = is_finite & (value <= best * (1 + SAME_VALUE) + 1e-300)
    np.divide(value, best, out=ratio, where=is_finite & (best > 0))
    ratio[same] = 1.0
    return ratio


def objective_profiles(runs: pd.DataFrame) -> dict[str, Curve]:
    """Profiles of the objective; empty where objectives below 0 leave no ratio to speak of."""
    counted = _attempted(runs)
    if (counted["objective"] < 0).any():
        return {}
    return performance_profiles(_wide(counted.assign(cost=counted["objective"].where(counted["solved"]))))


def time_profiles(runs: pd.DataFrame) -> dict[str, Curve]:
    """Profiles of the time to a good answer: one at most 1 % worse than the best answer of any method."""
    counted = _attempted(runs)
    seconds = counted["seconds"].clip(lower=MIN_PLOTTED_SECONDS)
    return performance_profiles(_wide(counted.assign(cost=seconds.where(counted["excess"] <= NEAR_GAP))))


def _attempted(runs: pd.DataFrame) -> pd.DataFrame:
    """Runs on instances not proven infeasible; a refusal counts as a failure here."""
    return runs[~runs["infeasible"].astype(bool)]


def _wide(counted: pd.DataFrame) -> pd.DataFrame:
    """Mean cost over the seeds, instances down, methods across; infinite where a seed failed."""
    filled = counted.assign(cost=counted["cost"].fillna(np.inf))
    return filled.groupby(["id", "method"])["cost"].mean().unstack("method")


def gap_over_time(runs: pd.DataFrame) -> dict[str, Curve]:
    """Median gap over the runs of each method that reports answers on its way, from its first answer on.

    Before its first answer, and without any, a run counts as a gap of 100 %.

    Returns
    -------
    dict
        By method; `x` in seconds, `y` a fraction.
    """
    counted = compared_runs(runs)
    curves = {}
    for method, method_rows in counted.groupby("method"):
        steps = [_steps(run) for run in method_rows.itertuples(index=False)]
        if not any(on_its_way for _, _, on_its_way in steps):
            continue
        first = min(float(seconds[0]) for seconds, _, _ in steps if seconds.size)
        last = max(float(seconds[-1]) for seconds, _, _ in steps if seconds.size)
        grid = np.geomspace(max(first, 1e-3), max(last, 2e-3), POINTS)
        curves[str(method)] = Curve(grid, np.median([_held(grid, seconds, gap) for seconds, gap, _ in steps], axis=0))
    return curves


def one_shot(runs: pd.DataFrame) -> dict[str, tuple[float, float]]:
    """Median time and median gap of each method, a missing answer counting as a gap of 100 %; by method."""
    counted = compared_runs(runs)
    medians = counted.assign(gap=counted["gap"].fillna(1.0)).groupby("method")[["seconds", "gap"]].median().dropna()
    return {str(method): (float(seconds), float(gap)) for method, seconds, gap in medians.itertuples()}


def _steps(run: object) -> tuple[Floats, Floats, bool]:
    """Times and gaps of a run's answers, its last one included, and whether it had one before the end."""
    trace = [step for step in run.trace or () if step["objective"] is not None]  # type: ignore[attr-defined]
    solved, seconds, reference = run.solved, run.seconds, run.reference  # type: ignore[attr-defined]
    if not solved or np.isnan(seconds):
        return np.empty(0), np.empty(0), False
    times = [min(step["seconds"], seconds) for step in trace]
    objectives = np.array([step["objective"] for step in trace], np.float64)
    gaps = np.clip((objectives - reference) / np.maximum(np.abs(objectives), 1e-12), 0.0, 1.0)
    on_its_way = any(time < seconds for time in times)
    return np.array([*times, seconds]), np.minimum.accumulate([*gaps, run.gap]), on_its_way  # type: ignore[attr-defined]


def _held(grid: Floats, seconds: Floats, gaps: Floats) -> Floats:
    """Gap of the answer that a run holds at each time of a grid."""
    if not seconds.size:
        return np.ones_like(grid)
    index = np.searchsorted(seconds, grid, side="right") - 1
    return np.where(index >= 0, gaps[np.maximum(index, 0)], 1.0)
