"""Simulated annealing over deployments: move, swap, replicate, retire, exchange nodes; only moves that fit are tried."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import count
from typing import NamedTuple

import numpy as np

from edrp import _native
from edrp.core import budget
from edrp.core.arrays import Floats, Ints
from edrp.core.errors import OutOfTimeError
from edrp.core.methods import Options
from edrp.core.solution import Answer, StoppedBecause
from edrp.heuristics.placement.deployment_starts import best_start, first_fit, given_starts, random_fit, zone_fits
from edrp.heuristics.placement.deployment_state import (
    BROKEN_VALUE,
    FEW_REPLICAS,
    MANY_REPLICAS,
    DeploymentState,
    MoveMix,
    random_stream,
)
from edrp.heuristics.placement.filling import PlacementHeuristic, checked_answer
from edrp.heuristics.placement.problem_arrays import (
    CHUNK_UNITS,
    PlacementArrays,
    evaluation_units,
    pairs_per_operator,
    placement_arrays,
)
from edrp.heuristics.placement.quotient_annealing import cluster_start
from edrp.placement.compiled import Compiled

EVALUATED_SHARE = 0.5
"""Share of the steps that evaluate a change; the others draw none that fits. Measured on layered applications of 10 to 60
operators, a cluster and a latency-aware topology: processor time over units 0.5 to 1.5."""

INFEASIBLE_ENERGY = 1000.0
"""Energy added, besides the highest price of rules, to a deployment that breaks a limit, in the comparison with the best one."""

MANY_PAIRS = 1000
"""Pairs of replicas per operator, over its streams, from which batches of replicas are moved."""

COOLING_DIVISOR = 10.0
"""Factor by which temperatures fall, beyond the replicas per operator, where there are many: a single one is a small share."""

MIN_RELATIVE_GAIN = 1e-3
"""Relative gain of a run below which there is no further one, where operators have many replicas."""

ANNEALS = 10
"""Number of runs where nobody asks for another one."""

FIRST_RUN_SHARE = 0.1
"""Share of the steps of the first run; each further run is three times as long, so that an early end is cold, too."""


@dataclass(frozen=True, slots=True)
class AnnealingParameters:
    """Parameters of simulated annealing.

    Attributes
    ----------
    anneals : number of runs; the first starts from the best start known. None for 10, and under a limit for as many as it allows.
    steps : moves tried per run; None for 30,000 per operator, at least 300,000 (100,000 where operators have many replicas).
    hot, cold : temperatures at both ends, in units of the objective.
    """

    anneals: int | None = None
    steps: int | None = None
    hot: float = 0.02
    cold: float = 1e-3

    def __post_init__(self) -> None:
        if (self.anneals is not None and self.anneals < 1) or (self.steps is not None and self.steps < 1):
            raise ValueError(f"anneals and steps must be at least 1, got {self.anneals} and {self.steps}")
        if not 0 < self.cold <= self.hot:
            raise ValueError(f"temperatures must satisfy 0 < cold <= hot, got cold={self.cold}, hot={self.hot}")


class BestDeployment(NamedTuple):
    """The best deployment that annealing has visited (edrp/native/heuristics/placement/annealing.cpp).

    `energy` has `INFEASIBLE_ENERGY` added where it breaks a limit.

    Operator i has `replicas[i, k]` replicas on node `hosts[i, k]`, for k below `number[i]`.
    """

    hosts: Ints
    replicas: Ints
    number: Ints
    energy: Floats

    @classmethod
    def empty(cls, operators: int, nodes: int) -> BestDeployment:
        """Allocate the arrays before any deployment is visited."""
        shape = operators, nodes
        return cls(np.zeros(shape, np.int64), np.zeros(shape, np.int64), np.zeros(operators, np.int64), np.full(1, np.inf))

    def counts(self) -> Ints:
        """Return the replicas per operator and node."""
        counts = np.zeros_like(self.replicas)
        for i, number in enumerate(self.number):
            counts[i, self.hosts[i, :number]] = self.replicas[i, :number]
        return counts


class AnnealingSchedule(NamedTuple):
    """Schedule of the runs of annealing.

    Attributes
    ----------
    mix : which changes are drawn.
    steps : changes tried per run.
    first_share : the first run's share of them; each further run is three times as long.
    scale : factor of the temperatures.
    enough : relative gain of a run below which there is no further one; None to go on in any case.
    """

    mix: MoveMix
    steps: int
    first_share: float = 1.0
    scale: float = 1.0
    enough: float | None = None


def annealing_schedule(compiled: Compiled, parameters: AnnealingParameters) -> AnnealingSchedule:
    """Choose the schedule: batches of replicas where there are many, or a cluster without current deployment or failures.

    Examples
    --------
    >>> from edrp.datasets import layered
    >>> from edrp.placement.compilation import compile_problem
    >>> annealing_schedule(compile_problem(layered(10, seed=0)), AnnealingParameters()).steps
    300000
    """
    first = compiled.current is None and not (compiled.contended or compiled.node_loss.any() or compiled.links.lossy)
    if first and (compiled.problem.network.classes or pairs_per_operator(compiled) > MANY_PAIRS):
        return AnnealingSchedule(
            MANY_REPLICAS, parameters.steps or 100_000, FIRST_RUN_SHARE, 1 / COOLING_DIVISOR, MIN_RELATIVE_GAIN
        )
    return AnnealingSchedule(FEW_REPLICAS, parameters.steps or max(300_000, 30_000 * len(compiled.operators)))


class AnnealingRun:
    """Runs of annealing on one problem, and the best deployment that they have visited."""

    def __init__(self, compiled: Compiled, arrays: PlacementArrays, options: Options) -> None:
        self.compiled = compiled
        self.arrays = arrays
        self.options = options
        self.best = BestDeployment.empty(*compiled.candidate.shape)
        self.units = EVALUATED_SHARE * evaluation_units(compiled)
        self.infeasible = INFEASIBLE_ENERGY + arrays.rules.max_price

    def consider(self, start: Ints) -> None:
        """Evaluate a deployment as a start."""
        self._anneal(start, FEW_REPLICAS, np.zeros(1, np.uint64), 0, 1.0, 1.0)

    def run(self, parameters: AnnealingParameters) -> StoppedBecause:
        """Anneal from the best start, then from its own results, until all runs are done or the limit is reached.

        While nothing feasible is known, each run starts from another random placement, and there are up to three
        times as many. Runs that only a limit ends start from the best and from random placements in turn.
        """
        plan, best = annealing_schedule(self.compiled, parameters), self.best.energy
        replicas = float(self.best.replicas.sum()) / len(self.compiled.operators)
        hot = parameters.hot if plan.enough is None else plan.scale / replicas * parameters.hot
        anneals, done = parameters.anneals or ANNEALS, False
        for run in count():
            before, seeds = float(best[0]), [self.options.seed, run]
            feasible = before < self.infeasible
            done = done or run >= (anneals if feasible else 3 * anneals)
            if done and (before <= 0 or parameters.anneals is not None or not self.options.goes_on):
                break
            fresh = run % 2 == 1 if done and feasible else not feasible and run > 0
            counts = random_fit(self.compiled, np.random.default_rng(seeds)) if fresh else self.best.counts()
            share = min(1.0, plan.first_share * 3.0 ** min(run, anneals))
            steps = max(1, round(share * plan.steps))
            cooling = (parameters.cold / parameters.hot) ** (1.0 / steps)
            if not self._anneal(counts, plan.mix, random_stream(seeds), steps, hot, cooling):
                return "time_limit"
            little = best[0] <= 0 or (share == 1 and before - best[0] <= (plan.enough or 0.0) * before)
            done = done or (plan.enough is not None and feasible and bool(little))
        return "finished"

    def _anneal(self, counts: Ints, mix: MoveMix, random: np.ndarray, steps: int, hot: float, cooling: float) -> bool:
        """Anneal from a deployment; return whether all steps were taken."""
        state = DeploymentState.from_matrix(self.arrays, counts)
        chunk = max(1, int(CHUNK_UNITS / self.units))
        for steps_done in range(0, max(1, steps), chunk):
            if steps > 0 and self.options.remaining <= 0:
                return False
            number = min(chunk, steps - steps_done)
            temperature = hot * cooling**steps_done
            _native.anneal_deployment(self.arrays, state, self.best, mix, random, number, temperature, cooling)
            budget.spend((1 + number) * self.units)
            if self.options.progress is not None and self.best.energy[0] < self.infeasible:
                self.options.progress(self.options.seconds, float(self.best.energy[0]) * self.arrays.scale, None)
        return True


class Annealing(PlacementHeuristic):
    """Simulated annealing, the scalable heuristic: answers in a fraction of a second, proves nothing."""

    name = "annealing"
    summary = "simulated annealing (move, swap, replicate, retire, exchange nodes); the scalable heuristic"
    parameters = AnnealingParameters

    def place(self, compiled: Compiled, parameters: AnnealingParameters, options: Options) -> Answer:
        """Anneal from first fit and from the current deployment; where links are described by zones, also from each zone."""
        starts = [first_fit(compiled), *given_starts(compiled, options)]
        try:
            arrays = placement_arrays(compiled)
            if (cluster := cluster_start(compiled, options.seed, lambda: options.remaining <= 0)) is not None:
                starts.append(cluster)
        except OutOfTimeError as error:
            return best_start(compiled, starts, error)
        if compiled.problem.network.classes:
            starts += zone_fits(compiled)
        run = AnnealingRun(compiled, arrays, options)
        for start in starts:
            run.consider(start)
        try:
            stopped = run.run(parameters)
        except KeyboardInterrupt:
            stopped = "interrupted"
        return checked_answer(compiled, run.best.counts(), stopped)


def energies(compiled: Compiled, counts: Ints) -> Floats:
    """Compute the five metrics of a deployment by the kernels (availability as −ln), for tests and other methods."""
    arrays = placement_arrays(compiled)
    state, best = DeploymentState.from_matrix(arrays, counts), BestDeployment.empty(*counts.shape)
    _native.anneal_deployment(arrays, state, best, FEW_REPLICAS, np.zeros(1, np.uint64), 0, 1.0, 1.0)
    return state.values[:BROKEN_VALUE]


METHODS = (Annealing(),)
"""Methods for problems of kinds `edrp` and `latency-aware`."""
