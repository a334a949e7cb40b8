"""Best responses where every interval of the new partition has a price: an SSM with arc costs, however large the class."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from edrp.core.arrays import Floats, Ints
from edrp.core.kernels import inner_loop
from edrp.mdp.best_response import SearchWorkspace, bound_from_the_right, span_gains
from edrp.mdp.partitions import Boundaries, Partitions
from edrp.mdp.trie import Trie


@dataclass(frozen=True)
class PricedClass:
    """All partitions Q of a class, each valued at `constant` plus the prices of its intervals.

    Attributes
    ----------
    graph : places and arcs of the class.
    price : shape (arcs,), in bytes.
    constant : in bytes.
    """

    graph: Trie
    price: Floats
    constant: float = 0.0

    def best_responses(self, state_before: Floats, partitions: Partitions | Boundaries) -> tuple[Floats, Boundaries]:
        """Find, for each partition P, the least c(P, Q) + value(Q), and the Q that attains it; O(arcs) each.

        Parameters
        ----------
        state_before
            Shape (m + 1,), bytes of state before each boundary.
        partitions
            Shape (rows, k + 1).

        Returns
        -------
        tuple of arrays
            Values in bytes, shape (rows,), and boundaries, shape (rows, n + 1).
        """
        values = np.empty(len(partitions))
        chosen = np.empty((len(partitions), self.graph.nodes + 1), np.int64)
        _best_priced_responses(self.graph, self.price, state_before, partitions, values, chosen, SearchWorkspace.of(self.graph))
        return values + self.constant, chosen


@inner_loop
def _best_priced_responses(
    graph: Trie,
    price: np.ndarray,
    state_before: np.ndarray,
    partitions: np.ndarray,
    values: np.ndarray,
    chosen: np.ndarray,
    space: SearchWorkspace,
) -> None:
    total, everything = state_before[-1], state_before.size
    gains, free, whatever = space.gains, space.free_after, space.any_after
    for row in range(partitions.shape[0]):
        span_gains(graph, state_before, partitions[row], everything, gains)
        bound_from_the_right(graph, price, everything, space)
        values[row] = total - free[0]
        v, owner_free = 0, True
        chosen[row, 0] = 0
        for k in range(graph.nodes):
            best, follow, next_free = -np.inf, graph.arc_start[v], False
            for e in range(graph.arc_start[v], graph.arc_start[v + 1]):
                s, w = graph.arc_span[e], graph.arc_target[e]
                to_free = (gains.free_free[s] if owner_free else gains.any_free[s]) + free[w] - price[e]
                to_any = (gains.free_any[s] if owner_free else gains.any_any[s]) + whatever[w] - price[e]
                if to_free > best:
                    best, follow, next_free = to_free, e, True
                if to_any > best:
                    best, follow, next_free = to_any, e, False
            v, owner_free = graph.arc_target[follow], next_free
            chosen[row, k + 1] = graph.boundary[v]


def arc_intervals(graph: Trie) -> tuple[Ints, Ints]:
    """First task and end of the interval that each arc stands for, both of shape (arcs,)."""
    source = np.repeat(np.arange(graph.boundary.size), np.diff(graph.arc_start))
    return graph.boundary[source], graph.boundary[graph.arc_target]
