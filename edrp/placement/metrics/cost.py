"""Cost of replicas and of the traffic between them (EDRP, eqs. 2, 4, 8–9)."""

from __future__ import annotations

from edrp.core.program import Linear
from edrp.placement.deployment import Deployment
from edrp.placement.metrics.base import Expressions, MeasuredProblem, PlainMetric


class Cost(PlainMetric):
    """Money per hour."""

    name = "cost"
    unit = "money/h"

    def evaluate(self, problem: MeasuredProblem, deployment: Deployment) -> float:
        """EDRP, eq. 8."""
        application = problem.application
        replicas = sum(self.operator_cost(problem, deployment, operator.name) for operator in application.operators)
        return replicas + sum(self.stream_cost(problem, deployment, s.source, s.target) for s in application.streams)

    def operator_cost(self, problem: MeasuredProblem, deployment: Deployment, operator: str) -> float:
        """EDRP, eq. 2."""
        price: float = problem.application.by_name[operator].replica_cost
        return deployment.degree(operator) * price

    def stream_cost(self, problem: MeasuredProblem, deployment: Deployment, source: str, target: str) -> float:
        """EDRP, eq. 4: the rate is split evenly over all pairs of replicas."""
        senders, receivers = deployment.replicas(source), deployment.replicas(target)
        share = problem.application.rate(source, target) / (senders.total() * receivers.total())
        links = problem.network.links_between(senders, receivers)
        return share * sum(link.cost * pairs for link, pairs in links if link is not None)

    def linearise(self, expressions: Expressions) -> Linear:
        """EDRP, eq. 9."""
        compiled = expressions.compiled
        traffic = compiled.stream_rate[:, None, None] * compiled.link_cost[None]
        return expressions.replica_sum(compiled.replica_cost) + expressions.stream_pair_sum(traffic)
