"""SSM: the target assignment that moves the least state, exactly, in O(m·n′) (state migration, sections 3.2 and 3.3).

Ties are settled, down to the interval of each node. Among all assignments that move the least state, the one with the least
maximal load; among these the one with the fewest moves (a move is a run of neighbouring tasks that goes from one old node to one
other node); of these the one whose interval boundaries, read from the first task on and without empty intervals, are smallest
(the first interval ends as early as possible, then the second, …); and within that partition the matching that
`partitions.match` describes.

The least maximal load is found by bisection: a trial is SSM with a smaller load limit, which must keep the gain.
The dynamic program is that of edrp/native/mdp/single_step/layers.hpp.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import accumulate
from math import lcm
from typing import Any, NamedTuple

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from edrp import _native
from edrp.core.budget import look, spend
from edrp.core.certificates import NotCertifiedError, RawCertificate
from edrp.core.methods import Method, Options
from edrp.core.solution import Answer
from edrp.core.tolerances import LIMIT_SLACK
from edrp.mdp.partitions import Boundaries, OldNodes, Tasks, as_boundaries, assign
from edrp.migration.intervals import Assignment, load_limit, moves_between
from edrp.migration.single_step import MigrationProblem, MigrationSolution

STORED_CELLS = 5_000_000
"""Maximum number of cells stored to read the partition back (24 bytes each); beyond, layers are computed twice."""

SINGLE_STEP_UNITS, CELL_UNITS = 1e-5, 4e-8
"""Units of work of a single step: fixed, and per task and node, all trial loads included."""


def best_migration(
    tasks: Tasks, old: OldNodes, nodes_before: int, nodes: int, tolerance: float, allow_empty: bool
) -> tuple[float, Assignment] | None:
    """Find the migration that moves the least state, in O(m·n′) per trial load.

    Parameters
    ----------
    tolerance
        Tolerance of the load, τ in state migration, Definition 3.1.

    Returns
    -------
    tuple or None
        Gain (bytes that stay), and the interval of each node as `partitions.assign` gives it; None where no assignment
        keeps to the load limit.
    """
    limit = load_limit(tasks.work_before[-1], nodes, tolerance)
    best = ssm(tasks, old.boundaries, nodes, limit, allow_empty, least_load=True)
    return None if best is None else (best[0], assign(old, nodes_before, *best[1:], nodes))


Integers = np.ndarray[Any, Any]
"""Exact integers: int64 where all sums fit, else Python's own in an array of objects."""

MAX_CERTIFICATE_CELLS = 20_000_000
"""Maximum number of cells (boundaries × longest interval) of a certificate; each takes a number in eight arrays."""


POTENTIAL_UNITS, EXACT_POTENTIAL_UNITS = 1e-8, 3e-7
"""Units of work per arc and node, where 64 bits hold all sums, and where Python's integers have to."""


class IntervalArcs(NamedTuple):
    """Gain of every interval, by its end b and its length, longest first; shape (m + 1, longest interval) each.

    By whether the old node at its begin is free or used before, and the one at its end afterwards; far below 0 where that
    cannot be.
    """

    free_free: Integers
    used_free: Integers
    free_used: Integers
    used_used: Integers


def certify_ssm(problem: MigrationProblem, solution: MigrationSolution) -> RawCertificate:
    """Write an unchecked certificate of the least state that moves, or that no assignment keeps the load limit.

    Raises
    ------
    NotCertifiedError
        When intervals have too many tasks for the arcs to fit into memory.
    """
    states = [Fraction(repr(size)) for size in problem.state_size]
    scale = lcm(*(size.denominator for size in states))
    before = [0, *accumulate(int(size * scale) for size in states)]
    state = np.array(before, np.int64 if 16 * (before[-1] + 1) < 2**63 else object)  # int64 where sums of a few of them fit
    old = OldNodes.of(problem.intervals).boundaries
    first = first_tasks(problem.work, problem.nodes, problem.tolerance)
    tasks, nodes, never = len(first) - 1, problem.nodes, -2 * int(state[-1]) - 1
    arcs = _arcs(state, old, first, never)
    first_boundaries = [tasks, *(0 for _ in range(nodes))]
    for k in range(nodes):
        first_boundaries[k + 1] = int(first[first_boundaries[k]])
    free, used = np.full_like(state, never), np.full_like(state, never)
    free[0] = 0
    lines = []
    for k in range(1, nodes + 1):
        look("the potentials")
        spend((POTENTIAL_UNITS if state.dtype == np.int64 else EXACT_POTENTIAL_UNITS) * arcs.free_free.size)
        free, used = _layer(arcs, free, used, old, never)
        begin = max(1, first_boundaries[nodes - k])
        reached = np.flatnonzero(free >= 0)
        end = max(begin, int(reached[-1]) + 1 if reached.size else 0)
        lines.append([begin, *([max(-1, int(gain)) for gain in row[begin:end]] for row in (free, used))])
        free[:begin] = used[:begin] = never
        free[0] = 0 if problem.allow_empty else never
    header = {"bound": str(Fraction(int(state[-1] - free[-1]), scale))} if solution.status == "optimal" else {}
    return RawCertificate("ssm", lines, header)


def first_tasks(work: tuple[float, ...], nodes: int, tolerance: float) -> Integers:
    """Find, for each boundary, the first task of the longest interval within the load limit that ends there; exact."""
    amounts = [Fraction(repr(amount)) for amount in work]
    scale = lcm(*(amount.denominator for amount in amounts))
    before = [0, *accumulate(int(amount * scale) for amount in amounts)]
    limit = (1 + Fraction(repr(tolerance))) * before[-1] * (1 + Fraction(repr(LIMIT_SLACK))) / nodes
    first, a = [], 0
    for load in before:
        while load - before[a] > limit:
            a += 1
        first.append(a)
    return np.array(first)


def _arcs(state: Integers, old: Integers, first: Integers, never: int) -> IntervalArcs:
    """Compute the arcs into every boundary."""
    size = state.size
    longest = max(1, int((np.arange(size) - first).max()))
    if size * longest > MAX_CERTIFICATE_CELLS:
        raise NotCertifiedError(f"intervals of up to {longest} of {size - 1} tasks have too many potentials for a certificate")
    end = np.arange(size)[:, None]
    begin = end - np.arange(longest, 0, -1)[None]
    allowed = begin >= first[:, None]
    begin = np.maximum(begin, 0)
    begin_node = np.searchsorted(old, begin, side="right") - 1
    begin_node = np.minimum(begin_node, old.size - 2)
    end_node = np.maximum(np.searchsorted(old, end, side="left") - 1, 0)
    near = begin_node == end_node
    shared = np.where(near, state[end] - state[begin], state[end] - state[old[end_node]])
    # Largest state of an old node strictly between two others, shape (old nodes, old nodes); 0 where there is none.
    nodes = old.size - 1
    sizes = state[old[1:]] - state[old[:-1]]
    largest = np.zeros((nodes, nodes), state.dtype)
    for left in range(nodes - 2):
        largest[left, left + 2 :] = np.maximum.accumulate(sizes[left + 1 : -1])
    inner = largest[begin_node, end_node]
    begins = state[old[begin_node + 1]] - state[begin]
    return IntervalArcs(
        np.where(allowed, np.where(near, 0, np.maximum(inner, begins)), never),
        np.where(allowed & ~near, inner, never),
        np.where(allowed, shared, never),
        np.where(allowed, np.where(near, 0, shared), never),
    )


def _layer(arcs: IntervalArcs, free: Integers, used: Integers, old: Integers, never: int) -> tuple[Integers, Integers]:
    """Largest state kept with one more interval, by boundary, with the old node there free and used."""
    longest = arcs.free_free.shape[1]
    padding = np.full(longest, never, free.dtype)
    before_free, before_used = (sliding_window_view(np.concatenate([padding, row[:-1]]), longest) for row in (free, used))
    new_free = np.maximum(before_free + arcs.free_free, before_used + arcs.used_free).max(axis=1)
    new_used = np.maximum(before_free + arcs.free_used, before_used + arcs.used_used).max(axis=1)
    new_free[old] = np.maximum(new_free[old], new_used[old])
    new_used[old] = never
    return np.where(new_free < 0, never, new_free), np.where(new_used < 0, never, new_used)


def ssm(
    tasks: Tasks, old_boundaries: Boundaries, nodes: int, limit: float, allow_empty: bool, *, least_load: bool = False
) -> tuple[float, Boundaries, Boundaries] | None:
    """Find the partition that lets the most state stay.

    Parameters
    ----------
    old_boundaries : shape (n + 1,)
        Current partition.
    nodes
        Intervals of the target, n′.
    least_load
        Whether the maximal load decides between equal gains, before the moves.

    Returns
    -------
    tuple or None
        Gain (bytes that stay), boundaries of shape (n′ + 1,) with empty intervals last, and the old interval that keeps
        each new one, −1 for none, of shape (n′,). None where no partition keeps to the limit. Among several, the one with
        the fewest moves, then the one whose boundaries, read from the first, are smallest.
    """
    spend(SINGLE_STEP_UNITS + CELL_UNITS * tasks.work.size * nodes)
    sums, old = (tasks.work_before, tasks.state_before), as_boundaries(old_boundaries)
    gain, boundaries, matched = _native.best_single_step(*sums, old, nodes, limit, allow_empty, least_load, STORED_CELLS)
    return None if np.isnan(gain) else (gain, boundaries, matched)


class Ssm(Method):
    """SSM, exact in O(tasks × nodes) per trial load (state migration, section 3.3)."""

    name = "ssm"
    kinds = ("migration",)
    exact = True
    summary = "dynamic program for the migration that moves the least state"

    def run(self, problem: MigrationProblem, options: Options) -> Answer:
        """Solve the problem exactly; never stops early."""
        self.read_parameters(options)
        tasks = Tasks.of(problem.work, problem.state_size)
        old = OldNodes.of(problem.intervals)
        before = len(problem.intervals)
        best = best_migration(tasks, old, before, problem.nodes, problem.tolerance, problem.allow_empty)
        size = {"tasks": len(problem.work), "nodes": problem.nodes}
        if best is None:
            return Answer("infeasible", "finished", size=size)
        # What moves, summed by itself: as a difference of sums over all state it would lose what is small relative to them.
        _, assignment = best
        moved = sum((move.size for move in moves_between(problem.intervals, assignment, problem.state_size)), 0.0)
        return Answer("optimal", "finished", assignment, moved, moved, size)


METHODS = (Ssm(),)
"""Methods for problems of kind `migration`."""
