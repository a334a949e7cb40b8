"""Small random problems of flows and links that use every feature of the model, for agreement tests."""

from __future__ import annotations

from itertools import pairwise, permutations
from typing import Any

import networkx as nx
import numpy as np

from edrp.mapping.link_allocation import LinkAllocationProblem, Route

Random = np.random.Generator


def random_link_allocation_problem(
    seed: int, *, servers: tuple[int, int] = (2, 5), flows: tuple[int, int] = (1, 5)
) -> LinkAllocationProblem:
    """Draw a problem; about one in fifteen is infeasible.

    Links with and without a way back, without bandwidth, and with less than flows hold now; up- and downlinks of nothing,
    of little and without limit; prices of nothing; forwarding that few flows can pay; exact fits of small whole rates.

    Parameters
    ----------
    seed
        The same seed gives the same problem.
    servers, flows
        Least and most of each.

    Examples
    --------
    >>> problem = random_link_allocation_problem(1)
    >>> problem == random_link_allocation_problem(1), 1 <= len(problem.flows) <= 5
    (True, True)
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
        held = max(free[u, v], free[v, u] if symmetric else 0.0)
        more = float(random.choice([0.0, 0.0, 2.0, 4.0, 7.0]))
        links.append({"source": u, "target": v, "bandwidth": held * (spoiled if random.random() < 0.6 else 1.0) + more})
    return LinkAllocationProblem(
        network={"nodes": [_server(random, name) for name in names], "links": links, "symmetric": symmetric},
        flows=described,
        max_links=max_links,
        forwarding_price=float(random.choice([0.0, 0.3, 1.0])),
        public_share=float(random.choice([0.5, 0.81, 1.0])),
        keep=bool(random.random() < 0.6),
    )


def _server(random: Random, name: str) -> dict[str, Any]:
    return {
        "name": name,
        "capacity": 0.0,
        "uplink": float(random.choice([0.0, 2.0, 5.0, 20.0])),
        "downlink": [None, 0.0, 3.0, 6.0][random.choice(4, p=[0.5, 0.1, 0.2, 0.2])],
    }


def _flow(random: Random, names: list[str], graph: nx.DiGraph[Any], max_links: int, index: int) -> dict[str, Any]:
    source, target = (str(name) for name in random.choice(names, 2, replace=False))
    rate = float(random.integers(1, 5)) if random.random() < 0.7 else float(random.uniform(0.5, 4.0))
    price = float(random.choice([0.0, 1.0, 2.0, random.uniform(0.1, 3.0)]))
    route: Route | None = None
    if random.random() < 0.5 and source in graph and target in graph:
        ways = list(nx.all_simple_paths(graph, source, target, cutoff=max_links))
        route = tuple(ways[random.integers(len(ways))]) if ways else None
    return {"name": f"f{index}", "source": source, "target": target, "rate": rate, "price": price, "route": route}
