"""The ant system (latency-aware placement, 4.3.2) over deployments with replicas: ants draw how many, then where.

Numbers of replicas carry pheromone as nodes do. The prior of a number is the operator's own share of the objective. The prior
of a node is eq. 3, with two differences: the doubling next to a neighbour decreases with the delay to it, and a node in use is
better only where nodes may fail, because nothing else in EDRP counts nodes.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from edrp.core.arrays import Floats, Ints
from edrp.core.kernel_helpers import below, uniform
from edrp.core.kernels import inlined, inner_loop
from edrp.core.tolerances import LIMIT_SLACK, MIN_ANT_SCORE
from edrp.heuristics.placement.deployment_metrics import BREACH_PENALTY, EXCESS_PENALTY
from edrp.heuristics.placement.deployment_state import shift
from edrp.heuristics.placement.problem_arrays import PlacementArrays
from edrp.heuristics.placement.replica_counts import ReplicaCounts, room, variable
from edrp.heuristics.placement.search.acceptance import OBJECTIVE, OVERLOAD, VIOLATIONS
from edrp.heuristics.placement.search.deployment_memory import DeploymentSearch, adopt
from edrp.heuristics.placement.search.search_engine import OVERLOAD_RULES, ColonyParameters

PAPER_VIOLATION_PENALTY = 10_000.0
"""Score of one violation (4.3.2) by the printed rule."""

NEAR_DOUBLINGS = 3.0
"""Number of doublings of the prior next to neighbours; on random layered applications 3 or 4 are better than 1 as in eq. 3."""


class Pheromone(NamedTuple):
    """Pheromone between operators and nodes, and on numbers of replicas, and the constants of eqs. 2 to 5.

    Attributes
    ----------
    node, size : shapes (operators, nodes) and (operators, sizes); 𝒯 of eq. 4.
    new_node, new_size : what the ants of an iteration add.
    node_pull, size_pull : the products of eq. 2 as far as they are the same for a whole iteration.
    size_prior : η of a number of replicas.
    distance : shape (nodes, nodes); the delay over the mean delay.
    chance, order, nearness, total : scratch; cumulated weights, operators in random order, how near each node is to
        neighbours, and replicas on each node.
    power, prior_power : α and β of eq. 2.
    deposit, minimum : as in `ColonyParameters`.
    restricted : whether ants choose among nodes that still fit.
    shared : whether nodes in use are preferred.
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
    nearness: Floats
    total: Ints
    power: float
    prior_power: float
    deposit: float
    minimum: float
    restricted: bool
    shared: bool
    overload_rule: int

    @classmethod
    def of(cls, arrays: PlacementArrays, parameters: ColonyParameters) -> Pheromone:
        """Create the pheromone before the first ant."""
        operators, nodes = arrays.candidate.shape
        sizes = arrays.latency.shape[1]
        initial = parameters.initial_pheromone
        apart = arrays.delay[~np.eye(nodes, dtype=bool)]
        mean = float(apart.mean()) if apart.size else 0.0
        return cls(
            node=np.full((operators, nodes), initial),
            size=np.full((operators, sizes), initial),
            new_node=np.zeros((operators, nodes)),
            new_size=np.zeros((operators, sizes)),
            node_pull=np.ones((operators, nodes)),
            size_pull=np.ones((operators, sizes)),
            size_prior=size_prior(arrays) ** parameters.heuristic_power,
            distance=arrays.delay / mean if mean > 0 else np.zeros_like(arrays.delay),
            chance=np.zeros(max(nodes, sizes)),
            order=np.arange(operators),
            nearness=np.zeros(nodes),
            total=np.zeros(nodes, np.int64),
            power=parameters.pheromone_power,
            prior_power=parameters.heuristic_power,
            deposit=parameters.deposit,
            minimum=parameters.minimum_pheromone,
            restricted=parameters.rule == "repaired",
            shared=arrays.has_loss,
            overload_rule=OVERLOAD_RULES[parameters.rule].value,
        )


def size_prior(arrays: PlacementArrays) -> Floats:
    """Prior of each number of replicas: the minimum share of the objective over that number's; 0 for none."""
    sizes = np.arange(arrays.latency.shape[1])
    stable = np.isfinite(arrays.latency)
    latency = np.where(stable, arrays.latency, 0.0)
    price = arrays.weights[1] * arrays.replica_cost[:, None] * sizes + arrays.weights[0] * latency
    minimum = price.min(axis=1, keepdims=True, where=stable, initial=np.inf)
    return np.where(stable, np.divide(minimum, price, out=np.ones_like(price), where=price > 0), 0.0)


@inlined
def _average_nearness(t: PlacementArrays, c: ReplicaCounts, f: Pheromone, i: int) -> None:
    """Compute the nearness of each node to the placed neighbours of operator i: 1 on their node, 0 at the mean delay."""
    for u in range(f.nearness.size):
        f.nearness[u] = 0.0
    count = 0
    for k in range(t.adjacent_start[i], t.adjacent_start[i + 1]):
        sends = t.source[t.adjacent[k]] == i
        j = t.target[t.adjacent[k]] if sends else t.source[t.adjacent[k]]
        for b in range(c.number[j]):
            v = c.hosts[j, b]
            count += c.replicas[j, v]
            for u in range(f.nearness.size):
                f.nearness[u] += c.replicas[j, v] * (1.0 - (f.distance[u, v] if sends else f.distance[v, u]))
    if count > 0:
        for u in range(f.nearness.size):
            f.nearness[u] /= count


@inlined
def _weigh(t: PlacementArrays, c: ReplicaCounts, f: Pheromone, i: int, only_fitting: bool) -> float:
    """Write the cumulated numerators of eq. 2 for a replica of operator i to `chance`; return their sum."""
    total = 0.0
    start = t.candidate_start[i]
    for k in range(start, t.candidate_start[i + 1]):
        u = t.candidate_list[k]
        if not only_fitting or room(t.demand, t.capacity, c.used, i, u, variable(1), LIMIT_SLACK) > 0:
            doublings = NEAR_DOUBLINGS * f.nearness[u] + (1.0 if f.shared and f.total[u] > 0 else 0.0)
            for m in range(t.demand.shape[1]):
                doublings -= c.used[u, m] + t.demand[i, m] > t.capacity[u, m] * (1 + LIMIT_SLACK)
            total += f.node_pull[i, u] * np.exp2(f.prior_power * doublings)
        f.chance[k - start] = total
    return total


@inlined
def _drawn(f: Pheromone, random: np.ndarray, total: float, count: int) -> int:
    """Draw an index of `chance` by its weight."""
    drawn = uniform(random) * total
    k = 0
    while k < count - 1 and f.chance[k] <= drawn:
        k += 1
    return k


@inlined
def _draw_size(t: PlacementArrays, f: Pheromone, random: np.ndarray, i: int) -> int:
    total = 0.0
    for r in range(t.latency.shape[1]):
        total += f.size_pull[i, r]
        f.chance[r] = total
    return _drawn(f, random, total, t.latency.shape[1])


@inlined
def _construct(t: PlacementArrays, c: ReplicaCounts, f: Pheromone, random: np.ndarray) -> None:
    """Let one ant construct a deployment: operators in random order, a number of replicas and their nodes drawn by eq. 2."""
    for i in range(c.degree.size):
        for a in range(c.number[i] - 1, -1, -1):
            u = c.hosts[i, a]
            shift(t, c, i, u, variable(-1), c.replicas[i, u])
    for u in range(f.total.size):
        f.total[u] = 0
        for m in range(c.used.shape[1]):
            c.used[u, m] = 0.0
    for k in range(f.order.size):
        other = k + below(random, f.order.size - k)
        f.order[k], f.order[other] = f.order[other], f.order[k]
        i = f.order[k]
        replicas = _draw_size(t, f, random, i)
        _average_nearness(t, c, f, i)
        for _ in range(replicas):
            total = 0.0
            for loose in range(0 if f.restricted else 1, 2):  # among nodes that still fit, then among all
                if total == 0:
                    total = _weigh(t, c, f, i, loose == 0)
            start = t.candidate_start[i]
            u = t.candidate_list[start + _drawn(f, random, total, t.candidate_start[i + 1] - start)]
            shift(t, c, i, variable(-1), u, variable(1))
            f.total[u] += 1


@inner_loop
def deposit(f: Pheromone, counts: np.ndarray, value: np.ndarray, times: float) -> None:
    """Deposit the pheromone of one deployment (eq. 5), `times` times."""
    score = (
        value[OBJECTIVE]
        + (BREACH_PENALTY if f.overload_rule > 0 else PAPER_VIOLATION_PENALTY) * value[VIOLATIONS]
        + EXCESS_PENALTY * value[OVERLOAD]
    )
    amount = times * f.deposit / max(score, MIN_ANT_SCORE)
    for i in range(counts.shape[0]):
        replicas = 0
        for u in range(counts.shape[1]):
            replicas += counts[i, u]
            f.new_node[i, u] += amount * counts[i, u]
        f.new_size[i, replicas] += amount


@inlined
def _evaporate(trail: np.ndarray, fresh: np.ndarray, persistence: float, minimum: float) -> None:
    """Let pheromone evaporate, and add the deposits (eq. 4)."""
    for i in range(trail.shape[0]):
        for k in range(trail.shape[1]):
            trail[i, k] = max(persistence * trail[i, k] + fresh[i, k], minimum)
            fresh[i, k] = 0.0


@inner_loop
def update_pheromone(f: Pheromone, persistence: float) -> None:
    """End an iteration: evaporate, add the deposits, and compute the products that the next ants use."""
    _evaporate(f.node, f.new_node, persistence, f.minimum)
    _evaporate(f.size, f.new_size, persistence, f.minimum)
    for i in range(f.node.shape[0]):
        for u in range(f.node.shape[1]):
            f.node_pull[i, u] = f.node[i, u] ** f.power
        for r in range(f.size.shape[1]):
            f.size_pull[i, r] = f.size_prior[i, r] * f.size[i, r] ** f.power


@inner_loop
def run_ants(search: DeploymentSearch, f: Pheromone, ants: int) -> None:
    """Let some ants construct deployments and deposit pheromone for the next iteration."""
    for _ in range(ants):
        _construct(search.arrays, search.now.counts, f, search.random)
        adopt(search.arrays, search.now, search.memory, f.overload_rule)
        deposit(f, search.now.counts.replicas, search.memory.value, 1.0)
