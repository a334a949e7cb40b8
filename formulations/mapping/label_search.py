"""Arrays of `search_labels` (edrp/native/formulations/mapping/label_search.cpp), which examines labels, least bound first."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from edrp.core.arrays import Floats, Ints, Ints32
from edrp.formulations.mapping.layered_graph import HOST, MapLayers, ToGo, UsePrices

MIN_LABELS = 4096
"""Minimum number of labels that there is room for at the beginning."""

COUNT, HEAP, POPPED, INCUMBENT, CHILDREN, COMPARED = range(6)
"""Indices into `MapLabels.counters`: labels, labels on the heap, labels examined, the best whole map, labels to be entered, and
comparisons of two labels."""

CUTOFF, BOUND, BEST, TOLERANCE = range(4)
"""Indices into `MapLabels.values`: what a label must be below, bound on all that are left, cost of the best whole map, and the
relative difference below that at which nothing is looked for any more."""

FINISHED, PAUSED, FULL, WHOLE = range(4)
"""Why `search_labels` returns: nothing below the cutoff is left, it has looked at as many labels as it may, there is
no room for more, or the label of least bound is a whole map that uses more of something than there is, so it is not the best."""


class MapLabels(NamedTuple):
    """Labels by number, in rows that are added as they are needed.

    Attributes
    ----------
    server, mapped, left : where a label is, how many components it has mapped, how many empty hops it has left.
    leaving : 1 where a component was mapped on the server, which must now be left; 0 where a link led to it.
    parent, move : from which label it follows, and by which link or public hop, or `HOST`.
    next, alive : the next label of the same place by cost, and whether no other made it needless.
    cost, priced : cost so far, the same with prices of resources, less the sum of their weights.
    bound : what no map that begins so costs less than.
    plenty, marks, residual : of tracked resources, what is left: all together in shares; which are not empty and which more
        than half full (bits, so that most comparisons end there); and each, shape (labels, K).
    heap : labels to be looked at, least bound first.
    heads : shape (2, m + 1, n), the cheapest label of each place; -1 for none.
    visits : shape (2, m + 1, n), labels looked at.
    counters, values : see `COUNT` and `CUTOFF`.
    child, child_cost : labels that follow from the one looked at: leaving, server, mapped, left, move; cost, priced, need.
    """

    server: Ints32
    mapped: Ints32
    left: Ints32
    leaving: Ints32
    parent: Ints32
    move: Ints32
    next: Ints32
    alive: Ints32
    cost: Floats
    priced: Floats
    bound: Floats
    plenty: Floats
    marks: Ints
    residual: Floats
    heap: Ints32
    heads: Ints32
    visits: Ints32
    counters: Ints
    values: Floats
    child: Ints32
    child_cost: Floats


INTEGERS = ("server", "mapped", "left", "leaving", "parent", "move", "next", "alive", "heap")
NUMBERS = ("cost", "priced", "bound", "plenty")
GROWING = (*INTEGERS, *NUMBERS, "marks", "residual")
"""Names of the arrays with one row per label, which grow together."""


class Tracked(NamedTuple):
    """K resources that labels remember, and the amounts that can still be taken of each.

    Attributes
    ----------
    slot : shape (3 n + a,), place of a resource among the tracked ones, or -1.
    start, sums : sums of what components and hops from j on take of resource k, ascending from 0, are
        sums[start[k, j] : start[k, j + 1]]; none where there are too many to list.
    scale : shape (K,), one over the limit.
    """

    slot: Ints32
    start: Ints32
    sums: Floats
    scale: Floats


class Guide(NamedTuple):
    """Lower bounds on the further cost of labels.

    Attributes
    ----------
    plain, togo : the problem's own prices.
    priced, priced_togo : the same plus prices of resources.
    through, priced_through : the same for maps that take something of a tracked resource from here on; a last axis of K.
    """

    plain: UsePrices
    togo: ToGo
    priced: UsePrices
    priced_togo: ToGo
    through: ToGo
    priced_through: ToGo


def first_label(layers: MapLayers, resources: list[int], weight: float, values: tuple[float, float, float, float]) -> MapLabels:
    """Return arrays with the label of the source, and room for more.

    Parameters
    ----------
    weight
        Sum of the weights of all resources, which is what a map may use of them for nothing.
    values
        See `CUTOFF`.
    """
    graph = layers.graph
    places = (2, graph.rates.size, layers.servers)
    children = graph.needs.size + int(np.diff(graph.first).max(initial=0))
    if (layers.prices.up < np.inf).any():
        children += layers.servers * graph.rates.size
    size = max(MIN_LABELS, 2 * children)
    rows: dict[str, Any] = {name: np.zeros(size, np.int32) for name in INTEGERS}
    rows.update({name: np.zeros(size) for name in NUMBERS})
    labels = MapLabels(
        **rows,
        marks=np.zeros(size, np.int64),
        residual=np.zeros((size, len(resources))),
        heads=np.full(places, -1, np.int32),
        visits=np.zeros(places, np.int32),
        counters=np.array([1, 1, 0, -1, 0, 0], np.int64),
        values=np.array(values),
        child=np.zeros((children, 5), np.int32),
        child_cost=np.zeros((children, 3)),
    )
    labels.server[0], labels.left[0], labels.leaving[0], labels.alive[0] = graph.source, graph.empty, 1, 1
    labels.parent[0], labels.move[0], labels.next[0] = -1, HOST, -1
    labels.bound[0], labels.priced[0], labels.residual[0] = values[BOUND], -weight, graph.limit[resources]
    return labels


def grown(labels: MapLabels) -> MapLabels:
    """Return the same labels with room for twice as many."""
    rows: dict[str, Any] = {name: _twice(getattr(labels, name)) for name in GROWING}
    return labels._replace(**rows)


def _twice(rows: NDArray[Any]) -> NDArray[Any]:
    larger = np.empty((2 * len(rows), *rows.shape[1:]), rows.dtype)
    larger[: len(rows)] = rows
    return larger


def label_moves(labels: MapLabels, label: int) -> list[int]:
    """Return the moves of a label's map."""
    moves: list[int] = []
    while (parent := int(labels.parent[label])) >= 0:
        moves += [HOST] * int(labels.mapped[label] - labels.mapped[parent])
        if (move := int(labels.move[label])) != HOST:
            moves.append(move)
        label = parent
    return moves[::-1]
