"""Cost of replicas and of the traffic between them (EDRP, eqs. 2, 4, 8–9), and tuples in flight (Pietzuch et al., ICDE 2006)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from edrp.core.arrays import Floats
from edrp.core.program import Linear
from edrp.placement.deployment import Deployment
from edrp.placement.metrics import base


class Cost(base.PlainMetric):
    """Money per hour."""

    name = "cost"
    unit = "money/h"
    weight_text, limit_text = "w_c", "C_max"
    part = base.TRAFFIC

    def evaluate(self, problem: base.MeasuredProblem, deployment: Deployment) -> float:
        """EDRP, eq. 8."""
        application = problem.application
        replicas = sum(self.operator_cost(problem, deployment, operator.name) for operator in application.operators)
        return replicas + sum(self.stream_cost(problem, deployment, s.source, s.target) for s in application.streams)

    def operator_cost(self, problem: base.MeasuredProblem, deployment: Deployment, operator: str) -> float:
        """EDRP, eq. 2."""
        price: float = problem.application.by_name[operator].replica_cost
        return deployment.degree(operator) * price

    def stream_cost(self, problem: base.MeasuredProblem, deployment: Deployment, source: str, target: str) -> float:
        """EDRP, eq. 4: the rate is split evenly over all pairs of replicas."""
        senders, receivers = deployment.replicas(source), deployment.replicas(target)
        share = problem.application.rate(source, target) / (senders.total() * receivers.total())
        links = problem.network.links_between(senders, receivers)
        return share * sum(link.cost * pairs for link, pairs in links if link is not None)

    def linearise(self, expressions: base.Expressions) -> Linear:
        """EDRP, eq. 9."""
        compiled = expressions.compiled
        traffic = compiled.stream_rate[:, None, None] * compiled.link_cost[None]
        return expressions.replica_sum(compiled.replica_cost) + expressions.stream_pair_sum(traffic)

    def over_counts(self, deployments: base.Counted) -> Floats:
        """EDRP, eq. 8, shape (deployments, periods)."""
        first = deployments.first
        return np.asarray(deployments.sent(first.link_cost) + (deployments.total @ first.replica_cost)[:, None])

    def ceiling(self, compiled: Any) -> float:
        """All replicas, and all tuples over the most expensive link."""
        replicas = float(compiled.replica_cost @ compiled.max_replicas)
        return replicas + float(compiled.stream_rate.sum() * compiled.links.highest_cost)

    def zero_because(self, problem: base.MeasuredProblem) -> str:
        """Neither replicas nor traffic cost anything."""
        network = problem.network
        if any(operator.replica_cost for operator in problem.application.operators):  # type: ignore[attr-defined]
            return ""
        if not any(link.cost for link in (*network.links, *network.classes)):
            return "no operator and no link has a cost"
        return "no operator has a cost, and no stream carries tuples between nodes" if base.carries_nothing(problem) else ""


class NetworkUsage(base.PlainMetric):
    """Tuples on the way between nodes at any moment, Σ rate × delay."""

    name = "network_usage"
    unit = "tuples"
    weight_text, limit_text = "of the tuples in flight", "maximum tuples in flight"
    part = base.TRAFFIC

    def evaluate(self, problem: base.MeasuredProblem, deployment: Deployment) -> float:
        """Σ over streams and pairs of replicas of the pair's rate × its delay."""
        total = 0.0
        for stream in problem.application.streams:
            senders, receivers = deployment.replicas(stream.source), deployment.replicas(stream.target)
            share = problem.application.rate(stream.source, stream.target) / (senders.total() * receivers.total())
            links = problem.network.links_between(senders, receivers)
            total += share * sum((math.inf if link is None else link.delay) * pairs for link, pairs in links)
        return total

    def linearise(self, expressions: base.Expressions) -> Linear:
        """The same sum over the pairs of nodes."""
        compiled = expressions.compiled
        delay = np.where(np.isfinite(compiled.delay), compiled.delay, 0.0)
        return expressions.stream_pair_sum(compiled.stream_rate[:, None, None] * delay[None])

    def over_counts(self, deployments: base.Counted) -> Floats:
        """The same sum, shape (deployments, periods)."""
        return deployments.sent(deployments.delay)

    def ceiling(self, compiled: Any) -> float:
        """All tuples over the slowest link."""
        return float(compiled.stream_rate.sum() * compiled.links.longest_delay)

    def zero_because(self, problem: base.MeasuredProblem) -> str:
        """Nothing is ever on the way."""
        return base.without_delays(problem) or ("no stream carries tuples" if base.carries_nothing(problem) else "")
