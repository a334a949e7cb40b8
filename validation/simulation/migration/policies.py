"""Policies on partitions, ready to be followed: SSM, MTM-aware migration, and OMS, which knows the future."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from time import perf_counter

import numpy as np

from edrp.core.budget import running, units_left
from edrp.core.errors import Fault, InvalidInstanceError
from edrp.mdp.chain.transition_matrix import TransitionMatrix
from edrp.mdp.fitted.method import choose_policy, fit, recommend
from edrp.mdp.fitted.policies import Features, FittedPolicy, PartitionPolicy, PricedClass
from edrp.mdp.partitions import Boundaries, OldNodes, Tasks
from edrp.mdp.policy.pmc import Threads, iterate
from edrp.mdp.policy.process import MigrationPolicy, PolicyModel
from edrp.mdp.sequence import course as oms_course
from edrp.mdp.sequence.course import enumerate_path
from edrp.mdp.sequence.path_heuristic import PartitionPools, improved_path, search_path
from edrp.mdp.single_step.ssm import best_migration
from edrp.mdp.trie import Trie
from edrp.migration.policy import ProjectedCosts
from edrp.migration.single_step import migration_clashes
from edrp.validation.simulation.migration.policy_runs import ActionRule, Followed, MigrationTask, NodeCountCourse, judge_path

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
