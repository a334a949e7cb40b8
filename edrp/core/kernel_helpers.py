"""Random numbers and copies of arrays inside compiled kernels."""

from __future__ import annotations

import numpy as np

from edrp.core.kernels import inlined


@inlined
def uniform(random: np.ndarray) -> float:
    """Next number in [0, 1) of a splitmix64 stream."""
    random[0] += np.uint64(0x9E3779B97F4A7C15)
    z = random[0]
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return float(((z ^ (z >> np.uint64(31))) >> np.uint64(11)) * (1.0 / 9007199254740992.0))


@inlined
def below(random: np.ndarray, count: int) -> int:
    """Next whole number in [0, count)."""
    return int(uniform(random) * count)


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
