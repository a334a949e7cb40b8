"""Replicas counted per operator and node, the representation that annealing and the searches share.

A stream between 4,000 and 3,000 replicas has 12 million pairs. Kept as counts per node, moving any number of replicas
from one node to another is one change.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Self

import numpy as np

from edrp.core.arrays import Floats, Ints, UInts
from edrp.core.kernels import inlined


@inlined
def variable(value: int) -> int:
    """Return a constant with the type of a variable; Numba compiles callees again for the type of a constant."""
    return int(np.int64(value))


def random_stream(seed: int | Sequence[int]) -> UInts:
    """Initial state of a stream of random numbers in kernels.

    Examples
    --------
    >>> (random_stream(3) == random_stream(3)).all() and (random_stream(3) != random_stream(4)).all()
    np.True_
    """
    return np.random.SeedSequence(seed).generate_state(1, np.uint64).astype(np.uint64)


class ReplicaCounts(NamedTuple):
    """Number of replicas of each operator on every node, and sums that any objective needs.

    `replicas` (operators, nodes) are the replicas, `degree` (operators,) those of each operator, `used` (nodes, resources) what
    they take. `hosts[i, :number[i]]` are the nodes that operator i uses, and `slot` (operators, nodes) is where each node
    stands among them, -1 for one that is not.
    """

    replicas: Ints
    degree: Ints
    used: Floats
    hosts: Ints
    number: Ints
    slot: Ints

    @classmethod
    def from_matrix(cls, demand: Floats, counts: Ints) -> Self:
        """Create counts from a matrix of replicas per operator and node."""
        hosts, slot = np.zeros(counts.shape, np.int64), np.full(counts.shape, -1)
        for i, row in enumerate(counts):
            used = np.flatnonzero(row)
            hosts[i, : used.size] = used
            slot[i, used] = np.arange(used.size)
        number = (counts > 0).sum(axis=1)
        return cls(counts.copy(), counts.sum(axis=1), np.ascontiguousarray(counts.T @ demand), hosts, number, slot)


@inlined
def add(c: ReplicaCounts, demand: np.ndarray, i: int, u: int, q: int) -> None:
    """Put q more replicas of operator i on node u; a negative q takes some away."""
    before = c.replicas[i, u]
    c.replicas[i, u] = before + q
    c.degree[i] += q
    for m in range(demand.shape[1]):
        c.used[u, m] += q * demand[i, m]
    if before == 0 and q > 0:
        c.slot[i, u] = c.number[i]
        c.hosts[i, c.number[i]] = u
        c.number[i] += 1
    elif before > 0 and before + q == 0:
        last = c.hosts[i, c.number[i] - 1]
        c.hosts[i, c.slot[i, u]] = last
        c.slot[i, last] = c.slot[i, u]
        c.slot[i, u] = -1
        c.number[i] -= 1


@inlined
def recompute_used(c: ReplicaCounts, demand: np.ndarray, u: int) -> None:
    """Recompute the resources used on node u, which removes accumulated rounding."""
    for m in range(demand.shape[1]):
        total = 0.0
        for i in range(c.degree.size):
            total += c.replicas[i, u] * demand[i, m]
        c.used[u, m] = total


@inlined
def strain(capacity: np.ndarray, used: np.ndarray, u: int, slack: float) -> tuple[int, float]:
    """Number of overloaded resources of node u, beyond a relative `slack`, and their total relative excess."""
    violations, overload = 0, 0.0
    for m in range(used.shape[1]):
        over = used[u, m] - capacity[u, m]
        if over > slack * capacity[u, m]:
            violations += 1
            overload += over / max(capacity[u, m], 1e-3 * over)
    return violations, overload


@inlined
def room(demand: np.ndarray, capacity: np.ndarray, used: np.ndarray, i: int, u: int, limit: int, slack: float) -> int:
    """Number of further replicas of operator i that fit on node u, at most `limit`; `slack` is the allowed overload."""
    for m in range(demand.shape[1]):
        if demand[i, m] > 0:
            free = (capacity[u, m] * (1 + slack) - used[u, m]) / demand[i, m]
            if free < limit:
                limit = int(max(0.0, free))
    return limit
