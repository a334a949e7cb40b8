"""Supervisors in use: the share of nodes that run anything (latency-aware placement, section 4.2)."""

from __future__ import annotations

from edrp.core.program import Linear
from edrp.placement.deployment import Deployment
from edrp.placement.metrics.base import Expressions, MeasuredProblem, PlainMetric


class Supervisors(PlainMetric):
    """Nodes in use over nodes of the network."""

    name = "supervisors"
    unit = "1"

    def evaluate(self, problem: MeasuredProblem, deployment: Deployment) -> float:
        """|supervisors in x| / |supervisors|."""
        return len({node for operator in deployment for node in deployment[operator]}) / len(problem.network.nodes)

    def linearise(self, expressions: Expressions) -> Linear:
        """The same, over the columns that say which nodes are in use."""
        return Linear.of(expressions.node_in_use(), 1 / len(expressions.compiled.problem.network.nodes))
