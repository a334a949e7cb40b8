"""Key groups of an operator, the units in which its state moves: replica i of p holds a range of them, as even as can be."""

from __future__ import annotations

from collections.abc import Sequence


def held_groups(replica: int, replicas: int, groups: int) -> tuple[int, int]:
    """Key groups [first, end) that a replica holds.

    Examples
    --------
    >>> [held_groups(replica, 3, 128) for replica in range(3)]
    [(0, 43), (43, 86), (86, 128)]
    """
    return -(-replica * groups // replicas), -(-(replica + 1) * groups // replicas)


def group_sizes(state_sizes: Sequence[int], groups: int) -> list[float]:
    """Bytes of each key group, if those of a replica are spread evenly over the groups that it holds."""
    return _spread([float(size) for size in state_sizes], groups)


def group_work(loads: Sequence[int], groups: int) -> list[float]:
    """Work of each key group by what its replica receives; equal where nothing was received."""
    return _spread([float(load) for load in loads] if any(loads) else [1.0] * len(loads), groups)


def _spread(amounts: Sequence[float], groups: int) -> list[float]:
    spread: list[float] = [0.0] * groups
    for replica, amount in enumerate(amounts):
        first, end = held_groups(replica, len(amounts), groups)
        for group in range(first, end):
            spread[group] = amount / (end - first)
    return spread
