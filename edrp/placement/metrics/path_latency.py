"""Path latency: what the network adds to the slowest path through the operators (latency-aware placement, section 4.2)."""

from __future__ import annotations

from edrp.core.program import Linear
from edrp.placement.deployment import Deployment
from edrp.placement.metrics.base import Expressions, MeasuredProblem
from edrp.placement.metrics.response_time import ResponseTime

MILLISECONDS = 1e3
"""In a second; the weight of this metric is per millisecond."""


class PathLatency(ResponseTime):
    """Seconds that the links of the slowest path take; streams that close a cycle are left out."""

    name = "path_latency"
    unit = "s"

    def operator_latency(self, problem: MeasuredProblem, deployment: Deployment, operator: str) -> float:
        """None: this is about the network."""
        return 0.0

    def linearise(self, expressions: Expressions) -> Linear:
        """The latest arrival anywhere, in milliseconds."""
        return expressions.response_time() * MILLISECONDS

    def scaled(self, value: float) -> float:
        """Milliseconds."""
        return value * MILLISECONDS
