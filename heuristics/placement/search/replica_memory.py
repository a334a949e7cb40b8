"""What a search over deployments with replicas remembers beside the deployments themselves."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from edrp.core.arrays import Bools, Floats, Ints
from edrp.core.kernels import inlined, inner_loop
from edrp.heuristics.placement.kernel_helpers import copy_vector
from edrp.heuristics.placement.problem_arrays import Tables
from edrp.heuristics.placement.replica_state import State, copy_placement, measure, refresh_all
from edrp.heuristics.placement.search.acceptance import OBJECTIVE, OVERLOAD, VIOLATIONS, better

CHANGES = 4_096
"""Changes of one operator that are looked at together; on large networks, those listed last may be left out."""

CURSOR, LISTED, CHOSEN, WAITING, STAMP, CRAMMED, STRAYS = range(7)
"""Places in `Memory.counters`: next change to look at, changes listed, best of them so far (-1 for none), operators in
the queue, latest mark on nodes, whether any node holds more than it can, and operators that differ from home."""


class Memory(NamedTuple):
    """Values of placements, the best one met, and lists that kernels continue where they left off.

    `value` is of the deployment under search, `best` of the best one met, `trial` of a change, `found` of the best
    change of an operator; each is (violations, overload, objective). `home_place` and `home_degree` are the deployment
    to which a kick may return; `strays` are the operators changed since, `stray` says which. `changes` (CHANGES, 4)
    lists the changes of an operator, `changed` the operators that a change touches. `queue` holds operators to look at,
    `queued` says which. `targets` are the nodes that an operator may go to, `mark` (nodes,) says by stamp which.
    """

    value: Floats
    best: Floats
    trial: Floats
    found: Floats
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
    mark: Ints
    strays: Ints
    stray: Bools

    @classmethod
    def empty(cls, tables: Tables) -> Memory:
        """Arrays of the right shapes."""
        operators, nodes = tables.candidate.shape
        places = (operators, tables.latency.shape[1] - 1)
        return cls(
            value=np.full(3, np.inf),
            best=np.full(3, np.inf),
            trial=np.full(3, np.inf),
            found=np.full(3, np.inf),
            best_place=np.zeros(places, np.int64),
            best_degree=np.ones(operators, np.int64),
            home_place=np.zeros(places, np.int64),
            home_degree=np.ones(operators, np.int64),
            counters=np.zeros(7, np.int64),
            changes=np.zeros((CHANGES, 4), np.int64),
            changed=np.zeros(operators, np.int64),
            queue=np.zeros(operators, np.int64),
            queued=np.zeros(operators, np.bool_),
            targets=np.zeros(nodes, np.int64),
            mark=np.zeros(nodes, np.int64),
            strays=np.zeros(operators, np.int64),
            stray=np.zeros(operators, np.bool_),
        )


@inlined
def appraise(t: Tables, s: State, crammed: bool, eye: float, value: np.ndarray) -> None:
    """Write a deployment's value; nodes are looked at only if some may be `crammed`, overload only with an `eye` of 1."""
    objective = measure(t, s)
    violations, overload = 0.0, 0.0
    if crammed:
        for u in range(s.used.shape[0]):
            for m in range(s.used.shape[1]):
                excess = s.used[u, m] - t.capacity[u, m]
                if excess > 1e-9 * t.capacity[u, m] + 1e-12:
                    violations += 1
                    overload += excess / max(t.capacity[u, m], 1e-3 * excess)
    for k in range(5):
        objective += t.weights[k] * s.values[k]
        excess = s.values[k] - t.limits[k]
        if excess > 1e-9 * t.limits[k]:
            violations += 1
            overload += excess / max(t.limits[k], 1e-3 * excess)
    value[VIOLATIONS], value[OVERLOAD], value[OBJECTIVE] = violations, eye * overload, objective


@inlined
def is_crammed(t: Tables, s: State) -> bool:
    """Whether any node holds more than it can."""
    for u in range(s.used.shape[0]):
        for m in range(s.used.shape[1]):
            if s.used[u, m] - t.capacity[u, m] > 1e-9 * t.capacity[u, m] + 1e-12:
                return True
    return False


@inlined
def keep_best(s: State, m: Memory) -> None:
    """Remember the deployment under search if it is the best one met."""
    if better(m.value, m.best):
        copy_vector(m.value, m.best)
        copy_placement(s, m.best_place, m.best_degree)


@inlined
def call(m: Memory, i: int) -> None:
    """Put operator i at the end of the queue, once."""
    if not m.queued[i]:
        m.queued[i] = True
        m.queue[m.counters[WAITING]] = i
        m.counters[WAITING] += 1


@inlined
def call_around(t: Tables, m: Memory, i: int) -> None:
    """Put operator i and those that it shares streams with at the end of the queue."""
    call(m, i)
    for k in range(t.adjacent_start[i], t.adjacent_start[i + 1]):
        call(m, t.source[t.adjacent[k]] + t.target[t.adjacent[k]] - i)


@inlined
def note_stray(m: Memory, i: int) -> None:
    """Operator i may differ from home."""
    if not m.stray[i]:
        m.stray[i] = True
        m.strays[m.counters[STRAYS]] = i
        m.counters[STRAYS] += 1


@inner_loop
def stand(t: Tables, s: State, m: Memory, eye: float) -> None:
    """Evaluate the deployment under search from scratch, make it home, and empty all lists."""
    refresh_all(t, s)
    copy_placement(s, m.home_place, m.home_degree)
    for i in range(s.degree.size):
        m.queued[i] = False
        m.stray[i] = False
    m.counters[WAITING] = 0
    m.counters[STRAYS] = 0
    m.counters[CURSOR] = 0
    m.counters[LISTED] = -1
    m.counters[CRAMMED] = is_crammed(t, s)
    appraise(t, s, True, eye, m.value)
    keep_best(s, m)
