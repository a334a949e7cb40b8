"""Tables of shortest routes over physical links: the same routes as in `routes.py`, for compiled problems."""

from __future__ import annotations

import numpy as np

from edrp.core.arrays import Floats
from edrp.core.budget import look, refuse_beyond_memory
from edrp.core.late_imports import csgraph, sparse
from edrp.core.tolerances import EQUAL_ROUTE_DELAYS
from edrp.placement.network import Network

TABLES = 8
"""Tables over pairs of nodes that are held at once."""


def route_tables(network: Network, nodes: tuple[str, ...]) -> dict[str, Floats]:
    """Delay, cost and availability of the routes between some nodes of a network, each of shape (nodes, nodes).

    Distances are computed first, in whole steps. Nodes are then visited in the order of their distances, for all sources at
    once: of the links that end a shortest route, each takes the one with the lowest cost, then the largest bandwidth, then
    the first node.

    Raises
    ------
    ProblemTooLargeError
        When the tables would take more memory than there is.

    Examples
    --------
    >>> links = [{"source": "a", "target": "b", "delay": 0.25}, {"source": "b", "target": "c", "delay": 0.5}]
    >>> network = Network(nodes=[{"name": name} for name in "abc"], links=links, routed=True)
    >>> route_tables(network, ("a", "c"))["delay"].tolist()
    [[0.0, 0.75], [0.75, 0.0]]
    """
    size = len(network.nodes)
    index = {node.name: v for v, node in enumerate(network.nodes)}
    origins = np.array([index[name] for name in nodes])
    refuse_beyond_memory(TABLES * 8 * origins.size * size, f"routes between {size} nodes", "narrow the operators' candidates")
    ends = np.array([(index[link.source], index[link.target]) for link in network.links], np.int64).reshape(-1, 2)
    fields = [(link.delay, link.cost, link.availability, link.bandwidth or np.inf) for link in network.links]
    values = np.array(fields, float).reshape(-1, 4)
    if network.symmetric:
        ends, values = np.vstack([ends, ends[:, ::-1]]), np.vstack([values, values])
    by_target = np.argsort(ends[:, 1], kind="stable")
    (source, target), (delay, cost, availability, bandwidth) = ends[by_target].T, values[by_target].T
    step = max(EQUAL_ROUTE_DELAYS, delay.max(initial=0.0) * size / 2**52)
    steps = np.maximum(1.0, np.rint(delay / step))
    distance = csgraph.dijkstra(sparse.csr_array((steps, (source, target)), shape=(size, size)), directed=True, indices=origins)
    first = np.searchsorted(target, np.arange(size + 1))
    degree = np.diff(first)
    routed = [np.full(distance.shape, value) for value in (np.inf, 0.0, 1.0, np.inf)]
    routed[0][np.arange(origins.size), origins] = 0.0
    for column in np.argsort(distance, axis=1, kind="stable").T[1:]:
        look(f"the routes between {size} nodes")
        rows = np.flatnonzero(np.isfinite(distance[np.arange(origins.size), column]))
        count = degree[column[rows]]
        row = np.repeat(rows, count)
        link = np.repeat(first[column[rows]] - np.cumsum(count) + count, count) + np.arange(row.size)
        tight = distance[row, source[link]] + steps[link] == distance[row, target[link]]
        row, link = row[tight], link[tight]
        so_far = [table[row, source[link]] for table in routed]
        price, width = so_far[1] + cost[link], np.minimum(so_far[3], bandwidth[link])
        order = np.lexsort((source[link], -width, price, row))
        best = order[np.unique(row[order], return_index=True)[1]]
        longer = so_far[0] + delay[link], price, so_far[2] * availability[link], width
        for table, value in zip(routed, longer, strict=True):
            table[row[best], target[link[best]]] = value[best]
    return dict(zip(("delay", "cost", "availability"), (table[:, origins] for table in routed), strict=False))
