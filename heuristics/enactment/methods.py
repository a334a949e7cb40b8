"""Methods for snapshots and leases that follow a rule: first fit decreasing, host selection and first-fit leases."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from edrp.core.arrays import Floats, Ints
from edrp.core.budget import LOOK, look, spend, units_left
from edrp.core.errors import OutOfTimeError
from edrp.core.methods import Method, Options
from edrp.core.problem import RULES
from edrp.core.solution import Answer
from edrp.core.tolerances import MIN_HOST_SHARE, WHOLE_NUMBER_SLACK
from edrp.enactment.change_prices import named_as_running
from edrp.enactment.containers import MAX_INSTANCES, UNNEEDED, Host, fitting
from edrp.enactment.leasing import LeasingProblem, PlannedHost
from edrp.enactment.snapshot import CHANGES, EnactmentArrays, EnactmentProblem
from edrp.heuristics.enactment.host_packing import Packing, PricedSizes, place, spread
from edrp.heuristics.note_wording import judged_answer


def fill(packing: Packing, terms: EnactmentArrays) -> None:
    """Give the room on hosts that are leased anyway to operators that would leave items unserved, then to any that fill it.

    Eq. 1 counts free resources as a loss: with a weight on them, it pays to fill room even where no item waits.
    """
    totals, free = packing.totals, packing.free
    for host, kind in enumerate(packing.type.tolist()):
        more = _filling(packing.sizes, terms, free[host], kind, totals, packing.counts[host])
        packing.counts[host] += more
        totals += more


def lease_more(packing: Packing, terms: EnactmentArrays) -> None:
    """Lease and fill further hosts for items that would be left unserved while the objective falls, many equal hosts at a time.

    Where no item waits no host is leased, although free hosts would allow ever better mixtures of operators.
    """
    sizes = packing.sizes
    while units_left() > 0:
        totals, capacity, leased = packing.totals, packing.capacity.sum(axis=0), packing.leased
        value = terms.objective(leased, totals, capacity)
        best, lowest = None, value
        spend(LOOK * sizes.room.size)
        for kind in np.flatnonzero(leased < sizes.max_hosts).tolist():
            more = _filling(sizes, terms, sizes.capacity[kind], kind, totals, np.zeros_like(totals))
            if not more[_waiting(terms, totals) > 0].any():
                continue
            one = np.arange(len(leased)) == kind
            for times in sorted({1, _equal_hosts(more, totals, terms, int(sizes.max_hosts[kind] - leased[kind]))}):
                after = terms.objective(leased + times * one, totals + times * more, capacity + times * sizes.capacity[kind])
                after += times * (terms.start_host + terms.start_instance * float(more.sum()))
                if after < lowest:
                    best, lowest = (kind, more, times), after
        if best is None:
            return
        kind, more, times = best
        packing.lease(kind, times)
        packing.counts[-times:] = more


def _waiting(terms: EnactmentArrays, totals: Ints) -> Ints:
    """Instances missing to serve all arrivals, within the maximum of each operator, shape (operators,)."""
    missing = np.ceil(np.maximum(0.0, terms.arriving / terms.served - totals) - WHOLE_NUMBER_SLACK)
    return np.minimum(missing, MAX_INSTANCES).astype(np.int64)


def _equal_hosts(more: Ints, totals: Ints, terms: EnactmentArrays, limit: int) -> int:
    """Number of equal hosts to add: half of those for which items wait, within all limits."""
    waiting = _waiting(terms, totals)
    late, added = (more > 0) & (waiting > 0), more > 0
    allowed = int(((terms.max_counts - totals)[added] // more[added]).min(initial=limit))
    return max(1, int((waiting[late] // more[late]).min(initial=allowed)) // 2)


def _filling(sizes: PricedSizes, terms: EnactmentArrays, free: Floats, kind: int, totals: Ints, present: Ints) -> Ints:
    """Number of instances to add on one host of a type with those present on it, shape (operators,)."""
    free_left, more, capacity = free.copy(), np.zeros(len(totals), np.int64), sizes.capacity[kind]
    share = np.divide(sizes.needs, capacity, out=np.zeros_like(sizes.needs), where=capacity > 0)

    def put(operator: int, number: int) -> None:
        allowed = min(number, int(terms.max_counts[operator] - totals[operator] - more[operator]))
        if allowed > 0 and sizes.room[kind, operator] and not sizes.barred(operator, present + more):
            count = min(allowed, int(fitting(free_left[None], capacity[None], sizes.needs[operator])[0]))
            more[operator] += count
            free_left[:] -= count * sizes.needs[operator]

    if terms.late:
        waiting = _waiting(terms, totals)
        worth = terms.served / np.maximum(share.max(axis=1), MIN_HOST_SHARE)
        for operator in np.argsort(-worth, kind="stable").tolist():
            put(operator, int(waiting[operator]))
    if terms.filling:
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


@dataclass(frozen=True, slots=True)
class FirstFitDecreasingParameters:
    """Parameters of first-fit decreasing; `extra`: place more instances than the load needs where that lowers eq. 1."""

    extra: bool = True


class FirstFitDecreasing(SnapshotRule):
    """Places the fewest instances, largest first, each on the first host with room; then more where that lowers eq. 1.

    Hosts are leased by price per instance of the operator that finds no room. Where limits of host types leave some
    operator without a place, a second attempt begins with those that have the fewest places, and a third spreads all over
    all hosts that may be leased.

    Room that is paid for is then given to operators that would leave items unserved, the most items per share of a host
    first, and the remaining room to those that fill it best, as eq. 1 counts free resources as a loss. Further hosts are leased,
    and filled in the same way, while the objective falls. The instances that run now play no part.
    """

    name = "first-fit-decreasing"
    summary = "instances by size, each on the first host with room; then more of them where that pays"
    parameters = FirstFitDecreasingParameters

    def packed(self, problem: EnactmentProblem, parameters: FirstFitDecreasingParameters) -> Packing | str:
        """Pack the fewest instances, then more where they lower the objective."""
        sizes = PricedSizes.priced(problem.application.operators, problem.host_types, problem.apart)
        terms = EnactmentArrays.of(problem, sizes)
        packing = fewest_packed(sizes, terms.min_counts)
        if isinstance(packing, Packing) and parameters.extra:
            fill(packing, terms)
            lease_more(packing, terms)
        return packing


def fewest_packed(sizes: PricedSizes, fewest: Ints) -> Packing | str:
    """The fewest instances, shape (operators,), by first fit in up to three attempts; or which find no room in the second."""
    decreasing = sizes.decreasing()
    possible_places = (sizes.room.T * np.minimum(sizes.max_hosts, UNNEEDED)).sum(axis=1) / np.maximum(fewest, 1)
    for order in (decreasing, sorted(decreasing, key=possible_places.__getitem__)):
        packing = Packing(sizes)
        missing = {index: packing.first_fit(index, int(fewest[index])) for index in order}
        if not any(missing.values()):
            return packing
    unplaced = [f"{count} of {sizes.operators[index].name}" for index, count in missing.items() if count]
    return spread(sizes, fewest) or f"no room for {', '.join(unplaced)}"


class HostSelection(SnapshotRule):
    """Changes the current deployment: adds the instances that the load needs by Alg. 2, and gives hosts up as in Fig. 5.

    Instances and hosts that break a limit are removed first. Then every operator gets its fewest instances, the largest
    first, each on the host that suits it best, or on one that is leased for it; where limits of host types prevent that, all
    are placed again by first fit. Operators that would leave items unserved get more while there is room, and further hosts
    while the objective falls. Finally hosts are given up, the emptiest first, where that lowers the objective: instances
    beyond those that the load needs are removed with them, the others migrate by Alg. 2.

    Other instances beyond what the load needs stay, as the policy of the paper lets them until a host is given up. Prices of
    changes are part of the objective by which hosts are given up and further ones are leased.
    """

    takes = frozenset({RULES, CHANGES})
    name = "host-selection"
    summary = "what runs now, changed instance by instance: the paper's host selection"

    def packed(self, problem: EnactmentProblem, parameters: object) -> Packing | str:
        """Restore the limits, add instances, give up hosts."""
        sizes = PricedSizes.priced(problem.application.operators, problem.priced_types, problem.apart)
        terms = EnactmentArrays.of(problem, sizes)
        packing = Packing(sizes, problem.current)
        restore_limits(packing, terms)
        for index in sizes.decreasing():
            missing = place(packing, index, int(terms.min_counts[index] - packing.totals[index]), lease=True)
            if missing:
                repacked = fewest_packed(sizes, terms.min_counts)
                if isinstance(repacked, str):
                    return repacked
                packing = repacked
                if problem.changes is not None:
                    packing = Packing(sizes, named_as_running(problem.current, repacked.host_documents()))
                break
        if terms.late:
            for index, number in enumerate(
                np.minimum(_waiting(terms, packing.totals), terms.max_counts - packing.totals).tolist()
            ):
                place(packing, index, int(number), lease=False)
            lease_more(packing, terms)
        return without_needless_hosts(packing, terms, problem.current)


def restore_limits(packing: Packing, terms: EnactmentArrays) -> None:
    """Remove hosts beyond the limit of their type, and instances that may not be on their host, share it or find no room."""
    sizes = packing.sizes
    for kind in range(len(sizes.types)):
        while packing.leased[kind] > sizes.max_hosts[kind]:
            look("a packing")
            hosts = np.flatnonzero(packing.type == kind)
            packing.drop(int(hosts[np.argmin(packing.counts[hosts].sum(axis=1))]))
    packing.counts[sizes.room[packing.type] == 0] = 0
    for host in range(len(packing.hosts)):
        while (clashing := (present := packing.counts[host] > 0) & (sizes.apart @ present)).any():
            packing.counts[host, np.flatnonzero(clashing)[packing.counts[host, clashing].argmin()]] = 0
        while (short := packing.free[host] < -packing.slack[host]).any():
            look("a packing")
            users = np.where((sizes.needs[:, short] > 0).any(axis=1), packing.counts[host], 0)
            packing.counts[host, int(np.argmax(users))] -= 1
    for operator, number in enumerate((packing.totals - terms.max_counts).tolist()):
        for _ in range(int(number)):
            look("a packing")
            hosts = np.flatnonzero(packing.counts[:, operator])
            packing.counts[hosts[np.argmin(packing.counts[hosts].sum(axis=1))], operator] -= 1


def without_needless_hosts(packing: Packing, terms: EnactmentArrays, current: Sequence[Host] = ()) -> Packing:
    """The packing without the hosts whose removal lowers the objective (Fig. 5), prices of changes of `current` included."""
    needed_counts = np.maximum(terms.min_counts, np.minimum(_waiting(terms, np.zeros_like(terms.min_counts)), terms.max_counts))
    if not terms.late:
        needed_counts = terms.min_counts
    for name in [packing.hosts[index].name for index in np.argsort(packing.counts.sum(axis=1), kind="stable")]:
        if units_left() <= 0:
            break
        spend(LOOK * needed_counts.size)
        host = [host.name for host in packing.hosts].index(name)
        plan = _without_host(packing, host, needed_counts)
        if plan is not None and _objective(plan, terms, current) < _objective(packing, terms, current):
            packing = plan
    return packing


def _without_host(packing: Packing, host: int, needed_counts: Ints) -> Packing | None:
    """Copy the packing without a host: surplus instances are removed, the others moved; None where they find no room."""
    plan = packing.copy()
    surplus = np.maximum(0, packing.totals - needed_counts)
    moving = plan.counts[host] - np.minimum(plan.counts[host], surplus)
    plan.counts[host] = 0
    for operator in packing.sizes.decreasing():
        if place(plan, operator, int(moving[operator]), lease=False, without=host):
            return None
    plan.drop(host)
    return plan


def _objective(packing: Packing, terms: EnactmentArrays, current: Sequence[Host]) -> float:
    objective = terms.objective(packing.leased, packing.totals, packing.capacity.sum(axis=0))
    if terms.start_instance or terms.start_host:
        running = Packing(packing.sizes, current)
        now = {(host.name, host.type): counts for host, counts in zip(running.hosts, running.counts, strict=True)}
        kept = [now.get((host.name, host.type)) for host in packing.hosts]
        before = np.array([packing.counts[0] * 0 if counts is None else counts for counts in kept]).reshape(packing.counts.shape)
        objective += terms.start_instance * float(np.maximum(packing.counts - before, 0).sum())
        objective += terms.start_host * sum(counts is None for counts in kept)
    return objective


@dataclass(slots=True)
class _Lease:
    """A host in the plan of leases; `end` is the first period that is not paid."""

    name: str
    type: str
    end: int
    first: int = 0
    units: int = 0
    instances: dict[int, dict[str, int]] = field(default_factory=dict)

    def prolong(self, period: int, length: int) -> bool:
        """Pay the host for a period, by another unit if needed; False where a gap between units would arise."""
        if period < self.end:
            return True
        if self.units and period > self.end:
            return False
        self.first = self.first if self.units else period
        self.units, self.end = self.units + 1, period + length
        return True


class FirstFitLeases(Method):
    """Packs the fewest instances of each period by first-fit decreasing; hosts are leased when they are first needed.

    The host that is packed as the k-th one of its type is the k-th one of that type in all periods: one that is leased already,
    while there are any. A unit is bought in the period in which a host is needed and not paid; after a pause, for a new lease.
    """

    name = "first-fit-leases"
    summary = "instances by size, each on the first host with room, in each period; units when they are needed"
    kinds = ("leasing",)

    def run(self, problem: LeasingProblem, options: Options) -> Answer:
        """Apply the rule once."""
        self.read_parameters(options)
        try:
            leases = list(_leases(problem))
        except _NoRoomError as error:
            return Answer("none", "finished", notes=(str(error),))
        except OutOfTimeError as error:
            return Answer("none", "time_limit", notes=(str(error),))
        periods = range(len(problem.forecast))
        decision = tuple(
            PlannedHost(
                name=lease.name,
                type=lease.type,
                first=lease.first,
                units=lease.units,
                instances=tuple(lease.instances.get(period, {}) for period in periods),
            )
            for lease in leases
        )
        return judged_answer(problem, decision, self.name)


class _NoRoomError(Exception):
    """Raised when the instances of a period find no room."""


def _leases(problem: LeasingProblem) -> Iterator[_Lease]:
    sizes = PricedSizes.priced(problem.application.operators, problem.host_types, per_second=True)
    leases_by_type = {
        kind.name: [_Lease(host.name, host.type, host.paid_periods) for host in problem.leased if host.type == kind.name]
        for kind in problem.host_types
    }
    used_names, packed = {host.name for host in problem.leased}, dict[tuple[int, ...], Packing]()
    yield from (lease for leases in leases_by_type.values() for lease in leases)
    for period, fewest in enumerate(problem.minimum_instances):
        counts = tuple(fewest[operator.name] for operator in sizes.operators)
        if counts not in packed:
            look("the leases")
            packing = fewest_packed(sizes, np.array(counts))
            if isinstance(packing, str):
                raise _NoRoomError(f"period {period}: {packing}")
            packed[counts] = packing
        numbers = dict.fromkeys(leases_by_type, 0)
        for host in packed[counts].host_documents():
            slots, number, length = leases_by_type[host.type], numbers[host.type], problem.unit_periods(host.type)
            numbers[host.type] += 1
            if number == len(slots) or not slots[number].prolong(period, length):
                lease = _Lease(_unused(used_names), host.type, 0)
                lease.prolong(period, length)
                slots[number : number + 1] = [lease]
                yield lease
            slots[number].instances[period] = dict(host.instances)


def _unused(used_names: set[str]) -> str:
    """Return an unused host name, and add it to the used ones."""
    number = len(used_names) + 1
    while f"host-{number}" in used_names:
        number += 1
    used_names.add(f"host-{number}")
    return f"host-{number}"


METHODS = (FirstFitDecreasing(), HostSelection(), FirstFitLeases())
"""Methods for problems of kinds `enactment` and `leasing`."""
