"""What ProcessMap does with one map at one server (bi-modal networks, Algs. 1 and 3), in compiled code."""

from __future__ import annotations

from math import exp
from typing import Any

from edrp.core.kernels import inlined
from edrp.heuristics.mapping.flood_memory import PUBLIC, START, Memory, NetworkArrays, Rules, TaskArrays
from edrp.heuristics.mapping.flood_queue import send
from edrp.mapping.counter_random import uniform

SLACK = 1.0 + 1e-9
"""Limits are kept up to rounding, as the problem evaluates them."""

ADDITIVE, LOAD_BALANCE, PUBLIC_HOPS = range(3)
"""Places in `edrp.mapping.costs.COSTS`."""

NONE, LEAST_COST, ANNEALED, RANDOM = range(4)
"""Places in `PRUNINGS`."""


@inlined
def look_back(
    network: NetworkArrays, task: TaskArrays, rules: Rules, memory: Memory, parent: int, v: int
) -> tuple[float, float, float, bool]:
    """What a map uses at a server: capacity, uplink, downlink, and whether it has a component there; `Memory.used` its arcs."""
    maps, used = memory.maps, memory.used
    for arc in range(network.first[v], network.first[v + 1]):
        used[arc] = 0.0
    capacity, uplink, downlink, hosting = 0.0, 0.0, 0.0, False
    leaving = -1  # the map by which the chain went on
    position = parent
    while position >= 0:
        step = maps[position]
        if step["node"] == v:
            arrived = step["prefix"] - step["placed"]
            for component in range(arrived, step["prefix"]):
                capacity += task.needs[component]
                hosting = True
            if rules.cumulative:
                if step["arc"] == PUBLIC:
                    downlink += task.bandwidths[arrived]
                if leaving >= 0:
                    rate = task.bandwidths[step["prefix"]]
                    if maps[leaving]["arc"] == PUBLIC:
                        uplink += rate
                    else:
                        used[maps[leaving]["arc"]] += rate
        leaving, position = position, step["parent"]
    return capacity, uplink, downlink, hosting


@inlined
def arrive(network: NetworkArrays, rules: Rules, memory: Memory, draft: Any, parent: int, arc: int, v: int) -> None:
    """Write down a map that has come to a server and has nothing new there yet."""
    draft["parent"], draft["node"], draft["arc"], draft["placed"] = parent, v, arc, 0
    if arc == START:
        draft["prefix"] = draft["empty"] = draft["links"] = draft["public"] = draft["dedicated"] = draft["servers"] = 0
        draft["cost"] = draft["load"] = 0.0
        return
    before = memory.maps[parent]
    begins = before["placed"] > 0 or before["arc"] == START
    draft["prefix"], draft["servers"], draft["load"] = before["prefix"], before["servers"], before["load"]
    draft["empty"] = before["empty"] + 1
    by_link = arc != PUBLIC
    draft["cost"] = before["cost"] + (network.cost[arc] if by_link else rules.public_cost)
    draft["links"] = before["links"] + by_link
    draft["public"] = before["public"] + (not by_link)
    draft["dedicated"] = before["dedicated"] + (by_link and begins)


@inlined
def place(network: NetworkArrays, task: TaskArrays, rules: Rules, memory: Memory, draft: Any, hosting: bool) -> None:
    """Put the next component on the server of a draft."""
    v, need = draft["node"], task.needs[draft["prefix"]]
    draft["prefix"] += 1
    draft["placed"] += 1
    parent = draft["parent"]
    draft["empty"] = memory.maps[parent]["empty"] if rules.total_hops and parent >= 0 else 0
    taken = need if hosting else network.total[v] - network.capacity[v] + need
    if network.total[v] > 0.0:
        draft["load"] += taken / network.total[v]
    draft["servers"] += not hosting


@inlined
def passes(rules: Rules, memory: Memory, draft: Any, components: int, number: int, x: int) -> bool:
    """Whether pruning lets a map be sent on; the table of the server keeps the least key."""
    if rules.pruning == NONE or rules.pruning == RANDOM:
        return True
    load = draft["load"] / draft["servers"] if draft["servers"] else 0.0
    second = 0.0
    if rules.cost == ADDITIVE:
        first = draft["cost"]
    elif rules.cost == LOAD_BALANCE:
        first, second = load, draft["public"] - (components + 2.0) * draft["dedicated"]
    elif rules.cost == PUBLIC_HOPS:
        first = draft["public"] + load / 2
    else:
        first = draft["public"] * (rules.most_links + 1) + draft["links"] + load / 2
    least = memory.table[draft["node"], draft["prefix"], draft["empty"] if rules.split_by_hops else 0]
    if first < least[0] or (first == least[0] and second < least[1]):
        least[0], least[1] = first, second
        return True
    if rules.pruning == LEAST_COST:
        return False
    return uniform(rules.seed + 1, 64 * number + x) < exp(-rules.cooling * (draft["prefix"] + 1))


@inlined
def send_on(
    network: NetworkArrays, task: TaskArrays, rules: Rules, memory: Memory, position: int, uplink: float, number: int, now: float
) -> bool:
    """Send a map to the neighbours that may extend it, or to some of them; false when it goes nowhere."""
    draft = memory.maps[position]
    v, x, rate = draft["node"], draft["placed"], task.bandwidths[draft["prefix"]]
    connected = uplink + rate <= network.uplink[v] * SLACK
    count = neighbours(network, task, rules, memory, draft, connected)
    chosen = min(count, rules.neighbours) if rules.pruning == RANDOM else count
    sent = False
    for i in range(chosen):
        if rules.pruning == RANDOM:
            other = i + int(uniform(rules.seed + 2, 4096 * number + 64 * x + i) * (count - i))
            memory.ways[i], memory.ways[other] = memory.ways[other], memory.ways[i]
        way = memory.ways[i]
        if way < 0:
            if connected:
                sent |= send(network, rules, memory, position, v, PUBLIC, ~way, now)
        elif memory.used[way] + rate <= network.bandwidth[way] * SLACK:
            sent |= send(network, rules, memory, position, v, way, network.target[way], now)
    return sent


@inlined
def neighbours(network: NetworkArrays, task: TaskArrays, rules: Rules, memory: Memory, draft: Any, connected: bool) -> int:
    """List the ways by which a map may go on, rates apart, arcs before servers reached over the public network; their number.

    Those over the public network are left out where the uplink has not the rate, unless neighbours are drawn.
    """
    v, prefix, begins = draft["node"], draft["prefix"], draft["placed"] > 0 or draft["arc"] == START
    count = 0
    if begins or draft["empty"] <= rules.max_empty_hops:
        for arc in range(network.first[v], network.first[v + 1]):
            memory.ways[count] = arc
            count += 1
    if begins and rules.public and network.uplink[v] > 0.0 and (connected or rules.pruning == RANDOM):
        if prefix == task.needs.size:
            memory.ways[count] = ~task.delivery
            return count + 1
        for target in range(network.capacity.size):
            if target != v and task.hosts[prefix, target]:
                memory.ways[count] = ~target
                count += 1
    return count
