"""All patterns whose loads lie within bounds: partial patterns in blocks, depth first, then joined with a sorted table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod
from typing import NamedTuple

import numpy as np

from edrp.core.arrays import AnyInts, Floats, Ints, flattened
from edrp.core.budget import look, spend
from edrp.core.tolerances import LIMIT_SLACK, PATTERN_LOAD_SLACK
from edrp.placement.fixed_tasks import FixedTasks, leaving_shares

ROW_WORK = 2e-7
"""Units of work for a partial pattern."""

FIRST_BLOCK, MAX_BLOCK = 1_000, 30_000
"""Partial patterns that are made at once: few at first, since the listing may soon be given up."""

SMALL_TABLE, MAX_TABLE = 10_000, 4_000_000
"""Patterns up to which one table holds all of them, and partial patterns in a table: a hundred megabytes, the most there are."""

MAX_MATCHES = 200.0
"""Entries of a table that a partial pattern is expected to match; where there are more, single operators leave out more."""


SAMPLE = 1_000
"""Entries of a table from which it is estimated how many match."""


class PartialPatterns(NamedTuple):
    """Patterns of some operators.

    Attributes
    ----------
    counts : shape (operators, patterns), tasks on the node.
    used : shape (rows, patterns), what they use of each row, with the streams between them.
    """

    counts: Ints
    used: Floats


class OperatorGroup(NamedTuple):
    """Operators that are added to partial patterns in one step.

    Attributes
    ----------
    operators : shape (members,)
    counts : shape (members, size), tasks on the node, in ascending order by their use of some rows.
    sorted_uses : use of these rows without streams, shape (size,), by row.
    """

    operators: Ints
    counts: AnyInts
    sorted_uses: dict[int, Floats]


class PatternLister:
    """Lists the patterns of given tasks, at one threshold after the other.

    The rows are the resources that nodes have a fixed amount of, followed by the shared resources.
    """

    def __init__(self, tasks: FixedTasks) -> None:
        arrays = tasks.arrays
        self.tasks, self.most = tasks, tasks.max_tasks
        self.amounts = np.hstack([arrays.demand, arrays.use])
        self.sent = np.hstack([np.zeros((arrays.source.size, tasks.room.size)), arrays.sent])
        self.singles = [self._single(i) for i in np.argsort(arrays.totals, kind="stable").tolist()]
        self.members = self._members()
        self._samples: dict[int, Floats] = {}
        self._tables: dict[tuple[int, int], OperatorGroup] = {}

    def within(self, limits: Floats, count: int) -> Ints | None:
        """Patterns that a node can have if no node exceeds the limits, shape (patterns, operators); None if more than `count`.

        A node has at least what the other nodes cannot take: that bounds from below what it has in room and in shared resources
        whose total does not depend on the placement.

        Parameters
        ----------
        limits : shape (shared,)
            Largest load of a node; infinite for none.

        Raises
        ------
        OutOfTimeError
            When the deadline has passed.
        """
        lower, upper = self._window(limits)
        groups = self._groups(upper - lower)
        order = np.concatenate([group.operators for group in groups])
        listed, number = [np.zeros((order.size, 0), np.int64)], 0
        for block in PatternJoin(self, groups, lower, upper).complete():
            listed.append(block.counts)
            number += block.counts.shape[1]
            if number > count:
                return None
        patterns = np.empty((number, order.size), np.int64)
        patterns[:, order] = np.concatenate(listed, axis=1).T
        return patterns

    def _window(self, limits: Floats) -> tuple[Floats, Floats]:
        """Least and largest use of each row, shape (rows,)."""
        tasks = self.tasks
        upper = np.concatenate([tasks.room, limits]) * (1 + PATTERN_LOAD_SLACK)
        total, limited = tasks.arrays.totals @ self.amounts, np.isfinite(upper)
        others = (tasks.nodes - 1) * np.where(limited, upper, 0.0)
        lower = np.where(limited, total - others - LIMIT_SLACK * np.abs(total), -np.inf)
        lower[tasks.room.size :][tasks.streamed] = -np.inf
        return lower, upper

    def _single(self, operator: int) -> OperatorGroup:
        counts = np.arange(self.most[operator] + 1)
        uses = {row: amount * counts for row, amount in enumerate(self.amounts[operator].tolist())}
        return OperatorGroup(np.array([operator]), counts[None], uses)

    def _members(self) -> Ints:
        """Operators of the largest table, largest first.

        All of them where there are few patterns, else enough that the others have about as many patterns, or fewer.
        """
        choices = self.most + 1.0
        whole = float(choices.prod())
        even = whole if whole <= SMALL_TABLE else float(np.sqrt(whole))
        members, size = [], 1.0
        for i in np.argsort(-choices, kind="stable").tolist():
            if size < even and size * choices[i] <= min(4 * even, MAX_TABLE):
                members.append(i)
                size *= choices[i]
        return np.array(members, np.int64)

    def _groups(self, widths: Floats) -> list[OperatorGroup]:
        """Single operators, those with few tasks first, then those of a table, unless too many of its entries match.

        Parameters
        ----------
        widths : shape (rows,), of the window in which the use of a pattern lies.
        """
        for number in range(len(self.members), 0, -1):
            uses, size = self._sample(number), float(np.prod(self.most[self.members[:number]] + 1.0))
            matching = [np.searchsorted(use, use + width, side="right").mean() for use, width in zip(uses, widths, strict=True)]
            row = int(np.argmin(matching))
            if (matching[row] - 0.5 * (SAMPLE + 1)) / SAMPLE * size <= (SMALL_TABLE if number == self.most.size else MAX_MATCHES):
                rest = [group for group in self.singles if group.operators[0] not in self.members[:number]]
                return [*rest, self._table(number, row)]
        return self.singles

    def _sample(self, number: int) -> Floats:
        """Use of each row by evenly spaced patterns of the first members, shape (rows, patterns), in ascending order by row."""
        if number not in self._samples:
            operators = self.members[:number]
            shape = tuple((self.most[operators] + 1).tolist())
            places = np.linspace(0, prod(shape) - 1, SAMPLE).astype(np.int64)
            counts = np.array(np.unravel_index(places, shape))
            self._samples[number] = np.sort(self.amounts[operators].T @ counts, axis=1)
        return self._samples[number]

    def _table(self, number: int, row: int) -> OperatorGroup:
        """The patterns of the first members that nodes have room for, sorted by a row; kept for further thresholds."""
        if (number, row) not in self._tables:
            operators = self.members[:number]
            shape = tuple((self.most[operators] + 1).tolist())
            spend(ROW_WORK * prod(shape))
            counts = flattened(np.indices(shape, np.int32))
            room = self.tasks.room * (1 + PATTERN_LOAD_SLACK)
            counts = counts[:, (self.tasks.arrays.demand[operators].T @ counts <= room[:, None]).all(axis=0)]
            use = self.amounts[operators, row] @ counts
            order = np.argsort(use, kind="stable")
            self._tables[number, row] = OperatorGroup(operators, counts[:, order], {row: use[order]})
        return self._tables[number, row]


class PatternJoin:
    """Partial patterns extended by one group of operators after the other, within bounds.

    Parameters
    ----------
    lower, upper : shape (rows,)
        Least and largest use of each row by a whole pattern.
    """

    def __init__(self, lister: PatternLister, groups: Sequence[OperatorGroup], lower: Floats, upper: Floats) -> None:
        self.groups, self.upper, self.size = groups, upper[:, None], FIRST_BLOCK
        operators = np.concatenate([group.operators for group in groups])
        place = np.argsort(operators)
        arrays = lister.tasks.arrays
        self.totals, self.amounts = arrays.totals[operators], lister.amounts
        self.source, self.target = place[arrays.source], place[arrays.target]
        self.one_to_one, self.sent = arrays.one_to_one, lister.sent.T
        # What later groups can add at most lowers the bound from below.
        added = np.array([lister.most[group.operators] @ lister.amounts[group.operators] for group in groups])
        self.lower = lower[None, :, None] - (np.cumsum(added[::-1], axis=0)[::-1] - added)[:, :, None]
        group_of = np.repeat(np.arange(len(groups)), [len(group.operators) for group in groups])
        last = np.maximum(group_of[self.source], group_of[self.target])
        self.closing = [np.flatnonzero(last == g) for g in range(len(groups))]

    def complete(self, block: PartialPatterns | None = None, depth: int = 0) -> Iterator[PartialPatterns]:
        """Patterns of all groups that extend those of the first ones, in blocks; without any, all patterns."""
        if block is None:
            block = PartialPatterns(np.zeros((0, 1), np.int64), np.zeros((self.upper.size, 1)))
        if depth == len(self.groups):
            yield block
            return
        for extended in self._extended(block, depth):
            if extended.counts.shape[1]:
                yield from self.complete(extended, depth + 1)

    def _extended(self, block: PartialPatterns, depth: int) -> Iterator[PartialPatterns]:
        """Patterns with one group more, in blocks."""
        group, lower = self.groups[depth], self.lower[depth]
        first, last = np.zeros(block.used.shape[1], np.int64), np.full(block.used.shape[1], group.counts.shape[1])
        for row, uses in group.sorted_uses.items():
            if self.upper[row, 0] < np.inf:
                first = np.maximum(first, np.searchsorted(uses, lower[row] - block.used[row]))
                last = np.minimum(last, np.searchsorted(uses, self.upper[row] - block.used[row], side="right"))
        number = np.maximum(last - first, 0)
        ends, start, done = np.cumsum(number), 0, 0
        while start < ends.size:
            look("patterns")
            stop = max(start + 1, int(np.searchsorted(ends, done + self.size, side="right")))
            self.size = min(2 * self.size, MAX_BLOCK)
            chosen = np.repeat(np.arange(start, stop), number[start:stop])
            entry = np.arange(done, done + chosen.size) + (first - ends + number)[chosen]
            spend(ROW_WORK * (stop - start + chosen.size))
            yield self._fitting(block, chosen, entry, depth)
            start, done = stop, int(ends[stop - 1])

    def _fitting(self, block: PartialPatterns, chosen: Ints, entry: Ints, depth: int) -> PartialPatterns:
        """Patterns of chosen ones with entries of a group, as far as they are within bounds."""
        group = self.groups[depth]
        added = group.counts[:, entry]
        used = block.used[:, chosen] + self.amounts[group.operators].T @ added
        fits = ((used <= self.upper) & (used >= self.lower[depth])).all(axis=0)
        counts, used = np.concatenate([block.counts[:, chosen[fits]], added[:, fits]]), used[:, fits]
        if (streams := self.closing[depth]).size:
            source, target = self.source[streams], self.target[streams]
            sending, receiving = counts[source].T, counts[target].T
            shares = leaving_shares(sending, receiving, self.totals[source], self.totals[target], self.one_to_one[streams])
            used += self.sent[:, streams] @ shares.T
            fits = (used <= self.upper).all(axis=0)
            counts, used = counts[:, fits], used[:, fits]
        return PartialPatterns(counts, used)
