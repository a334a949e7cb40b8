"""A day of changing latencies and loads, and four ways to plan again: at every step, never, only when broken, and when it pays.

The topology is one of latency-aware placement, as measured and as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from edrp.core.arrays import Floats
from edrp.core.solve import solve
from edrp.datasets.placement.coordinates.latencies import estimate_latencies
from edrp.datasets.placement.coordinates.latency_estimate import LatencyEstimate
from edrp.datasets.placement.coordinates.simulation import SpringParameters
from edrp.datasets.placement.latency_aware_test_bed import paper_problem
from edrp.datasets.traces.source_rates import real_day
from edrp.placement.deployment import Deployment
from edrp.placement.latency_aware import LatencyAwareProblem, ScoreWeights
from edrp.placement.network import Node
from edrp.replanning.measurements import with_measurements
from edrp.replanning.plans import reconfiguration
from edrp.replanning.replanner import Replanner, ReplanningPolicy

MINUTES = 10
STEP = 60.0 * MINUTES
"""Seconds from one measurement to the next."""

TOPOLOGY, PEAK_CORE_SHARE = "T-R3", 0.6
"""Twelve operations, 22 instances; the share of the cluster's cores that they need in the busiest moment."""

MIN_LOAD = 0.35
"""Rates and needs in the quietest moment, as a share of those in the busiest."""

WEIGHTS = ScoreWeights(latency=0.01)
"""Weights of the score: with the paper's 1e-6 per ms no latency of this network would move anything; here 10 ms weigh 0.1."""

MEGABYTE = 1e6
STATE = (2 * MEGABYTE, 40 * MEGABYTE)
"""Bytes of an operator's state, log-uniform. The paper's operators have none to speak of."""
CODE = 10 * MEGABYTE
STORE = {"delay": 0.01, "bandwidth": 12.5 * MEGABYTE}
SPAWN_TIME = 0.5

SMOOTH = 0.9
"""Share of a fluctuation that is left a step later."""
LATENCY_NOISE, WORK_NOISE = 0.3, 0.1
"""Standard deviation of the logarithm of each link's delay, and of each operator's rate and need, around its mean."""

AWAY, AWAY_FROM, AWAY_UNTIL = "w6", 14.0, 17.0
"""An edge server that is out of reach, and its hours."""

MEASURING = SpringParameters(peers=4, kept=2, rounds=2)
"""Each supervisor measures so few of its ten peers about twice between two decisions."""


@dataclass(frozen=True, slots=True)
class Moment:
    """One step of the day.

    Attributes
    ----------
    hour : since midnight.
    load : rates and needs relative to the busiest moment, before each operator's own fluctuation.
    measured : the problem with delays as they are estimated from a few measurements.
    true : the same with all delays as they are.
    """

    hour: float
    load: float
    measured: LatencyAwareProblem
    true: LatencyAwareProblem


def daily_curve(seed: int) -> Floats:
    """A generated day: quiet at night, busy at noon and in the evening, in shares of the busiest moment.

    Returns
    -------
    numpy.ndarray
        Shape (145,), one value per step of ten minutes.
    """
    hour = np.arange(0, 24 * 60 + 1, MINUTES) / 60
    shape = np.exp(-(((hour - 12) / 3.0) ** 2)) + 0.9 * np.exp(-(((hour - 19.5) / 2.0) ** 2))
    shape += 0.03 * np.random.default_rng(seed).standard_normal(hour.size)
    return np.asarray(MIN_LOAD + (1 - MIN_LOAD) * (shape - shape.min()) / np.ptp(shape))


def loads(data: Path | None, seed: int) -> tuple[Floats, str]:
    """Loads of a day and where they come from: a real one where its data are given, else a generated one."""
    if data is None:
        return daily_curve(seed), "a generated day"
    day = real_day(data, low=MIN_LOAD, high=1.0, minutes=MINUTES)
    return day.rates, day.origin


def topology() -> LatencyAwareProblem:
    """The problem in its busiest moment, with state to move, prices of latency, and means around which all fluctuates."""
    problem = paper_problem(TOPOLOGY, PEAK_CORE_SHARE)
    smallest, largest = np.log(STATE)
    sizes = np.exp(np.random.default_rng(0).uniform(smallest, largest, len(problem.application.operators)))
    operators = [
        operator.replace(state_size=float(size), code_size=CODE)
        for operator, size in zip(problem.application.operators, sizes, strict=True)
    ]
    nodes = [node.replace(spawn_time=SPAWN_TIME) for node in problem.network.nodes]
    network = problem.network.replace(nodes=nodes, store=STORE)
    return problem.replace(application=problem.application.replace(operators=operators), network=network, weights=WEIGHTS)


def moments(day: Iterable[float], seed: int) -> Iterator[Moment]:
    """Yield the steps of the day.

    Needs of cores and rates follow the load and a fluctuation of each operator's own; memory stays. Delays fluctuate by
    link, and are measured by supervisors that know a few near and some random peers. One edge server is away for
    some hours.
    """
    base = topology()
    random = np.random.default_rng(seed)
    work = _Fluctuation(len(base.application.operators), WORK_NOISE, random)
    latency = _Fluctuation(len(base.network.links), LATENCY_NOISE, random)
    estimate: LatencyEstimate | None = None
    for number, load in enumerate(day):
        hour = number * MINUTES / 60
        loaded = with_measurements(base, **_work(base, float(load) * work.next()))
        delays = {
            (link.source, link.target): link.delay * factor
            for link, factor in zip(base.network.links, latency.next(), strict=True)
        }
        vanished = [AWAY] if AWAY_FROM <= hour < AWAY_UNTIL else []
        true = with_measurements(loaded, delays=delays, vanished=vanished)
        names = [node.name for node in true.network.nodes]
        between = np.array([[true.network.delay(u, v) for v in names] for u in names])
        estimate = estimate_latencies(names, between, MEASURING, seed=seed + number, start=estimate)
        yield Moment(hour, float(load), true.replace(network=estimate.network(true.network)), true)


class _Fluctuation:
    """Factors that wander around 1: their logarithms are autoregressive of order one, in the steady state."""

    def __init__(self, size: int, deviation: float, random: np.random.Generator) -> None:
        self._random = random
        self._deviation = deviation
        self._logarithm = deviation * random.standard_normal(size)

    def next(self) -> Floats:
        fresh = self._random.standard_normal(self._logarithm.size)
        self._logarithm = SMOOTH * self._logarithm + self._deviation * np.sqrt(1 - SMOOTH**2) * fresh
        return np.exp(self._logarithm)


def _work(base: LatencyAwareProblem, factors: Floats) -> dict[str, Any]:
    """Rates and needs of cores at some factors by operator; none grows beyond what its mean is in the busiest moment."""
    capped = np.minimum(factors, 1.0)
    factor = dict(zip(base.application.by_name, map(float, capped), strict=True))
    rates = {(s.source, s.target): base.application.rate(s.source, s.target) * factor[s.source] for s in base.application.streams}
    needs = {
        operator.name: {"cpu": operator.resources["cpu"] * factor[operator.name]}
        for operator in base.application.operators
        if isinstance(operator.resources, dict)
    }
    return {"rates": rates, "resources": needs}


Strategy = Callable[[LatencyAwareProblem, Deployment | None], Deployment | None]
"""Maps a problem as measured and the running deployment to the next one; None where none is found and none ran."""

NEVER, BROKEN, EVERY, PAYING = "never", "only when broken", "at every step", "when it pays"


@dataclass(frozen=True, slots=True)
class DayStep:
    """The result of one step of a day.

    Attributes
    ----------
    score : objective of the deployment after the decision, by true delays (latency-aware placement, eq. 1).
    works : whether that deployment has its resources; where it does not, the step counts as downtime.
    downtime : seconds of the reconfiguration.
    moved : instances that started elsewhere.
    """

    score: float
    works: bool
    downtime: float
    moved: int


@dataclass(frozen=True, slots=True)
class DayOutcome:
    """A day under one strategy."""

    steps: tuple[DayStep, ...]
    downtime_worth: float

    @property
    def total(self) -> float:
        """Score by second, mean over the day, where time without processing costs `downtime_worth` by second on top."""
        spent = sum(step.score * STEP + self.downtime_worth * (step.downtime if step.works else STEP) for step in self.steps)
        return spent / (STEP * len(self.steps))

    @property
    def score(self) -> float:
        """Mean score of the steps in which the deployment had its resources."""
        scores = [step.score for step in self.steps if step.works]
        return sum(scores) / len(scores) if scores else float("nan")

    @property
    def downtime(self) -> float:
        """Seconds of reconfigurations."""
        return sum(step.downtime for step in self.steps)

    @property
    def moved(self) -> int:
        """Instances that were moved."""
        return sum(step.moved for step in self.steps)

    @property
    def reconfigurations(self) -> int:
        """Steps at which something moved."""
        return sum(step.moved > 0 for step in self.steps)

    @property
    def broken(self) -> int:
        """Steps in which the deployment lacked a node or resources."""
        return sum(not step.works for step in self.steps)


def strategies(policy: ReplanningPolicy, seed: int) -> dict[str, Strategy]:
    """The four ways to run a day; all plan with the method of the policy."""
    return {
        NEVER: lambda problem, running: _planned(problem, None, policy, seed) if running is None else running,
        BROKEN: _watching(policy.replace(hysteresis=1e9), seed),
        EVERY: lambda problem, running: _planned(problem, running, policy, seed),
        PAYING: _watching(policy, seed),
    }


def run_day(
    day: Iterable[Moment], strategy: Strategy, policy: ReplanningPolicy, progress: Callable[[int], None] | None = None
) -> DayOutcome:
    """Run a day; the first placement costs nothing.

    Parameters
    ----------
    policy
        Definition and worth of downtime; the same for all strategies.

    Raises
    ------
    ValueError
        The strategy finds nothing to begin with.
    """
    running: Deployment | None = None
    known: dict[str, Node] = {}
    steps = []
    for number, moment in enumerate(day, start=1):
        known.update(moment.true.network.by_name)
        after = strategy(moment.measured, running)
        if after is None:
            raise ValueError(f"no initial placement was found at hour {moment.hour:g}")
        steps.append(_step(moment.true, running, after, known, policy))
        running = after
        if progress:
            progress(number)
    return DayOutcome(tuple(steps), policy.downtime_worth)


def _watching(policy: ReplanningPolicy, seed: int) -> Strategy:
    replanner: list[Replanner] = []

    def decide(problem: LatencyAwareProblem, running: Deployment | None) -> Deployment | None:
        if not replanner:
            replanner.append(Replanner(problem, policy, seed=seed))
        return replanner[0].decide(problem).deployment

    return decide


def _planned(problem: LatencyAwareProblem, running: Deployment | None, policy: ReplanningPolicy, seed: int) -> Deployment | None:
    """The deployment that the method finds, whatever it costs to get there; the running one where it finds none."""
    all_nodes_present = running is not None and all(node in problem.network.by_name for name in running for node in running[name])
    start = problem.replace(current=running if all_nodes_present else None)
    solution = solve(start, policy.method, seed=seed, **policy.limits, **policy.parameters)
    return solution.deployment or running


def _step(
    problem: LatencyAwareProblem,
    before: Deployment | None,
    after: Deployment,
    known: dict[str, Node],
    policy: ReplanningPolicy,
) -> DayStep:
    change = reconfiguration(problem, before, known, synchronisation_time=policy.synchronisation_time, how=policy.reconfiguration)
    moved = 0 if before is None else sum(action.moved_replicas for action in before.actions_to(after))
    downtime = 0.0 if change is None else change.downtime(after)
    nodes = problem.network.by_name
    if any(node not in nodes for name in after for node in after[name]):
        return DayStep(0.0, False, downtime, moved)
    evaluation = problem.evaluate(after)
    return DayStep(evaluation.objective, evaluation.feasible, downtime, moved)
