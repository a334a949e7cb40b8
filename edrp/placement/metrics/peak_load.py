"""Peak load: how much of a shared resource of its node the fullest node is asked for (contention)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from edrp.core.arrays import Floats
from edrp.core.program import Linear
from edrp.placement.deployment import Deployment
from edrp.placement.metrics.base import PEAKS, Counted, Expressions, MeasuredProblem, PlainMetric
from edrp.placement.usage import leaving_share

PEAK_LOAD = "peak_load"
"""Metric over all shared resources; names of those of single ones begin with it, too."""

PEAK_LOADS = "peak_loads"
"""Metrics of single resources are called `peak_loads.<resource>`."""


class PeakLoad(PlainMetric):
    """Largest share of a node's capacity that is asked for, of one shared resource or of any; above 1 replicas slow down."""

    unit = "1"
    part = PEAKS

    def __init__(self, resource: str | None = None) -> None:
        self.resource = resource
        self.name = PEAK_LOAD if resource is None else f"{PEAK_LOADS}.{resource}"

    def evaluate(self, problem: MeasuredProblem, deployment: Deployment) -> float:
        """The maximum over nodes and resources of demand over capacity; infinite where a node that is no candidate has none."""
        nodes = problem.network.by_name
        shares = [
            amount / nodes[node].capacity[resource] if resource in nodes[node].capacity else math.inf
            for node, demand in node_demands(problem, deployment).items()
            for resource, amount in demand.items()
            if amount and self.resource in (None, resource)
        ]
        return max(shares, default=0.0)

    def linearise(self, expressions: Expressions) -> Linear:
        """A column that is at least every node's share."""
        return expressions.peak_load(self.resource)

    def over_counts(self, deployments: Counted) -> Floats:
        """The maximum, shape (deployments, periods)."""
        peaks = np.empty((len(deployments.counts), len(deployments.periods)))
        for number, period in enumerate(deployments.periods):
            contention = period.contention
            single = slice(None) if self.resource is None else contention.resources.index(self.resource)
            for row, counts in enumerate(deployments.counts):
                demands = contention.demands(counts, period.stream_source, period.stream_target)
                shares = np.divide(demands, contention.capacity, out=np.zeros_like(demands), where=demands > 0)
                peaks[row, number] = shares[:, single].max()
        return peaks

    def ceiling(self, compiled: Any) -> float:
        """All replicas and streams on the node that has least."""
        peaks = compiled.contention.ceiling(compiled.candidate, compiled.max_replicas)
        return float(peaks.max() if self.resource is None else peaks[compiled.contention.resources.index(self.resource)])

    def zero_because(self, problem: MeasuredProblem) -> str:
        """Nothing that uses the resource has any load."""
        application, resource = problem.application, self.resource
        asked = [
            usage.at(application.load(operator.name)) if resource in (None, name) else 0.0
            for operator in application.operators
            for name, usage in getattr(operator, "usage", {}).items()
        ]
        asked += [
            per_tuple * application.rate(stream.source, stream.target) if resource in (None, name) else 0.0
            for stream in application.streams
            for name, per_tuple in stream.usage.items()
        ]
        what = "any resource" if resource is None else resource
        return "" if any(asked) else f"no operator and no stream uses {what}: each has a `usage` of 0, or no load"


def node_demands(problem: MeasuredProblem, deployment: Deployment) -> Mapping[str, Mapping[str, float]]:
    """Units per second of each shared resource that replicas ask for, by node in use.

    A replica uses per_replica + per_tuple × its input rate. Tuples that a stream sends to other nodes use the sender's node.
    """
    application = problem.application
    demands: dict[str, dict[str, float]] = {}

    def add(node: str, resource: str, amount: float) -> None:
        on_node = demands.setdefault(node, {})
        on_node[resource] = on_node.get(resource, 0.0) + amount

    for operator in application.operators:
        replicas = deployment.replicas(operator.name)
        rate = application.load(operator.name) / replicas.total()
        for resource, usage in getattr(operator, "usage", {}).items():
            for node, count in replicas.items():
                add(node, resource, count * usage.at(rate))
    for stream in application.streams:
        senders, receivers = deployment.replicas(stream.source), deployment.replicas(stream.target)
        for resource, per_tuple in stream.usage.items():
            sent = per_tuple * application.rate(stream.source, stream.target)
            for node in senders:
                add(node, resource, sent * leaving_share(stream.partitioning, senders, receivers, node))
    return demands


def shared_resources(application: object) -> tuple[str, ...]:
    """Names of the shared resources that operators and streams of an application use, sorted."""
    users = [*getattr(application, "operators", ()), *getattr(application, "streams", ())]
    return tuple(sorted({name for user in users for name in getattr(user, "usage", {})}))
