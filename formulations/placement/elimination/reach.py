"""Least response time before and after an operator on a node: exact elimination under a response limit."""

from __future__ import annotations

import numpy as np

from edrp.core.arrays import Floats
from edrp.core.budget import look
from edrp.formulations.placement.elimination.box import Box
from edrp.formulations.placement.elimination.model import Model


def least_latency(model: Model) -> Floats:
    """Seconds of each operator on each node with its best number of replicas, shape (operators, nodes)."""
    return model.latency.min(axis=1)[:, None] / model.speedup[None]


def tails(model: Model, box: Box) -> Floats:
    """Lower bound on the time from an operator's output on a node to the last sink, shape (operators, nodes).

    Each stream's target takes its best anchor by itself, so paths that share operators may disagree: a
    bound, in O(streams × nodes²).
    """
    anchors = box.anchors
    latency = np.where(anchors, least_latency(model), np.inf)
    tail = np.zeros(anchors.shape)
    for i in range(model.operators - 1, -1, -1):
        for e in model.outgoing[i]:
            look("a proof")
            j = model.target[e]
            nodes = np.flatnonzero(anchors[j])
            onward = (model.delay[:, nodes] + (latency[j] + tail[j])[None, nodes]).min(axis=1)
            tail[i] = np.maximum(tail[i], onward)
    return tail


def eliminate_by_response(model: Model, box: Box) -> None:
    """Remove nodes through which even the fastest path breaks the response limit."""
    limit = model.limits[0]
    if not np.isfinite(limit) or box.empty():
        return
    anchors = box.anchors
    latency = np.where(anchors, least_latency(model), np.inf)
    finish = np.zeros(anchors.shape)
    for j in range(model.operators):
        for e in model.incoming[j]:
            look("a proof")
            nodes = np.flatnonzero(anchors[model.source[e]])
            arrival = (finish[model.source[e], nodes, None] + model.delay[nodes]).min(axis=0)
            finish[j] = np.maximum(finish[j], arrival)
        finish[j] += latency[j]
    box.drop((anchors & (finish + tails(model, box) > limit * (1 + 1e-9)))[:, :, None])
