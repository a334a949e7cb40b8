"""Link re-allocation (bi-modal networks, §5, Alg. 4): which flows get dedicated links, decided anew at regular intervals."""

from __future__ import annotations

import numpy as np

from edrp.heuristics.mapping.reallocation_kernel import FreeArcs, improve_routes
from edrp.mapping.flow_arrays import FlowTables, most_links
from edrp.mapping.mapping_arrays import NetworkTables

__all__ = ["FlowTables", "reallocate"]


def reallocate(network: NetworkTables, flows: FlowTables, max_links: int, forwarding_price: float = 0.0) -> int:
    """Give flows direct links, or shorter routes of dedicated ones, where bandwidth is free: Algorithm 4, repaired.

    Server by server, flows to the same next server compete for the direct link by their priority, price times rate, while
    bandwidth lasts. What remains looks for a route of several links, by priority, with the fewest links that has room,
    within `max_links` and what the price pays for. Printed, all links are shared out anew each time, and a route of several
    links that was released may not be found again. Here a flow keeps what it has until something shorter is reserved: none
    ever ends worse than it began.

    Parameters
    ----------
    network
        Its `bandwidth` is what no flow holds; changed in place.
    flows
        `links` and `arcs` are changed in place.
    max_links
        Most links of a route, at most L.
    forwarding_price
        Money per byte for each server that only passes data on; a route costs at most the price of the flow.

    Returns
    -------
    int
        Number of flows that changed their route.

    Examples
    --------
    Both flows from a to c are on the public network, and the arcs a-b and b-c have room for one of them:

    >>> from edrp.mapping.documents import ServerNetwork
    >>> from edrp.mapping.mapping_arrays import network_tables
    >>> network = network_tables(ServerNetwork(
    ...     nodes=[{"name": name, "capacity": 1.0} for name in "abc"],
    ...     links=[{"source": "a", "target": "b", "bandwidth": 5.0}, {"source": "b", "target": "c", "bandwidth": 5.0}],
    ... ))
    >>> two = np.zeros(2, np.int32)
    >>> flows = FlowTables(two, two + 2, np.full(2, 4.0), np.array([1.0, 2.0]), two.copy(), np.zeros((2, 6), np.int32))
    >>> reallocate(network, flows, 6), flows.links, network.bandwidth
    (1, array([0, 2], dtype=int32), array([1., 5., 1., 5.]))
    """
    if max_links > flows.arcs.shape[1]:
        raise ValueError(f"routes have room for {flows.arcs.shape[1]} links: max_links must be no more (got {max_links})")
    movable = np.flatnonzero((flows.rate > 0) & (flows.links != 1) & (flows.source != flows.target))
    if not movable.size or not network.bandwidth.size:
        return 0
    order = movable[np.lexsort((-(flows.price * flows.rate)[movable], flows.source[movable]))]
    return int(
        improve_routes(
            FreeArcs(network.first, network.source, network.target, network.bandwidth),
            order,
            flows.source,
            flows.target,
            flows.rate,
            most_links(flows.price, max_links, forwarding_price),
            flows.links,
            flows.arcs,
        )
    )
