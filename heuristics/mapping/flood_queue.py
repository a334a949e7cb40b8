"""Messages on their way: in the order of sending, or by the time at which they arrive."""

from __future__ import annotations

from edrp.core.kernels import inlined
from edrp.heuristics.mapping.flood_memory import (
    CAPPED,
    HANDLED,
    PUBLIC,
    SENT,
    SPECIFICATIONS,
    WAITING,
    Memory,
    NetworkArrays,
    Rules,
)
from edrp.mapping.counter_random import uniform


@inlined
def send(
    network: NetworkArrays, rules: Rules, memory: Memory, position: int, source: int, arc: int, target: int, now: float
) -> bool:
    """Send the map at a position over an arc or the public network; false when the cap keeps the message back."""
    counts = memory.counts
    number = counts[SENT]
    if number >= rules.most_messages:
        counts[CAPPED] = 1
        return False
    informs = not memory.known[source, target]
    memory.known[source, target] = True
    message = memory.messages[number]
    message["map"], message["arc"], message["target"], message["informs"] = position, arc, target, informs
    counts[SENT] += 1
    counts[SPECIFICATIONS] += informs
    if rules.timed:
        push(memory, now + transfer(network, rules, number, source, arc, target), number)
    return True


@inlined
def transfer(network: NetworkArrays, rules: Rules, number: int, source: int, arc: int, target: int) -> float:
    """Seconds that a message takes: the delay of its way, or with jitter something around it."""
    delay = network.access_delay[source] + network.access_delay[target] if arc == PUBLIC else network.delay[arc]
    if rules.jitter == 0.0:
        return delay
    scale = delay if delay > 0.0 else 1.0
    return delay * (1.0 - rules.jitter) + rules.jitter * scale * uniform(rules.seed, 2 * number)


@inlined
def next_message(rules: Rules, memory: Memory) -> tuple[int, float]:
    """Number of the message that arrives next, and when it does."""
    number = memory.counts[HANDLED]
    memory.counts[HANDLED] += 1
    return pop(memory) if rules.timed else (number, 0.0)


@inlined
def push(memory: Memory, time: float, number: int) -> None:
    """Put a message into the heap."""
    memory.counts[WAITING] += 1
    rise(memory, memory.counts[WAITING] - 1, time, number)


@inlined
def rise(memory: Memory, place: int, time: float, number: int) -> None:
    """Put a message at a free place of the heap, or above it."""
    heap = memory.heap
    while place > 0:
        above = heap[(place - 1) >> 1]
        if above["time"] < time or (above["time"] == time and above["number"] < number):
            break
        heap[place] = above
        place = (place - 1) >> 1
    heap[place]["time"], heap[place]["number"] = time, number


@inlined
def pop(memory: Memory) -> tuple[int, float]:
    """Take the message that arrives first out of the heap; of those that arrive together, the one sent first."""
    heap = memory.heap
    first, now = heap[0]["number"], heap[0]["time"]
    memory.counts[WAITING] -= 1
    size = memory.counts[WAITING]
    place, child = 0, 1
    while child + 1 < size:
        left, right = heap[child], heap[child + 1]
        child += (right["time"] < left["time"]) | ((right["time"] == left["time"]) & (right["number"] < left["number"]))
        heap[place] = heap[child]
        place, child = child, 2 * child + 1
    if child < size:
        heap[place] = heap[child]
        place = child
    rise(memory, place, heap[size]["time"], heap[size]["number"])
    return first, now
