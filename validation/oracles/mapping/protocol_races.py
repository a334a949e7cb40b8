"""Races of tasks that are mapped at the same time on small, tight networks, with messages that overtake one another."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from edrp.heuristics.mapping.map_rules import Rules
from edrp.mapping.mapping_arrays import COSTS
from edrp.mapping.path_tasks import PathTask
from edrp.mapping.server_network import ServerNetwork
from edrp.validation.oracles.mapping.protocol_audit import audit, audit_reservations
from edrp.validation.simulation.mapping.agents.exchange import Exchange
from edrp.validation.simulation.mapping.agents.messages import Ack, Map

Random = np.random.Generator

SERVICES = ("decode", "join")
DELAYS = (0.0, 0.001, 0.002, 0.003)
"""Seconds: few values, so that many messages arrive at the same time."""


@dataclass(frozen=True, slots=True)
class Race:
    """Outcome of a race.

    Attributes
    ----------
    tasks, accepted : numbers of tasks.
    rollbacks : tasks of which a probe was rolled back.
    retried : tasks accepted with another map than the best that they had found.
    overtaken : tasks of which a map has overtaken the specification.
    faults : of the audits, after every message that can change a reservation and at the end.
    """

    tasks: int
    accepted: int
    rollbacks: int
    retried: int
    overtaken: int
    faults: tuple[str, ...]


def race(seed: int) -> Race:
    """Draw a race, run it, and audit it after every step."""
    exchange = random_exchange(seed)
    faults: list[str] = []
    while exchange.busy:
        if not isinstance(exchange.step(), Map | Ack):
            faults.extend(audit_reservations(exchange))
    results = exchange.results
    return Race(
        tasks=len(results),
        accepted=sum(result.decision is not None for result in results),
        rollbacks=sum(result.messages["rollback"] > 0 for result in results),
        retried=sum(result.decision is not None and result.decision != result.maps[0] for result in results),
        overtaken=sum(result.messages["ask"] > 0 for result in results),
        faults=(*faults, *audit(exchange)),
    )


def random_exchange(seed: int) -> Exchange:
    """Draw two to five tasks that begin within three milliseconds on three to six servers."""
    random = np.random.default_rng([seed, 7])
    rules = Rules(
        max_empty_hops=int(random.integers(0, 3)),
        total_hops=bool(random.random() < 0.5),
        cumulative=bool(random.random() < 0.8),
        cost=COSTS[random.integers(len(COSTS))],
        pruning=(("least-cost", "least-cost", "annealed", "random", "none")[random.integers(5)]),
        split_by_hops=bool(random.random() < 0.3),
        neighbours=2,
        max_messages=300,
    )
    network = _network(random)
    ask_delay = 0.002 if random.random() < 0.3 else 0.0
    exchange = Exchange(network, rules, jitter=float(random.choice([0.0, 0.3, 1.0])), seed=seed, ask_delay=ask_delay)
    for _ in range(random.integers(2, 6)):
        exchange.submit(_task(network, random), float(random.choice(DELAYS)))
    return exchange


def _network(random: Random) -> ServerNetwork:
    names = [f"n{number}" for number in range(random.integers(3, 7))]
    public = random.random() < 0.6
    nodes: list[dict[str, Any]] = [
        {
            "name": name,
            "capacity": float(random.integers(0, 4)),
            "total_capacity": 4.0,
            "services": None if random.random() < 0.4 else [service for service in SERVICES if random.random() < 0.6],
            "uplink": float(random.integers(0, 4)) if public else 0.0,
            "downlink": float(random.integers(1, 4)) if random.random() < 0.5 else None,
            "access_delay": float(random.choice(DELAYS)),
        }
        for name in names
    ]
    nodes[0]["services"] = None
    links = [
        {
            "source": source,
            "target": target,
            "bandwidth": float(random.integers(1, 5)),
            "cost": float(random.integers(0, 4)),
            "delay": float(random.choice(DELAYS)),
        }
        for source, target in combinations(names, 2)
        if random.random() < 0.6
    ]
    return ServerNetwork(nodes=nodes, links=links)


def _task(network: ServerNetwork, random: Random) -> PathTask:
    names = list(network.by_name)
    components = [
        {"name": f"c{position}", "service": (None, *SERVICES)[random.integers(3)], "capacity": float(random.integers(0, 3))}
        for position in range(random.integers(0, 4))
    ]
    source, delivery = (names[random.integers(len(names))] for _ in range(2))
    bandwidths = [float(rate) for rate in random.integers(0, 3, len(components) + 1)]
    return PathTask(source=source, delivery=delivery, components=components, bandwidths=bandwidths)
