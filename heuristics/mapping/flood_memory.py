"""Arrays of `advance_flood` (edrp/native/heuristics/mapping/flood.cpp): the messages and maps of a mapping, one by one."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from edrp.core.arrays import Bools, Floats, Ints, Ints32
from edrp.mapping.mapping_arrays import NetworkArrays, TaskArrays

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
"""Record type: a partial map, stored as its last step from the map that it extends; packed, as there may be millions."""

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
