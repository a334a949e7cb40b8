"""Random networks with a power law of degrees, and tasks to map on them, as in bi-modal networks, §4.2 (Fig. 7) and §6.1."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import ndtr, ndtri

from edrp.core.arrays import Floats
from edrp.core.errors import Fault, InvalidInstanceError
from edrp.datasets.random_numbers import random_stream, rounded
from edrp.mapping.path_mapping import MappingProblem
from edrp.mapping.path_tasks import Component, PathTask
from edrp.mapping.server_network import DataLink, Server, ServerNetwork


def preferential_links(
    servers: int, links: int, random: np.random.Generator, *, links_per_newcomer: int = 1
) -> list[tuple[int, int]]:
    """Draw pairs of servers that are linked, in the order in which the links are added.

    Servers 1, 2, … join one after the other, each by links to `links_per_newcomer` servers that are there already (to all of
    them while there are fewer). Once all have joined, a server drawn uniformly among those that still can sets up one further
    link at a time. The other end is always drawn with probability proportional to the links that a server has, never twice
    the same. With fewer links than it takes for all to join, the last servers stay without.

    Parameters
    ----------
    links_per_newcomer
        Links by which a server joins; 1 gives a tree.

    Raises
    ------
    InvalidInstanceError
        Without servers, and for a negative number of links or more than there are pairs.
    """
    _check(servers, links)
    linked = np.zeros((servers, servers), dtype=bool)
    np.fill_diagonal(linked, True)
    degree = np.zeros(servers)
    pairs: list[tuple[int, int]] = []

    def link(server: int, among: int) -> None:
        reached = np.cumsum(np.where(linked[server, :among], 0.0, np.maximum(degree[:among], among == 1)))
        partner = int(np.searchsorted(reached, random.random() * reached[-1], side="right"))
        linked[server, partner] = linked[partner, server] = True
        degree[[server, partner]] += 1
        pairs.append((server, partner))

    for server in range(1, servers):
        for _ in range(min(links_per_newcomer, server, links - len(pairs))):
            link(server, server)
    while len(pairs) < links:
        open_servers = np.flatnonzero(~linked.all(axis=1))
        link(int(random.choice(open_servers)), servers)
    return pairs


def _check(servers: int, links: int) -> None:
    refuse_less(servers=(servers, 1))
    pairs = servers * (servers - 1) // 2
    if links < 0:
        raise InvalidInstanceError([Fault("links", str(links), "must not be negative")])
    if links > pairs:
        raise InvalidInstanceError([Fault("links", str(links), f"must be at most {pairs}: {servers} servers form no more pairs")])


def refuse_less(**counts: tuple[int, int]) -> None:
    """Refuse counts below their minimum, each given with it."""
    faults = [
        Fault(name, str(count), f"must be at least {minimum}") for name, (count, minimum) in counts.items() if count < minimum
    ]
    InvalidInstanceError.raise_if_any(faults)


MEGABIT = 125_000.0
"""Bytes."""

JOINED_BY = 2
"""Links by which a server joins the network, as BRITE's Barabási-Albert model has it by default: 2n - 3 links."""

BANDWIDTHS = (10 * MEGABIT, 1000 * MEGABIT)
BANDWIDTH_EXPONENT = 1.5
"""Truncated power law of bandwidths: ends (printed), and exponent of the share that exceeds a bandwidth (ours).

Mean 27 Mbps, median 16 Mbps: with heavier tails the mean, and with it the tasks' rates, outgrows what most links have.
"""

MEAN_CAPACITY, CAPACITY_SPREAD = 1000.0, 0.5
"""Capacity of servers: mean, and standard deviation of its logarithm.

The paper takes the hosts of a volunteer computing project without numbers. Speeds of such hosts are close to log-normal, most
within a factor of two or three of each other.
"""

LINK_COSTS = (10, 100)
"""Costs of links, whole numbers with equal probability; the paper prints none. They span one decade, as its delays do.

A choice that matters: over two decades (1 to 100) what a heuristic misses costs relatively more, and the least-cost map is up to
1.05 times the optimum in the mean of a size, instead of 1.03 at most.
"""

POWER_LAW_DELAYS = (1e-3, 10e-3)
"""Delays of links in seconds, those of its dedicated links in §6.1."""

MEAN_NEED_SHARE = 0.5
"""Mean needs, as share of the mean bandwidth of links and of the mean capacity of servers (printed)."""

NEED_SPREAD = 0.25
"""Standard deviation of needs over their mean (ours)."""

_NETWORK, _TASK = 0, 1
"""Streams of random numbers of a seed."""


def mapping_network(servers: int, seed: int, *, costs: tuple[int, int] = LINK_COSTS) -> ServerNetwork:
    """Draw a network with a power law of degrees (Barabási-Albert), named "n0", "n1", …; any server runs any component.

    Bandwidths follow a truncated power law between 10 Mbps and 1 Gbps, capacities of servers a log-normal distribution.
    Bandwidths (bytes/s), capacities and costs are whole numbers: sums of them are exact.

    Parameters
    ----------
    servers
        The paper has 30 to 120.
    seed
        The same seed gives the same network.
    costs
        Least and most of a link, in money.

    Raises
    ------
    InvalidInstanceError
        Without servers, and for costs that are negative or fall.

    Examples
    --------
    >>> network = mapping_network(30, seed=0)
    >>> len(network.nodes), len(network.links)
    (30, 57)
    """
    if not 0 <= costs[0] <= costs[1]:
        raise InvalidInstanceError([Fault("costs", str(costs), "must be the least cost, at least 0, then the most")])
    random = random_stream(seed, _NETWORK)
    count = sum(min(JOINED_BY, server) for server in range(1, servers))
    pairs = preferential_links(servers, count, random, links_per_newcomer=JOINED_BY)
    bandwidth = np.round(_truncated_power_law(len(pairs), random))
    cost = random.integers(*costs, len(pairs), endpoint=True)
    delay = np.round(random.uniform(*POWER_LAW_DELAYS, len(pairs)), 6)
    capacity = np.round(random.lognormal(np.log(MEAN_CAPACITY) - CAPACITY_SPREAD**2 / 2, CAPACITY_SPREAD, servers))
    links = tuple(
        DataLink(
            source=f"n{source}",
            target=f"n{target}",
            bandwidth=rounded(float(bandwidth[index])),
            cost=float(cost[index]),
            delay=float(delay[index]),
        )
        for index, (source, target) in enumerate(pairs)
    )
    return ServerNetwork(
        nodes=tuple(Server(name=f"n{index}", capacity=float(capacity[index])) for index in range(servers)), links=links
    )


def mapping_problem(
    servers: int, components: int = 10, seed: int = 0, *, costs: tuple[int, int] = LINK_COSTS, **fields: Any
) -> MappingProblem:
    """Draw a task to map on a `mapping_network`.

    Needs of components and rates of hops are normal around half the mean capacity of the servers and half the mean bandwidth
    of the links, truncated at 0; source and delivery are two servers at random. About nine in ten can be mapped.

    Parameters
    ----------
    servers
        At least 2.
    components
        At most 64.
    seed
        The same seed gives the same problem; the network is `mapping_network(servers, seed, costs=costs)`.
    costs
        Least and most of a link, in money.
    fields
        Fields of `MappingProblem` other than their defaults.

    Raises
    ------
    InvalidInstanceError
        For fewer than two servers, a number of components that no task can have, and fields that cannot be.

    Examples
    --------
    >>> problem = mapping_problem(30, components=4, seed=1, max_empty_hops=1)
    >>> len(problem.task.components), len(problem.task.hop_bandwidths)
    (4, 5)
    """
    refuse_less(servers=(servers, 2), components=(components, 0))
    network = mapping_network(servers, seed, costs=costs)
    random = random_stream(seed, _TASK)
    source, delivery = random.choice(servers, 2, replace=False)
    needs = _truncated_normal(float(np.mean([node.capacity for node in network.nodes])), components, random)
    bandwidths = _truncated_normal(float(np.mean([link.bandwidth for link in network.links])), components + 1, random)
    task = PathTask(
        source=f"n{source}",
        delivery=f"n{delivery}",
        components=tuple(Component(name=f"c{index + 1}", capacity=need) for index, need in enumerate(needs)),
        bandwidths=tuple(bandwidths),
    )
    return MappingProblem(**{"network": network, "task": task, **fields})


def _truncated_power_law(count: int, random: np.random.Generator) -> Floats:
    """Draw bandwidths in bytes/s: the inverse of the distribution function at uniform draws."""
    lowest, highest = BANDWIDTHS
    reached = 1 - (lowest / highest) ** BANDWIDTH_EXPONENT
    return lowest * (1 - reached * random.random(count)) ** (-1 / BANDWIDTH_EXPONENT)


def _truncated_normal(whole: float, count: int, random: np.random.Generator) -> list[float]:
    """Draw needs as whole numbers with a mean relative to `whole`, before truncation at 0."""
    below = ndtr(-1 / NEED_SPREAD)
    drawn = 1 + NEED_SPREAD * ndtri(below + (1 - below) * random.random(count))
    return rounded(np.round(MEAN_NEED_SHARE * whole * np.maximum(drawn, 0.0)))
