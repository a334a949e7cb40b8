"""Link re-allocation (bi-modal networks, §5, Alg. 4), at one moment and as a method for problems of kind `link-allocation`."""

from __future__ import annotations

import numpy as np

from edrp import _native
from edrp.core.budget import spend
from edrp.core.methods import Method, Options
from edrp.core.solution import Answer
from edrp.core.tolerances import LIMIT_SLACK
from edrp.heuristics.note_wording import judged_answer
from edrp.mapping.link_allocation import LinkAllocationProblem
from edrp.mapping.mapping_arrays import FlowArrays, NetworkArrays, flow_arrays, network_arrays, route_limits, route_names

FLOW_UNITS, SEARCHED_ARC_UNITS = 4e-7, 1e-8
"""Units of work per flow that may change its route, and per arc."""


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
    arcs = network.first, network.source, network.target, network.bandwidth
    limits = route_limits(flows.price, max_links, forwarding_price)
    held = flows.source, flows.target, flows.rate, limits, flows.links, flows.arcs
    return int(_native.improve_routes(*arcs, order, *held))


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
        return judged_answer(problem, problem.allocated(routes), self.name)


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
