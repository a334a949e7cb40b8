"""Policies followed through a sequence of node counts: SSM, MTM-aware migration, rules, and OMS, which knows the future."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from time import perf_counter, thread_time
from typing import NamedTuple

import numpy as np

from edrp.core.arrays import Floats, Ints
from edrp.core.budget import running, units_left
from edrp.core.errors import Fault, InvalidInstanceError
from edrp.heuristics.migration import node_change
from edrp.mdp.chain.transition_matrix import TransitionMatrix
from edrp.mdp.fitted.method import choose_policy, fit, recommend
from edrp.mdp.fitted.policies import Features, FittedPolicy, PartitionPolicy, PricedClass
from edrp.mdp.partitions import Boundaries, OldNodes, Tasks, gain_between, layers
from edrp.mdp.policy.pmc import Threads, iterate
from edrp.mdp.policy.process import MigrationPolicy, PolicyModel
from edrp.mdp.sequence import course as oms_course
from edrp.mdp.sequence.course import enumerate_path
from edrp.mdp.sequence.path_heuristic import PartitionPools, improved_path, search_path
from edrp.mdp.single_step.ssm import best_migration
from edrp.mdp.trie import Trie
from edrp.migration.intervals import load_limit
from edrp.migration.policy import ProjectedCosts
from edrp.migration.single_step import migration_clashes


class MigrationTask(NamedTuple):
    """One migration of a course: the tasks as they are then, the number of nodes to come, and the tolerance."""

    tasks: Tasks
    nodes: int
    tolerance: float

    @property
    def limit(self) -> float:
        """Most work that a node may hold."""
        return load_limit(float(self.tasks.work_before[-1]), self.nodes, self.tolerance)


ActionRule = Callable[[Boundaries, MigrationTask], Boundaries]
"""From a partition and the migration to come, the partition to take."""


class NodeCountCourse(NamedTuple):
    """Node counts to go through, and the load at each change.

    Attributes
    ----------
    tasks : work and state at the start and at each migration, length p + 1.
    counts : shape (p + 1,), the first is held at the start.
    tolerances : shape (p,), τ of each migration.
    """

    tasks: tuple[Tasks, ...]
    counts: Ints
    tolerances: Floats

    @classmethod
    def of(cls, tasks: Tasks | Sequence[Tasks], counts: Ints, tolerance: float) -> NodeCountCourse:
        """Create a course with constant loads, or with those at each count; τ is widened where no partition keeps the limit.

        The least τ that a partition into intervals with at least one task each keeps takes its place: all policies then
        have to balance as well as can be.

        >>> course = NodeCountCourse.of(Tasks.of([3, 1, 1, 1], [1, 1, 1, 1]), np.array([3, 2, 3]), 0.2)
        >>> course.tolerances.round(3).tolist(), course.widened(0.2)
        ([0.2, 0.5], 1)
        """
        loads = (tasks,) * counts.size if isinstance(tasks, Tasks) else tuple(tasks)
        steps = zip(loads[1:], counts[1:].tolist(), strict=True)
        return cls(loads, counts, np.array([_possible_tolerance(load, nodes, tolerance) for load, nodes in steps]))

    def widened(self, tolerance: float) -> int:
        """Number of migrations whose τ had to be larger than this one."""
        return int((self.tolerances > tolerance).sum())

    @property
    def migrations(self) -> tuple[MigrationTask, ...]:
        """The migrations, length p."""
        steps = zip(self.tasks[1:], self.counts[1:].tolist(), self.tolerances.tolist(), strict=True)
        return tuple(MigrationTask(*step) for step in steps)

    def start(self) -> Boundaries:
        """Partition to start from: equal shares of the work, with the least largest load."""
        nodes = int(self.counts[0])
        node_of_task = node_change.BalancedPacking(allow_empty=False).initial(self.tasks[0].work, nodes)
        return np.searchsorted(node_of_task, np.arange(nodes + 1)).astype(np.int64)


def _possible_tolerance(tasks: Tasks, nodes: int, tolerance: float) -> float:
    """The tolerance, or the least one that some partition keeps."""
    total = float(tasks.work_before[-1])
    if layers(tasks.work_before, nodes, load_limit(total, nodes, tolerance), allow_empty=False).feasible:
        return tolerance
    return node_change.least_largest_load(tasks.work, nodes) * nodes / total - 1


@dataclass(frozen=True, slots=True)
class Followed:
    """Costs of a policy on a course, migration by migration; means over the runs of a random one.

    Attributes
    ----------
    name : name of the policy.
    moved_share : shape (p,), state that moved, as a share of all.
    broken : shape (p,), 1 where the load limit was broken, 0 where not.
    seconds : shape (p,), processor time to decide.
    path : the p + 1 partitions that it went through; empty for rules on tasks.
    """

    name: str
    moved_share: Floats
    broken: Floats
    seconds: Floats
    path: tuple[Boundaries, ...] = ()

    @property
    def mean(self) -> float:
        """Share of the state that a migration moves."""
        return float(self.moved_share.mean())

    @property
    def broken_share(self) -> float:
        """Share of the migrations that break the load limit."""
        return float(self.broken.mean())

    @property
    def median_seconds(self) -> float:
        """Median time of one decision (s)."""
        return float(np.median(self.seconds))


def follow_rule(rule: node_change.ReassignmentRule, course: NodeCountCourse) -> Followed:
    """A rule on tasks, from its own initial assignment."""
    node_of_task = rule.initial(course.tasks[0].work, int(course.counts[0]))
    moved, broken, seconds = [], [], []
    for before, (tasks, after, tolerance) in zip(course.counts[:-1].tolist(), course.migrations, strict=True):
        change = node_change.NodeCountChange(node_of_task, before, after, tasks.work, tasks.state_size, tolerance)
        began = thread_time()
        answer = rule(change)
        seconds.append(thread_time() - began)
        result = node_change.reassignment_outcome(change, answer)
        moved.append(result.moved_share)
        broken.append(float(result.breaks_limit))
        node_of_task = answer.node_of_task
    return Followed(rule.name, np.array(moved), np.array(broken), np.array(seconds))


def follow_hashing(course: NodeCountCourse, runs: int = 100) -> Followed:
    """Consistent hashing, averaged over hash functions as the paper does."""
    each = [follow_rule(node_change.ConsistentHashing(seed=seed), course) for seed in range(runs)]
    means = (np.mean([getattr(run, name) for run in each], axis=0) for name in ("moved_share", "broken", "seconds"))
    return Followed(each[0].name, *means)


def follow_policy(name: str, action: ActionRule, course: NodeCountCourse) -> Followed:
    """A policy on partitions, which are all that later costs depend on (state migration, Lemma 4.1)."""
    boundaries = course.start()
    path, seconds = [boundaries], []
    for migration in course.migrations:
        began = thread_time()
        boundaries = np.asarray(action(boundaries, migration), dtype=np.int64)
        seconds.append(thread_time() - began)
        path.append(boundaries)
    return judge_path(name, path, course, np.array(seconds))


def judge_path(name: str, path: Sequence[Boundaries], course: NodeCountCourse, seconds: Floats) -> Followed:
    """A sequence of partitions, the start first; shares are those of the state at each migration."""
    changes = list(zip(course.migrations, pairwise(path), strict=True))
    moved = [1 - gain_between(step.tasks.state_before, a, b) / step.tasks.state_before[-1] for step, (a, b) in changes]
    broken = [float(np.diff(step.tasks.work_before[after]).max() > step.limit) for step, (_, after) in changes]
    return Followed(name, np.array(moved), np.array(broken), seconds, tuple(path))


SINGLE_STEP, MTM, OMS = "SSM", "MTM-aware", "OMS"

MAX_PARTITIONS = 600_000
"""Partitions up to which MTM-aware migration and OMS are exact.

Beyond, projected costs are fitted, and used only if simulation recommends it; OMS is a search without proof.
"""

SEARCH_WORK = 5.0
"""Units of work of OMS where partitions cannot be enumerated."""

EXTENDED_FROM = 5000
"""Partitions of each number of nodes to whose projected costs prices are fitted."""


@dataclass(frozen=True, slots=True)
class Prepared:
    """A policy for an uncertain future, ready to decide.

    `how` names its origin: "exact", "fitted", "restricted", or "SSM" where the guard advises that; "exact, extended" if exact
    projected costs were extended to partitions of other loads.
    """

    action: ActionRule
    seconds: float
    how: str


def prepare(model: PolicyModel, *, changing: bool = False, max_states: int = MAX_PARTITIONS, seed: int = 0) -> Prepared:
    """Exact where the partitions can be enumerated, else fitted and guarded by simulation against SSM.

    Projected costs belong to the model's loads, which stay the same: PMC knows no others, and the paper does not say what it
    does when loads have changed. With changing loads each decision minimises c(P, P′) + γ·C(P′) over all P′ that keep the limit
    then, with the state of then. Most of these are no partitions of the model, so C is extended to them as a sum of prices of
    boundaries and loads (`Features`), fitted to the projected costs. To choose among the partitions of the model alone that
    keep the limit, and else to take SSM's, was tried: few of them do, and it costs more than SSM.
    """
    began = perf_counter()
    if sum(model.size.states) <= max_states:
        costs = iterate(model, Threads(os.cpu_count() or 1)).to_costs(model)
        if changing:
            return Prepared(partial(_priced_action, _extended(model, costs, seed)), perf_counter() - began, "exact, extended")
        return Prepared(_unchanged(model, MigrationPolicy(model, costs)), perf_counter() - began, "exact")
    if changing:
        fitted = fit(model, np.random.default_rng(seed))
        if choose_policy(model, {"fitted": fitted}, seed + 1).name == "ssm":
            return Prepared(single_step, perf_counter() - began, "SSM")
        return Prepared(partial(_priced_action, fitted), perf_counter() - began, "fitted")
    chosen = recommend(model, seed)
    if chosen.name == "ssm":
        return Prepared(single_step, perf_counter() - began, "SSM")
    return Prepared(_unchanged(model, chosen.policy), perf_counter() - began, chosen.name)


def _unchanged(model: PolicyModel, policy: PartitionPolicy) -> ActionRule:
    """A policy of the model where loads are those of the model."""
    return lambda before, migration: policy.action(before, model.counts.index(migration.nodes))


def _extended(model: PolicyModel, costs: ProjectedCosts, seed: int) -> FittedPolicy:
    generator = np.random.default_rng(seed)
    weights = []
    for nodes, partitions in zip(model.counts, model.partitions, strict=True):
        rows = generator.permutation(len(partitions))[:EXTENDED_FROM]
        features = Features(model.tasks.work_before, model.limit(nodes))
        weights.append(features.fit(partitions[rows].astype(np.int64), costs.values[nodes][rows]))
    return FittedPolicy(model, tuple(weights))


def _priced_action(policy: FittedPolicy, before: Boundaries, migration: MigrationTask) -> Boundaries:
    """The best of all partitions that keep the limit of the moment, by the prices of their intervals."""
    model, tasks = policy.model, migration.tasks
    scale = model.discount * tasks.state_before[-1] / model.total_state
    graph = Trie.unnumbered(tasks.work_before, migration.nodes, migration.limit, allow_empty=False)
    features = Features(tasks.work_before, migration.limit)
    price, constant = features.prices(graph, policy.weights[model.counts.index(migration.nodes)])
    priced = PricedClass(graph, scale * price, scale * constant)
    return np.asarray(priced.best_responses(tasks.state_before, before[np.newaxis])[1][0])


def single_step(before: Boundaries, migration: MigrationTask) -> Boundaries:
    """The optimal single step (SSM).

    Raises
    ------
    InvalidInstanceError
        For a number of nodes whose every partition breaks the load limit.
    """
    nodes_before = before.size - 1
    old = OldNodes(before, np.arange(nodes_before), np.empty(0, dtype=np.int64))
    best = best_migration(migration.tasks, old, nodes_before, migration.nodes, migration.tolerance, False)
    if best is None:
        why = "; ".join(migration_clashes(migration.tasks.work.tolist(), migration.nodes, migration.tolerance, allow_empty=False))
        raise InvalidInstanceError([Fault("tolerance", f"{migration.tolerance:g}", why)])
    return np.unique([end for interval in best[1] if interval is not None for end in interval]).astype(np.int64)


def policy_model(tasks: Tasks, transitions: TransitionMatrix, tolerance: float, discount: float) -> PolicyModel:
    """The process that a transition matrix describes."""
    counts = tuple(int(n) for n in transitions.node_counts)
    return PolicyModel(tasks, counts, tolerance, False, transitions.probabilities, discount)


@dataclass(frozen=True, slots=True)
class Planned:
    """Partitions after each migration of a course; `how` is "exact", or "search" for one without proof."""

    path: oms_course.Path
    seconds: float
    how: str

    def follow(self, course: NodeCountCourse) -> Followed:
        """Follow the plan; deciding takes no time any more."""
        return judge_path(OMS, [course.start(), *self.path], course, np.zeros(len(self.path)))


def plan(course: NodeCountCourse, known_ways: Sequence[Followed] = (), max_states: int = MAX_PARTITIONS) -> Planned:
    """OMS: the best partitions for all migrations to come, with the loads to come, which no policy can know.

    Exact where the partitions can be enumerated, else the best that a search finds with 5 units of work.

    Parameters
    ----------
    known_ways
        Runs of policies on partitions; a search takes their paths into account and ends with none worse.
    """
    began = perf_counter()
    known = oms_course.Course.changing(course.tasks[1:], course.start(), course.counts[1:].tolist(), course.tolerances.tolist())
    states = sum({id(step.members): step.members.count for step in known.steps}.values())
    if states <= max_states:
        path = enumerate_path(known, threads=os.cpu_count() or 1)[1]
        return Planned(path, perf_counter() - began, "exact")
    pools = PartitionPools(known)
    ways = [improved_path(known, run.path[1:]) for run in known_ways]
    for way in ways:
        pools.add_path(way)
    with running(work_limit=SEARCH_WORK):
        ways.append(search_path(known, pools, out_of_time=lambda: units_left() <= 0)[1])
    path = min(ways, key=lambda way: float(known.costs(way).sum()))
    return Planned(path, perf_counter() - began, "search")
