"""The memory of a search over deployments with replicas: best deployment, queue of operators, list of changes."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from edrp.core.arrays import Bools, Floats, Ints, UInts
from edrp.heuristics.placement.annealing_moves import MoveMix
from edrp.heuristics.placement.deployment_state import DeploymentState
from edrp.heuristics.placement.problem_arrays import PlacementArrays

MAX_CHANGES = 4_096
"""Maximum number of changes of one operator that are compared; on large networks, those listed last may be left out."""

WAITING = 3
"""Index into `DeploymentMemory.counters` of the number of operators in the queue; the kernel knows the others."""


class DeploymentMemory(NamedTuple):
    """Values of deployments, the best one visited, and the lists from which kernels continue.

    Arrays of `search_deployments` (edrp/native/heuristics/placement/deployment_memory.hpp).

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

    `mix` says to which nodes kicks move replicas, `random` (1,) is the state of the random numbers, `progress` (2,) is as in
    `acceptance`; work is counted in changes.
    """

    arrays: PlacementArrays
    now: DeploymentState
    memory: DeploymentMemory
    mix: MoveMix
    random: UInts
    progress: Ints
