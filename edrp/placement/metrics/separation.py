"""Supervisors in use, and which streams and how many of their tuples leave a node (latency-aware placement, section 4.2)."""

from __future__ import annotations

from abc import abstractmethod

import numpy as np

from edrp.core.program import Linear
from edrp.placement.application import StreamGraph
from edrp.placement.deployment import Deployment
from edrp.placement.metrics.base import IN_USE, TRAFFIC, Expressions, MeasuredProblem, PlainMetric, carries_nothing


class Supervisors(PlainMetric):
    """Nodes in use over nodes of the network."""

    name = "supervisors"
    unit = "1"
    part = IN_USE

    def evaluate(self, problem: MeasuredProblem, deployment: Deployment) -> float:
        """|supervisors in x| / |supervisors|."""
        return len({node for operator in deployment for node in deployment[operator]}) / len(problem.network.nodes)

    def linearise(self, expressions: Expressions) -> Linear:
        """The same, over the columns that say which nodes are in use."""
        return Linear.of(expressions.node_in_use(), 1 / len(expressions.compiled.problem.network.nodes))

    def zero_because(self, problem: MeasuredProblem) -> str:
        """It is never 0."""
        return ""


class Separation(PlainMetric):
    """Share of something that streams carry, counted where it goes from one node to another."""

    unit = "1"
    part = TRAFFIC

    @abstractmethod
    def carried(self, application: StreamGraph, degrees: dict[str, int]) -> dict[tuple[str, str], float]:
        """The amount that each stream (source, target) carries, with `degrees` replicas of each operator."""

    def evaluate(self, problem: MeasuredProblem, deployment: Deployment) -> float:
        """The share of the carried amount that goes between nodes; 0 where nothing is carried."""
        carried = self.carried(problem.application, {name: deployment.degree(name) for name in deployment})
        total = sum(carried.values())
        if not total:
            return 0.0
        apart = 0.0
        for (source, target), amount in carried.items():
            senders, receivers = deployment.replicas(source), deployment.replicas(target)
            together = sum(count * receivers[node] for node, count in senders.items())
            apart += amount * (1 - together / (senders.total() * receivers.total()))
        return apart / total

    def linearise(self, expressions: Expressions) -> Linear:
        """The same over pairs of nodes, for operators whose number of replicas is fixed."""
        application = expressions.compiled.problem.application
        carried = self.carried(application, {name: operator.max_replicas for name, operator in application.by_name.items()})
        total = sum(carried.values())
        if not total:
            return Linear.zero()
        shares = np.array([carried[stream.source, stream.target] / total for stream in application.streams])
        apart = 1.0 - np.eye(len(expressions.compiled.nodes))
        return expressions.stream_pair_sum(shares[:, None, None] * apart[None])


class Colocation(Separation):
    """Share of the streams between instances that join different nodes."""

    name = "colocation"

    def carried(self, application: StreamGraph, degrees: dict[str, int]) -> dict[tuple[str, str], float]:
        """Pairs of instances."""
        return {(s.source, s.target): float(degrees[s.source] * degrees[s.target]) for s in application.streams}

    def zero_because(self, problem: MeasuredProblem) -> str:
        """There is nothing to be separated, or nowhere to go."""
        return "" if problem.application.streams and len(problem.network.nodes) > 1 else "no stream can join different nodes"


class Events(Separation):
    """Share of all tuples that go to another node."""

    name = "events"

    def carried(self, application: StreamGraph, degrees: dict[str, int]) -> dict[tuple[str, str], float]:
        """Tuples/s."""
        return {(s.source, s.target): application.rate(s.source, s.target) for s in application.streams}

    def zero_because(self, problem: MeasuredProblem) -> str:
        """No tuples go anywhere."""
        return "no stream carries tuples between nodes" if carries_nothing(problem) else ""
