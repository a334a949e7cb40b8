"""Families of path mapping: the paper's networks, regular, geometric and tight ones, and platforms with the public network."""

from __future__ import annotations

from typing import Any

import networkx as nx
import numpy as np
from scipy.spatial.distance import pdist, squareform

from edrp.core.problem import Problem
from edrp.datasets.families.family import Family, Fields
from edrp.datasets.families.mapping.platforms import SERVICES, SHRINKAGE, SOURCE_RATE, bimodal_platform
from edrp.datasets.families.mapping.power_law_networks import mapping_problem, preferential_links
from edrp.datasets.random_numbers import rounded
from edrp.mapping.mapping_arrays import COSTS, CostName
from edrp.mapping.path_mapping import MappingProblem
from edrp.mapping.server_network import ServerNetwork

NAMED_SERVICES = ("decode", "filter", "join")


def random_mapping_problem(
    seed: int, *, max_servers: int = 8, max_components: int = 6, cost: CostName = "additive", public: bool | None = None
) -> MappingProblem:
    """Draw a mapping problem small enough to enumerate.

    Both readings of empty hops and of bandwidth come equally often. Capacities and bandwidths are so tight that about one in
    four problems has no map, and that uses of a link by several hops often exceed it together. Some servers host some
    services only, some links lead one way, some tasks begin and end on one server, some have no components, some limits are
    met exactly.

    Parameters
    ----------
    public
        Whether there is a public network; None for one in three problems.
    """
    generator = np.random.default_rng(seed)
    servers = int(generator.integers(2, max_servers + 1, 2).max())
    components = int(generator.integers(0, max_components + 1, 2).max())
    connected = generator.random() < 1 / 3 if public is None else public
    hosted = bool(generator.random() < 0.4)
    nodes = [_server(generator, f"n{k}", hosted and k > 0, connected) for k in range(servers)]
    symmetric = bool(generator.random() < 0.6)
    links = _links(generator, servers, symmetric)
    source, delivery = (f"n{k}" for k in generator.integers(0, servers, 2))
    task = {
        "source": source,
        "delivery": delivery,
        "components": [_component(generator, f"c{i}", hosted) for i in range(components)],
        "bandwidths": generator.integers(1, 7, components + 1).tolist(),
    }
    return MappingProblem(
        network={"nodes": nodes, "links": links, "symmetric": symmetric},
        task=task,
        max_empty_hops=int(generator.integers(0, 4)),
        empty_hops=str(generator.choice(["per_edge", "total"])),
        bandwidth=str(generator.choice(["cumulative", "per_edge"])),
        cost=cost,
        public_cost=float(generator.integers(0, 12)) if connected else 0.0,
    )


def _server(generator: np.random.Generator, name: str, hosted: bool, connected: bool) -> dict[str, Any]:
    described: dict[str, Any] = {"name": name, "capacity": int(generator.integers(0, 10))}
    if generator.random() < 0.3:
        described["total_capacity"] = described["capacity"] + int(generator.integers(1, 5))
    if hosted and generator.random() < 0.8:
        described["services"] = [service for service in NAMED_SERVICES if generator.random() < 0.6]
    if connected and generator.random() < 0.6:
        described["uplink"] = int(generator.integers(2, 10))
    if connected and generator.random() < 0.4:
        described["downlink"] = int(generator.integers(2, 10))
    return described


def _component(generator: np.random.Generator, name: str, hosted: bool) -> dict[str, Any]:
    service = str(generator.choice(NAMED_SERVICES)) if hosted and generator.random() < 0.7 else None
    return {"name": name, "service": service, "capacity": int(generator.integers(0, 6))}


def _links(generator: np.random.Generator, servers: int, symmetric: bool) -> list[dict[str, Any]]:
    """Draw the links of a mostly connected network: each server is joined to an earlier one, and some pairs are added."""
    pairs = {(int(generator.integers(0, k)), k) for k in range(1, servers) if generator.random() < 0.95}
    pairs |= {(u, v) for u in range(servers) for v in range(u + 1, servers) if generator.random() < 0.2}
    if not symmetric:  # both directions of most pairs, with bandwidths of their own
        pairs = {arc for u, v in sorted(pairs) for arc in ((u, v), (v, u)) if generator.random() < 0.85}
    return [
        {
            "source": f"n{u}",
            "target": f"n{v}",
            "bandwidth": int(generator.integers(2, 13)),
            "cost": int(generator.integers(0, 10)) * 0.5,
        }
        for u, v in sorted(pairs)
    ]


DEFAULT_COMPONENTS = 8
MAX_SEED = 2**31

TOTAL_SHARE, PER_EDGE_SHARE = 0.3, 0.2
"""Probabilities that empty hops are limited in total, and that bandwidth must suffice for each hop alone (as printed)."""

EMPTY_HOPS, EMPTY_HOPS_IN_TOTAL = (0, 3), (2, 8)

PAPER_SERVERS = (30, 120)
GEOMETRIC_SERVERS, NEIGHBOURS = (15, 60), 3
GRID_SIDES = (3, 8)
TIGHT_SERVERS = (3, 8)

GRID_LOAD = (0.2, 0.6)
"""Needs over all capacity of a grid."""

RATE_SHARE = (0.1, 0.5)
"""Rate of a hop over the bandwidth of most links in geometric networks."""

TIGHT_NEEDS, TIGHT_RATES, TIGHT_BANDWIDTHS, TIGHT_COSTS = (0, 3), (0, 4), (2, 10), (0, 9)
"""Whole numbers."""

TIGHT_SPARE = (1.1, 2.0)
"""Capacity of all servers over all needs."""

TIGHT_SERVICES = 4
HOSTING_SHARE, ANY_SHARE = 0.6, 0.2
"""Probabilities that a server hosts a service, and that it hosts all or a component needs none."""

ONE_WAY_SHARE = 0.25
"""Probability that links lead in one direction only, most of them with another one back."""

PLATFORM_LINKS = (50, 99, 130)
PUBLIC_COSTS = (0.0, 1.0, 5.0)
"""Cost of a public hop, where that of each link is 1."""

USED_SHARES = (0.0, 0.9)
"""Share of a server, link or uplink that other tasks use."""


def _readings(random: np.random.Generator) -> Fields:
    total = bool(random.random() < TOTAL_SHARE)
    return {
        "max_empty_hops": int(random.integers(*(EMPTY_HOPS_IN_TOTAL if total else EMPTY_HOPS), endpoint=True)),
        "empty_hops": "total" if total else "per_edge",
        "bandwidth": "per_edge" if random.random() < PER_EDGE_SHARE else "cumulative",
    }


def _power_law(components: int, random: np.random.Generator) -> Problem:
    servers = int(random.integers(*PAPER_SERVERS, endpoint=True))
    return mapping_problem(servers, components, int(random.integers(MAX_SEED)), **_readings(random))


def _geometric(components: int, random: np.random.Generator) -> Problem:
    """Draw servers that are linked to those nearest to them, and connected by a minimum spanning tree."""
    servers = int(random.integers(*GEOMETRIC_SERVERS, endpoint=True))
    distance = squareform(pdist(random.random((servers, 2))))
    graph = nx.minimum_spanning_tree(nx.from_numpy_array(distance))
    nearest = np.argsort(distance, axis=1)[:, 1 : 1 + NEIGHBOURS]
    graph.add_edges_from((server, int(other)) for server in range(servers) for other in nearest[server])
    bandwidth = random.choice((1.25e7, 1.25e7, 1.25e8), graph.number_of_edges())
    links = [
        {
            **_ends(u, v),
            "bandwidth": float(bandwidth[index]),
            "cost": float(distance[u, v]),
            "delay": 0.01 * float(distance[u, v]),
        }
        for index, (u, v) in enumerate(sorted(tuple(sorted(edge)) for edge in graph.edges))
    ]
    nodes = [
        {"name": f"n{index}", "capacity": float(capacity)} for index, capacity in enumerate(random.choice((4, 8, 16), servers))
    ]
    needs = random.uniform(0.5, 6.0, components)
    rates = 1.25e7 * random.uniform(*RATE_SHARE, components + 1)
    return _problem(nodes, links, _task(servers, needs, rates, random), **_readings(random))


def _grid(components: int, random: np.random.Generator) -> Problem:
    """Draw a grid of servers with room for a few components each, and for a hop or two on each link."""
    rows, columns = (int(random.integers(*GRID_SIDES, endpoint=True)) for _ in range(2))
    links = [{**_ends(u, v), "bandwidth": 2.0, "cost": 1.0, "delay": 0.001} for u, v in _grid_pairs(rows, columns)]
    capacity = max(1, int(np.ceil(components / (rows * columns * random.uniform(*GRID_LOAD)))))
    nodes = [{"name": f"n{index}", "capacity": float(capacity)} for index in range(rows * columns)]
    task = _task(rows * columns, np.ones(components), np.ones(components + 1), random)
    return _problem(nodes, links, task, **_readings(random))


def _grid_pairs(rows: int, columns: int) -> list[tuple[int, int]]:
    servers = np.arange(rows * columns).reshape(rows, columns)
    across, down = (servers[:, :-1], servers[:, 1:]), (servers[:-1], servers[1:])
    return [pair for one, other in (across, down) for pair in zip(one.ravel().tolist(), other.ravel().tolist(), strict=True)]


def _tight(components: int, random: np.random.Generator) -> Problem:
    nodes, fields = _tight_world(components, random)
    return _problem(nodes, **fields)


def _tight_public(components: int, random: np.random.Generator) -> Problem:
    """Draw a tight network in which most servers have an uplink and a downlink for a few hops."""
    nodes, fields = _tight_world(components, random)
    for node in nodes:
        node["uplink"] = float(random.integers(0, 2 * TIGHT_RATES[1]))
        node["downlink"] = None if random.random() < ANY_SHARE else float(random.integers(1, 3 * TIGHT_RATES[1]))
        node["access_delay"] = float(random.uniform(0.005, 0.05))
    return _problem(nodes, cost=_any_cost(random), public_cost=float(random.integers(*TIGHT_COSTS, endpoint=True)), **fields)


def _tight_world(components: int, random: np.random.Generator) -> tuple[list[Fields], Fields]:
    """Draw servers, links, a task and readings in whole numbers: most tasks have few maps, some have none."""
    servers = int(random.integers(*TIGHT_SERVERS, endpoint=True))
    names = [f"s{index}" for index in range(TIGHT_SERVICES)]
    needs = random.integers(*TIGHT_NEEDS, components, endpoint=True).astype(float)
    shares = random.dirichlet(np.ones(servers))
    capacity = np.ceil(shares * needs.sum() * random.uniform(*TIGHT_SPARE))
    nodes: list[Fields] = []
    for index in range(servers):
        hosted = [name for name in names if random.random() < HOSTING_SHARE]
        # The first hosts every service: a service that nobody has would be a mistake, not a problem.
        services = None if index == 0 or random.random() < ANY_SHARE else hosted
        nodes.append({"name": f"n{index}", "capacity": float(capacity[index]), "services": services})
    max_pairs = servers * (servers - 1) // 2
    pairs = preferential_links(servers, min(max_pairs, int(random.integers(servers - 1, 2 * servers))), random)
    one_way = bool(random.random() < ONE_WAY_SHARE)
    arcs = [*pairs, *((v, u) for u, v in pairs if one_way and random.random() < 1 - ONE_WAY_SHARE)]
    links = [
        {
            **_ends(u, v),
            "bandwidth": float(random.integers(*TIGHT_BANDWIDTHS, endpoint=True)),
            "cost": float(random.integers(*TIGHT_COSTS, endpoint=True)),
            "delay": float(random.uniform(0.001, 0.01)),
        }
        for u, v in arcs
    ]
    rates = random.integers(*TIGHT_RATES, components + 1, endpoint=True).astype(float)
    task = _task(servers, needs, rates, random)
    for component in task["components"]:
        component["service"] = None if random.random() < ANY_SHARE else names[int(random.integers(TIGHT_SERVICES))]
    return nodes, {"links": links, "task": task, "symmetric": not one_way, **_readings(random)}


def _platform(components: int, random: np.random.Generator) -> Problem:
    return _platform_problem(_priced_platform(random), components, random)


def _busy_platform(components: int, random: np.random.Generator) -> Problem:
    """Draw a platform on which other tasks hold a random share of every server, link, uplink and downlink."""
    network = _priced_platform(random)
    for node in network["nodes"]:
        node["total_capacity"] = node["capacity"]
        node["capacity"] = float(np.ceil(node["capacity"] * _free(random)))
        node["uplink"] *= _free(random)
        node["downlink"] *= _free(random)
    for link in network["links"]:
        link["bandwidth"] *= _free(random)
    return _platform_problem(network, components, random)


def _priced_platform(random: np.random.Generator) -> Fields:
    """Draw a platform on which every link costs the same."""
    platform = bimodal_platform(links=int(random.choice(PLATFORM_LINKS)), seed=int(random.integers(MAX_SEED)))
    described = platform.model_dump()
    return {"nodes": [dict(node) for node in described["nodes"]], "links": [{**link, "cost": 1.0} for link in described["links"]]}


def _platform_problem(network: Fields, components: int, random: np.random.Generator) -> Problem:
    """Draw a task of components of any services, each with a need of one unit of capacity."""
    source, delivery = random.choice(len(network["nodes"]), 2, replace=False)
    services = random.integers(SERVICES, size=components)
    task = {
        "source": f"n{source}",
        "delivery": f"n{delivery}",
        "rate": SOURCE_RATE,
        "components": [
            {"name": f"c{index + 1}", "service": f"s{service}", "capacity": 1.0, "shrinkage": SHRINKAGE}
            for index, service in enumerate(services)
        ],
    }
    cost = {"cost": _any_cost(random), "public_cost": float(random.choice(PUBLIC_COSTS))}
    return MappingProblem(network=ServerNetwork(**rounded(network)), task=task, **cost, **_readings(random))


def _problem(nodes: list[Fields], links: list[Fields], task: Fields, *, symmetric: bool = True, **fields: Any) -> MappingProblem:
    network = {"nodes": nodes, "links": links, "symmetric": symmetric}
    return MappingProblem(**rounded({"network": network, "task": task}), **fields)


def _task(servers: int, needs: Any, rates: Any, random: np.random.Generator) -> Fields:
    source, delivery = random.integers(servers, size=2)
    components = [{"name": f"c{index + 1}", "capacity": float(need)} for index, need in enumerate(needs)]
    return {
        "source": f"n{source}",
        "delivery": f"n{delivery}",
        "components": components,
        "bandwidths": [float(rate) for rate in rates],
    }


def _ends(source: int, target: int) -> Fields:
    return {"source": f"n{source}", "target": f"n{target}"}


def _any_cost(random: np.random.Generator) -> str:
    return COSTS[int(random.integers(len(COSTS)))]


def _free(random: np.random.Generator) -> float:
    return 1 - float(random.uniform(*USED_SHARES))


FAMILIES = tuple(
    Family(name, "mapping", summary, make, "components", DEFAULT_COMPONENTS)
    for name, summary, make in (
        ("power-law", "the paper's networks of 30 to 120 servers", _power_law),
        ("geometric", "servers in the plane, linked to their neighbours; costs and delays grow with distance", _geometric),
        ("grid", "grids of equal servers and links: many maps cost the same", _grid),
        ("tight", "few servers that host some services, little room", _tight),
        ("tight-public", "few servers with little room, the public network in addition to the links, any cost", _tight_public),
        ("platform", "the paper's bi-modal platform without other tasks, any cost", _platform),
        ("busy-platform", "the paper's bi-modal platform among other tasks, any cost", _busy_platform),
    )
)
"""Families of path mapping, for the record of their kind."""
