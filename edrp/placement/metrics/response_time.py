"""Response time: the mean delay of the critical path (EDRP, eqs. 1, 3, 5–7)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from edrp.core.arrays import Floats
from edrp.core.program import Linear
from edrp.placement.deployment import Deployment
from edrp.placement.metrics.base import Counted, Expressions, MeasuredProblem, PathMetric, PathPart, without_delays


class ResponseTime(PathMetric):
    """Critical-path delay in seconds."""

    name = "response_time"
    unit = "s"
    weight_text, limit_text = "w_r", "R_max"

    def evaluate(self, problem: MeasuredProblem, deployment: Deployment) -> float:
        """EDRP, eq. 5, by longest path over the operators in topological order."""
        return max(self._finish(problem, deployment).values())

    def linearise(self, expressions: Expressions) -> Linear:
        """EDRP, eq. 13."""
        return expressions.response_time()

    def over_counts(self, deployments: Counted) -> Floats:
        """The slowest path (EDRP, eqs. 5–7), with `instance_paths` that through replicas, shape (deployments, periods)."""
        first, on = deployments.first, deployments.counts > 0
        latest, finish = np.zeros(deployments.latency.shape[:2]), list[Any]()  # by operator, and through replicas also by node
        for i in range(on.shape[1]):
            slowness = np.where(on[:, i], 1 / first.speedup, 0.0).max(axis=1)
            latency, streams = deployments.latency[:, :, i] * slowness[:, None], deployments.incoming(i)
            if first.instance_paths:
                arrivals = []
                for v in range(on.shape[2]):
                    ready = np.zeros_like(latest)
                    for e in streams:
                        for u, done in enumerate(finish[first.stream_source[e]]):
                            ready = np.maximum(ready, done + deployments.delay[u, v])
                    arrivals.append(np.where(on[:, i, v, None], ready + latency, -np.inf))
                finish.append(arrivals)
                latest = np.maximum(latest, np.max(arrivals, axis=0))
                continue
            ready = np.zeros_like(latest)
            for e in streams:
                j = first.stream_source[e]
                slowest = np.where(on[:, j, :, None] & on[:, i, None, :], deployments.delay, 0.0).max(axis=(1, 2))
                ready = np.maximum(ready, finish[j] + slowest[:, None])
            finish.append(ready + latency)
            latest = np.maximum(latest, finish[i])
        return latest

    def ceiling(self, compiled: Any) -> float:
        """The slowest stable replicas of all operators in a row, with the longest delay between each two."""
        stable = np.where(np.isfinite(compiled.latency), compiled.latency, 0.0)
        slowest = stable.max(axis=1).sum() / compiled.speedup.min()
        return float(slowest + len(compiled.operators) * compiled.links.longest_delay)

    def zero_because(self, problem: MeasuredProblem) -> str:
        """Neither operators nor streams take any time."""
        timed = any(operator.latency is not None for operator in problem.application.operators)  # type: ignore[attr-defined]
        why = "" if timed else without_delays(problem)
        return why and f"no operator has a latency, and {why}"

    def operator_latency(self, problem: MeasuredProblem, deployment: Deployment, operator: str) -> float:
        """EDRP, eq. 1: the slowest replica's latency, in seconds; infinite when overloaded."""
        model = problem.application.by_name[operator].latency
        if model is None:
            return 0.0
        nodes = deployment[operator]
        reference: float = model.at(problem.application.load(operator) / len(nodes), len(nodes))
        return max(reference / problem.network.by_name[node].speedup for node in set(nodes))

    def stream_delay(self, problem: MeasuredProblem, deployment: Deployment, source: str, target: str) -> float:
        """EDRP, eq. 3: the longest delay between replicas of both ends, in seconds."""
        links = problem.network.links_between(deployment.replicas(source), deployment.replicas(target))
        return max((math.inf if link is None else link.delay for link, _ in links), default=0.0)

    def critical_path(self, problem: MeasuredProblem, deployment: Deployment) -> tuple[PathPart, ...]:
        """The slowest source–sink path, leg by leg (EDRP, eq. 6)."""
        finish = self._finish(problem, deployment)
        operator = max(finish, key=lambda name: finish[name])
        parts = [PathPart(operator, self.operator_latency(problem, deployment, operator), False)]
        incoming: dict[str, list[str]] = {stream.target: [] for stream in problem.application.streams}
        for stream in problem.application.streams:
            if (stream.source, stream.target) not in problem.application.feedback:
                incoming[stream.target].append(stream.source)
        while incoming.get(operator):
            delays = {s: self.stream_delay(problem, deployment, s, operator) for s in incoming[operator]}
            before = max(delays, key=lambda name: finish[name] + delays[name])
            parts.append(PathPart(f"{before} → {operator}", delays[before], True))
            parts.append(PathPart(before, self.operator_latency(problem, deployment, before), False))
            operator = before
        return tuple(reversed(parts))

    def _finish(self, problem: MeasuredProblem, deployment: Deployment) -> dict[str, float]:
        application = problem.application
        ready = dict.fromkeys(application.topological_order, 0.0)
        finish: dict[str, float] = {}
        outgoing: dict[str, list[str]] = {}
        for stream in application.streams:
            if (stream.source, stream.target) not in application.feedback:
                outgoing.setdefault(stream.source, []).append(stream.target)
        for name in application.topological_order:
            finish[name] = ready[name] + self.operator_latency(problem, deployment, name)
            for target in outgoing.get(name, ()):
                arrival = finish[name] + self.stream_delay(problem, deployment, name, target)
                ready[target] = max(ready[target], arrival)
        return finish
