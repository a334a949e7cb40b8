"""Hosts that are full in all their resources: instances beyond those that are needed, chosen so that nothing is left free.

Where free resources have a price (eq. 1) and instances may be added, the bound of the resources in aggregate is often that
nothing is free. Whole numbers reach it, up to rounding: dozens of instances have more combinations than a double has digits.
They are found as points of a lattice. Real numbers of instances that fill the hosts, far from all limits, are the target; vectors
of the reduced lattice are exchanges of a few instances that change what is used by next to nothing; so the points near the target
fill the hosts as well, and of many targets around the first one some have a point within the limits.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from edrp.core.arrays import Floats, Ints
from edrp.core.budget import units_left
from edrp.core.tolerances import CENTRED, LIMIT_SLACK
from edrp.enactment.sizes import Sizes
from edrp.formulations.enactment.lattice import ReducedBasis, reduced
from edrp.formulations.enactment.packing import Contents

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
