"""The memory of a search over deployments with replicas: best deployment, queue of operators, list of changes."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from edrp.core.arrays import Bools, Floats, Ints, UInts
from edrp.core.kernel_helpers import copy_matrix, copy_vector
from edrp.core.kernels import inlined, inner_loop
from edrp.core.tolerances import LIMIT_SLACK
from edrp.heuristics.placement.annealing_moves import MoveMix
from edrp.heuristics.placement.deployment_metrics import measure
from edrp.heuristics.placement.deployment_state import FIRST_PEAK_VALUE, DeploymentState, refresh_all
from edrp.heuristics.placement.problem_arrays import PlacementArrays
from edrp.heuristics.placement.replica_counts import strain
from edrp.heuristics.placement.rule_rows import judge_rules
from edrp.heuristics.placement.search.acceptance import OBJECTIVE, OVERLOAD, VIOLATIONS, better

MAX_CHANGES = 4_096
"""Maximum number of changes of one operator that are compared; on large networks, those listed last may be left out."""

CURSOR, LISTED, CHOSEN, WAITING, STAMP, OVERLOADED, STRAYS, KICKED = range(8)
"""Indices of `DeploymentMemory.counters`: next change to evaluate, changes listed, best of them so far (-1 for none),
operators in the queue, latest stamp on nodes, whether any node is overloaded, operators that differ from home, and
operators that a kick has touched while it is not evaluated (else -1)."""


class DeploymentMemory(NamedTuple):
    """Values of deployments, the best one visited, and the lists from which kernels continue.

    Values are (violations, overload, objective).

    Attributes
    ----------
    value, best_value, trial, chosen : values of the deployment under search, of the best one met, of a change that is
        tried, and of the best change of an operator.
    best, home : shape (operators, nodes); counts of the best deployment, and of that to which a kick may return.
    strays, stray : shape (operators,); the operators changed since, and which these are.
    changes : shape (CHANGES, 5); the changes of an operator: kind, operator, and what they are about.
    changed, touched : shape (operators,); the operators that a change touches, and which these are while they are collected.
    queue, queued : shape (operators,); operators to look at, and which these are.
    targets : shape (nodes,); nodes to which an operator may go.
    stamped : shape (nodes,); the stamp with which a node was last listed.
    """

    value: Floats
    best_value: Floats
    trial: Floats
    chosen: Floats
    best: Ints
    home: Ints
    counters: Ints
    changes: Ints
    changed: Ints
    touched: Bools
    queue: Ints
    queued: Bools
    targets: Ints
    stamped: Ints
    strays: Ints
    stray: Bools

    @classmethod
    def empty(cls, arrays: PlacementArrays) -> DeploymentMemory:
        """Allocate the arrays for a problem."""
        operators, nodes = arrays.candidate.shape
        return cls(
            value=np.full(3, np.inf),
            best_value=np.full(3, np.inf),
            trial=np.full(3, np.inf),
            chosen=np.full(3, np.inf),
            best=np.zeros((operators, nodes), np.int64),
            home=np.zeros((operators, nodes), np.int64),
            counters=np.zeros(8, np.int64),
            changes=np.zeros((MAX_CHANGES, 5), np.int64),
            changed=np.zeros(operators, np.int64),
            touched=np.zeros(operators, np.bool_),
            queue=np.zeros(operators, np.int64),
            queued=np.zeros(operators, np.bool_),
            targets=np.zeros(nodes, np.int64),
            stamped=np.zeros(nodes, np.int64),
            strays=np.zeros(operators, np.int64),
            stray=np.zeros(operators, np.bool_),
        )


class DeploymentSearch(NamedTuple):
    """A search: the problem, the deployment under search, and its memory.

    `mix` says to which nodes kicks move replicas, `random` (1,) is the state of the random numbers, `progress` (2,) is as in `acceptance`; work is counted in changes.
    """

    arrays: PlacementArrays
    now: DeploymentState
    memory: DeploymentMemory
    mix: MoveMix
    random: UInts
    progress: Ints


@inlined
def evaluate(t: PlacementArrays, d: DeploymentState, overloaded: bool, overload_rule: int, value: np.ndarray) -> None:
    """Write the value of the present deployment; nodes are checked only if some may be `overloaded`."""
    broken, overload, price = judge_rules(t.rules, d.counts.replicas)
    objective, used, violations = measure(t, d) + price, d.counts.used, float(broken)
    for u in range(used.shape[0] if overloaded else 0):
        overloads, over = strain(t.capacity, used, u, LIMIT_SLACK)
        violations += overloads
        overload += over
    for k in range(5 + t.shared.weights.size):
        metric = d.values[k] if k < 5 else d.values[FIRST_PEAK_VALUE + k - 5]
        limit = t.limits[k] if k < 5 else t.shared.limits[k - 5]
        objective += (t.weights[k] if k < 5 else t.shared.weights[k - 5]) * metric
        excess = metric - limit
        if excess > LIMIT_SLACK * limit:
            violations += 1
            overload += excess / max(limit, 1e-3 * excess)
    value[VIOLATIONS], value[OVERLOAD], value[OBJECTIVE] = violations, overload_rule * overload, objective


@inlined
def is_overloaded(t: PlacementArrays, d: DeploymentState) -> bool:
    """Whether any node is overloaded, or a rule that must be met is broken: then changes need not fit."""
    if judge_rules(t.rules, d.counts.replicas)[0] > 0:
        return True
    for u in range(d.counts.used.shape[0]):
        if strain(t.capacity, d.counts.used, u, LIMIT_SLACK)[0] > 0:
            return True
    return False


@inlined
def keep_best(d: DeploymentState, m: DeploymentMemory) -> None:
    """Copy the present deployment to `best` if it is the best one visited."""
    if better(m.value, m.best_value):
        copy_vector(m.value, m.best_value)
        copy_matrix(d.counts.replicas, m.best)


@inlined
def enqueue(m: DeploymentMemory, i: int) -> None:
    """Put operator i at the end of the queue, once."""
    if not m.queued[i]:
        m.queued[i] = True
        m.queue[m.counters[WAITING]] = i
        m.counters[WAITING] += 1


@inlined
def enqueue_neighbours(t: PlacementArrays, m: DeploymentMemory, i: int) -> None:
    """Put operator i and those that it shares streams with at the end of the queue."""
    enqueue(m, i)
    for k in range(t.adjacent_start[i], t.adjacent_start[i + 1]):
        enqueue(m, t.source[t.adjacent[k]] + t.target[t.adjacent[k]] - i)


@inlined
def note_stray(m: DeploymentMemory, i: int) -> None:
    """Record that operator i may differ from the home deployment."""
    if not m.stray[i]:
        m.stray[i] = True
        m.strays[m.counters[STRAYS]] = i
        m.counters[STRAYS] += 1


@inner_loop
def adopt(t: PlacementArrays, d: DeploymentState, m: DeploymentMemory, overload_rule: int) -> None:
    """Evaluate the deployment under search from scratch, make it the one to return to, and empty all lists."""
    refresh_all(t, d)
    copy_matrix(d.counts.replicas, m.home)
    for i in range(m.queued.size):
        m.queued[i] = False
        m.stray[i] = False
    for k in (CURSOR, WAITING, STRAYS):
        m.counters[k] = 0
    for k in (LISTED, KICKED):
        m.counters[k] = -1
    m.counters[OVERLOADED] = is_overloaded(t, d)
    evaluate(t, d, True, overload_rule, m.value)
    keep_best(d, m)
