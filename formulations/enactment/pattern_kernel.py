"""Compiled: the pattern of instances on one host that is worth most, by branch and bound."""

from __future__ import annotations

import numpy as np

from edrp.core.kernels import inner_loop


@inner_loop
def best_pattern(
    values: np.ndarray,
    needs: np.ndarray,
    weights: np.ndarray,
    most: np.ndarray,
    free: np.ndarray,
    tolerance: float,
    max_nodes: int,
    counts: np.ndarray,
    best: np.ndarray,
) -> tuple[float, int, bool]:
    """Depth-first search for the pattern that is worth most, with as many instances of one operator first as fit.

    The rest of a host is worth no more than the next operator, which is worth most for its weight, could make of it.

    Parameters
    ----------
    values, most : shape (O,)
        Worth of an instance, and instances on a host; by value over weight, descending.
    needs : shape (O, R)
    weights : shape (O,)
        Needs weighted by multipliers of the resources, above 0.
    free : shape (R + 1,)
        What the host offers, and the weighted sum of it; overwritten.
    tolerance
        Worth that a pattern may have beyond the one found.
    counts, best : shape (O,)
        Scratch of zeros; and the pattern found, written.

    Returns
    -------
    tuple
        Worth of the pattern, nodes, and whether the search ended by itself.
    """
    operators, resources = needs.shape
    found, value, nodes, operator = 0.0, 0.0, 0, 0
    while nodes < max_nodes:
        nodes += 1
        if operator < operators and value + free[resources] * values[operator] / weights[operator] > found + tolerance:
            count = most[operator]
            for resource in range(resources):
                if needs[operator, resource] > 0:
                    count = min(count, int(free[resource] / needs[operator, resource]))
            change = count
        else:
            if operator == operators and value > found:
                found = value
                for index in range(operators):
                    best[index] = counts[index]
            operator -= 1
            while operator >= 0 and counts[operator] == 0:
                operator -= 1
            if operator < 0:
                return found, nodes, True
            change = -1
        counts[operator] += change
        value += change * values[operator]
        free[resources] -= change * weights[operator]
        for resource in range(resources):
            free[resource] -= change * needs[operator, resource]
        operator += 1
    return found, nodes, False
