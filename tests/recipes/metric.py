"""Nodes in use over nodes of the network: a metric of the recipe, without kernels."""

from edrp.core.expressions import Expression
from edrp.placement.deployment import Deployment
from edrp.placement.metrics.base import MeasuredProblem
from edrp.placement.metrics.own import MetricModel


class BusyNodes:
    """Share of the nodes that run anything."""

    name, unit = "busy_nodes", "1"
    weight_text, limit_text = "of the share of nodes in use", "maximum share of nodes in use"

    def evaluate(self, problem: MeasuredProblem, deployment: Deployment) -> float:
        """|nodes in x| / |nodes|."""
        return len({node for name in deployment for node in deployment[name]}) / len(problem.network.nodes)

    def linearise(self, model: MetricModel) -> Expression:
        """Of each node, whether any operator runs there."""
        return model.any(model.on, axis=0).sum() / len(model.problem.network.nodes)
