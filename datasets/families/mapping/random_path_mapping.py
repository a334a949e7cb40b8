"""Small random mapping problems of every kind, for comparisons with brute force."""

from __future__ import annotations

from typing import Any

import numpy as np

from edrp.mapping.costs import CostName
from edrp.mapping.path_mapping import MappingProblem

SERVICES = ("decode", "filter", "join")


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
        described["services"] = [service for service in SERVICES if generator.random() < 0.6]
    if connected and generator.random() < 0.6:
        described["uplink"] = int(generator.integers(2, 10))
    if connected and generator.random() < 0.4:
        described["downlink"] = int(generator.integers(2, 10))
    return described


def _component(generator: np.random.Generator, name: str, hosted: bool) -> dict[str, Any]:
    service = str(generator.choice(SERVICES)) if hosted and generator.random() < 0.7 else None
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
