"""Brute force for links shared among a few flows: every choice of routes; rates on the public network by a linear program.

It shares no table and no algorithm with the methods that it checks.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise, product
from typing import Any

import networkx as nx
import numpy as np
from scipy.optimize import linprog

from edrp.core.tolerances import LIMIT_SLACK
from edrp.mapping.link_allocation import Flow, LinkAllocationProblem, Route


def brute_force_link_allocation(problem: LinkAllocationProblem) -> float | None:
    """Return the least objective over all decisions of a small problem; None where there is none.

    Routes through a server twice are left out: they only take more links.

    >>> problem = LinkAllocationProblem(
    ...     network={"nodes": [{"name": "a", "capacity": 0, "uplink": 3.0}, {"name": "b", "capacity": 0}],
    ...              "links": [{"source": "a", "target": "b", "bandwidth": 4.0}]},
    ...     flows=[{"name": "cheap", "source": "a", "target": "b", "rate": 4.0, "price": 1.0},
    ...            {"name": "valuable", "source": "a", "target": "b", "rate": 3.0, "price": 2.0}],
    ...     public_share=0.5,
    ... )
    >>> brute_force_link_allocation(problem)
    2.5
    """
    graph = nx.DiGraph(list(problem.network.arcs))
    graph.add_nodes_from(problem.network.by_name)
    best = math.inf
    for routes in product(*(_choices(problem, graph, flow) for flow in problem.flows)):
        if not _fits(problem, routes):
            continue
        forwarding = math.fsum(
            problem.forwarding_price * flow.rate * (len(route) - 2)
            for flow, route in zip(problem.flows, routes, strict=True)
            if route is not None
        )
        public = [flow for flow, route in zip(problem.flows, routes, strict=True) if route is None]
        public_cost = math.fsum((1 - problem.public_share) * flow.price * flow.rate for flow in public)
        if forwarding + public_cost < best:
            best = min(best, forwarding + _lost(problem, public))
    return None if math.isinf(best) else best


def _choices(problem: LinkAllocationProblem, graph: nx.DiGraph[Any], flow: Flow) -> list[Route | None]:
    """Return the routes that a flow may take by itself, and None where it need not have any."""
    free: list[Route | None] = [] if problem.keep and flow.route is not None else [None]
    ways = nx.all_simple_paths(graph, flow.source, flow.target, cutoff=problem.max_links)
    price = flow.price * (1 + LIMIT_SLACK)
    return [*free, *(tuple(way) for way in ways if (len(way) - 2) * problem.forwarding_price <= price)]


def _fits(problem: LinkAllocationProblem, routes: Sequence[Route | None]) -> bool:
    used: Counter[tuple[str, str]] = Counter()
    for flow, route in zip(problem.flows, routes, strict=True):
        used.update(dict.fromkeys(pairwise(route or ()), flow.rate))  # type: ignore[arg-type]  # a counter of amounts
    return all(rate <= problem.network.arcs[arc].bandwidth * (1 + LIMIT_SLACK) for arc, rate in used.items())


def _lost(problem: LinkAllocationProblem, public: Sequence[Flow]) -> float:
    """Return the least revenue lost by flows that have the public network only."""
    if not public:
        return 0.0
    servers = problem.network.by_name
    rows = [[float(flow.source == name) for flow in public] for name in servers]
    limits = [server.uplink for server in servers.values()]
    limited = [server for server in servers.values() if server.downlink is not None]
    rows += [[float(flow.target == server.name) for flow in public] for server in limited]
    limits += [server.downlink for server in limited if server.downlink is not None]
    gain = -problem.public_share * np.array([flow.price for flow in public])
    result = linprog(gain, A_ub=rows, b_ub=limits, bounds=[(0.0, flow.rate) for flow in public])
    assert result.fun is not None, "rates of 0 keep to every limit"
    return math.fsum(flow.price * flow.rate for flow in public) + float(result.fun)
