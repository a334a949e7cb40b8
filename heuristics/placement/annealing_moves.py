"""How often annealing draws each kind of change, and nodes for it."""

from __future__ import annotations

from typing import NamedTuple


class MoveMix(NamedTuple):
    """Probabilities of changes and nodes, as cumulated shares (edrp/native/heuristics/placement/annealing_moves.hpp).

    Attributes
    ----------
    exchange, replicate, retire, move : kinds of changes; the rest are trades of two operators.
    gather : share of the moves that take all of an operator's replicas.
    neighbour_nodes, own_nodes, near_nodes, nearest_nodes : nodes of a neighbour operator, of the operator itself, of the list
        of near nodes, and the nearest of several draws; the rest are any nodes.
    """

    exchange: float
    replicate: float
    retire: float
    move: float
    gather: float
    neighbour_nodes: float
    own_nodes: float
    near_nodes: float
    nearest_nodes: float


FEW_REPLICAS = MoveMix(0.05, 0.15, 0.25, 0.75, 0.25, 0.3, 0.3, 0.55, 0.55)
"""Mix of changes for operators of a few replicas, which mostly move one by one or all together."""

MANY_REPLICAS = MoveMix(0.08, 0.13, 0.18, 0.7, 0.0, 0.35, 0.6, 0.6, 0.85)
"""Mix of changes for operators of many replicas, and for clusters: batches move."""
