"""Integer points near a target: reduced bases (Lenstra, Lenstra, Lovász 1982) and Babai's nearest plane (1986)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from edrp.core.arrays import Floats
from edrp.core.budget import LOOK, spend

REDUCTION = 0.99
"""Share of its predecessor's squared length that the projection of a basis vector has at least (Lovász's condition)."""

PASSES = 3
"""Turns in which a vector is made shorter by multiples of the earlier ones; rounding errors need a second, seldom a third."""

ENTRY_WORK = 2e-9
"""Units of work for a number of a vector, when it is projected on another one."""


class ReducedBasis(NamedTuple):
    """A reduced basis of a lattice, one vector a row, with its Gram-Schmidt vectors and their squared lengths."""

    vectors: Floats
    orthogonal: Floats
    lengths: Floats

    def nearest(self, targets: Floats) -> Floats:
        """Lattice points near targets, both of shape (M, columns), by the nearest plane of each vector in turn."""
        rest = targets.copy()
        spend(LOOK + ENTRY_WORK * rest.size * len(self.vectors))
        for vector, orthogonal, length in zip(self.vectors[::-1], self.orthogonal[::-1], self.lengths[::-1], strict=True):
            rest -= np.rint(rest @ orthogonal / length)[:, None] * vector
        return targets - rest


def reduced(basis: Floats) -> ReducedBasis:
    """Reduce a basis, one vector a row; the vectors have to be independent.

    >>> reduced(np.array([[1.0, 0.0, 40.0], [0.0, 1.0, 30.0]])).vectors.tolist()
    [[-3.0, 4.0, 0.0], [-1.0, 1.0, -10.0]]
    """
    vectors, count = basis.astype(float), len(basis)
    factors, orthogonal, lengths = np.zeros((count, count)), np.zeros_like(vectors), np.zeros(count)

    def project(k: int) -> None:
        """Project vector k on the earlier ones, twice against rounding."""
        spend(LOOK + ENTRY_WORK * k * vectors.shape[1])
        first = orthogonal[:k] @ vectors[k] / lengths[:k]
        rest = vectors[k] - first @ orthogonal[:k]
        second = orthogonal[:k] @ rest / lengths[:k]
        orthogonal[k], factors[k, :k] = rest - second @ orthogonal[:k], first + second
        lengths[k] = orthogonal[k] @ orthogonal[k]

    def shorten(k: int) -> None:
        """Subtract multiples of the earlier vectors from vector k."""
        for _ in range(PASSES):
            changed = False
            for earlier in range(k - 1, -1, -1):
                if multiple := round(factors[k, earlier]):
                    vectors[k] -= multiple * vectors[earlier]
                    factors[k, :earlier] -= multiple * factors[earlier, :earlier]
                    factors[k, earlier] -= multiple
                    changed = True
            if not changed:
                return
            project(k)

    project(0)
    k = 1
    while k < count:
        project(k)
        shorten(k)
        if lengths[k] >= (REDUCTION - factors[k, k - 1] ** 2) * lengths[k - 1]:
            k += 1
        else:
            vectors[[k - 1, k]] = vectors[[k, k - 1]]
            project(k - 1)
            k = max(k - 1, 1)
    return ReducedBasis(vectors, orthogonal, lengths)
