"""Weights of resources that raise the bound: subgradient ascent (Polyak's steps) on the relaxation of all limits."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from edrp.core.arrays import Floats
from edrp.formulations.mapping.guides import Priced
from edrp.formulations.mapping.layered_graph import Layers
from edrp.formulations.mapping.map_moves import cost_and_use, overloaded
from edrp.formulations.mapping.relaxation import cheapest_moves

STEPS = 25
"""More of them hardly raise the bound."""

PATIENCE = 4
"""Steps without progress after which they are made shorter."""

ENOUGH = 1e-3
"""Relative progress that counts."""


@dataclass(frozen=True, slots=True)
class Ascent:
    """Proven bound, the weights that prove it, and the best map on the way that keeps to all limits (None for none)."""

    bound: float
    weights: Floats
    moves: list[int] | None
    cost: float


def cheapest(layers: Layers, priced: Priced) -> tuple[float, list[int]]:
    """Least price of a map under weights, infinite for none, and the moves of such a map."""
    graph = layers.graph
    moves = np.empty(graph.needs.size + graph.rates.size * (graph.empty + 1), np.int32)
    value, size = cheapest_moves(graph, priced.prices, priced.togo, moves)
    return value, moves[:size].tolist()


def ascend(layers: Layers, known: float, dearest: float, remaining: Callable[[], float]) -> Ascent:
    """Raise the bound, from no weights.

    Parameters
    ----------
    layers
        The problem; it has a map if limits are overlooked.
    known
        Cost of the best map known, infinite for none.
    dearest
        What no map costs more than; a bound beyond proves that there is none.
    remaining
        Seconds that are left.
    """
    weights = np.zeros(layers.graph.limit.size)
    best = Ascent(-np.inf, weights, None, known)
    length, stalled = 1.0, 0
    for _ in range(STEPS):
        value, moves = cheapest(layers, Priced.of(layers, weights))
        value -= float(weights.sum())
        cost, use = cost_and_use(layers, moves)
        if cost < best.cost and not overloaded(use):
            best = Ascent(best.bound, best.weights, moves, cost)
        stalled = 0 if value > best.bound + ENOUGH * abs(value) else stalled + 1
        if value > best.bound:
            best = Ascent(value, weights, best.moves, best.cost)
        if stalled >= PATIENCE:
            length, stalled = length / 1.6, 0
        excess = np.where((weights <= 0) & (use < 1), 0.0, use - 1)
        norm = float(excess @ excess)
        target = min(best.cost, best.bound + 0.1 * (abs(best.bound) or dearest))
        if norm == 0 or best.bound >= min(best.cost, dearest) or remaining() <= 0:
            break
        weights = np.maximum(0.0, weights + length * max(target - value, 1e-6 * dearest) / norm * excess)
    return best
