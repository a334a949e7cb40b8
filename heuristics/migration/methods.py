"""Rules that give each node neighbouring tasks, as methods for problems of kind `migration`."""

from __future__ import annotations

from abc import abstractmethod

import numpy as np

from edrp.core.methods import Method, Options
from edrp.core.problem import RULES
from edrp.core.solution import Answer
from edrp.heuristics.migration.node_change import (
    NEW_NODE,
    BalancedPacking,
    EvenSplit,
    NodeCountChange,
    Reassignment,
    ReassignmentRule,
    ring_assignment,
)
from edrp.heuristics.note_wording import listed
from edrp.migration.intervals import Assignment, Interval
from edrp.migration.single_step import MigrationProblem


class MigrationRule(Method):
    """Base of methods without parameters that follow a rule; no answer but a note where that breaks a limit."""

    kinds = ("migration",)
    takes = frozenset({RULES})

    def run(self, problem: MigrationProblem, options: Options) -> Answer:
        """Follow the rule."""
        self.read_parameters(options)
        decision = self.decide(problem, options.seed)
        evaluation = problem.evaluate(decision)
        if evaluation.feasible:
            return Answer("feasible", "finished", decision, evaluation.objective)
        moved = f"it would have moved {evaluation.objective:.6g} B"
        return Answer("none", "finished", notes=(f"{self.name} breaks {listed(evaluation.broken)}; {moved}",))

    @abstractmethod
    def decide(self, problem: MigrationProblem, seed: int) -> Assignment:
        """Return the interval that the rule gives to each node."""


class ConsistentHashingMethod(MigrationRule):
    """The classic hash ring with one point per node, see `ring_assignment`; the seed is that of the hash."""

    name = "consistent-hashing"
    summary = "a hash ring with one point per node: new nodes take from one neighbour each, load is not looked at"

    def decide(self, problem: MigrationProblem, seed: int) -> Assignment:
        """Hash the new nodes to the ring, or remove the newest."""
        return ring_assignment(problem, seed)


class EvenSplitMethod(MigrationRule):
    """The even split of Storm's scheduler, each share with the old node that holds most of it."""

    name = "even-split"
    summary = "the same number of neighbouring tasks to each node, as Storm does, matched with the old nodes"

    def decide(self, problem: MigrationProblem, seed: int) -> Assignment:
        """Split the tasks evenly and match the shares with the old nodes."""
        return _followed(problem, EvenSplit(matching=True))


class BalancedMethod(MigrationRule):
    """Local search: equal shares of the work, whose boundaries then go back one by one to where the state is."""

    name = "balanced"
    summary = "local search: balanced packing, then boundary moves to where most state stays"

    def decide(self, problem: MigrationProblem, seed: int) -> Assignment:
        """Pack and move boundaries."""
        return _followed(problem, BalancedPacking(problem.allow_empty))


METHODS = (ConsistentHashingMethod(), EvenSplitMethod(), BalancedMethod())
"""Methods for problems of kind `migration`."""


def _followed(problem: MigrationProblem, rule: ReassignmentRule) -> Assignment:
    node_of_task = np.empty(len(problem.work), dtype=np.int64)
    for node, (first, end) in enumerate(problem.intervals):
        node_of_task[first:end] = node
    work, state_size = np.array(problem.work), np.array(problem.state_size)
    nodes_before = len(problem.intervals)
    reassignment = rule(NodeCountChange(node_of_task, nodes_before, problem.nodes, work, state_size, problem.tolerance))
    return _assignment(reassignment, nodes_before)


def _assignment(reassignment: Reassignment, nodes_before: int) -> Assignment:
    """Interval of each old node, None where it is removed, then of the new ones."""
    kept_nodes = np.sort(reassignment.former[reassignment.former != NEW_NODE])
    assignment: list[Interval | None] = [None] * nodes_before
    assignment += [(0, 0)] * (reassignment.former.size - kept_nodes.size)
    new = nodes_before
    for node, former in enumerate(reassignment.former.tolist()):
        position = former if former != NEW_NODE else new
        new += former == NEW_NODE
        first, end = np.searchsorted(reassignment.node_of_task, [node, node + 1]).tolist()  # tasks of a node are neighbours
        assignment[position] = first, end
    return tuple(assignment)
