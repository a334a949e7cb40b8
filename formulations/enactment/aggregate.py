"""The best numbers of instances on given hosts, with resources in aggregate; if they can be packed, they are optimal.

Hosts that are full in all their resources: instances beyond those that are needed, chosen so that nothing is left free.

Where free resources have a price (eq. 1) and instances may be added, the bound of the resources in aggregate is often that
nothing is free. Whole numbers reach it, up to rounding: dozens of instances have more combinations than a double has digits.
They are found as points of a lattice. Real numbers of instances that fill the hosts, far from all limits, are the target; vectors
of the reduced lattice are exchanges of a few instances that change what is used by next to nothing; so the points near the target
fill the hosts as well, and of many targets around the first one some have a point within the limits.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from edrp.backends.solving import solve_program
from edrp.core.arrays import Floats, Ints
from edrp.core.budget import LOOK, spend, units_left
from edrp.core.program import Linear, Program
from edrp.core.solution import within_gap
from edrp.core.tolerances import CENTRED, LIMIT_SLACK, OPTIMALITY_GAP
from edrp.enactment.containers import Sizes
from edrp.enactment.snapshot import EnactmentArrays
from edrp.formulations.enactment.packing import (
    Compositions,
    Contents,
    composition_objective,
    pack_by_exchanges,
    rewards,
)

REDUCTION = 0.99
"""Share of its predecessor's squared length that the projection of a basis vector has at least (Lovász's condition)."""

PASSES = 3
"""Turns in which a vector is made shorter by multiples of the earlier ones; rounding errors need a second, seldom a third."""

ENTRY_WORK = 2e-9
"""Units of work for a number of a vector, when it is projected on another one."""


class ReducedBasis(NamedTuple):
    """A reduced basis of a lattice, one vector a row, with its Gram-Schmidt vectors and their squared lengths."""

    vectors: Floats
    orthogonal: Floats
    lengths: Floats

    def nearest(self, targets: Floats) -> Floats:
        """Lattice points near targets, both of shape (M, columns), by the nearest plane of each vector in turn."""
        rest = targets.copy()
        spend(LOOK + ENTRY_WORK * rest.size * len(self.vectors))
        for vector, orthogonal, length in zip(self.vectors[::-1], self.orthogonal[::-1], self.lengths[::-1], strict=True):
            rest -= np.rint(rest @ orthogonal / length)[:, None] * vector
        return targets - rest


def reduced(basis: Floats) -> ReducedBasis:
    """Reduce a basis, one vector a row; the vectors have to be independent.

    >>> reduced(np.array([[1.0, 0.0, 40.0], [0.0, 1.0, 30.0]])).vectors.tolist()
    [[-3.0, 4.0, 0.0], [-1.0, 1.0, -10.0]]
    """
    vectors, count = basis.astype(float), len(basis)
    factors, orthogonal, lengths = np.zeros((count, count)), np.zeros_like(vectors), np.zeros(count)

    def project(k: int) -> None:
        """Project vector k on the earlier ones, twice against rounding."""
        spend(LOOK + ENTRY_WORK * k * vectors.shape[1])
        first = orthogonal[:k] @ vectors[k] / lengths[:k]
        rest = vectors[k] - first @ orthogonal[:k]
        second = orthogonal[:k] @ rest / lengths[:k]
        orthogonal[k], factors[k, :k] = rest - second @ orthogonal[:k], first + second
        lengths[k] = orthogonal[k] @ orthogonal[k]

    def shorten(k: int) -> None:
        """Subtract multiples of the earlier vectors from vector k."""
        for _ in range(PASSES):
            changed = False
            for earlier in range(k - 1, -1, -1):
                if multiple := round(factors[k, earlier]):
                    vectors[k] -= multiple * vectors[earlier]
                    factors[k, :earlier] -= multiple * factors[earlier, :earlier]
                    factors[k, earlier] -= multiple
                    changed = True
            if not changed:
                return
            project(k)

    project(0)
    k = 1
    while k < count:
        project(k)
        shorten(k)
        if lengths[k] >= (REDUCTION - factors[k, k - 1] ** 2) * lengths[k - 1]:
            k += 1
        else:
            vectors[[k - 1, k]] = vectors[[k, k - 1]]
            project(k - 1)
            k = max(k - 1, 1)
    return ReducedBasis(vectors, orthogonal, lengths)


MAX_DIMENSION = 100
"""Operators × hosts up to which hosts are filled together; the last ones are, where instances that may be added are few."""

MAX_STEPS = 100
"""Newton steps to the point far from all limits; twenty mostly do."""

TRIALS, MAX_TURNS = 500, 60
"""Targets that are drawn at a time, and turns without success before the search gives up."""

SPREAD = 0.4
"""Standard deviation of the targets, in distances of the first one from its limits."""

DISTANCES = (0.1, 3.0)
"""Range of distances from limits that the lattice is stretched by."""

SPREAD_OF_USE = 2.5
"""Width of the range of a host's use, in standard deviations of what evenly drawn contents would use."""

MIN_AMOUNT = 0.05
"""Amount of an operator on a host below which it stays away from there."""


class _Target(NamedTuple):
    """Real numbers of instances that fill hosts: contents (H, O), and the sum over the hosts beyond what is needed (O,)."""

    contents: Floats
    surplus: Floats


def filled_hosts(sizes: Sizes, kinds: Ints, needed: Ints, allowed: Floats, window: float, until: float) -> Contents | None:
    """Contents (H, O) of hosts of the given types with at least the needed and at most the allowed instances (O,).

    None where none are found. Of no resource is a larger share free than `window`, on any host. The search ends where less than
    `until` is left of the time.
    """
    order = np.argsort(sizes.capacity[kinds].sum(axis=1), kind="stable")
    contents, left, generator = np.zeros((kinds.size, needed.size), np.int64), needed.copy(), np.random.default_rng(0)
    done = 0
    while done < kinds.size:
        hosts = order[done:]
        target = _target(sizes, kinds[hosts], np.maximum(left, 0))
        if target is None:
            return None
        together = hosts.size if hosts.size * needed.size <= MAX_DIMENSION else 1
        filling = _Filling(sizes, kinds[hosts[:together]], target, left, allowed - contents.sum(axis=0), together == hosts.size)
        found = filling.search(window, generator, until)
        if found is None:
            return None
        contents[hosts[:together]] = found
        left = left - found.sum(axis=0)
        done += together
    return contents


def _target(sizes: Sizes, kinds: Ints, needed: Ints) -> _Target | None:
    """The analytic centre of all real contents that fill the hosts and hold what is needed; None where there is none.

    Newton's method from an infeasible start (Boyd and Vandenberghe, *Convex optimization*, section 10.3).
    """
    host, operator = np.nonzero(sizes.room[kinds] > 0)
    count, operators = host.size, needed.size
    shares = sizes.needs[operator] / sizes.capacity[kinds[host]]
    resources = shares.shape[1]
    rows = np.zeros((operators + kinds.size * resources, count + operators))
    rows[operator, np.arange(count)] = 1.0
    rows[np.arange(operators), count + np.arange(operators)] = -1.0
    for resource in range(resources):
        rows[operators + host * resources + resource, np.arange(count)] = shares[:, resource]
    right = np.concatenate([needed, np.ones(kinds.size * resources)])
    point = np.ones(count + operators)
    for _ in range(MAX_STEPS):
        residual = rows @ point - right
        squared = point**2
        multipliers = np.linalg.lstsq((rows * squared) @ rows.T, residual + rows @ point, rcond=None)[0]
        step = point - squared * (rows.T @ multipliers)
        length = min(1.0, 0.95 / max((-step / point).max(), 0.95))
        point = point + length * step
        if length == 1.0 and float(((step / point) ** 2).sum()) < CENTRED:
            contents = np.zeros((kinds.size, operators))
            contents[host, operator] = point[:count]
            return _Target(contents, point[count:])
    return None


class _Filling:
    """The lattice of the contents of some hosts.

    Parameters
    ----------
    left, allowed : shape (O,): instances still needed, and those that may be on these hosts and on later ones together.
    last : whether no host is filled later.
    """

    def __init__(self, sizes: Sizes, kinds: Ints, target: _Target, left: Ints, allowed: Floats, last: bool) -> None:
        contents = target.contents[: kinds.size]
        self.shape, self.left, self.last = contents.shape, left, last
        self.most = allowed if last else np.minimum(allowed, np.maximum(left, 0) + target.surplus)
        distance = contents if last else np.minimum(contents, self.most - contents)
        self.host, self.operator = np.nonzero(distance > MIN_AMOUNT)
        cells = np.arange(self.host.size)
        distance = np.clip(distance[self.host, self.operator], *DISTANCES)
        resources = sizes.capacity.shape[1]
        self.shares = np.zeros((self.host.size, kinds.size * resources))
        needs = sizes.needs[self.operator] / sizes.capacity[kinds[self.host]]
        for resource in range(resources):
            self.shares[cells, self.host * resources + resource] = needs[:, resource]
        self.stretched = np.diag(1.0 / distance)
        if last:
            sums = np.zeros((self.host.size, self.shape[1]))
            sums[cells, self.operator] = 1.0 / np.clip(target.surplus, *DISTANCES)[self.operator]
            self.stretched = np.hstack([self.stretched, sums])
        self.distance = distance
        self.middle = self._full(contents[self.host, self.operator][None])[0]

    def search(self, window: float, generator: np.random.Generator, until: float) -> Contents | None:
        """Contents that leave no larger share of a resource free than `window`; None where none are found."""
        if not self.host.size or self._expected(window) < 1:
            return None
        scale = 2.0 / (window * np.exp(np.log(self.distance).mean()))
        basis = reduced(np.hstack([self.stretched, self.shares * scale]))
        for _ in range(MAX_TURNS):
            if units_left() < until:
                return None
            found = self._drawn(basis, window, scale, generator)
            if found is not None:
                return found
        return None

    def _expected(self, window: float) -> float:
        """Number of whole contents within the limits that leave so little free, were their uses spread evenly."""
        spread = SPREAD_OF_USE * np.sqrt(((self.shares * self.distance[:, None]) ** 2).sum(axis=0))
        return float(np.exp(np.log1p(2 * self.distance).sum() + np.log(window / np.maximum(spread, window)).sum()))

    def _drawn(self, basis: ReducedBasis, window: float, scale: float, generator: np.random.Generator) -> Contents | None:
        """Lattice points near targets that are drawn; the one that leaves least free, None where none is within the limits."""
        drawn = self._full(self.middle + SPREAD * self.distance * generator.normal(size=(TRIALS, self.middle.size)))
        used = np.full((TRIALS, self.shares.shape[1]), (1 - window / 2) * scale)
        near = basis.nearest(np.hstack([drawn @ self.stretched, used]))
        counts = np.rint(near[:, : self.middle.size] * self.distance)
        free = 1 - counts @ self.shares
        fits = (counts >= 0).all(axis=1) & (free >= -LIMIT_SLACK / 2).all(axis=1) & (free <= window).all(axis=1)
        contents = np.zeros((int(fits.sum()), *self.shape), np.int64)
        contents[:, self.host, self.operator] = counts[fits]
        total = contents.sum(axis=1)
        within = (total <= self.most).all(axis=1)
        if self.last:
            within &= (total >= self.left).all(axis=1)
        worst = np.where(within, free[fits].max(axis=1, initial=0.0), np.inf)
        return contents[int(worst.argmin())] if within.any() else None

    def _full(self, counts: Floats) -> Floats:
        """The nearest real numbers (M, columns) that fill the hosts, by distances from limits."""
        weighted = self.shares * self.distance[:, None] ** 2
        missing = 1.0 - counts @ self.shares
        full: Floats = counts + np.linalg.lstsq(self.shares.T @ weighted, missing.T, rcond=None)[0].T @ weighted.T
        return full


SHARPENED = 4
"""Number of compositions, those of the least bounds, for which the best numbers of instances are computed."""

SPARES = (0.0, 2e-4, 2e-5)
"""Shares of all resources left free, one after the other, where the best numbers of instances find no arrangement.

Where several resources are scarce, the best numbers leave millionths of all of them free, and few arrangements do that."""

MAX_COMPOSITION_WORK = 0.5
"""Seconds for the best numbers of one composition. Mostly milliseconds do; amounts that nearly fill hosts in a great many
ways take minutes to be proven best, and the bound found until then is as good."""


MIN_SPARED = 20
"""Number of instances that the load needs from which arrangements abound, and a little to spare is worth a try."""


FILLED_SHARE = 0.5
"""Share of the gap that counts as closed which full hosts may leave free."""


SOLVER_SHARE = 0.5
"""Share of the time that is left which the solver keeps."""


def sharpened(arrays: EnactmentArrays, compositions: Compositions, allowance: float = 0.0) -> Compositions:
    """Sharpen the bounds of compositions and perhaps find a better packing; compositions that cannot be optimal are left out."""
    if arrays.filling == 0:
        return compositions
    bounds, objective = compositions.bounds.copy(), compositions.objective
    types, contents = compositions.types, compositions.contents
    until = SOLVER_SHARE * units_left()
    for index in range(min(SHARPENED, len(bounds))):
        if bounds[index] >= objective + allowance or units_left() < until:
            break
        hosts = compositions.counts[index]
        bounds[index], counts, packed = packed_counts(arrays, hosts, (bounds[index], objective), until)
        if packed is not None:
            types, contents = np.repeat(np.arange(hosts.size), hosts).tolist(), packed
            objective = composition_objective(arrays, hosts, counts)
    return Compositions(compositions.counts, bounds, types, contents, objective).that_may_be_optimal(allowance)


def packed_counts(
    arrays: EnactmentArrays, hosts: Ints, known: tuple[float, float], until: float, spares: Sequence[float] = SPARES
) -> tuple[float, Ints, Contents | None]:
    """Bound with these hosts (K,), and numbers of instances (O,) with a packing that is better than what is known; or None.

    Parameters
    ----------
    known
        Bound with these hosts, and objective to be improved on.
    """
    bound, objective = known
    kinds, best, contents = np.repeat(np.arange(hosts.size), hosts).tolist(), arrays.min_counts, None
    tried = arrays.min_counts * 0
    for spare in spares if arrays.min_counts.sum() >= MIN_SPARED else spares[:1]:
        sharper, counts = best_counts(arrays, hosts, spare)
        bound = max(bound, sharper) if spare == 0 else bound
        if counts is None or composition_objective(arrays, hosts, counts) >= objective:
            break
        if (counts == tried).all():
            continue
        tried, packed = counts, _filled(arrays, kinds, counts, bound, until) if spare == 0 else None
        packed = pack_by_exchanges(arrays.sizes, counts, kinds, until) if packed is None else packed
        if packed is not None:
            best, contents = packed.sum(axis=0), packed
            objective = composition_objective(arrays, hosts, best)
        if units_left() < until or (packed is not None and spare == 0):
            break
    return bound, best, contents


def _filled(arrays: EnactmentArrays, kinds: list[int], counts: Ints, bound: float, until: float) -> Contents | None:
    """Contents of the hosts that reach a bound where nothing but free resources lie between it and the counts; else None."""
    if arrays.filling == 0:
        return None
    hosts, sizes = np.bincount(kinds, minlength=len(arrays.price)), arrays.sizes
    reached, offered = composition_objective(arrays, hosts, counts), hosts @ sizes.capacity
    unused = arrays.filling * (np.count_nonzero(offered) - float(rewards(arrays, offered) @ counts) / arrays.filling)
    if within_gap(reached, bound, OPTIMALITY_GAP) or not within_gap(reached - unused, bound, OPTIMALITY_GAP):
        return None
    if sizes.apart.any() or not (sizes.capacity[kinds] > 0).all():
        return None
    serving = np.ceil(arrays.arriving / arrays.served) if arrays.late > 0 else 0
    needed = np.maximum(arrays.min_counts, np.minimum(counts, serving)).astype(np.int64)
    window = FILLED_SHARE * OPTIMALITY_GAP * reached / (arrays.filling * offered.size)
    return filled_hosts(sizes, np.array(kinds), needed, arrays.max_counts, window, until)


def best_counts(arrays: EnactmentArrays, hosts: Ints, spare: float = 0.0) -> tuple[float, Ints | None]:
    """Bound on the objective (eq. 1) as if all hosts (K,) were one, and the numbers of instances (O,) that reach it.

    Operators that only some types may run fit into the hosts of these. A share `spare` of all resources is left free, for counts
    that are easier to pack. Infinite and None where not even the fewest fit.
    """
    sizes, offered = arrays.sizes, hosts @ arrays.sizes.capacity
    program = Program()
    room = np.minimum(hosts @ sizes.room, arrays.max_counts)
    if (room < arrays.min_counts).any():
        return math.inf, None
    count = program.add_columns("count", arrays.min_counts.size, lower=arrays.min_counts, upper=room, integer=True)
    for number, (kinds, operators) in enumerate(sizes.confined(hosts > 0)):
        capacity = np.where(kinds, hosts, 0) @ sizes.capacity
        resources = np.flatnonzero(capacity)
        shares = sizes.needs[operators][:, resources].T / capacity[resources][:, None]
        rows = np.arange(resources.size)[:, None]
        program.add_rows(f"area {number}", resources.size, [(rows, count[operators], shares)], upper=1 + LIMIT_SLACK - spare)
    constant = float(arrays.price @ hosts) + arrays.filling * np.count_nonzero(offered)
    program.minimise(Linear.of(count, -rewards(arrays, offered), constant) + late_items(program, arrays))
    result = solve_program(program, work_limit=MAX_COMPOSITION_WORK, gap=max(OPTIMALITY_GAP, spare / 20))
    if result.values is None:
        return math.inf if result.status == "infeasible" else -math.inf, None
    return result.bound if result.bound is not None else -math.inf, np.rint(result.values[count]).astype(np.int64)


def late_items(program: Program, arrays: EnactmentArrays) -> Linear:
    """Weighted penalties: columns `late` (items), rows `late`, and rows `last`, the facet to the first count without late items.

    Without `last` the items would be a convex function of the count, but not the least one through whole counts.
    """
    matters = np.flatnonzero((arrays.late > 0) & (arrays.violations(arrays.min_counts) > 0))
    if not matters.size:
        return Linear.zero()
    arriving, served = arrays.arriving[matters], arrays.served[matters]
    max_late = np.ceil(arrays.violations(arrays.min_counts)[matters]) + 1.0
    count, late = program["count"][matters], program.add_columns("late", matters.size, upper=max_late)
    rows = np.arange(matters.size)
    enough = np.ceil(arriving / served)
    unserved = arriving - served * (enough - 1)
    program.add_rows("late", matters.size, [(rows, late, 1.0), (rows, count, served)], lower=arriving)
    program.add_rows("last", matters.size, [(rows, late, 1.0), (rows, count, unserved)], lower=unserved * enough)
    return Linear.of(late, arrays.late)


def add_host_rows(program: Program, sizes: Sizes, kinds: Ints, most: Floats | Ints, columns: Ints, leased: Floats) -> None:
    """Rows `capacity`: instances on a host use no more of a resource than it has, nothing where it is not leased.

    Hosts (S,) of types `kinds` hold at most `most` (S, O) instances each, and are leased by those of the binary `columns` at
    which `leased` (S, C) is 1. Rows `leased`: instances that need nothing take no room, but a host.
    """
    instances, columns = program["instances"], np.broadcast_to(columns, leased.shape)
    capacity = sizes.capacity[kinds]
    slot, resource = np.nonzero(capacity)
    rows = np.arange(slot.size)[:, None]
    shares = sizes.needs.T[resource] / capacity[slot, resource][:, None]
    entries = [(rows, instances[slot], shares), (rows, columns[slot], -leased[slot])]
    program.add_rows("capacity", slot.size, entries, upper=LIMIT_SLACK / 2)
    slot, operator = np.nonzero((sizes.needs.sum(axis=1) == 0) & (sizes.room[kinds] > 0))
    rows = np.arange(slot.size)[:, None]
    used = np.where(leased[slot] > 0, -most[slot, operator][:, None], 0.0)
    needless = instances[slot, operator][:, None]
    program.add_rows("leased", slot.size, [(rows, needless, 1.0), (rows, columns[slot], used)], upper=0.0)
