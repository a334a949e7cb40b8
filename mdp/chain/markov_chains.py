"""Long-run behaviour of finite Markov chains: recurrent classes, periods, stationary distributions.

A chain is its matrix of transition probabilities, shape (k, k), rows summing to 1; states are 0 … k − 1.
"""

from __future__ import annotations

import numpy as np

from edrp.core.arrays import Floats, Ints
from edrp.core.late_imports import csgraph


def recurrent_classes(probabilities: Floats) -> list[Ints]:
    """Find the recurrent classes: sets of states that are never left once entered, and that are connected."""
    linked = probabilities > 0
    classes, label = csgraph.connected_components(linked, connection="strong")
    source, target = np.nonzero(linked)
    transient = set(label[source[label[source] != label[target]]].tolist())
    members = [np.flatnonzero(label == component) for component in range(classes) if component not in transient]
    return sorted(members, key=lambda states: int(states[0]))


def period(probabilities: Floats, state: int) -> int:
    """Period of a state: greatest common divisor of the numbers of steps after which it can recur; 0 if it never can."""
    _, label = csgraph.connected_components(probabilities > 0, connection="strong")
    members = np.flatnonzero(label == label[state])
    linked = probabilities[np.ix_(members, members)] > 0
    order, parent = csgraph.breadth_first_order(linked, 0)
    depth = np.zeros(members.size, dtype=np.int64)
    for state in order[1:]:
        depth[state] = depth[parent[state]] + 1
    source, target = np.nonzero(linked)
    return int(np.gcd.reduce(depth[source] + 1 - depth[target])) if source.size else 0


def stationary(probabilities: Floats) -> Floats:
    """Stationary distribution of a chain in which every state leads to every other, shape (k,).

    State after state is eliminated (Grassmann, Taksar, Heyman 1985), without subtractions: every entry is
    accurate to rounding, however small.
    """
    reduced = probabilities.astype(np.float64)
    size = len(reduced)
    for last in range(size - 1, 0, -1):
        reduced[:last, last] /= reduced[last, :last].sum()
        reduced[:last, :last] += np.outer(reduced[:last, last], reduced[last, :last])
    shares = np.ones(size)
    for state in range(1, size):
        shares[state] = shares[:state] @ reduced[:state, state]
    return np.asarray(shares / shares.sum())


def long_run_shares(probabilities: Floats, start: int) -> Floats:
    """Compute the long-run share of steps that end in each state, from a start, shape (k,).

    Exists for every chain: a periodic one is averaged over its period, and one with several recurrent
    classes falls into each with the probability computed here.

    Examples
    --------
    >>> long_run_shares(np.array([[0, 0.25, 0.75], [0, 1, 0], [0, 0, 1]]), 0).tolist()
    [0.0, 0.25, 0.75]
    """
    shares = np.zeros(len(probabilities))
    closed = recurrent_classes(probabilities)
    for states, reached in zip(closed, _absorbed(probabilities, start, closed), strict=True):
        shares[states] = reached * stationary(probabilities[np.ix_(states, states)])
    return shares


def _absorbed(probabilities: Floats, start: int, closed: list[Ints]) -> Floats:
    """Compute the probabilities of ending in each recurrent class."""
    inside = np.array([start in states for states in closed])
    if inside.any():
        return inside.astype(np.float64)
    transient = np.setdiff1d(np.arange(len(probabilities)), np.concatenate(closed))
    staying = probabilities[np.ix_(transient, transient)]
    entering = np.stack([probabilities[np.ix_(transient, states)].sum(axis=1) for states in closed], axis=1)
    reached = np.linalg.solve(np.eye(transient.size) - staying, entering)[transient == start][0]
    return np.asarray(reached / reached.sum())
