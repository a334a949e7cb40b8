"""Plausible deployments made without a search, as current deployments and as proof that limits can be met."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from edrp.placement.application import Application, Operator
from edrp.placement.deployment import Deployment
from edrp.placement.network import Network

SPARE_SHARE = 0.3
"""Probability that an operator runs one replica more than it needs."""


def near_fit(
    application: Application, network: Network, replicas: Mapping[str, int], random: np.random.Generator, choices: int = 1
) -> Deployment | None:
    """Place operators in topological order, each replica on a node with room near its senders.

    Parameters
    ----------
    application, network
        Operators and nodes, whose resources are plain numbers.

    Returns
    -------
    Deployment or None
        None when some replica finds no room.
    """
    free = {node.name: math.inf if node.resources is None else plain_amount(node.resources) for node in network.nodes}
    chosen: dict[str, list[str]] = {}
    for name in application.topological_order:
        operator = application.by_name[name]
        needed = plain_amount(operator.resources)
        senders = [chosen[stream.source][0] for stream in application.streams if stream.target == name]
        distance = {
            node: max((network.delay(sender, node) for sender in senders), default=0.0) for node in operator.candidates or free
        }
        chosen[name] = []
        for _ in range(replicas[name]):
            pool = sorted((node for node in distance if free[node] >= needed), key=distance.__getitem__)
            if not pool:
                return None
            node = pool[int(random.integers(min(choices, len(pool))))]
            free[node] -= needed
            chosen[name].append(node)
    return Deployment(chosen)


def replicas_for(application: Application, level: float, random: np.random.Generator) -> dict[str, int]:
    """Choose replicas of each operator for `level` times its load, sometimes one more, at most its maximum."""
    has_spare = random.random(len(application.operators)) < SPARE_SHARE
    return {
        operator.name: min(operator.max_replicas, _min_stable(operator, level * application.load(operator.name)) + int(more))
        for operator, more in zip(application.operators, has_spare, strict=True)
    }


def plain_amount(resources: float | dict[str, float]) -> float:
    """Return resources that must be a plain number."""
    if isinstance(resources, dict):
        raise TypeError(f"needs resources as a number, not by name: {', '.join(resources)}")
    return resources


def _min_stable(operator: Operator, load: float) -> int:
    if operator.latency is None:
        return 1
    fewer = range(1, operator.max_replicas)
    return next((count for count in fewer if math.isfinite(operator.latency.at(load / count, count))), operator.max_replicas)
