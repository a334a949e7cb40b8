"""Instances packed into given hosts by best fit, and hosts filled up: where proofs of enactment start.

Instances packed into given hosts that they nearly fill, by exchanges between two hosts, each the best of billions.

Whether instances fit into a few hosts is seldom a question of bounds: a hundred instances have enough arrangements for some of
them to leave next to nothing free on every host. An exchange finds one host's share of it. All small sets of instances that may
leave a host are listed, and all that may come from another one; sorted by the scarcest resource, the two lists hold the best pair
side by side (the meeting in the middle of Horowitz and Sahni, *Computing partitions*, 1974).

Compositions, which are numbers of hosts of each type that may be optimal, and their bounds by resources in aggregate.

For a given composition the free shares of eq. 1 are linear in the instances, so the whole problem is: which composition,
how many instances, and do they fit (two-dimensional vector packing). Few compositions lie between the area bound and
what best fit finds.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from edrp.core.arrays import Bools, Floats, Ints, flattened
from edrp.core.budget import LOOK, amount, look, refuse_beyond_memory, spend, units_left
from edrp.core.errors import ProblemTooLargeError, UnsupportedProblemError
from edrp.core.tolerances import INCUMBENT_SLACK, LIMIT_SLACK, SUM_ROUNDING
from edrp.enactment.containers import UNNEEDED, Sizes
from edrp.enactment.snapshot import EnactmentArrays, EnactmentProblem


def enactment_arrays(problem: EnactmentProblem) -> EnactmentArrays:
    """The problem as arrays; no more instances are allowed than those with which something can be gained."""
    sizes = Sizes.of(problem.application.operators, problem.host_types, problem.apart)
    arrays = EnactmentArrays.of(problem, sizes)
    fills = arrays.filling * sizes.needs.sum(axis=1) > 0
    in_time = np.ceil(arrays.arriving / arrays.served) if arrays.late > 0 else np.zeros(len(fills))
    arrays.max_counts[~fills] = np.minimum(arrays.max_counts, np.maximum(arrays.min_counts, in_time))[~fills]
    return arrays


ENTRY_WORK = 2e-8
"""Units of work for a resource of a host when a place for an instance is looked for."""

Contents = Ints
"""Shape (hosts, O): instances of each operator on each host."""


def pack(sizes: Sizes, counts: Sequence[int], types: Sequence[int]) -> Contents | None:
    """Pack instances of each operator into hosts of the given types by best fit; None where some find no room.

    Operators that few types can run go first, then the largest; each instance goes where least is left.
    """
    packed = pack_openly(sizes, counts, (), types)
    return None if packed is None else packed[1]


def pack_openly(
    sizes: Sizes, counts: Sequence[int], ranked: Sequence[int], host_types: Sequence[int] = ()
) -> tuple[list[int], Contents] | None:
    """Pack into hosts of given types, adding one of the first type in `ranked` that may run the instance where none has room.

    Returns
    -------
    tuple
        Types of the hosts, and their contents; None where limits forbid another host.
    """
    remaining, types = sizes.limit.copy(), list(host_types)
    contents, free = np.zeros((len(types), len(sizes.operators)), np.int64), _with_slack(sizes, types)
    for operator in packing_order(sizes):
        left = int(counts[operator])
        while left:
            look("a first packing")
            host = _tightest(sizes, types, free, contents, operator)
            if host is None:
                kind = next((k for k in ranked if remaining[k] >= 1 and sizes.room[k, operator]), None)
                if kind is None:
                    return None
                remaining[kind] -= 1
                types.append(kind)
                contents = np.vstack([contents, np.zeros(contents.shape[1], np.int64)])
                free = np.vstack([free, _with_slack(sizes, [kind])])
                host = len(types) - 1
            # It stays the tightest one until it is full.
            taken = min(left, _repeats(free[host], sizes.needs[operator]))
            contents[host, operator] += taken
            free[host] -= taken * sizes.needs[operator]
            left -= taken
    return types, contents


def _repeats(free: Floats, needs: Floats) -> int:
    """Number of instances that fit into what is free, at least one."""
    used = needs > 0
    count = math.floor(min((free[used] / needs[used]).tolist(), default=UNNEEDED))
    return max(1, count if (count * needs <= free).all() else count - 1)


def fill(arrays: EnactmentArrays, types: Sequence[int], contents: Contents) -> Contents:
    """Add the instance that gains most where it fits tightest, as long as one gains."""
    sizes, contents = arrays.sizes, contents.copy()
    free = _with_slack(sizes, types) - contents @ sizes.needs
    reward = rewards(arrays, sizes.capacity[list(types)].sum(axis=0))
    counts = contents.sum(axis=0)
    possible = np.ones(len(counts), bool)
    while True:
        look("a first packing")
        gain = reward + arrays.late * (arrays.violations(counts) - arrays.violations(counts + 1))
        gain[~possible | (counts >= arrays.max_counts)] = 0.0
        operator = int(gain.argmax())
        if gain[operator] <= 0:
            return contents
        host = _tightest(sizes, types, free, contents, operator)
        if host is None:
            possible[operator] = False
            continue
        contents[host, operator] += 1
        counts[operator] += 1
        free[host] -= sizes.needs[operator]


def rewards(arrays: EnactmentArrays, offered: Floats) -> Floats:
    """Reduction of the weighted free shares (eq. 1) by one instance of each operator, shape (O,), on hosts that offer (R,)."""
    return arrays.filling * (arrays.sizes.needs @ np.divide(1.0, offered, out=np.zeros_like(offered), where=offered > 0))


def packing_order(sizes: Sizes) -> list[int]:
    """Operators in the order in which they are packed."""
    largest = sizes.capacity.max(axis=0, initial=0.0)
    shares = sizes.needs / np.where(largest > 0, largest, 1.0)
    runs_on = (sizes.room > 0).sum(axis=0)
    return sorted(range(len(runs_on)), key=lambda o: (runs_on[o], -shares[o].max(initial=0.0), o))


def _with_slack(sizes: Sizes, types: Sequence[int]) -> Floats:
    return sizes.capacity[list(types)] * (1 + LIMIT_SLACK)


def _tightest(sizes: Sizes, types: Sequence[int], free: Floats, contents: Contents, operator: int) -> int | None:
    """The host that may take an instance and has least free, as the sum of the shares of its resources."""
    if not types:
        return None
    spend(ENTRY_WORK * free.size)
    kinds = np.array(types)
    fits = (free >= sizes.needs[operator]).all(axis=1) & (sizes.room[kinds, operator] > 0)
    if sizes.apart[operator].any():
        fits &= ~sizes.barred(operator, contents)
    if not fits.any():
        return None
    capacity = sizes.capacity[kinds]
    free_share = np.divide(free, capacity, out=np.zeros_like(free), where=capacity > 0).sum(axis=1)
    return int(np.where(fits, free_share, np.inf).argmin())


MAX_SETS = 3_000, 60_000
"""Sets of instances that are listed for a host, in the first `QUICK_ROUNDS` and in the others; of more, some are drawn."""

QUICK_ROUNDS = 2
"""Turns with the shorter lists: enough where hosts are not quite full."""

MAX_MOVED = 12
"""Number of instances in the largest sets."""

MAX_ROUNDS, MAX_IDLE_ROUNDS, INSTANCES_PER_ROUND = 12, 3, 4
"""Turns of all hosts before the search gives up, fewer where there are few instances, and turns without any exchange.

Most packings take two turns."""

NEIGHBOURS = 6
"""Sets looked at for each set of the other list: the next ones that leave the scarcest resource least free."""

SET_WORK = 4e-7
"""Units of work for a set of instances, listed, sorted and compared."""


def pack_by_exchanges(
    sizes: Sizes, counts: Ints, types: Sequence[int], until: float = -np.inf, rounds: int = MAX_ROUNDS
) -> Contents | None:
    """Pack instances of each operator into hosts of the given types by exchanges; None where none is found that fits.

    All are placed where most is left, full or not. Then one host after the other exchanges instances with one that comes later,
    so that it is full and not overfull; the last one bears the rest. What is free in all is what the hosts before it may leave.
    Nothing is found either where less than `until` is left of the time, after a number of `rounds`, or where operators may not
    share hosts, which exchanges do not look at.
    """
    kinds = np.array(types, np.int64)
    may_run = np.any(sizes.room[kinds] > 0, axis=0)
    if sizes.apart.any() or not kinds.size or not may_run[counts > 0].all():
        return None
    packing = _Packing(sizes, kinds, _placed(sizes, counts, kinds))
    if (packing.free.sum(axis=0) < 0).any():
        return None
    generator, idle = np.random.default_rng(0), 0
    for number in range(min(rounds, QUICK_ROUNDS + int(counts.sum()) // INSTANCES_PER_ROUND)):
        packing.max_sets = MAX_SETS[number >= QUICK_ROUNDS]
        if (packing.free >= 0).all():
            return packing.contents
        order, before = generator.permutation(kinds.size), packing.contents.copy()
        for place, host in enumerate(order[:-1]):
            if units_left() < until:
                return None
            if not packing.full(host):
                packing.exchange(int(host), int(generator.choice(order[place + 1 :])), generator)
        idle = idle + 1 if (packing.contents == before).all() else 0
        if idle == MAX_IDLE_ROUNDS:
            return None
    return packing.contents if (packing.free >= 0).all() else None


class _Sets(NamedTuple):
    """Sets of instances (M, O) of some operators (O,), and the resources that they need (M, R)."""

    operators: Ints
    counts: NDArray[np.int8]
    needs: Floats


class _Packing:
    """Contents of hosts, which exchange instances.

    Attributes
    ----------
    contents : shape (hosts, O).
    free : shape (hosts, R), negative where a host is overfull.
    max_sets : sets that are listed for a host.
    """

    max_sets: int

    def __init__(self, sizes: Sizes, kinds: Ints, contents: Contents) -> None:
        self.sizes, self.contents = sizes, contents
        self.allowed: Bools = sizes.room[kinds] > 0
        self.capacity = sizes.capacity[kinds] * (1 + LIMIT_SLACK)
        self.free = self.capacity - contents @ sizes.needs
        total = self.capacity.sum(axis=0)
        self.price = 1.0 / np.maximum(self.free.sum(axis=0), LIMIT_SLACK * np.where(total > 0, total, 1.0))
        self.scarcest = int((self.price * total).argmax()) if total.size else 0

    def full(self, host: int) -> bool:
        """Whether a host is not overfull, and leaves no more than its share of what all of them may leave."""
        free = self.free[host]
        return bool((free >= 0).all() and (free * self.price).max(initial=0.0) * len(self.free) <= 1.0)

    def exchange(self, host: int, other: int, generator: np.random.Generator) -> None:
        """Exchange the instances of two hosts that leave the first one least free; nothing where it would stay overfull."""
        leaving = self._sets(np.where(self.allowed[other], self.contents[host], 0), generator)
        coming = self._sets(np.where(self.allowed[host], self.contents[other], 0), generator)
        order = np.argsort(coming.needs[:, self.scarcest], kind="stable")
        needs, free = coming.needs[order], self.free[host] + leaving.needs
        place = np.searchsorted(needs[:, self.scarcest], free[:, self.scarcest], side="right") - 1
        least, best = np.inf, (0, 0)
        for back in range(NEIGHBOURS):
            left = free - needs[np.maximum(place - back, 0)]
            fits = (place >= back) & (left >= 0).all(axis=1)
            score = np.where(fits, left @ self.price, np.inf)
            index = int(score.argmin())
            if score[index] < least:
                least, best = score[index], (index, int(order[place[index] - back]))
        if np.isfinite(least):
            change = np.zeros(self.contents.shape[1], np.int64)
            change[leaving.operators] -= leaving.counts[best[0]]
            change[coming.operators] += coming.counts[best[1]]
            for index, sign in ((host, 1), (other, -1)):
                self.contents[index] += sign * change
                self.free[index] = self.capacity[index] - self.contents[index] @ self.sizes.needs

    def _sets(self, available: Ints, generator: np.random.Generator) -> _Sets:
        """List sets of the available instances (O,), the smallest first."""
        operators = np.flatnonzero(available)
        layer, last = np.zeros((1, operators.size), np.int8), np.zeros(1, np.int64)
        layers = [layer]
        for _ in range(MAX_MOVED):
            # One instance more, of the operator that came last or of a later one: every set is listed once.
            added = [np.flatnonzero((last <= index) & (layer[:, index] < available[o])) for index, o in enumerate(operators)]
            last = np.repeat(np.arange(operators.size), [rows.size for rows in added])
            layer = layer[np.concatenate([*added, np.zeros(0, np.int64)])]
            layer[np.arange(last.size), last] += 1
            room = self.max_sets - sum(map(len, layers))
            if len(layer) > room:
                layers.append(layer[generator.choice(len(layer), room, replace=False)])
                break
            layers.append(layer)
        counts = np.concatenate(layers)
        spend(LOOK + SET_WORK * len(counts))
        return _Sets(operators, counts, counts @ self.sizes.needs[operators])


def _placed(sizes: Sizes, counts: Ints, kinds: Ints) -> Contents:
    """Every instance where the scarcest resource would be least short."""
    contents = np.zeros((kinds.size, counts.size), np.int64)
    offered = np.where(sizes.capacity[kinds] > 0, sizes.capacity[kinds], 1.0)
    free = sizes.capacity[kinds].copy()
    for operator in packing_order(sizes):
        spend((LOOK + ENTRY_WORK * free.size) * int(counts[operator]))
        for _ in range(int(counts[operator])):
            free_share = ((free - sizes.needs[operator]) / offered).min(axis=1, initial=np.inf)
            host = int(np.where(sizes.room[kinds, operator] > 0, free_share, -np.inf).argmax())
            contents[host, operator] += 1
            free[host] -= sizes.needs[operator]
    return contents


MAX_PACKED = 50
"""Largest number of compositions that are packed by best fit in search of a good incumbent."""

MAX_FAILURES, EXCHANGED_SHARE = 3, 0.8
"""Compositions that neither best fit nor exchanges can pack, after which exchanges are no longer tried, and the share of the time
that is left afterwards."""

WITHOUT_COMBINATIONS = ("first-fit-decreasing",)
"""Methods that do not list combinations."""

MAX_COMBINATIONS = 20_000_000
"""Most combinations of numbers of hosts: to say which of them cost too much takes a second then, and a GiB."""

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
    counts, bounds, failures, until = counts[order], bounds[order], 0, EXCHANGED_SHARE * units_left()
    for hosts, bound in zip(counts[:MAX_PACKED], bounds, strict=False):
        if not bound < objective:
            break
        kinds = np.repeat(np.arange(hosts.size), hosts).tolist()
        packed = pack(arrays.sizes, arrays.min_counts.tolist(), kinds)
        if packed is None and failures < MAX_FAILURES:  # best fit leaves too much free on hosts that are nearly full
            packed = pack_by_exchanges(arrays.sizes, arrays.min_counts, kinds, until, QUICK_ROUNDS)
            failures += packed is None
        if packed is not None:
            packed = fill(arrays, kinds, packed)
            reached = composition_objective(arrays, hosts, packed.sum(axis=0))
            if reached < objective:
                types, contents, objective = kinds, packed, reached
    return Compositions(counts, bounds, types, contents, objective).that_may_be_optimal(allowance)


def composition_objective(arrays: EnactmentArrays, hosts: Ints, counts: Ints) -> float:
    """Objective (eq. 1) of numbers of hosts of each type (K,) and of instances of each operator (O,)."""
    return arrays.objective(hosts, counts, hosts @ arrays.sizes.capacity)


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
