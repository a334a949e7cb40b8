"""Cuts for flows that share an arc: of a set of flows that are too much for it together, one at least goes another way.

A flow may have several routes over an arc, of which it takes one at most, so that covers are sets of flows, not of routes
(covers of knapsacks with generalised upper bounds; Wolsey, 1990). Flows outside a cover get Balas's coefficients: as many as the
largest rates of the cover that their own rate makes up for.
"""

from __future__ import annotations

from bisect import bisect_right
from itertools import accumulate
from typing import NamedTuple

from edrp.backends.closing import Rows
from edrp.core.arrays import Floats
from edrp.core.tolerances import INTEGRALITY

MIN_VIOLATION = 1e-4
"""By how much a point has to break a cover that is added."""


class ScarceArc(NamedTuple):
    """Room on an arc, and what may take it: rates of flows, and the columns of the routes of each over it."""

    room: float
    rates: list[float]
    columns: list[list[int]]


def violated_covers(arcs: list[ScarceArc], point: Floats) -> Rows:
    """Find covers that a point of the relaxation breaks, one for each arc at most."""
    values = point.tolist()
    found = (_violated_cover(arc, [sum(values[column] for column in own) for own in arc.columns]) for arc in arcs)
    return [cover for cover in found if cover is not None]


def _violated_cover(arc: ScarceArc, shares: list[float]) -> tuple[list[int], list[float], float] | None:
    """The cover of the flows that are nearest to having the arc; None where it is kept."""
    if all(share < INTEGRALITY or share > 1 - INTEGRALITY for share in shares):
        return None
    cover, total = [], 0.0
    for flow in sorted(range(len(shares)), key=lambda flow: (1 - shares[flow]) / arc.rates[flow]):
        cover.append(flow)
        total += arc.rates[flow]
        if total > arc.room:
            break
    for flow in sorted(cover, key=shares.__getitem__):
        if total - arc.rates[flow] > arc.room:
            cover.remove(flow)
            total -= arc.rates[flow]
    largest = list(accumulate(sorted((arc.rates[flow] for flow in cover), reverse=True)))
    within = set(cover)
    lifted = [1 if flow in within else bisect_right(largest, rate) for flow, rate in enumerate(arc.rates)]
    most = len(cover) - 1
    if total <= arc.room or sum(map(float.__mul__, map(float, lifted), shares)) <= most + MIN_VIOLATION:
        return None
    columns = [column for flow, own in enumerate(arc.columns) if lifted[flow] for column in own]
    return columns, [float(lifted[flow]) for flow, own in enumerate(arc.columns) if lifted[flow] for _ in own], float(most)
