"""Link re-allocation (bi-modal networks, §5, Alg. 4), at one moment and as a method for problems of kind `link-allocation`."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from edrp.core.budget import spend
from edrp.core.kernels import inlined, kernel
from edrp.core.methods import Method, Options
from edrp.core.solution import Answer
from edrp.core.tolerances import LIMIT_SLACK
from edrp.heuristics.note_wording import listed
from edrp.mapping.link_allocation import LinkAllocationProblem
from edrp.mapping.mapping_arrays import FlowArrays, NetworkArrays, flow_arrays, network_arrays, route_limits, route_names

FLOW_UNITS, SEARCHED_ARC_UNITS = 4e-7, 1e-8
"""Units of work per flow that may change its route, and per arc."""


class FreeArcs(NamedTuple):
    """Arcs out of each of n servers: `first` (n + 1,), `source`, `target` and `free` bandwidth (a,), as in `NetworkArrays`."""

    first: np.ndarray
    source: np.ndarray
    target: np.ndarray
    free: np.ndarray


class RouteProbe(NamedTuple):
    """Working arrays of a breadth-first search among n servers.

    `out` and `into` (n,) are at least the max_links that one arc out of or into each server has free. `seen` (n,) holds the
    number of the last search that came by, `depth` and `by` (n,) at which distance and over which arc it came first, and
    `queue` (n,) in which order.
    """

    out: np.ndarray
    into: np.ndarray
    seen: np.ndarray
    depth: np.ndarray
    by: np.ndarray
    queue: np.ndarray


@kernel
def improve_routes(
    arcs: FreeArcs,
    order: np.ndarray,
    source: np.ndarray,
    destination: np.ndarray,
    rate: np.ndarray,
    max_links: np.ndarray,
    links: np.ndarray,
    route: np.ndarray,
) -> int:
    """Give flows the direct link or a shorter route where there is room; return the number of flows that changed.

    `order` has the flows that may change, server by server and by falling priority; the other arrays are those of all flows:
    `rate` and `max_links` links that a route may have; `links` and `route`, what they hold, are changed, as are the free arcs.
    """
    servers = arcs.first.size - 1
    probe = RouteProbe(
        np.zeros(servers),
        np.zeros(servers),
        np.zeros(servers, np.int64),
        np.zeros(servers, np.int64),
        np.zeros(servers, np.int64),
        np.zeros(servers, np.int64),
    )
    for arc in range(arcs.free.size):
        _note_free(arcs, probe, arc)
    changed, searches, begin = 0, 0, 0
    while begin < order.size:
        end = begin + 1
        while end < order.size and source[order[end]] == source[order[begin]]:
            end += 1
        for direct in (True, False):
            for position in range(begin, end):
                flow = order[position]
                limit = 1 if direct else max_links[flow] if links[flow] == 0 else min(max_links[flow], links[flow] - 1)
                if limit == 0:
                    continue
                searches += 1
                length = _search(arcs, probe, source[flow], destination[flow], rate[flow], limit, searches)
                if length:
                    _take(arcs, probe, destination[flow], rate[flow], length, links, route, flow)
                    changed += 1
        begin = end
    return changed


@inlined
def _search(arcs: FreeArcs, probe: RouteProbe, origin: int, destination: int, rate: float, limit: int, number: int) -> int:
    """Search breadth first for the route with fewest arcs that has room; return its length, 0 for no such route."""
    needed = rate * (1 - LIMIT_SLACK)
    if probe.out[origin] < needed or probe.into[destination] < needed:
        return 0
    probe.seen[origin] = number
    probe.depth[origin] = 0
    probe.queue[0] = origin
    head, tail = 0, 1
    while head < tail:
        server = probe.queue[head]
        head += 1
        length = probe.depth[server] + 1
        if length > limit:
            break
        for arc in range(arcs.first[server], arcs.first[server + 1]):
            following = arcs.target[arc]
            if arcs.free[arc] >= needed and probe.seen[following] != number:
                probe.seen[following] = number
                probe.depth[following] = length
                probe.by[following] = arc
                if following == destination:
                    return length
                probe.queue[tail] = following
                tail += 1
    return 0


@inlined
def _take(
    arcs: FreeArcs, probe: RouteProbe, destination: int, rate: float, length: int, links: np.ndarray, route: np.ndarray, flow: int
) -> None:
    """Reserve the route that was found, and only then release the one that the flow had."""
    server = destination
    for _ in range(length):
        arc = probe.by[server]
        arcs.free[arc] -= rate
        server = arcs.source[arc]
    for position in range(links[flow]):
        arcs.free[route[flow, position]] += rate
        _note_free(arcs, probe, route[flow, position])
    server = destination
    for position in range(length - 1, -1, -1):
        route[flow, position] = probe.by[server]
        server = arcs.source[probe.by[server]]
    links[flow] = length


@inlined
def _note_free(arcs: FreeArcs, probe: RouteProbe, arc: int) -> None:
    """Raise the bounds of an arc's servers by the bandwidth that is free on it."""
    probe.out[arcs.source[arc]] = max(probe.out[arcs.source[arc]], arcs.free[arc])
    probe.into[arcs.target[arc]] = max(probe.into[arcs.target[arc]], arcs.free[arc])


def reallocate(network: NetworkArrays, flows: FlowArrays, max_links: int, forwarding_price: float = 0.0) -> int:
    """Give flows direct links, or shorter routes of dedicated ones, where bandwidth is free: Algorithm 4, repaired.

    Server by server, flows to the same next server compete for the direct link by their priority, price times rate, while
    bandwidth lasts. A remaining flow looks for a route of several links, by priority, with the fewest links that has room,
    within `max_links` and what the price pays for. Printed, all links are shared out again each time, and a route of several
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
    """
    if max_links > flows.arcs.shape[1]:
        raise ValueError(f"routes have room for {flows.arcs.shape[1]} links: max_links must be no more (got {max_links})")
    movable = np.flatnonzero((flows.rate > 0) & (flows.links != 1) & (flows.source != flows.target))
    if not movable.size or not network.bandwidth.size:
        return 0
    order = movable[np.lexsort((-(flows.price * flows.rate)[movable], flows.source[movable]))]
    spend(FLOW_UNITS * order.size + SEARCHED_ARC_UNITS * network.bandwidth.size)
    return int(
        improve_routes(
            FreeArcs(network.first, network.source, network.target, network.bandwidth),
            order,
            flows.source,
            flows.target,
            flows.rate,
            route_limits(flows.price, max_links, forwarding_price),
            flows.links,
            flows.arcs,
        )
    )


class GreedyReallocation(Method):
    """The paper's rule at one moment (Alg. 4): direct links by price and rate, then the shortest other routes.

    A flow keeps what it has until something shorter is reserved. Only what breaks a limit now is given up before anything
    else: routes that are too long or too expensive, and on links that have too little bandwidth the flows of least priority.
    """

    name = "greedy-reallocation"
    kinds = ("link-allocation",)
    summary = "direct links by price and rate, then the shortest other routes; no flow ends worse than it began"

    def run(self, problem: LinkAllocationProblem, options: Options) -> Answer:
        """Apply the rule once."""
        self.read_parameters(options)
        network = network_arrays(problem.network)
        flows = flow_arrays(problem, network)
        hold_what_fits(network, flows, problem)
        reallocate(network, flows, problem.max_links, problem.forwarding_price)
        routes = {flow.name: route_names(network, flows.route(index)) for index, flow in enumerate(problem.flows)}
        decision = problem.allocated(routes)
        evaluation = problem.evaluate(decision)
        if evaluation.feasible:
            return Answer("feasible", "finished", decision, evaluation.objective)
        return Answer("none", "finished", notes=(f"{self.name} breaks {listed(evaluation.broken)}",))


def hold_what_fits(network: NetworkArrays, flows: FlowArrays, problem: LinkAllocationProblem) -> None:
    """Subtract the current routes from the free bandwidth, by falling priority; drop routes that break a limit."""
    limits = route_limits(flows.price, problem.max_links, problem.forwarding_price)
    rounding = LIMIT_SLACK * network.bandwidth
    for flow in np.argsort(-flows.price * flows.rate, kind="stable"):
        needed = np.bincount(flows.route(flow), minlength=network.bandwidth.size) * flows.rate[flow]
        if flows.links[flow] > limits[flow] or (needed > network.bandwidth + rounding)[flows.route(flow)].any():
            flows.links[flow] = 0
        else:
            network.bandwidth -= needed


METHODS = (GreedyReallocation(),)
"""Methods for problems of kind `link-allocation`."""
