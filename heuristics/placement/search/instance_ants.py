"""The ant system (latency-aware placement, 4.3.2): placements drawn instance by instance, by pheromone and by what is near."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from edrp.core.arrays import Floats, Ints
from edrp.core.kernel_helpers import below, copy_vector, uniform
from edrp.core.kernels import inlined, inner_loop
from edrp.heuristics.placement.search.acceptance import COMPARED, NOISE, OBJECTIVE, VIOLATIONS
from edrp.heuristics.placement.search.instance_arrays import InstanceArrays, InstanceSearch, InstanceState
from edrp.heuristics.placement.search.instance_state import clear, evaluate, fits, put
from edrp.heuristics.placement.search.method_parameters import ColonyParameters

PENALTY = 10_000.0
"""Score of one violation (4.3.2)."""

MIN_SCORE = 1e-6
"""Lower bound on an ant's score in the formula of its deposit, so that this is finite."""


CONSTRUCTED, STOOD = range(2)
"""Indices of `InstanceSearch.progress`: placements constructed, and iterations for which the best one has stood."""


class InstancePheromone(NamedTuple):
    """Pheromone between instances p and nodes u, and the constants of eqs. 2 to 5.

    `trail[p, u]` is 𝒯 of eq. 4, `fresh[p, u]` what the ants of an iteration add to it. `pull` is `trail` to the power of
    α (`power`), `prior[k]` the value of eq. 3 to the power of β where k of its doublings are left after halvings. `minimum` is
    p_m, `elitist` how often the best placement deposits, `restricted` whether ants choose among nodes that still fit.
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
    minimum: float
    elitist: float
    restricted: bool
    ants: int

    @classmethod
    def of(cls, tables: InstanceArrays, parameters: ColonyParameters) -> InstancePheromone:
        """Pheromone before the first ant."""
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
            minimum=parameters.minimum_pheromone,
            elitist=parameters.elitist_deposits if repaired else 0.0,
            restricted=repaired and relative_load(tables) >= parameters.restrict_above,
            ants=parameters.ants,
        )


def relative_load(tables: InstanceArrays) -> float:
    """The load of the scarcest resource: what all instances need of it, as a share of what all nodes have."""
    needed = tables.demand[tables.operator].sum(axis=0)
    usable = tables.limit.sum(axis=0)
    return float(np.divide(needed, usable, out=np.zeros_like(needed), where=needed > 0).max(initial=0.0))


@inlined
def prior(t: InstanceArrays, s: InstanceState, o: int, u: int) -> int:
    """Index of eq. 3 in `InstancePheromone.prior`: one up next to any instance and next to a neighbour, one down per overload."""
    doublings = t.demand.shape[1]
    if s.total[u] > 0:
        doublings += 1
        for k in range(t.partner_start[o], t.partner_start[o + 1]):
            if s.number[t.partner[k], u] > 0:
                doublings += 1
                break
    for m in range(t.demand.shape[1]):
        doublings -= s.used[u, m] + t.demand[o, m] > t.limit[u, m]
    return doublings


@inlined
def weigh(t: InstanceArrays, s: InstanceState, f: InstancePheromone, p: int, only_fitting: bool) -> float:
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
def construct(t: InstanceArrays, s: InstanceState, f: InstancePheromone, random: np.ndarray) -> None:
    """Let one ant construct a placement: all instances in random order, each on a node drawn by eq. 2."""
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
    evaluate(t, s, COMPARED)


@inlined
def deposit(f: InstancePheromone, target: np.ndarray, place: np.ndarray, score: float, times: float) -> None:
    """Deposit the pheromone of one placement (eq. 5), so many times."""
    amount = times * f.deposit / max(score, MIN_SCORE)
    for p in range(place.size):
        target[p, place[p]] += amount


@inlined
def evaporate(f: InstancePheromone) -> None:
    """Let pheromone evaporate, and add what the ants of the iteration have deposited (eq. 4)."""
    for p in range(f.trail.shape[0]):
        for u in range(f.trail.shape[1]):
            f.trail[p, u] = max(f.persistence * f.trail[p, u] + f.fresh[p, u], f.minimum)
            f.fresh[p, u] = 0.0


@inlined
def combined(value: np.ndarray) -> float:
    """The score S_k of eq. 5."""
    return float(value[OBJECTIVE] + PENALTY * value[VIOLATIONS])


@inner_loop
def deposit_current(f: InstancePheromone, place: np.ndarray, value: np.ndarray, times: float) -> None:
    """Let a placement deposit pheromone before the first ant."""
    deposit(f, f.trail, place, combined(value), times)


@inner_loop
def run_ants(search: InstanceSearch, f: InstancePheromone, ants: int, stagnation: int) -> bool:
    """Let so many more ants construct placements; whether the best one has now stood for `stagnation` iterations."""
    t, s, progress = search.arrays, search.now, search.progress
    for _ in range(ants):
        if progress[CONSTRUCTED] % f.ants == 0:
            progress[STOOD] += 1
            for p in range(f.trail.shape[0]):
                for u in range(f.trail.shape[1]):
                    f.pull[p, u] = f.trail[p, u] if f.power == 1.0 else f.trail[p, u] ** f.power
        construct(t, s, f, search.random)
        progress[CONSTRUCTED] += 1
        deposit(f, f.fresh, s.place, combined(s.value), 1.0)
        if combined(s.value) < combined(search.best_value) - NOISE:
            copy_vector(s.place, search.best)
            copy_vector(s.value, search.best_value)
            progress[STOOD] = 0
        if progress[CONSTRUCTED] % f.ants == 0:
            deposit(f, f.fresh, search.best, combined(search.best_value), f.elitist)
            evaporate(f)
            if progress[STOOD] >= stagnation:
                return True
    return False
