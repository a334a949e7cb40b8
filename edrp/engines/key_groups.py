"""Key groups of an operator, the units in which its state moves: replica i of p holds a range of them, as even as can be."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise

from edrp.migration.rescale.documents import even_boundaries


@dataclass(frozen=True, slots=True)
class KeyGroups:
    """The key groups of an operator, from the state of each in a checkpoint and the load of each replica.

    Attributes
    ----------
    work : tuples of each key group.
    state_size : bytes of each key group.
    """

    work: tuple[float, ...]
    state_size: tuple[float, ...]

    def heaviest_share(self, replicas: int) -> float:
        """Share of all work that the busiest of `replicas` replicas with even ranges has.

        >>> groups = KeyGroups((3.0, 1.0, 1.0, 1.0), (0.0,) * 4)
        >>> groups.heaviest_share(1), groups.heaviest_share(2), groups.heaviest_share(4)
        (1.0, 0.6666666666666666, 0.5)
        """
        before = list(accumulate(self.work, initial=0.0))
        ends = even_boundaries(len(self.work), replicas)
        return max(before[end] - before[first] for first, end in pairwise(ends)) / before[-1]


def held_groups(replica: int, replicas: int, groups: int) -> tuple[int, int]:
    """Key groups [first, end) that a replica holds.

    >>> [held_groups(replica, 3, 128) for replica in range(3)]
    [(0, 43), (43, 86), (86, 128)]
    """
    first, end = even_boundaries(groups, replicas)[replica : replica + 2]
    return first, end


def group_sizes(state_sizes: Sequence[int], groups: int) -> list[float]:
    """Bytes of each key group, if those of a replica are spread evenly over the groups that it holds."""
    return _spread([float(size) for size in state_sizes], groups)


def group_work(loads: Sequence[float], groups: int, sizes: Sequence[float] = ()) -> list[float]:
    """Work of each key group by what its replica receives; equal where nothing was received.

    Engines do not count tuples by key group. Within a replica work follows the state of its key groups where their sizes are
    given, and is even without.

    >>> group_work([60, 40], 4), group_work([60, 40], 4, [5, 1, 2, 2])
    ([30.0, 30.0, 20.0, 20.0], [50.0, 10.0, 20.0, 20.0])
    """
    return _spread([float(load) for load in loads] if any(loads) else [1.0] * len(loads), groups, sizes)


def _spread(amounts: Sequence[float], groups: int, weights: Sequence[float] = ()) -> list[float]:
    """Amounts of replicas over the groups that they hold, by weight, or evenly where a replica's groups have none."""
    spread: list[float] = []
    for amount, (first, end) in zip(amounts, pairwise(even_boundaries(groups, len(amounts))), strict=True):
        range_weights = list(weights[first:end]) if any(weights[first:end]) else [1.0] * (end - first)
        total = sum(range_weights)
        spread += [amount * weight / total for weight in range_weights]
    return spread
