"""Partial deployments that are filled operator by operator, and the base of simple placement rules."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np

from edrp.core.arrays import Bools, Floats, Ints
from edrp.core.methods import Method, Options
from edrp.core.problem import derived
from edrp.core.solution import Answer, StoppedBecause
from edrp.core.tolerances import LIMIT_SLACK
from edrp.heuristics.note_wording import judged_answer, shortened
from edrp.heuristics.placement.rule_rows import rule_rows, searched_rows
from edrp.placement.compilation import compile_problem
from edrp.placement.compiled import Compiled
from edrp.placement.metrics.base import SEARCHED
from edrp.placement.problem import PlacementProblem


def stable_degrees(compiled: Compiled) -> Bools:
    """Whether each number of replicas keeps each operator stable, shape (operators, 1 + maximum replicas)."""
    return np.isfinite(compiled.latency)


def least_stable(compiled: Compiled) -> Ints:
    """Minimum number of replicas that each operator may have and that keeps it stable, shape (operators,)."""
    return stable_degrees(compiled).argmax(axis=1)


def node_choices(compiled: Compiled) -> Ints:
    """Number of candidates on which a replica of each operator has room, shape (operators,)."""
    room = compiled.capacity * (1 + LIMIT_SLACK)
    fits = [(demand <= room).all(axis=1) for demand in compiled.demand]
    return (compiled.candidate & np.array(fits)).sum(axis=1)


def overload_answer(compiled: Compiled) -> Answer | None:
    """Return the answer for a problem in which some operator cannot be stable; None if all can."""
    unstable = np.flatnonzero(~stable_degrees(compiled).any(axis=1))
    if not unstable.size:
        return None
    names = ", ".join(compiled.operators[i] for i in unstable)
    return Answer("none", "finished", notes=(f"overloaded with all replicas: {names}",))


def checked_answer(
    compiled: Compiled,
    counts: Ints,
    stopped: StoppedBecause,
    notes: tuple[str, ...] = (),
    name: str = "the best deployment met",
) -> Answer:
    """Build the answer with these numbers of replicas, shape (operators, nodes), if the evaluator confirms it."""
    return judged_answer(compiled.problem, compiled.deployment(counts), name, stopped, notes)


class RuleRoom:
    """The rows by which rules that must be met bound the number of replicas, whatever else is placed.

    These have an upper bound and no negative coefficient. Of each operator, `_parts` are the cells through which it adds to
    them, and `_pairs` numbers the pairs of a row and a node that these are of; `_wishes` and `_wish_pairs` are those of rows with
    a penalty. Values of rows are kept for the counts that were seen last, which mostly differ from the next in few cells.
    """

    def __init__(self, compiled: Compiled) -> None:
        rules, rows = searched_rows(compiled), rule_rows(compiled, 1.0)
        self._rows, self._shape = rows, compiled.candidate.shape
        self._row = np.repeat(np.arange(len(rules)), np.diff(rows.row_start))
        self._term = np.repeat(np.arange(self._row.size), np.diff(rows.term_start))
        negative = np.bincount(self._row[rows.coefficient < 0], minlength=len(rules)) > 0
        self._upper = np.where(rules.hard & ~negative, rows.upper + rules.slack[rules.group], np.inf)
        final = np.isfinite(self._upper)[self._row[self._term]]
        wished = np.isfinite(rows.penalty)[self._row[self._term]]
        of_operator = _split(rows.operators, self._shape[0])
        self._parts, self._wishes = ([part[kind[part]] for part in of_operator] for kind in (final, wished))
        self._pairs, self._wish_pairs = (
            [np.unique(self._row[self._term[part]] * self._shape[1] + rows.node[part], return_inverse=True) for part in parts]
            for parts in (self._parts, self._wishes)
        )
        self._of_cell = _split(rows.operators * self._shape[1] + rows.node, compiled.candidate.size)
        self._seen = np.zeros(compiled.candidate.size, np.int64)
        self._replicas, self._sums = np.zeros(self._row.size), np.zeros(len(rules))

    def room(self, counts: Ints, operator: int, limit: int) -> Ints:
        """Number of further replicas of an operator that each node can take without exceeding a row, shape (nodes,).

        It is at most `limit`, and supposes for each node that all of them go there.
        """
        rows, part, (pair, number) = self._rows, self._parts[operator], self._pairs[operator]
        replicas, values = self._values(counts)
        free = (self._upper - values)[pair // self._shape[1]]
        term = self._term[part]
        each = np.bincount(number, rows.coefficient[term] * ~rows.joined[term], pair.size)
        first = np.bincount(number, rows.coefficient[term] * (rows.joined & (replicas == 0))[term], pair.size)
        with np.errstate(divide="ignore", invalid="ignore"):
            fitting = np.where(each > 0, (free - first) // each, np.where((first > 0) & (first > free), 0, limit))
        room = np.full(self._shape[1], limit)
        np.minimum.at(room, pair % self._shape[1], np.clip(fitting, 0, limit).astype(np.int64))
        return room

    def prices(self, counts: Ints, operator: int) -> Floats:
        """Objective that one more replica of an operator adds on each node by rules with a penalty, shape (nodes,).

        Negative where it meets a wish. Rows that are violated together count each by itself: prices compare nodes, no more.
        """
        rows, part, prices = self._rows, self._wishes[operator], np.zeros(self._shape[1])
        replicas, values = self._values(counts)
        term, (pair, number) = self._term[part], self._wish_pairs[operator]
        row, node = np.divmod(pair, self._shape[1])
        more = np.bincount(number, rows.coefficient[term] * ~(rows.joined & (replicas > 0))[term], pair.size)
        before, after = (
            np.maximum(0.0, np.maximum(rows.lower[row] - value, value - rows.upper[row]))
            for value in (values[row], values[row] + more)
        )
        np.add.at(prices, node, rows.penalty[row] * (after - before))
        return prices

    def _values(self, counts: Ints) -> tuple[Floats, Floats]:
        """Replicas of each term, and value of each row; both change with the next call."""
        rows, more = self._rows, counts.ravel() - self._seen
        changed = np.flatnonzero(more)
        for cell in changed.tolist():
            np.add.at(self._replicas, self._term[self._of_cell[cell]], float(more[cell]))
        self._seen[changed] += more[changed]
        touched = np.unique(self._row[self._term[_joined([self._of_cell[cell] for cell in changed.tolist()])]])
        terms = _joined([np.arange(*rows.row_start[row : row + 2]) for row in touched.tolist()])
        replicas = self._replicas[terms]
        values = rows.coefficient[terms] * np.where(rows.joined[terms], replicas > 0, replicas)
        self._sums[touched] = np.bincount(np.searchsorted(touched, self._row[terms]), values, touched.size)
        return self._replicas, self._sums


def _split(keys: Ints, count: int) -> list[Ints]:
    """Positions of each key from 0 up to `count`, ascending."""
    order = np.argsort(keys, kind="stable")
    return np.split(order, np.searchsorted(keys[order], np.arange(1, count)))


def _joined(parts: list[Ints]) -> Ints:
    """Parts one after another; an empty array without any."""
    return np.concatenate([np.zeros(0, np.int64), *parts])


@derived
def rule_room(problem: Any) -> RuleRoom:
    """The room that the rules of a problem of placement leave."""
    return RuleRoom(compile_problem(problem))


@dataclass(slots=True)
class Filling:
    """A partial deployment, and the resources that it leaves.

    Attributes
    ----------
    compiled
        The problem.
    counts : shape (operators, nodes)
        Replicas placed.
    free : shape (nodes, resources)
        Free resources of the nodes; negative where replicas use more than there is.
    rules
        The room that rules leave; None without rules.
    notes
        Sentences about what could not be done.
    """

    compiled: Compiled
    counts: Ints
    free: Floats
    rules: RuleRoom | None
    notes: list[str] = field(default_factory=list)

    @classmethod
    def of(cls, compiled: Compiled, counts: Ints | None = None) -> Self:
        """Create a partial deployment with these replicas, or without any."""
        counts = np.zeros(compiled.candidate.shape, np.int64) if counts is None else counts
        rules = rule_room(compiled.problem) if len(compiled.rules) else None
        return cls(compiled, counts, compiled.capacity - counts.T @ compiled.demand, rules)

    def room(self, operator: int, nodes: Ints) -> Ints:
        """Number of further replicas of an operator that each of these nodes can take, at most its maximum.

        Rules that must be met count as far as what is placed later cannot make up for a replica; a node's room by them
        supposes that all replicas go there.
        """
        demand = self.compiled.demand[operator]
        limit = int(self.compiled.max_replicas[operator])
        with np.errstate(over="ignore"):
            fitting = self.free[np.ix_(nodes, demand > 0)] / demand[demand > 0]
        fewest = np.floor(fitting * (1 + LIMIT_SLACK)).min(axis=1, initial=limit)
        if self.rules is not None:
            fewest = np.minimum(fewest, self.rules.room(self.counts, operator, limit)[nodes])
        return np.maximum(fewest, 0).astype(np.int64)

    def by_wishes(self, operator: int, nodes: Ints) -> Ints:
        """Order nodes by what one more replica there costs by rules with a penalty; equal ones stay in their order."""
        return nodes if self.rules is None else nodes[np.argsort(self.rules.prices(self.counts, operator)[nodes], kind="stable")]

    def add(
        self, operator: int, nodes: Ints, replicas: int, share: Callable[[Ints, int], Ints], final: int | None = None
    ) -> None:
        """Place `replicas` replicas of an operator in all; note how many find no node.

        Parameters
        ----------
        share
            Says from the room of the nodes, and a number of replicas, how many each node gets. Where rules tie nodes to each
            other, it is asked for one replica after the other.
        final
            Replicas that the operator will have at last, for which some nodes are too slow; None for `replicas`.
        """
        missing, ruled = replicas - int(self.counts[operator].sum()), self.rules is not None
        fast_enough = self.compiled.fewest_replicas[operator, nodes] <= (final or replicas)
        for _ in range(missing if ruled else 1):
            shares = share(np.where(fast_enough, self.room(operator, nodes), 0), 1 if ruled else missing)
            self.counts[operator, nodes] += shares
            self.free[nodes] -= shares[:, None] * self.compiled.demand[operator]
        missing = replicas - int(self.counts[operator].sum())
        if missing:
            self.notes.append(f"{missing} of {replicas} replicas of {self.compiled.operators[operator]} found no node left")


def first_fit_shares(room: Ints, replicas: int) -> Ints:
    """Distribute replicas over nodes, each to the first node that has room.

    Examples
    --------
    >>> first_fit_shares(np.array([2, 0, 3, 4]), 4).tolist()
    [2, 0, 2, 0]
    """
    return np.diff(np.minimum(np.cumsum(room), replicas), prepend=0)


def even_shares(counts: Ints, room: Ints, replicas: int) -> Ints:
    """Distribute replicas over nodes, each to the node with room that holds the fewest; ties go to the first.

    Parameters
    ----------
    held, room : shape (nodes,)
        Replicas that nodes hold already, and how many more they can take.
    replicas
        To be dealt; where there is not room for all, the rest is left over.

    Examples
    --------
    >>> even_shares(np.array([0, 2, 0]), np.array([9, 9, 9]), 5).tolist()
    [3, 0, 2]
    >>> even_shares(np.zeros(3, np.int64), np.array([1, 9, 0]), 3).tolist()
    [1, 2, 0]
    """
    if int(room.sum()) <= replicas:
        return room.copy()
    low, high = int(counts.min()), int(counts.max()) + replicas + 1
    while high - low > 1:  # up to `low` all can be filled, up to `high` not
        middle = (low + high) // 2
        low, high = (middle, high) if _shares_up_to(counts, room, middle).sum() <= replicas else (low, middle)
    shares = _shares_up_to(counts, room, low)
    next_in_line = np.flatnonzero((counts <= low) & (shares < room))
    shares[next_in_line[: replicas - int(shares.sum())]] += 1
    return shares


def _shares_up_to(counts: Ints, room: Ints, level: int) -> Ints:
    return np.minimum(np.maximum(level - counts, 0), room)


class PlacementHeuristic(Method):
    """Base of heuristics for placement, none of which has anything to place where some operator cannot be stable."""

    kinds: tuple[str, ...] = ("edrp", "latency-aware")
    takes = SEARCHED

    def run(self, problem: PlacementProblem, options: Options) -> Answer:
        """Place the replicas, or name the operators that cannot be stable."""
        parameters, compiled = self.read_parameters(options), compile_problem(problem)
        return overload_answer(compiled) or self.place(compiled, parameters, options)

    @abstractmethod
    def place(self, compiled: Compiled, parameters: Any, options: Options) -> Answer:
        """Place the replicas of operators each of which can be stable."""


class PlacementRule(PlacementHeuristic):
    """A method that places replicas by a simple rule; its answer is "none" where that breaks a limit.

    Attributes
    ----------
    parameters
        Dataclass of the method's parameters.
    """

    def place(self, compiled: Compiled, parameters: Any, options: Options) -> Answer:
        """Apply the rule once."""
        filling = self.fill(compiled, parameters)
        filling.counts = self.repair(compiled, filling.counts, options)
        notes = shortened(filling.notes)
        if not filling.counts.any(axis=1).all():
            return Answer("none", "finished", notes=notes)
        return checked_answer(compiled, filling.counts, "finished", notes, self.name)

    def repair(self, compiled: Compiled, counts: Ints, options: Options) -> Ints:
        """Change what breaks rules of the problem; a method that imitates a scheduler leaves it as that does."""
        return counts

    @abstractmethod
    def fill(self, compiled: Compiled, parameters: Any) -> Filling:
        """Place the replicas."""
