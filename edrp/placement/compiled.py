"""A problem as flat arrays, which builders, kernels and heuristics see instead of documents."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edrp.core.arrays import Bools, Floats, Ints, Ints32
from edrp.placement.configurations import NO_NODE
from edrp.placement.contention_arrays import ContentionArrays
from edrp.placement.deployment import Deployment
from edrp.placement.link_arrays import LinkArrays
from edrp.placement.problem import PlacementProblem


@dataclass(frozen=True, slots=True)
class Compiled:
    """Arrays over operators i, streams e, nodes u, resources m; operators in topological order.

    Only nodes that some operator may use (or uses now) are kept. Problems of all kinds become the same arrays, whose
    objective is a sum over the metrics of EDRP and peak loads (see `PlacementProblem.edrp_terms`).

    Attributes
    ----------
    operators, nodes, resources : tuple of str
        Names by index.
    stream_source, stream_target, stream_rate : shape (streams,)
        Operator indices and tuples/s; streams in document order.
    load : shape (operators,)
        Tuples/s into each operator.
    min_replicas, max_replicas : shape (operators,)
    candidate : shape (operators, nodes), bool
    latency : shape (operators, 1 + maximum replicas)
        Reference latency in seconds with r replicas; infinite where unstable or r is too small or too large.
    speedup : shape (nodes,)
    replica_cost : shape (operators,)
        Money/h of one replica.
    demand : shape (operators, resources)
        Need of one replica.
    capacity : shape (nodes, resources)
        Infinite where a node has no limit.
    links
        Delay, price and availability of all pairs of nodes, as tables that are made on first use.
    contention
        Use of shared resources.
    node_loss : shape (nodes,)
        −ln of the availability.
    current : shape (operators, nodes) or None
        Replicas now.
    synchronisation_time : float
    state_size, code_size : shape (operators,)
        Bytes.
    spawn_time, store_delay, store_bandwidth : shape (nodes,)
        Seconds, seconds one way, bytes/s (infinite for no limit).
    local_bandwidth : float
        Bytes/s (infinite for no limit).
    storm : bool
        Storm's downtime instead of pause-and-resume.
    instance_paths : bool
        Response time is that of the slowest path through replicas, instead of the slowest pair of every stream in a row.
    weight, limit : dict of str to float
        Objective per unit of each metric's scaled value, and upper limit of the scaled value (infinite for none).
    """

    problem: PlacementProblem
    operators: tuple[str, ...]
    nodes: tuple[str, ...]
    resources: tuple[str, ...]
    stream_source: Ints
    stream_target: Ints
    stream_rate: Floats
    load: Floats
    min_replicas: Ints
    max_replicas: Ints
    candidate: Bools
    latency: Floats
    speedup: Floats
    replica_cost: Floats
    demand: Floats
    capacity: Floats
    links: LinkArrays
    contention: ContentionArrays
    node_loss: Floats
    current: Ints | None
    synchronisation_time: float
    state_size: Floats
    code_size: Floats
    spawn_time: Floats
    store_delay: Floats
    store_bandwidth: Floats
    local_bandwidth: float
    storm: bool
    instance_paths: bool
    weight: dict[str, float]
    limit: dict[str, float]

    @property
    def delay(self) -> Floats:
        """Seconds between nodes, shape (nodes, nodes); infinite without link."""
        return self.links.delay

    @property
    def link_cost(self) -> Floats:
        """Money/h per tuple/s between nodes, shape (nodes, nodes)."""
        return self.links.cost

    @property
    def link_availability(self) -> Floats:
        """Probability that a link works, shape (nodes, nodes)."""
        return self.links.availability

    def counts_metric(self, metric: str) -> bool:
        """Whether a metric has a weight or a limit."""
        return bool(self.weight.get(metric) or np.isfinite(self.limit.get(metric, np.inf)))

    @property
    def contended(self) -> bool:
        """Whether a peak load has a weight or a limit."""
        return any(self.counts_metric(metric) for metric in self.contention.metrics)

    @property
    def forward(self) -> Bools:
        """Which streams lie on paths, shape (streams,): all but those that close a cycle."""
        return np.asarray(self.stream_source < self.stream_target)

    def candidates(self, operator: int) -> Ints:
        """Node indices that may run the operator."""
        return np.flatnonzero(self.candidate[operator])

    def deployment(self, counts: NDArray[Any]) -> Deployment:
        """Name the deployment of so many replicas per operator and node, shape (operators, nodes)."""
        named = {}
        for i, operator in enumerate(self.operators):
            named[operator] = [self.nodes[u] for u in np.flatnonzero(counts[i]) for _ in range(int(counts[i, u]))]
        return Deployment({operator.name: named[operator.name] for operator in self.problem.application.operators})

    def counts(self, deployment: Deployment) -> Ints:
        """Replicas per operator and node of a named deployment, shape (operators, nodes).

        Raises
        ------
        KeyError
            When it names an operator or node that this problem cannot use.
        """
        return count_replicas(deployment, self.operators, self.nodes)

    def members(self, counts: NDArray[Any]) -> list[Ints32]:
        """Configuration of each operator, shape (max_replicas,) padded with -1, from replicas per node."""
        rows = []
        for i, row in enumerate(np.asarray(counts, np.int64)):
            nodes = np.repeat(np.arange(row.size), row)
            padded = np.full(max(int(self.max_replicas[i]), nodes.size), NO_NODE, np.int32)
            padded[: nodes.size] = nodes
            rows.append(padded)
        return rows


def count_replicas(deployment: Deployment, operators: tuple[str, ...], nodes: tuple[str, ...]) -> Ints:
    """Replicas per operator and node of a deployment, shape (operators, nodes).

    Raises
    ------
    KeyError
        When it names none of these operators or nodes.
    """
    index = {name: u for u, name in enumerate(nodes)}
    counts = np.zeros((len(operators), len(nodes)), np.int64)
    for i, operator in enumerate(operators):
        for node in deployment[operator]:
            counts[i, index[node]] += 1
    return counts
