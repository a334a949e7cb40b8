"""Lower bounds of path mapping: Lagrangian relaxation of the limits by subgradient ascent, and the relaxation of the paper."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from edrp.core.arrays import Floats
from edrp.core.budget import look, spend
from edrp.core.errors import UnsupportedProblemError
from edrp.core.kernels import kernel
from edrp.formulations.mapping.layered_graph import (
    HOST,
    LayeredGraph,
    MapLayers,
    ToGo,
    UsePrices,
    build_layers,
    cost_and_use,
    overloaded,
)
from edrp.mapping.path_mapping import MappingProblem, mapping_arrays


@kernel
def fill_hosted(
    graph: LayeredGraph, host: np.ndarray, leaving: np.ndarray, free: np.ndarray, resource: int, j: int, hosted: np.ndarray
) -> None:
    """Compute the least price from each server that takes some components now; without components left, 0 at the delivery."""
    components = graph.needs.size
    hosted[:] = np.inf
    if j == components and resource < 0:
        hosted[:, graph.delivery] = 0.0
    for v in range(hosted.shape[1]):
        behind = free if v == resource else leaving
        need, price = 0.0, 0.0
        for i in range(j, components):
            need += graph.needs[i]
            price += host[i, v]
            if need > graph.limit[v] or price == np.inf:
                break
            for t in range(hosted.shape[0]):
                hosted[t, v] = min(hosted[t, v], price + behind[i + 1, t, v])


@kernel
def least_two(down: np.ndarray, hosted: np.ndarray) -> tuple[float, int, float]:
    """Return the least price of what follows a public hop, the server that has it, and the least price of the others."""
    best, best_server, second = np.inf, -1, np.inf
    for v in range(hosted.size):
        price = down[v] + hosted[v]
        if price < best:
            best, best_server, second = price, v, best
        elif price < second:
            second = price
    return best, best_server, second


@kernel
def cost_to_go(graph: LayeredGraph, prices: UsePrices, togo: ToGo, resource: int, free: ToGo) -> None:
    """Fill `togo`, backwards over hops and, within a hop, over the empty hops left: (m + 1) (E + 1) steps per arc.

    With a resource (by its place in `limit`; -1 for none), only maps that use it from here on count, and `free` is what was
    filled without.
    """
    first, target = graph.first, graph.target
    hops, budget_levels, servers = togo.arrived.shape
    budgets = togo.leaving.shape[1]
    used, uplink = resource - servers, resource - servers - target.size
    hosted, freely = np.empty((budgets, servers)), np.full((budgets, servers), np.inf)
    linked = np.empty((budget_levels, servers))  # least price over a link, by the empty hops left behind it
    for j in range(hops - 1, -1, -1):
        fill_hosted(graph, prices.host, togo.leaving, free.leaving, resource, j, hosted)
        for t in range(budget_levels):
            togo.arrived[j, t] = hosted[t if budgets > 1 else 0]
            if t > 0:
                togo.arrived[j, t] = np.minimum(togo.arrived[j, t], linked[t - 1])
            for u in range(servers):
                linked[t, u] = np.inf
                for a in range(first[u], first[u + 1]):
                    onward = free.arrived[j, t, target[a]] if a == used else togo.arrived[j, t, target[a]]
                    linked[t, u] = min(linked[t, u], prices.arc[j, a] + onward)
        if uplink >= 0:
            fill_hosted(graph, prices.host, free.leaving, free.leaving, -1, j, freely)
        for t in range(budgets):
            if uplink >= servers:
                hosted[t, uplink - servers] = freely[t, uplink - servers]
            best, best_server, second = least_two(prices.down[j], hosted[t])
            for u in range(servers):
                public = second if u == best_server else best
                togo.leaving[j, t, u] = min(prices.up[j, u] + public, linked[t if budgets > 1 else budget_levels - 1, u])
            if 0 <= uplink < servers:
                best, best_server, second = least_two(prices.down[j], freely[t])
                public = prices.up[j, uplink] + (second if uplink == best_server else best)
                togo.leaving[j, t, uplink] = min(togo.leaving[j, t, uplink], public)
        if j == hops - 1 and resource < 0:
            togo.leaving[j, :, graph.delivery] = 0.0


@kernel
def best_run(graph: LayeredGraph, prices: UsePrices, togo: ToGo, j: int, left: int, v: int) -> tuple[float, int]:
    """Return the least price from a server that takes some components now, and how many; at the end, 0 at the delivery."""
    components = graph.needs.size
    if j == components:
        return (0.0 if v == graph.delivery else np.inf), 0
    t = left if graph.budgets > 1 else 0
    best, count, need, price = np.inf, 0, 0.0, 0.0
    for i in range(j, components):
        need += graph.needs[i]
        price += prices.host[i, v]
        if need > graph.limit[v] or price == np.inf:
            break
        if price + togo.leaving[i + 1, t, v] < best:
            best, count = price + togo.leaving[i + 1, t, v], i + 1 - j
    return best, count


@kernel
def best_arc(graph: LayeredGraph, prices: UsePrices, togo: ToGo, j: int, left: int, u: int) -> tuple[float, int]:
    """Return the least price over a link out of a server, with `left` empty hops after it, and the arc; -1 for none."""
    best, arc = np.inf, -1
    for a in range(graph.first[u], graph.first[u + 1]):
        price = prices.arc[j, a] + togo.arrived[j, left, graph.target[a]]
        if price < best:
            best, arc = price, a
    return best, arc


@kernel
def best_public(graph: LayeredGraph, prices: UsePrices, togo: ToGo, j: int, left: int, u: int) -> tuple[float, int]:
    """Return the least price over the public network, and the server that it leads to; -1 for none."""
    best, server = np.inf, -1
    if prices.up[j, u] < np.inf:
        for v in range(togo.leaving.shape[2]):
            if v != u and prices.down[j, v] < np.inf:
                price = prices.up[j, u] + prices.down[j, v] + best_run(graph, prices, togo, j, left, v)[0]
                if price < best:
                    best, server = price, v
    return best, server


@kernel
def cheapest_moves(graph: LayeredGraph, prices: UsePrices, togo: ToGo, moves: np.ndarray) -> tuple[float, int]:
    """Return the least price of a map, infinite for none, and the number of its moves, which are written to `moves`."""
    components, empty = graph.needs.size, graph.empty
    u, j, left, size = graph.source, 0, empty, 0
    value, begun = togo.leaving[0, graph.budgets - 1, u], True
    if components > 0 and best_run(graph, prices, togo, 0, left, u)[0] < value:
        value, begun = best_run(graph, prices, togo, 0, left, u)[0], False
    if value == np.inf:
        return value, 0
    passable = False  # whether a link led here
    while j < components or u != graph.delivery:
        if begun:  # the server is left
            linked, move = best_arc(graph, prices, togo, j, left, u)
            public, server = best_public(graph, prices, togo, j, left, u)
            passable = linked <= public
            u, move = (graph.target[move], move) if passable else (server, graph.target.size + server)
            begun = False
        else:  # it is passed, or takes components
            hosted, count = best_run(graph, prices, togo, j, left, u)
            linked, move = best_arc(graph, prices, togo, j, left - 1, u) if passable and left > 0 else (np.inf, -1)
            if hosted <= linked:
                moves[size : size + count] = HOST
                j, size, begun = j + count, size + count, True
                left = left if graph.budgets > 1 else empty
                continue
            u, left = graph.target[move], left - 1
        moves[size] = move
        size += 1
    return value, size


MULTIPLIER_STEPS = 25
"""Steps before good maps are known; long tasks on scarce links take a few times as many."""

MULTIPLIER_PATIENCE = 4
"""Steps without progress after which they are made shorter."""

ENOUGH = 1e-3
"""Relative progress that counts."""


CELL_WORK = 5e-8
"""Units of work to fill a cell of a table of costs to go from each of its links."""


def fill_to_go(layers: MapLayers, prices: UsePrices, togo: ToGo, resource: int = -1, free: ToGo | None = None) -> None:
    """Run `cost_to_go`, its work counted beforehand.

    Raises
    ------
    OutOfTimeError
        When the deadline has passed.
    """
    look("costs to go")
    spend(CELL_WORK * layers.steps)
    cost_to_go(layers.graph, prices, togo, resource, togo if free is None else free)


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
    value, size = cheapest_moves(graph, priced.prices, priced.togo, moves)
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
