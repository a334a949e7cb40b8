"""The best response to a partition: the partition of another class with the least cost to get there plus value there.

For a partition P and a class with one value V per partition Q, a best response minimises c(P, Q) + V(Q), where c is the
state that has to move: total − the largest sum of overlaps of intervals matched one to one. Overlapping intervals form
a chain (a caterpillar), so the matching is decided from left to right. At each boundary b two numbers suffice: the best
gain so far, and the best gain so far that leaves b's *owner* unmatched, the interval of P that holds task b. One more
interval [a, b) changes the two by one of four numbers (`SpanGains` of the kernel), whatever came before and after it.

The search walks the trie of the class depth first. It gives up a prefix when even the best that can follow, exact in
gains and prices and with the least residue below that prefix (`PreparedValues`), is no better than the best response known.
The bound on the rest is computed from right to left for every place of the trie; two partitions that agree from some boundary
on share that part of it, so partitions are best taken in the order of `colexicographic`.
"""

from __future__ import annotations

import numpy as np

from edrp import _native
from edrp.core.arrays import Floats, Ints
from edrp.mdp.partitions import Partitions
from edrp.mdp.trie import PreparedValues, Trie

RESPONSE_UNITS, COMPARED_PARTITION_UNITS = 2e-6, 5e-11
"""Units of work of a best response: fixed, and per partition among which it is searched."""

PRICED_ARC_UNITS = 6e-9
"""Units of work per arc of a best response where values are sums of arc prices."""

THREAD_UNITS = 0.02
"""Units of work per chunk that a thread processes."""


def response_work(targets: float) -> float:
    """Estimate the units of work of a best response among `targets` partitions.

    >>> f"{response_work(1e6):.1e}"
    '5.2e-05'
    """
    return RESPONSE_UNITS + COMPARED_PARTITION_UNITS * targets


def chunk_length(work: float, limit: int) -> int:
    """Number of partitions in a chunk for one thread, by the units of work of each.

    >>> chunk_length(1e-4, 4096), chunk_length(1e-9, 4096), chunk_length(1.0, 4096)
    (200, 4096, 64)
    """
    return max(64, min(limit, int(THREAD_UNITS / work)))


def colexicographic(partitions: Partitions) -> Ints:
    """Sort partitions by their last boundary, then the one before, and so on; return their row numbers."""
    return np.lexsort(partitions.T).astype(np.int64)


def best_responses(
    trie: Trie,
    prepared: PreparedValues,
    state_before: Floats,
    partitions: Partitions,
    rows: Ints,
    incumbents: Ints,
    values: Floats,
    responses: Ints,
) -> None:
    """Find, for each partition P, the least c(P, Q) + V(Q) over all Q of a class, and the Q that attains it.

    Ties go to the lowest number of Q; values that differ by less than 1e-12 of the sizes in play count as tied.
    Releases the interpreter lock, so that threads can share the work by rows.

    Parameters
    ----------
    state_before
        Shape (m + 1,), bytes of state before each boundary.
    partitions
        Shape (count, k + 1), the partitions P; intervals may be empty.
    rows
        Rows to search from, in this order: a part of `colexicographic(partitions)` is fastest.
    incumbents
        Shape (count,), number of a good response to each P, such as that of the sweep before, or −1. May be `responses`.
    values, responses
        Shape (count,), filled at `rows`; infinite and −1 where no response is allowed.
    """
    if trie.count == 0:
        values[rows], responses[rows] = np.inf, -1
        return
    _native.best_responses(trie, prepared, state_before, partitions, rows, incumbents, values, responses)
