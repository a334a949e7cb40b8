"""Lower bounds of path mapping: Lagrangian relaxation of the limits by subgradient ascent, and the relaxation of the paper."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from edrp import _native
from edrp.core.arrays import Floats
from edrp.core.budget import look, spend
from edrp.core.errors import UnsupportedProblemError
from edrp.formulations.mapping.layered_graph import (
    MapLayers,
    ToGo,
    UsePrices,
    build_layers,
    cost_and_use,
    overloaded,
)
from edrp.mapping.path_mapping import MappingProblem, mapping_arrays

MULTIPLIER_STEPS = 25
"""Steps before good maps are known; long tasks on scarce links take a few times as many."""

MULTIPLIER_PATIENCE = 4
"""Steps without progress after which they are made shorter."""

ENOUGH = 1e-3
"""Relative progress that counts."""


FILL_WORK, CELL_WORK = 4e-4, 3e-9
"""Units of work of a table of costs to go, with what is made of it, and to fill a cell of it from each of its links."""


def fill_to_go(layers: MapLayers, prices: UsePrices, togo: ToGo, resource: int = -1, free: ToGo | None = None) -> None:
    """Fill `togo` with the least prices of what is still to come, the work counted beforehand.

    With a resource (by its place in `limit`; -1 for none), only maps that use it from here on count, and `free` is what was
    filled without.

    Raises
    ------
    OutOfTimeError
        When the deadline has passed.
    """
    look("costs to go")
    spend(FILL_WORK + CELL_WORK * layers.steps)
    _native.cost_to_go(layers.graph, prices, togo, resource, togo if free is None else free)


@dataclass(frozen=True, slots=True)
class PricedRelaxation:
    """Weights of resources, shape (3 n + a,), with what follows from them."""

    weights: Floats
    prices: UsePrices
    togo: ToGo

    @classmethod
    def of(cls, layers: MapLayers, weights: Floats) -> PricedRelaxation:
        """Compute prices and costs to go under some weights."""
        prices, togo = layers.priced(weights), layers.to_go()
        fill_to_go(layers, prices, togo)
        return cls(weights, prices, togo)


@dataclass(frozen=True, slots=True)
class LagrangianBound:
    """Proven bound, the weights that prove it, and the best map on the way that keeps to all limits (None for none)."""

    bound: float
    weights: Floats
    moves: list[int] | None
    cost: float


def cheapest(layers: MapLayers, priced: PricedRelaxation) -> tuple[float, list[int]]:
    """Return the least price of a map under weights, infinite for none, and the moves of such a map."""
    graph = layers.graph
    moves = np.empty(graph.needs.size + graph.rates.size * (graph.empty + 1), np.int32)
    value, size = _native.cheapest_moves(graph, priced.prices, priced.togo, moves)
    return value, moves[:size].tolist()


def ascend(
    layers: MapLayers,
    known: float,
    max_cost: float,
    remaining: Callable[[], float],
    weights: Floats,
    steps: int = MULTIPLIER_STEPS,
) -> LagrangianBound:
    """Raise the bound by `steps` steps of subgradient ascent, starting from some weights.

    Parameters
    ----------
    layers
        The problem; it has a map if limits are overlooked.
    known
        Cost of the best map known, infinite for none.
    max_cost
        Upper bound on the cost of any map; a higher lower bound proves that there is none.
    """
    best = LagrangianBound(-np.inf, weights, None, known)
    length, stalled = 1.0, 0
    for _ in range(steps):
        value, moves = cheapest(layers, PricedRelaxation.of(layers, weights))
        value -= float(weights.sum())
        cost, use = cost_and_use(layers, moves)
        if cost < best.cost and not overloaded(use):
            best = LagrangianBound(best.bound, best.weights, moves, cost)
        stalled = 0 if value > best.bound + ENOUGH * abs(value) else stalled + 1
        if value > best.bound:
            best = LagrangianBound(value, weights, best.moves, best.cost)
        if stalled >= MULTIPLIER_PATIENCE:
            length, stalled = length / 1.6, 0
        excess = np.where((weights <= 0) & (use < 1), 0.0, use - 1)
        norm = float(excess @ excess)
        target = min(best.cost, best.bound + 0.1 * (abs(best.bound) or max_cost))
        if norm == 0 or best.bound >= min(best.cost, max_cost) or remaining() <= 0:
            break
        weights = np.maximum(0.0, weights + length * max(target - value, 1e-6 * max_cost) / norm * excess)
    return best


def relaxed_bound(problem: MappingProblem) -> float:
    """Return the cost of the cheapest path through a graph with one layer of servers per component, ignoring bandwidths.

    A component is only on servers that have room for it, each looked at by itself: several on a server are not added up. Empty
    hops are limited as in the problem.

    Returns
    -------
    float
        No map costs less; infinite where even so there is none.

    Raises
    ------
    UnsupportedProblemError
        For another cost.
    """
    if problem.cost != "additive":
        raise UnsupportedProblemError(f"cost {problem.cost!r} is no sum over links: the relaxed bound is of additive costs")
    tables = mapping_arrays(problem)
    wide = np.full_like(tables.network.bandwidth, np.inf)
    uplink = np.where(tables.network.uplink > 0, np.inf, 0.0)
    network = replace(tables.network, bandwidth=wide, uplink=uplink, downlink=np.full_like(uplink, np.inf))
    layers = build_layers(replace(tables, network=network))
    layers = replace(layers, graph=layers.graph._replace(limit=np.full_like(layers.graph.limit, np.inf)))
    return cheapest(layers, PricedRelaxation.of(layers, np.zeros(layers.graph.limit.size)))[0]
