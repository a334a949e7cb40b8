"""`route-selection`: allocation of links as a choice among the few routes of each flow that can be best.

The program "paths" has a column for each arc that a flow can take. Where flows have few routes, most of it is known beforehand:

1. All routes of a flow are listed, with few enough links and bandwidth enough for the flow alone.
2. An arc is *scarce* where the flows that may take it have more rate in all than it has bandwidth. A route without scarce arcs
   takes nothing from others, so that no route of the flow with as many links or more can be better. Fewer routes make fewer
   arcs scarce, and this is repeated.
3. A flow with such a route that costs nothing gets it. One without any route, between servers whose up- and downlink suffice
   for all that may use them, sends all of its rate over the public network.

The program that is left holds the other flows, and only limits that can be exceeded. Rows say how many routes an arc can carry
at most, and cuts that a set of flows is too much for an arc (`route_covers.py`): its linear relaxation is then mostly integral.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import accumulate, pairwise
from math import fsum, inf
from typing import NamedTuple

import numpy as np

from edrp.backends import ProgramResult
from edrp.backends.closing import Closing
from edrp.backends.proof_tree import NotClosedError
from edrp.backends.solving import solve_program
from edrp.core.arrays import Floats
from edrp.core.budget import deadline, now, spend
from edrp.core.errors import OutOfTimeError
from edrp.core.late_imports import csgraph, sparse
from edrp.core.methods import Method, Options
from edrp.core.problem import derived
from edrp.core.program import Linear, Program
from edrp.core.solution import Answer, Proof, resolution
from edrp.core.tolerances import LIMIT_SLACK, SAME_VALUE
from edrp.formulations.mapping.link_allocation import public_rates, public_room
from edrp.formulations.mapping.route_covers import ScarceArc, violated_covers
from edrp.mapping.link_allocation import Flow, FlowAllocation, LinkAllocationProblem
from edrp.mapping.mapping_arrays import FlowArrays, NetworkArrays, flow_arrays, network_arrays, route_limits

MAX_ROUTES = 50
"""Routes per flow, on average, up to which they are listed; beyond, the program over arcs is smaller."""

STEP_WORK = 1e-6
"""Units of work for a server that a listed route leads to."""

TREE_WORK = 0.02
"""Units of work for the tree before HiGHS has its turn; most programs take a dozen linear programs of it."""

Servers = tuple[int, ...]
"""A route, or an arc, by the numbers of its servers."""

Resource = tuple[int, int]
"""An arc, or one of `UPLINK` and `DOWNLINK` with a server."""

UPLINK, DOWNLINK = -1, -2


class RouteChoices(NamedTuple):
    """The choices that are left for F flows.

    Attributes
    ----------
    network, flows : the problem as arrays.
    routes : of each flow those that can be best, by length; of a flow that is decided, the one that it gets, or none.
    decided : whether a flow is decided: for its route, or for the public network without any limit that could be exceeded.
    limits : what there is of scarce resources.
    """

    network: NetworkArrays
    flows: FlowArrays
    routes: list[list[Servers]]
    decided: list[bool]
    limits: dict[Resource, float]


@derived
def route_choices(problem: LinkAllocationProblem) -> RouteChoices | None:
    """List the routes that can be best; None where there are too many."""
    network = network_arrays(problem.network)
    flows = flow_arrays(problem, network)
    routes = _all_routes(problem, network, flows)
    if routes is None:
        return None
    bandwidth = dict(
        zip(zip(network.source.tolist(), network.target.tolist(), strict=True), network.bandwidth.tolist(), strict=True)
    )
    scarce = _without_dominated(routes, flows.rate.tolist(), bandwidth, bool(problem.forwarding_price))
    decided = [len(own) == 1 and scarce.isdisjoint(pairwise(own[0])) for own in routes]
    if problem.forwarding_price:
        decided = [is_decided and len(own[0]) == 2 for is_decided, own in zip(decided, routes, strict=True)]
    limits: dict[Resource, float] = {arc: bandwidth[arc] for arc in scarce}
    free = ~np.array(decided)
    for kind, ends, limit in ((UPLINK, flows.source, network.uplink), (DOWNLINK, flows.target, network.downlink)):
        used = np.bincount(ends[free], flows.rate[free], limit.size)
        limits |= {(kind, server): float(limit[server]) for server in np.flatnonzero(used > limit).tolist()}
    for index, (source, target) in enumerate(zip(flows.source.tolist(), flows.target.tolist(), strict=True)):
        if not routes[index] and not _keeps(problem, index):
            decided[index] = (UPLINK, source) not in limits and (DOWNLINK, target) not in limits
    return RouteChoices(network, flows, routes, decided, limits)


def _keeps(problem: LinkAllocationProblem, flow: int) -> bool:
    """Whether a flow must have a dedicated route."""
    return problem.keep and problem.flows[flow].route is not None


def _all_routes(problem: LinkAllocationProblem, network: NetworkArrays, flows: FlowArrays) -> list[list[Servers]] | None:
    """List the routes of each flow, shortest first; None once there are too many."""
    servers = len(network.names)
    targets, of_target = np.unique(flows.target, return_inverse=True)
    limits = route_limits(flows.price, problem.max_links, problem.forwarding_price)
    links = sparse.csr_array((np.ones(network.source.size), (network.target, network.source)), shape=(servers, servers))
    to_target = csgraph.shortest_path(links, unweighted=True, indices=targets).tolist()
    onward: list[list[tuple[int, float]]] = [[] for _ in range(servers)]
    widths = network.bandwidth * (1 + LIMIT_SLACK / 2)
    for source, target, width in zip(network.source.tolist(), network.target.tolist(), widths.tolist(), strict=True):
        onward[source].append((target, width))
    left, routes = MAX_ROUTES * flows.rate.size, []
    ends = (flows.source.tolist(), flows.rate.tolist(), limits.tolist(), of_target.tolist())
    for source, rate, links, target in zip(*ends, strict=True):
        own: list[Servers] = []
        for route in _walks(onward, source, rate, links, to_target[target]):
            own.append(route)
            if len(own) > left:
                return None
        left -= len(own)
        routes.append(sorted(own, key=len))
    return routes


def _walks(
    onward: list[list[tuple[int, float]]], source: int, rate: float, links: int, distance: list[float]
) -> Iterator[Servers]:
    """Yield the routes of a flow without a server twice; `distance` is that of each server from the target, in links."""
    waiting: list[Servers] = [(source,)] if distance[source] <= links else []
    while waiting:
        route = waiting.pop()
        spend(STEP_WORK)
        for server, width in onward[route[-1]]:
            if rate <= width and len(route) + distance[server] <= links and server not in route:
                if distance[server]:
                    waiting.append((*route, server))
                else:
                    yield (*route, server)


def _without_dominated(
    routes: list[list[Servers]], rates: list[float], bandwidth: dict[Resource, float], priced: bool
) -> set[Resource]:
    """Drop routes that cannot be better than others, in place, where passing servers is `priced` or not; return scarce arcs."""
    while True:
        loads = dict.fromkeys(bandwidth, 0.0)
        for rate, own in zip(rates, routes, strict=True):
            for arc in {arc for route in own for arc in pairwise(route)}:
                loads[arc] += rate
        scarce = {arc for arc, load in loads.items() if load > bandwidth[arc] * (1 + LIMIT_SLACK / 2)}
        dropped = False
        for index, own in enumerate(routes):
            free = next((route for route in own if scarce.isdisjoint(pairwise(route))), None) if len(own) > 1 else None
            if free is not None:
                routes[index] = [*(route for route in own if priced and len(route) < len(free)), free]
                dropped |= len(routes[index]) < len(own)
        if not dropped:
            return scarce


class RouteProgram(NamedTuple):
    """The program of what is left to be decided.

    Attributes
    ----------
    flows : numbers of the flows that have columns: one `public` each, and their `route`s.
    routes : flow and route of each column `route`.
    arcs : scarce arcs.
    """

    program: Program
    flows: list[int]
    routes: list[tuple[int, Servers]]
    arcs: list[ScarceArc]


def formulate_routes(problem: LinkAllocationProblem, choices: RouteChoices) -> RouteProgram:
    """Formulate what is left: rows `network`, one per flow, and `limit`, of scarce resources."""
    flows = [index for index, decided in enumerate(choices.decided) if not decided]
    routes = [(index, route) for index in flows for route in choices.routes[index]]
    kept = np.array([_keeps(problem, index) for index in flows], float)
    place = {index: row for row, index in enumerate(flows)}
    program = Program()
    route_columns = program.add_columns("route", len(routes), upper=1.0, integer=True)
    public_columns = program.add_columns("public", len(flows), upper=1.0 - kept)
    of_flow = np.array([*(place[index] for index, _ in routes), *range(len(flows))], np.int64)
    columns = np.concatenate([route_columns, public_columns])
    program.add_rows("network", len(flows), [(of_flow, columns, 1.0)], lower=kept, upper=1.0)
    arcs = _add_limits(program, choices, flows, routes)
    gains = [_gain(problem, problem.flows[index], len(route)) for index, route in routes]
    room = public_room(choices.flows, choices.network)
    gains += [_gain(problem, problem.flows[index], 0) * room[index] for index in flows]
    program.minimise(Linear.of(columns, -np.array(gains), constant=_lost(problem, choices)))
    return RouteProgram(program, flows, routes, arcs)


def _gain(problem: LinkAllocationProblem, flow: Flow, servers: int) -> float:
    """Return what a flow earns on a route over that number of servers; 0: on the public network."""
    if not servers:
        return problem.public_share * flow.price * flow.rate
    return flow.rate * (flow.price - problem.forwarding_price * (servers - 2))


def _lost(problem: LinkAllocationProblem, choices: RouteChoices) -> float:
    """Sum what decided flows lose, and what there is to lose of others."""
    lost = 0.0
    for flow, own, decided in zip(problem.flows, choices.routes, choices.decided, strict=True):
        lost += flow.price * flow.rate - (_gain(problem, flow, len(own[0]) if own else 0) if decided else 0.0)
    return lost


def _add_limits(program: Program, choices: RouteChoices, flows: list[int], routes: list[tuple[int, Servers]]) -> list[ScarceArc]:
    """Add rows `limit`, shares in use of scarce resources, each at most all of it, and after them `count`, one for each arc.

    These hold no more routes over an arc than there is room for, were they all of the smallest rates. Returns the arcs.
    """
    flow, rate = choices.flows, choices.flows.rate.tolist()
    parts = [1.0] * len(routes) + public_room(flow, choices.network)[flows].tolist()
    takers: dict[Resource, list[tuple[int, int]]] = {resource: [] for resource in choices.limits}
    uses = [([*pairwise(route)], index) for index, route in routes]
    uses += [([(UPLINK, int(flow.source[index])), (DOWNLINK, int(flow.target[index]))], index) for index in flows]
    for column, (resources, index) in enumerate(uses):
        for resource in resources:
            if resource in takers:
                takers[resource].append((index, column))
    entries: list[tuple[int, int, float]] = []
    counts: list[float] = []
    scarce: list[ScarceArc] = []
    for row, (resource, pairs) in enumerate(takers.items()):
        limit = choices.limits[resource] or 1.0  # of nothing, shares of one are as good
        entries += [(row, column, rate[index] * parts[column] / limit) for index, column in pairs]
        if resource[0] >= 0:
            room = limit * (1 + LIMIT_SLACK / 2)
            takers_of: dict[int, list[int]] = {}
            for index, column in pairs:
                takers_of.setdefault(index, []).append(column)
            scarce.append(ScarceArc(room, [rate[index] for index in takers_of], list(takers_of.values())))
            smallest = accumulate(sorted(scarce[-1].rates))
            entries += [(len(takers) + len(counts), column, 1.0) for _, column in pairs]
            counts.append(float(sum(used <= room for used in smallest)))
    arcs = [resource[0] >= 0 for resource in takers]
    upper = [
        (1.0 if limit > 0 else 0.0) + LIMIT_SLACK / 2 * arc for limit, arc in zip(choices.limits.values(), arcs, strict=True)
    ]
    rows, columns, shares = ([entry[part] for entry in entries] for part in range(3))
    program.add_rows("limit", len(takers) + len(counts), [(rows, columns, shares)], upper=np.array([*upper, *counts]))
    return scarce


class RouteSelection(Method):
    """Exact method for flows with few routes each: HiGHS on a program of the routes that can be best."""

    name = "route-selection"
    kinds = ("link-allocation",)
    exact = True
    undivided = "a linear program inside its search"
    summary = "exact: branch and bound among the routes of each flow that can be best, where these are few"

    def obstacle(self, problem: LinkAllocationProblem) -> str | None:
        """Refuse problems whose flows have many routes."""
        if route_choices(problem) is not None:
            return None
        return f"flows have more than {MAX_ROUTES} routes on average, too many for a list"

    def run(self, problem: LinkAllocationProblem, options: Options) -> Answer:
        """List routes, drop those that others are as good as, and choose."""
        self.read_parameters(options)
        choices = route_choices(problem)
        assert choices is not None, "the problem is refused"
        chosen = formulate_routes(problem, choices)
        program, build_seconds = chosen.program, options.seconds
        result, proof = _solved(chosen, options)
        allocations = None if result.values is None else _allocations(problem, choices, chosen, result.values)
        answer = Answer(
            status=result.status,
            stopped_because=result.stopped_because,
            decision=allocations,
            objective=None if allocations is None else _objective(problem, allocations),
            bound=result.bound if allocations is not None or result.status == "none" else None,
            size={"columns": program.columns, "rows": program.rows, "nonzeros": program.nonzeros},
            build_seconds=build_seconds,
            notes=result.notes,
        )
        return answer.resting_on(proof)


def _solved(chosen: RouteProgram, options: Options) -> tuple[ProgramResult, Proof | None]:
    """The result of a tree, mostly of a few linear programs; where it grows, of HiGHS, which starts from its best point.

    The tree begins without an incumbent and leaves half of what does not matter open.
    """

    def tolerance(target: float) -> float:
        return SAME_VALUE if target == inf else max(options.gap * abs(target), resolution(target)) / 2

    program, tree = chosen.program, None
    if not program.columns:
        lost = program.arrays().constant
        return ProgramResult("optimal", "finished", np.zeros(0), lost, lost), None
    try:
        tree = Closing(program.arrays(), inf, tolerance, partial(violated_covers, chosen.arcs))
        with deadline(now() + TREE_WORK):
            tree.run()
        if tree.point is None:
            return ProgramResult("infeasible", "finished"), None
        return ProgramResult("optimal", "finished", tree.point, tree.target, tree.better), None
    except (OutOfTimeError, NotClosedError):
        pass  # HiGHS goes on
    result = solve_program(
        program,
        work_limit=None if options.limit == inf else options.remaining,
        gap=options.gap,
        threads=options.threads,
        seed=options.seed,
        start=None if tree is None else tree.point,
    )
    return result, "solver's word"


def _allocations(
    problem: LinkAllocationProblem, choices: RouteChoices, chosen: RouteProgram, values: Floats
) -> tuple[FlowAllocation, ...]:
    """Read routes, and rates on the public network."""
    names, shares = choices.network.names, np.ones(len(choices.decided))
    room = public_room(choices.flows, choices.network)
    taken: list[Servers | None] = [own[0] if own else None for own in choices.routes]
    for index, share in zip(chosen.flows, values[chosen.program["public"]].tolist(), strict=True):
        taken[index], shares[index] = None, share * room[index]
    for (index, route), value in zip(chosen.routes, values[chosen.program["route"]].tolist(), strict=True):
        if value > 0.5:
            taken[index] = route
    shares[[route is not None for route in taken]] = 0.0
    return tuple(
        FlowAllocation.model_construct(
            flow=flow.name, route=None if route is None else tuple(names[server] for server in route), public_rate=rate
        )
        for flow, route, rate in zip(problem.flows, taken, public_rates(shares, choices.flows, choices.network), strict=True)
    )


def _objective(problem: LinkAllocationProblem, allocations: Sequence[FlowAllocation]) -> float:
    """Return what all flows lose, as the program counts it."""
    gains = (
        _gain(problem, flow, len(allocation.route))
        if allocation.route
        else problem.public_share * flow.price * allocation.public_rate
        for flow, allocation in zip(problem.flows, allocations, strict=True)
    )
    return fsum(flow.price * flow.rate - gain for flow, gain in zip(problem.flows, gains, strict=True))


METHODS = (RouteSelection(),)
"""Methods for problems of kind `link-allocation`."""
