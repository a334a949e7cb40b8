"""Everything about a rescaling that does not change with prices: arrays of its operators, streams, nodes and limits."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from edrp.core.arrays import Bools, Floats, Ints
from edrp.core.tolerances import LIMIT_SLACK
from edrp.formulations.migration.rescale.decomposition.layers import KeyedLayer, keyed_layers
from edrp.formulations.migration.rescale.decomposition.node_sets import NodeSets, node_sets
from edrp.migration.rescale.arrays import KeyedArrays
from edrp.migration.rescale.deployment import possible_replicas

METRICS = ("response_time", "cost", "downtime", "moved_state", "peak_load")
"""Metrics in the order of weights and limits."""

RESPONSE, COST, DOWNTIME, MOVED, PEAK = range(5)
"""Positions of the metrics in `METRICS`."""

FAR = 1e9
"""Seconds between nodes without a link."""


@dataclass(frozen=True, slots=True)
class BoundModel:
    """Arrays over operators i, streams e, nodes u, resources m, shared resources q.

    Attributes
    ----------
    arrays : the problem's.
    sets : states of operators; without ranges of shares at first.
    delay : shape (nodes, nodes), seconds.
    nodes : shape (operators, nodes), candidates that have room for a replica.
    layers : by operator; empty without tasks.
    numbers : numbers of replicas of each operator that can be stable.
    weights, limits : shape (5,), by `METRICS`; limits with the slack of the evaluation, infinite for none.
    room : shape (nodes, resources), with slack.
    price : shape (streams, nodes, nodes), money/h for the whole stream.
    replica_use, tuple_use : shape (operators, shared), of a replica and of the whole load.
    shared : shape (nodes, shared), infinite for no limit.
    up, down : shape (nodes,), seconds per byte that leaves and arrives, through the network card or the store.
    direct, changed_floor : whether state moves from node to node, and the least downtime of a change.
    speeds : distinct speed-ups, ascending.
    """

    arrays: KeyedArrays
    sets: NodeSets
    delay: Floats
    nodes: Bools
    layers: tuple[list[KeyedLayer], ...]
    numbers: tuple[Ints, ...]
    weights: Floats
    limits: Floats
    room: Floats
    price: Floats
    replica_use: Floats
    tuple_use: Floats
    shared: Floats
    up: Floats
    down: Floats
    direct: bool
    changed_floor: float
    speeds: Floats

    def with_ranges(self) -> BoundModel:
        """The model whose states distinguish ranges of shares."""
        return replace(self, sets=node_sets(self.delay, self.price.sum(axis=0)))

    @property
    def moves(self) -> bool:
        """Whether there is a current deployment, from which state moves."""
        return self.arrays.problem.current is not None

    @property
    def hopeless(self) -> bool:
        """Whether some operator can be neither stable nor placed."""
        return any(not numbers.size for numbers in self.numbers) or not self.nodes.any(axis=1).all()

    @property
    def ceiling(self) -> float:
        """Upper bound on the objective of every feasible deployment."""
        bounded = np.where(self.weights > 0, self.limits, 0.0)
        return float(np.sum(np.where(self.weights > 0, self.weights * bounded, 0.0))) * (1 + 1e-9) + 1e-9


def build_bound_model(arrays: KeyedArrays) -> BoundModel:
    """Arrays of a problem.

    Raises
    ------
    ProblemTooLargeError
        Where they would not fit in memory.
    """
    compiled, problem = arrays.compiled, arrays.problem
    operators = range(len(compiled.operators))
    room = compiled.capacity + np.where(np.isfinite(compiled.capacity), LIMIT_SLACK * compiled.capacity, 0.0)
    fits = (compiled.demand[:, None, :] <= room[None]).all(axis=2)
    nodes = compiled.candidate & fits
    delay = np.where(np.isfinite(compiled.delay), compiled.delay, FAR)
    np.fill_diagonal(delay, 0.0)
    price = compiled.link_cost * (1 - np.eye(len(compiled.nodes)))
    keyed = [tasks.count > 0 for tasks in arrays.tasks]
    direct = problem.transfer == "direct"
    described = [arrays.operator(i) for i in operators]
    replica_use, tuple_use, shared = arrays.shared_use()
    limits = np.array([compiled.limit.get(name, np.inf) for name in METRICS])
    return BoundModel(
        arrays=arrays,
        sets=node_sets(delay, price, ranges=False),
        delay=delay,
        nodes=nodes,
        layers=tuple(keyed_layers(arrays, i, nodes[i]) if keyed[i] else [] for i in operators),
        numbers=tuple(np.array(possible_replicas(problem, operator), np.int64) for operator in described),
        weights=np.array([compiled.weight.get(name, 0.0) for name in METRICS]),
        limits=limits * (1 + 2 * LIMIT_SLACK),
        room=room,
        price=compiled.stream_rate[:, None, None] * price[None],
        replica_use=replica_use,
        tuple_use=tuple_use,
        shared=shared,
        up=1 / (arrays.up_rate if direct else compiled.store_bandwidth),
        down=1 / (arrays.down_rate if direct else compiled.store_bandwidth),
        direct=direct,
        changed_floor=_changed_floor(arrays, direct),
        speeds=np.unique(compiled.speedup),
    )


def _changed_floor(arrays: KeyedArrays, direct: bool) -> float:
    """Seconds that any change takes: synchronisation, and the start of a replica where one more is needed."""
    problem, compiled = arrays.problem, arrays.compiled
    if problem.current is None:
        return 0.0
    spawn = 0.0
    for i, name in enumerate(compiled.operators if direct else ()):
        numbers = possible_replicas(problem, arrays.operator(i))
        if numbers and numbers[0] > len(problem.current[name]):
            spawn = max(spawn, float(compiled.spawn_time[compiled.candidate[i]].min()))
    return float(compiled.synchronisation_time) + spawn
