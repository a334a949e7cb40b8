"""First-fit decreasing for the snapshot problem, with instances beyond the fewest where they pay (eq. 1)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from edrp.core.arrays import Ints
from edrp.enactment.sizes import UNNEEDED
from edrp.enactment.snapshot import EnactmentProblem
from edrp.heuristics.enactment.host_packing import Packing, PricedSizes
from edrp.heuristics.enactment.host_selection import spread
from edrp.heuristics.enactment.snapshot_rule import SnapshotRule, SnapshotTerms, fill, lease_more


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
        terms = SnapshotTerms(problem, sizes)
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
