"""Families of link allocation: flows on the paper's platform, on one whose links lost bandwidth, and on small meshes."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import networkx as nx
import numpy as np

from edrp.core.problem import Problem
from edrp.datasets.families.family import Family
from edrp.datasets.families.mapping.flows import bimodal_flows
from edrp.datasets.rounding import rounded
from edrp.mapping.link_allocation import LinkAllocationProblem, Route

DEFAULT_FLOWS, DEFAULT_MESH_FLOWS = 60, 12
MOST_SEED = 2**31

PLATFORM_LINKS = (60, 140)
MAX_LINKS = (2, 4, 6)
FORWARDING_PRICES = (0.0, 0.0, 1e-7, 5e-7)
"""Money per byte; flows pay 0.5e-6 to 2e-6."""

PUBLIC_SHARES = (0.5, 0.81)

LOST_LINKS, LOST_SHARE = 0.15, 0.5
"""Of a degraded platform: share of the links that lost bandwidth, and how much of it."""

MESH_SERVERS, MESH_DEGREE = (5, 12), 3
MESH_BANDWIDTHS, MESH_RATES, MESH_PRICES = (2, 8), (1, 4), (1, 5)
"""Whole numbers."""

MESH_UPLINKS = (0.0, 2.0, 6.0)
HELD = 0.4
"""How often a flow on a mesh has a route already, the shortest one."""


def _families() -> list[Family]:
    """Families of kind `link-allocation`."""
    described: dict[str, tuple[str, Callable[[int, np.random.Generator], Problem], int]] = {
        "platform": ("flows on the paper's platform, half of what they were admitted with has ended", _platform, DEFAULT_FLOWS),
        "degraded-platform": ("the same after links have lost half of their bandwidth", _degraded, DEFAULT_FLOWS),
        "mesh": ("a few servers with three links each, scarce, for flows of whole rates", _mesh, DEFAULT_MESH_FLOWS),
    }
    return [Family(name, "link-allocation", summary, make, "flows", size) for name, (summary, make, size) in described.items()]


def _readings(random: np.random.Generator) -> dict[str, Any]:
    """What is paid for forwarding, and how long routes may be."""
    return {
        "max_links": int(random.choice(MAX_LINKS)),
        "forwarding_price": float(random.choice(FORWARDING_PRICES)),
        "public_share": float(random.choice(PUBLIC_SHARES)),
    }


def _platform(flows: int, random: np.random.Generator) -> LinkAllocationProblem:
    links = int(random.integers(*PLATFORM_LINKS, endpoint=True))
    keep = bool(random.random() < 0.7)
    return bimodal_flows(flows, links=links, seed=int(random.integers(MOST_SEED)), keep=keep, **_readings(random))


def _degraded(flows: int, random: np.random.Generator) -> Problem:
    """No flow has to keep its links: some could not."""
    problem = _platform(flows, random).replace(keep=False)
    lost = random.random(len(problem.network.links)) < LOST_LINKS
    links = tuple(
        link.replace(bandwidth=rounded(link.bandwidth * (1 - LOST_SHARE))) if gone else link
        for link, gone in zip(problem.network.links, lost, strict=True)
    )
    return problem.replace(network=problem.network.replace(links=links))


def _mesh(flows: int, random: np.random.Generator) -> Problem:
    """A ring with chords between servers that may have few ways out; prices of forwarding are whole numbers or nothing."""
    servers = int(random.integers(*MESH_SERVERS, endpoint=True))
    graph = nx.cycle_graph(servers)
    for server in range(servers):
        other = int(random.integers(servers))
        if graph.degree[server] < MESH_DEGREE and other != server:
            graph.add_edge(server, other)
    names = [f"n{index}" for index in range(servers)]
    nodes = [{"name": name, "capacity": 0.0, "uplink": float(random.choice(MESH_UPLINKS))} for name in names]
    free = {edge: float(random.integers(*MESH_BANDWIDTHS, endpoint=True)) for edge in graph.edges}
    links = [{"source": names[u], "target": names[v], "bandwidth": most} for (u, v), most in free.items()]
    left = {arc: most for (u, v), most in free.items() for arc in ((u, v), (v, u))}
    return LinkAllocationProblem(
        network={"nodes": nodes, "links": links},
        flows=[_mesh_flow(f"f{index}", graph, left, random) for index in range(flows)],
        max_links=int(random.choice(MAX_LINKS)),
        forwarding_price=float(random.integers(0, 2)),
        public_share=float(random.choice(PUBLIC_SHARES)),
    )


def _mesh_flow(
    name: str, graph: nx.Graph[int], left: dict[tuple[int, int], float], random: np.random.Generator
) -> dict[str, Any]:
    """A flow that may hold a shortest route of at most two links, off what is left."""
    source, target = (int(server) for server in random.choice(len(graph), 2, replace=False))
    rate, price = (float(random.integers(*ends, endpoint=True)) for ends in (MESH_RATES, MESH_PRICES))
    route: Route | None = None
    way = nx.shortest_path(graph, source, target)
    arcs = list(pairwise(way))
    if random.random() < HELD and len(arcs) <= min(MAX_LINKS) and all(left[arc] >= rate for arc in arcs):
        for arc in arcs:
            left[arc] -= rate
        route = tuple(f"n{server}" for server in way)
    return {"name": name, "source": f"n{source}", "target": f"n{target}", "rate": rate, "price": price, "route": route}


FAMILIES = tuple(_families())
"""For the records of their kinds."""
