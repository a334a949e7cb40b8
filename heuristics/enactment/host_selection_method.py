"""The paper's host selection for the snapshot problem: the running instances are changed one by one (Alg. 2, Fig. 5)."""

from __future__ import annotations

import numpy as np

from edrp.core.arrays import Ints
from edrp.core.budget import LOOK, look, spend, units_left
from edrp.enactment.snapshot import EnactmentProblem
from edrp.heuristics.enactment.first_fit_decreasing import fewest_packed
from edrp.heuristics.enactment.host_packing import Packing, PricedSizes
from edrp.heuristics.enactment.host_selection import place
from edrp.heuristics.enactment.snapshot_rule import SnapshotRule, SnapshotTerms, lease_more


class HostSelection(SnapshotRule):
    """Changes the current deployment: adds the instances that the load needs by Alg. 2, and gives hosts up as in Fig. 5.

    Instances and hosts that break a limit are removed first. Then every operator gets its fewest instances, the largest
    first, each on the host that suits it best, or on one that is leased for it; where limits of host types prevent that, all
    are placed again by first fit. Operators that would leave items unserved get more while there is room, and further hosts
    while the objective falls. Finally hosts are given up, the emptiest first, where that lowers the objective: instances
    beyond those that the load needs are removed with them, the others migrate by Alg. 2.

    Other instances beyond what the load needs stay, as the policy of the paper lets them until a host is given up.
    """

    name = "host-selection"
    summary = "what runs now, changed instance by instance: the paper's host selection"

    def packed(self, problem: EnactmentProblem, parameters: object) -> Packing | str:
        """Restore the limits, add instances, give up hosts."""
        sizes = PricedSizes.priced(problem.application.operators, problem.host_types, problem.apart)
        terms = SnapshotTerms(problem, sizes)
        packing = Packing(sizes, problem.current)
        restore_limits(packing, terms)
        for index in sizes.decreasing():
            missing = place(packing, index, int(terms.min_counts[index] - packing.totals[index]), lease=True)
            if missing:
                repacked = fewest_packed(sizes, terms.min_counts)
                if isinstance(repacked, str):
                    return repacked
                packing = repacked
                break
        if terms.lateness:
            for index, number in enumerate(np.minimum(terms.waiting(packing.totals), terms.max_counts - packing.totals).tolist()):
                place(packing, index, number, lease=False)
            lease_more(packing, terms)
        return without_needless_hosts(packing, terms)


def restore_limits(packing: Packing, terms: SnapshotTerms) -> None:
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
        for _ in range(number):
            look("a packing")
            hosts = np.flatnonzero(packing.counts[:, operator])
            packing.counts[hosts[np.argmin(packing.counts[hosts].sum(axis=1))], operator] -= 1


def without_needless_hosts(packing: Packing, terms: SnapshotTerms) -> Packing:
    """The packing without the hosts whose removal lowers the objective (Fig. 5)."""
    needed_counts = np.maximum(terms.min_counts, np.minimum(terms.waiting(np.zeros_like(terms.min_counts)), terms.max_counts))
    if not terms.lateness:
        needed_counts = terms.min_counts
    for name in [packing.hosts[index].name for index in np.argsort(packing.counts.sum(axis=1), kind="stable")]:
        if units_left() <= 0:
            break
        spend(LOOK * needed_counts.size)
        host = [host.name for host in packing.hosts].index(name)
        plan = _without_host(packing, host, needed_counts)
        if plan is not None and _objective(plan, terms) < _objective(packing, terms):
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


def _objective(packing: Packing, terms: SnapshotTerms) -> float:
    return terms.value(packing.totals, packing.capacity.sum(axis=0), packing.leased)
