"""Networks, tasks and flows as flat arrays, and the costs by which maps are compared (bi-modal networks, §§3.1 and 4.3)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal, NamedTuple, get_args

import numpy as np

from edrp.core.arrays import Bools, Floats, Ints, Ints32
from edrp.core.limits import with_rounding
from edrp.mapping.link_allocation import LinkAllocationProblem
from edrp.mapping.path_tasks import PathMap, PathTask
from edrp.mapping.server_network import ServerNetwork

CostName = Literal["additive", "load-balance", "public-hops", "public-hops-links"]
COSTS: tuple[CostName, ...] = get_args(CostName)
"""Costs by name.

additive: prices of the links used (section 3.1). load-balance: the choice that the paper prints for bi-modal networks
(section 4.3): least load, then more dedicated hops, then fewer public ones. public-hops: fewest public hops, then least load.
public-hops-links: fewest public hops, then fewest links, then least load."""

SAME_LOAD = 0.1
"""Load-balance factors that differ by no more than this from the least count as equal (section 4.3)."""


class MapFacts(NamedTuple):
    """Properties of a whole map, or of its first hops, from which costs are computed.

    Attributes
    ----------
    cost : sum of the prices of links and of public hops.
    links : dedicated links used, each as often as it is.
    public_hops, dedicated_hops : hops between different servers, over the public network or over links.
    load_balance : mean load of the servers that host a component, this task included (section 4.3).
    """

    cost: float
    links: int
    public_hops: int
    dedicated_hops: int
    load_balance: float


def objective(cost: str, facts: MapFacts, max_links: int) -> float:
    """Return the number that is minimised.

    All but `load-balance` settle every comparison by this one number: what comes second counts less than one of what comes
    first.

    Parameters
    ----------
    most_links
        Links that a map can use.

    Examples
    --------
    >>> objective("public-hops", MapFacts(3.0, 4, 2, 3, 0.5), max_links=10)
    2.25
    """
    if cost == "additive":
        return facts.cost
    if cost == "load-balance":
        return facts.load_balance
    if cost == "public-hops":
        return facts.public_hops + facts.load_balance / 2
    return facts.public_hops * (max_links + 1) + facts.links + facts.load_balance / 2


def key(cost: str, facts: MapFacts, max_links: int, components: int) -> tuple[float, float]:
    """Return the key that compares maps of equal prefix: exact, since the tolerance of `load-balance` is not transitive."""
    first = objective(cost, facts, max_links)
    return (first, facts.public_hops - (components + 2.0) * facts.dedicated_hops) if cost == "load-balance" else (first, 0.0)


def ranked(cost: str, candidates: Sequence[MapFacts], max_links: int) -> list[int]:
    """Return the positions of complete maps, best first; of equal maps the earlier one.

    For `load-balance`, maps whose load is within 0.1 of the least come first, those with more dedicated hops before others,
    then those with fewer public ones; then the rest by load.

    >>> near, far = MapFacts(0, 5, 1, 5, 0.55), MapFacts(0, 9, 0, 2, 0.5)
    >>> ranked("load-balance", [far, near], max_links=20), ranked("public-hops", [far, near], max_links=20)
    ([1, 0], [0, 1])
    """
    if cost != "load-balance":
        return sorted(range(len(candidates)), key=lambda each: objective(cost, candidates[each], max_links))
    min_load = min((facts.load_balance for facts in candidates), default=0.0)

    def order(position: int) -> tuple[float, ...]:
        facts = candidates[position]
        if facts.load_balance <= min_load + SAME_LOAD + 1e-12:
            return (0, -facts.dedicated_hops, facts.public_hops, facts.load_balance)
        return (1, facts.load_balance)

    return sorted(range(len(candidates)), key=order)


@dataclass(slots=True)
class NetworkArrays:
    """A network of n servers and a arcs. A simulator may overwrite what is free between one task and the next.

    Attributes
    ----------
    names : of the servers, in the order of the document.
    capacity, total : shape (n,), computing capacity that is free, and in all.
    uplink, downlink : shape (n,), bytes/s that are free; infinite where a downlink has no limit.
    access_delay : shape (n,), seconds.
    first : shape (n + 1,), the arcs out of server u are first[u] to first[u + 1].
    source, target : shape (a,), ends of each arc, ascending.
    bandwidth : shape (a,), bytes/s that are free.
    cost, delay : shape (a,), money and seconds.
    """

    names: tuple[str, ...]
    capacity: Floats
    total: Floats
    uplink: Floats
    downlink: Floats
    access_delay: Floats
    first: Ints32
    source: Ints32
    target: Ints32
    bandwidth: Floats
    cost: Floats
    delay: Floats


class TaskArrays(NamedTuple):
    """A task of m components.

    Attributes
    ----------
    source, delivery : servers.
    needs : shape (m,), computing capacity.
    bandwidths : shape (m + 1,), bytes/s.
    hosts : shape (m, n), whether a server hosts a component's service.
    """

    source: int
    delivery: int
    needs: Floats
    bandwidths: Floats
    hosts: Bools


@dataclass(frozen=True, slots=True)
class MappingArrays:
    """A network, a task, and how limits and costs are read (fields of `MappingProblem`)."""

    network: NetworkArrays
    task: TaskArrays
    max_empty_hops: int
    total_hops: bool
    cumulative: bool
    public: bool
    public_cost: float
    cost: str
    max_links: int


def network_arrays(network: ServerNetwork) -> NetworkArrays:
    """Compile a network to new arrays."""
    names = tuple(network.by_name)
    index = {name: position for position, name in enumerate(names)}
    arcs = sorted((index[u], index[v], link) for (u, v), link in network.arcs.items())
    source = np.array([u for u, _, _ in arcs], np.int32)
    servers = network.nodes
    return NetworkArrays(
        names=names,
        capacity=np.array([server.capacity for server in servers]),
        total=np.array([server.whole_capacity for server in servers]),
        uplink=np.array([server.uplink for server in servers]),
        downlink=np.array([np.inf if server.downlink is None else server.downlink for server in servers]),
        access_delay=np.array([server.access_delay for server in servers]),
        first=np.searchsorted(source, np.arange(len(names) + 1)).astype(np.int32),
        source=source,
        target=np.array([v for _, v, _ in arcs], np.int32),
        bandwidth=np.array([link.bandwidth for _, _, link in arcs], float),
        cost=np.array([link.cost for _, _, link in arcs], float),
        delay=np.array([link.delay for _, _, link in arcs], float),
    )


def task_arrays(task: PathTask, network: ServerNetwork) -> TaskArrays:
    """Compile a task on a network to arrays."""
    index = {name: position for position, name in enumerate(network.by_name)}
    hosts = [[server.hosts(component.service) for server in network.nodes] for component in task.components]
    return TaskArrays(
        source=index[task.source],
        delivery=index[task.delivery],
        needs=np.array(task.needs, float),
        bandwidths=np.array(task.hop_bandwidths, float),
        hosts=np.array(hosts, np.bool_).reshape(len(task.components), len(network.nodes)),
    )


def path_map(
    network: NetworkArrays, nodes: Sequence[int], routes: Sequence[Sequence[int]], public: Sequence[bool] = ()
) -> PathMap:
    """Return a map in names: servers of components, servers of each hop, and which hops are public."""
    names = network.names
    return PathMap.model_construct(
        nodes=tuple(names[server] for server in nodes),
        routes=tuple(tuple(names[server] for server in route) for route in routes),
        public=tuple(bool(is_public) for is_public in public) if any(public) else (),
    )


@dataclass(slots=True)
class FlowArrays:
    """F flows between servers, each on a route of dedicated links or on the public network.

    Attributes
    ----------
    source, target : shape (F,), servers.
    rate : shape (F,), bytes/s; 0 for a flow that is not there.
    price : shape (F,), money per byte.
    links : shape (F,), arcs of the dedicated route; 0: over the public network.
    arcs : shape (F, L), the route: its first `links` entries, in order.
    """

    source: Ints32
    target: Ints32
    rate: Floats
    price: Floats
    links: Ints32
    arcs: Ints32

    def route(self, flow: int) -> Ints32:
        """Arcs of the dedicated route of a flow; none over the public network."""
        return self.arcs[flow, : self.links[flow]]


def flow_arrays(problem: LinkAllocationProblem, network: NetworkArrays) -> FlowArrays:
    """Compile the flows of a problem, with their current routes, to arrays that hold at least `max_links` arcs per route.

    >>> from edrp.mapping.mapping_arrays import network_arrays
    >>> problem = LinkAllocationProblem(
    ...     network={"nodes": [{"name": name, "capacity": 0} for name in "abc"],
    ...              "links": [{"source": "a", "target": "b", "bandwidth": 5.0},
    ...                        {"source": "b", "target": "c", "bandwidth": 5.0}]},
    ...     flows=[{"name": "f", "source": "a", "target": "c", "rate": 4.0, "price": 1.0, "route": ["a", "b", "c"]}],
    ... )
    >>> flow_arrays(problem, network_arrays(problem.network)).route(0)
    array([0, 2], dtype=int32)
    """
    index = {name: position for position, name in enumerate(network.names)}
    numbers = arc_numbers(network)
    routes = [[numbers[index[u], index[v]] for u, v in pairwise(flow.route or ())] for flow in problem.flows]
    arcs = np.zeros((len(routes), max(problem.max_links, *map(len, routes))), np.int32)
    for route_arcs, route in zip(arcs, routes, strict=True):
        route_arcs[: len(route)] = route
    return FlowArrays(
        source=np.array([index[flow.source] for flow in problem.flows], np.int32),
        target=np.array([index[flow.target] for flow in problem.flows], np.int32),
        rate=np.array([flow.rate for flow in problem.flows]),
        price=np.array([flow.price for flow in problem.flows]),
        links=np.array([len(route) for route in routes], np.int32),
        arcs=arcs,
    )


def arc_numbers(network: NetworkArrays) -> dict[tuple[int, int], int]:
    """Return the number of the arc between two servers, in the order of the arcs."""
    return {arc: number for number, arc in enumerate(zip(network.source.tolist(), network.target.tolist(), strict=True))}


def route_limits(price: Floats, max_links: int, forwarding_price: float) -> Ints:
    """Return the links that a route of each flow may have: at most `max_links`, and no more than its price per byte pays for."""
    if not forwarding_price:
        return np.full(price.shape, max_links, np.int64)
    paid = 1 + np.floor(with_rounding(price) / forwarding_price)
    return np.asarray(np.minimum(max_links, paid), np.int64)


def route_names(network: NetworkArrays, arcs: Ints32) -> tuple[str, ...] | None:
    """Return the servers on a route of arcs; None for no arcs."""
    if not len(arcs):
        return None
    return (network.names[network.source[arcs[0]]], *(network.names[server] for server in network.target[arcs]))
