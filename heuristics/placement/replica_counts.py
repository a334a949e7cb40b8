"""Replicas counted per operator and node, the representation that annealing and the searches share.

A stream between 4,000 and 3,000 replicas has 12 million pairs. Kept as counts per node, moving any number of replicas
from one node to another is one change.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Self

import numpy as np

from edrp.core.arrays import Floats, Ints, UInts


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
