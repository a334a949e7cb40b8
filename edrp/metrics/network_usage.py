"""Network usage: tuples in flight between nodes, Σ rate × delay (Pietzuch et al., ICDE 2006)."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from edrp.metrics.base import Expressions, PlainMetric
from edrp.program import Linear

if TYPE_CHECKING:
    from edrp.documents import Deployment
    from edrp.problems.edrp import EdrpProblem


class NetworkUsage(PlainMetric):
    """Tuples on the way between nodes at any moment."""

    name = "network_usage"
    unit = "tuples"

    def evaluate(self, problem: EdrpProblem, deployment: Deployment) -> float:
        """Σ over streams and pairs of replicas of the pair's rate × its delay."""
        total = 0.0
        for stream in problem.application.streams:
            pairs = list(product(deployment[stream.source], deployment[stream.target]))
            share = problem.application.rate(stream.source, stream.target) / len(pairs)
            total += sum(share * problem.network.delay(u, v) for u, v in pairs)
        return total

    def linearise(self, expressions: Expressions) -> Linear:
        """The same sum over the pairs of nodes."""
        compiled = expressions.compiled
        delay = np.where(np.isfinite(compiled.delay), compiled.delay, 0.0)
        return expressions.stream_pair_sum(compiled.stream_rate[:, None, None] * delay[None])
