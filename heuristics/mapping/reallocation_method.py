"""Link re-allocation as a method for problems of kind `link-allocation`."""

from __future__ import annotations

import numpy as np

from edrp.core.methods import Method, Options
from edrp.core.solution import Answer
from edrp.heuristics.mapping.reallocation import reallocate
from edrp.heuristics.notes import listed
from edrp.mapping.flow_arrays import FlowTables, flow_tables, most_links, route_names
from edrp.mapping.link_allocation import SLACK, LinkAllocationProblem
from edrp.mapping.mapping_arrays import NetworkTables, network_tables


class GreedyReallocation(Method):
    """The paper's rule at one moment (Alg. 4): direct links by price and rate, then the shortest other routes.

    A flow keeps what it has until something shorter is reserved. Only what breaks a limit now is given up before anything
    else: routes that are too long or too dear, and on links that have too little bandwidth the flows of least priority.

    Examples
    --------
    The dear flow gets the link, the other one keeps to the public network:

    >>> problem = LinkAllocationProblem(
    ...     network={
    ...         "nodes": [{"name": "a", "capacity": 0, "uplink": 3.0}, {"name": "b", "capacity": 0}],
    ...         "links": [{"source": "a", "target": "b", "bandwidth": 4.0}],
    ...     },
    ...     flows=[{"name": "cheap", "source": "a", "target": "b", "rate": 4.0, "price": 1.0},
    ...            {"name": "dear", "source": "a", "target": "b", "rate": 3.0, "price": 2.0}],
    ... )
    >>> answer = GreedyReallocation().run(problem, Options())
    >>> [(each.flow, each.route, each.public_rate) for each in answer.decision]
    [('cheap', None, 3.0), ('dear', ('a', 'b'), 0.0)]
    """

    name = "greedy-reallocation"
    kinds = ("link-allocation",)
    summary = "direct links by price and rate, then the shortest other routes; no flow ends worse than it began"

    def run(self, problem: LinkAllocationProblem, options: Options) -> Answer:
        """Apply the rule once."""
        self.read_parameters(options)
        network = network_tables(problem.network)
        flows = flow_tables(problem, network)
        hold_what_fits(network, flows, problem)
        reallocate(network, flows, problem.max_links, problem.forwarding_price)
        routes = {flow.name: route_names(network, flows.route(index)) for index, flow in enumerate(problem.flows)}
        decision = problem.allocated(routes)
        evaluation = problem.evaluate(decision)
        if evaluation.feasible:
            return Answer("feasible", "finished", decision, evaluation.objective)
        return Answer("none", "finished", notes=(f"{self.name} breaks {listed(evaluation.broken)}",))


def hold_what_fits(network: NetworkTables, flows: FlowTables, problem: LinkAllocationProblem) -> None:
    """Take what flows hold off the bandwidth that is free, by falling priority; routes that break a limit are given up."""
    most = most_links(flows.price, problem.max_links, problem.forwarding_price)
    rounding = SLACK * network.bandwidth
    for flow in np.argsort(-flows.price * flows.rate, kind="stable"):
        needed = np.bincount(flows.route(flow), minlength=network.bandwidth.size) * flows.rate[flow]
        if flows.links[flow] > most[flow] or (needed > network.bandwidth + rounding)[flows.route(flow)].any():
            flows.links[flow] = 0
        else:
            network.bandwidth -= needed


METHODS = (GreedyReallocation(),)
"""Methods for problems of kind `link-allocation`."""
