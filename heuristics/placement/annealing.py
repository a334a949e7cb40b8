"""Simulated annealing over deployments: move, swap, replicate, retire, exchange nodes; only moves that fit are tried."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from edrp.core.arrays import Floats, Ints
from edrp.core.kernels import inlined, inner_loop
from edrp.core.methods import Method, Options
from edrp.core.solution import Answer, StoppedBecause
from edrp.heuristics.placement.count_annealing import annealed_crowd, crowded, pairs_per_operator
from edrp.heuristics.placement.kernel_helpers import below, uniform
from edrp.heuristics.placement.problem_arrays import Tables, tables_of
from edrp.heuristics.placement.replica_moves import (
    exchange_nodes,
    move,
    move_all,
    pick_node,
    refresh_touched,
    replicate,
    retire,
    settle_touched,
    swap,
)
from edrp.heuristics.placement.replica_state import (
    BROKEN,
    State,
    copy_placement,
    energy,
    evaluate,
    overload_of,
    refresh,
    refresh_all,
    settle,
)
from edrp.heuristics.placement.start import Placement, first_fit, overloaded, placement_of, random_fit, zone_fits
from edrp.placement.compilation import compile_problem
from edrp.placement.compiled import Compiled
from edrp.placement.problem import PlacementProblem

CHUNK = 10_000
"""Steps between two looks at the clock, where streams have few pairs of replicas."""
PAIRS = 100_000_000
"""Pairs of replicas between two looks at the clock, where they have many."""
MANY = -2
"""In place of an operator: those marked as touched."""
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
def _propose(t: Tables, s: State, random: np.ndarray) -> tuple[int, int]:
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


@inlined
def _rank(value: float, now: State) -> float:
    """By energy, all that break a limit behind all that do not."""
    return value + INFEASIBLE * now.values[BROKEN]


@inner_loop
def anneal(
    t: Tables,
    now: State,
    old: State,
    best_place: np.ndarray,
    best_degree: np.ndarray,
    best: float,
    random: np.ndarray,
    steps: int,
    temperature: float,
    cooling: float,
) -> float:
    """Anneal for `steps` moves from `now`; the best deployment met goes to `best_place`, its energy is returned."""
    refresh_all(t, now)
    overload = overload_of(t, now.used)
    value = energy(t, now, overload)
    for i in range(now.degree.size):
        old.degree[i] = now.degree[i]
        settle(t, i, True, now, old)
    if _rank(value, now) < best:
        best = _rank(value, now)
        copy_placement(now, best_place, best_degree)
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
        new_overload = overload_of(t, now.used) if overload > 0 else 0.0
        new = energy(t, now, new_overload)
        accepted = new <= value or uniform(random) < np.exp((value - new) / temperature)
        if accepted:
            value, overload = new, new_overload
            if _rank(value, now) < best:
                best = _rank(value, now)
                copy_placement(now, best_place, best_degree)
        if i == MANY:
            settle_touched(t, accepted, now, old)
        else:
            settle(t, i, accepted, now, old)
            if j >= 0:
                settle(t, j, accepted, now, old)
    return best


def annealed(
    compiled: Compiled,
    tables: Tables,
    starts: list[Placement],
    options: Options,
    parameters: AnnealingParameters,
) -> tuple[Placement, float, StoppedBecause]:
    """Anneal from the best start, then from its own results, until done or out of time.

    While nothing feasible is known, each run starts from another random placement, and there are up to three
    times as many.

    Returns
    -------
    tuple
        Best placement met, its energy (objective plus penalties), and why the search stopped.
    """
    steps = parameters.steps or max(300_000, 30_000 * len(compiled.operators))
    now, old = State.empty(tables), State.empty(tables)
    best_place, best_degree, best = now.place.copy(), now.degree.copy(), np.inf
    random = np.zeros(1, np.uint64)
    for start in starts:
        now.set(start)
        best = anneal(tables, now, old, best_place, best_degree, best, random, 0, 1.0, 1.0)
    cooling = (parameters.cold / parameters.hot) ** (1.0 / steps)
    chunk = int(min(CHUNK, 1 + PAIRS / (1 + pairs_per_operator(compiled))))
    for run in range(3 * parameters.anneals):
        feasible = best < INFEASIBLE
        if feasible and run >= parameters.anneals:
            break
        seeds = np.random.SeedSequence([options.seed, run])
        random = seeds.generate_state(1, np.uint64).astype(np.uint64)
        fresh = not feasible and run > 0
        now.set(random_fit(compiled, np.random.default_rng(seeds)) if fresh else Placement(best_place, best_degree))
        try:
            for done in range(0, steps, chunk):
                if options.remaining <= 0:
                    return Placement(best_place, best_degree), best, "time_limit"
                temperature = parameters.hot * cooling**done
                count = min(chunk, steps - done)
                best = anneal(tables, now, old, best_place, best_degree, best, random, count, temperature, cooling)
        except KeyboardInterrupt:
            return Placement(best_place, best_degree), best, "interrupted"
        if options.progress is not None and best < INFEASIBLE:
            options.progress(options.elapsed, best * tables.scale, None)
    return Placement(best_place, best_degree), best, "finished"


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
        tables = tables_of(compiled)
        starts = [first_fit(compiled)]
        for given in (options.start, problem.current):
            if given is not None:
                known = placement_of(compiled, given)
                starts += [known] if known is not None else []
        if problem.network.classes:
            starts += zone_fits(compiled)
        if crowded(compiled):
            counts, stopped = annealed_crowd(compiled, tables, starts, options, parameters)
            return Placement.of_counts(compiled, counts).answer(compiled, stopped)
        placement, _, stopped = annealed(compiled, tables, starts, options, parameters)
        return placement.answer(compiled, stopped)


def energies(compiled: Compiled, counts: Ints) -> Floats:
    """The five metrics of a deployment as the kernels see them (availability as −ln); for tests and methods."""
    tables = tables_of(compiled)
    state = State.empty(tables)
    state.set(Placement.of_counts(compiled, counts))
    evaluate(tables, state)
    return state.values[:BROKEN]
