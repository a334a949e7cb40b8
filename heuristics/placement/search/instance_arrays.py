"""Latency-aware placement in arrays over single instances, and a placement under search with what its changes need."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from edrp.core.arrays import Bools, Floats, Ints, UInts, entries
from edrp.heuristics.placement.search.acceptance import NOISE
from edrp.placement.compiled import Compiled
from edrp.placement.metrics.base import LIMIT_SLACK

FAR = 1e9
"""Seconds that stand for the delay between nodes without a link."""

ROUNDING = 1e-12
"""Share of all operators' demand that may stay on a node from adding and subtracting."""


class PathArrays(NamedTuple):
    """The input of path latency: `first` as in `InstanceArrays`, streams on paths, delays between nodes.

    `source` and `target` are operators, in topological order of the source.
    """

    first: Ints
    source: Ints
    target: Ints
    delay: Floats


class InstanceArrays(NamedTuple):
    """Arrays over operators o (topological order), instances p (operator by operator), nodes u, resources m.

    `first[o]` to `first[o + 1]` are the instances of operator o, and `operator[p]` is the operator of one.
    `weight[o, k]` is what the score gains when an instance of o and one of k share a node, of both directions together;
    `partner[partner_start[o]:...]` are the operators k that have any stream with o (o itself, where it has one with
    itself). `node_list[node_start[o]:...]` are the nodes that may run o.
    `paths` is for the path latency. `apart` is the score's part of
    co-location and events when no two instances that could share a node do, `price` what a node in use costs,
    `pace` the objective per second of path latency, and `span` more than all that latency can make of it. `limit` is
    the usable capacity with its slack, `scale` what an excess over it is related to.
    """

    first: Ints
    operator: Ints
    weight: Floats
    partner: Ints
    partner_start: Ints
    node_list: Ints
    node_start: Ints
    candidate: Bools
    paths: PathArrays
    demand: Floats
    limit: Floats
    scale: Floats
    apart: float
    price: Floats
    pace: float
    span: float


class InstanceState(NamedTuple):
    """A placement, with sums that value a change in constant time.

    Attributes
    ----------
    place : shape (instances,); node of each instance.
    number : shape (operators, nodes); instances of each operator on each node.
    total : shape (nodes,); instances of all operators.
    used : shape (nodes, resources); what they take.
    pull : shape (operators, nodes); the sum of `weight[o, k]` over the instances k on a node, so that moving one instance is
        worth a difference of two pulls.
    value : shape (3,); violations, overload and objective, as in `acceptance`.
    base : shape (1,); the objective without path latency.
    change, chosen, chosen_base : shapes (3,), (3,), (1,); the best change of a scan, and `value` and `base` with it.
    joined : shape (nodes, nodes); what the score gains when everything on one node moves to another.
    barred : shape (nodes, nodes); where it may not.
    leaders : shape (instances,); instances that stand for all of their operator on their node.
    remain : shape (instances,); what an instance contributes to the score where it is.
    hold : shape (instances,); what the score loses when it leaves.
    opening : shape (nodes,); what an empty node costs.
    over : shape (nodes, resources); the relative overload.
    heavy : shape (nodes,); whether a node is overloaded.
    relieved : shape (1,); whether `chosen` breaks less than `value`.
    moved, arrival, stamp : shapes (instances,), (instances,), (nodes,); scratch.
    """

    place: Ints
    number: Ints
    total: Ints
    used: Floats
    pull: Floats
    value: Floats
    base: Floats
    change: Ints
    chosen: Floats
    chosen_base: Floats
    joined: Floats
    barred: Bools
    leaders: Ints
    remain: Floats
    hold: Floats
    opening: Floats
    over: Floats
    heavy: Bools
    relieved: Bools
    moved: Bools
    arrival: Floats
    stamp: Ints

    @classmethod
    def empty(cls, tables: InstanceArrays) -> InstanceState:
        """Arrays of the right shapes."""
        operators, nodes = tables.candidate.shape
        return cls(
            place=np.zeros(tables.operator.size, np.int64),
            number=np.zeros((operators, nodes), np.int64),
            total=np.zeros(nodes, np.int64),
            used=np.zeros(tables.limit.shape),
            pull=np.zeros((operators, nodes)),
            value=np.zeros(3),
            base=np.zeros(1),
            change=np.zeros(3, np.int64),
            chosen=np.zeros(3),
            chosen_base=np.zeros(1),
            joined=np.zeros((nodes, nodes)),
            barred=np.zeros((nodes, nodes), np.bool_),
            leaders=np.zeros(tables.operator.size, np.int64),
            remain=np.zeros(tables.operator.size),
            hold=np.zeros(tables.operator.size),
            opening=np.zeros(nodes),
            over=np.zeros(tables.limit.shape),
            heavy=np.zeros(nodes, np.bool_),
            relieved=np.zeros(1, np.bool_),
            moved=np.zeros(tables.operator.size, np.bool_),
            arrival=np.zeros(tables.operator.size),
            stamp=np.zeros(nodes, np.int64),
        )


class InstanceSearch(NamedTuple):
    """An iterated local search: the problem, placements, and the state of the draws.

    Attributes
    ----------
    now : the placement under search.
    home : the placement to which a kick may return.
    best, best_value : shapes (instances,) and (3,); the best placement met and its value.
    random : shape (1,); state of the random numbers.
    progress : shape (2,), as in `local_search`.
    """

    arrays: InstanceArrays
    now: InstanceState
    home: InstanceState
    best: Ints
    best_value: Floats
    random: UInts
    progress: Ints


def instance_arrays(compiled: Compiled) -> InstanceArrays:
    """Arrays for the kernels, from a compiled latency-aware problem.

    A stream's rate there is what the score grows by when all of it leaves its node, and −ln of a node's availability
    what its use costs.
    """
    operators = len(compiled.operators)
    instances = compiled.max_replicas
    weight, joined = np.zeros((operators, operators)), np.zeros((operators, operators), bool)
    share = compiled.stream_rate / (instances[compiled.stream_source] * instances[compiled.stream_target])
    for ends in ((compiled.stream_source, compiled.stream_target), (compiled.stream_target, compiled.stream_source)):
        np.add.at(weight, ends, share)
        joined[ends] = True
    # Each instance of an operator with a stream to itself shares a node with itself at any rate.
    itself = compiled.stream_source == compiled.stream_target
    alone = float((share * instances[compiled.stream_source])[itself].sum())
    delay = np.where(np.isfinite(compiled.delay), compiled.delay, FAR)
    forward = np.flatnonzero(compiled.forward)
    forward = forward[np.argsort(compiled.stream_source[forward], kind="stable")]
    owner, partner = entries(joined)
    allowed, node = entries(compiled.candidate)
    first = np.concatenate([[0], np.cumsum(instances)]).astype(np.int64)
    return InstanceArrays(
        first=first,
        operator=np.repeat(np.arange(operators), instances),
        weight=weight,
        partner=partner,
        partner_start=np.searchsorted(owner, np.arange(operators + 1)),
        node_list=node,
        node_start=np.searchsorted(allowed, np.arange(operators + 1)),
        candidate=compiled.candidate,
        paths=PathArrays(first, compiled.stream_source[forward], compiled.stream_target[forward], delay),
        demand=compiled.demand,
        limit=compiled.capacity * (1 + LIMIT_SLACK) + ROUNDING * compiled.demand.sum(axis=0),
        scale=np.where(compiled.capacity > 0, compiled.capacity, 1e-3 * (1e-300 + compiled.demand.max(axis=0, initial=0.0))),
        apart=float(compiled.stream_rate.sum()) - alone,
        price=compiled.weight["availability"] * compiled.node_loss,
        pace=compiled.weight["response_time"],
        span=compiled.weight["response_time"] * max_path_streams(compiled, forward) * float(delay.max()) + 2 * NOISE,
    )


def max_path_streams(compiled: Compiled, forward: Ints) -> int:
    """Streams on the longest path; `forward` are those that lie on paths, by source."""
    steps = np.zeros(len(compiled.operators), np.int64)
    for source, target in zip(compiled.stream_source[forward], compiled.stream_target[forward], strict=True):
        steps[target] = max(steps[target], steps[source] + 1)
    return int(steps.max(initial=0))
