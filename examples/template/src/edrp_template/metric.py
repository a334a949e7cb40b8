"""A metric of one's own: replicas on the node that has most of them."""

from __future__ import annotations

from collections import Counter

from edrp import Deployment, EdrpProblem, MetricModel
from edrp.core.expressions import Expression


class FullestNode:
    """Replicas on the node that runs most, so that the failure of one node stops as few as possible."""

    name, unit = "fullest_node", "replicas"

    def evaluate(self, problem: EdrpProblem, deployment: Deployment) -> float:
        """The largest number of replicas that a node runs."""
        return float(max(Counter(node for name in deployment for node in deployment[name]).values()))

    def linearise(self, model: MetricModel) -> Expression:
        """Replicas on each node, of which the largest is the value."""
        return model.replicas.sum(axis=0)
