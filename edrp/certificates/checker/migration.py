"""Documents of kind "migration": their value and their program."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import accumulate
from typing import Any

from .program import ExactProgram
from .reading import SLACK, fraction, need

Arc = tuple[tuple[int, int, int], tuple[int, int, int], Fraction]


def evaluate_migration(problem: dict[str, Any], decision: Any) -> Fraction:
    """State of all tasks that change their node; each task is held once, by n′ nodes within the limit on the load."""
    work, size, before = problem["work"], problem["state_size"], problem["intervals"]
    present = [(node, *interval) for node, interval in enumerate(decision) if interval is not None]
    intervals = sorted((first, end) for _, first, end in present if first < end)
    need(len(present) == problem["nodes"], "another number of nodes")
    need(
        [0, *(end for _, end in intervals)] == [*(first for first, _ in intervals), len(work)], "a task is not held exactly once"
    )
    limit, kept_state = (1 + fraction(problem["tolerance"])) * sum(work) / problem["nodes"] * SLACK, Fraction(0)
    for node, first, end in present:
        need(0 <= first <= end <= len(work), f"node {node} holds no interval of tasks")
        need(problem.get("allow_empty", True) or first < end, f"node {node} holds no task")
        need(sum(work[first:end]) <= limit, f"node {node} holds too much work")
        old = before[node] if node < len(before) else (0, 0)
        kept_state += sum(size[max(first, old[0]) : min(end, old[1])])
    for rule in problem.get("rules", []):
        named = {task for first, end in rule["tasks"] for task in range(first, end)}
        there = {task for node, first, end in present if node in rule["nodes"] for task in range(first, end)}
        need(not (named & there if rule["rule"] == "forbidden" else named - there), f"rule {rule['name']!r} is broken")
    return Fraction(sum(size) - kept_state)


def migration_arcs(problem: dict[str, Any]) -> Iterator[Arc]:
    """Arcs from (0, 0, 0) to (n′, tasks, 0): an interval of tasks and the old node that keeps it, or none, and the state moved.

    A point is the number of intervals before it, a boundary, and whether the old node around the boundary keeps one of them.
    """
    work, size, nodes, tasks = problem["work"], problem["state_size"], problem["nodes"], len(problem["work"])
    intervals, full = sorted((a, b) for a, b in problem["intervals"] if a < b), not problem.get("allow_empty", True)
    limit = (1 + fraction(problem["tolerance"])) * sum(work) / nodes * SLACK
    loads, sizes = list(accumulate(work, initial=Fraction(0))), list(accumulate(size, initial=Fraction(0)))
    reached = {(0, 0, 0)}
    for node in range(nodes):
        layer, reached = reached, set()
        for _, first, taken in sorted(layer):
            for end in range(first + 1, tasks + 1):
                if loads[end] - loads[first] > limit:
                    break
                if end == tasks and full and node + 1 < nodes:
                    continue
                over = [old for old in intervals if old[0] < end and old[1] > first]
                for old in [None, *over[taken:]]:
                    kept_state = Fraction(0) if old is None else sizes[min(old[1], end)] - sizes[max(old[0], first)]
                    inside = over[-1][1] > end and (old == over[-1] or (taken and len(over) == 1))
                    target = (nodes, end, 0) if end == tasks else (node + 1, end, int(inside))
                    reached |= set() if end == tasks else {target}
                    yield (node, first, taken), target, sizes[end] - sizes[first] - kept_state


def migration_program(problem: dict[str, Any]) -> ExactProgram:
    """A column for each arc of `migration_arcs`; as many lead to a point as away from it, and one from the first to the last."""
    program, last = ExactProgram(), (problem["nodes"], len(problem["work"]), 0)
    flow = dict[Any, list[tuple[int, int]]]({(0, 0, 0): [], last: []})
    for source, target, moved in migration_arcs(problem):
        column = program.column(moved, integer=True)
        flow.setdefault(source, []).append((column, 1))
        flow.setdefault(target, []).append((column, -1))
    for number, entries in enumerate(flow.values()):
        balance = 1 if number == 0 else -1 if number == 1 else 0
        program.row(entries, balance, balance)
    return program
