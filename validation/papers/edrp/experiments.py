"""The scenarios of EDRP: an hour on ANSNET (section 7.2, Table III) and days under Storm (section 7.3, Table V).

All of them run in four objectives at once, with progress.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import numpy as np
from joblib import Parallel, cpu_count, delayed
from joblib.externals.loky import get_reusable_executor
from rich.console import Console

from edrp.datasets import ansnet, debs2015_storm, ramp, storm_cluster
from edrp.datasets.placement.debs2015 import debs2015
from edrp.placement.deployment import Deployment
from edrp.placement.edrp import EdrpProblem
from edrp.placement.metric_values import Weights
from edrp.placement.network import Network
from edrp.report.progress import counting_several
from edrp.validation.simulation.placement.replay import Replay, ReplayStep, Solver, StepProgress, place_first, replay, solver

WEIGHTINGS = {
    "Baseline": Weights(response_time=0.5, cost=0.5),
    "Balanced": Weights(response_time=0.3, cost=0.3, downtime=0.4),
    "Response time": Weights(response_time=0.6, downtime=0.4),
    "Cost": Weights(cost=0.6, downtime=0.4),
}
"""The four objectives of Tables III and V."""


class ReplayOutcome(NamedTuple):
    """A row of Table III or V: response time (s), cost (money/h) and downtime (s; under Storm a share of the time)."""

    response_time: float
    cost: float
    downtime: float


TABLE_III = {
    "Baseline": ReplayOutcome(0.1208, 9.6, 12.0),
    "Balanced": ReplayOutcome(0.1217, 9.9, 2.4),
    "Response time": ReplayOutcome(0.1215, 10.3, 2.4),
    "Cost": ReplayOutcome(0.1360, 9.2, 4.9),
}
"""Table III as printed.

Its baseline's 12.0 s hold moves between deployments that are equally good: HiGHS 1.15.1 on the compact program, which takes
any of them, gives 15.1 s; with ties broken by the fewest moves 6.4 s remain.
"""

DECISION_SECONDS = 60.0
"""Seconds between two decisions. Replayed 60 times faster, a round is an hour of the original day."""

TABLE_V = {
    "Baseline": ReplayOutcome(0.1036, 9.3, 0.1018),
    "Balanced": ReplayOutcome(0.0900, 9.8, 0.0236),
    "Response time": ReplayOutcome(0.0888, 9.9, 0.0127),
    "Cost": ReplayOutcome(0.1166, 8.9, 0.0400),
}
"""Table V as printed."""


def outcome(hour: Replay) -> ReplayOutcome:
    """Mean response time, mean cost and total downtime of a replay."""
    return ReplayOutcome(hour.mean("response_time"), hour.mean("cost"), hour.downtime)


def run_hour(
    weights: Weights,
    *,
    network: Network | None = None,
    method: str = "auto",
    rates: Sequence[float] | None = None,
    start: Deployment | None = None,
    progress: StepProgress | None = None,
) -> Replay:
    """One hour of the DEBS 2015 application, 70 → 220 → 70 tuples/s, decided again every minute: a step per rate.

    Parameters
    ----------
    weights : weights of the objective from minute 1 on.
    network : default: `ansnet(15)`.
    method : name of a method in the registry.
    rates : tuples/s at minutes 0, 1, …; default: the ramp, minutes 0 to 60.
    start : initial deployment; default: `first_deployment`.
    progress : called after every minute.
    """
    rates = [float(rate) for rate in ramp()] if rates is None else rates

    def problem_at(_: int, rate: float, current: Deployment | None) -> EdrpProblem:
        return debs2015(rate, network, weights=weights, current=current)

    network = ansnet() if network is None else network
    start = first_deployment(rates[0], network, method) if start is None else start
    return replay(rates, problem_at, start, solver(method), progress)


def first_deployment(rate: float, network: Network, method: str = "auto") -> Deployment:
    """The initial deployment: it weighs response time and cost equally and knows no downtime, whatever follows."""
    return place_first(debs2015(rate, network), solver(method))


def restricted_gaps(hour: Replay, decide: Solver) -> tuple[float | None, ...]:
    """Return the gap of rEDRP at each minute from 1 on of an hour of optima, from the optimum's deployment a minute earlier.

    A gap is relative, and None where the restricted neighbourhood holds no feasible deployment. Where the optimum itself lies
    in it, the gap is 0, and the restricted program is not solved.
    """
    gaps: list[float | None] = []
    for step in hour.steps[1:]:
        if in_neighbourhood(step):
            gaps.append(0.0)
            continue
        objective = decide(step.problem).objective
        gaps.append(None if objective is None else max(0.0, (objective - step.objective) / step.objective))
    return tuple(gaps)


def in_neighbourhood(step: ReplayStep) -> bool:
    """Whether every operator gained at most one replica and lost at most one (EDRP, section 7.2: P(V; k; U_0))."""
    return all(len(action.added) <= 1 and len(action.removed) <= 1 for action in step.actions)


def run_storm_day(
    rates: Sequence[float], weights: Weights, *, method: str = "auto", seed: int = 0, progress: StepProgress | None = None
) -> Replay:
    """Decide again at every rate (tuples/s, at most 320), a round of 60 s apart.

    The delays between the nodes are measured again in every round (drawn by the seed), as in the paper, whose S-EDRP "enacts a
    few migrations" for their slight changes. The initial deployment weighs response time and cost equally.
    """

    def problem_at(number: int, rate: float, current: Deployment | None) -> EdrpProblem:
        return debs2015_storm(rate, storm_cluster(seed * 10_000 + number), weights=weights, current=current)

    decide = solver(method)
    rates = [float(rate) for rate in rates]
    start = place_first(debs2015_storm(rates[0], storm_cluster(seed * 10_000)), decide)
    return replay(rates, problem_at, start, decide, progress)


def storm_outcome(day: Replay) -> ReplayOutcome:
    """Mean response time, mean cost and share of the time that the application was down."""
    return ReplayOutcome(day.mean("response_time"), day.mean("cost"), day.downtime / (DECISION_SECONDS * (len(day.steps) - 1)))


Run = Callable[[Weights, StepProgress], Replay]

STARTED_FIRST = ("Cost", "Baseline")
"""Objectives whose optima take longest to prove; begun last, one of them would run on alone."""


def in_all_objectives(console: Console, title: str, steps: int, run: Run, *, jobs: int | None = None) -> dict[str, Replay]:
    """Call `run`, which reports `steps` steps, with the weights of every objective; `jobs` of them at once in other processes.

    Progress is shown on a terminal by the title and the objective's name; elsewhere lines on standard error tell it.
    """
    names = list(WEIGHTINGS)
    jobs = min(len(names), cpu_count()) if jobs is None else jobs
    order = sorted(names, key=lambda name: name not in STARTED_FIRST)
    with TemporaryDirectory(prefix="edrp-") as folder:
        # Processes cannot call back into this one: they count in a file that all of them map.
        counts = Path(folder) / "steps-done"
        np.zeros(len(names), np.int64).tofile(counts)
        bars = [f"{title}: {name}" for name in names]
        text = f"{title}, {steps} decisions with each of {len(names)} sets of weights"
        with counting_several(console, text, bars, steps, lambda: np.fromfile(counts, np.int64).tolist()):
            runs = (delayed(_counted)(run, WEIGHTINGS[name], counts, names.index(name)) for name in order)
            results = dict(zip(order, Parallel(n_jobs=jobs)(runs), strict=True))
    return {name: results[name] for name in names}


def end_workers() -> None:
    """End the processes that runs have left for the next run; the program that ends would wait for them."""
    get_reusable_executor(reuse=True).shutdown(wait=True)


def _counted(run: Run, weights: Weights, counts: Path, index: int) -> Replay:
    counter = np.memmap(counts, np.int64, "r+")

    def count(steps_done: int, _: int) -> None:
        counter[index] = steps_done

    return run(weights, count)
