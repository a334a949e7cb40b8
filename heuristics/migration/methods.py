"""Today's rules as methods for problems of kind `migration`, where they give each node neighbouring tasks."""

from __future__ import annotations

import numpy as np

from edrp.documents.intervals import Assignment, Interval
from edrp.heuristics.migration.balanced_packing import BalancedPacking
from edrp.heuristics.migration.even_split import EvenSplit
from edrp.heuristics.migration.rule import NEW, Change, Integers, Reassignment, Rule
from edrp.methods import Options
from edrp.problems.migration import MigrationProblem
from edrp.solution import Answer


class EvenSplitMethod:
    """The even split of Storm's scheduler, each share with the old node that holds most of it."""

    name = "even-split"
    kinds: tuple[str, ...] = ("migration",)
    exact = False
    summary = "the same number of neighbouring tasks to each node, as Storm does, matched with the old nodes"

    def refusal(self, problem: MigrationProblem) -> str | None:
        """None: takes every migration."""
        return None

    def run(self, problem: MigrationProblem, options: Options) -> Answer:
        """Split; holds nothing where the split breaks the load limit."""
        return _answer(problem, EvenSplit(matching=True))


class BalancedMethod:
    """Equal shares of the work, whose boundaries then go back to where the state is."""

    name = "balanced"
    kinds: tuple[str, ...] = ("migration",)
    exact = False
    summary = "equal shares of the work, whose boundaries then go to where most state stays"

    def refusal(self, problem: MigrationProblem) -> str | None:
        """None: takes every migration."""
        return None

    def run(self, problem: MigrationProblem, options: Options) -> Answer:
        """Pack and move boundaries."""
        return _answer(problem, BalancedPacking(problem.allow_empty))


METHODS = (EvenSplitMethod(), BalancedMethod())
"""For the registry."""


def _answer(problem: MigrationProblem, rule: Rule) -> Answer:
    node_of_task = np.empty(len(problem.work), dtype=np.int64)
    for node, (first, end) in enumerate(problem.intervals):
        node_of_task[first:end] = node
    work, state_size = np.array(problem.work), np.array(problem.state_size)
    nodes_before = len(problem.intervals)
    found = rule(Change(node_of_task, nodes_before, problem.nodes, work, state_size, problem.tolerance))
    decision = _assignment(found, nodes_before)
    evaluation = problem.evaluate(decision)
    if evaluation.feasible:
        return Answer("feasible", "finished", decision, evaluation.objective)
    return Answer("none", "finished", notes=(f"{rule.name} breaks {'; '.join(evaluation.broken)}",))


def _assignment(found: Reassignment, nodes_before: int) -> Assignment:
    """Interval of each old node, None where it is removed, then of the new ones."""
    kept = np.sort(found.former[found.former != NEW])
    assignment: list[Interval | None] = [None] * nodes_before
    assignment += [(0, 0)] * (found.former.size - kept.size)
    new = nodes_before
    for node, former in enumerate(found.former.tolist()):
        place = former if former != NEW else new
        new += former == NEW
        assignment[place] = _interval(found.node_of_task, node)
    return tuple(assignment)


def _interval(node_of_task: Integers, node: int) -> Interval:
    """Tasks of a node that holds neighbours only."""
    first, end = np.searchsorted(node_of_task, [node, node + 1])
    return int(first), int(end)
