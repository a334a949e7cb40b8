"""A day of changing latencies and loads for a topology of latency-aware placement, as measured and as it is."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from edrp.core.arrays import Floats
from edrp.datasets.placement.coordinates.latencies import estimate_latencies
from edrp.datasets.placement.coordinates.latency_estimate import LatencyEstimate
from edrp.datasets.placement.coordinates.simulation import SpringParameters
from edrp.datasets.placement.latency_aware_test_bed import paper_problem
from edrp.datasets.traces.source_rates import real_day
from edrp.placement.latency_aware import LatencyAwareProblem, ScoreWeights
from edrp.placement.network import Network
from edrp.replanning.measurements import with_measurements

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
        estimate = _estimated(true.network, estimate, seed + number)
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


def _estimated(network: Network, before: LatencyEstimate | None, seed: int) -> LatencyEstimate:
    names = [node.name for node in network.nodes]
    true = np.zeros((len(names), len(names)))
    for u, v in combinations(range(len(names)), 2):
        true[u, v] = true[v, u] = network.delay(names[u], names[v])
    return estimate_latencies(names, true, MEASURING, seed=seed, start=before)
