"""Replicas that stay on their nodes in every reconfiguration of their operator within the downtime limit."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from edrp.core.arrays import Ints
from edrp.core.tolerances import DOWNTIME_SLACK, QUOTIENT_USE_SLACK, WHOLE_NUMBER_SLACK
from edrp.formulations.placement.equal_nodes.model import Quotient

MAX_TIGHTENINGS = 4
"""Maximum number of times that staying replicas are computed, each time with the capacity that the earlier ones leave."""

UNLIMITED = 1e9
"""Capacity of a node that does not limit a resource."""


def with_stays(quotient: Quotient) -> Quotient:
    """The quotient with what has to stay, without choices that find no room or take too long next to it."""
    if quotient.moves is None:
        return quotient
    for _ in range(MAX_TIGHTENINGS):
        before, quotient = quotient, _looked_at(quotient)
        if _same(before, quotient) or np.unique(quotient.choices.operator).size < quotient.operators:
            break
    return quotient


def _same(one: Quotient, other: Quotient) -> bool:
    """Whether two quotients have the same staying replicas and downtimes."""
    assert one.stays is not None
    assert other.stays is not None
    return np.array_equal(one.stays, other.stays) and np.array_equal(one.choices.downtime, other.choices.downtime)


def _looked_at(quotient: Quotient) -> Quotient:
    """Compute the staying replicas once, and drop choices that no longer fit."""
    choices = quotient.choices
    downtime, possible = choices.downtime.copy(), choices.downtime <= quotient.longest_downtime + DOWNTIME_SLACK
    stays = np.zeros((quotient.operators, quotient.owner.size), np.int64)
    for j in range(quotient.operators):
        least_staying: Ints | None = None
        own = np.flatnonzero((choices.operator == j) & possible)
        max_staying = _most(quotient, j)
        for row in own:
            kept, seconds = _row(quotient, int(row), max_staying)
            possible[row] = seconds <= quotient.longest_downtime + DOWNTIME_SLACK
            if possible[row]:
                downtime[row] = max(downtime[row], seconds)
                least_staying = kept if least_staying is None else np.minimum(least_staying, kept)
        if least_staying is not None:
            stays[j] = least_staying
    tightened = replace(quotient, stays=stays, choices=replace(choices, downtime=downtime).select(np.flatnonzero(possible)))
    fits = (tightened.block_load <= tightened.block_room[tightened.block_place] + QUOTIENT_USE_SLACK).all(axis=1) | (
        tightened.choices.single == 0
    )
    return tightened if fits.all() else replace(tightened, choices=tightened.choices.select(np.flatnonzero(fits)))


def _most(quotient: Quotient, j: int) -> Ints:
    """Replicas of an operator that each node holds at most next to what has to stay of others."""
    assert quotient.moves is not None
    assert quotient.stays is not None
    max_count = quotient.moves.most[j][quotient.owner]
    for m in np.flatnonzero(quotient.demand[j] > 0):
        free = quotient.free[:, m] + quotient.stays[j] * quotient.demand[j, m]
        fitting = np.floor(np.where(np.isfinite(free), free, UNLIMITED) / quotient.demand[j, m] + WHOLE_NUMBER_SLACK)
        max_count = np.minimum(max_count, np.maximum(fitting, 0).astype(np.int64))
    return max_count


def _row(quotient: Quotient, row: int, most: Ints) -> tuple[Ints, float]:
    """Replicas that stay on each node at least if a row is chosen, and the least downtime."""
    choices, moves = quotient.choices, quotient.moves
    assert moves is not None
    replicas, anchor = int(choices.replicas[row]), int(choices.anchor[row])
    if choices.single[row]:
        kept = np.zeros(most.size, np.int64)
        if anchor >= 0:
            kept[anchor] = replicas
        return kept, float(choices.downtime[row])
    inside = (choices.classes[row] >> quotient.owner & 1) == 1
    room, j = np.where(inside, np.minimum(most, replicas), 0), int(choices.operator[row])
    seconds, now = moves.spread(j, replicas, room), moves.times(j, replicas).before
    some, kept = moves.kept(j, replicas, room, quotient.longest_downtime)
    if choices.downtime[row] == 0.0:
        return np.minimum(kept, now) if some else now, 0.0
    return kept, seconds if some else np.inf
