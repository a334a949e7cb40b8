"""Copies of arrays within compiled kernels that must not allocate: slices on both sides of an assignment would."""

from __future__ import annotations

import numpy as np

from edrp.core.kernels import inlined


@inlined
def copy_vector(source: np.ndarray, target: np.ndarray) -> None:
    """One dimension."""
    for k in range(source.size):
        target[k] = source[k]


@inlined
def copy_matrix(source: np.ndarray, target: np.ndarray) -> None:
    """Two dimensions."""
    for i in range(source.shape[0]):
        for k in range(source.shape[1]):
            target[i, k] = source[i, k]
