"""The ant system (latency-aware placement, 4.3.2) over deployments with replicas: ants draw how many, then where.

Numbers of replicas carry pheromone as nodes do. The prior of a number is the operator's own share of the objective. The prior
of a node is eq. 3, with two differences: the doubling next to a neighbour decreases with the delay to it, and a node in use is
better only where nodes may fail, because nothing else in EDRP counts nodes.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from edrp.core.arrays import Floats, Ints
from edrp.heuristics.placement.problem_arrays import PlacementArrays
from edrp.heuristics.placement.search.search_engine import OVERLOAD_RULES, ColonyParameters


class Pheromone(NamedTuple):
    """Pheromone between operators and nodes, and on numbers of replicas, and the constants of eqs. 2 to 5.

    Arrays of `run_deployment_ants` (edrp/native/heuristics/placement/deployment_ants.cpp).

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
            overload_rule=OVERLOAD_RULES[parameters.rule],
        )


def size_prior(arrays: PlacementArrays) -> Floats:
    """Prior of each number of replicas: the minimum share of the objective over that number's; 0 for none."""
    sizes = np.arange(arrays.latency.shape[1])
    stable = np.isfinite(arrays.latency)
    latency = np.where(stable, arrays.latency, 0.0)
    price = arrays.weights[1] * arrays.replica_cost[:, None] * sizes + arrays.weights[0] * latency
    minimum = price.min(axis=1, keepdims=True, where=stable, initial=np.inf)
    return np.where(stable, np.divide(minimum, price, out=np.ones_like(price), where=price > 0), 0.0)
