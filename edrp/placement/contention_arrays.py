"""Use of shared resources and capacities of nodes as arrays."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from edrp.core.arrays import Bools, Floats, Ints
from edrp.placement.metrics.peak_load import PEAK_LOAD, PEAK_LOADS, shared_resources


@dataclass(frozen=True, slots=True)
class ContentionArrays:
    """Arrays over operators i, streams e, nodes u and shared resources k, as in `Compiled`; without users k has size 0.

    Attributes
    ----------
    resources : tuple of str, names of the shared resources by index.
    capacity : shape (nodes, shared), units/s; infinite where a node has none, which then nobody asks for.
    replica_use : shape (operators, 1 + maximum replicas, shared), units/s of one of r replicas; 0 for r = 0.
    stream_use : shape (streams, shared), units/s of the senders' nodes if all of a stream goes to other nodes.
    one_to_one : shape (streams,), bool, whether a stream is partitioned "forward".
    """

    resources: tuple[str, ...]
    capacity: Floats
    replica_use: Floats
    stream_use: Floats
    one_to_one: Bools

    @property
    def metrics(self) -> tuple[str, ...]:
        """Names of the metrics: of any resource, then of each; none without shared resources."""
        return (PEAK_LOAD, *(f"{PEAK_LOADS}.{name}" for name in self.resources)) if self.resources else ()

    def ceiling(self, candidate: Bools, max_replicas: Ints) -> Floats:
        """An upper bound on the peak load of each resource, shape (shared,)."""
        if not self.resources:
            return np.zeros(0)
        replicas = np.arange(self.replica_use.shape[1])[None, :, None]
        allowed = replicas <= max_replicas[:, None, None]
        most = np.where(allowed, self.replica_use * replicas, 0.0).max(axis=1).sum(axis=0) + self.stream_use.sum(axis=0)
        least = self.capacity[candidate.any(axis=0)].min(axis=0)
        return np.asarray(np.divide(most, least, out=np.zeros(len(most)), where=np.isfinite(least)))

    def demands(self, counts: Ints, source: Ints, target: Ints) -> Floats:
        """Units/s asked for with `counts` replicas per operator and node, shape (nodes, shared)."""
        degree = counts.sum(axis=1)
        demand = np.einsum("iu,ik->uk", counts, self.replica_use[np.arange(degree.size), degree])
        for e, (i, j) in enumerate(zip(source, target, strict=True)):
            if self.one_to_one[e]:
                leaving = np.maximum(counts[i] - counts[j], 0) / degree[i]
            else:
                leaving = counts[i] / degree[i] * (1 - counts[j] / degree[j])
            demand += leaving[:, None] * self.stream_use[e]
        return np.asarray(demand)


def contention_arrays(application: Any, operators: list[Any], nodes: list[Any], load: Floats) -> ContentionArrays:
    """Arrays over operators with their loads, and nodes, in the order of the compiled problem."""
    resources = shared_resources(application)
    sizes = 1 + max(operator.max_replicas for operator in operators)
    use = np.zeros((len(operators), sizes, len(resources)))
    for k, name in enumerate(resources):
        for i, operator in enumerate(operators):
            usage = operator.usage.get(name)
            if usage is not None:
                use[i, 1:, k] = usage.per_replica + usage.per_tuple * load[i] / np.arange(1, sizes)
    sent = [[s.usage.get(name, 0.0) * application.rate(s.source, s.target) for name in resources] for s in application.streams]
    capacity = [[node.capacity.get(name, np.inf) for name in resources] for node in nodes]
    return ContentionArrays(
        resources=resources,
        capacity=np.array(capacity, float).reshape(len(nodes), len(resources)),
        replica_use=use,
        stream_use=np.array(sent, float).reshape(len(application.streams), len(resources)),
        one_to_one=np.array([stream.partitioning == "forward" for stream in application.streams], bool),
    )
