"""First-fit leases: what first-fit decreasing packs in each period, on hosts whose units are bought when they are needed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from edrp.core.budget import look
from edrp.core.errors import OutOfTimeError
from edrp.core.methods import Method, Options
from edrp.core.solution import Answer
from edrp.enactment.leasing import LeasingProblem, PlannedHost
from edrp.heuristics.enactment.first_fit_decreasing import fewest_packed
from edrp.heuristics.enactment.host_packing import Packing, PricedSizes
from edrp.heuristics.note_wording import judged_answer


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
