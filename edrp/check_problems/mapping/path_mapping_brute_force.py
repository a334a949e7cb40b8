"""Optima of small mapping problems by plain enumeration: every placement, every way between its servers."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise, product

import numpy as np

from edrp.core.arrays import Floats
from edrp.core.tolerances import LIMIT_SLACK, SAME_VALUE
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
    objectives are a sum over hops and a number of the placement. Placements are looked at by what their hops cost at least,
    each by itself.
    """
    ways = _ways(problem)
    best = math.inf
    maps: list[PathMap] = []
    for bound, nodes in _placements(problem, ways):
        if bound > best + _rounding(best):
            break
        if not _meets_rules(problem, nodes):
            continue
        constant = _constant(problem, nodes)
        routes = _cheapest_routes(problem, ways, nodes)
        worth = math.inf if routes is None else constant + math.fsum(way.worth for way in routes)
        if routes is None or worth > best + _rounding(best):
            continue
        if worth < best - _rounding(best):
            best, maps = worth, []
        public = tuple(way.public for way in routes)
        maps.append(PathMap(nodes=nodes, routes=tuple(way.route for way in routes), public=public if any(public) else ()))
    return (None if math.isinf(best) else best), tuple(maps)


def _meets_rules(problem: MappingProblem, nodes: Sequence[str]) -> bool:
    """Whether components are on as many servers as the rules want."""
    server = dict(zip((component.name for component in problem.task.components), nodes, strict=True))
    return all(
        len({server[name] for name in rule.components}) == (len(rule.components) if rule.rule == "apart" else 1)
        for rule in problem.rules
    )


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


def _constant(problem: MappingProblem, nodes: Sequence[str]) -> float:
    """Return the contribution of a placement to the objective: nothing, its load, or half of it."""
    if problem.cost == "additive" or not nodes:
        return 0.0
    loads = []
    for name in sorted(set(nodes)):
        server = problem.network.by_name[name]
        capacity, need = (
            server.whole_capacity,
            math.fsum(n for n, at in zip(problem.task.needs, nodes, strict=True) if at == name),
        )
        loads.append((capacity - server.capacity + need) / capacity if capacity else 0.0)
    return math.fsum(loads) / len(loads) * (1.0 if problem.cost == "load-balance" else 0.5)


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
    if problem.cost != "additive":
        least_costs += [_constant(problem, [names[k] for k in row]) for row in placed.tolist()]
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
