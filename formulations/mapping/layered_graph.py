"""Path mapping as a graph of layers, one per number of components mapped: the input of the compiled searches."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from edrp.core.arrays import Floats, Ints32
from edrp.core.budget import refuse_beyond_memory
from edrp.core.tolerances import MAP_LAYER_SLACK, MAP_USE_SLACK
from edrp.mapping.mapping_arrays import MappingArrays, path_map
from edrp.mapping.path_mapping import MappingProblem
from edrp.mapping.path_tasks import PathMap

TABLES = 8
"""Tables of the size of `ToGo` that a search holds at a time."""


class LayeredGraph(NamedTuple):
    """Servers, arcs and the task.

    Attributes
    ----------
    first, target : arcs, as in `NetworkArrays`.
    needs, rates : of components, shape (m,), and of hops, shape (m + 1,).
    limit : shape (3 n + a,), what is free of every resource: servers, arcs, uplinks, downlinks; infinite where uses by one
        task do not add up.
    source, delivery : servers.
    empty : most empty hops, in each hop or in total.
    budgets : empty + 1 where they are limited in total, else 1.
    """

    first: Ints32
    target: Ints32
    needs: Floats
    rates: Floats
    limit: Floats
    source: int
    delivery: int
    empty: int
    budgets: int


class UsePrices(NamedTuple):
    """Price of each use of an arc (m + 1, a), a server (m, n), both ends of a public hop (m + 1, n); infinite where forbidden."""

    arc: Floats
    host: Floats
    up: Floats
    down: Floats


class ToGo(NamedTuple):
    """Least price of what is still to come.

    Attributes
    ----------
    arrived : shape (m + 1, E + 1, n), from a server to which a link led, by components mapped and empty hops left.
    leaving : shape (m + 1, budgets, n), from the server of the last component, which must be left.
    """

    arrived: Floats
    leaving: Floats


@dataclass(frozen=True, slots=True)
class MapLayers:
    """A problem as input of the searches.

    Attributes
    ----------
    prices : prices of the problem itself.
    shares : by use, the share that it takes of the limit; 0 where uses do not add up.
    """

    graph: LayeredGraph
    prices: UsePrices
    shares: UsePrices

    @property
    def servers(self) -> int:
        """Number of servers."""
        return self.graph.first.size - 1

    @property
    def arcs(self) -> int:
        """Number of arcs."""
        return self.graph.target.size

    @property
    def steps(self) -> float:
        """Links that a map may take from all places: components mapped, empty hops left and server."""
        return float(self.graph.rates.size * (self.graph.empty + 1) * self.graph.target.size)

    def to_go(self) -> ToGo:
        """Allocate tables of costs to go."""
        layers = self.graph.rates.size
        kept, budgets = self.graph.empty + 1, self.graph.budgets
        return ToGo(np.empty((layers, kept, self.servers)), np.empty((layers, budgets, self.servers)))

    def priced(self, weights: Floats) -> UsePrices:
        """Return the problem's prices plus weights of resources, shape (3 n + a,), each paid in proportion to the share taken."""
        host, arc, up, down = self.parts(weights)
        prices, shares = self.prices, self.shares
        return UsePrices(
            prices.arc + shares.arc * arc,
            prices.host + shares.host * host,
            prices.up + shares.up * up,
            prices.down + shares.down * down,
        )

    def parts(self, values: Floats) -> tuple[Floats, ...]:
        """Split values of resources into those of servers, arcs, uplinks and downlinks."""
        servers, arcs = self.servers, self.arcs
        return tuple(np.split(values, [servers, servers + arcs, 2 * servers + arcs]))


def build_layers(tables: MappingArrays) -> MapLayers:
    """Build the layers of a problem with additive cost.

    Raises
    ------
    ProblemTooLargeError
        When tables over components, empty hops and servers would not fit in memory.
    """
    network, task = tables.network, tables.task
    hops, servers = task.bandwidths.size, len(network.names)
    empty = min(tables.max_empty_hops, max(0, servers - 2) * (hops if tables.total_hops else 1))
    size = 8.0 * hops * servers * (empty + 1) * (2 if tables.total_hops else 1)
    refuse_beyond_memory(TABLES * size, f"{servers} servers with {empty} empty hops", "allow fewer empty hops")
    rates, needs = task.bandwidths[:, None], task.needs[:, None]
    free = [
        amounts * (1 + MAP_LAYER_SLACK) for amounts in (network.capacity, network.bandwidth, network.uplink, network.downlink)
    ]
    prices = UsePrices(
        arc=np.where(rates <= free[1], network.cost, np.inf),
        host=np.where(task.hosts & (needs <= free[0]), 0.0, np.inf),
        up=np.where((rates <= free[2]) & (network.uplink > 0), tables.public_cost, np.inf),
        down=np.where(rates <= free[3], 0.0, np.inf),
    )
    if not tables.cumulative:
        free[1:] = [np.full(amounts.size, np.inf) for amounts in free[1:]]
    inverse = [np.divide(1.0, amounts, out=np.zeros(amounts.size), where=amounts > 0) for amounts in free]
    shares = UsePrices(rates * inverse[1], needs * inverse[0], rates * inverse[2], rates * inverse[3])
    graph = LayeredGraph(
        first=network.first,
        target=network.target,
        needs=task.needs,
        rates=task.bandwidths,
        limit=np.concatenate(free),
        source=task.source,
        delivery=task.delivery,
        empty=empty,
        budgets=empty + 1 if tables.total_hops else 1,
    )
    return MapLayers(graph, prices, shares)


def refusal(problem: MappingProblem) -> str | None:
    """Return why labels and programs cannot express the cost of a problem; None if they can.

    Examples
    --------
    >>> problem = MappingProblem(
    ...     network={"nodes": [{"name": "a", "capacity": 1}]}, cost="load-balance",
    ...     task={"source": "a", "delivery": "a", "components": [], "bandwidths": [1]},
    ... )
    >>> refusal(problem)
    "cost 'load-balance' is no sum over links"
    """
    if problem.cost == "additive":
        return None
    return f"cost {problem.cost!r} is no sum over links"


HOST = -1
"""The move that puts the next component on the server where the map is. Other moves are arcs, and, from the number of arcs
on, public hops by where they lead."""


def cost_and_use(layers: MapLayers, moves: Sequence[int]) -> tuple[float, Floats]:
    """Return the cost of a map, and the share that it takes of each resource, shape (3 n + a,)."""
    graph, prices, shares = layers.graph, layers.prices, layers.shares
    used = np.zeros(graph.limit.size)
    host, arc, up, down = layers.parts(used)
    u, j, cost = graph.source, 0, 0.0
    for move in moves:
        if move == HOST:
            host[u] += shares.host[j, u]
            j += 1
        elif move < layers.arcs:
            arc[move] += shares.arc[j, move]
            cost += prices.arc[j, move]
            u = graph.target[move]
        else:
            up[u] += shares.up[j, u]
            cost += prices.up[j, u]
            u = move - layers.arcs
            down[u] += shares.down[j, u]
    return float(cost), used


def overloaded(used: Floats) -> list[int]:
    """Return the resources of which more than all is taken."""
    return [int(resource) for resource in np.flatnonzero(used > 1 + MAP_USE_SLACK)]


def moves_to_map(tables: MappingArrays, moves: Sequence[int]) -> PathMap:
    """Return the map of a sequence of moves, in names."""
    arcs = tables.network.target.size
    nodes: list[int] = []
    routes, public = [[tables.task.source]], [False]
    for move in moves:
        if move == HOST:
            nodes.append(routes[-1][-1])
            routes.append([nodes[-1]])
            public.append(False)
        else:
            public[-1] = move >= arcs
            routes[-1].append(move - arcs if move >= arcs else int(tables.network.target[move]))
    return path_map(tables.network, nodes, routes, public)


def map_to_moves(tables: MappingArrays, decision: PathMap) -> list[int]:
    """Return the sequence of moves of a map."""
    network = tables.network
    index = {name: position for position, name in enumerate(network.names)}
    arcs = {pair: arc for arc, pair in enumerate(zip(network.source.tolist(), network.target.tolist(), strict=True))}
    moves: list[int] = []
    for hop, route in enumerate(decision.routes):
        places = [index[name] for name in route]
        if decision.is_public(hop):
            moves.append(len(arcs) + places[-1])
        else:
            moves += [arcs[pair] for pair in pairwise(places)]
        moves += [HOST] * (hop < len(decision.nodes))
    return moves
