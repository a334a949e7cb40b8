"""Messages on their way: in the order of sending, or by the time at which they arrive."""

from __future__ import annotations

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
from edrp.kernels import inlined
from edrp.mapping.draws import uniform


@inlined
def send(network: NetworkArrays, rules: Rules, memory: Memory, position: int, source: int, arc: int, target: int, now: float) -> bool:
    """Send the map at a position over an arc or the public network; false when the cap keeps the message back."""
    counts = memory.counts
    number = counts[SENT]
    if number >= rules.most_messages:
        counts[CAPPED] = 1
        return False
    message = memory.messages[number]
    message["map"], message["arc"], message["target"] = position, arc, target
    counts[SENT] += 1
    if not memory.known[source, target]:
        memory.known[source, target] = True
        counts[SPECIFICATIONS] += 1
    if rules.timed:
        memory.arrival[number] = now + transfer(network, rules, number, source, arc, target)
        push(memory, number)
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
def next_message(rules: Rules, memory: Memory) -> int:
    """Number of the message that arrives next."""
    number = memory.counts[HANDLED]
    memory.counts[HANDLED] += 1
    return pop(memory) if rules.timed else number


@inlined
def before(memory: Memory, one: int, other: int) -> bool:
    """Whether a message arrives before another; of those that arrive together, the one sent first does."""
    earlier, later = memory.arrival[one], memory.arrival[other]
    return earlier < later or (earlier == later and one < other)


@inlined
def push(memory: Memory, number: int) -> None:
    """Put a message into the heap."""
    heap, place = memory.heap, memory.counts[WAITING]
    memory.counts[WAITING] += 1
    while place > 0 and before(memory, number, heap[(place - 1) >> 1]):
        heap[place] = heap[(place - 1) >> 1]
        place = (place - 1) >> 1
    heap[place] = number


@inlined
def pop(memory: Memory) -> int:
    """Take the message that arrives first out of the heap."""
    heap = memory.heap
    first = heap[0]
    memory.counts[WAITING] -= 1
    size = memory.counts[WAITING]
    last, place = heap[size], 0
    while 2 * place + 1 < size:
        child = 2 * place + 1
        if child + 1 < size and before(memory, heap[child + 1], heap[child]):
            child += 1
        if not before(memory, heap[child], last):
            break
        heap[place] = heap[child]
        place = child
    heap[place] = last
    return int(first)
