"""Instances packed into given hosts by swaps: for hosts that are full to the last, where best fit fails."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from edrp.core.arrays import Floats, Ints
from edrp.enactment.containers import AMOUNT_SLACK
from edrp.enactment.sizes import Sizes
from edrp.formulations.enactment.packing import Contents, order_of

STEPS = 150
"""Swaps that are tried before it gives up; what can be packed mostly takes a dozen."""

AMONG = 20
"""Swaps that do least harm, one of which is drawn where none helps."""


def pack_by_swaps(sizes: Sizes, counts: Ints, types: Sequence[int]) -> Contents | None:
    """Pack so many instances of each operator into hosts of the given types; None where it does not manage.

    All are placed where most is left, full or not. Then an instance of the host that is overfull most changes places with
    one of another host, or with nothing: the swap that lowers the excess most, or one of the least harmful, at random (the
    same on every run).
    """
    runs = np.any(sizes.room[list(types)] > 0, axis=0)
    if not types or not runs[counts > 0].all():
        return None
    kinds, generator = np.array(types), np.random.default_rng(0)
    allowed = np.column_stack([sizes.room[kinds] > 0, np.ones(kinds.size, bool)])
    offered = np.where(sizes.capacity[kinds] > 0, sizes.capacity[kinds], 1.0)
    needs = np.vstack([sizes.needs, np.zeros(sizes.needs.shape[1])])  # the last stands for nothing
    contents = _placed(sizes, counts, kinds)
    free = sizes.capacity[kinds] * (1 + AMOUNT_SLACK) - contents @ needs
    for _ in range(STEPS):
        excess = _excess(free, offered)
        if not excess.any():
            return contents[:, :-1]
        host = int(excess.argmax())
        change = _changes(host, free, needs, offered) - excess[host] - excess[:, None, None]
        there = contents > 0
        possible = there[host][None, :, None] & allowed[:, :, None] & there[:, None, :] & allowed[host][None, None, :]
        possible[host] = False
        change[~possible] = np.inf
        ranked = np.argsort(change, axis=None, kind="stable")[:AMONG]
        ranked = ranked[np.isfinite(change.flat[ranked])]
        if not ranked.size:
            return None
        chosen = ranked[0] if change.flat[ranked[0]] < -AMOUNT_SLACK else generator.choice(ranked)
        other, leaves, comes = (int(part) for part in np.unravel_index(chosen, change.shape))
        for here, operator, count in ((host, leaves, -1), (host, comes, 1), (other, comes, -1), (other, leaves, 1)):
            contents[here, operator] += count
            free[here] -= count * needs[operator]
        contents[:, -1] = 1
    return None


def _placed(sizes: Sizes, counts: Ints, kinds: Ints) -> Contents:
    """Every instance where the scarcest resource would be least short; a last column says that nothing is everywhere."""
    contents = np.zeros((kinds.size, counts.size + 1), np.int64)
    contents[:, -1] = 1
    offered = np.where(sizes.capacity[kinds] > 0, sizes.capacity[kinds], 1.0)
    free = sizes.capacity[kinds].copy()
    for operator in order_of(sizes):
        for _ in range(int(counts[operator])):
            left = ((free - sizes.needs[operator]) / offered).min(axis=1, initial=np.inf)
            host = int(np.where(sizes.room[kinds, operator] > 0, left, -np.inf).argmax())
            contents[host, operator] += 1
            free[host] -= sizes.needs[operator]
    return contents


def _excess(free: Floats, offered: Floats) -> Floats:
    """By how much hosts are overfull: sum over the resources, in shares of what a host offers."""
    return np.maximum(-free / offered, 0.0).sum(axis=-1)


def _changes(host: int, free: Floats, needs: Floats, offered: Floats) -> Floats:
    """Excess of `host` and of each other host after each swap, shape (hosts, what leaves, what comes)."""
    more = needs[None, :, :] - needs[:, None, :]
    here = _excess(free[host] - more, offered[host])
    return here[None] + _excess(free[:, None, None, :] + more[None], offered[:, None, None, :])
