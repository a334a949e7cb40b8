"""Rules for changing the number of nodes, which need no intervals: their input, their output, and how answers are judged."""

from __future__ import annotations

from dataclasses import dataclass
from heapq import heapify, heapreplace
from itertools import accumulate
from operator import itemgetter
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike

from edrp.core.arrays import Floats, Ints, UInts
from edrp.core.budget import spend
from edrp.core.late_imports import csgraph, optimize, sparse
from edrp.core.tolerances import EQUAL_GAINS, EQUAL_LOADS
from edrp.migration.intervals import Assignment, Interval, load_limit, sums_before
from edrp.migration.single_step import MigrationProblem

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


MAX_DENSE = 10**6
"""Pairs of groups and old nodes up to which all of them are laid out; beyond, only those that share state."""


def matched(change: NodeCountChange, groups: Ints) -> Reassignment:
    """Let each group of tasks go to the old node that holds most of it, all groups together at the least cost.

    Parameters
    ----------
    groups : shape (m,)
        Group of each task, 0 … nodes_after − 1.
    """
    before, after = change.nodes_before, change.nodes_after
    former = np.full(after, NEW_NODE, dtype=np.int64)
    if after * before <= MAX_DENSE:
        shared = np.bincount(groups * before + change.node_of_task, change.state_size, minlength=after * before)
        group, node = optimize.linear_sum_assignment(shared.reshape(after, before), maximize=True)
        former[group] = node
        return Reassignment(groups, former)
    # A column more for each group lets it stay without an old node; such groups are given the ones that nobody wants.
    alone = np.arange(after)
    pairs = np.append(groups, alone), np.append(change.node_of_task, before + alone)
    sizes = np.append(change.state_size, np.zeros(after))
    sharing = sparse.coo_array((sizes, pairs), shape=(after, before + after)).tocsr()
    sharing.data += 1.0  # for every choice alike: an entry of 0 would be none
    matching = csgraph.min_weight_full_bipartite_matching(sharing, maximize=True)
    former[matching[0]] = np.where(matching[1] < before, matching[1], NEW_NODE)
    left, unused = np.flatnonzero(former == NEW_NODE), np.setdiff1d(np.arange(before), former)
    former[left[: unused.size]] = unused[: left.size]
    return Reassignment(groups, former)


UNASSIGNED = -1
"""Value that stands for the node of a task that its old node has given up."""


@dataclass(frozen=True, slots=True)
class Sticky:
    """Kafka's sticky assignment: numbers of tasks that differ by one at most, and as few moves as that allows.

    The newest nodes leave. Nodes with the most tasks get the larger shares; a node with more than its share
    keeps its first tasks and gives up the others, which fill the nodes that have too few. Neither work nor
    state is looked at. (The same number of tasks everywhere, the fewest moved: this is what section 6 of the
    state-migration paper takes consistent hashing to aim for. A hash ring comes close to it.)

    Examples
    --------
    >>> change = NodeCountChange(np.array([0, 0, 0, 1, 1, 1, 1]), 2, 3, np.ones(7), np.ones(7), 0.2)
    >>> Sticky()(change).node_of_task.tolist()
    [0, 0, 2, 1, 1, 1, 2]
    """

    name = "sticky"

    def initial(self, work: Floats, nodes: int) -> Ints:
        """Node of each task, shape (m,): as many neighbouring tasks for each."""
        return np.arange(work.size) * nodes // work.size

    def __call__(self, change: NodeCountChange) -> Reassignment:
        """Keep tasks up to the share of each node, and fill the nodes that have too few."""
        tasks, nodes = change.work.size, change.nodes_after
        assignment = np.where(change.node_of_task < nodes, change.node_of_task, UNASSIGNED)
        counts = np.bincount(assignment[assignment != UNASSIGNED], minlength=nodes)
        share = np.full(nodes, tasks // nodes)
        share[np.argsort(-counts, kind="stable")[: tasks % nodes]] += 1
        for node in np.flatnonzero(counts > share):
            assignment[np.flatnonzero(assignment == node)[share[node] :]] = UNASSIGNED
        missing = share - np.minimum(counts, share)
        assignment[assignment == UNASSIGNED] = np.repeat(np.arange(nodes), missing)
        return Reassignment(assignment, newest_leave(change.nodes_before, nodes))


@dataclass(frozen=True, slots=True)
class StickyByWork:
    """Nodes keep their tasks up to the load limit; what they give up, heaviest first, goes to the least loaded node.

    The newest nodes leave. A node above the limit gives up the tasks with the least state for their work until
    it is within. The limit may still be broken where the tasks are too coarse.

    Examples
    --------
    >>> change = NodeCountChange(np.array([0, 0, 0, 1]), 2, 2, np.ones(4), np.array([5.0, 1.0, 5.0, 1.0]), 0.2)
    >>> StickyByWork()(change).node_of_task.tolist()
    [0, 1, 0, 1]
    """

    name = "sticky by work"

    def initial(self, work: Floats, nodes: int) -> Ints:
        """Node of each task, shape (m,): heaviest first to the least loaded node."""
        return _to_the_least_loaded(np.full(work.size, UNASSIGNED), work, nodes)

    def __call__(self, change: NodeCountChange) -> Reassignment:
        """Keep tasks up to the load limit, and give the rest to the least loaded nodes."""
        nodes, work = change.nodes_after, change.work
        assignment = np.where(change.node_of_task < nodes, change.node_of_task, UNASSIGNED)
        with np.errstate(divide="ignore", invalid="ignore"):
            worth = np.where(work > 0, change.state_size / work, np.inf)
        load = np.bincount(assignment[assignment != UNASSIGNED], work[assignment != UNASSIGNED], minlength=nodes)
        for node in np.flatnonzero(load > change.limit):
            tasks = np.flatnonzero(assignment == node)
            tasks = tasks[np.argsort(worth[tasks], kind="stable")]
            remaining_work = load[node] - np.cumsum(work[tasks])
            assignment[tasks[: int(np.argmax(remaining_work <= change.limit)) + 1]] = UNASSIGNED
        return Reassignment(_to_the_least_loaded(assignment, work, nodes), newest_leave(change.nodes_before, nodes))


def _to_the_least_loaded(assignment: Ints, work: Floats, nodes: int) -> Ints:
    """Assign free tasks, heaviest first, each to the least loaded node (longest-processing-time rule)."""
    owner = assignment.copy()
    load = np.bincount(assignment[assignment != UNASSIGNED], work[assignment != UNASSIGNED], minlength=nodes)
    queue = list(zip(load.tolist(), range(nodes), strict=True))
    heapify(queue)
    free = np.flatnonzero(assignment == UNASSIGNED)
    for task in free[np.argsort(-work[free], kind="stable")]:
        smallest_load, node = queue[0]
        owner[task] = node
        heapreplace(queue, (smallest_load + float(work[task]), node))
    return owner


LOAD_HALVINGS = 60
"""Halvings of the range of the least largest load: more than the precision of a float."""

MAX_BOUNDARY_ROUNDS = 100
"""Rounds in which every boundary is moved once."""

REACH_WORK, MOVE_WORK = 3e-6, 3e-5
"""Units of work per node of a packing, and per boundary that is moved."""


@dataclass(frozen=True, slots=True)
class BalancedPacking:
    """Splits the work into equal shares, then moves each boundary to where the most state stays.

    The start is the split of neighbouring tasks into equal shares of the work, boundaries moved as little as
    the load limit asks for; where no split keeps to the limit, the one with the least largest load is the
    answer. Shares are matched with old nodes at the least cost. A boundary is then put where its two nodes keep
    the most of their state while both stay within the limit; this goes on, with new matchings in between,
    until nothing improves. That is a local optimum, seldom the best there is.

    Examples
    --------
    >>> change = NodeCountChange(np.array([0, 0, 0, 0, 1, 1]), 2, 2, np.ones(6), np.ones(6), 0.4)
    >>> BalancedPacking()(change).node_of_task.tolist()
    [0, 0, 0, 0, 1, 1]
    """

    allow_empty: bool = True

    name = "balanced packing"

    def initial(self, work: Floats, nodes: int) -> Ints:
        """Node of each task, shape (m,): equal shares of the work."""
        limit = least_largest_load(work, nodes) * (1 + EQUAL_LOADS)
        return _groups(_packed(work, nodes, limit, self._least(work, nodes)))

    def __call__(self, change: NodeCountChange) -> Reassignment:
        """Pack, match, move boundaries."""
        min_tasks = self._least(change.work, change.nodes_after)
        possible = least_largest_load(change.work, change.nodes_after) * (1 + EQUAL_LOADS)
        boundaries = _packed(change.work, change.nodes_after, max(change.limit, possible), min_tasks)
        answer = matched(change, _groups(boundaries))
        if possible > change.limit:
            return answer
        for _ in range(MAX_BOUNDARY_ROUNDS):
            if not _improve(change, boundaries, answer.former, min_tasks):
                break
            answer = matched(change, _groups(boundaries))
        return answer

    def _least(self, work: Floats, nodes: int) -> int:
        """Minimum number of tasks of each node; 0 where there are more nodes than tasks."""
        return 0 if self.allow_empty or nodes > work.size else 1


def least_largest_load(work: Floats, nodes: int) -> float:
    """Work of the busiest node when neighbouring tasks are split among nodes as evenly as possible."""
    before = sums_before(work)
    low, high = max(float(work.max()), float(before[-1]) / nodes), float(before[-1])
    for _ in range(LOAD_HALVINGS):
        middle = (low + high) / 2
        fits = _farthest(before, nodes, middle)[-1] == work.size
        low, high = (low, middle) if fits else (middle, high)
    return float(np.diff(before[_farthest(before, nodes, high)]).max())


def _packed(work: Floats, nodes: int, limit: float, min_tasks: int) -> Ints:
    """Boundaries as near to equal shares of the work as the limit allows, with at least `min_tasks` tasks each."""
    before, tasks = sums_before(work), work.size
    earliest = np.full(nodes + 1, tasks, dtype=np.int64)
    for node in range(nodes - 1, -1, -1):
        earliest[node] = np.searchsorted(before, before[earliest[node + 1]] - limit, side="left")
    shares = np.searchsorted(before, before[-1] * np.arange(nodes + 1) / nodes, side="left")
    boundaries = np.append(0, np.full(nodes, tasks))
    for node in range(1, nodes):
        first = max(earliest[node], boundaries[node - 1] + min_tasks)
        last = min(_reach(before, boundaries[node - 1], limit), tasks - (nodes - node) * min_tasks)
        boundaries[node] = min(max(shares[node], first), last)
    return boundaries


def _improve(change: NodeCountChange, boundaries: Ints, former: Ints, min_tasks: int) -> bool:
    """Move each boundary in place to where its two nodes keep the most state; return whether any moved."""
    spend(MOVE_WORK * change.nodes_after)
    before, moved = sums_before(change.work), False
    for node in range(1, change.nodes_after):
        previous, boundary, following = boundaries[node - 1 : node + 2]
        first = max(previous + min_tasks, int(np.searchsorted(before, before[following] - change.limit, side="left")))
        last = min(following - min_tasks, _reach(before, previous, change.limit))
        owners = change.node_of_task[first:last]
        gain = change.state_size[first:last] * ((owners == former[node - 1]).astype(np.float64) - (owners == former[node]))
        kept_before = sums_before(gain)
        best = int(np.argmax(kept_before))
        if kept_before[best] > kept_before[boundary - first] + EQUAL_GAINS * change.state_size.sum():
            boundaries[node] = first + best
            moved = True
    return moved


def _reach(before: Floats, first: int, limit: float) -> int:
    """Farthest end of an interval from `first` within the limit."""
    return int(np.searchsorted(before, before[first] + limit, side="right")) - 1


def _farthest(before: Floats, nodes: int, limit: float) -> Ints:
    spend(REACH_WORK * nodes)
    boundaries = [0]
    for _ in range(nodes):
        boundaries.append(_reach(before, boundaries[-1], limit))
    return np.array(boundaries, dtype=np.int64)


def _groups(boundaries: Ints) -> Ints:
    return np.repeat(np.arange(boundaries.size - 1), np.diff(boundaries))


@dataclass(frozen=True, slots=True)
class EvenSplit:
    """Gives each node ⌊m/n′⌋ or ⌈m/n′⌉ neighbouring tasks, whatever their work and old node.

    Attributes
    ----------
    matching : False: the first tasks go to the first node and so on, as Storm does. True: each share goes to the old node that
        holds most of its state, all shares together at the least cost.

    Examples
    --------
    >>> change = NodeCountChange(np.array([0, 0, 0, 1, 1, 1]), 2, 3, np.ones(6), np.ones(6), 0.2)
    >>> EvenSplit()(change).node_of_task.tolist()
    [0, 0, 1, 1, 2, 2]
    """

    matching: bool = False

    @property
    def name(self) -> str:
        """Name of the rule in tables."""
        return "even split, matched" if self.matching else "even split"

    def initial(self, work: Floats, nodes: int) -> Ints:
        """Node of each task, shape (m,)."""
        return np.arange(work.size) * nodes // work.size

    def __call__(self, change: NodeCountChange) -> Reassignment:
        """Give the same number of tasks to each node."""
        groups = self.initial(change.work, change.nodes_after)
        if self.matching:
            return matched(change, groups)
        return Reassignment(groups, newest_leave(change.nodes_before, change.nodes_after))


def ring_assignment(problem: MigrationProblem, seed: int = 0) -> Assignment:
    """Assignment of nodes that stand on a ring of tasks, each with the tasks up to its point.

    Old nodes stand where their intervals end, so that nothing moves that need not. The newest nodes leave, that is
    those with the highest numbers, and each leaves its tasks to the next node on the ring. New nodes are hashed to
    points, and take from the node in whose interval they come to stand what lies before their point. The ring is cut
    before the first task, since an interval cannot hold both ends: tasks behind the last point go to the node there.
    Neither work nor state is looked at.

    Returns
    -------
    Assignment
        Intervals of the old nodes, None for those that leave, then of the new ones.
    """
    before, after, tasks = len(problem.intervals), problem.nodes, len(problem.work)
    standing = [(point, node) for point, node in _old_points(problem.intervals) if node < after]
    standing += [(new_point(node, tasks, seed), node) for node in range(before, after)]
    # Of nodes on the same point the old ones keep their order, the new ones follow and hold nothing.
    standing.sort(key=itemgetter(0))
    assignment: list[Interval | None] = [None] * max(before, after)
    reached = 0
    for point, node in [*standing[:-1], (tasks, standing[-1][1])]:
        assignment[node] = (reached, point)
        reached = point
    return tuple(assignment)


def new_point(node: int, tasks: int, seed: int = 0) -> int:
    """Point of a new node: behind one of the tasks, at the same share of the ring however many tasks there are.

    >>> new_point(2, 8), new_point(2, 8000)
    (8, 7458)
    """
    hashed = int(np.random.SeedSequence([seed, node]).generate_state(1, np.uint64)[0])
    return 1 + (hashed * tasks >> 64)


def _old_points(intervals: tuple[Interval, ...]) -> list[tuple[int, int]]:
    """Points of the old nodes along the ring, with their numbers; an empty node shares the point of the one before it."""
    ordered = sorted((interval, node) for node, interval in enumerate(intervals))
    points = accumulate((end for (_, end), _ in ordered), max)
    return [(point, node) for point, (_, node) in zip(points, ordered, strict=True)]


@dataclass(frozen=True, slots=True)
class ConsistentHashing:
    """Puts every node at several points of a ring; every task goes to the next node on it.

    Adding a node takes tasks from all others and moves nothing else; removing one (the newest) spreads its
    tasks among the others. Neither work nor state is looked at.

    Attributes
    ----------
    virtual_nodes : places of each node on the ring; more even out the number of tasks per node.

    Examples
    --------
    >>> rule = ConsistentHashing(seed=1)
    >>> before = rule.initial(np.ones(64), 8)
    >>> answer = rule(NodeCountChange(before, 8, 9, np.ones(64), np.ones(64), 0.2))
    >>> set(answer.node_of_task[answer.node_of_task != before].tolist())
    {8}
    """

    virtual_nodes: int = 100
    seed: int = 0

    name = "consistent hashing"

    def initial(self, work: Floats, nodes: int) -> Ints:
        """Node of each task, shape (m,)."""
        owners = np.repeat(np.arange(nodes), self.virtual_nodes)
        copies = np.tile(np.arange(self.virtual_nodes), nodes)
        points = _hashes((owners << 32) + copies, self.seed, 2)
        order = np.argsort(points, kind="stable")
        points, owners = points[order], owners[order]
        return owners[np.searchsorted(points, _hashes(np.arange(work.size), self.seed, 1)) % points.size]

    def __call__(self, change: NodeCountChange) -> Reassignment:
        """Assign the tasks by the ring of the new number of nodes; their old nodes play no part."""
        return Reassignment(self.initial(change.work, change.nodes_after), newest_leave(change.nodes_before, change.nodes_after))


def _hashes(keys: Ints, seed: int, kind: int) -> UInts:
    """Well-mixed 64-bit hashes: the finalizer of SplitMix64 (Steele, Lea, Flood 2014) over keys, seed and kind."""
    mixed = keys.astype(np.uint64)
    salts = (np.array([kind, seed % 2**64], dtype=np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    for salt in salts:
        mixed = mixed + salt
        mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        mixed = mixed ^ (mixed >> np.uint64(31))
    return mixed
