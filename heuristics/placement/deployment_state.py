"""A deployment under search: counts per operator and node, and its evaluation, of which a change updates few parts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Self

import numpy as np

from edrp.core.arrays import Bools, Floats, Ints, UInts
from edrp.heuristics.placement.problem_arrays import PlacementArrays

BROKEN_VALUE = 5
"""Index into `DeploymentState.values` of the flag that is 1 where a limit or capacity is broken."""

FIRST_PEAK_VALUE = 6
"""Index into `DeploymentState.values` of the first peak load."""


def random_stream(seed: int | Sequence[int]) -> UInts:
    """Initial state of a stream of random numbers in kernels.

    Examples
    --------
    >>> (random_stream(3) == random_stream(3)).all() and (random_stream(3) != random_stream(4)).all()
    np.True_
    """
    return np.random.SeedSequence(seed).generate_state(1, np.uint64).astype(np.uint64)


class ReplicaCounts(NamedTuple):
    """Number of replicas of each operator on every node, and sums that any objective needs.

    A stream between 4,000 and 3,000 replicas has 12 million pairs. Kept as counts per node, moving any number of replicas
    from one node to another is one change.

    `replicas` (operators, nodes) are the replicas, `degree` (operators,) those of each operator, `used` (nodes, resources) what
    they take. `hosts[i, :number[i]]` are the nodes that operator i uses, and `slot` (operators, nodes) is where each node
    stands among them, -1 for one that is not.
    """

    replicas: Ints
    degree: Ints
    used: Floats
    hosts: Ints
    number: Ints
    slot: Ints

    @classmethod
    def from_matrix(cls, demand: Floats, counts: Ints) -> Self:
        """Create counts from a matrix of replicas per operator and node."""
        hosts, slot = np.zeros(counts.shape, np.int64), np.full(counts.shape, -1)
        for i, row in enumerate(counts):
            used = np.flatnonzero(row)
            hosts[i, : used.size] = used
            slot[i, used] = np.arange(used.size)
        number = (counts > 0).sum(axis=1)
        return cls(counts.copy(), counts.sum(axis=1), np.ascontiguousarray(counts.T @ demand), hosts, number, slot)


class DeploymentState(NamedTuple):
    """A deployment as counts, and the parts of its evaluation (edrp/native/heuristics/placement/deployment_state.hpp).

    Attributes
    ----------
    counts : replicas per operator and node.
    per_stream : shape (streams, 4); the longest delay, price and delay summed over all pairs of replicas, and the rate of a pair.
    per_operator : shape (operators, 3); latency, downtime and moved replicas of each operator; 0 moved where nothing runs yet.
    old_per_stream, old_per_operator : their copies from before the change that is tried.
    plan : shape (changes, 4); that change: operator, node left (-1 for none), node taken (-1 for none), replicas.
    finish : shape (operators, nodes); when tuples have passed, on each of an operator's nodes where paths run through
        instances, else of the whole operator, in the first column.
    values : shape (6 + peak loads,); the metrics (availability as −ln), whether any limit is broken, and peak loads.
    demand, seen : shapes (nodes, shared resources) and (nodes, nodes); scratch.
    """

    counts: ReplicaCounts
    per_stream: Floats
    per_operator: Floats
    old_per_stream: Floats
    old_per_operator: Floats
    plan: Ints
    finish: Floats
    values: Floats
    demand: Floats
    seen: Bools

    @classmethod
    def from_matrix(cls, arrays: PlacementArrays, counts: Ints) -> Self:
        """Create a state from a matrix of counts per operator and node; the evaluation is stale until a search takes it up."""
        operators, nodes = counts.shape
        streams = arrays.source.size
        return cls(
            counts=ReplicaCounts.from_matrix(arrays.demand, counts),
            per_stream=np.zeros((streams, 4)),
            per_operator=np.zeros((operators, 3)),
            old_per_stream=np.zeros((streams, 4)),
            old_per_operator=np.zeros((operators, 3)),
            plan=np.zeros((2 * operators + nodes, 4), np.int64),
            finish=np.zeros(counts.shape if arrays.instance_paths else (operators, 1)),
            values=np.zeros(FIRST_PEAK_VALUE + arrays.shared.weights.size),
            demand=np.zeros(arrays.shared.capacity.shape),
            seen=np.zeros(arrays.delay.shape if arrays.has_loss else (1, 1), np.bool_),
        )


class MoveMix(NamedTuple):
    """Probabilities of changes and nodes, as cumulated shares (edrp/native/heuristics/placement/annealing_moves.hpp).

    Attributes
    ----------
    exchange, replicate, retire, move : kinds of changes; the rest are trades of two operators.
    gather : share of the moves that take all of an operator's replicas.
    neighbour_nodes, own_nodes, near_nodes, nearest_nodes : nodes of a neighbour operator, of the operator itself, of the list
        of near nodes, and the nearest of several draws; the rest are any nodes.
    """

    exchange: float
    replicate: float
    retire: float
    move: float
    gather: float
    neighbour_nodes: float
    own_nodes: float
    near_nodes: float
    nearest_nodes: float


FEW_REPLICAS = MoveMix(0.05, 0.15, 0.25, 0.75, 0.25, 0.3, 0.3, 0.55, 0.55)
"""Mix of changes for operators of a few replicas, which mostly move one by one or all together."""

MANY_REPLICAS = MoveMix(0.08, 0.13, 0.18, 0.7, 0.0, 0.35, 0.6, 0.6, 0.85)
"""Mix of changes for operators of many replicas, and for clusters: batches move."""
