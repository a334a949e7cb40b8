"""Audit of the mapping protocol in races of tasks: it ends once, acknowledges all maps, and reserves what accepted tasks take."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations, pairwise
from typing import Any

import numpy as np

from edrp.core.tolerances import LIMIT_SLACK, SAME_VALUE
from edrp.heuristics.mapping.map_rules import Rules
from edrp.mapping.mapping_arrays import COSTS
from edrp.mapping.path_tasks import PathMap, PathTask
from edrp.mapping.server_network import ServerNetwork
from edrp.validation.simulation.mapping.agents.agent import Ack, Map, Resource, resource_text
from edrp.validation.simulation.mapping.agents.exchange import Exchange, MappedTask


def audit(exchange: Exchange) -> Iterator[str]:
    """Describe the faults of an exchange in which no message is on its way any more.

    Every task must have ended its mapping and be decided exactly once, with as many acknowledgements as maps and nothing
    remembered of it. Servers must hold what accepted tasks take, nothing less and nothing more.
    """
    for number, result in enumerate(exchange.results):
        for event, times in (("terminated", result.terminated), ("decided", result.decided)):
            if len(times) != 1:
                yield f"task {number}: {event} {len(times)} times"
        if result.messages["map"] != result.messages["ack"]:
            yield f"task {number}: {result.messages['ack']} acknowledgements of {result.messages['map']} maps"
        for name, agent in exchange.agents.items():
            if number in agent.states:
                yield f"task {number}: {name} has not forgotten it"
    yield from audit_reservations(exchange)


def audit_reservations(exchange: Exchange) -> Iterator[str]:
    """Describe the faults of the reservations at any moment."""
    reserved = held_by_tasks(exchange)
    total: defaultdict[Resource, float] = defaultdict(float)
    for number, result in enumerate(exchange.results):
        holds = reserved.pop(number, {})
        for resource, amount in holds.items():
            total[resource] += amount
        if result.decided:
            yield from (f"task {number}: {difference}" for difference in _differences(holds, result))
    for resource, amount in total.items():
        free = _limit(exchange.network, resource)
        if amount > free * (1 + LIMIT_SLACK):
            yield f"{resource_text(resource)}: {amount:.9g} promised of {free:.9g}"


def held_by_tasks(exchange: Exchange) -> dict[int, dict[Resource, float]]:
    """Return the amount of each resource that each task holds, by the reservations of the servers."""
    reserved: defaultdict[int, dict[Resource, float]] = defaultdict(dict)
    for agent in exchange.agents.values():
        for task, amounts in agent.held.items():
            reserved[task].update(amounts)
    return dict(reserved)


def taken(task: PathTask, decision: PathMap, *, cumulative: bool = True) -> dict[Resource, float]:
    """Return the amount of each resource that a map takes, by the documents."""
    uses: defaultdict[Resource, list[float]] = defaultdict(list)
    amounts: defaultdict[Resource, float] = defaultdict(float)
    for server, need in zip(decision.nodes, task.needs, strict=True):
        amounts["capacity", server] += need
    for hop, (route, rate) in enumerate(zip(decision.routes, task.hop_bandwidths, strict=True)):
        if decision.is_public(hop):
            uses["uplink", route[0]].append(rate)
            uses["downlink", route[1]].append(rate)
        else:
            for arc in pairwise(route):
                uses["bandwidth", *arc].append(rate)
    amounts.update({resource: math.fsum(rates) if cumulative else max(rates) for resource, rates in uses.items()})
    return {resource: amount for resource, amount in amounts.items() if amount}


def _differences(holds: dict[Resource, float], result: MappedTask) -> Iterator[str]:
    """List resources of which a decided task holds another amount than its map takes; a rejected task takes nothing."""
    specification, decision = result.specification, result.decision
    due = taken(specification.task, decision, cumulative=specification.rules.cumulative) if decision else {}
    for resource in sorted({*holds, *due}):
        reserved, required = holds.get(resource, 0.0), due.get(resource, 0.0)
        if not math.isclose(reserved, required, rel_tol=SAME_VALUE):
            yield f"holds {reserved:.9g} of {resource_text(resource)}, its map takes {required:.9g}"


def _limit(network: ServerNetwork, resource: Resource) -> float:
    quantity, *ends = resource
    if quantity == "bandwidth":
        return network.arcs[ends[0], ends[1]].bandwidth
    server = network.by_name[ends[0]]
    if quantity == "downlink":
        return math.inf if server.downlink is None else server.downlink
    return server.capacity if quantity == "capacity" else server.uplink


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


def _network(random: np.random.Generator) -> ServerNetwork:
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


def _task(network: ServerNetwork, random: np.random.Generator) -> PathTask:
    names = list(network.by_name)
    components = [
        {"name": f"c{position}", "service": (None, *SERVICES)[random.integers(3)], "capacity": float(random.integers(0, 3))}
        for position in range(random.integers(0, 4))
    ]
    source, delivery = (names[random.integers(len(names))] for _ in range(2))
    bandwidths = [float(rate) for rate in random.integers(0, 3, len(components) + 1)]
    return PathTask(source=source, delivery=delivery, components=components, bandwidths=bandwidths)
