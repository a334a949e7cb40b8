"""Compositions, which are numbers of hosts of each type that may be optimal, and their bounds by resources in aggregate.

For a given composition the free shares of eq. 1 are linear in the instances, so the whole problem is: which composition,
how many instances, and do they fit (two-dimensional vector packing). Few compositions lie between the area bound and
what best fit finds.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from edrp.core.arrays import Floats, Ints, flattened
from edrp.core.budget import amount, look, refuse_beyond_memory
from edrp.core.errors import ProblemTooLargeError, UnsupportedProblemError
from edrp.core.tolerances import INCUMBENT_SLACK, LIMIT_SLACK, SUM_ROUNDING
from edrp.formulations.enactment.packing import Contents, EnactmentArrays, fill, pack, pack_openly, rewards

MAX_PACKED = 50
"""Largest number of compositions that are packed by best fit in search of a good incumbent."""

WITHOUT_COMBINATIONS = ("first-fit-decreasing",)
"""Methods that do not list combinations."""

MAX_COMBINATIONS = 20_000_000
"""Most combinations of numbers of hosts: of so many it takes a second to say which cost too much, and a GiB."""

BYTES_PER_ENTRY = 100
"""Memory of an entry of the program's matrix, in all forms that it takes on its way to a solver."""


@dataclass(frozen=True, slots=True)
class Compositions:
    """Numbers of hosts that may be optimal.

    Attributes
    ----------
    counts : shape (C, K): hosts of each type.
    bounds : shape (C,): no decision with these hosts has a smaller objective. Ascending.
    types, contents : the best decision found on the way, by type and content of its hosts; None where none was found.
    objective : its objective, infinite for none.
    """

    counts: Ints
    bounds: Floats
    types: list[int] | None
    contents: Contents | None
    objective: float

    def that_may_be_optimal(self, allowance: float) -> Compositions:
        """Those whose bound exceeds the objective by no more than an allowance, in the order of their bounds."""
        useful = np.isfinite(self.bounds)
        if math.isfinite(self.objective):
            useful &= self.bounds <= self.objective + allowance + INCUMBENT_SLACK * max(1.0, abs(self.objective))
        order = np.flatnonzero(useful)[np.argsort(self.bounds[useful], kind="stable")]
        return replace(self, counts=self.counts[order], bounds=self.bounds[order])


def compositions(arrays: EnactmentArrays, allowance: float = 0.0) -> Compositions:
    """Compositions whose bound exceeds the best packing found by no more than an allowance, and that packing."""
    types, contents, objective = _first_packing(arrays)
    counts = _within_reach(arrays, allowance + (objective if contents is not None else _worst_case(arrays)))
    bounds = np.empty(len(counts))
    for index, hosts in enumerate(counts):
        look("the combinations of hosts")
        bounds[index] = composition_bound(arrays, hosts)
    order = np.argsort(bounds, kind="stable")
    counts, bounds = counts[order], bounds[order]
    for hosts, bound in zip(counts[:MAX_PACKED], bounds, strict=False):
        if not bound < objective:
            break
        kinds = np.repeat(np.arange(hosts.size), hosts).tolist()
        packed = pack(arrays.sizes, arrays.min_counts.tolist(), kinds)
        if packed is not None:
            packed = fill(arrays, kinds, packed)
            reached = composition_objective(arrays, hosts, packed.sum(axis=0))
            if reached < objective:
                types, contents, objective = kinds, packed, reached
    return Compositions(counts, bounds, types, contents, objective).that_may_be_optimal(allowance)


def composition_objective(arrays: EnactmentArrays, hosts: Ints, counts: Ints) -> float:
    """Objective (eq. 1) of numbers of hosts of each type (K,) and of instances of each operator (O,)."""
    offered = hosts @ arrays.sizes.capacity
    free = 1.0 - np.divide(counts @ arrays.sizes.needs, offered, out=np.ones_like(offered), where=offered > 0)
    return float(arrays.price @ hosts + arrays.filling * free.sum() + arrays.late * arrays.violations(counts).sum())


def composition_bound(arrays: EnactmentArrays, hosts: Ints) -> float:
    """Lower bound on the objective with these numbers of hosts of each type (K,); infinite where the load does not fit."""
    sizes = arrays.sizes
    offered = hosts @ sizes.capacity
    room = hosts @ sizes.room
    spare = offered * (1 + LIMIT_SLACK) - arrays.min_counts @ sizes.needs
    max_counts = np.minimum(arrays.max_counts, room)
    if (spare < 0).any() or (max_counts < arrays.min_counts).any():
        return math.inf
    start = composition_objective(arrays, hosts, arrays.min_counts)
    reward = rewards(arrays, offered)
    # Gains of further instances, cut into pieces: those that serve late items, and those that only fill.
    serving = np.clip(arrays.arriving / arrays.served, arrays.min_counts, max_counts) - arrays.min_counts
    lengths = np.concatenate([serving, max_counts - arrays.min_counts - serving])
    gains = np.concatenate([reward + arrays.late * arrays.served, reward])
    gained = min((_gain(lengths, gains, np.tile(needs, 2), amount) for needs, amount in zip(sizes.needs.T, spare, strict=True)),
                 default=float(lengths @ gains))  # fmt: skip
    cheapest = float(arrays.price @ hosts + arrays.late * arrays.violations(max_counts).sum())
    # With a large penalty both are far larger than their difference, and so is its rounding.
    return max(start - gained - SUM_ROUNDING * (start + gained), cheapest)


def _gain(lengths: Floats, gains: Floats, needs: Floats, amount: float) -> float:
    """Most that pieces gain within an amount of one resource (a fractional knapsack)."""
    free = needs <= 0
    total = float(lengths[free] @ gains[free])
    lengths, gains, needs = lengths[~free], gains[~free], needs[~free]
    order = np.argsort(-gains / needs, kind="stable")
    before = np.cumsum(lengths[order] * needs[order]) - lengths[order] * needs[order]
    taken = np.clip(amount - before, 0.0, lengths[order] * needs[order])
    return total + float(taken @ (gains[order] / needs[order]))


def _first_packing(arrays: EnactmentArrays) -> tuple[list[int] | None, Contents | None, float]:
    """The best of a few packings that begin with another type each."""
    sizes, best = arrays.sizes, (None, None, math.inf)
    total = sizes.capacity.max(axis=0, initial=0.0)
    worth = (sizes.capacity / np.where(total > 0, total, 1.0)).sum(axis=1)
    by_price = sorted(range(len(sizes.types)), key=lambda k: (arrays.price[k] / worth[k] if worth[k] else math.inf, k))
    for first in by_price:
        packed = pack_openly(sizes, arrays.min_counts.tolist(), [first, *(k for k in by_price if k != first)])
        if packed is None or (arrays.min_counts > arrays.max_counts).any():
            continue
        contents = fill(arrays, *packed)
        hosts = np.bincount(packed[0], minlength=len(sizes.types))
        objective = composition_objective(arrays, hosts, contents.sum(axis=0))
        if objective < best[2]:
            best = packed[0], contents, objective  # type: ignore[assignment]
    return best


def _worst_case(arrays: EnactmentArrays) -> float:
    """Upper bound on the optimum, if there is one: the fewest instances, each on its own host."""
    priciest = arrays.price.max() * arrays.min_counts.sum()
    return float(
        priciest + arrays.filling * len(arrays.sizes.resources) + arrays.late * arrays.violations(arrays.min_counts).sum()
    )


def _within_reach(arrays: EnactmentArrays, objective: float) -> Ints:
    """All compositions whose price leaves room below an objective, shape (C, K). An empty host gains nothing."""
    if (arrays.min_counts > arrays.max_counts).any():
        return np.zeros((0, len(arrays.price)), np.int64)
    max_hosts = math.inf if arrays.always_gains else arrays.max_counts.sum()
    min_penalty = arrays.late * arrays.violations(arrays.max_counts).sum()
    with np.errstate(divide="ignore", invalid="ignore"):
        affordable = np.where(
            arrays.price > 0,
            np.floor((objective - min_penalty) * (1 + INCUMBENT_SLACK) / arrays.price + INCUMBENT_SLACK),
            math.inf,
        )
    highest = np.minimum(np.minimum(arrays.sizes.limit, affordable), max_hosts)
    if not np.isfinite(highest).all():
        names = ", ".join(name for name, count in zip(arrays.sizes.type_names, highest, strict=True) if math.isinf(count))
        raise UnsupportedProblemError(
            f"hosts of type {names} cost nothing and have no limit, so that ever more of them may be ever better",
            "give the type a limit, or the free resources no weight",
            WITHOUT_COMBINATIONS,
        )
    kinds = len(highest)
    look("the combinations of hosts")
    combinations = float(np.prod(highest + 1))
    if combinations > MAX_COMBINATIONS:
        raise ProblemTooLargeError(
            f"{kinds} host types with up to {highest.max():.0f} hosts each have {amount(combinations)} combinations, more than "
            f"the {MAX_COMBINATIONS:,} that are looked at",
            "give the host types limits",
            WITHOUT_COMBINATIONS,
        )
    grid = flattened(np.indices([int(count) + 1 for count in highest])).T
    enough = (grid @ arrays.sizes.capacity * (1 + LIMIT_SLACK) >= arrays.min_counts @ arrays.sizes.needs).all(axis=1)
    slack = INCUMBENT_SLACK * max(1.0, abs(objective))
    reached = grid[enough & (grid @ arrays.price + min_penalty <= objective + slack)]
    entries = float(len(reached)) * reached.max(axis=0, initial=0).sum() * arrays.sizes.capacity.shape[1]
    what = f"{len(reached)} combinations of hosts that may be optimal"
    remedy = "give the host types limits, or give prices more weight relative to free resources"
    refuse_beyond_memory(entries * BYTES_PER_ENTRY, what, remedy, WITHOUT_COMBINATIONS)
    return reached
