"""Repair of a running deployment with few moves: a start for methods, and the plan of last resort."""

from __future__ import annotations

import numpy as np

from edrp.core.arrays import Floats, Ints
from edrp.core.tolerances import LIMIT_SLACK
from edrp.placement.compilation import compile_problem
from edrp.placement.compiled import Compiled
from edrp.placement.deployment import Deployment
from edrp.placement.latency_aware import LatencyAwareProblem


def patched(problem: LatencyAwareProblem, running: Deployment) -> Deployment | None:
    """Move only what has to: instances that lost their node or may not be there, and as many as overload a node.

    From an overloaded node those leave first whose state is least. Each goes to the node with room that runs most of its
    neighbours; where none has room, simple rules do not help, which is None.

    Parameters
    ----------
    problem
        As it is now.
    running
        May name nodes and operators that are no more, and lack some.

    Examples
    --------
    >>> operators = [{"name": "read", "resources": {"cpu": 0.6}}, {"name": "write", "resources": {"cpu": 0.2}}]
    >>> nodes = [{"name": "a", "resources": {"cpu": 1.0}}, {"name": "b", "resources": {"cpu": 1.0}}]
    >>> problem = LatencyAwareProblem(application={"operators": operators}, network={"nodes": nodes})
    >>> patched(problem, Deployment({"read": ["b"], "write": ["vanished"]}))["write"]
    ('b',)
    """
    compiled = compile_problem(problem)
    counts = _allowed(compiled, running)
    room = compiled.capacity * (1 + LIMIT_SLACK) - counts.T @ compiled.demand
    _unload(compiled, counts, room)
    return compiled.deployment(counts) if _fill(compiled, counts, room) else None


def _allowed(compiled: Compiled, running: Deployment) -> Ints:
    """Instances where they run and still may, shape (operators, nodes)."""
    index = {name: u for u, name in enumerate(compiled.nodes)}
    counts = np.zeros(compiled.candidate.shape, np.int64)
    for i, name in enumerate(compiled.operators):
        for node in running.get(name, ()):
            u = index.get(node)
            if u is not None and compiled.candidate[i, u] and counts[i].sum() < compiled.max_replicas[i]:
                counts[i, u] += 1
    return counts


def _unload(compiled: Compiled, counts: Ints, room: Floats) -> None:
    """Take instances off overloaded nodes until the rest fits."""
    state = compiled.state_size / compiled.max_replicas
    for u in np.flatnonzero((room < 0).any(axis=1)):
        while (short := room[u] < 0).any():
            helps = (counts[:, u] > 0) & (compiled.demand[:, short] > 0).any(axis=1)
            i = int(np.argmin(np.where(helps, state, np.inf)))
            counts[i, u] -= 1
            room[u] += compiled.demand[i]


def _fill(compiled: Compiled, counts: Ints, room: Floats) -> bool:
    """Start what is missing, the neediest operators first; False where one finds no room."""
    neighbours: list[list[int]] = [[] for _ in compiled.operators]
    for i, j in zip(compiled.stream_source, compiled.stream_target, strict=True):
        neighbours[i].append(int(j))
        neighbours[j].append(int(i))
    largest_capacity = np.maximum(np.where(np.isfinite(compiled.capacity), compiled.capacity, 0.0).max(axis=0), 1e-300)
    for i in np.argsort(-(compiled.demand / largest_capacity).max(axis=1, initial=0.0), kind="stable"):
        for _ in range(int(compiled.max_replicas[i] - counts[i].sum())):
            fits = compiled.candidate[i] & (room >= compiled.demand[i]).all(axis=1)
            if not fits.any():
                return False
            worth = counts[neighbours[i]].sum(axis=0) + 0.5 * counts.any(axis=0)
            u = int(np.argmax(np.where(fits, worth, -1.0)))
            counts[i, u] += 1
            room[u] -= compiled.demand[i]
    return True
