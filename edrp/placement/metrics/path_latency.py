"""Path latency: what the network adds to the slowest path through instances (latency-aware placement, sections 4.2 and 5.3)."""

from __future__ import annotations

from edrp.core.program import Linear
from edrp.placement.deployment import Deployment
from edrp.placement.metrics.base import Expressions, MeasuredProblem, PathMetric, PathPart, without_delays

MILLISECONDS = 1e3
"""In a second; the weight of this metric is per millisecond."""

Arrivals = dict[str, dict[str, float]]
"""Seconds from a source to the instances of each operator, by node; instances on one node are equal."""


class PathLatency(PathMetric):
    """Seconds that the links of the slowest path take; streams that close a cycle are left out."""

    name = "path_latency"
    unit = "s"

    def evaluate(self, problem: MeasuredProblem, deployment: Deployment) -> float:
        """The latest arrival at any instance."""
        return max(max(by_node.values()) for by_node in self._arrivals(problem, deployment).values())

    def linearise(self, expressions: Expressions) -> Linear:
        """The latest arrival anywhere, in milliseconds."""
        return expressions.response_time() * MILLISECONDS

    def scaled(self, value: float) -> float:
        """Milliseconds."""
        return value * MILLISECONDS

    def zero_because(self, problem: MeasuredProblem) -> str:
        """No stream waits for the network."""
        return without_delays(problem)

    def critical_path(self, problem: MeasuredProblem, deployment: Deployment) -> tuple[PathPart, ...]:
        """The slowest path through instances: operators with the node of the instance, and the streams between them."""
        arrivals = self._arrivals(problem, deployment)
        before = _predecessors(problem)
        sending = {source for sources in before.values() for source in sources}
        ends = [(name, u) for name in arrivals if name not in sending for u in arrivals[name]]
        operator, node = max(ends, key=lambda end: arrivals[end[0]][end[1]])
        parts = [PathPart(f"{operator} on {node}", 0.0, False)]
        while before[operator]:
            ways = [(source, u, problem.network.delay(u, node)) for source in before[operator] for u in arrivals[source]]
            source, u, seconds = max(ways, key=lambda way: arrivals[way[0]][way[1]] + way[2])
            parts += [PathPart(f"{source} → {operator}", seconds, True), PathPart(f"{source} on {u}", 0.0, False)]
            operator, node = source, u
        return tuple(reversed(parts))

    def _arrivals(self, problem: MeasuredProblem, deployment: Deployment) -> Arrivals:
        before = _predecessors(problem)
        arrivals: Arrivals = {}
        for operator in problem.application.topological_order:
            arrivals[operator] = dict.fromkeys(deployment[operator], 0.0)
            for source in before[operator]:
                for node, seconds in problem.network.latest_arrivals(arrivals[source], arrivals[operator]).items():
                    arrivals[operator][node] = max(arrivals[operator][node], seconds)
        return arrivals


def _predecessors(problem: MeasuredProblem) -> dict[str, list[str]]:
    """Operators with a stream to each operator, without those streams that close a cycle."""
    application = problem.application
    before: dict[str, list[str]] = {name: [] for name in application.topological_order}
    for stream in application.streams:
        if (stream.source, stream.target) not in application.feedback:
            before[stream.target].append(stream.source)
    return before
