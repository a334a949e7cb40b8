"""What no policy can undercut, beside what policies cost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from joblib import Parallel, delayed

from edrp.problems.enactment_scenario import EnactmentScenario
from edrp.validation.enactment.paper_tables import PATTERNS, UNITS
from edrp.validation.enactment.report_runs import Setting
from edrp.validation.enactment_bounds import clairvoyant_bound

SECONDS = 5.0
"""For each bound; it holds whenever it is stopped, and rises little after that."""

SEEDS = 5
"""Random walks over which bounds are averaged."""


def bounds_of(
    setting: Setting,
    seeds: Sequence[int],
    *,
    patterns: Sequence[str] = PATTERNS,
    units: Sequence[int] = UNITS,
    n_jobs: int | None = None,
    seconds: float = SECONDS,
) -> Mapping[tuple[str, int], float]:
    """The clairvoyant bound on the expected near-real-time total (money) by pattern and unit, in the mean over the seeds.

    Parameters
    ----------
    setting
        Of the runs.
    seeds
        Of the random walks, of which the first few are taken; the other patterns are the same for each.
    patterns, units
        Which of them; units in minutes.
    n_jobs
        Processes at the same time, as joblib counts them; None for one per core.
    seconds
        For each.
    """
    cells = {
        (pattern, unit): _different([setting.scenario(pattern, unit, seed) for seed in seeds[:SEEDS]])
        for pattern in patterns
        for unit in units
    }
    jobs = [(cell, scenario) for cell, scenarios in cells.items() for scenario in scenarios]
    solve = delayed(_bound)
    totals = Parallel(n_jobs=-1 if n_jobs is None else n_jobs)(solve(scenario, seconds) for _, scenario in jobs)
    return {
        cell: float(np.mean([total for (other, _), total in zip(jobs, totals, strict=True) if other == cell])) for cell in cells
    }


def _different(scenarios: Sequence[EnactmentScenario]) -> list[EnactmentScenario]:
    return [each for index, each in enumerate(scenarios) if each not in scenarios[:index]]


def _bound(scenario: EnactmentScenario, seconds: float) -> float:
    return clairvoyant_bound(scenario, "near_real_time", time_limit=seconds).total
