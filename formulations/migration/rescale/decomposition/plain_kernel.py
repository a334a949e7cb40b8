"""Kernel: the cheapest numbers of replicas on the nodes of every state, for operators without tasks."""

from __future__ import annotations

import numpy as np

from edrp.core.arrays import Bools, Floats, Ints
from edrp.core.kernels import inlined, inner_loop


@inlined
def _fill(prices: Floats, on: Bools, replicas: int, cost: Floats, chosen: Ints) -> float:
    """Least sum of prices[u, c] over nodes with Σ c = replicas, by a table over nodes and replicas dealt so far."""
    for c in range(replicas + 1):
        cost[0, c] = 0.0 if c == 0 else np.inf
    for u in range(prices.shape[0]):
        for c in range(replicas + 1):
            best, number = cost[u, c], 0
            if on[u]:
                for k in range(1, c + 1):
                    value = cost[u, c - k] + prices[u, k]
                    if value < best:
                        best, number = value, k
            cost[u + 1, c], chosen[u, c] = best, number
    return cost[prices.shape[0], replicas]


@inner_loop
def plain_values(
    prices: Floats,
    numbers: Ints,
    speeds: Floats,
    speedup: Floats,
    latency: Floats,
    inside: Bools,
    memory: tuple[Floats, Ints, Bools],
    found: tuple[Floats, Ints, Ints],
) -> None:
    """The least cost in every state, with the number of replicas and the least speed that has it.

    `prices` has shape (numbers, nodes, 1 + most replicas), `latency` (numbers,) the price of the latency at speed 1; only nodes
    at least as fast as one of `speeds` are used, and the latency is that at this speed.
    """
    cost, chosen, on = memory
    values, best_number, best_speed = found
    for s in range(inside.shape[0]):
        values[s], best_number[s], best_speed[s] = np.inf, 0, 0
        for p in range(speeds.size):
            for u in range(on.size):
                on[u] = inside[s, u] and speedup[u] >= speeds[p]
            for n in range(numbers.size):
                value = _fill(prices[n], on, numbers[n], cost, chosen) + latency[n] / speeds[p]
                if value < values[s]:
                    values[s], best_number[s], best_speed[s] = value, n, p


@inner_loop
def trace_plain(prices: Floats, replicas: int, on: Bools, cost: Floats, chosen: Ints, counts: Ints) -> None:
    """Replicas on each node in the cheapest way."""
    _fill(prices, on, replicas, cost, chosen)
    left = replicas
    for u in range(on.size - 1, -1, -1):
        counts[u] = chosen[u, left]
        left -= chosen[u, left]
