"""Compiled: the relaxation of path mapping in which resources have prices instead of limits, and its cheapest map."""

from __future__ import annotations

import numpy as np

from edrp.core.kernels import kernel
from edrp.formulations.mapping.layered_graph import LayeredGraph, ToGo, UsePrices
from edrp.formulations.mapping.map_moves import HOST


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
    """Return the least price over a link out of a server, with so many empty hops left after it, and the arc; -1 for none."""
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
