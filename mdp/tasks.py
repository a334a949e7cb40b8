"""Tasks and their split into intervals as flat arrays: the form in which all algorithms of this room work.

A *partition* of m tasks into n intervals is its n + 1 boundaries `0 = b[0] ≤ b[1] ≤ … ≤ b[n] = m`: interval i holds the
tasks `b[i] … b[i+1] − 1`. Which node holds which interval does not matter to later migrations (state migration,
Lemmas 4.1 and 4.2), so partitions are states and nodes are not.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from edrp.core.arrays import Floats, Ints

Boundaries = Ints


class Tasks(NamedTuple):
    """Tasks with prefix sums; small enough to hand to compiled kernels as it is.

    Attributes
    ----------
    work, state_size : shape (m,)
        Amount of work, and bytes of state, of each task.
    work_before, state_before : shape (m + 1,)
        Sums over the tasks before each boundary.
    """

    work: Floats
    state_size: Floats
    work_before: Floats
    state_before: Floats

    @classmethod
    def of(cls, work: ArrayLike, state_size: ArrayLike) -> Tasks:
        """Tasks with given work and state sizes (bytes), both of shape (m,).

        Examples
        --------
        >>> Tasks.of([1, 2, 3], [5, 5, 5]).work_before.tolist()
        [0.0, 1.0, 3.0, 6.0]
        """
        work = np.ascontiguousarray(work, dtype=np.float64)
        state_size = np.ascontiguousarray(state_size, dtype=np.float64)
        return cls(work, state_size, _before(work), _before(state_size))


class OldNodes(NamedTuple):
    """The current assignment in the order of the tasks.

    Attributes
    ----------
    boundaries : shape (k + 1,)
        Boundaries of the k intervals that are not empty, strictly ascending.
    nodes : shape (k,)
        Node of each of them.
    idle : shape (n − k,)
        Nodes whose interval is empty, ascending.
    """

    boundaries: Boundaries
    nodes: Boundaries
    idle: Boundaries

    @classmethod
    def of(cls, intervals: Sequence[tuple[int, int]]) -> OldNodes:
        """From one half-open interval per node, in any order; together they must hold every task once.

        Examples
        --------
        >>> old = OldNodes.of([(2, 5), (3, 3), (0, 2)])
        >>> old.boundaries.tolist(), old.nodes.tolist(), old.idle.tolist()
        ([0, 2, 5], [2, 0], [1])
        """
        array = np.asarray(intervals, dtype=np.int64).reshape(-1, 2)
        empty = array[:, 0] == array[:, 1]
        held = np.flatnonzero(~empty)
        order = held[np.argsort(array[held, 0], kind="stable")]
        boundaries = np.concatenate([array[order, 0], array[order[-1:], 1]])
        return cls(boundaries, order.astype(np.int64), np.flatnonzero(empty).astype(np.int64))


def _before(values: Floats) -> Floats:
    sums = np.zeros(values.size + 1)
    np.cumsum(values, out=sums[1:])
    return sums
