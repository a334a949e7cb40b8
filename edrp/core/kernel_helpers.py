"""Random numbers, copies and orders of arrays inside compiled kernels; Numba's own orders take seconds to compile."""

from __future__ import annotations

import numpy as np

from edrp.core.kernels import inlined, inner_loop


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


@inlined
def value_in_place(values: np.ndarray, count: int, place: int) -> float:
    """Value that the first so many would have at a place if they were sorted; they are put into another order."""
    low, high = 0, count - 1
    while low < high:
        pivot = values[(low + high) // 2]
        i, k = low, high
        while i <= k:
            while values[i] < pivot:
                i += 1
            while values[k] > pivot:
                k -= 1
            if i <= k:
                values[i], values[k] = values[k], values[i]
                i, k = i + 1, k - 1
        if k < place < i:
            break
        low, high = (low, k) if place <= k else (i, high)
    return float(values[place])


@inner_loop
def sort_by(values: np.ndarray, order: np.ndarray, spare: np.ndarray) -> None:
    """Sort places by the values there; of equal values, those that came first go on doing so. `spare` holds as many places."""
    width = 1
    while width < order.size:
        for begin in range(0, order.size, 2 * width):
            middle, end = min(begin + width, order.size), min(begin + 2 * width, order.size)
            a, b = begin, middle
            for k in range(begin, end):
                if b == end or (a < middle and values[order[a]] <= values[order[b]]):
                    spare[k] = order[a]
                    a += 1
                else:
                    spare[k] = order[b]
                    b += 1
        for k in range(order.size):
            order[k] = spare[k]
        width *= 2
