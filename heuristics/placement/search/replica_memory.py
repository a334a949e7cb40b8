"""The memory of a search over deployments with replicas: best deployment, queue of operators, list of changes."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from edrp.core.arrays import Bools, Floats, Ints, UInts
from edrp.core.kernel_helpers import copy_vector
from edrp.core.kernels import inlined, inner_loop
from edrp.heuristics.placement.problem_arrays import PlacementArrays
from edrp.heuristics.placement.replica_state import PEAKS, ReplicaState, copy_placement, measure, refresh_all
from edrp.heuristics.placement.search.acceptance import OBJECTIVE, OVERLOAD, VIOLATIONS, better

CHANGES = 4_096
"""Maximum number of changes of one operator that are compared; on large networks, those listed last may be left out."""

CURSOR, LISTED, CHOSEN, WAITING, STAMP, OVERLOADED, STRAYS, KICKED = range(8)
"""Indices of `ReplicaMemory.counters`: next change to evaluate, changes listed, best of them so far (-1 for none), operators in
the queue, latest stamp on nodes, whether any node is overloaded, operators that differ from
home, and operators that a kick has touched while it is not evaluated (else -1)."""


class ReplicaMemory(NamedTuple):
    """Values of deployments, the best one met, and lists that kernels continue where they left off.

    Values are (violations, overload, objective).

    Attributes
    ----------
    value, best, trial, chosen : values of the deployment under search, of the best one met, of a change that is tried, and
        of the best change of an operator.
    best_place, best_degree : the best deployment met.
    home_place, home_degree : the deployment to which a kick may return.
    strays, stray : shape (operators,); the operators changed since, and which these are.
    changes : shape (CHANGES, 4); the changes of an operator.
    changed : shape (operators,); the operators that a change touches.
    queue, queued : shape (operators,); operators to look at, and which these are.
    targets : shape (nodes,); nodes to which an operator may go.
    stamped : shape (nodes,); the stamp with which a node was last listed.
    """

    value: Floats
    best: Floats
    trial: Floats
    chosen: Floats
    best_place: Ints
    best_degree: Ints
    home_place: Ints
    home_degree: Ints
    counters: Ints
    changes: Ints
    changed: Ints
    queue: Ints
    queued: Bools
    targets: Ints
    stamped: Ints
    strays: Ints
    stray: Bools

    @classmethod
    def empty(cls, tables: PlacementArrays) -> ReplicaMemory:
        """Arrays of the right shapes."""
        operators, nodes = tables.candidate.shape
        places = (operators, tables.latency.shape[1] - 1)
        return cls(
            value=np.full(3, np.inf),
            best=np.full(3, np.inf),
            trial=np.full(3, np.inf),
            chosen=np.full(3, np.inf),
            best_place=np.zeros(places, np.int64),
            best_degree=np.ones(operators, np.int64),
            home_place=np.zeros(places, np.int64),
            home_degree=np.ones(operators, np.int64),
            counters=np.zeros(8, np.int64),
            changes=np.zeros((CHANGES, 4), np.int64),
            changed=np.zeros(operators, np.int64),
            queue=np.zeros(operators, np.int64),
            queued=np.zeros(operators, np.bool_),
            targets=np.zeros(nodes, np.int64),
            stamped=np.zeros(nodes, np.int64),
            strays=np.zeros(operators, np.int64),
            stray=np.zeros(operators, np.bool_),
        )


class ReplicaSearch(NamedTuple):
    """A search: the problem, the deployment under search and its copy without the change that is tried, what is remembered.

    `random` (1,) is the state of the random numbers, `progress` (2,) is as in `local_search`; work is counted in changes.
    """

    arrays: PlacementArrays
    now: ReplicaState
    old: ReplicaState
    memory: ReplicaMemory
    random: UInts
    progress: Ints


@inlined
def evaluate(t: PlacementArrays, s: ReplicaState, overloaded: bool, overload_rule: int, value: np.ndarray) -> None:
    """Write the value of the deployment under search; nodes are checked only if some may be `overloaded`."""
    objective = measure(t, s)
    violations, overload = 0.0, 0.0
    if overloaded:
        for u in range(s.used.shape[0]):
            for m in range(s.used.shape[1]):
                excess = s.used[u, m] - t.capacity[u, m]
                if excess > 1e-9 * t.capacity[u, m] + 1e-12:
                    violations += 1
                    overload += excess / max(t.capacity[u, m], 1e-3 * excess)
    for k in range(5 + t.shared.weights.size):
        metric = s.values[k] if k < 5 else s.values[PEAKS + k - 5]
        limit = t.limits[k] if k < 5 else t.shared.limits[k - 5]
        objective += (t.weights[k] if k < 5 else t.shared.weights[k - 5]) * metric
        excess = metric - limit
        if excess > 1e-9 * limit:
            violations += 1
            overload += excess / max(limit, 1e-3 * excess)
    value[VIOLATIONS], value[OVERLOAD], value[OBJECTIVE] = violations, overload_rule * overload, objective


@inlined
def is_overloaded(t: PlacementArrays, s: ReplicaState) -> bool:
    """Whether any node holds more than it can."""
    for u in range(s.used.shape[0]):
        for m in range(s.used.shape[1]):
            if s.used[u, m] - t.capacity[u, m] > 1e-9 * t.capacity[u, m] + 1e-12:
                return True
    return False


@inlined
def keep_best(s: ReplicaState, m: ReplicaMemory) -> None:
    """Remember the deployment under search if it is the best one met."""
    if better(m.value, m.best):
        copy_vector(m.value, m.best)
        copy_placement(s, m.best_place, m.best_degree)


@inlined
def enqueue(m: ReplicaMemory, i: int) -> None:
    """Put operator i at the end of the queue, once."""
    if not m.queued[i]:
        m.queued[i] = True
        m.queue[m.counters[WAITING]] = i
        m.counters[WAITING] += 1


@inlined
def enqueue_neighbours(t: PlacementArrays, m: ReplicaMemory, i: int) -> None:
    """Put operator i and those that it shares streams with at the end of the queue."""
    enqueue(m, i)
    for k in range(t.adjacent_start[i], t.adjacent_start[i + 1]):
        enqueue(m, t.source[t.adjacent[k]] + t.target[t.adjacent[k]] - i)


@inlined
def note_stray(m: ReplicaMemory, i: int) -> None:
    """Operator i may differ from home."""
    if not m.stray[i]:
        m.stray[i] = True
        m.strays[m.counters[STRAYS]] = i
        m.counters[STRAYS] += 1


@inner_loop
def adopt(t: PlacementArrays, s: ReplicaState, m: ReplicaMemory, overload_rule: int) -> None:
    """Evaluate the deployment under search from scratch, make it the one to return to, and empty all lists."""
    refresh_all(t, s)
    copy_placement(s, m.home_place, m.home_degree)
    for i in range(s.degree.size):
        m.queued[i] = False
        m.stray[i] = False
    m.counters[WAITING] = 0
    m.counters[STRAYS] = 0
    m.counters[CURSOR] = 0
    m.counters[LISTED] = -1
    m.counters[KICKED] = -1
    m.counters[OVERLOADED] = is_overloaded(t, s)
    evaluate(t, s, True, overload_rule, m.value)
    keep_best(s, m)
