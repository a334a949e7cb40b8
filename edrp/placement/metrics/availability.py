"""Availability: the probability that all nodes and links in use are in service at once."""

from __future__ import annotations

import math
from typing import Annotated, Any

import numpy as np
from pydantic import Field

from edrp.core.arrays import Floats
from edrp.core.program import Linear
from edrp.placement.deployment import Deployment
from edrp.placement.metrics.base import IN_USE, Counted, Expressions, MeasuredProblem, PlainMetric

MAX_LOSS = 600.0
"""Largest −ln of an availability that counts: exp(−600) is the smallest limit that is still a number."""


class Availability(PlainMetric):
    """Product of the availabilities of the distinct nodes and links in use (failures independent).

    Larger is better: the limit is a lower one, and weighted sums use −ln(value), which is linear in
    what is used.
    """

    name = "availability"
    unit = "1"
    weight_text, limit_text = "of −ln(availability)", "minimum availability"
    limit_type: Any = Annotated[float, Field(gt=0, lt=1)]
    part = IN_USE

    def evaluate(self, problem: MeasuredProblem, deployment: Deployment) -> float:
        """Each node and each directed link counts once, however many replicas and streams use it."""
        network = problem.network
        nodes = {node for operator in deployment for node in deployment[operator]}
        on_nodes = math.prod(network.by_name[node].availability for node in sorted(nodes))
        if network.perfect_links:
            return on_nodes
        links = {
            (u, v)
            for stream in problem.application.streams
            for u in set(deployment[stream.source])
            for v in set(deployment[stream.target])
            if u != v
        }
        on_links = [network.link(u, v) for u, v in links]
        return on_nodes * math.prod(sorted(link.availability for link in on_links if link))

    def linearise(self, expressions: Expressions) -> Linear:
        """−ln(availability) over the nodes and links in use."""
        compiled = expressions.compiled
        total = Linear.zero()
        if compiled.node_loss.any():
            total += Linear.of(expressions.node_in_use(), compiled.node_loss)
        if (compiled.link_availability < 1).any():
            columns = expressions.link_in_use()
            used = columns >= 0
            total += Linear.of(columns[used], -np.log(compiled.link_availability[used]))
        return total

    def over_counts(self, deployments: Counted) -> Floats:
        """−ln of the availability, shape (deployments, periods)."""
        first, on = deployments.first, deployments.counts > 0
        loss: Floats = on.any(axis=1) @ first.node_loss
        if first.links.lossy:
            nodes = on.shape[2]
            used = np.zeros((len(on), nodes, nodes), bool)
            for i, j in zip(first.stream_source, first.stream_target, strict=True):
                used |= on[:, i, :, None] & on[:, j, None, :]
            used[:, np.arange(nodes), np.arange(nodes)] = False
            lost = -np.log(np.where(first.link_availability > 0, first.link_availability, 1.0))
            loss = loss + (used * lost).sum(axis=(1, 2))
        return np.repeat(loss[:, None], len(deployments.periods), axis=1)

    def ceiling(self, compiled: Any) -> float:
        """−ln of the availability if all nodes and links are used."""
        on_links = -float(np.log(compiled.link_availability).sum()) if compiled.links.lossy else 0.0
        return min(MAX_LOSS, float(compiled.node_loss.sum()) + on_links)

    def zero_because(self, problem: MeasuredProblem) -> str:
        """No node and no link ever fails."""
        network = problem.network
        perfect = network.perfect_links and all(node.availability == 1 for node in network.nodes)
        return "no node and no link has an availability below 1" if perfect else ""

    def scaled(self, value: float) -> float:
        """−ln(value): 0 for always available."""
        return -math.log(value) if value > 0 else math.inf

    def unscaled(self, value: float) -> float:
        """exp(−value)."""
        return math.exp(-value)
