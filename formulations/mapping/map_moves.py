"""Maps as sequences of moves, the form in which searches find them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from edrp.core.arrays import Floats
from edrp.core.tolerances import MAP_USE_SLACK
from edrp.formulations.mapping.layered_graph import MapLayers
from edrp.mapping.mapping_arrays import MappingArrays, path_map
from edrp.mapping.path_tasks import PathMap

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
