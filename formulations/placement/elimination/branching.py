"""Branching: a box that stays open is split by the replicas of an operator, or else by its nodes."""

from __future__ import annotations

import numpy as np

from edrp.formulations.placement.elimination.box import Box, unit_costs
from edrp.formulations.placement.elimination.model import EliminationModel
from edrp.formulations.placement.elimination.paths import operator_flow

MIN_REPLICA_SHARE = 0.01
"""Share of the gap from which on what a decision about replicas may close is worth a split."""


def undecided_replicas(model: EliminationModel, box: Box, reach: float) -> tuple[int, int] | None:
    """The operator whose replicas the relaxation decides worst, and a number: it has at most that many, or more.

    The relaxation counts the latency of an operator by the flow through it. One more replica saves all of what it saves where
    the operator is on the slowest path, and nothing elsewhere; the relaxation takes it for something between, and decides worst
    where that is about what the replica costs. None if no number that is left open matters.
    """
    alpha, money = unit_costs(model, box.prices)
    seconds = np.where(np.isfinite(box.latency), box.latency, 0.0)
    several = np.isfinite(box.latency[:, :-1]) & np.isfinite(box.latency[:, 1:])
    fastest = np.where(box.alive, model.speedup, 0.0).max(axis=1)[:, None]
    saved = np.where(several, np.maximum(0.0, -alpha * np.diff(seconds) / fastest), 0.0)
    cost = money * model.replica_cost[:, None]
    counted = operator_flow(model, box.prices.flow)[:, None] * saved
    larger = np.maximum(counted, cost)
    doubt = np.divide(np.minimum(counted, cost), larger, out=np.zeros_like(saved), where=larger > 0)
    loss = doubt * np.minimum(saved - cost, cost)
    i, replicas = np.unravel_index(np.argmax(loss), loss.shape)
    return (int(i), int(replicas)) if loss[i, replicas] > MIN_REPLICA_SHARE * (reach - box.bound) else None


def split_replicas(box: Box, i: int, most: int) -> list[Box]:
    """Split into at most `most` replicas of operator i, and more."""
    children = []
    replicas = np.arange(box.latency.shape[1])
    for excluded in (replicas > most, replicas <= most):
        child = box.copy()
        child.latency = box.latency.copy()
        child.latency[i, excluded] = np.inf
        hopeless = np.zeros_like(box.anchor)
        hopeless[i] = np.append(excluded[1:], excluded[2:].all())  # the last seat is that of two replicas and more
        child.drop(hopeless)
        children.append(child)
    return children


def split_nodes(model: EliminationModel, box: Box) -> list[Box]:
    """Split the operator whose anchors lie farthest apart into two groups around the two farthest.

    One child may not use the second group at all, the other must use it. Empty when every operator has a
    single anchor left.
    """
    anchors = box.anchors
    spread = np.zeros(model.operators)
    for i in range(model.operators):
        nodes = np.flatnonzero(anchors[i])
        busy = 1.0 + 0.1 * (len(model.incoming[i]) + len(model.outgoing[i]))
        if len(nodes) > 1:
            spread[i] = busy * max(float(model.delay[np.ix_(nodes, nodes)].max()), 1e-12)
    if not spread.any():
        return []
    i = int(np.argmax(spread))
    nodes = np.flatnonzero(anchors[i])
    delays = model.delay[np.ix_(nodes, nodes)]
    a, b = np.unravel_index(np.argmax(delays), delays.shape)
    near_b = delays[:, b] < delays[:, a]
    near_b[b], near_b[a] = True, False
    group = np.zeros(model.nodes, bool)
    group[nodes[near_b]] = True
    without, within = box.copy(), box.copy()
    without.alive[i] &= ~group
    without.anchor[i] &= ~group[:, None]
    within.anchor[i] &= group[:, None]
    if box.most_replicas[i] == 1:
        within.alive[i] &= group
    return [without, within]
