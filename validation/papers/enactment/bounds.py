"""Clairvoyant bounds on the cost of all policies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from joblib import Parallel, delayed

from edrp.enactment.scenario import EnactmentScenario
from edrp.validation.oracles.enactment.bounds import clairvoyant_bound
from edrp.validation.papers.enactment.printed_values import PATTERNS, UNITS
from edrp.validation.papers.enactment.runs import Setting

BOUND_SECONDS = 10.0
"""Seconds for each bound, which holds whenever it is stopped; nearly all are proven tight in their model within three."""


class Bounds(NamedTuple):
    """Least expected near-real-time totals, money: of all policies, and of those that let no item wait until it is late."""

    least: float
    in_time: float


def mean_bounds(
    setting: Setting,
    seeds: Sequence[int],
    *,
    patterns: Sequence[str] = PATTERNS,
    units: Sequence[int] = UNITS,
    n_jobs: int | None = None,
) -> Mapping[tuple[str, int], Bounds]:
    """The clairvoyant bounds by pattern and unit (minutes), in the mean over the seeds of the random walks.

    The other patterns are the same for each seed. `n_jobs` counts processes as joblib does; None for one per core.
    """
    cells = {
        (pattern, unit): _distinct([setting.scenario(pattern, unit, seed) for seed in seeds])
        for pattern in patterns
        for unit in units
    }
    jobs = [(cell, scenario) for cell, scenarios in cells.items() for scenario in scenarios]
    solve = delayed(_bounds)
    bounds = Parallel(n_jobs=-1 if n_jobs is None else n_jobs)(solve(scenario) for _, scenario in jobs)
    return {
        cell: Bounds(*np.mean([bound for (other, _), bound in zip(jobs, bounds, strict=True) if other == cell], axis=0).tolist())
        for cell in cells
    }


def _distinct(scenarios: Sequence[EnactmentScenario]) -> list[EnactmentScenario]:
    return [scenario for index, scenario in enumerate(scenarios) if scenario not in scenarios[:index]]


def _bounds(scenario: EnactmentScenario) -> Bounds:
    least, in_time = (
        clairvoyant_bound(scenario, "near_real_time", all_in_time=in_time, time_limit=BOUND_SECONDS) for in_time in (False, True)
    )
    return Bounds(least.total, in_time.total)
