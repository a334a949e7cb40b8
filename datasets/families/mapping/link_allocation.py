"""Random problems of link allocation: on the paper's platform, on one whose links lost bandwidth, and on small networks."""

from __future__ import annotations

from itertools import pairwise, permutations
from typing import Any

import networkx as nx
import numpy as np

from edrp.core.problem import Problem
from edrp.datasets.families.family import Family
from edrp.datasets.families.mapping.platforms import LINKS, SERVERS, SHRINKAGE, SOURCE_RATE, bimodal_platform
from edrp.datasets.random_numbers import random_stream, rounded
from edrp.mapping.link_allocation import Flow, LinkAllocationProblem, Route
from edrp.mapping.server_network import ServerNetwork

PLATFORM_FLOWS = 150
"""About as many hops are there at a time under 60 tasks/h: 13 tasks of 11 hops each."""

MAX_HOPS = 11
PRICES = (0.5e-6, 2e-6)
"""Money per byte. Ours: the paper prints no prices."""

NEAR_SHARE = 0.6
"""Probability that the next component runs within two links. Ours: placements prefer it."""

ENDED_SHARE = 0.5
"""Share of the flows that ended since others were admitted. Ours."""

_FLOWS = 5
"""Stream of random numbers of a seed, in addition to those of the platform."""


def bimodal_flows(
    flows: int = PLATFORM_FLOWS, *, servers: int = SERVERS, links: int = LINKS, seed: int = 0, **fields: Any
) -> LinkAllocationProblem:
    """Draw flows between servers of a `bimodal_platform`; some could have better links than when they were admitted.

    Each was given the direct link, or two links, where there was room, and the public network otherwise. Then half of all
    ended. Rates are those of the paper's tasks: 1 Mbps at the source, 95 % of it behind each component.
    """
    random = random_stream(seed, _FLOWS)
    platform = _Platform(bimodal_platform(servers, links, seed))
    admitted = [platform.admitted(random) for _ in range(round(flows / (1 - ENDED_SHARE)))]
    remaining = sorted(random.choice(len(admitted), flows, replace=False).tolist())
    described = tuple(Flow(name=f"f{number}", **admitted[index]) for number, index in enumerate(remaining))
    return LinkAllocationProblem(network=platform.network, flows=described, **fields)


class _Platform:
    """Servers, and the free bandwidth of the arcs between them."""

    def __init__(self, network: ServerNetwork) -> None:
        self.network = network
        self.free = {arc: link.bandwidth for arc, link in network.arcs.items()}
        self.graph = nx.DiGraph(list(self.free))
        self.graph.add_nodes_from(network.by_name)
        hosted = np.array([len(node.services or ()) for node in network.nodes], float)
        self.weight = dict(zip(network.by_name, hosted, strict=True))

    def admitted(self, random: np.random.Generator) -> dict[str, Any]:
        """Draw a flow that is admitted now and takes what is free."""
        source = self._drawn(list(self.weight), random)
        near = nx.single_source_shortest_path_length(self.graph, source, cutoff=2) if random.random() < NEAR_SHARE else {}
        others = [name for name in (near if len(near) > 1 else self.weight) if name != source]
        target = self._drawn(others, random)
        rate = rounded(SOURCE_RATE * SHRINKAGE ** int(random.integers(MAX_HOPS)))
        route = self._reserved(source, target, rate)
        return {"source": source, "target": target, "rate": rate, "price": rounded(random.uniform(*PRICES)), "route": route}

    def _drawn(self, names: list[str], random: np.random.Generator) -> str:
        """Draw one of some servers, weighted by the number of services that they host."""
        weights = np.array([self.weight[name] for name in names])
        return names[int(random.choice(len(names), p=weights / weights.sum()))]

    def _reserved(self, source: str, target: str, rate: float) -> Route | None:
        """Reserve the direct link or two links, where they have room."""
        ways = [(source, target), *((source, middle, target) for middle in self.graph[source])]
        for route in ways:
            arcs = list(pairwise(route))
            if all(self.free.get(arc, 0.0) >= rate for arc in arcs):
                for arc in arcs:
                    self.free[arc] -= rate
                return route
        return None


DEFAULT_FLOWS, DEFAULT_MESH_FLOWS = 60, 12
MAX_SEED = 2**31

PLATFORM_LINKS = (60, 140)
MAX_LINKS = (2, 4, 6)
FORWARDING_PRICES = (0.0, 0.0, 1e-7, 5e-7)
"""Money per byte; flows pay 0.5e-6 to 2e-6."""

PUBLIC_SHARES = (0.5, 0.81)

LOST_LINKS, LOST_SHARE = 0.15, 0.5
"""Share of the links of a degraded platform that lost bandwidth, and the share of their bandwidth that they lost."""

MESH_SERVERS, MESH_DEGREE = (5, 12), 3
MESH_BANDWIDTHS, MESH_RATES, MESH_PRICES = (2, 8), (1, 4), (1, 5)
"""Whole numbers."""

MESH_UPLINKS = (0.0, 2.0, 6.0)
HELD_ROUTE_SHARE = 0.4
"""Probability that a flow on a mesh already has a route, the shortest one."""


def _readings(random: np.random.Generator) -> dict[str, Any]:
    return {
        "max_links": int(random.choice(MAX_LINKS)),
        "forwarding_price": float(random.choice(FORWARDING_PRICES)),
        "public_share": float(random.choice(PUBLIC_SHARES)),
    }


def _platform(flows: int, random: np.random.Generator) -> LinkAllocationProblem:
    links = int(random.integers(*PLATFORM_LINKS, endpoint=True))
    keep = bool(random.random() < 0.7)
    return bimodal_flows(flows, links=links, seed=int(random.integers(MAX_SEED)), keep=keep, **_readings(random))


def _degraded(flows: int, random: np.random.Generator) -> Problem:
    """Draw flows on a platform whose links lost bandwidth; no flow has to keep its links, since some could not."""
    problem = _platform(flows, random).replace(keep=False)
    lost = random.random(len(problem.network.links)) < LOST_LINKS
    links = tuple(
        link.replace(bandwidth=rounded(link.bandwidth * (1 - LOST_SHARE))) if gone else link
        for link, gone in zip(problem.network.links, lost, strict=True)
    )
    return problem.replace(network=problem.network.replace(links=links))


def _mesh(flows: int, random: np.random.Generator) -> Problem:
    """Draw a ring with chords between servers that may have few ways out; prices of forwarding are whole numbers or 0."""
    servers = int(random.integers(*MESH_SERVERS, endpoint=True))
    graph = nx.cycle_graph(servers)
    for server in range(servers):
        other = int(random.integers(servers))
        if graph.degree[server] < MESH_DEGREE and other != server:
            graph.add_edge(server, other)
    names = [f"n{index}" for index in range(servers)]
    nodes = [{"name": name, "capacity": 0.0, "uplink": float(random.choice(MESH_UPLINKS))} for name in names]
    free = {edge: float(random.integers(*MESH_BANDWIDTHS, endpoint=True)) for edge in graph.edges}
    links = [{"source": names[u], "target": names[v], "bandwidth": bandwidth} for (u, v), bandwidth in free.items()]
    free_bandwidth = {arc: bandwidth for (u, v), bandwidth in free.items() for arc in ((u, v), (v, u))}
    return LinkAllocationProblem(
        network={"nodes": nodes, "links": links},
        flows=[_mesh_flow(f"f{index}", graph, free_bandwidth, random) for index in range(flows)],
        max_links=int(random.choice(MAX_LINKS)),
        forwarding_price=float(random.integers(0, 2)),
        public_share=float(random.choice(PUBLIC_SHARES)),
    )


def _mesh_flow(
    name: str, graph: nx.Graph[int], free_bandwidth: dict[tuple[int, int], float], random: np.random.Generator
) -> dict[str, Any]:
    """Draw a flow that may hold a shortest route of at most two links within the remaining bandwidth."""
    source, target = (int(server) for server in random.choice(len(graph), 2, replace=False))
    rate, price = (float(random.integers(*ends, endpoint=True)) for ends in (MESH_RATES, MESH_PRICES))
    route: Route | None = None
    way = nx.shortest_path(graph, source, target)
    arcs = list(pairwise(way))
    if random.random() < HELD_ROUTE_SHARE and len(arcs) <= min(MAX_LINKS) and all(free_bandwidth[arc] >= rate for arc in arcs):
        for arc in arcs:
            free_bandwidth[arc] -= rate
        route = tuple(f"n{server}" for server in way)
    return {"name": name, "source": f"n{source}", "target": f"n{target}", "rate": rate, "price": price, "route": route}


def random_link_allocation_problem(
    seed: int, *, servers: tuple[int, int] = (2, 5), flows: tuple[int, int] = (1, 5)
) -> LinkAllocationProblem:
    """Draw a problem; about one in fifteen is infeasible.

    Links with and without a way back, without bandwidth, and with less than flows hold now; up- and downlinks of nothing,
    of little and without limit; prices of nothing; forwarding that few flows can pay; exact fits of small whole rates.
    """
    random = np.random.default_rng([seed, 2004])
    names = [f"n{index}" for index in range(random.integers(servers[0], servers[1] + 1))]
    symmetric = bool(random.random() < 0.7)
    density = random.uniform(0.3, 0.9)
    drawn = [pair for pair in permutations(names, 2) if random.random() < density and not (symmetric and pair[0] > pair[1])]
    max_links = int(random.integers(1, 4))
    free = dict.fromkeys([*drawn, *((v, u) for u, v in drawn if symmetric)], 0.0)
    graph = nx.DiGraph(list(free))
    described = [_flow(random, names, graph, max_links, index) for index in range(random.integers(flows[0], flows[1] + 1))]
    for flow in described:
        for arc in pairwise(flow["route"] or ()):
            free[arc] += flow["rate"]
    spoiled = 0.7 if random.random() < 0.5 else 1.0
    links = []
    for u, v in drawn:
        reserved = max(free[u, v], free[v, u] if symmetric else 0.0)
        more = float(random.choice([0.0, 0.0, 2.0, 4.0, 7.0]))
        links.append({"source": u, "target": v, "bandwidth": reserved * (spoiled if random.random() < 0.6 else 1.0) + more})
    return LinkAllocationProblem(
        network={"nodes": [_server(random, name) for name in names], "links": links, "symmetric": symmetric},
        flows=described,
        max_links=max_links,
        forwarding_price=float(random.choice([0.0, 0.3, 1.0])),
        public_share=float(random.choice([0.5, 0.81, 1.0])),
        keep=bool(random.random() < 0.6),
    )


def _server(random: np.random.Generator, name: str) -> dict[str, Any]:
    return {
        "name": name,
        "capacity": 0.0,
        "uplink": float(random.choice([0.0, 2.0, 5.0, 20.0])),
        "downlink": [None, 0.0, 3.0, 6.0][random.choice(4, p=[0.5, 0.1, 0.2, 0.2])],
    }


def _flow(random: np.random.Generator, names: list[str], graph: nx.DiGraph[Any], max_links: int, index: int) -> dict[str, Any]:
    source, target = (str(name) for name in random.choice(names, 2, replace=False))
    rate = float(random.integers(1, 5)) if random.random() < 0.7 else float(random.uniform(0.5, 4.0))
    price = float(random.choice([0.0, 1.0, 2.0, random.uniform(0.1, 3.0)]))
    route: Route | None = None
    if random.random() < 0.5 and source in graph and target in graph:
        ways = list(nx.all_simple_paths(graph, source, target, cutoff=max_links))
        route = tuple(ways[random.integers(len(ways))]) if ways else None
    return {"name": f"f{index}", "source": source, "target": target, "rate": rate, "price": price, "route": route}


FAMILIES = tuple(
    Family(name, "link-allocation", summary, make, "flows", size)
    for name, summary, make, size in (
        ("platform", "flows on the paper's platform, half of what they were admitted with has ended", _platform, DEFAULT_FLOWS),
        ("degraded-platform", "the same after links have lost half of their bandwidth", _degraded, DEFAULT_FLOWS),
        ("mesh", "a few servers with three links each, scarce, for flows of whole rates", _mesh, DEFAULT_MESH_FLOWS),
    )
)
"""Families of link allocation, for the record of their kind."""
