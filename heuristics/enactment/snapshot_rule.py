"""Base of the rules for snapshots: eq. 1 on arrays, and instances and hosts beyond those that the load needs."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np

from edrp.core.arrays import Floats, Ints
from edrp.core.budget import LOOK, spend, units_left
from edrp.core.methods import Method, Options
from edrp.core.problem import RULES
from edrp.core.solution import Answer
from edrp.core.tolerances import MIN_HOST_SHARE, WHOLE_NUMBER_SLACK
from edrp.enactment.containers import MAX_INSTANCES
from edrp.enactment.sizes import UNNEEDED, fitting
from edrp.enactment.snapshot import EnactmentProblem
from edrp.heuristics.enactment.host_packing import Packing, PricedSizes
from edrp.heuristics.note_wording import judged_answer


class SnapshotTerms:
    """Eq. 1 over numbers of instances and hosts instead of documents.

    Attributes
    ----------
    host_cost : shape (types,), addition to the objective by a host of each type.
    free, lateness : weights of free shares and of an item that is left unserved.
    arriving, served : shape (operators,), items to be served within the horizon, and those that an instance serves.
    min_counts, max_counts : shape (operators,), fewest and most instances.
    """

    def __init__(self, problem: EnactmentProblem, sizes: PricedSizes) -> None:
        weights = problem.weights
        self.host_cost = weights.host_cost * sizes.price
        self.free = weights.free_resources
        self.lateness = weights.violations * problem.penalty
        self.arriving = np.array([problem.expected_violations(operator.name, 0) for operator in sizes.operators])
        self.served = np.array([problem.horizon / operator.occupied for operator in sizes.operators])
        self.min_counts = np.array([problem.minimum_instances[operator.name] for operator in sizes.operators])
        self.max_counts = np.array([operator.allowed_instances for operator in sizes.operators])
        self._need = sizes.needs

    def waiting(self, totals: Ints) -> Ints:
        """Instances missing to serve all arrivals, within the maximum of each operator, shape (operators,)."""
        missing = np.ceil(np.maximum(0.0, self.arriving / self.served - totals) - WHOLE_NUMBER_SLACK)
        return np.minimum(missing, MAX_INSTANCES).astype(np.int64)

    def value(self, totals: Ints, capacity: Floats, leased: Ints) -> float:
        """Compute the objective from instances per operator, resources of all hosts, and hosts per type."""
        shares = np.divide(totals @ self._need, capacity, out=np.ones_like(capacity), where=capacity > 0)
        late = np.maximum(0.0, self.arriving - totals * self.served).sum()
        return float(self.host_cost @ leased + self.free * (1 - shares).sum() + self.lateness * late)


def fill(packing: Packing, terms: SnapshotTerms) -> None:
    """Give the room on hosts that are leased anyway to operators that would leave items unserved, then to any that fill it.

    Eq. 1 counts free resources as a loss: with a weight on them, it pays to fill room even where no item waits.
    """
    totals, free = packing.totals, packing.free
    for host, kind in enumerate(packing.type.tolist()):
        more = _filling(packing.sizes, terms, free[host], kind, totals, packing.counts[host])
        packing.counts[host] += more
        totals += more


def lease_more(packing: Packing, terms: SnapshotTerms) -> None:
    """Lease and fill further hosts for items that would be left unserved while the objective falls, many equal hosts at a time.

    Where no item waits no host is leased, although free hosts would allow ever better mixtures of operators.
    """
    sizes = packing.sizes
    while units_left() > 0:
        totals, capacity, leased = packing.totals, packing.capacity.sum(axis=0), packing.leased
        value = terms.value(totals, capacity, leased)
        best, lowest = None, value
        spend(LOOK * sizes.room.size)
        for kind in np.flatnonzero(leased < sizes.max_hosts).tolist():
            more = _filling(sizes, terms, sizes.capacity[kind], kind, totals, np.zeros_like(totals))
            if not more[terms.waiting(totals) > 0].any():
                continue
            one = np.arange(len(leased)) == kind
            for times in sorted({1, _equal_hosts(more, totals, terms, int(sizes.max_hosts[kind] - leased[kind]))}):
                after = terms.value(totals + times * more, capacity + times * sizes.capacity[kind], leased + times * one)
                if after < lowest:
                    best, lowest = (kind, more, times), after
        if best is None:
            return
        kind, more, times = best
        packing.lease(kind, times)
        packing.counts[-times:] = more


def _equal_hosts(more: Ints, totals: Ints, terms: SnapshotTerms, limit: int) -> int:
    """Number of equal hosts to add: half of those for which items wait, within all limits."""
    waiting = terms.waiting(totals)
    late, added = (more > 0) & (waiting > 0), more > 0
    allowed = ((terms.max_counts - totals)[added] // more[added]).min(initial=limit)
    return max(1, int((waiting[late] // more[late]).min(initial=allowed)) // 2)


def _filling(sizes: PricedSizes, terms: SnapshotTerms, free: Floats, kind: int, totals: Ints, present: Ints) -> Ints:
    """Number of instances to add on one host of a type with those present on it, shape (operators,)."""
    free_left, more, capacity = free.copy(), np.zeros(len(totals), np.int64), sizes.capacity[kind]
    share = np.divide(sizes.needs, capacity, out=np.zeros_like(sizes.needs), where=capacity > 0)

    def put(operator: int, number: int) -> None:
        allowed = min(number, int(terms.max_counts[operator] - totals[operator] - more[operator]))
        if allowed > 0 and sizes.room[kind, operator] and not sizes.barred(operator, present + more):
            count = min(allowed, int(fitting(free_left[None], capacity[None], sizes.needs[operator])[0]))
            more[operator] += count
            free_left[:] -= count * sizes.needs[operator]

    if terms.lateness:
        waiting = terms.waiting(totals)
        worth = terms.served / np.maximum(share.max(axis=1), MIN_HOST_SHARE)
        for operator in np.argsort(-worth, kind="stable").tolist():
            put(operator, int(waiting[operator]))
    if terms.free:
        for operator in _by_use(np.divide(free_left, capacity, out=np.zeros_like(free_left), where=capacity > 0), share):
            put(operator, UNNEEDED)
    return more


def _by_use(free: Floats, share: Floats) -> list[int]:
    """Sort operators by how well they fill a host; `share` has shape (operators, resources)."""
    count = np.divide(free, share, out=np.full(share.shape, np.inf), where=share > 0).min(axis=1)
    use = np.where(np.isfinite(count), np.floor(count + WHOLE_NUMBER_SLACK), 0.0) * share.sum(axis=1)
    return [operator for operator in np.argsort(-use, kind="stable").tolist() if use[operator] > 0]


class SnapshotRule(Method):
    """Base of methods for `enactment` that pack by a simple rule; no answer where that breaks a limit."""

    kinds = ("enactment",)
    takes = frozenset({RULES})

    def run(self, problem: EnactmentProblem, options: Options) -> Answer:
        """Apply the rule once."""
        parameters = self.read_parameters(options)
        packing = self.packed(problem, parameters)
        if isinstance(packing, str):
            return Answer("none", "finished", notes=(packing,))
        return judged_answer(problem, packing.host_documents(), self.name)

    @abstractmethod
    def packed(self, problem: EnactmentProblem, parameters: Any) -> Packing | str:
        """Make the packing of the rule, or return a note on the instances that find no room."""
