"""A start for searches on clusters: annealing over classes of equal nodes, so that exchanging equal nodes is no move.

An operator has a number of replicas, a set of classes of nodes on which they run, and perhaps a *block*: operators that are
wholly on one node together. That fixes latencies and delays, so that a step costs no more than a look at all streams. The best
placement over classes is put on nodes: blocks first, the fullest node that has room first; replicas that are in no block fill up.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from edrp import _native
from edrp.core import budget
from edrp.core.arrays import Bools, Floats, Ints
from edrp.core.tolerances import LIMIT_SLACK
from edrp.heuristics.placement.deployment_state import random_stream
from edrp.heuristics.placement.filling import least_stable
from edrp.heuristics.placement.problem_arrays import CHUNK_UNITS
from edrp.placement.compiled import Compiled
from edrp.placement.node_classes import MAX_CLASSES, delays_between_sets, few_classes

MIN_CLUSTER_NODES, MIN_CLUSTER_REPLICAS, MAX_CLUSTER_NODES = 4, 30, 512
"""Sizes of clusters on which this start pays: bounds on the number of nodes, and the minimum number of replicas."""

STEPS_PER_OPERATOR = 10_000
"""Steps per operator."""

CLASS_STEP_UNITS = 2.5e-8
"""Units of work of a step, per operator and stream. Measured on clusters of 8 operators."""

HOT_TEMPERATURE, COLD_TEMPERATURE = 0.05, 1e-5
"""Temperatures at both ends, relative to the objective of the first placement."""

NO_CAPACITY, ENDLESS_CAPACITY = 1e-200, 1e200
"""Numbers that stand for no and for unlimited capacity, where shares of capacities are computed."""

CAPACITY_SHARES = (1.0, 0.94, 0.85)
"""Shares of all capacities that are tried in turn, until the result can be placed on nodes."""


class ClassArrays(NamedTuple):
    """Arrays of `anneal_classes` (edrp/native/heuristics/placement/quotient_annealing.cpp).

    Operators are in topological order, sets of classes are bits.

    Attributes
    ----------
    latency : shape (operators, 1 + most replicas), reference seconds.
    slowness : shape (sets,), one over the speed of the slowest class.
    delay : shape (sets, sets), seconds between operators that are not in one block.
    allowed : shape (operators, sets).
    demand, capacity : of a replica of each operator, and of a node of each class.
    room : shape (sets, resources), of all nodes of the set.
    price : money/h of a replica.
    source, target : of streams, sorted by target.
    scalars : objective per second and per money/h, limits on response time and cost.
    """

    latency: Floats
    slowness: Floats
    delay: Floats
    allowed: Bools
    demand: Floats
    capacity: Floats
    room: Floats
    price: Floats
    source: Ints
    target: Ints
    scalars: Floats


class ClassState(NamedTuple):
    """A placement over classes: number of replicas, set of classes, and number of the block of every operator, -1 for none."""

    replicas: Ints
    classes: Ints
    block: Ints


def cluster_start(compiled: Compiled, seed: int, out_of_time: Callable[[], bool]) -> Ints | None:
    """Find a start by annealing over classes of equal nodes; None where that does not pay.

    The prices of downtime, traffic and availability play no part. `out_of_time` is asked between chunks of steps.
    """
    if not MIN_CLUSTER_NODES <= len(compiled.nodes) <= MAX_CLUSTER_NODES or compiled.max_replicas.sum() < MIN_CLUSTER_REPLICAS:
        return None
    number = few_classes(compiled, MAX_CLASSES)
    if number is None or compiled.problem.kind != "edrp":
        return None
    for room in CAPACITY_SHARES:
        arrays = _class_arrays(compiled, number, room)
        best = _annealed_placement(arrays, seed, out_of_time)
        counts = None if best is None else _on_nodes(compiled, number, best)
        if counts is not None:
            return counts
        if out_of_time():
            break
    return None


def _annealed_placement(t: ClassArrays, seed: int, out_of_time: Callable[[], bool]) -> ClassState | None:
    state, accepted, best = (_first_placement(t) for _ in range(3))
    if not t.allowed[np.arange(state.classes.size), state.classes].all():
        return None
    random = random_stream(seed)
    steps = STEPS_PER_OPERATOR * state.replicas.size
    scale = t.scalars[0] * min(t.scalars[2], 1e9) + t.scalars[1] * min(t.scalars[3], 1e9) or 1.0
    values = np.array([HOT_TEMPERATURE * scale, (COLD_TEMPERATURE / HOT_TEMPERATURE) ** (1.0 / steps), np.inf])
    units = CLASS_STEP_UNITS * (state.replicas.size + t.source.size)
    chunk = max(1, int(CHUNK_UNITS / units))
    for steps_done in range(0, steps, chunk):
        if out_of_time():
            break
        _native.anneal_classes(t, state, accepted, best, random, values, min(chunk, steps - steps_done))
        budget.spend(units * min(chunk, steps - steps_done))
    return best if np.isfinite(values[2]) else None


def _first_placement(t: ClassArrays) -> ClassState:
    """Start with the fewest replicas of every operator, on all classes that it may use."""
    sizes = np.array([int(mask).bit_count() for mask in range(t.room.shape[0])])
    classes = np.where(t.allowed, sizes, np.iinfo(np.int64).max).argmin(axis=1)
    replicas = np.isfinite(t.latency).argmax(axis=1)
    return ClassState(replicas.astype(np.int64), classes.astype(np.int64), np.full(len(replicas), -1, np.int64))


def _class_arrays(compiled: Compiled, number: Ints, share: float) -> ClassArrays:
    members = [np.flatnonzero(number == k) for k in range(int(number.max()) + 1)]
    first = [int(nodes[0]) for nodes in members]
    inside = np.arange(1 << len(members))[:, None] >> np.arange(len(members)) & 1 == 1
    capacity = compiled.capacity[first]
    fits = (compiled.demand[:, None] <= capacity[None] * (1 + LIMIT_SLACK)).all(axis=2) & compiled.stable_nodes(
        least_stable(compiled)
    )[:, first]
    allowed = np.stack([(fits | ~sets).all(axis=1) for sets in inside], axis=1)
    allowed[:, 0] = False
    sizes = np.array([nodes.size for nodes in members])
    total = np.minimum(capacity, ENDLESS_CAPACITY) * sizes[:, None] * share
    streams = np.lexsort((compiled.stream_source, compiled.stream_target))
    streams = streams[compiled.forward[streams]]
    limits = [compiled.limit[name] for name in ("response_time", "cost")]
    return ClassArrays(
        latency=compiled.latency,
        slowness=np.array([(1 / compiled.speedup[first])[sets].max(initial=0.0) for sets in inside]),
        delay=delays_between_sets(np.where(np.isfinite(compiled.delay), compiled.delay, 0.0), members),
        allowed=allowed,
        demand=compiled.demand,
        capacity=np.clip(capacity, NO_CAPACITY, ENDLESS_CAPACITY),
        room=np.maximum([total[sets].sum(axis=0) for sets in inside], NO_CAPACITY).reshape(len(inside), total.shape[1]),
        price=compiled.replica_cost,
        source=compiled.stream_source[streams],
        target=compiled.stream_target[streams],
        scalars=np.array([compiled.weight["response_time"], compiled.weight["cost"], *limits]),
    )


def _on_nodes(compiled: Compiled, number: Ints, state: ClassState) -> Ints | None:
    """Place replicas of classes on nodes; None where some find no room."""
    blocks = [np.flatnonzero(state.block == block) for block in np.unique(state.block[state.block >= 0])]
    loads = [(state.replicas[block, None] * compiled.demand[block]).sum(axis=0) for block in blocks]
    items = [(load, int(state.classes[block[0]]), block, True) for load, block in zip(loads, blocks, strict=True)]
    for i in np.flatnonzero(state.block < 0):
        items += [(compiled.demand[i], int(state.classes[i]), np.array([i]), False)] * int(state.replicas[i])
    size = np.where(np.isfinite(compiled.capacity), compiled.capacity, np.inf).max(axis=0, initial=1e-300)
    items.sort(key=lambda item: (not item[3], item[1].bit_count(), -float((item[0] / size).max(initial=0.0))))
    free, counts = compiled.capacity.copy(), np.zeros(compiled.candidate.shape, np.int64)
    for load, classes, operators, whole in items:
        nodes = np.flatnonzero((load <= free * (1 + LIMIT_SLACK)).all(axis=1) & ((classes >> number & 1) == 1))
        if not nodes.size:
            return None
        free_after = np.where(np.isfinite(free[nodes]), free[nodes], 0.0).sum(axis=1)
        node = nodes[np.argmin(free_after)]
        free[node] -= load
        counts[operators, node] += state.replicas[operators] if whole else 1
    return counts
