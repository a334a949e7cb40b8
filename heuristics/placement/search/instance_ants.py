"""The ant system (latency-aware placement, 4.3.2): placements drawn instance by instance, by pheromone and by what is near."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from edrp.core.arrays import Floats, Ints
from edrp.core.kernels import inlined, inner_loop
from edrp.heuristics.placement.kernel_helpers import below, copy_vector, uniform
from edrp.heuristics.placement.search.acceptance import NOISE, OBJECTIVE, VIOLATIONS
from edrp.heuristics.placement.search.instance_arrays import ScoreState, ScoreTables
from edrp.heuristics.placement.search.instance_state import clear, fits, put, settle
from edrp.heuristics.placement.search.method_parameters import ColonyParameters

PENALTY = 10_000.0
"""Score of one violation (4.3.2)."""

LEAST_SCORE = 1e-6
"""Of an ant, so that what it deposits is finite."""


class Pheromone(NamedTuple):
    """Trails between instances p and nodes u, and the constants of eqs. 2 to 5.

    `trail[p, u]` is 𝒯 of eq. 4, `fresh[p, u]` what the ants of an iteration add to it. `pull` is `trail` to the power of
    α, `prior[k]` the value of eq. 3 to the power of β where k doublings are left of it, `most` being the most halvings.
    `chance` (nodes,) and `order` (instances,) are scratch.
    """

    trail: Floats
    fresh: Floats
    pull: Floats
    prior: Floats
    chance: Floats
    order: Ints
    power: float
    persistence: float
    deposit: float
    least: float
    elitist: float
    restricted: bool
    ants: int

    @classmethod
    def of(cls, tables: ScoreTables, parameters: ColonyParameters) -> Pheromone:
        """Before the first ant."""
        shape = (tables.operator.size, tables.limit.shape[0])
        halvings = np.arange(-tables.limit.shape[1], 3)
        repaired = parameters.rule == "repaired"
        return cls(
            trail=np.full(shape, parameters.initial_pheromone),
            fresh=np.zeros(shape),
            pull=np.zeros(shape),
            prior=2.0 ** (parameters.heuristic_power * halvings),
            chance=np.zeros(shape[1]),
            order=np.arange(shape[0]),
            power=parameters.pheromone_power,
            persistence=parameters.persistence,
            deposit=parameters.deposit,
            least=parameters.minimum_pheromone,
            elitist=parameters.elitist_deposits if repaired else 0.0,
            restricted=repaired and load_of(tables) >= parameters.restrict_above,
            ants=parameters.ants,
        )


def load_of(tables: ScoreTables) -> float:
    """What all instances need, as a share of what all nodes have, of the scarcest resource."""
    needed = tables.demand[tables.operator].sum(axis=0)
    usable = tables.limit.sum(axis=0)
    return float(np.divide(needed, usable, out=np.zeros_like(needed), where=needed > 0).max(initial=0.0))


@inlined
def prior(t: ScoreTables, s: ScoreState, o: int, u: int) -> int:
    """Place in `Pheromone.prior` of eq. 3: doubled beside any instance, and beside a neighbour; halved per overload."""
    doublings = t.demand.shape[1]
    if s.crowd[u] > 0:
        doublings += 1
        for k in range(t.partner_start[o], t.partner_start[o + 1]):
            if s.number[t.partner[k], u] > 0:
                doublings += 1
                break
    for m in range(t.demand.shape[1]):
        doublings -= s.used[u, m] + t.demand[o, m] > t.limit[u, m]
    return doublings


@inlined
def weigh(t: ScoreTables, s: ScoreState, f: Pheromone, p: int, only_fitting: bool) -> float:
    """The numerators of eq. 2 for instance p into `chance`, summed up from node to node; their sum."""
    o = t.operator[p]
    total = 0.0
    for k in range(t.node_start[o], t.node_start[o + 1]):
        u = t.node_list[k]
        if not only_fitting or fits(t, s, o, u):
            total += f.pull[p, u] * f.prior[prior(t, s, o, u)]
        f.chance[k - t.node_start[o]] = total
    return total


@inlined
def walk(t: ScoreTables, s: ScoreState, f: Pheromone, random: np.ndarray) -> None:
    """One ant: all instances in random order, each to a node drawn by eq. 2."""
    clear(s)
    for k in range(f.order.size):
        other = k + below(random, f.order.size - k)
        f.order[k], f.order[other] = f.order[other], f.order[k]
        p = f.order[k]
        total = weigh(t, s, f, p, True) if f.restricted else 0.0
        if total == 0:
            total = weigh(t, s, f, p, False)
        drawn = uniform(random) * total
        start, end = t.node_start[t.operator[p]], t.node_start[t.operator[p] + 1]
        j = 0
        while j < end - start - 1 and f.chance[j] <= drawn:
            j += 1
        put(t, s, p, t.node_list[start + j])
    settle(t, s, 1.0)


@inlined
def leave(f: Pheromone, target: np.ndarray, place: np.ndarray, score: float, times: float) -> None:
    """The pheromone of one placement (eq. 5), so many times."""
    amount = times * f.deposit / max(score, LEAST_SCORE)
    for p in range(place.size):
        target[p, place[p]] += amount


@inlined
def evaporate(f: Pheromone) -> None:
    """Eq. 4."""
    for p in range(f.trail.shape[0]):
        for u in range(f.trail.shape[1]):
            f.trail[p, u] = max(f.persistence * f.trail[p, u] + f.fresh[p, u], f.least)
            f.fresh[p, u] = 0.0


@inlined
def combined(value: np.ndarray) -> float:
    """S_k of eq. 5."""
    return float(value[OBJECTIVE] + PENALTY * value[VIOLATIONS])


@inner_loop
def mark(f: Pheromone, place: np.ndarray, value: np.ndarray, times: float) -> None:
    """Let a placement deposit pheromone before the first ant."""
    leave(f, f.trail, place, combined(value), times)


@inner_loop
def forage(
    t: ScoreTables,
    s: ScoreState,
    f: Pheromone,
    best: np.ndarray,
    best_value: np.ndarray,
    random: np.ndarray,
    colony: np.ndarray,
    ants: int,
    stagnation: int,
) -> bool:
    """Let so many more ants walk; whether the best has now stood for `stagnation` iterations.

    `colony` holds how many have walked, and for how many iterations the best has stood.
    """
    for _ in range(ants):
        if colony[0] % f.ants == 0:
            colony[1] += 1
            for p in range(f.trail.shape[0]):
                for u in range(f.trail.shape[1]):
                    f.pull[p, u] = f.trail[p, u] if f.power == 1.0 else f.trail[p, u] ** f.power
        walk(t, s, f, random)
        colony[0] += 1
        leave(f, f.fresh, s.place, combined(s.value), 1.0)
        if combined(s.value) < combined(best_value) - NOISE:
            copy_vector(s.place, best)
            copy_vector(s.value, best_value)
            colony[1] = 0
        if colony[0] % f.ants == 0:
            leave(f, f.fresh, best, combined(best_value), f.elitist)
            evaporate(f)
            if colony[1] >= stagnation:
                return True
    return False
