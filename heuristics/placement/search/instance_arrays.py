"""The score of latency-aware placement in arrays, and a placement under search with what changes of it need."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from edrp.core.arrays import Bools, Floats, Ints
from edrp.heuristics.placement.search.acceptance import NOISE
from edrp.placement.compiled import Compiled
from edrp.placement.metrics.base import LIMIT_SLACK

FAR = 1e9
"""Seconds between nodes without a link."""

ROUNDING = 1e-12
"""Of all operators' demand, what may stay on a node from adding and subtracting."""


class ScoreTables(NamedTuple):
    """Arrays over operators o (topological order), instances p (operator by operator), nodes u, resources m.

    `first[o]` to `first[o + 1]` are the instances of operator o, and `operator[p]` is the operator of one.
    `weight[o, k]` is what the score gains when an instance of o and one of k share a node, of both directions together;
    `partner[partner_start[o]:...]` are the operators k that have any stream with o (o itself, where it has one with
    itself). `node_list[node_start[o]:...]` are the nodes that may run o.
    `source`, `target` are the streams that count for path latency, by source. `apart` is the score's part of
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
    source: Ints
    target: Ints
    delay: Floats
    demand: Floats
    limit: Floats
    scale: Floats
    apart: float
    price: Floats
    pace: float
    span: float


class ScoreState(NamedTuple):
    """A placement and what stays true of it from one change to the next.

    `place` (instances,) is the node of each; `number` (operators, nodes) counts them, `crowd` (nodes,) all operators
    together, `used` (nodes, resources) what they take. `pull[o, u]` is the sum of `weight[o, k]` over the instances k on
    node u, so that a change of one instance is worth a difference of two pulls. `value` (3,) is violations, overload,
    objective (`acceptance`), `base` (1,) the objective without path latency. `change` (3,), `found` (3,) and `found_base`
    (1,) are the best change of a scan; `joined` (nodes, nodes) what the score gains when all on one node move to
    another, `barred` where they may not.
    A scan begins with what it needs again and again: `leaders` are instances that stand for all of their operator on
    their node, `remain` (instances,) is what one contributes where it is and `hold` what the score loses when it
    leaves, `opening` (nodes,) what an empty node costs, `over` (nodes, resources) the relative overload, `heavy`
    (nodes,) whether there is any, `relieved` (1,) whether `found` strains less than `value`. `moved` (instances,),
    `arrival` (operators,), `stamp` (nodes,) are scratch.
    """

    place: Ints
    number: Ints
    crowd: Ints
    used: Floats
    pull: Floats
    value: Floats
    base: Floats
    change: Ints
    found: Floats
    found_base: Floats
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
    def empty(cls, tables: ScoreTables) -> ScoreState:
        """Arrays of the right shapes."""
        operators, nodes = tables.candidate.shape
        return cls(
            place=np.zeros(tables.operator.size, np.int64),
            number=np.zeros((operators, nodes), np.int64),
            crowd=np.zeros(nodes, np.int64),
            used=np.zeros(tables.limit.shape),
            pull=np.zeros((operators, nodes)),
            value=np.zeros(3),
            base=np.zeros(1),
            change=np.zeros(3, np.int64),
            found=np.zeros(3),
            found_base=np.zeros(1),
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
            arrival=np.zeros(operators),
            stamp=np.zeros(nodes, np.int64),
        )


def score_tables(compiled: Compiled) -> ScoreTables:
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
    owner, partner = np.nonzero(joined)
    allowed, node = np.nonzero(compiled.candidate)
    return ScoreTables(
        first=np.concatenate([[0], np.cumsum(instances)]).astype(np.int64),
        operator=np.repeat(np.arange(operators), instances),
        weight=weight,
        partner=partner,
        partner_start=np.searchsorted(owner, np.arange(operators + 1)),
        node_list=node,
        node_start=np.searchsorted(allowed, np.arange(operators + 1)),
        candidate=compiled.candidate,
        source=compiled.stream_source[forward],
        target=compiled.stream_target[forward],
        delay=delay,
        demand=compiled.demand,
        limit=compiled.capacity * (1 + LIMIT_SLACK) + ROUNDING * compiled.demand.sum(axis=0),
        scale=np.where(compiled.capacity > 0, compiled.capacity, 1e-3 * (1e-300 + compiled.demand.max(axis=0, initial=0.0))),
        apart=float(compiled.stream_rate.sum()) - alone,
        price=compiled.weight["availability"] * compiled.node_loss,
        pace=compiled.weight["response_time"],
        span=compiled.weight["response_time"] * most_streams(compiled, forward) * float(delay.max()) + 2 * NOISE,
    )


def most_streams(compiled: Compiled, forward: Ints) -> int:
    """Streams on the longest path; `forward` are those that lie on paths, by source."""
    steps = np.zeros(len(compiled.operators), np.int64)
    for source, target in zip(compiled.stream_source[forward], compiled.stream_target[forward], strict=True):
        steps[target] = max(steps[target], steps[source] + 1)
    return int(steps.max(initial=0))
