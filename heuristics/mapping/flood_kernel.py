"""ProcessMap of all map managers in compiled code (bi-modal networks, Algs. 1 and 3): the messages of a mapping, one by one."""

from __future__ import annotations

from math import exp
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from edrp.core.arrays import Bools, Floats, Ints, Ints32
from edrp.core.kernels import inlined, inner_loop
from edrp.core.tolerances import LIMIT_SLACK
from edrp.mapping.mapping_arrays import NetworkArrays, TaskArrays, uniform

START, PUBLIC = -1, -2
"""Values that stand for an arc: the map comes from the user's portal, or over the public network."""

INITIAL_CAPACITY = 4096
"""Initial capacity of the arrays of messages and maps."""

SENT, HANDLED, MAPS, COMPLETE, SPECIFICATIONS, REQUESTED, CAPPED, WAITING = range(8)
"""Indices into `FloodMemory.counts`: map messages sent and handled, maps kept, complete maps, specifications sent and requested,
whether messages were kept back, and messages in the heap."""

MAP = np.dtype(
    [
        ("parent", np.int32),  # the map that was extended, -1 for none
        ("node", np.int32),  # server that extended it
        ("arc", np.int32),  # by which the parent came here, or START or PUBLIC
        ("prefix", np.int16),  # components mapped
        ("placed", np.int16),  # of these, on this server just now
        ("empty", np.int32),  # empty hops that count against the limit, this server's included
        ("links", np.int32),
        ("public_hops", np.int32),  # public hops
        ("dedicated_hops", np.int32),  # dedicated hops, the one that has not ended included
        ("servers", np.int32),  # that host a component
        ("cost", np.float64),
        ("load", np.float64),  # summed over the servers that host a component
    ]
)
"""Record type: a partial map, stored as its last step from the map that it extends."""

MESSAGE = np.dtype([("map", np.int32), ("arc", np.int32), ("target", np.int32), ("informs", np.bool_)], align=True)
"""Record type: a map on its way to a server, with the specification or without."""

WAITER = np.dtype([("time", np.float64), ("number", np.int64)])
"""Record type: a message in the heap and its time of arrival."""


class FloodNetwork(NamedTuple):
    """The free capacities and rates of a network (`NetworkArrays`)."""

    first: Ints32
    source: Ints32
    target: Ints32
    bandwidth: Floats
    cost: Floats
    delay: Floats
    capacity: Floats
    total: Floats
    uplink: Floats
    downlink: Floats
    access_delay: Floats

    @classmethod
    def of(cls, network: NetworkArrays) -> FloodNetwork:
        """Create from the arrays of a network, which are not copied."""
        return cls(*(getattr(network, name) for name in cls._fields))


class FloodRules(NamedTuple):
    """Rules by which maps are extended, compared and pruned; `cost` and `pruning` are indices into their lists of names."""

    max_empty_hops: int
    total_hops: bool
    cumulative: bool
    public_network: bool
    public_cost: float
    cost: int
    max_links: int
    pruning: int
    split_by_hops: bool
    cooling: float
    neighbours: int
    max_messages: int
    jitter: float
    timed: bool
    seed: int


class FloodMemory(NamedTuple):
    """State of all map managers during one mapping.

    `maps` and `messages` grow (dtypes `MAP` and `MESSAGE`; a message's number is its place), `complete` holds places in `maps`.
    `heap` (`WAITER`) is empty where messages arrive in the order of sending. `table` (servers, prefixes, empty hops, 2) holds the
    least keys so far, `specified` (servers, servers) who sent the specification to whom, and on its diagonal who has it.
    `used_rates` (arcs,) and `ways` (arcs, or ~server over the public network) are scratch.
    """

    counts: Ints
    maps: NDArray[Any]
    messages: NDArray[Any]
    complete: Ints32
    heap: NDArray[Any]
    table: Floats
    specified: Bools
    used_rates: Floats
    ways: Ints32


def initial_memory(earlier: FloodMemory | None, network: FloodNetwork, task: TaskArrays, rules: FloodRules) -> FloodMemory:
    """Return the memory at the start of a mapping, when the portal has sent an empty map to the source; arrays are reused."""
    servers, arcs, m = len(network.first) - 1, len(network.target), len(task.needs)
    shape = (servers, m + 1, rules.max_empty_hops + 2 if rules.split_by_hops else 1, 2)
    if earlier is None:
        earlier = FloodMemory(
            counts=np.zeros(8, np.int64),
            maps=np.empty(INITIAL_CAPACITY, MAP),
            messages=np.empty(INITIAL_CAPACITY, MESSAGE),
            complete=np.empty(INITIAL_CAPACITY, np.int32),
            heap=np.empty(0, WAITER),
            table=np.empty(shape),
            specified=np.empty((servers, servers), np.bool_),
            used_rates=np.empty(arcs),
            ways=np.empty(arcs + servers, np.int32),
        )
    memory = earlier if earlier.table.shape == shape else earlier._replace(table=np.empty(shape))
    if rules.timed and memory.heap.size < memory.messages.size:
        memory = memory._replace(heap=np.empty(memory.messages.size, WAITER))
    memory.table.fill(np.inf)
    memory.specified.fill(False)
    memory.counts.fill(0)
    memory.counts[SENT] = memory.counts[SPECIFICATIONS] = memory.counts[WAITING] = 1
    memory.messages[0] = (-1, START, task.source, True)
    if rules.timed:
        memory.heap[0] = (0.0, 0)
    return memory


def with_capacity(memory: FloodMemory, hops: int) -> FloodMemory:
    """Return the memory with capacity for everything that one more message can add."""
    counts, changed = memory.counts, {}
    if counts[SENT] + memory.ways.size * hops > memory.messages.size:
        size = 2 * memory.messages.size + memory.ways.size * hops
        changed["messages"] = enlarged_copy(memory.messages, size)
        if memory.heap.size:
            changed["heap"] = enlarged_copy(memory.heap, size)
    if counts[MAPS] + hops + 1 > memory.maps.size:
        changed["maps"] = enlarged_copy(memory.maps, 2 * memory.maps.size + hops)
    if counts[COMPLETE] == memory.complete.size:
        changed["complete"] = enlarged_copy(memory.complete, 2 * memory.complete.size)
    return memory._replace(**changed)


def enlarged_copy(array: NDArray[Any], size: int) -> NDArray[Any]:
    """Return a copy of an array with a larger capacity."""
    copy = np.empty(size, array.dtype)
    copy[: array.size] = array
    return copy


def delays_differ(network: NetworkArrays, *, public: bool) -> bool:
    """Tell whether messages may overtake one another on different ways."""
    ways = [network.delay]
    if public and (network.uplink > 0).any():
        ways.append(2 * network.access_delay)  # all sums are equal only where all of these are
    delays = np.concatenate(ways)
    return bool(delays.size) and bool(delays.min() != delays.max())


@inlined
def send(
    network: FloodNetwork, rules: FloodRules, memory: FloodMemory, position: int, source: int, arc: int, target: int, time: float
) -> bool:
    """Send the map at a position over an arc or the public network; false when the cap keeps the message back."""
    counts = memory.counts
    number = counts[SENT]
    if number >= rules.max_messages:
        counts[CAPPED] = 1
        return False
    informs = not memory.specified[source, target]
    memory.specified[source, target] = True
    message = memory.messages[number]
    message["map"], message["arc"], message["target"], message["informs"] = position, arc, target, informs
    counts[SENT] += 1
    counts[SPECIFICATIONS] += informs
    if rules.timed:
        push(memory, time + transfer(network, rules, number, source, arc, target), number)
    return True


@inlined
def transfer(network: FloodNetwork, rules: FloodRules, number: int, source: int, arc: int, target: int) -> float:
    """Return the seconds that a message takes: the delay of its way, or with jitter a random time around it."""
    delay = network.access_delay[source] + network.access_delay[target] if arc == PUBLIC else network.delay[arc]
    if rules.jitter == 0.0:
        return delay
    scale = delay if delay > 0.0 else 1.0
    return delay * (1.0 - rules.jitter) + rules.jitter * scale * uniform(rules.seed, 2 * number)


@inlined
def next_message(rules: FloodRules, memory: FloodMemory) -> tuple[int, float]:
    """Return the number of the message that arrives next, and the time of its arrival."""
    number = memory.counts[HANDLED]
    memory.counts[HANDLED] += 1
    return pop(memory) if rules.timed else (number, 0.0)


@inlined
def push(memory: FloodMemory, time: float, number: int) -> None:
    """Insert a message into the heap."""
    memory.counts[WAITING] += 1
    rise(memory, memory.counts[WAITING] - 1, time, number)


@inlined
def rise(memory: FloodMemory, position: int, time: float, number: int) -> None:
    """Insert a message at a free position of the heap and sift it up."""
    heap = memory.heap
    while position > 0:
        above = heap[(position - 1) >> 1]
        if above["time"] < time or (above["time"] == time and above["number"] < number):
            break
        heap[position] = above
        position = (position - 1) >> 1
    heap[position]["time"], heap[position]["number"] = time, number


@inlined
def pop(memory: FloodMemory) -> tuple[int, float]:
    """Take the message that arrives first out of the heap; of those that arrive together, the one sent first."""
    heap = memory.heap
    first, arrival = heap[0]["number"], heap[0]["time"]
    memory.counts[WAITING] -= 1
    size = memory.counts[WAITING]
    position, child = 0, 1
    while child + 1 < size:
        first_child, second_child = heap[child], heap[child + 1]
        child += (second_child["time"] < first_child["time"]) | (
            (second_child["time"] == first_child["time"]) & (second_child["number"] < first_child["number"])
        )
        heap[position] = heap[child]
        position, child = child, 2 * child + 1
    if child < size:
        heap[position] = heap[child]
        position = child
    rise(memory, position, heap[size]["time"], heap[size]["number"])
    return first, arrival


LIMIT_FACTOR = 1.0 + LIMIT_SLACK
"""Limits are multiplied by it: they are kept up to rounding, as the problem evaluates them."""

ADDITIVE, LOAD_BALANCE, PUBLIC_HOPS = range(3)
"""Places in `edrp.mapping.mapping_arrays.COSTS`."""

NO_PRUNING, COST_PRUNING, ANNEALED, RANDOM = range(4)
"""Places in `PRUNINGS`."""


@inlined
def look_back(
    network: FloodNetwork, task: TaskArrays, rules: FloodRules, memory: FloodMemory, parent: int, v: int
) -> tuple[float, float, float, bool]:
    """Collect the capacity, uplink and downlink that a map uses at a server, whether it has a component there, and its arcs.

    The rates on arcs are written to `FloodMemory.used`.
    """
    maps, used = memory.maps, memory.used_rates
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
def arrive(network: FloodNetwork, rules: FloodRules, memory: FloodMemory, extended: Any, parent: int, arc: int, v: int) -> None:
    """Record a map that has arrived at a server, before any component is placed there."""
    extended["parent"], extended["node"], extended["arc"], extended["placed"] = parent, v, arc, 0
    if arc == START:
        extended["prefix"] = extended["empty"] = extended["links"] = extended["public_hops"] = extended["dedicated_hops"] = extended[
            "servers"
        ] = 0
        extended["cost"] = extended["load"] = 0.0
        return
    before = memory.maps[parent]
    begins = before["placed"] > 0 or before["arc"] == START
    extended["prefix"], extended["servers"], extended["load"] = before["prefix"], before["servers"], before["load"]
    extended["empty"] = before["empty"] + 1
    by_link = arc != PUBLIC
    extended["cost"] = before["cost"] + (network.cost[arc] if by_link else rules.public_cost)
    extended["links"] = before["links"] + by_link
    extended["public_hops"] = before["public_hops"] + (not by_link)
    extended["dedicated_hops"] = before["dedicated_hops"] + (by_link and begins)


@inlined
def place(network: FloodNetwork, task: TaskArrays, rules: FloodRules, memory: FloodMemory, extended: Any, hosting: bool) -> None:
    """Place the next component of a map on the server that it has reached."""
    v, need = extended["node"], task.needs[extended["prefix"]]
    extended["prefix"] += 1
    extended["placed"] += 1
    parent = extended["parent"]
    extended["empty"] = memory.maps[parent]["empty"] if rules.total_hops and parent >= 0 else 0
    used_capacity = need if hosting else network.total[v] - network.capacity[v] + need
    if network.total[v] > 0.0:
        extended["load"] += used_capacity / network.total[v]
    extended["servers"] += not hosting


@inlined
def passes(rules: FloodRules, memory: FloodMemory, extended: Any, components: int, number: int, x: int) -> bool:
    """Tell whether pruning lets a map be sent on; the table of the server keeps the least key."""
    if rules.pruning == NO_PRUNING or rules.pruning == RANDOM:
        return True
    load = extended["load"] / extended["servers"] if extended["servers"] else 0.0
    second = 0.0
    if rules.cost == ADDITIVE:
        first = extended["cost"]
    elif rules.cost == LOAD_BALANCE:
        first, second = load, extended["public_hops"] - (components + 2.0) * extended["dedicated_hops"]
    elif rules.cost == PUBLIC_HOPS:
        first = extended["public_hops"] + load / 2
    else:
        first = extended["public_hops"] * (rules.max_links + 1) + extended["links"] + load / 2
    best = memory.table[extended["node"], extended["prefix"], extended["empty"] if rules.split_by_hops else 0]
    if first < best[0] or (first == best[0] and second < best[1]):
        best[0], best[1] = first, second
        return True
    if rules.pruning == COST_PRUNING:
        return False
    return uniform(rules.seed + 1, 64 * number + x) < exp(-rules.cooling * (extended["prefix"] + 1))


@inlined
def send_on(
    network: FloodNetwork,
    task: TaskArrays,
    rules: FloodRules,
    memory: FloodMemory,
    position: int,
    uplink: float,
    number: int,
    time: float,
) -> bool:
    """Send a map to the neighbours that may extend it, or to some of them; return False when it goes nowhere."""
    extended = memory.maps[position]
    v, x, rate = extended["node"], extended["placed"], task.bandwidths[extended["prefix"]]
    connected = uplink + rate <= network.uplink[v] * LIMIT_FACTOR
    count = neighbours(network, task, rules, memory, extended, connected)
    chosen = min(count, rules.neighbours) if rules.pruning == RANDOM else count
    sent = False
    for i in range(chosen):
        if rules.pruning == RANDOM:
            other = i + int(uniform(rules.seed + 2, 4096 * number + 64 * x + i) * (count - i))
            memory.ways[i], memory.ways[other] = memory.ways[other], memory.ways[i]
        way = memory.ways[i]
        if way < 0:
            if connected:
                sent |= send(network, rules, memory, position, v, PUBLIC, ~way, time)
        elif memory.used_rates[way] + rate <= network.bandwidth[way] * LIMIT_FACTOR:
            sent |= send(network, rules, memory, position, v, way, network.target[way], time)
    return sent


@inlined
def neighbours(
    network: FloodNetwork, task: TaskArrays, rules: FloodRules, memory: FloodMemory, extended: Any, connected: bool
) -> int:
    """List the ways by which a map may go on, arcs before servers reached over the public network; return their number.

    Those over the public network are left out where the uplink has not the rate, unless neighbours are drawn.
    """
    v, prefix, begins = extended["node"], extended["prefix"], extended["placed"] > 0 or extended["arc"] == START
    count = 0
    if begins or extended["empty"] <= rules.max_empty_hops:
        for arc in range(network.first[v], network.first[v + 1]):
            memory.ways[count] = arc
            count += 1
    if begins and rules.public_network and network.uplink[v] > 0.0 and (connected or rules.pruning == RANDOM):
        if prefix == task.needs.size:
            memory.ways[count] = ~task.delivery
            return count + 1
        for target in range(network.capacity.size):
            if target != v and task.hosts[prefix, target]:
                memory.ways[count] = ~target
                count += 1
    return count


@inner_loop
def advance(network: FloodNetwork, task: TaskArrays, rules: FloodRules, memory: FloodMemory, budget: int) -> None:
    """Handle messages until none is left, `budget` of them are handled, or the arrays might overflow."""
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
        number, time = next_message(rules, memory)
        process_map(network, task, rules, memory, number, time)


@inlined
def process_map(
    network: FloodNetwork, task: TaskArrays, rules: FloodRules, memory: FloodMemory, number: int, time: float
) -> None:
    """Extend the map of a message by none, one, two … components on the server that it reaches, and send each on."""
    counts, maps = memory.counts, memory.maps
    message = memory.messages[number]
    parent, arc, v = message["map"], message["arc"], message["target"]
    if not memory.specified[v, v]:
        counts[REQUESTED] += not message["informs"]
        memory.specified[v, v] = True
    capacity, uplink, downlink, hosting = look_back(network, task, rules, memory, parent, v)
    extended = maps[counts[MAPS]]
    arrive(network, rules, memory, extended, parent, arc, v)
    m, mapped = task.needs.size, extended["prefix"]
    if arc == PUBLIC and downlink + task.bandwidths[mapped] > network.downlink[v] * LIMIT_FACTOR:
        return
    for x in range(m - mapped + 1):
        if x > 0:
            component = mapped + x - 1
            capacity += task.needs[component]
            if not task.hosts[component, v] or capacity > network.capacity[v] * LIMIT_FACTOR:
                return
            place(network, task, rules, memory, extended, hosting)
            hosting = True
        keep = False
        if v == task.delivery and mapped + x == m:
            memory.complete[counts[COMPLETE]] = counts[MAPS]
            counts[COMPLETE] += 1
            keep = True
        elif (x > 0 or arc != PUBLIC) and passes(rules, memory, extended, m, number, x):
            keep = send_on(network, task, rules, memory, counts[MAPS], uplink, number, time)
        if keep:
            counts[MAPS] += 1
            maps[counts[MAPS]] = extended
            extended = maps[counts[MAPS]]


@inner_loop
def mark_ancestors(maps: NDArray[Any], complete: Ints32, marked: Bools) -> None:
    """Mark complete maps, and those that they were extended from."""
    for last in complete:
        position = last
        while position >= 0 and not marked[position]:
            marked[position] = True
            position = maps[position]["parent"]
