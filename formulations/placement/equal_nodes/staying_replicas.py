"""Replicas that stay on their nodes in every reconfiguration of their operator within the downtime limit, and boxes of others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from edrp.core.arrays import Bools, Floats, Ints, flattened
from edrp.core.tolerances import DOWNTIME_SLACK, QUOTIENT_USE_SLACK
from edrp.formulations.placement.equal_nodes.labels import Pattern
from edrp.formulations.placement.equal_nodes.model import Quotient, fitting_replicas
from edrp.formulations.placement.equal_nodes.moves import Box
from edrp.formulations.placement.equal_nodes.packing import find_blocks
from edrp.placement.compiled import NO_NODE

MAX_TIGHTENINGS = 4
"""Maximum number of times that staying replicas are computed, each time with the capacity that the earlier ones leave."""


def with_stays(quotient: Quotient, watched: Sequence[int] = ()) -> Quotient:
    """The quotient with what has to stay, without choices that find no room or take too long next to it.

    What each choice keeps on `watched` nodes is counted among what is shared.
    """
    if quotient.moves is None:
        return quotient
    for _ in range(MAX_TIGHTENINGS):
        if np.unique(quotient.choices.operator).size < quotient.operators:
            break  # an operator has no choice: nothing is feasible
        before, quotient = quotient, _looked_at(quotient)
        assert before.stays is not None
        assert quotient.stays is not None
        if np.array_equal(before.stays, quotient.stays) and np.array_equal(before.choices.downtime, quotient.choices.downtime):
            break
    return _watching(quotient, np.array(watched, np.int64)) if watched else quotient


def _watching(quotient: Quotient, watched: Ints) -> Quotient:
    """The quotient in which the nodes' resources are among what is shared, used by what each choice keeps there."""
    choices, resources = quotient.choices, quotient.shared_capacity.size - quotient.watched
    kept = np.array([_row(quotient, row, _most(quotient, int(j)))[0][watched] for row, j in enumerate(choices.operator)])
    room = quotient.capacity[quotient.owner[watched]].ravel()
    use = flattened(kept.reshape(len(kept), watched.size, 1) * choices.unit[:, None, :])
    usage = np.hstack([choices.usage[:, :resources], use])
    shared_capacity = np.concatenate([quotient.shared_capacity[:resources], room])
    return replace(quotient, choices=replace(choices, usage=usage), shared_capacity=shared_capacity, watched=room.size)


def rows_told_apart(quotient: Quotient, alive: Bools) -> Bools:
    """Choices that others cannot stand in for, even with fewer replicas: on one node, or not free to move anywhere at once."""
    choices, moves = quotient.choices, quotient.moves
    assert moves is not None
    told_apart = (choices.single == 1) | (np.unique(choices.unit, axis=0).shape[0] > 1)
    for row in np.flatnonzero(alive & ~told_apart):
        boxes = boxes_of_row(quotient, int(row), quotient.least_downtime)
        room = quotient.room(int(row), moves.most[choices.operator[row]][quotient.owner])
        told_apart[row] = not any(not fewest.any() and (most >= room).all() for fewest, most in boxes)
    return told_apart


def promised_downtime(quotient: Quotient, pattern: Pattern) -> float:
    """The least downtime that a placement over classes could have."""
    return max(float(quotient.choices.downtime[pattern.rows].max()), quotient.least_downtime)


def soonest(quotient: Quotient, pattern: Pattern) -> tuple[float, Ints]:
    """The least downtime with which what stays of a placement fits on each node, and the nodes that are too small for less."""
    promised = promised_downtime(quotient, pattern)
    room = quotient.capacity[quotient.owner] + QUOTIENT_USE_SLACK
    # Use of the nodes by blocks that have to be on one of them, and the operators in no block.
    use = np.zeros((quotient.owner.size, quotient.capacity.shape[1]))
    blocks, spread = find_blocks(quotient, pattern)
    for block in blocks:
        members = [j for j, _ in block.contents]
        for anchor in set(quotient.choices.anchor[pattern.rows[members]].tolist()) - {NO_NODE}:
            use[anchor] += block.load
    at_once = [_kept_use(quotient, pattern, j, promised) for j in spread]
    too_small = np.flatnonzero((use + sum(at_once) > room).any(axis=1))
    if not too_small.size:
        return promised, too_small
    moving = [j for j, own in zip(spread, at_once, strict=True) if own[too_small].any()]
    assert quotient.moves is not None
    times = [quotient.moves.breakpoints(j, int(quotient.choices.replicas[pattern.rows[j]])) for j in moving]
    seconds = np.unique(np.concatenate([[promised], *times]))
    seconds = seconds[(seconds > promised) & (seconds <= quotient.longest_downtime)]
    low, high = 0, seconds.size
    while low < high:
        middle = (low + high) // 2
        later = use + sum(_kept_use(quotient, pattern, j, float(seconds[middle])) for j in moving)
        low, high = (middle + 1, high) if (later[too_small] > room[too_small]).any() else (low, middle)
    return float(seconds[low]) if low < seconds.size else np.inf, too_small


def _kept_use(quotient: Quotient, pattern: Pattern, j: int, longest: float) -> Floats:
    """Least use of each node by an operator that moves in a given time."""
    row = int(pattern.rows[j])
    kept, seconds = _row(replace(quotient, longest_downtime=longest), row, _most(quotient, j))
    return kept[:, None] * (quotient.choices.unit[row] if np.isfinite(seconds) else np.full(quotient.capacity.shape[1], np.inf))


def _looked_at(quotient: Quotient) -> Quotient:
    """Compute the staying replicas once, and drop choices that no longer fit."""
    choices = quotient.choices
    downtime, possible = choices.downtime.copy(), choices.downtime <= quotient.longest_downtime * (1 + DOWNTIME_SLACK)
    stays = np.zeros((quotient.operators, quotient.owner.size), np.int64)
    for j in range(quotient.operators):
        staying: list[Ints] = []
        max_staying = _most(quotient, j)
        for row in np.flatnonzero((choices.operator == j) & possible):
            kept, seconds = _row(quotient, int(row), max_staying)
            possible[row] = seconds <= quotient.longest_downtime * (1 + DOWNTIME_SLACK)
            if possible[row]:
                downtime[row] = max(downtime[row], seconds)
                staying.append(kept)
        if staying:
            stays[j] = np.min(staying, axis=0)
    tightened = replace(quotient, stays=stays, choices=replace(choices, downtime=downtime).select(np.flatnonzero(possible)))
    room = tightened.block_room[tightened.block_place] + QUOTIENT_USE_SLACK
    fits = (tightened.block_load <= room).all(axis=1) | (tightened.choices.single == 0)
    return tightened if fits.all() else replace(tightened, choices=tightened.choices.select(np.flatnonzero(fits)))


def boxes_of_row(quotient: Quotient, row: int, longest: float) -> list[Box]:
    """Boxes of replicas of an operator on each node that a row of the choices allows; in each it takes `longest` at most."""
    choices, moves = quotient.choices, quotient.moves
    assert moves is not None
    j, replicas = int(choices.operator[row]), int(choices.replicas[row])
    room = quotient.room(row, moves.most[j][quotient.owner])
    running_now = moves.times(j, replicas).before.astype(float)
    stays = running_now.sum() == replicas and choices.downtime[row] == 0.0
    return [*([(running_now, running_now)] if stays else []), *moves.boxes(j, replicas, room, longest)]


def _most(quotient: Quotient, j: int) -> Ints:
    """Replicas of an operator that each node holds at most next to what has to stay of others."""
    assert quotient.moves is not None
    assert quotient.stays is not None
    free = quotient.free + quotient.stays[j][:, None] * quotient.demand[j]
    return fitting_replicas(quotient.demand[j], free, quotient.moves.most[j][quotient.owner])


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
    room, j = quotient.room(row, most), int(choices.operator[row])
    seconds, now = moves.spread(j, replicas, room), moves.times(j, replicas).before
    some, kept = moves.kept(j, replicas, room, quotient.longest_downtime)
    if choices.downtime[row] == 0.0:
        return np.minimum(kept, now) if some else now, 0.0
    return kept, seconds if some else np.inf
