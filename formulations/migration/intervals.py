"""One migration as a program: a path of intervals from the first boundary to the last, numbered from 1 to n′.

Column: an interval [first, end) at a place in this order, and the old node that keeps it, or nobody. A boundary inside an
old node's interval is there twice, `OPEN`, and `TAKEN` if that node keeps an interval before, so that no path keeps two
intervals on one node. The rest is a shortest path without side rows: the relaxation is integral, and a solver needs no
search. With rows of a user's own it may be fractional; so where intervals begin, and who keeps them, are integer columns,
which decide all others. (Thousands of integer intervals instead would take solvers ten times as long to presolve.) Rules that
forbid nodes only leave columns out; those that require nodes add rows, and intervals that are integer themselves.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from edrp.core.arrays import Bools, Floats, Ints, places_within
from edrp.core.budget import look, refuse_beyond_memory, spend
from edrp.core.program import Linear, Program
from edrp.formulations.formulation import Formulation
from edrp.migration.intervals import Assignment, Interval, give_out, load_limit, sums_before
from edrp.migration.single_step import MigrationProblem, TaskRule

NOBODY = -1
"""Index in place of the old node where no old node keeps an interval."""

OPEN, TAKEN = 0, 1


class IntervalColumns(NamedTuple):
    """Meaning of the columns of the block `interval`; arrays of shape (columns,).

    Attributes
    ----------
    place : place of the interval in the order of the tasks, from 0 on.
    first, end : tasks [first, end).
    enters, leaves : `OPEN` or `TAKEN`, at the first boundary and at the end.
    node : the old node that keeps the interval, or `NOBODY`.
    moved : bytes that move.
    moves : runs of neighbouring tasks that move from one node.
    """

    place: Ints
    first: Ints
    end: Ints
    enters: Ints
    leaves: Ints
    node: Ints
    moved: Floats
    moves: Ints


def required_nodes(problem: MigrationProblem) -> list[int]:
    """Nodes to which an interval may have to go that shares no task with what they hold."""
    return sorted({node for rule in problem.rules if rule.rule == "required" for node in rule.nodes})


def with_rules(problem: MigrationProblem, arcs: IntervalColumns) -> IntervalColumns:
    """The columns that no rule forbids, with those of intervals that are given to a required node from which nothing stays."""
    if not problem.rules:
        return arcs
    parts = [arcs, *(_given(problem, arcs, node) for node in required_nodes(problem))]
    columns = IntervalColumns._make(np.concatenate(column) for column in zip(*parts, strict=True))
    stays = may_hold(problem, columns.node, columns.first, columns.end)
    return IntervalColumns._make(column[stays] for column in columns)


def may_hold(problem: MigrationProblem, node: Ints, first: Ints | int, end: Ints | int) -> Bools:
    """Whether the rules let nodes hold tasks [first, end), elementwise; `NOBODY` and numbers of new nodes are no current node."""
    allowed = np.ones(np.shape(node), np.bool_)
    for rule in problem.rules:
        named = np.isin(node, rule.nodes)
        allowed &= ~_touches(rule, first, end) | (~named if rule.rule == "forbidden" else named)
    return allowed


def placed(problem: MigrationProblem, kept: Mapping[int, Interval], others: Sequence[Interval]) -> dict[int, Interval]:
    """Intervals by node, those of nobody on the first free nodes that may hold them; nodes that join may hold them all."""
    held = dict(kept)
    for first, end in others:
        free = (node for node in count() if node not in held and may_hold(problem, np.array(node), first, end))
        held[next(free)] = first, end
    return held


def _given(problem: MigrationProblem, arcs: IntervalColumns, node: int) -> IntervalColumns:
    """Columns in which a node takes an interval that some rule requires to be there, and of which it holds nothing now."""
    begins, ends = problem.intervals[node]
    wanted = np.zeros(arcs.node.size, np.bool_)
    for rule in problem.rules:
        if rule.rule == "required" and node in rule.nodes:
            wanted |= _touches(rule, arcs.first, arcs.end)
    apart = (np.minimum(arcs.end, ends) <= np.maximum(arcs.first, begins)) & (arcs.node == NOBODY)
    taken = IntervalColumns._make(column[wanted & apart] for column in arcs)
    return taken._replace(node=np.full(taken.node.size, node))


def _touches(rule: TaskRule, first: Ints | int, end: Ints | int) -> Bools:
    """Whether intervals hold any task of a rule."""
    touched = np.zeros(np.shape(first), np.bool_)
    for begin, stop in rule.tasks:
        touched |= (first < stop) & (end > begin)
    return touched


PAIR_WORK, INTERVAL_WORK = 1e-7, 1e-6
"""Units of work per place and first boundary, and per interval, of building the program."""

BYTES_PER_INTERVAL = 1000
"""Memory of an interval's columns with their entries, in all forms that a program takes on its way to a solver."""


@dataclass(frozen=True, slots=True)
class MigrationFormulation(Formulation):
    """A migration formulated as a program.

    Attributes
    ----------
    arcs : meaning of the columns of the block `interval`.

    Examples
    --------
    The first step of state migration, Table 3, with a row that lets no interval end behind task 12:

    >>> problem = MigrationProblem(
    ...     work=[1] * 20, state_size=[1] * 20, intervals=[[0, 13], [13, 20]], nodes=3, tolerance=0.4
    ... )
    >>> formulation = formulate_migration(problem)
    >>> ends = formulation.program["interval"][formulation.arcs.end == 13]
    >>> formulation.program.add_row("no end at 13", Linear.of(ends), upper=0)
    >>> from edrp.formulations.methods import solve_formulation
    >>> solve_formulation(formulation).objective
    4.0
    """

    arcs: IntervalColumns

    def decode(self, values: Floats) -> Assignment:
        """Interval of each node."""
        problem: MigrationProblem = self.problem
        chosen = np.flatnonzero(values[self.program["interval"]] > 0.5)
        chosen = chosen[np.argsort(self.arcs.first[chosen])]
        ends = zip(self.arcs.first[chosen].tolist(), self.arcs.end[chosen].tolist(), strict=True)
        interval_ends = list(zip(self.arcs.node[chosen].tolist(), ends, strict=True))
        interval_of_node = {node: interval for node, interval in interval_ends if node != NOBODY}
        others = [interval for node, interval in interval_ends if node == NOBODY]
        if problem.rules:
            interval_of_node, others = placed(problem, interval_of_node, others), []
        return give_out(interval_of_node, others, len(problem.intervals), problem.nodes, len(problem.work))

    def encode(self, decision: Sequence[Interval | None]) -> Floats | None:
        """A starting point; None for intervals that the program does not know, such as too heavy ones."""
        start = np.full(self.program.columns, np.nan)
        block, arcs, before = self.program["interval"], self.arcs, self.problem.intervals
        start[block] = 0.0
        intervals = [
            (interval, node) for node, interval in enumerate(decision) if interval is not None and interval[0] < interval[1]
        ]
        state = OPEN
        for position, ((first, end), node) in enumerate(sorted(intervals)):
            old = before[node] if node < len(before) else (0, 0)
            same = (arcs.place == position) & (arcs.first == first) & (arcs.end == end) & (arcs.enters == state)
            overlaps = max(old[0], first) < min(old[1], end)
            same &= arcs.node == (node if overlaps or (same & (arcs.node == node)).any() else NOBODY)
            if not same.any():
                return None
            start[block[same]] = 1.0
            state = arcs.leaves[same][0]
        return start

    def objective_at(self, values: Floats, decision: Sequence[Interval | None]) -> float:
        """Bytes that move, in the program's own terms.

        Where a solver stops early, an interval that its point gives to nobody may overlap the node that gets it after
        all: then less moves than the point says, and the decision is encoded again.
        """
        point = self.encode(decision)
        return self.model_objective.value(values if point is None else point)

    def tie_breaks(self) -> tuple[Linear, ...]:
        """The fewest moves."""
        return (Linear.of(self.program["interval"], self.arcs.moves),)


def formulate_migration(problem: MigrationProblem, program: str = "intervals") -> MigrationFormulation:
    """Formulate a migration (state migration, Definition 3.2) as the program "intervals".

    Raises
    ------
    ProblemTooLargeError
        When the program would not fit into memory: it has n′·m²·n columns at most, and far fewer at a small tolerance.
    """
    started = perf_counter()
    reach, low, high = _bands(problem)
    position = np.repeat(np.arange(problem.nodes), np.maximum(high - low + 1, 0)[:-1])
    first = low[position] + places_within(np.maximum(high - low + 1, 0)[:-1])
    min_end = np.maximum(first + 1, low[position + 1])
    counts = np.maximum(np.minimum(reach[first], high[position + 1]) - min_end + 1, 0)
    spend(PAIR_WORK * first.size)
    what = f"program {program!r} with {counts.sum():.6g} intervals"
    required = required_nodes(problem)
    refuse_beyond_memory(int(counts.sum()) * (1 + len(required)) * BYTES_PER_INTERVAL, what, "lower the tolerance", ("ssm",))
    look("the program", INTERVAL_WORK * int(counts.sum()))
    spend(INTERVAL_WORK * int(counts.sum()))
    end = np.repeat(min_end, counts) + places_within(counts)
    arcs = with_rules(problem, _arcs(problem, np.repeat(position, counts), np.repeat(first, counts), end))
    built = Program()
    columns = built.add_columns("interval", arcs.first.size, upper=1.0 if required else np.inf, integer=bool(required))
    tasks = len(problem.work)
    _add_path(built, columns, arcs, tasks)
    if required:  # next to the sums, these rows have made presolve of HiGHS 1.15 run for ever
        # A required node holds one interval at most; without one from elsewhere, the path sees to that by itself.
        row, column = np.nonzero(arcs.node == np.array(required, np.int64)[:, None])
        built.add_rows("once", len(required), [(row, columns[column], 1.0)], upper=1.0)
    else:
        _add_sums(built, "boundary", columns, arcs.place * tasks + arcs.first)
        _add_sums(built, "keeper", columns, arcs.place * (len(problem.intervals) + 1) + arcs.node)
    objective = Linear.of(columns, arcs.moved)
    built.minimise(objective)
    return MigrationFormulation(problem, program, built, objective, perf_counter() - started, arcs)


def _bands(problem: MigrationProblem) -> tuple[Ints, Ints, Ints]:
    """Greatest end of an interval from each boundary (m + 1,), and least and greatest boundary before each place (n′ + 1,)."""
    work_before = sums_before(problem.work)
    tasks, nodes = len(problem.work), problem.nodes
    limit = load_limit(work_before[-1], nodes, problem.tolerance)
    reach = np.searchsorted(work_before, work_before + limit, side="right") - 1
    low, high = np.full(nodes + 1, tasks), np.zeros(nodes + 1, np.int64)
    for position in range(nodes):
        high[position + 1] = reach[high[position]]
        low[nodes - 1 - position] = np.searchsorted(reach, low[nodes - position], side="left")
    if problem.allow_empty:
        return reach, low, high
    places = np.arange(nodes + 1)
    return reach, np.maximum(low, places), np.minimum(high, tasks - places[::-1])


def _arcs(problem: MigrationProblem, position: Ints, first: Ints, end: Ints) -> IntervalColumns:
    """Columns of intervals: for both states of the first boundary, each old node that overlaps, and nobody."""
    intervals = sorted((a, b, node) for node, (a, b) in enumerate(problem.intervals) if a < b)
    begins, ends, names = (np.array(part, np.int64) for part in zip(*intervals, strict=True))
    inside = ~np.isin(np.arange(ends[-1] + 1), np.append(begins, ends[-1]))
    leftmost, rightmost = np.searchsorted(begins, first, side="right") - 1, np.searchsorted(begins, end, side="left") - 1
    pieces = rightmost - leftmost + 1
    arc = np.repeat(np.arange(first.size), pieces + 1)
    old = leftmost[arc] + places_within(pieces + 1)
    arc, old, enters = np.tile(arc, 2), np.tile(old, 2), np.repeat([OPEN, TAKEN], arc.size)
    possible = (enters == OPEN) | (inside[first[arc]] & (old > leftmost[arc]))
    arc, old, enters = arc[possible], old[possible], enters[possible]
    position, first, end, leftmost, rightmost, pieces = (
        column[arc] for column in (position, first, end, leftmost, rightmost, pieces)
    )
    nobody = old > rightmost
    takes = (old == rightmost) | ((enters == TAKEN) & (leftmost == rightmost))
    old = np.where(nobody, 0, old)
    state_before = sums_before(problem.state_size)
    kept_state = state_before[np.minimum(ends[old], end)] - state_before[np.maximum(begins[old], first)]
    moved = np.maximum(state_before[end] - state_before[first] - np.where(nobody, 0.0, kept_state), 0.0)
    leaves, node = np.where(takes & inside[end], TAKEN, OPEN), np.where(nobody, NOBODY, names[old])
    return IntervalColumns(position, first, end, enters, leaves, node, moved, pieces - ~nobody)


def _add_path(program: Program, columns: Ints, arcs: IntervalColumns, tasks: int) -> None:
    """Rows `path`: what arrives at a boundary leaves it, except at boundaries 0 and m, by place and state.

    Each task is on exactly one node, and there are at most n′ intervals, because there are n′ places; where none may be
    empty, the bands leave no path of fewer.
    """
    size, origin, target = tasks + 1, 0, -1
    leaves = (2 * arcs.place + arcs.enters) * size + arcs.first
    arrives = np.where(arcs.end == tasks, target, (2 * arcs.place + 2 + arcs.leaves) * size + arcs.end)
    keys, rows = np.unique(np.concatenate([[origin, target], leaves, arrives]), return_inverse=True)
    balance = np.zeros(keys.size)
    balance[rows[:2]] = 1.0, -1.0
    entries: list[tuple[Any, Any, float]] = [(rows[2 : 2 + columns.size], columns, 1.0)]
    entries.append((rows[2 + columns.size :], columns, -1.0))
    if not columns.size:  # solvers do not call a program without columns infeasible
        entries.append((0, program.add_columns("nothing", 1, upper=0.0), 1.0))
    program.add_rows("path", keys.size, entries, lower=balance, upper=balance)


def _add_sums(program: Program, name: str, columns: Ints, keys: Ints) -> None:
    """Columns and rows `name`: an integer column for each key, the sum of the intervals that have this key."""
    different, sums = np.unique(keys, return_inverse=True)
    added = program.add_columns(name, different.size, upper=1.0, integer=True)
    entries = [(sums, columns, 1.0), (np.arange(different.size), added, -1.0)]
    program.add_rows(name, different.size, entries, lower=0.0, upper=0.0)
