"""Input and output of rules for changing the number of nodes, and how their answers are judged."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike

from edrp.core.arrays import Floats, Ints
from edrp.core.late_imports import optimize
from edrp.migration.intervals import load_limit

NEW_NODE = -1
"""Value that stands for the old number of a new node."""


@dataclass(frozen=True, slots=True, eq=False)
class NodeCountChange:
    """A change of the number of nodes: the old assignment and the limits of the new one.

    Attributes
    ----------
    node_of_task : shape (m,), node of each task before the change, 0 … nodes_before − 1.
    nodes_before, nodes_after : number of nodes, n and n′.
    work, state_size : shape (m,), amount of work, and bytes of state, of each task.
    tolerance : τ: a node may hold (1 + τ) times the average work.
    """

    node_of_task: Ints
    nodes_before: int
    nodes_after: int
    work: Floats
    state_size: Floats
    tolerance: float

    @property
    def limit(self) -> float:
        """Maximum work that a node may hold after the change."""
        return load_limit(float(self.work.sum()), self.nodes_after, self.tolerance)


class Reassignment(NamedTuple):
    """The assignment that a rule answers with.

    Attributes
    ----------
    node_of_task : shape (m,), node of each task after the change, 0 … nodes_after − 1.
    former : shape (nodes_after,), old node that each of these was, or `NEW_NODE`. Old nodes that do not occur are removed.
    """

    node_of_task: Ints
    former: Ints


class ReassignmentRule(Protocol):
    """A rule for changing the number of nodes."""

    @property
    def name(self) -> str:
        """Name of the rule in tables."""

    def initial(self, work: Floats, nodes: int) -> Ints:
        """Node of each task before any change, shape (m,), as the rule would assign them."""

    def __call__(self, change: NodeCountChange) -> Reassignment:
        """Assign the tasks to the new number of nodes."""


class ReassignmentOutcome(NamedTuple):
    """Cost of a reassignment, and whether it is allowed.

    Attributes
    ----------
    moved_state : bytes that move.
    moved_share : share of all state that moves.
    largest_load : work of the busiest node relative to the average.
    breaks_limit : whether some node holds more than (1 + τ) times the average.
    """

    moved_state: float
    moved_share: float
    largest_load: float
    breaks_limit: bool


def reassignment_outcome(change: NodeCountChange, answer: Reassignment) -> ReassignmentOutcome:
    """Cost of a rule's answer, and whether it breaks the load limit.

    Examples
    --------
    >>> change = NodeCountChange(np.array([0, 0, 1]), 2, 2, np.ones(3), np.array([1.0, 2.0, 4.0]), 0.5)
    >>> reassignment_outcome(change, Reassignment(np.array([0, 1, 1]), np.array([0, 1])))
    ReassignmentOutcome(moved_state=2.0, moved_share=0.2857142857142857, largest_load=1.3333333333333333, breaks_limit=False)
    """
    moved = moved_state(change.node_of_task, answer, change.state_size)
    total = float(change.state_size.sum())
    load = np.bincount(answer.node_of_task, change.work, minlength=change.nodes_after)
    average = float(change.work.sum()) / change.nodes_after
    return ReassignmentOutcome(
        moved,
        moved / total if total else 0.0,
        float(load.max() / average) if average else 0.0,
        breaks_limit(answer.node_of_task, change.work, change.nodes_after, change.tolerance),
    )


def moved_state(before: Ints, answer: Reassignment, state_size: ArrayLike) -> float:
    """Bytes of the tasks that change their node.

    >>> moved_state(np.array([0, 0, 1]), Reassignment(np.array([0, 0, 1]), np.array([0, NEW_NODE])), [1.0, 2.0, 4.0])
    4.0
    """
    return float(np.asarray(state_size, dtype=np.float64)[answer.former[answer.node_of_task] != before].sum())


def breaks_limit(node_of_task: Ints, work: ArrayLike, nodes: int, tolerance: float) -> bool:
    """Whether some node holds more than (1 + τ) times the average work (state migration, Definition 3.1).

    >>> breaks_limit(np.array([0, 0, 1]), [1.0, 1.0, 1.0], 2, 0.2)
    True
    """
    load = np.bincount(node_of_task, np.asarray(work, dtype=np.float64), minlength=nodes)
    return bool(load.max() > load_limit(float(load.sum()), nodes, tolerance))


def newest_leave(nodes_before: int, nodes_after: int) -> Ints:
    """`former` of rules that know nodes by their number: the highest numbers leave first, new ones follow the old.

    >>> newest_leave(2, 3).tolist(), newest_leave(4, 2).tolist()
    ([0, 1, -1], [0, 1])
    """
    nodes = np.arange(nodes_after)
    return np.where(nodes < nodes_before, nodes, NEW_NODE)


def matched(change: NodeCountChange, groups: Ints) -> Reassignment:
    """Let each group of tasks go to the old node that holds most of it, all groups together at the least cost.

    Parameters
    ----------
    groups : shape (m,)
        Group of each task, 0 … nodes_after − 1.
    """
    before, after = change.nodes_before, change.nodes_after
    shared = np.bincount(groups * before + change.node_of_task, change.state_size, minlength=after * before)
    group, node = optimize.linear_sum_assignment(shared.reshape(after, before), maximize=True)
    former = np.full(after, NEW_NODE, dtype=np.int64)
    former[group] = node
    return Reassignment(groups, former)
