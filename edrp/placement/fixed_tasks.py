"""Tasks with given parallelisms on equal nodes: only how many tasks of each operator a node has matters, its *pattern*.

A node's use of shared resources depends on nothing but its pattern, since all totals are known: a stream that is dealt to
all tasks leaves the node to the share of its receivers that are elsewhere, a forward stream with the senders that have no
receiver of their own on the node.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from edrp.core.arrays import Bools, Floats, Ints
from edrp.core.problem import derived
from edrp.core.tolerances import LIMIT_SLACK
from edrp.placement.compilation import compile_problem
from edrp.placement.compiled import Compiled
from edrp.placement.edrp import EdrpProblem
from edrp.placement.metrics import NORMALISED
from edrp.placement.metrics.peak_load import PEAK_LOAD
from edrp.placement.node_classes import MAX_CLASSES, find_node_classes


class LoadArrays(NamedTuple):
    """Use of resources by patterns: arrays of `lower_excess` and others (edrp/native/placement/fixed_tasks.hpp).

    Attributes
    ----------
    totals : shape (operators,), int64, tasks of each operator.
    demand : shape (operators, rooms), amount that a task takes of each resource that nodes have a fixed amount of, such as slots.
    use : shape (operators, shared), use of each shared resource by a task, as a share of a node's capacity.
    source, target : shape (streams,), int64
    one_to_one : shape (streams,), bool, whether each sender has one receiver.
    sent : shape (streams, shared), use by all senders together if all receivers are on other nodes, as a share of a node's
        capacity.
    """

    totals: np.ndarray
    demand: np.ndarray
    use: np.ndarray
    source: np.ndarray
    target: np.ndarray
    one_to_one: np.ndarray
    sent: np.ndarray

    def in_order(self, order: Ints) -> LoadArrays:
        """The same with operators in another order."""
        place = np.argsort(order)
        return self._replace(
            totals=self.totals[order],
            demand=np.ascontiguousarray(self.demand[order]),
            use=np.ascontiguousarray(self.use[order]),
            source=place[self.source],
            target=place[self.target],
        )


@dataclass(frozen=True)
class FixedTasks:
    """Given tasks and equal nodes.

    Attributes
    ----------
    arrays : LoadArrays
    room : shape (rooms,), amount that each node has of the resources that tasks take; infinite where that is no limit.
    nodes : int
    """

    arrays: LoadArrays
    room: Floats
    nodes: int

    @property
    def operators(self) -> int:
        """Number of operators."""
        return int(self.arrays.totals.size)

    @property
    def shared(self) -> int:
        """Number of shared resources."""
        return int(self.arrays.use.shape[1])

    @property
    def totals(self) -> Floats:
        """Use of each shared resource by all tasks together without streams, shape (shared,)."""
        return np.asarray(self.arrays.totals @ self.arrays.use)

    @property
    def streamed(self) -> Bools:
        """Which shared resources streams use, shape (shared,): their total depends on the placement."""
        return np.asarray((self.arrays.sent > 0).any(axis=0))

    @property
    def max_tasks(self) -> Ints:
        """Tasks of each operator that fit a node, shape (operators,)."""
        demand = self.arrays.demand
        with np.errstate(divide="ignore", invalid="ignore"):
            fits = np.where(demand > 0, np.floor(self.room * (1 + LIMIT_SLACK) / demand), np.inf).min(axis=1, initial=np.inf)
        return np.asarray(np.minimum(self.arrays.totals, fits), np.int64)

    def users(self, shared: Sequence[int]) -> Ints:
        """Operators that use one of some shared resources, with their tasks or with a stream at either end."""
        using = np.flatnonzero((self.arrays.use[:, shared] > 0).any(axis=1))
        streams = np.flatnonzero((self.arrays.sent[:, shared] > 0).any(axis=1))
        return np.unique(np.concatenate([using, self.arrays.source[streams], self.arrays.target[streams]]))

    def restricted_to(self, operators: Ints) -> FixedTasks:
        """Some operators alone, with the streams between them."""
        arrays, place = self.arrays, np.full(self.operators, -1)
        place[operators] = np.arange(operators.size)
        source, target = place[arrays.source], place[arrays.target]
        streams = np.flatnonzero((source >= 0) & (target >= 0))
        some = LoadArrays(
            totals=arrays.totals[operators],
            demand=np.ascontiguousarray(arrays.demand[operators]),
            use=np.ascontiguousarray(arrays.use[operators]),
            source=source[streams],
            target=target[streams],
            one_to_one=arrays.one_to_one[streams],
            sent=np.ascontiguousarray(arrays.sent[streams]),
        )
        return FixedTasks(some, self.room, self.nodes)

    def loads(self, patterns: Ints) -> Floats:
        """Share of its capacity that each node is asked for, shape (nodes, shared); patterns have shape (nodes, operators)."""
        arrays = self.arrays
        sending, receiving = patterns[:, arrays.source], patterns[:, arrays.target]
        senders, receivers = arrays.totals[arrays.source], arrays.totals[arrays.target]
        shares = leaving_shares(sending, receiving, senders, receivers, arrays.one_to_one)
        return np.asarray(patterns @ arrays.use + shares @ arrays.sent)


def leaving_shares(sending: Ints, receiving: Ints, senders: Ints, receivers: Ints, one_to_one: Bools) -> Floats:
    """Shares of streams that the senders on nodes send to other nodes, shape (nodes, streams) as the first two."""
    dealt = sending / senders * (1.0 - receiving / receivers)
    return np.asarray(np.where(one_to_one, np.maximum(sending - receiving, 0) / senders, dealt))


def fixed_tasks_refusal(problem: EdrpProblem, method: str, peaks: int | None = None) -> str | None:
    """Why a problem is not one of fixed tasks on equal nodes with peak loads only; None if it is.

    Parameters
    ----------
    problem
        May have other metrics only where they are the same for every placement.
    peaks
        Most peak loads that may have a weight; None for any number.
    """
    for operator in problem.application.operators:
        if operator.min_replicas != operator.max_replicas:
            many = f"{operator.min_replicas} to {operator.max_replicas} replicas"
            return f"{operator.name} has {many}, {method} takes given numbers (min_replicas = max_replicas)"
    compiled = compile_problem(problem)
    if not compiled.contention.resources:
        return f"no operator or stream has a usage of shared resources, {method} knows nothing else"
    for metric in NORMALISED:
        if metric != "cost" and compiled.counts_metric(metric):
            return f"{method} does not take {metric} into account"
    if _traffic_counts(compiled):
        return f"{method} does not take prices of links into account"
    weighted = [metric for metric in compiled.contention.metrics if compiled.weight[metric]]
    if peaks is not None and len(weighted) > peaks:
        names = " and ".join(weighted)
        return f"{names} have weights, {method} minimises one peak load at a time (priorities)"
    number = find_node_classes(problem)
    if number is None or number.any():
        count = f"more than {MAX_CLASSES}" if number is None else int(number.max()) + 1
        return f"the network has {count} classes of equal nodes, {method} takes one"
    return None


def given_cost(compiled: Compiled) -> float:
    """Cost of all tasks without traffic, which is the same for every placement."""
    return float(compiled.max_replicas @ compiled.replica_cost)


def _traffic_counts(compiled: Compiled) -> bool:
    """Whether what streams pay for links, which depends on the placement, has a weight or can break the limit on cost."""
    if not compiled.links.priced:
        return False
    most = float(compiled.stream_rate.sum() * compiled.links.highest_cost)
    room = compiled.limit["cost"] * (1 + LIMIT_SLACK) - given_cost(compiled)
    return most > 0 and (compiled.weight["cost"] > 0 or most > room)


def minimised(compiled: Compiled) -> list[int]:
    """Shared resources of which the largest load is minimised."""
    names = compiled.contention.resources
    if compiled.weight[PEAK_LOAD]:
        return list(range(len(names)))
    return [k for k, metric in enumerate(compiled.contention.metrics[1:]) if compiled.weight[metric]]


def load_limits(compiled: Compiled) -> Floats:
    """Largest share of a node's capacity by shared resource, shape (shared,)."""
    overall, *single = (compiled.limit[metric] for metric in compiled.contention.metrics)
    return np.asarray(np.minimum(single, overall), float)


@derived
def read_fixed_tasks(problem: EdrpProblem) -> FixedTasks:
    """The arrays; operators, streams and nodes in the order of the compiled problem."""
    compiled = compile_problem(problem)
    contention, totals = compiled.contention, compiled.max_replicas.astype(np.int64)
    capacity = contention.capacity[0]
    own = contention.replica_use[np.arange(totals.size), totals]
    arrays = LoadArrays(
        totals=totals,
        demand=np.ascontiguousarray(compiled.demand),
        use=np.ascontiguousarray(own / capacity),
        source=compiled.stream_source.astype(np.int64),
        target=compiled.stream_target.astype(np.int64),
        one_to_one=contention.one_to_one,
        sent=np.ascontiguousarray(contention.stream_use / capacity),
    )
    return FixedTasks(arrays, compiled.capacity[0] * (1 + LIMIT_SLACK), len(compiled.nodes))
