"""Policies on partitions, ready to be followed: SSM, MTM-aware migration, and OMS, which knows the future."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from time import perf_counter

import numpy as np

from edrp.core.budget import running, units_left
from edrp.core.errors import Fault, InvalidInstanceError
from edrp.mdp.chain.transition_matrix import TransitionMatrix
from edrp.mdp.fitted.method import recommend
from edrp.mdp.partitions import Boundaries, OldNodes, Tasks
from edrp.mdp.policy.decisions import MigrationPolicy
from edrp.mdp.policy.pmc import Threads, iterate
from edrp.mdp.policy.process import PolicyModel
from edrp.mdp.sequence import course as oms_course
from edrp.mdp.sequence.dynamic_program import enumerate_path
from edrp.mdp.sequence.path_heuristic import PartitionPools, improved_path, search_path
from edrp.mdp.single_step.tie_breaking import best_migration
from edrp.migration.intervals import Interval
from edrp.migration.single_step import migration_clashes
from edrp.validation.simulation.migration.policy_runs import ActionRule, Followed, NodeCountCourse, judge_path

SINGLE_STEP, MTM, OMS = "SSM", "MTM-aware", "OMS"

MAX_PARTITIONS = 600_000
"""Partitions up to which MTM-aware migration and OMS are exact.

Beyond, projected costs are fitted, and used only if simulation recommends it; OMS is a search without proof.
"""

SEARCH_WORK = 20.0
"""Units of work of OMS where partitions cannot be enumerated."""


@dataclass(frozen=True, slots=True)
class Prepared:
    """A policy for an uncertain future, ready to decide.

    `how` names its origin: "exact", "fitted", "restricted", or "SSM" where the guard advises that.
    """

    action: ActionRule
    seconds: float
    how: str


def prepare(model: PolicyModel, max_states: int = MAX_PARTITIONS, seed: int = 0) -> Prepared:
    """Exact where the partitions can be enumerated, else fitted and guarded by simulation against SSM."""
    began = perf_counter()
    states = sum(model.size.states)
    if states <= max_states:
        costs = iterate(model, Threads(os.cpu_count() or 1)).to_costs(model)
        policy = MigrationPolicy(model, costs)

        def action(before: Boundaries, nodes: int) -> Boundaries:
            return _boundaries(policy.decide(tuple(pairwise(before.tolist())), nodes).intervals)

        return Prepared(action, perf_counter() - began, "exact")
    chosen = recommend(model, seed)
    if chosen.name == "ssm":
        return Prepared(single_step(model.tasks, model.tolerance), perf_counter() - began, "SSM")
    targets = {nodes: target for target, nodes in enumerate(model.counts)}
    return Prepared(lambda before, nodes: chosen.policy.action(before, targets[nodes]), perf_counter() - began, chosen.name)


def single_step(tasks: Tasks, tolerance: float) -> ActionRule:
    """Return the policy that takes the optimal single step (SSM) each time.

    Raises
    ------
    InvalidInstanceError
        By the policy, for a number of nodes whose every partition breaks the load limit.
    """

    def action(before: Boundaries, nodes: int) -> Boundaries:
        nodes_before = before.size - 1
        old = OldNodes(before, np.arange(nodes_before), np.empty(0, dtype=np.int64))
        best = best_migration(tasks, old, nodes_before, nodes, tolerance, False)
        if best is None:
            why = "; ".join(migration_clashes(tasks.work.tolist(), nodes, tolerance, allow_empty=False))
            raise InvalidInstanceError([Fault("tolerance", f"{tolerance:g}", why)])
        return _boundaries(best[1])

    return action


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
    """OMS: the best partitions for all migrations to come, which no policy can know.

    Exact where the partitions can be enumerated, else the best that a search finds with 20 units of work.

    Parameters
    ----------
    known_ways
        Runs of policies on partitions; a search takes their paths into account and ends with none worse.
    """
    began = perf_counter()
    counts = course.counts[1:].tolist()
    known = oms_course.Course.constant(course.tasks, course.start(), counts, [course.tolerance] * len(counts), allow_empty=False)
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


def _boundaries(intervals: Iterable[Interval | None]) -> Boundaries:
    return np.unique([end for interval in intervals if interval is not None for end in interval]).astype(np.int64)
