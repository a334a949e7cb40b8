"""Flows on a platform with dedicated links and a public network, as they are when links are shared out anew."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import networkx as nx
import numpy as np

from edrp.datasets.families.mapping.platforms import LINKS, SERVERS, SHRINKAGE, SOURCE_RATE, bimodal_platform
from edrp.datasets.random_streams import random_stream
from edrp.datasets.rounding import rounded
from edrp.mapping.documents import ServerNetwork
from edrp.mapping.link_allocation import Flow, LinkAllocationProblem, Route

FLOWS = 150
"""About as many hops are there at a time under 60 tasks/h: 13 tasks of 11 hops each."""

MOST_HOPS = 11
PRICES = (0.5e-6, 2e-6)
"""Money per byte. Ours: the paper prints no prices."""

NEAR = 0.6
"""How often the next component runs within two links. Ours: placements prefer it."""

GONE = 0.5
"""Share of the flows that ended since others were admitted. Ours."""

_FLOWS = 5
"""Stream of random numbers of a seed, beside those of the platform."""


def bimodal_flows(
    flows: int = FLOWS, *, servers: int = SERVERS, links: int = LINKS, seed: int = 0, **fields: Any
) -> LinkAllocationProblem:
    """Flows between servers of a `bimodal_platform`, some of which could have better links than when they were admitted.

    Each was given the direct link, or two links, where there was room, and the public network otherwise. Then half of all
    ended. Rates are those of the paper's tasks: 1 Mbps at the source, 95 % of it behind each component.

    Parameters
    ----------
    flows
        How many are there now.
    servers, links
        Of the platform.
    seed
        The same seed gives the same flows.
    fields
        Of `LinkAllocationProblem`, where they shall differ.

    Examples
    --------
    >>> problem = bimodal_flows(seed=1)
    >>> len(problem.flows), sum(flow.route is None for flow in problem.flows)
    (150, 66)
    """
    random = random_stream(seed, _FLOWS)
    platform = _Platform(bimodal_platform(servers, links, seed))
    admitted = [platform.admitted(random) for _ in range(round(flows / (1 - GONE)))]
    kept = sorted(random.choice(len(admitted), flows, replace=False).tolist())
    described = tuple(Flow(name=f"f{number}", **admitted[index]) for number, index in enumerate(kept))
    return LinkAllocationProblem(network=platform.network, flows=described, **fields)


class _Platform:
    """Servers, and what is free on the arcs between them."""

    def __init__(self, network: ServerNetwork) -> None:
        self.network = network
        self.free = {arc: link.bandwidth for arc, link in network.arcs.items()}
        self.graph = nx.DiGraph(list(self.free))
        self.graph.add_nodes_from(network.by_name)
        hosted = np.array([len(node.services or ()) for node in network.nodes], float)
        self.weight = dict(zip(network.by_name, hosted, strict=True))

    def admitted(self, random: np.random.Generator) -> dict[str, Any]:
        """A flow that comes now, and takes what it finds."""
        source = self._drawn(list(self.weight), random)
        near = nx.single_source_shortest_path_length(self.graph, source, cutoff=2) if random.random() < NEAR else {}
        others = [name for name in (near if len(near) > 1 else self.weight) if name != source]
        target = self._drawn(others, random)
        rate = rounded(SOURCE_RATE * SHRINKAGE ** int(random.integers(MOST_HOPS)))
        route = self._reserved(source, target, rate)
        return {"source": source, "target": target, "rate": rate, "price": rounded(random.uniform(*PRICES)), "route": route}

    def _drawn(self, names: list[str], random: np.random.Generator) -> str:
        """One of some servers, by the number of services that they host."""
        weights = np.array([self.weight[name] for name in names])
        return names[int(random.choice(len(names), p=weights / weights.sum()))]

    def _reserved(self, source: str, target: str, rate: float) -> Route | None:
        """The direct link or two links, where they have room."""
        ways = [(source, target), *((source, middle, target) for middle in self.graph[source])]
        for route in ways:
            arcs = list(pairwise(route))
            if all(self.free.get(arc, 0.0) >= rate for arc in arcs):
                for arc in arcs:
                    self.free[arc] -= rate
                return route
        return None
