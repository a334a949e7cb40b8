"""Audit of the mapping protocol: it ends once, acknowledges all maps, and reserves what accepted tasks take."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator
from itertools import pairwise

from edrp.core.tolerances import LIMIT_SLACK, SAME_VALUE
from edrp.mapping.path_tasks import PathMap, PathTask
from edrp.mapping.server_network import ServerNetwork
from edrp.validation.simulation.mapping.agents.agent import Resource, resource_text
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
