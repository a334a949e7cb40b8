"""Path latency by enumeration: every path through instances, one after the other (latency-aware placement, section 4.2)."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from edrp.placement.deployment import Deployment
from edrp.placement.latency_aware import LatencyAwareProblem

Instance = tuple[str, str]
"""An operator and the node of one of its instances; instances on one node are equal."""


def slowest_instance_path(problem: LatencyAwareProblem, deployment: Deployment) -> float:
    """Seconds on the links of the slowest path that a tuple can take.

    Nothing is remembered between paths, so that the time grows with their number.
    """
    starts = [(operator, node) for operator in deployment for node in deployment[operator]]
    return max(sum(_legs(problem, path)) for start in starts for path in _paths(problem, deployment, (start,)))


def _paths(problem: LatencyAwareProblem, deployment: Deployment, path: tuple[Instance, ...]) -> Iterator[tuple[Instance, ...]]:
    """The path, and all that go on from its end along streams that close no cycle."""
    yield path
    for stream in problem.application.streams:
        if stream.source == path[-1][0] and (stream.source, stream.target) not in problem.application.feedback:
            for node in deployment[stream.target]:
                yield from _paths(problem, deployment, (*path, (stream.target, node)))


def _legs(problem: LatencyAwareProblem, path: tuple[Instance, ...]) -> list[float]:
    nodes = [node for _, node in path]
    return [problem.network.delay(u, v) for u, v in pairwise(nodes)]
