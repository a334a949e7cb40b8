"""Mapping problems on which methods are checked, with optima by plain enumeration.

Maps are enumerated by placement and way between its servers, shared links by choice of routes, with rates on the public network
by a linear program. No table and no algorithm of the methods is used.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise, product
from typing import Any

import networkx as nx
import numpy as np
from scipy.optimize import linprog

from edrp.check_problems.base import CheckProblems, EnumeratedCheckProblems
from edrp.core.arrays import Floats
from edrp.core.tolerances import LIMIT_SLACK, SAME_VALUE
from edrp.datasets.families.mapping.link_allocation import bimodal_flows, random_link_allocation_problem
from edrp.datasets.families.mapping.path_mapping import random_mapping_problem
from edrp.datasets.families.mapping.platforms import bimodal_scenario, mapping_problem
from edrp.mapping.bimodal_scenario import BimodalScenario
from edrp.mapping.link_allocation import Flow, LinkAllocationProblem, Route
from edrp.mapping.path_mapping import MappingProblem
from edrp.mapping.path_tasks import PathMap

MAX_PLACEMENTS = 3_000_000
"""Largest number of placements that brute force lists."""


@dataclass(frozen=True, slots=True)
class HopRoute:
    """One way of a hop: its servers, whether it is public, and its contribution to the objective."""

    route: tuple[str, ...]
    public: bool
    worth: float


def brute_force_mapping(problem: MappingProblem) -> tuple[float | None, tuple[PathMap, ...]]:
    """Return the least objective over all maps, and a map for each placement that has it; None where nothing is feasible.

    A way between two servers that passes a server twice is never needed: without the loop it costs and uses no more. All
    objectives are a sum over hops and a number of the placement, at least 0. Placements are looked at by what their hops cost
    at least, each by itself; the problem evaluates the best map of each.
    """
    ways = _ways(problem)
    best = math.inf
    maps: list[PathMap] = []
    for bound, nodes in _placements(problem, ways):
        if bound > best + _rounding(best):
            break
        routes = _cheapest_routes(problem, ways, nodes)
        if routes is None:
            continue
        public = tuple(way.public for way in routes)
        found = PathMap(nodes=nodes, routes=tuple(way.route for way in routes), public=public if any(public) else ())
        evaluation = problem.evaluate(found)
        if not evaluation.feasible or evaluation.objective > best + _rounding(best):
            continue
        if evaluation.objective < best - _rounding(best):
            best, maps = evaluation.objective, []
        maps.append(found)
    return (None if math.isinf(best) else best), tuple(maps)


def _rounding(value: float) -> float:
    return 0.0 if math.isinf(value) else SAME_VALUE * max(1.0, abs(value))


def _ways(problem: MappingProblem) -> list[dict[tuple[str, str], list[HopRoute]]]:
    """Return the possible ways by hop and ends, each considered alone, cheapest first."""
    servers = problem.network.by_name
    ways_by_hop = []
    for rate in problem.task.hop_bandwidths:
        ways: dict[tuple[str, str], list[HopRoute]] = {}
        for start in servers:
            for route in _simple_paths(problem, (start,), rate):
                ways.setdefault((start, route[-1]), []).append(HopRoute(route, False, _worth(problem, route, False)))
            for end in servers:
                if start != end and _connects(problem, start, end, rate):
                    ways.setdefault((start, end), []).append(HopRoute((start, end), True, _worth(problem, (start, end), True)))
        ways_by_hop.append({ends: sorted(choices, key=lambda way: way.worth) for ends, choices in ways.items()})
    return ways_by_hop


def _simple_paths(problem: MappingProblem, path: tuple[str, ...], rate: float) -> Iterator[tuple[str, ...]]:
    yield path
    if len(path) <= problem.max_empty_hops + 1:
        for (source, target), link in problem.network.arcs.items():
            if source == path[-1] and target not in path and rate <= link.bandwidth * (1 + LIMIT_SLACK):
                yield from _simple_paths(problem, (*path, target), rate)


def _connects(problem: MappingProblem, start: str, end: str, rate: float) -> bool:
    uplink, downlink = problem.network.by_name[start].uplink, problem.network.by_name[end].downlink
    return uplink > 0 and rate <= uplink * (1 + LIMIT_SLACK) and (downlink is None or rate <= downlink * (1 + LIMIT_SLACK))


def _worth(problem: MappingProblem, route: tuple[str, ...], public: bool) -> float:
    """Return the contribution of a way to the objective."""
    links = 0 if public else len(route) - 1
    if problem.cost == "additive":
        return problem.public_cost if public else math.fsum(problem.network.arcs[arc].cost for arc in pairwise(route))
    if problem.cost == "public-hops-links":
        return float(public * (problem.max_links + 1) + links)
    return float(public) if problem.cost == "public-hops" else 0.0


def _placements(
    problem: MappingProblem, ways: list[dict[tuple[str, str], list[HopRoute]]]
) -> Iterator[tuple[float, tuple[str, ...]]]:
    """Yield placements that keep to the capacities, by their least cost."""
    task, servers = problem.task, problem.network.nodes
    names = [server.name for server in servers]
    able = [[k for k, server in enumerate(servers) if server.hosts(component.service)] for component in task.components]
    count = math.prod(len(hosts) for hosts in able)
    if count > MAX_PLACEMENTS:
        raise ValueError(f"{count} placements are too many to enumerate; at most {MAX_PLACEMENTS}")
    placed = np.array(list(product(*able)), np.int64).reshape(count, len(able))
    needs = np.array(task.needs).reshape(1, len(able))
    fits = np.ones(count, bool)
    for k, server in enumerate(servers):
        fits &= ((placed == k) * needs).sum(axis=1) <= server.capacity * (1 + LIMIT_SLACK)
    placed = placed[fits]
    least_costs = np.zeros(len(placed))
    column = np.full(len(placed), names.index(task.source))
    ends = [*placed.T, np.full(len(placed), names.index(task.delivery))]
    for hop_routes, end in zip(ways, ends, strict=True):
        least_costs += _cheapest(names, hop_routes)[column, end]
        column = end
    for index in np.argsort(least_costs, kind="stable"):
        if math.isinf(least_costs[index]):
            return
        yield float(least_costs[index]), tuple(names[k] for k in placed[index])


def _cheapest(names: list[str], known: dict[tuple[str, str], list[HopRoute]]) -> Floats:
    return np.array([[known[u, v][0].worth if (u, v) in known else np.inf for v in names] for u in names])


def _cheapest_routes(
    problem: MappingProblem, ways: list[dict[tuple[str, str], list[HopRoute]]], nodes: tuple[str, ...]
) -> list[HopRoute] | None:
    """Return the cheapest combination of ways of a placement that keeps to all limits; None for none."""
    ends = list(pairwise((problem.task.source, *nodes, problem.task.delivery)))
    residual = [0.0]
    for hop in range(len(ends) - 1, -1, -1):
        residual.append(residual[-1] + ways[hop][ends[hop]][0].worth)
    best: list[HopRoute] | None = None
    limit = math.inf

    def extend(chosen: list[HopRoute], worth: float, used: dict[tuple[str, ...], float], empty: int) -> None:
        nonlocal best, limit
        hop = len(chosen)
        if worth + residual[len(ends) - hop] >= limit:
            return
        if hop == len(ends):
            best, limit = list(chosen), worth
            return
        for way in ways[hop][ends[hop]]:
            passed = empty + (0 if way.public else max(0, len(way.route) - 2))
            if problem.empty_hops == "total" and passed > problem.max_empty_hops:
                continue
            after = _taken(problem, way, problem.task.hop_bandwidths[hop], used)
            if after is not None:
                extend([*chosen, way], worth + way.worth, after, passed)

    extend([], 0.0, {}, 0)
    return best


def _taken(
    problem: MappingProblem, way: HopRoute, rate: float, used: dict[tuple[str, ...], float]
) -> dict[tuple[str, ...], float] | None:
    """Return the use of links, uplinks and downlinks with one more way; None where that is too much."""
    if problem.bandwidth == "per_edge":
        return used
    after = dict(used)
    servers = problem.network.by_name
    if way.public:
        start, end = way.route
        downlink = servers[end].downlink
        free = {("up", start): servers[start].uplink, ("down", end): math.inf if downlink is None else downlink}
    else:
        free = {arc: problem.network.arcs[arc].bandwidth for arc in pairwise(way.route)}
    for resource, limit in free.items():
        after[resource] = after.get(resource, 0.0) + rate
        if after[resource] > limit * (1 + LIMIT_SLACK):
            return None
    return after


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


Fields = dict[str, Any]


class MappingCheckProblems(EnumeratedCheckProblems):
    """Kind `mapping`, with additive cost, which all methods take."""

    seeds = range(14)
    draw = staticmethod(partial(random_mapping_problem, max_servers=6, max_components=4))
    brute_force = staticmethod(brute_force_mapping)

    def infeasible(self) -> dict[str, Any]:
        """Too little capacity in all, a link too slow for both hops that need it, no way back, too few empty hops."""
        return {
            "capacity": _line([2, 2, 2]),
            "bandwidth": _line([2, 3], capacities=[0, 3, 2], bandwidth=1.5),
            "no way back": _line([1], delivery="a", capacities=[0, 0, 2], symmetric=False),
            "empty hops": _line([1], capacities=[0, 0, 2], max_empty_hops=0),
        }

    def degenerate(self) -> dict[str, Any]:
        """Return edge cases: no components, nothing moves, no needs, no rates, no prices, one server, only the public network."""
        uplinks: Fields = {"uplinks": [5, 5, 0], "links": [], "public_cost": 2.0}
        return {
            "no components": _line([]),
            "nothing moves": _line([], delivery="a"),
            "no needs": _line([0, 0], capacities=[0, 0, 0]),
            "no rates": _line([1, 1], rate=0, bandwidth=0),
            "no prices": _line([2, 2], cost=0),
            "there and back": _line([2], delivery="a", capacities=[0, 0, 2]),
            "public network": _line([2, 2], **uplinks),
        }

    def large(self) -> Any:
        """Forty components on 120 servers."""
        return mapping_problem(120, components=40, seed=3)

    def rare(self) -> list[Any]:
        """More servers, so that labels are searched."""
        return [mapping_problem(12, components=6, seed=3)]

    def start(self, problem: MappingProblem) -> PathMap | None:
        """The map of brute force."""
        maps = self.optima(problem)
        return maps[0] if maps else None


def _line(needs: list[float], **changed: Any) -> MappingProblem:
    """Three servers in a line with room for two each, links that carry two hops, and what should be different."""
    defaults: Fields = {
        "source": "a", "delivery": "c", "capacities": [2, 2, 1], "uplinks": [0, 0, 0],
        "rate": 1.0, "bandwidth": 2.0, "cost": 1.0, "symmetric": True, **changed,
    }  # fmt: skip
    nodes = [
        {"name": name, "capacity": capacity, "uplink": uplink}
        for name, capacity, uplink in zip("abc", defaults.pop("capacities"), defaults.pop("uplinks"), strict=True)
    ]
    bandwidth, cost, rate = (defaults.pop(name) for name in ("bandwidth", "cost", "rate"))
    links = [{"source": u, "target": v, "bandwidth": bandwidth, "cost": cost} for u, v in ("ab", "bc")]
    network = {"nodes": nodes, "links": defaults.pop("links", links), "symmetric": defaults.pop("symmetric")}
    components = [{"name": f"c{i}", "capacity": need} for i, need in enumerate(needs)]
    ends = {name: defaults.pop(name) for name in ("source", "delivery")}
    task = {**ends, "components": components, "bandwidths": [rate] * (len(needs) + 1)}
    return MappingProblem(network=network, task=task, **defaults)


class LinkAllocationCheckProblems(EnumeratedCheckProblems):
    """Kind `link-allocation`."""

    seeds = range(16)
    draw = staticmethod(random_link_allocation_problem)
    brute_force = staticmethod(brute_force_link_allocation)

    def infeasible(self) -> dict[str, Any]:
        """Links that have lost bandwidth that flows must keep: too little for one, too little for both."""
        return {
            "one flow": pair(bandwidth=2.0),
            "two flows": pair(bandwidth=4.0, flows=[_flow("f", route=["a", "b"]), _flow("g", route=["a", "b"])]),
        }

    def degenerate(self) -> dict[str, Any]:
        """Return edge cases: no links, no price, no public network, no room to spare, forwarding that nobody can pay."""
        return {
            "no links": pair(links=[], flows=[_flow("f")]),
            "no price": pair(flows=[_flow("f", price=0.0)]),
            "no public network": pair(bandwidth=1.0, uplink=0.0, flows=[_flow("f")]),
            "no room to spare": pair(bandwidth=3.0),
            "nobody forwards": pair(forwarding_price=9.0),
        }

    def large(self) -> Any:
        """Three hundred flows on a platform with cycles: proving takes a minute."""
        return bimodal_flows(300, links=130)

    def start(self, problem: LinkAllocationProblem) -> Any:
        """The current allocations."""
        return problem.current


def pair(*, bandwidth: float = 5.0, uplink: float = 9.0, **fields: Any) -> LinkAllocationProblem:
    """One flow of rate 3 on the link between two servers, and what should be different."""
    nodes = [{"name": "a", "capacity": 0.0, "uplink": uplink}, {"name": "b", "capacity": 0.0}]
    links = fields.pop("links", [{"source": "a", "target": "b", "bandwidth": bandwidth}])
    return LinkAllocationProblem(
        **{"network": {"nodes": nodes, "links": links}, "flows": [_flow("f", route=["a", "b"])], **fields}
    )


def _flow(name: str, **fields: Any) -> dict[str, Any]:
    return {"name": name, "source": "a", "target": "b", "rate": 3.0, "price": 1.0, **fields}


class BimodalScenarioCheckProblems(CheckProblems):
    """Kind `bimodal-scenario`: nothing is infeasible, for a task may be refused, and no run loses less than nothing."""

    provable = False

    def feasible(self) -> dict[str, Any]:
        """A short trace on small platforms: every network, expected flows, buffers."""
        small: dict[str, Any] = {"servers": 20, "links": 19, "tasks": 15, "flow_interval": 0.1}
        return {
            "both": bimodal_scenario(**small),
            "dedicated": bimodal_scenario(**small, networks="dedicated"),
            "public": bimodal_scenario(**small, networks="public"),
            "expected": bimodal_scenario(**small, flow="expected"),
            "buffers": bimodal_scenario(**small, buffer=0.5),
            "total": bimodal_scenario(**small, empty_hops="total", max_empty_hops=4, reallocation_interval=0),
        }

    def infeasible(self) -> dict[str, Any]:
        """A task that cannot be mapped is refused, which is an answer."""
        return {}

    def degenerate(self) -> dict[str, Any]:
        """Return edge cases: one or two servers, a task without components, one that stays, one that nothing has room for."""
        nodes = [{"name": name, "capacity": 2, "uplink": 2e5, "downlink": 2e5} for name in "ab"]
        task = {"arrival": 0, "source": "a", "delivery": "b", "services": ["f"], "rate": 1e5, "data": 1e6}
        described = {"network": {"nodes": nodes}, "services": [{"name": "f", "capacity": 1}], "tasks": [task]}
        alone = {"network": {"nodes": [{"name": "a", "capacity": 2}]}, "tasks": [{**task, "delivery": "a"}]}
        return {
            "no links": BimodalScenario(**described),
            "no components": BimodalScenario(**{**described, "tasks": [{**task, "services": []}]}),
            "one server": BimodalScenario(**{**described, **alone}),
            "no room": BimodalScenario(**{**described, "tasks": [{**task, "rate": 1e9}]}),
            "no variation": BimodalScenario(**described, variation=0),
            "at once": BimodalScenario(**{**described, "tasks": [task] * 3}),
        }

    def large(self) -> Any:
        """A trace as long as four of the paper's, at twice the rate."""
        return bimodal_scenario(tasks=2_000, rate=120.0)

    def optimum(self, problem: BimodalScenario) -> float | None:
        """A bound: every task admitted, nothing late."""
        return 0.0
