"""Packings of hosts that are full by patterns but for a few, into which the rest goes by exchanges.

Where hosts are nearly full by what is needed alone, exchanges between dozens of hosts find no packing. Patterns fill most hosts
without any waste, so that what may be left free in all is left to the last few, which are easily packed then.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from edrp.core.arrays import Ints
from edrp.core.budget import units_left
from edrp.core.solution import within_gap
from edrp.core.tolerances import LIMIT_SLACK, OPTIMALITY_GAP
from edrp.formulations.enactment.aggregate import MIN_SPARED, SHARPENED, SOLVER_SHARE, SPARES, packed_counts
from edrp.formulations.enactment.compositions import Compositions, composition_objective
from edrp.formulations.enactment.host_patterns import HostPatterns
from edrp.formulations.enactment.packing import Contents, fill
from edrp.formulations.enactment.snapshot_arrays import EnactmentArrays

LEFT_HOSTS = 3, 20
"""Range of the number of hosts that exchanges pack after the others have been fixed."""

COMPOSING_WORK = 1.0
"""Units of work for the program over patterns; on hosts of three instances that leave nothing free a hundredth is enough."""

COARSE_SPARES = (*SPARES, 5e-4, 1e-3, 2e-3, 4e-3, 8e-3)
"""Shares of the resources of the last hosts that are left free, one after the other, as long as no packing is found."""


def packed_by_patterns(arrays: EnactmentArrays, compositions: Compositions, allowance: float = 0.0) -> Compositions:
    """Raise the bounds of compositions by patterns and perhaps find a better packing, where there is a gap."""
    sizes, found = arrays.sizes, compositions
    if sizes.apart.any() or arrays.min_counts.sum() < MIN_SPARED or not sizes.needs.any(axis=1).all():
        return compositions
    bounds, until = found.bounds.copy(), SOLVER_SHARE * units_left()
    for index, hosts in enumerate(compositions.counts[:SHARPENED]):
        if _reached(found.objective, bounds.min()) or bounds[index] >= found.objective + allowance or units_left() < until:
            break
        if hosts.sum() < LEFT_HOSTS[0]:
            continue
        patterns = HostPatterns(arrays, hosts)
        if found.types is not None and found.contents is not None:
            patterns.add_contents(found.types, found.contents)
        patterns.raise_bound(found.objective + allowance, until)
        bounds[index] = max(bounds[index], patterns.bound)
        if bounds[index] < found.objective:
            found = _packed(arrays, patterns, found, float(bounds[index]), until)
    return replace(found, bounds=bounds).that_may_be_optimal(allowance)


def _packed(arrays: EnactmentArrays, patterns: HostPatterns, found: Compositions, bound: float, until: float) -> Compositions:
    """The best packing by patterns, if it is better than the one that was found before.

    Where free resources have no weight, whatever holds all instances is as good: the patterns of the bound are tried as they are,
    before and after those of the dive have joined them.
    """
    for search in (_composed, _dive, _composed) if arrays.filling == 0 else (_dive,):
        if not _reached(found.objective, bound) and units_left() >= until:
            found = search(arrays, patterns, found, bound, until)
    return found


def _composed(arrays: EnactmentArrays, patterns: HostPatterns, found: Compositions, *_: float) -> Compositions:
    """The packing by the patterns found so far, if there is one, and if it is better than the one that was found before."""
    composed = patterns.compose(COMPOSING_WORK)
    return found if composed is None else _better(arrays, patterns.hosts, found, *composed)


def _better(arrays: EnactmentArrays, hosts: Ints, found: Compositions, types: list[int], contents: Contents) -> Compositions:
    """The packing, filled up, if it fits and is better than the one that was found before."""
    if (contents @ arrays.sizes.needs > arrays.sizes.capacity[types] * (1 + LIMIT_SLACK)).any():
        return found
    contents = fill(arrays, types, contents)
    objective = composition_objective(arrays, hosts, contents.sum(axis=0))
    return replace(found, types=types, contents=contents, objective=objective) if objective < found.objective else found


def _dive(arrays: EnactmentArrays, patterns: HostPatterns, found: Compositions, bound: float, until: float) -> Compositions:
    """The best packing that comes from patterns of ever more hosts, if it is better than the one that was found before."""
    fewest, most = LEFT_HOSTS
    for types, contents in patterns.dive(until):
        left = patterns.hosts - np.bincount(types, minlength=patterns.hosts.size)
        if left.sum() < fewest or _reached(found.objective, bound):
            break
        packed = _completed(arrays, types, contents, left, found.objective, until) if left.sum() <= most else None
        if packed is not None:
            found = _better(arrays, patterns.hosts, found, *packed)
    return found


def _completed(
    arrays: EnactmentArrays, types: list[int], contents: Contents, left: Ints, objective: float, until: float
) -> tuple[list[int], Contents] | None:
    """Types and contents of all hosts, with the rest packed into those that are left (K,), for a smaller objective; or None."""
    counts = contents.sum(axis=0)
    hosts = left + np.bincount(types, minlength=left.size)
    rest = replace(
        arrays,
        filling=arrays.filling * float((left @ arrays.sizes.capacity).sum() / (hosts @ arrays.sizes.capacity).sum()),
        min_counts=np.maximum(arrays.min_counts - counts, 0),
        max_counts=arrays.max_counts - counts,
        arriving=np.maximum(arrays.arriving - arrays.served * counts, 0.0),
    )
    if (rest.max_counts < rest.min_counts).any():
        return None
    # Objectives differ by the same amount whatever is packed, at least where hosts are of one type.
    nothing = np.zeros_like(counts)
    others = composition_objective(arrays, hosts, counts) - composition_objective(rest, left, nothing)
    _, _, packed = packed_counts(rest, left, (-np.inf, objective - others), until, COARSE_SPARES)
    if packed is None:
        return None
    kinds = np.concatenate([types, np.repeat(np.arange(left.size), left)])
    order = np.argsort(kinds, kind="stable")
    return kinds[order].tolist(), np.vstack([contents, packed])[order]


def _reached(objective: float, bound: float) -> bool:
    """Whether an objective is proven, as far as anybody asks."""
    return bool(np.isfinite(objective)) and within_gap(objective, bound, OPTIMALITY_GAP)
