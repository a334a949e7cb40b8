"""Simulated annealing over deployments: move, swap, replicate, retire, exchange nodes; only moves that fit are tried."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from edrp.core.arrays import Floats, Ints
from edrp.core.errors import OutOfTimeError
from edrp.core.kernel_helpers import below, uniform
from edrp.core.kernels import inlined, inner_loop
from edrp.core.methods import Method, Options
from edrp.core.solution import Answer, StoppedBecause
from edrp.heuristics.placement.count_annealing import annealed_counts, steps_within, suits_counts
from edrp.heuristics.placement.problem_arrays import PlacementArrays, placement_arrays
from edrp.heuristics.placement.quotient_annealing import cluster_start
from edrp.heuristics.placement.replica_moves import (
    accept_or_undo_touched,
    exchange_nodes,
    move,
    move_all,
    pick_node,
    refresh_touched,
    replicate,
    retire,
    swap,
)
from edrp.heuristics.placement.replica_state import (
    BROKEN,
    ReplicaState,
    accept_or_undo,
    copy_placement,
    energy,
    evaluate,
    refresh,
    refresh_all,
    total_overload,
)
from edrp.heuristics.placement.start import Placement, best_start, first_fit, overloaded, random_fit, to_placement, zone_fits
from edrp.placement.compilation import compile_problem
from edrp.placement.compiled import Compiled
from edrp.placement.problem import PlacementProblem

CHUNK = 10_000
"""Steps between two looks at the clock, where streams have few pairs of replicas."""

MANY = -2
"""Stands for an operator: those marked as touched."""

INFEASIBLE = 1000.0
"""Added to the energy of a deployment that breaks a limit, where the best one met is kept."""


@dataclass(frozen=True, slots=True)
class AnnealingParameters:
    """How long and how hot to anneal.

    Attributes
    ----------
    anneals : number of independent runs; the first starts from the best start known.
    steps : moves tried per run; None for 30,000 per operator, at least 300,000 (100,000 where operators have many replicas).
    hot, cold : temperatures at both ends, in units of the objective.
    """

    anneals: int = 10
    steps: int | None = None
    hot: float = 0.02
    cold: float = 1e-3

    def __post_init__(self) -> None:
        if self.anneals < 1 or (self.steps is not None and self.steps < 1):
            raise ValueError(f"anneals and steps must be at least 1, got {self.anneals} and {self.steps}")
        if not 0 < self.cold <= self.hot:
            raise ValueError(f"temperatures must satisfy 0 < cold <= hot, got cold={self.cold}, hot={self.hot}")


@inlined
def _propose(t: PlacementArrays, s: ReplicaState, random: np.ndarray) -> tuple[int, int]:
    """Change the deployment in place; return the one or two changed operators, MANY, or -1 if nothing fits."""
    i = below(random, s.degree.size)
    p = below(random, s.degree[i])
    kind = uniform(random)
    if kind < 0.05:
        v = t.near[s.place[i, p], 1 + below(random, t.near.shape[1] - 1)] if t.near.shape[1] > 1 else s.place[i, p]
        return (MANY, MANY) if exchange_nodes(t, s, s.place[i, p], v) else (-1, -1)
    if kind < 0.55:
        v = pick_node(t, s, random, i, s.place[i, p])
        if v < 0 or v == s.place[i, p]:
            return -1, -1
        if s.degree[i] > 1 and uniform(random) < 0.25:
            return (i, -1) if move_all(t, s, i, v) else (-1, -1)
        return (i, -1) if move(t, s, i, p, v) else (-1, -1)
    if kind < 0.8:
        j = below(random, s.degree.size)
        return (i, j) if swap(t, s, i, p, j, below(random, s.degree[j])) else (-1, -1)
    if kind < 0.9:
        v = s.place[i, p] if uniform(random) < 0.5 else pick_node(t, s, random, i, s.place[i, p])
        return (i, -1) if replicate(t, s, i, v) else (-1, -1)
    return (i, -1) if retire(t, s, i, p) else (-1, -1)


class BestPlacement(NamedTuple):
    """The best deployment met and its energy, shape (1,), with `INFEASIBLE` added where it breaks a limit."""

    place: Ints
    degree: Ints
    energy: Floats

    def placement(self) -> Placement:
        """The deployment."""
        return Placement(self.place, self.degree)


@inlined
def _keep_best(now: ReplicaState, best: BestPlacement, value: float) -> None:
    """Remember a deployment of this energy if it is the best one met; all that break a limit rank behind all others."""
    rank = value + INFEASIBLE * now.values[BROKEN]
    if rank < best.energy[0]:
        best.energy[0] = rank
        copy_placement(now, best.place, best.degree)


@inner_loop
def anneal(
    t: PlacementArrays,
    now: ReplicaState,
    old: ReplicaState,
    best: BestPlacement,
    random: np.ndarray,
    steps: int,
    temperature: float,
    cooling: float,
) -> None:
    """Anneal for `steps` moves from `now`; the best deployment met goes to `best`."""
    refresh_all(t, now)
    overload = total_overload(t, now.used)
    value = energy(t, now, overload)
    for i in range(now.degree.size):
        old.degree[i] = now.degree[i]
        accept_or_undo(t, i, True, now, old)
    _keep_best(now, best, value)
    for _ in range(steps):
        temperature *= cooling
        i, j = _propose(t, now, random)
        if i == -1:
            continue
        if i == MANY:
            refresh_touched(t, now)
        else:
            refresh(t, now, i)
            if j >= 0:
                refresh(t, now, j)
        new_overload = total_overload(t, now.used) if overload > 0 else 0.0
        new = energy(t, now, new_overload)
        accepted = new <= value or uniform(random) < np.exp((value - new) / temperature)
        if accepted:
            value, overload = new, new_overload
            _keep_best(now, best, value)
        if i == MANY:
            accept_or_undo_touched(t, accepted, now, old)
        else:
            accept_or_undo(t, i, accepted, now, old)
            if j >= 0:
                accept_or_undo(t, j, accepted, now, old)


def annealed(
    compiled: Compiled,
    arrays: PlacementArrays,
    starts: list[Placement],
    options: Options,
    parameters: AnnealingParameters,
) -> tuple[Placement, StoppedBecause]:
    """Anneal from the best start, then from its own results, until done or out of time.

    While nothing feasible is known, each run starts from another random placement, and there are up to three
    times as many.

    Returns
    -------
    tuple
        Best placement met, and why the search stopped.
    """
    steps = parameters.steps or max(300_000, 30_000 * len(compiled.operators))
    now, old = ReplicaState.empty(arrays), ReplicaState.empty(arrays)
    best = BestPlacement(now.place.copy(), now.degree.copy(), np.full(1, np.inf))
    random = np.zeros(1, np.uint64)
    for start in starts:
        now.set(start)
        anneal(arrays, now, old, best, random, 0, 1.0, 1.0)
    cooling = (parameters.cold / parameters.hot) ** (1.0 / steps)
    chunk = min(CHUNK, steps_within(compiled))
    for run in range(3 * parameters.anneals):
        feasible = best.energy[0] < INFEASIBLE
        if feasible and run >= parameters.anneals:
            break
        seeds = np.random.SeedSequence([options.seed, run])
        random = seeds.generate_state(1, np.uint64).astype(np.uint64)
        fresh = not feasible and run > 0
        now.set(random_fit(compiled, np.random.default_rng(seeds)) if fresh else best.placement())
        try:
            for done in range(0, steps, chunk):
                if options.remaining <= 0:
                    return best.placement(), "time_limit"
                temperature = parameters.hot * cooling**done
                anneal(arrays, now, old, best, random, min(chunk, steps - done), temperature, cooling)
        except KeyboardInterrupt:
            return best.placement(), "interrupted"
        if options.progress is not None and best.energy[0] < INFEASIBLE:
            options.progress(options.elapsed, float(best.energy[0]) * arrays.scale, None)
    return best.placement(), "finished"


class Annealing(Method):
    """The scalable heuristic: answers in a fraction of a second, proves nothing."""

    name = "annealing"
    kinds = ("edrp", "latency-aware")
    summary = "simulated annealing (move, swap, replicate, retire, exchange nodes); the scalable heuristic"
    parameters = AnnealingParameters

    def run(self, problem: PlacementProblem, options: Options) -> Answer:
        """Anneal from first fit and from the current deployment; where links are described by zones, also from each zone."""
        parameters = self.read_parameters(options)
        compiled = compile_problem(problem)
        if (hopeless := overloaded(compiled)) is not None:
            return hopeless
        starts = [first_fit(compiled)]
        for deployment in (options.start, problem.current):
            if deployment is not None:
                known = to_placement(compiled, deployment)
                starts += [known] if known is not None else []
        try:
            arrays = placement_arrays(compiled)
            if (cluster := cluster_start(compiled, options.seed, lambda: options.remaining <= 0)) is not None:
                starts.append(cluster)
        except OutOfTimeError:
            return best_start(compiled, starts)
        if problem.network.classes:
            starts += zone_fits(compiled)
        if suits_counts(compiled):
            counts, stopped = annealed_counts(compiled, arrays, starts, options, parameters)
            return Placement.of_counts(compiled, counts).answer(compiled, stopped)
        placement, stopped = annealed(compiled, arrays, starts, options, parameters)
        return placement.answer(compiled, stopped)


def energies(compiled: Compiled, counts: Ints) -> Floats:
    """The five metrics of a deployment as the kernels see them (availability as −ln); for tests and methods."""
    arrays = placement_arrays(compiled)
    state = ReplicaState.empty(arrays)
    state.set(Placement.of_counts(compiled, counts))
    evaluate(arrays, state)
    return state.values[:BROKEN]


METHODS = (Annealing(),)
"""For the registry."""
