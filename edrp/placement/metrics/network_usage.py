"""Network usage: tuples in flight between nodes, Σ rate × delay (Pietzuch et al., ICDE 2006)."""

from __future__ import annotations

import math

import numpy as np

from edrp.core.program import Linear
from edrp.placement.deployment import Deployment
from edrp.placement.metrics.base import Expressions, MeasuredProblem, PlainMetric


class NetworkUsage(PlainMetric):
    """Tuples on the way between nodes at any moment."""

    name = "network_usage"
    unit = "tuples"

    def evaluate(self, problem: MeasuredProblem, deployment: Deployment) -> float:
        """Σ over streams and pairs of replicas of the pair's rate × its delay."""
        total = 0.0
        for stream in problem.application.streams:
            senders, receivers = deployment.replicas(stream.source), deployment.replicas(stream.target)
            share = problem.application.rate(stream.source, stream.target) / (senders.total() * receivers.total())
            links = problem.network.links_between(senders, receivers)
            total += share * sum((math.inf if link is None else link.delay) * pairs for link, pairs in links)
        return total

    def linearise(self, expressions: Expressions) -> Linear:
        """The same sum over the pairs of nodes."""
        compiled = expressions.compiled
        delay = np.where(np.isfinite(compiled.delay), compiled.delay, 0.0)
        return expressions.stream_pair_sum(compiled.stream_rate[:, None, None] * delay[None])
