"""ProcessMap of all map managers in compiled code (bi-modal networks, Algs. 1 and 3): the messages of a mapping, one by one."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from edrp.core.arrays import Bools, Ints32
from edrp.core.kernels import inlined, inner_loop
from edrp.heuristics.mapping.flood_memory import (
    ASKED,
    COMPLETE,
    HANDLED,
    MAPS,
    PUBLIC,
    SENT,
    Memory,
    NetworkArrays,
    Rules,
    TaskArrays,
)
from edrp.heuristics.mapping.flood_queue import next_message
from edrp.heuristics.mapping.flood_steps import SLACK, arrive, look_back, passes, place, send_on


@inner_loop
def advance(network: NetworkArrays, task: TaskArrays, rules: Rules, memory: Memory, budget: int) -> None:
    """Handle messages until none is left, `budget` of them are handled, or what the next one sends might not fit the arrays."""
    counts, m = memory.counts, task.needs.size
    most_sent = memory.ways.size * (m + 1)
    for _ in range(budget):
        if (
            counts[HANDLED] == counts[SENT]
            or counts[SENT] + most_sent > memory.messages.size
            or counts[MAPS] + m + 2 > memory.maps.size
            or counts[COMPLETE] == memory.complete.size
        ):
            return
        number, now = next_message(rules, memory)
        process_map(network, task, rules, memory, number, now)


@inlined
def process_map(network: NetworkArrays, task: TaskArrays, rules: Rules, memory: Memory, number: int, now: float) -> None:
    """Extend the map of a message by none, one, two … components on the server that it reaches, and send each on."""
    counts, maps = memory.counts, memory.maps
    message = memory.messages[number]
    parent, arc, v = message["map"], message["arc"], message["target"]
    if not memory.known[v, v]:
        counts[ASKED] += not message["informs"]
        memory.known[v, v] = True
    capacity, uplink, downlink, hosting = look_back(network, task, rules, memory, parent, v)
    draft = maps[counts[MAPS]]
    arrive(network, rules, memory, draft, parent, arc, v)
    m, mapped = task.needs.size, draft["prefix"]
    if arc == PUBLIC and downlink + task.bandwidths[mapped] > network.downlink[v] * SLACK:
        return
    for x in range(m - mapped + 1):
        if x > 0:
            component = mapped + x - 1
            capacity += task.needs[component]
            if not task.hosts[component, v] or capacity > network.capacity[v] * SLACK:
                return
            place(network, task, rules, memory, draft, hosting)
            hosting = True
        keep = False
        if v == task.delivery and mapped + x == m:
            memory.complete[counts[COMPLETE]] = counts[MAPS]
            counts[COMPLETE] += 1
            keep = True
        elif (x > 0 or arc != PUBLIC) and passes(rules, memory, draft, m, number, x):
            keep = send_on(network, task, rules, memory, counts[MAPS], uplink, number, now)
        if keep:
            counts[MAPS] += 1
            maps[counts[MAPS]] = draft
            draft = maps[counts[MAPS]]


@inner_loop
def mark_ancestors(maps: NDArray[Any], complete: Ints32, marked: Bools) -> None:
    """Mark complete maps, and those that they were extended from."""
    for last in complete:
        position = last
        while position >= 0 and not marked[position]:
            marked[position] = True
            position = maps[position]["parent"]
