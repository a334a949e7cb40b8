"""Patterns of instances on a host: a bound where few fit on each, and packings that come from it (Gilmore and Gomory, 1961).

Resources in aggregate let instances be cut into pieces. A linear program over patterns, each of which fits on a host, does not:
it grows by the patterns that are worth most at its prices of instances. Any prices prove a bound (Lagrange): what instances cost,
each operator by itself, less what the best pattern of every host is worth.

Packings of hosts that are full by patterns but for a few, into which the rest goes by exchanges.

Where hosts are nearly full by what is needed alone, exchanges between dozens of hosts find no packing. Patterns fill most hosts
without any waste, so that what may be left free in all is left to the last few, which are easily packed then.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from edrp import _native
from edrp.backends.growing import GrowingProgram
from edrp.backends.solving import solve_program
from edrp.core.arrays import Floats, Ints
from edrp.core.budget import LOOK, spend, units_left
from edrp.core.program import Program
from edrp.core.solution import within_gap
from edrp.core.tolerances import (
    FEASIBILITY_TOLERANCE,
    INTEGRALITY,
    LIMIT_SLACK,
    MIN_REDUCED_COST,
    OPTIMALITY_GAP,
    PATTERN_LOAD_SLACK,
    PATTERN_VALUE_GAP,
    SUM_ROUNDING,
    UNCOVERED_OPERATORS,
)
from edrp.enactment.snapshot import EnactmentArrays
from edrp.formulations.enactment.aggregate import MIN_SPARED, SHARPENED, SOLVER_SHARE, SPARES, packed_counts
from edrp.formulations.enactment.packing import Compositions, Contents, composition_objective, fill, rewards

MAX_NODES = 200_000
"""Nodes of a search for a pattern, which then counts as worth what it could be."""

NODE_WORK = 4e-8
"""Units of work for a node of that search."""

PRICING_SHARE = 0.05
"""Share of the gap that counts as closed which all searches for patterns may leave open together."""

MAX_TURNS, DIVE_TURNS = 400, 8
"""Most solutions of the linear program for the bound, and after each host that is fixed on the way to a packing."""

HALVINGS = 40
"""Steps that halve the range of a resource's multiplier."""


class _Point(NamedTuple):
    """An optimum of the linear program: its value, worths of instances (O,) and of patterns by host type, and uses."""

    value: float
    worth: Floats
    least: Floats
    uses: Floats
    uncovered: float


class HostPatterns:
    """The linear program over patterns for given hosts, which fill them all.

    Parameters
    ----------
    hosts : shape (K,)
    """

    def __init__(self, arrays: EnactmentArrays, hosts: Ints) -> None:
        self.arrays, self.hosts, self.kinds = arrays, hosts, np.flatnonzero(hosts)
        offered = hosts @ arrays.sizes.capacity
        self.reward = rewards(arrays, offered)
        self.constant = float(arrays.price @ hosts) + arrays.filling * np.count_nonzero(offered)
        self.most = np.minimum(arrays.max_counts, hosts @ arrays.sizes.room)
        self.patterns: list[Ints] = []
        self.owners: list[int] = []
        self.bound = -np.inf
        self._program = GrowingProgram(
            presolve="off", primal_feasibility_tolerance=FEASIBILITY_TOLERANCE, dual_feasibility_tolerance=FEASIBILITY_TOLERANCE
        )
        self._add_counts()
        for kind in self.kinds.tolist():
            room = np.minimum(arrays.sizes.room[kind], self.most).astype(np.int64)
            for pattern in [*np.diag(room)[room > 0], room * 0]:
                self._add(kind, pattern)

    def raise_bound(self, target: float, until: float) -> None:
        """Raise the bound on the objective (eq. 1) as far as patterns do, or to `target`, while more than `until` is left."""
        for _ in range(MAX_TURNS):
            point = self._solve()
            if point is None or not self._price(point) or self.bound >= target or units_left() < until:
                return
            if point.uncovered < UNCOVERED_OPERATORS and point.value - self.bound <= PRICING_SHARE * self._close:
                return

    def dive(self, until: float) -> Iterator[tuple[list[int], Contents]]:
        """Types and contents of ever more hosts, by the patterns that are used most, while more than `until` is left."""
        fixed = np.zeros(0, np.int64)
        while units_left() >= until:
            point = self._solve()
            for _ in range(DIVE_TURNS):
                if point is None or not self._price(point):
                    break
                point = self._solve()
            if point is None:
                return
            fixed = np.concatenate([fixed, np.zeros(point.uses.size - fixed.size, np.int64)])
            whole = np.maximum(np.floor(point.uses + INTEGRALITY).astype(np.int64), fixed)
            if (whole == fixed).all():
                whole[int((point.uses - fixed).argmax())] += 1
            fixed = whole
            if fixed.sum() >= self.hosts.sum():
                return
            columns = np.flatnonzero(fixed)
            self._program.bound_columns(columns + 3 * self.reward.size, fixed[columns], np.full(columns.size, np.inf))
            chosen = np.repeat(np.arange(fixed.size), fixed)
            yield [self.owners[index] for index in chosen], np.array([self.patterns[index] for index in chosen])

    def compose(self, units: float) -> tuple[list[int], Contents] | None:
        """Types and contents of all hosts, by an integer program over the patterns found so far; None where it finds none."""
        program, patterns = Program(), np.array(self.patterns)
        uses = program.add_columns("uses", len(patterns), upper=self.hosts[self.owners], integer=True)
        number, kind = self.hosts[self.kinds], np.searchsorted(self.kinds, self.owners)
        program.add_rows("hosts", self.kinds.size, [(kind, uses, 1.0)], lower=number, upper=number)
        pattern, operator = np.nonzero(patterns)
        entries = [(operator, uses[pattern], patterns[pattern, operator])]
        program.add_rows("needed", self.reward.size, entries, lower=self.arrays.min_counts)
        result = solve_program(program, work_limit=units)
        if result.values is None:
            return None
        chosen = np.repeat(np.arange(len(patterns)), np.rint(result.values[uses]).astype(np.int64))
        contents = patterns[chosen]
        before = np.cumsum(contents, axis=0) - contents  # instances beyond those that are allowed are left out
        return [self.owners[index] for index in chosen], np.clip(self.arrays.max_counts - before, 0, contents).astype(np.int64)

    def add_contents(self, types: Sequence[int], contents: Contents) -> None:
        """Add the patterns of a packing."""
        for kind, pattern in zip(types, contents, strict=True):
            if self.hosts[kind]:
                self._add(kind, pattern)

    @property
    def _close(self) -> float:
        """Difference of objectives that need not be closed here."""
        return PATTERN_VALUE_GAP * abs(self.constant)

    def _add_counts(self) -> None:
        """Columns of counts, late items and missing instances; rows of the counts, the late items and the number of hosts."""
        arrays, operators = self.arrays, self.reward.size
        eye, none = np.eye(operators), np.zeros((operators, operators))
        missing = 10.0 * (1.0 + self.constant + arrays.late * arrays.served.max(initial=0.0))
        cost = np.concatenate([np.zeros(operators), np.full(operators, arrays.late), np.full(operators, missing)])
        lower = np.concatenate([arrays.min_counts, np.zeros(2 * operators)])
        upper = np.concatenate([self.most, np.full(2 * operators, np.inf)])
        self._program.add_columns(cost, (), lower, upper)
        rows = np.vstack([np.hstack([-eye, none, eye]), np.hstack([np.diag(arrays.served), eye, none])])
        rows = np.vstack([rows, np.zeros((self.kinds.size, cost.size))])
        row_lower = np.concatenate([np.zeros(operators), arrays.arriving, self.hosts[self.kinds]])
        row_upper = np.concatenate([np.zeros(operators), np.full(operators, np.inf), self.hosts[self.kinds]])
        used = [np.flatnonzero(row) for row in rows]
        entries = [(columns, row[columns]) for row, columns in zip(rows, used, strict=True)]
        self._program.add_rows(row_lower, row_upper, entries)

    def _add(self, kind: int, pattern: Ints) -> None:
        used, operators = np.flatnonzero(pattern), self.reward.size
        rows = [*used, 2 * operators + int(np.searchsorted(self.kinds, kind))]
        self._program.add_columns([-float(self.reward @ pattern)], [(rows, [*pattern[used], 1.0])])
        self.patterns.append(pattern)
        self.owners.append(int(kind))

    def _solve(self) -> _Point | None:
        """Solve the linear program; None where hosts are fixed that hold more instances than are allowed."""
        value, columns, dual, optimal = self._program.solve()
        if not optimal:
            return None
        operators = self.reward.size
        uncovered = float(columns[2 * operators : 3 * operators].sum())
        return _Point(value + self.constant, dual[:operators], -dual[2 * operators :], columns[3 * operators :], uncovered)

    def _price(self, point: _Point) -> int:
        """Add the best pattern of every host type that improves the value, and raise the bound; the number of new ones."""
        bound, new = self.constant + self._cost_of_counts(point.worth), 0
        for kind, least in zip(self.kinds.tolist(), point.least, strict=True):
            worth, pattern, limit = self._best(kind, self.reward + point.worth)
            bound -= float(self.hosts[kind]) * limit
            if worth > least + MIN_REDUCED_COST:
                self._add(kind, pattern)
                new += 1
        self.bound = max(self.bound, bound)
        return new

    def _cost_of_counts(self, worth: Floats) -> float:
        """Least sum of late items and worths over whole numbers of instances, each operator by itself, rounded down."""
        arrays = self.arrays
        enough = np.divide(arrays.arriving, arrays.served)
        counts = np.clip([self.most * 0, np.floor(enough), np.ceil(enough), self.most], arrays.min_counts, self.most)
        costs = arrays.late * arrays.violations(counts) + worth * counts
        return float(costs.min(axis=0).sum() - SUM_ROUNDING * np.abs(costs).max(axis=0).sum())

    def _best(self, kind: int, values: Floats) -> tuple[float, Ints, float]:
        """The best pattern found on a host type: its worth, the pattern (O,), and a worth that no pattern exceeds."""
        sizes = self.arrays.sizes
        useful = np.flatnonzero((values > 0) & (sizes.room[kind] > 0))
        pattern = np.zeros(values.size, np.int64)
        if not useful.size:
            return 0.0, pattern, 0.0
        offers = np.flatnonzero(sizes.capacity[kind] > 0)
        needs = sizes.needs[np.ix_(useful, offers)] / sizes.capacity[kind, offers]
        multipliers = _multipliers(values[useful], needs)
        weights = needs @ multipliers
        order = np.argsort(-values[useful] / weights, kind="stable")
        useful, needs, weights = useful[order], np.ascontiguousarray(needs[order]), weights[order]
        most = np.minimum(sizes.room[kind, useful], self.most[useful]).astype(np.int64)
        room = 1 + LIMIT_SLACK + PATTERN_LOAD_SLACK
        free = room * np.array([*np.ones(offers.size), multipliers.sum()])
        highest, best = room * multipliers.sum() * values[useful[0]] / weights[0], most * 0
        tolerance = PRICING_SHARE * self._close / self.hosts.sum()
        arrays = values[useful], needs, weights, most, free
        worth, nodes, ended = _native.best_host_pattern(*arrays, tolerance, MAX_NODES, most * 0, best)
        spend(LOOK + NODE_WORK * nodes)
        pattern[useful] = best
        limit = min(worth + tolerance, highest) if ended else highest
        return worth, pattern, float(limit + PATTERN_LOAD_SLACK * highest)


def _multipliers(values: Floats, needs: Floats) -> Floats:
    """Multipliers (R,) of resources, each in turn, by which the most of value over weighted needs is least."""
    multipliers = np.ones(needs.shape[1]) / needs.shape[1]
    for resource in range(1, multipliers.size):
        others = np.where(np.arange(multipliers.size) == resource, 0.0, multipliers)
        others /= others.sum()
        own, rest = needs[:, resource], needs @ others
        low, high = 0.0, 1.0
        for _ in range(HALVINGS):
            share = (low + high) / 2
            weights = share * own + (1 - share) * rest
            highest = int((values / weights).argmax())
            low, high = (share, high) if own[highest] > rest[highest] else (low, share)
        multipliers = (1 - share) * others
        multipliers[resource] = share
    return multipliers


LEFT_HOSTS = 3, 20
"""Range of the number of hosts that exchanges pack after the others have been fixed."""

COMPOSING_WORK = 1.0
"""Units of work for the program over patterns; on hosts of three instances that leave nothing free a hundredth is enough."""

COARSE_SPARES = (*SPARES, 5e-4, 1e-3, 2e-3, 4e-3, 8e-3)
"""Shares of the resources of the last hosts that are left free, one after the other, as long as no packing is found."""


def packed_by_patterns(arrays: EnactmentArrays, compositions: Compositions, allowance: float = 0.0) -> Compositions:
    """Raise the bounds of compositions by patterns and perhaps find a better packing, where there is a gap."""
    sizes, found = arrays.sizes, compositions
    if sizes.apart.any() or arrays.min_counts.sum() < MIN_SPARED or not sizes.needs.any(axis=1).all():
        return compositions
    bounds, until = found.bounds.copy(), SOLVER_SHARE * units_left()
    for index, hosts in enumerate(compositions.counts[:SHARPENED]):
        if _reached(found.objective, bounds.min()) or bounds[index] >= found.objective + allowance or units_left() < until:
            break
        if hosts.sum() < LEFT_HOSTS[0]:
            continue
        patterns = HostPatterns(arrays, hosts)
        if found.types is not None and found.contents is not None:
            patterns.add_contents(found.types, found.contents)
        patterns.raise_bound(found.objective + allowance, until)
        bounds[index] = max(bounds[index], patterns.bound)
        if bounds[index] < found.objective:
            found = _packed(arrays, patterns, found, float(bounds[index]), until)
    return replace(found, bounds=bounds).that_may_be_optimal(allowance)


def _packed(arrays: EnactmentArrays, patterns: HostPatterns, found: Compositions, bound: float, until: float) -> Compositions:
    """The best packing by patterns, if it is better than the one that was found before.

    Where free resources have no weight, whatever holds all instances is as good: the patterns of the bound are tried as they are,
    before and after those of the dive have joined them.
    """
    for search in (_composed, _dive, _composed) if arrays.filling == 0 else (_dive,):
        if not _reached(found.objective, bound) and units_left() >= until:
            found = search(arrays, patterns, found, bound, until)
    return found


def _composed(arrays: EnactmentArrays, patterns: HostPatterns, found: Compositions, *_: float) -> Compositions:
    """The packing by the patterns found so far, if there is one, and if it is better than the one that was found before."""
    composed = patterns.compose(COMPOSING_WORK)
    return found if composed is None else _better(arrays, patterns.hosts, found, *composed)


def _better(arrays: EnactmentArrays, hosts: Ints, found: Compositions, types: list[int], contents: Contents) -> Compositions:
    """The packing, filled up, if it fits and is better than the one that was found before."""
    if (contents @ arrays.sizes.needs > arrays.sizes.capacity[types] * (1 + LIMIT_SLACK)).any():
        return found
    contents = fill(arrays, types, contents)
    objective = composition_objective(arrays, hosts, contents.sum(axis=0))
    return replace(found, types=types, contents=contents, objective=objective) if objective < found.objective else found


def _dive(arrays: EnactmentArrays, patterns: HostPatterns, found: Compositions, bound: float, until: float) -> Compositions:
    """The best packing that comes from patterns of ever more hosts, if it is better than the one that was found before."""
    fewest, most = LEFT_HOSTS
    for types, contents in patterns.dive(until):
        left = patterns.hosts - np.bincount(types, minlength=patterns.hosts.size)
        if left.sum() < fewest or _reached(found.objective, bound):
            break
        packed = _completed(arrays, types, contents, left, found.objective, until) if left.sum() <= most else None
        if packed is not None:
            found = _better(arrays, patterns.hosts, found, *packed)
    return found


def _completed(
    arrays: EnactmentArrays, types: list[int], contents: Contents, left: Ints, objective: float, until: float
) -> tuple[list[int], Contents] | None:
    """Types and contents of all hosts, with the rest packed into those that are left (K,), for a smaller objective; or None."""
    counts = contents.sum(axis=0)
    hosts = left + np.bincount(types, minlength=left.size)
    rest = replace(
        arrays,
        filling=arrays.filling * float((left @ arrays.sizes.capacity).sum() / (hosts @ arrays.sizes.capacity).sum()),
        min_counts=np.maximum(arrays.min_counts - counts, 0),
        max_counts=arrays.max_counts - counts,
        arriving=np.maximum(arrays.arriving - arrays.served * counts, 0.0),
    )
    if (rest.max_counts < rest.min_counts).any():
        return None
    # Objectives differ by the same amount whatever is packed, at least where hosts are of one type.
    nothing = np.zeros_like(counts)
    others = composition_objective(arrays, hosts, counts) - composition_objective(rest, left, nothing)
    _, _, packed = packed_counts(rest, left, (-np.inf, objective - others), until, COARSE_SPARES)
    if packed is None:
        return None
    kinds = np.concatenate([types, np.repeat(np.arange(left.size), left)])
    order = np.argsort(kinds, kind="stable")
    return kinds[order].tolist(), np.vstack([contents, packed])[order]


def _reached(objective: float, bound: float) -> bool:
    """Whether an objective is proven, as far as anybody asks."""
    return bool(np.isfinite(objective)) and within_gap(objective, bound, OPTIMALITY_GAP)
