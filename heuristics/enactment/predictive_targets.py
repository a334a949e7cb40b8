"""Target numbers of instances on the present hosts, for a load that may surge before new hosts serve."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from edrp.core.arrays import Bools, Floats, Ints, entries
from edrp.core.kernels import inner_loop, kernel
from edrp.core.tolerances import WHOLE_NUMBER_SLACK

SURGE_MULTIPLES = np.array([1.1, 1.25, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0])
"""Multiples of the load for which instances stand by although no observed path leads there."""

MULTIPLE_QUANTILES = np.array([0.5, 0.75, 0.9, 0.97, 1.0])
"""Quantiles of the expected multiples for which targets are computed."""


class OperatorFlowArrays(NamedTuple):
    """The arrays of an `OperatorFlow`, for the kernels.

    Attributes
    ----------
    outside, draining, occupied, order, min_instances, max_instances, utilisation : as in `OperatorFlow`.
    first, target, factor : streams by source: where those of each operator begin, (operators + 1,); the operator that each leads
        to, and the items that this gets for every item of the source, (streams,).
    """

    outside: Floats
    first: Ints
    target: Ints
    factor: Floats
    draining: Floats
    occupied: Floats
    order: Ints
    min_instances: Floats
    max_instances: Floats
    utilisation: float


@dataclass(frozen=True, slots=True)
class OperatorFlow:
    """Items that come to the operators, and resources and time that an instance of each takes.

    Attributes
    ----------
    outside : (operators,) items per second from outside.
    step : (operators, operators) items that the second gets for every item of the first.
    draining : (operators,) items per second by which queues are to shrink.
    occupied : (operators,) seconds per item, above 0.
    order : (operators,) topological.
    need : (operators, resources) share of a host that an instance takes.
    min_instances, max_instances : (operators,) instances that there must and may be.
    utilisation : share of its time for which an instance may be occupied.
    """

    outside: Floats
    step: Floats
    draining: Floats
    occupied: Floats
    order: Ints
    need: Floats
    min_instances: Floats
    max_instances: Floats
    utilisation: float


def targets(flow: OperatorFlow, room: Floats, multiples: Floats, weights: Floats) -> Floats:
    """Instances of each operator with which the fewest items are expected to be late.

    Where the hosts do not bear a multiple of the load, some operators are sacrificed: those that free the most room for every
    item that is late for it. A sacrificed operator sends on no more than its instances serve, so that those downstream need
    less. The targets are those of the multiple that lets the fewest items be late now, then the fewest in expectation.

    Parameters
    ----------
    room
        (resources,): room on all hosts, in hosts.
    multiples, weights
        (cases,): multiples of the load that may come before other hosts serve, and how likely each is.

    Returns
    -------
    (operators,): instances.
    """
    order = np.argsort(multiples)
    beyond = np.concatenate([np.cumsum((weights * multiples)[order][::-1])[::-1], [0.0]])
    likely = multiples[order][np.minimum((MULTIPLE_QUANTILES * len(multiples)).astype(int), len(multiples) - 1)]
    ladder = np.unique(np.concatenate([[1.0], likely, SURGE_MULTIPLES]).round(3))
    streams = _streams_by_source(flow.step)
    limits = (flow.min_instances, flow.max_instances, flow.utilisation)
    load = OperatorFlowArrays(flow.outside, *streams, flow.draining, flow.occupied, flow.order, *limits)
    best: Floats = _targets(load, flow.need, room, ladder, multiples[order], beyond)
    return best


def _streams_by_source(step: Floats) -> tuple[Ints, Ints, Floats]:
    """List streams by source: where those of each operator begin, their targets, and items out per item in."""
    source, target = entries(step)
    return np.searchsorted(source, np.arange(len(step) + 1)), target, step[source, target]


@kernel
def _targets(load: OperatorFlowArrays, need: Floats, room: Floats, ladder: Floats, levels: Floats, beyond: Floats) -> Floats:
    occupied, utilisation = load.occupied, load.utilisation
    operators = occupied.size
    best_now, best_cost = np.inf, np.inf
    best, counts, rates, sacrificed_counts = np.empty(operators), np.empty(operators), np.empty(operators), np.empty(operators)
    lost = np.empty(operators, np.int64)
    none_sacrificed = np.zeros(operators, np.bool_)
    _copy(load.min_instances, best)
    _size(load, 1.0, none_sacrificed, load.min_instances, counts, rates)
    total = 0.0
    for x in range(operators):
        total += rates[x]
    for rung in range(ladder.size):
        multiple = ladder[rung]
        number = _sacrifice(load, need, room, multiple, rates, lost, sacrificed_counts, counts)
        if number < 0:
            continue
        after = _beyond(levels, beyond, multiple)
        late_now, cost = 0.0, total * after
        for index in range(number):
            x = lost[index]
            bears = sacrificed_counts[x] * utilisation / max(rates[x] * occupied[x], 1e-12)
            if bears < 1.0:
                late_now += rates[x] * (2.0 - bears)  # late now; the less it serves, the longer
            cost += rates[x] * max(0.0, _beyond(levels, beyond, min(bears, multiple)) - after)
        if late_now < best_now - 1e-9 or (late_now < best_now + 1e-9 and cost < best_cost - 1e-6 * total):
            best_now, best_cost = late_now, cost
            _copy(counts, best)
    return best


@inner_loop
def _beyond(levels: Floats, beyond: Floats, multiple: float) -> float:
    """Load expected beyond a multiple of it, by bisection (NumPy's search takes long to compile)."""
    low, high, threshold = 0, levels.size, multiple * (1 + 1e-9)
    while low < high:
        middle = (low + high) // 2
        if levels[middle] < threshold:
            low = middle + 1
        else:
            high = middle
    return beyond[low]


@inner_loop
def _copy(values: Floats, to: Floats) -> None:
    for index in range(values.size):
        to[index] = values[index]


@kernel
def _sacrifice(
    load: OperatorFlowArrays,
    need: Floats,
    room: Floats,
    multiple: float,
    rates: Floats,
    lost: Ints,
    sacrificed_counts: Floats,
    counts: Floats,
) -> int:
    """Choose operators to sacrifice until the others bear a multiple of the load; returns their number, -1 where nothing helps.

    Their indices are written to `lost`, the instances that they keep to `sacrificed_counts`, and all instances to `counts`.
    """
    occupied, max_instances, utilisation = load.occupied, load.max_instances, load.utilisation
    operators = occupied.size
    sacrificed = np.zeros(operators, np.bool_)
    inflow = np.empty(operators)
    _copy(load.min_instances, sacrificed_counts)
    number = 0
    _size(load, multiple, sacrificed, sacrificed_counts, counts, inflow)
    over = _excess(counts, need, room)
    while over > 1e-9:
        pick, pick_value = -1, 0.0
        for x in range(operators):
            if sacrificed[x]:
                continue
            sacrificed[x] = True
            _size(load, multiple, sacrificed, sacrificed_counts, counts, inflow)
            sacrificed[x] = False
            value = (over - max(_excess(counts, need, room), 0.0)) / max(rates[x], 1e-12)
            if value > pick_value + 1e-12:
                pick, pick_value = x, value
        if pick < 0:
            return -1
        sacrificed[pick] = True
        lost[number] = pick
        number += 1
        _size(load, multiple, sacrificed, sacrificed_counts, counts, inflow)
        over = _excess(counts, need, room)
    for index in range(number - 1, -1, -1):
        x = lost[index]
        while sacrificed_counts[x] < max_instances[x] and sacrificed_counts[x] * utilisation < multiple * rates[x] * occupied[x]:
            sacrificed_counts[x] += 1.0
            _size(load, multiple, sacrificed, sacrificed_counts, counts, inflow)
            if _excess(counts, need, room) > 1e-9:
                sacrificed_counts[x] -= 1.0
                break
    _size(load, multiple, sacrificed, sacrificed_counts, counts, inflow)
    return number


@inner_loop
def _size(
    load: OperatorFlowArrays, multiple: float, sacrificed: Bools, sacrificed_counts: Floats, counts: Floats, inflow: Floats
) -> None:
    """Instances for a multiple of the load; sacrificed operators send on no more than their `sacrificed_counts` serve."""
    first, target, occupied, utilisation = load.first, load.target, load.occupied, load.utilisation
    for x in range(inflow.size):
        inflow[x] = load.outside[x] * multiple
    for index in range(load.order.size):
        x = load.order[index]
        sent = inflow[x] + load.draining[x]
        if sacrificed[x]:
            counts[x] = sacrificed_counts[x]
            sent = min(sent, sacrificed_counts[x] / occupied[x])
        else:
            needed = np.ceil(sent * occupied[x] / utilisation - WHOLE_NUMBER_SLACK)
            counts[x] = min(load.max_instances[x], max(load.min_instances[x], needed))
        for edge in range(first[x], first[x + 1]):
            inflow[target[edge]] += sent * load.factor[edge]


@inner_loop
def _excess(counts: Floats, need: Floats, room: Floats) -> float:
    """Largest relative excess of the needs over the room, over all resources."""
    worst = -1.0
    for r in range(need.shape[1]):
        needed = 0.0
        for x in range(counts.size):
            needed += counts[x] * need[x, r]
        worst = max(worst, needed / max(room[r], 1e-12) - 1.0)
    return worst
