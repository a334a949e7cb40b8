"""Servers joined by dedicated links and the public network, and traces of stream tasks on them (bi-modal networks, §6.1)."""

from __future__ import annotations

from functools import partial
from typing import Any, Literal

import numpy as np

from edrp.core.errors import Fault, InvalidInstanceError
from edrp.core.problem import Problem
from edrp.datasets.families.family import Family
from edrp.datasets.families.mapping.power_law_networks import (
    MEGABIT,
    mapping_network,
    mapping_problem,
    preferential_links,
    refuse_less,
)
from edrp.datasets.random_numbers import log_uniform, random_stream, rounded
from edrp.mapping.bimodal_scenario import BimodalScenario
from edrp.mapping.path_tasks import BimodalTask, Service
from edrp.mapping.server_network import DataLink, Server, ServerNetwork

__all__ = ["bimodal_platform", "bimodal_scenario", "mapping_network", "mapping_problem"]

Networks = Literal["both", "dedicated", "public"]
"""Networks that tasks may use."""

SERVERS, LINKS = 100, 99
TASKS_PER_HOUR, TRACE_TASKS = 60.0, 500
"""Tasks per hour (Poisson) and in a trace."""

LINK_BANDWIDTHS = (1 * MEGABIT, 10 * MEGABIT)
LINK_DELAYS = (1e-3, 10e-3)
ACCESS_BANDWIDTHS = (1 * MEGABIT, 2 * MEGABIT)
"""Uplinks and downlinks."""

PUBLIC_DELAYS = (10e-3, 100e-3)
"""Between two servers; each has half of that on its side, so that every sum lies between them."""

SERVICES = 25
INSTANCES_PER_SERVICE = 2.0
"""The paper's k: instances of each service that a server can run at a time, each on one unit of capacity."""

COMPONENTS = 10
SHRINKAGE = 0.95
"""Bytes out per byte in of every service. Ours: the paper says only that components may reduce the rate."""

SOURCE_RATE = 1 * MEGABIT
MEAN_DATA = 100e6
"""Bytes at the source, exponential: the paper says "100 MB on average"."""

SECONDS_PER_HOUR = 3600.0

_LINKS, _LINK_FIELDS, _SERVERS, _SERVICES, _TASKS = range(5)
"""Streams of random numbers of a seed."""


def bimodal_platform(servers: int = SERVERS, links: int = LINKS, seed: int = 0, *, services: int = SERVICES) -> ServerNetwork:
    """Draw servers "n0", "n1", … on the public network, joined by dedicated links that prefer servers with many links.

    Everything printed in §6.1 is drawn uniformly: links of 1 to 10 Mbps and 1 to 10 ms, uplinks and downlinks of 1 to 2 Mbps,
    10 to 100 ms between two servers over the public network. A server with d links hosts 1 + d of 25 services "s0", "s1", …
    (all from 24 links on) and has a capacity of 2 (1 + d).

    With one link fewer than servers the links form a tree, with more of them servers drawn at random get further ones, with
    fewer the last servers have none. The platforms of a seed with different numbers of links grow out of each other: links,
    services and capacities are added, the rest stays.

    Parameters
    ----------
    servers, links
        How many.
    seed
        The same seed gives the same platform.
    services
        How many there are; in the paper 25. On fewer servers, as many services leave some that nobody hosts.

    Raises
    ------
    InvalidInstanceError
        Without servers, without services, and for a negative number of links or more than there are pairs of servers.

    Examples
    --------
    >>> platform = bimodal_platform(seed=1)
    >>> len(platform.nodes), len(platform.links), sum(node.capacity for node in platform.nodes)
    (100, 99, 596.0)
    """
    refuse_less(services=(services, 1))
    pairs = preferential_links(servers, links, random_stream(seed, _LINKS))
    lowest, highest = np.array([LINK_BANDWIDTHS, LINK_DELAYS]).T
    bandwidth, delay = random_stream(seed, _LINK_FIELDS).uniform(lowest, highest, (links, 2)).T
    random = random_stream(seed, _SERVERS)
    uplink, downlink = random.uniform(*ACCESS_BANDWIDTHS, (2, servers))
    access_delay = random.uniform(*PUBLIC_DELAYS, servers) / 2
    order = random_stream(seed, _SERVICES).permuted(np.tile(np.arange(services), (servers, 1)), axis=1)
    hosted = 1 + np.bincount(np.array(pairs, dtype=np.int64).ravel(), minlength=servers)
    return ServerNetwork(
        nodes=tuple(
            Server(
                name=f"n{index}",
                capacity=INSTANCES_PER_SERVICE * int(hosted[index]),
                services=tuple(f"s{service}" for service in sorted(order[index, : hosted[index]].tolist())),
                uplink=rounded(float(uplink[index])),
                downlink=rounded(float(downlink[index])),
                access_delay=rounded(float(access_delay[index])),
            )
            for index in range(servers)
        ),
        links=tuple(
            DataLink(
                source=f"n{source}",
                target=f"n{target}",
                bandwidth=rounded(float(bandwidth[index])),
                delay=rounded(float(delay[index])),
            )
            for index, (source, target) in enumerate(pairs)
        ),
    )


def bimodal_scenario(
    *,
    servers: int = SERVERS,
    links: int = LINKS,
    rate: float = TASKS_PER_HOUR,
    tasks: int = TRACE_TASKS,
    networks: Networks = "both",
    seed: int = 0,
    services: int = SERVICES,
    **fields: Any,
) -> BimodalScenario:
    """Draw a trace of tasks on a `bimodal_platform`: ten components each, from one random server to another.

    The components are different services, drawn with equal probability from all 25 (from fewer than ten
    services with repetitions). A task has 1 Mbps at its source and
    100 MB in the mean (exponential); every service passes on 95 % of what comes in. Arrivals are a Poisson process. All tasks
    pay the same price.

    Runs of the same seed are paired: the tasks are the same on every network and every number of links, the platform is the
    same for every trace, and another rate only stretches the times of arrival. The first tasks of a longer trace are those
    of a shorter one.

    Parameters
    ----------
    servers, links
        Size of the platform; at least 2 servers.
    rate
        Arrivals per hour, in the mean.
    tasks
        Length of the trace.
    networks
        Networks that tasks may use: "both", "dedicated" links only, or the "public" network only.
    seed
        The same seed gives the same platform and the same tasks.
    services
        How many there are; in the paper 25.
    fields
        Fields of `BimodalScenario` other than their defaults.

    Raises
    ------
    InvalidInstanceError
        For fewer than two servers, no services, no tasks, a rate that is not above 0, and a platform or fields that cannot be.

    Examples
    --------
    >>> slow, fast = (bimodal_scenario(rate=rate, tasks=20, seed=3) for rate in (30, 60))
    >>> round(slow.tasks[7].arrival / fast.tasks[7].arrival, 3), slow.tasks[7].services == fast.tasks[7].services
    (2.0, True)
    """
    refuse_less(servers=(servers, 2), tasks=(tasks, 1), services=(services, 1))
    if not (0 < rate < np.inf):
        raise InvalidInstanceError([Fault("rate", f"{rate:g}", "must be above 0 tasks/h")])
    described: dict[str, Any] = {
        "network": bimodal_platform(servers, links, seed, services=services),
        "services": tuple(Service(name=f"s{index}", shrinkage=SHRINKAGE, capacity=1.0) for index in range(services)),
        "tasks": _trace(servers, services, tasks, rate, random_stream(seed, _TASKS)),
        "networks": networks,
    }
    return BimodalScenario(**{**described, **fields})


def _trace(servers: int, services: int, tasks: int, rate: float, random: np.random.Generator) -> tuple[BimodalTask, ...]:
    arrival, trace = 0.0, []
    for _ in range(tasks):
        arrival += random.exponential(SECONDS_PER_HOUR) / rate
        source, delivery = random.choice(servers, 2, replace=False)
        trace.append(
            BimodalTask(
                arrival=rounded(arrival),
                source=f"n{source}",
                delivery=f"n{delivery}",
                services=tuple(f"s{service}" for service in random.choice(services, COMPONENTS, replace=services < COMPONENTS)),
                rate=SOURCE_RATE,
                data=rounded(float(np.ceil(random.exponential(MEAN_DATA)))),
            )
        )
    return tuple(trace)


DEFAULT_TASKS = 20
MAX_SEED = 2**31

LINKS_PER_SERVER = (0.3, 1.5)
RATE_FACTORS = (0.3, 3.0)
"""Tasks per hour and server, relative to the paper's; the logarithm is uniform."""

SMALL_SERVERS = (6, 20)
MIN_SERVICES = 3

NETWORKS: tuple[Networks, ...] = ("both", "both", "dedicated", "public")
VARIATIONS = (1.0, 1.0, 0.5, 0.0)
REALLOCATION_INTERVALS = (10.0, 60.0, 0.0)
BUFFERS = (0.0, 0.0, 1.0)
EMPTY_HOPS = (0, 3)

SOURCE_RATES = (0.2 * MEGABIT, 2 * MEGABIT)
DATA_SIZES = (1e7, 3e8)
PRICES = (2e-7, 5e-6)
"""Bytes/s, bytes and money per byte of unequal tasks; the logarithms are uniform."""

COMPONENT_RANGE = (1, 12)


def _small_platform(tasks: int, random: np.random.Generator) -> Problem:
    servers = int(random.integers(*SMALL_SERVERS, endpoint=True))
    buffer = float(random.choice(BUFFERS))
    return _scenario(
        servers,
        tasks,
        random,
        max_empty_hops=int(random.integers(*EMPTY_HOPS, endpoint=True)),
        variation=float(random.choice(VARIATIONS)),
        reallocation_interval=float(random.choice(REALLOCATION_INTERVALS)),
        buffer=buffer,
        flow="drawn" if buffer or random.random() < 0.5 else "expected",
    )


def _unequal_tasks(tasks: int, random: np.random.Generator) -> Problem:
    scenario = _scenario(int(random.integers(*SMALL_SERVERS, endpoint=True)), tasks, random)
    services = [service.name for service in scenario.services]

    def unequal(task: BimodalTask) -> BimodalTask:
        chosen = random.choice(len(services), int(random.integers(*COMPONENT_RANGE, endpoint=True)))
        return task.replace(
            services=tuple(services[index] for index in chosen),
            **rounded(
                {
                    name: log_uniform(ends, random)
                    for name, ends in (("rate", SOURCE_RATES), ("data", DATA_SIZES), ("price", PRICES))
                }
            ),
        )

    return scenario.replace(tasks=tuple(unequal(task) for task in scenario.tasks))


def _scenario(servers: int, tasks: int, random: np.random.Generator, **fields: Any) -> BimodalScenario:
    links = min(int(servers * random.uniform(*LINKS_PER_SERVER)), servers * (servers - 1) // 2)
    return bimodal_scenario(
        servers=servers,
        links=links,
        rate=TASKS_PER_HOUR * servers / SERVERS * log_uniform(RATE_FACTORS, random),
        tasks=tasks,
        networks=NETWORKS[int(random.integers(len(NETWORKS)))],
        seed=int(random.integers(MAX_SEED)),
        services=max(MIN_SERVICES, round(SERVICES * servers / SERVERS)),  # each is on as many servers as in the paper
        **fields,
    )


FAMILIES = tuple(
    Family(name, "bimodal-scenario", summary, make, "tasks", DEFAULT_TASKS)
    for name, summary, make in (
        ("platform", "the paper's platform at any rate and number of links", partial(_scenario, SERVERS)),
        ("small-platform", "few servers, any flow over the public network", _small_platform),
        ("unequal-tasks", "few servers, tasks that differ in components, rates, data and prices", _unequal_tasks),
    )
)
"""Families of runs on bi-modal networks, for the record of their kind."""
