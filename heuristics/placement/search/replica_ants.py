"""The ant system (latency-aware placement, 4.3.2) over deployments with replicas: ants draw how many, then where.

Numbers of replicas carry pheromone as nodes do. What speaks for a number beforehand is the operator's own share of the
objective. What speaks for a node is eq. 3, with two differences: its doubling beside a neighbour runs down with the delay
to it, and a node in use is better only where nodes may fail, because nothing else in EDRP counts nodes.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from edrp.core.arrays import Bools, Floats, Ints
from edrp.core.kernels import inlined, inner_loop
from edrp.heuristics.placement.kernel_helpers import below, uniform
from edrp.heuristics.placement.problem_arrays import Tables
from edrp.heuristics.placement.replica_state import BREACH, State, fits, occupy
from edrp.heuristics.placement.replica_state import PENALTY as EXCESS
from edrp.heuristics.placement.search.acceptance import NOISE, OBJECTIVE, OVERLOAD, VIOLATIONS
from edrp.heuristics.placement.search.method_parameters import ColonyParameters
from edrp.heuristics.placement.search.replica_memory import Memory, stand

PENALTY = 10_000.0
"""Score of one violation (4.3.2), by the printed rule: where all ants break a limit, none of them is worth following."""

LEAST_SCORE = 1e-6
"""Of an ant, so that what it deposits is finite."""

NEARNESS = 3.0
"""Doublings beside the neighbours; measured, on random layered applications 3 or 4 are better than eq. 3's own 1."""


class Trails(NamedTuple):
    """Pheromone between operators i and nodes u, and on numbers of replicas r, and the constants of eqs. 2 to 5.

    `node[i, u]` and `size[i, r]` are 𝒯 of eq. 4, `new_node` and `new_size` what the ants of an iteration add,
    `node_pull` and `size_pull` the products of eq. 2 as far as they are the same for a whole iteration.
    `size_prior[i, r]` is η of a number. `distance` (nodes, nodes) is the delay over the mean delay. `chance`, `order` and
    `beside` (nodes,) are scratch.
    """

    node: Floats
    size: Floats
    new_node: Floats
    new_size: Floats
    node_pull: Floats
    size_pull: Floats
    size_prior: Floats
    distance: Floats
    chance: Floats
    order: Ints
    beside: Floats
    crowd: Ints
    placed: Bools
    power: float
    prior_power: float
    persistence: float
    deposit: float
    least: float
    elitist: float
    restricted: bool
    shared: bool
    eye: float

    @classmethod
    def of(cls, tables: Tables, parameters: ColonyParameters) -> Trails:
        """Before the first ant."""
        operators, nodes = tables.candidate.shape
        sizes = tables.latency.shape[1]
        repaired = parameters.rule == "repaired"
        initial = parameters.initial_pheromone
        apart = tables.delay[~np.eye(nodes, dtype=bool)]
        mean = float(apart.mean()) if apart.size else 0.0
        return cls(
            node=np.full((operators, nodes), initial),
            size=np.full((operators, sizes), initial),
            new_node=np.zeros((operators, nodes)),
            new_size=np.zeros((operators, sizes)),
            node_pull=np.ones((operators, nodes)),
            size_pull=np.ones((operators, sizes)),
            size_prior=size_prior(tables) ** parameters.heuristic_power,
            distance=tables.delay / mean if mean > 0 else np.zeros_like(tables.delay),
            chance=np.zeros(max(nodes, sizes)),
            order=np.arange(operators),
            beside=np.zeros(nodes),
            crowd=np.zeros(nodes, np.int64),
            placed=np.zeros(operators, np.bool_),
            power=parameters.pheromone_power,
            prior_power=parameters.heuristic_power,
            persistence=parameters.persistence,
            deposit=parameters.deposit,
            least=parameters.minimum_pheromone,
            elitist=parameters.elitist_deposits if repaired else 0.0,
            restricted=repaired and load_of(tables) >= parameters.restrict_above,
            shared=tables.has_loss,
            eye=1.0 if repaired else 0.0,
        )


def size_prior(tables: Tables) -> Floats:
    """How much speaks for each number of replicas: the least share of the objective over that number's; 0 for none."""
    sizes = np.arange(tables.latency.shape[1])
    stable = np.isfinite(tables.latency)
    latency = np.where(stable, tables.latency, 0.0)
    price = tables.weights[1] * tables.replica_cost[:, None] * sizes + tables.weights[0] * latency
    least = price.min(axis=1, keepdims=True, where=stable, initial=np.inf)
    return np.where(stable, np.divide(least, price, out=np.ones_like(price), where=price > 0), 0.0)


def load_of(tables: Tables) -> float:
    """What the fewest replicas need, as a share of what all nodes have, of the scarcest resource."""
    needed = np.isfinite(tables.latency).argmax(axis=1) @ tables.demand
    return float(np.divide(needed, tables.capacity.sum(axis=0), out=np.zeros_like(needed), where=needed > 0).max(initial=0.0))


@inlined
def _look_around(t: Tables, s: State, f: Trails, i: int) -> None:
    """For each node, 1 beside the neighbours of operator i that have a place, 0 at the mean delay from them; 0 without."""
    for u in range(f.beside.size):
        f.beside[u] = 0.0
    count = 0
    for k in range(t.adjacent_start[i], t.adjacent_start[i + 1]):
        sends = t.source[t.adjacent[k]] == i
        j = t.target[t.adjacent[k]] if sends else t.source[t.adjacent[k]]
        for q in range(s.degree[j] if f.placed[j] else 0):
            v = s.place[j, q]
            count += 1
            for u in range(f.beside.size):
                f.beside[u] += 1.0 - (f.distance[u, v] if sends else f.distance[v, u])
    if count > 0:
        for u in range(f.beside.size):
            f.beside[u] /= count


@inlined
def _weigh(t: Tables, s: State, f: Trails, i: int, only_fitting: bool) -> float:
    """The numerators of eq. 2 for one replica of operator i into `chance`, summed up from node to node; their sum."""
    total = 0.0
    start = t.candidate_start[i]
    for k in range(start, t.candidate_start[i + 1]):
        u = t.candidate_list[k]
        if not only_fitting or fits(t, s.used, i, u):
            doublings = NEARNESS * f.beside[u] + (1.0 if f.shared and f.crowd[u] > 0 else 0.0)
            for m in range(t.demand.shape[1]):
                doublings -= s.used[u, m] + t.demand[i, m] > t.capacity[u, m] * (1 + 1e-9)
            total += f.node_pull[i, u] * np.exp2(f.prior_power * doublings)
        f.chance[k - start] = total
    return total


@inlined
def _drawn(f: Trails, random: np.ndarray, total: float, count: int) -> int:
    """A place in `chance`, drawn by its weight."""
    drawn = uniform(random) * total
    k = 0
    while k < count - 1 and f.chance[k] <= drawn:
        k += 1
    return k


@inlined
def _draw_size(t: Tables, f: Trails, random: np.ndarray, i: int) -> int:
    total = 0.0
    for r in range(t.latency.shape[1]):
        total += f.size_pull[i, r]
        f.chance[r] = total
    return _drawn(f, random, total, t.latency.shape[1])


@inlined
def _walk(t: Tables, s: State, f: Trails, random: np.ndarray) -> None:
    """One ant: all operators in random order, each with a number of replicas and a node for each by eq. 2."""
    for u in range(s.used.shape[0]):
        f.crowd[u] = 0
        for m in range(s.used.shape[1]):
            s.used[u, m] = 0.0
    for i in range(f.placed.size):
        f.placed[i] = False
    for k in range(f.order.size):
        other = k + below(random, f.order.size - k)
        f.order[k], f.order[other] = f.order[other], f.order[k]
        i = f.order[k]
        s.degree[i] = _draw_size(t, f, random, i)
        _look_around(t, s, f, i)
        for p in range(s.degree[i]):
            total = _weigh(t, s, f, i, True) if f.restricted else 0.0
            if total == 0:
                total = _weigh(t, s, f, i, False)
            start = t.candidate_start[i]
            u = t.candidate_list[start + _drawn(f, random, total, t.candidate_start[i + 1] - start)]
            s.place[i, p] = u
            occupy(t, s.used, i, u, 1.0)
            f.crowd[u] += 1
        f.placed[i] = True


@inlined
def _leave(f: Trails, place: np.ndarray, degree: np.ndarray, value: np.ndarray, times: float) -> None:
    """The pheromone of one placement (eq. 5), so many times."""
    score = value[OBJECTIVE] + (BREACH if f.eye > 0 else PENALTY) * value[VIOLATIONS] + EXCESS * value[OVERLOAD]
    amount = times * f.deposit / max(score, LEAST_SCORE)
    for i in range(degree.size):
        f.new_size[i, degree[i]] += amount
        for p in range(degree[i]):
            f.new_node[i, place[i, p]] += amount


@inlined
def _evaporate(trail: np.ndarray, fresh: np.ndarray, persistence: float, least: float) -> None:
    """Eq. 4."""
    for i in range(trail.shape[0]):
        for k in range(trail.shape[1]):
            trail[i, k] = max(persistence * trail[i, k] + fresh[i, k], least)
            fresh[i, k] = 0.0


@inner_loop
def refresh_trails(f: Trails, persistence: float) -> None:
    """End an iteration: what is left of the pheromone, what is new, and the products that the next ants use."""
    _evaporate(f.node, f.new_node, persistence, f.least)
    _evaporate(f.size, f.new_size, persistence, f.least)
    for i in range(f.node.shape[0]):
        for u in range(f.node.shape[1]):
            f.node_pull[i, u] = f.node[i, u] ** f.power
        for r in range(f.size.shape[1]):
            f.size_pull[i, r] = f.size_prior[i, r] * f.size[i, r] ** f.power


@inner_loop
def deposit(s: State, m: Memory, f: Trails, times: float) -> None:
    """Let the placement that stands deposit pheromone, before the first ant."""
    _leave(f, s.place, s.degree, m.value, times)


@inner_loop
def march(t: Tables, s: State, m: Memory, f: Trails, random: np.ndarray, ants: int, last: bool) -> bool:
    """Let some ants walk, with `last` to the end of the iteration; whether one found a new best placement.

    New best placements that break as much and are better by rounding only do not count.
    """
    improved = False
    for _ in range(ants):
        violations, objective = m.best[VIOLATIONS], m.best[OBJECTIVE]
        _walk(t, s, f, random)
        stand(t, s, m, f.eye)
        improved |= m.best[VIOLATIONS] < violations or m.best[OBJECTIVE] < objective - NOISE
        _leave(f, s.place, s.degree, m.value, 1.0)
    if last:
        _leave(f, m.best_place, m.best_degree, m.best, f.elitist)
        refresh_trails(f, f.persistence)
    return improved
