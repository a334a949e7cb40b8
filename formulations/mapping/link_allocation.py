"""Allocation of links to flows as the exact program "paths".

A binary column says whether a flow takes an arc: one for each arc that lies on some route of the flow with few enough links
and bandwidth enough. A flow that takes none may have any share of its rate on the public network. Cycles apart from a route are
not forbidden: they only take room and are never read back.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from time import perf_counter

import networkx as nx
import numpy as np

from edrp.core.arrays import Bools, Floats, Ints, Ints32
from edrp.core.budget import refuse_beyond_memory
from edrp.core.late_imports import csgraph, sparse
from edrp.core.program import Linear, Program
from edrp.core.tolerances import LIMIT_SLACK
from edrp.formulations.formulation import Formulation
from edrp.mapping.link_allocation import FlowAllocation, LinkAllocationProblem
from edrp.mapping.mapping_arrays import FlowArrays, NetworkArrays, arc_numbers, flow_arrays, network_arrays, route_limits

BYTES_PER_PAIR = 40
"""Memory of a flow and an arc while it is found out whether the one can take the other."""


@dataclass(frozen=True, slots=True)
class LinkAllocationFormulation(Formulation):
    """A problem of flows and links formulated as a program.

    Attributes
    ----------
    flow, arc : shape (K,), what the columns of the block `arc` stand for: that a flow takes an arc.

    Examples
    --------
    Two flows of one kind, of which the link can carry one; a row gives it to the cheap one:

    >>> problem = LinkAllocationProblem(
    ...     network={
    ...         "nodes": [{"name": "a", "capacity": 0, "uplink": 9.0}, {"name": "b", "capacity": 0}],
    ...         "links": [{"source": "a", "target": "b", "bandwidth": 4.0}],
    ...     },
    ...     flows=[{"name": "cheap", "source": "a", "target": "b", "rate": 4.0, "price": 1.0},
    ...            {"name": "valuable", "source": "a", "target": "b", "rate": 4.0, "price": 2.0}],
    ...     public_share=0.5,
    ... )
    >>> formulation = formulate_link_allocation(problem)
    >>> from edrp.formulations.methods import solve_formulation
    >>> solve_formulation(formulation).objective
    2.0
    >>> formulation.program.add_row("not the valuable one", Linear.of(formulation.program["dedicated"][1]), upper=0)
    >>> solve_formulation(formulation).objective
    4.0
    """

    network: NetworkArrays
    flows: FlowArrays
    flow: Ints
    arc: Ints

    @property
    def limits(self) -> Mapping[str, str]:
        """Rates of links and of the public network, and the length of routes."""
        return {
            "links": "max_links and forwarding_price",
            "bandwidth": "bandwidth of the links",
            "uplink": "uplinks of the servers",
            "downlink": "downlinks of the servers",
        }

    def decode(self, values: Floats) -> tuple[FlowAllocation, ...]:
        """Read routes, and rates on the public network."""
        names, program = self.network.names, self.program
        taken = np.flatnonzero(values[program["arc"]] > 0.5)
        ends: list[list[tuple[int, int]]] = [[] for _ in self.problem.flows]
        for flow, arc in zip(self.flow[taken].tolist(), self.arc[taken].tolist(), strict=True):
            ends[flow].append((int(self.network.source[arc]), int(self.network.target[arc])))
        dedicated = values[program["dedicated"]] > 0.5
        shares = public_room(self.flows, self.network) * values[program["public"]]
        rates = public_rates(np.where(dedicated, 0.0, shares), self.flows, self.network)
        allocations = []
        for index, flow in enumerate(self.problem.flows):
            route = None
            if dedicated[index]:
                servers = nx.shortest_path(nx.DiGraph(ends[index]), int(self.flows.source[index]), int(self.flows.target[index]))
                route = tuple(names[server] for server in servers)
            allocations.append(FlowAllocation(flow=flow.name, route=route, public_rate=rates[index]))
        return tuple(allocations)

    def encode(self, decision: Sequence[FlowAllocation]) -> Floats | None:
        """Return a starting point; None where a route takes an arc that has no column for the flow."""
        program, by_flow = self.program, {allocation.flow: allocation for allocation in decision}
        columns = dict(zip(zip(self.flow.tolist(), self.arc.tolist(), strict=True), program["arc"].tolist(), strict=True))
        index = {name: position for position, name in enumerate(self.network.names)}
        numbers = arc_numbers(self.network)
        start, room = np.zeros(program.columns), public_room(self.flows, self.network)
        for position, flow in enumerate(self.problem.flows):
            each = by_flow[flow.name]
            start[program["public"][position]] = each.public_rate / flow.rate / (room[position] or 1.0)
            start[program["dedicated"][position]] = each.route is not None
            for u, v in pairwise(each.route or ()):
                column = columns.get((position, numbers[index[u], index[v]]))
                if column is None or start[column]:
                    return None
                start[column] = 1.0
        return start

    def objective_at(self, values: Floats, decision: Sequence[FlowAllocation]) -> float:
        """Return the objective of the decision: without cycles, and without a solver's tolerance on up- and downlinks."""
        point = self.encode(decision)
        return self.model_objective.value(values if point is None else point)

    def tie_breaks(self) -> tuple[Linear, ...]:
        """Prefer few links among optimal solutions."""
        return (Linear.of(self.program["arc"]),)


def public_room(flows: FlowArrays, network: NetworkArrays) -> Floats:
    """The share of each flow that its up- and downlink take at most, shape (F,): the unit of its column `public`.

    A share far below a solver's tolerance would else go with a route for nothing.
    """
    return np.minimum(1.0, np.minimum(network.uplink[flows.source], network.downlink[flows.target]) / flows.rate)


def public_rates(share: Floats, flows: FlowArrays, network: NetworkArrays) -> list[float]:
    """Compute rates on the public network from shares, shape (F,), without a solver's tolerance on up- and downlinks."""
    rates = np.where(share <= 0, 0.0, np.minimum(share, 1.0) * flows.rate)
    for ends, limit in ((flows.source, network.uplink), (flows.target, network.downlink)):
        used = np.bincount(ends, rates, limit.size)
        rates = rates * np.divide(limit, used, out=np.ones_like(used), where=used > limit)[ends]
    return [float(rate) for rate in rates]


def formulate_link_allocation(problem: LinkAllocationProblem, program: str = "paths") -> LinkAllocationFormulation:
    """Formulate the allocation of links to flows as the program "paths".

    Raises
    ------
    ProblemTooLargeError
        When the program would not fit into memory.
    """
    started = perf_counter()
    network = network_arrays(problem.network)
    flows = flow_arrays(problem, network)
    pairs = len(problem.flows) * network.bandwidth.size
    what = f"{len(problem.flows)} flows on {network.bandwidth.size} arcs"
    refuse_beyond_memory(float(pairs) * BYTES_PER_PAIR, what, "", ("greedy-reallocation",))
    limits = route_limits(flows.price, problem.max_links, problem.forwarding_price)
    flow, arc = np.nonzero(usable(network, flows, limits))
    built = Program()
    dedicated = built.add_columns(
        "dedicated", len(problem.flows), lower=(flows.links > 0) & problem.keep, upper=1.0, integer=True
    )
    public = built.add_columns("public", len(problem.flows), upper=1.0)
    arcs = built.add_columns("arc", flow.size, upper=1.0, integer=True)
    _add_route_rows(built, network, flows, flow, arc, limits)
    _add_rate_rows(built, network, flows, flow, arc)
    value, forwarding = flows.price * flows.rate, problem.forwarding_price * flows.rate
    objective = Linear.of(dedicated, -value, constant=float(value.sum()))
    objective += Linear.of(public, -problem.public_share * value * public_room(flows, network))
    # The first link of a route is free: no forwarding is taken off again, which could be far more than a flow is worth.
    objective += Linear.of(arcs, np.where(network.source[arc] == flows.source[flow], 0.0, forwarding[flow]))
    built.minimise(objective)
    return LinkAllocationFormulation(problem, program, built, objective, perf_counter() - started, network, flows, flow, arc)


def usable(network: NetworkArrays, flows: FlowArrays, limits: Ints) -> Bools:
    """Find the arcs that lie on a route of each flow with at most `limits` (F,) links and enough bandwidth; shape (F, arcs).

    By distances first; then arcs are dropped that only lead into a dead end and back.
    """
    servers, source, target = len(network.names), network.source, network.target
    links = sparse.csr_array((np.ones(source.size), (source, target)), shape=(servers, servers))
    starts, of_start = np.unique(flows.source, return_inverse=True)
    ends, of_end = np.unique(flows.target, return_inverse=True)
    here = csgraph.shortest_path(links, unweighted=True, indices=starts)[of_start]
    there = csgraph.shortest_path(links.T, unweighted=True, indices=ends)[of_end]
    pairs: Bools = here[:, source] + 1 + there[:, target] <= limits[:, None]
    pairs &= network.bandwidth * (1 + LIMIT_SLACK) >= flows.rate[:, None]
    pairs &= (target != flows.source[:, None]) & (source != flows.target[:, None])
    numbers = arc_numbers(network)
    reverse = np.array([numbers.get((v, u), -1) for u, v in numbers], np.int64)  # -1: no arc leads back
    begins, finishes = source == flows.source[:, None], target == flows.target[:, None]
    while True:
        back = pairs[:, reverse] & (reverse >= 0)
        onwards = _by_server(pairs, source, servers)[:, target] - back
        before = _by_server(pairs, target, servers)[:, source] - back
        usable_pairs = pairs & (finishes | (onwards > 0)) & (begins | (before > 0))
        if usable_pairs.sum() == pairs.sum():
            return usable_pairs
        pairs = usable_pairs


def _by_server(pairs: Bools, ends: Ints32, servers: int) -> Ints:
    """Count the arcs of each flow at each server, shape (F, servers)."""
    flow, arc = np.nonzero(pairs)
    return np.bincount(flow * servers + ends[arc], minlength=len(pairs) * servers).reshape(len(pairs), servers)


def _add_route_rows(program: Program, network: NetworkArrays, flows: FlowArrays, flow: Ints, arc: Ints, limits: Ints) -> None:
    """Rows `route`: what leads to a server leads on; `links`: no more than a flow may have; `network`: one of the two."""
    servers, count = len(network.names), flows.rate.size
    ordinal = np.arange(count)
    arcs, dedicated = program["arc"], program["dedicated"]
    ends = [flow * servers + network.source[arc], flow * servers + network.target[arc]]
    ends += [ordinal * servers + flows.source, ordinal * servers + flows.target]
    keys, rows = np.unique(np.concatenate(ends), return_inverse=True)
    columns = np.concatenate([arcs, arcs, dedicated, dedicated])
    signs = np.repeat([1.0, -1.0, -1.0, 1.0], [arcs.size, arcs.size, count, count])
    program.add_rows("route", keys.size, [(rows, columns, signs)], lower=0.0, upper=0.0)
    program.add_rows("links", count, [(flow, arcs, 1.0), (ordinal, dedicated, -limits)], upper=0.0)
    program.add_rows("network", count, [(ordinal, dedicated, 1.0), (ordinal, program["public"], 1.0)], upper=1.0)


def _add_rate_rows(program: Program, network: NetworkArrays, flows: FlowArrays, flow: Ints, arc: Ints) -> None:
    """Rows `bandwidth`, `uplink`, `downlink`: shares in use of arcs, and of what servers send and receive publicly."""
    used, rows = np.unique(arc, return_inverse=True)
    shares = flows.rate[flow] / network.bandwidth[arc]
    program.add_rows("bandwidth", used.size, [(rows, program["arc"], shares)], upper=1 + LIMIT_SLACK / 2)
    for name, ends, limits in (("uplink", flows.source, network.uplink), ("downlink", flows.target, network.downlink)):
        limited = np.flatnonzero(np.isfinite(limits[ends]))
        used, rows = np.unique(ends[limited], return_inverse=True)
        scale = np.where(limits[used] > 0, limits[used], 1.0)
        entries = [(rows, program["public"][limited], (public_room(flows, network) * flows.rate)[limited] / scale[rows])]
        program.add_rows(name, used.size, entries, upper=limits[used] / scale)
