"""The best numbers of instances on given hosts, with resources in aggregate; if they can be packed, they are optimal."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from edrp.backends import solve_program
from edrp.core.arrays import Floats, Ints
from edrp.core.budget import units_left
from edrp.core.program import Linear, Program
from edrp.core.solution import within_gap
from edrp.core.tolerances import LIMIT_SLACK, OPTIMALITY_GAP
from edrp.enactment.sizes import Sizes
from edrp.formulations.enactment.compositions import Compositions, composition_objective
from edrp.formulations.enactment.exchanges import pack_by_exchanges
from edrp.formulations.enactment.full_hosts import filled_hosts
from edrp.formulations.enactment.packing import Contents, rewards
from edrp.formulations.enactment.snapshot_arrays import EnactmentArrays

SHARPENED = 4
"""Number of compositions, those of the least bounds, for which the best numbers of instances are computed."""

SPARES = (0.0, 2e-4, 2e-5)
"""Shares of all resources left free, one after the other, where the best numbers of instances find no arrangement.

Where several resources are scarce, the best numbers leave millionths of all of them free, and few arrangements do that."""

MAX_COMPOSITION_WORK = 0.5
"""Seconds for the best numbers of one composition. Mostly milliseconds do; amounts that nearly fill hosts in a great many
ways take minutes to be proven best, and the bound found until then is as good."""


MIN_SPARED = 20
"""Instances that the load needs from which arrangements are so many that a little to spare is worth a try."""


FILLED_SHARE = 0.5
"""Share of the gap that counts as closed which full hosts may leave free."""


SOLVER_SHARE = 0.5
"""Share of the time that is left which the solver keeps."""


def sharpened(arrays: EnactmentArrays, compositions: Compositions, allowance: float = 0.0) -> Compositions:
    """Sharpen the bounds of compositions and perhaps find a better packing; compositions that cannot be optimal are left out."""
    if arrays.filling == 0:
        return compositions
    bounds, objective = compositions.bounds.copy(), compositions.objective
    types, contents = compositions.types, compositions.contents
    until = SOLVER_SHARE * units_left()
    for index in range(min(SHARPENED, len(bounds))):
        if bounds[index] >= objective + allowance or units_left() < until:
            break
        hosts = compositions.counts[index]
        bounds[index], counts, packed = packed_counts(arrays, hosts, (bounds[index], objective), until)
        if packed is not None:
            types, contents = np.repeat(np.arange(hosts.size), hosts).tolist(), packed
            objective = composition_objective(arrays, hosts, counts)
    return Compositions(compositions.counts, bounds, types, contents, objective).that_may_be_optimal(allowance)


def packed_counts(
    arrays: EnactmentArrays, hosts: Ints, known: tuple[float, float], until: float, spares: Sequence[float] = SPARES
) -> tuple[float, Ints, Contents | None]:
    """Bound with these hosts (K,), and numbers of instances (O,) with a packing that is better than what is known; or None.

    Parameters
    ----------
    known
        Bound with these hosts, and objective to be improved on.
    """
    bound, objective = known
    kinds, best, contents = np.repeat(np.arange(hosts.size), hosts).tolist(), arrays.min_counts, None
    tried = arrays.min_counts * 0
    for spare in spares if arrays.min_counts.sum() >= MIN_SPARED else spares[:1]:
        sharper, counts = best_counts(arrays, hosts, spare)
        bound = max(bound, sharper) if spare == 0 else bound
        if counts is None or composition_objective(arrays, hosts, counts) >= objective:
            break
        if (counts == tried).all():
            continue
        tried, packed = counts, _filled(arrays, kinds, counts, bound, until) if spare == 0 else None
        packed = pack_by_exchanges(arrays.sizes, counts, kinds, until) if packed is None else packed
        if packed is not None:
            best, contents = packed.sum(axis=0), packed
            objective = composition_objective(arrays, hosts, best)
        if units_left() < until or (packed is not None and spare == 0):
            break
    return bound, best, contents


def _filled(arrays: EnactmentArrays, kinds: list[int], counts: Ints, bound: float, until: float) -> Contents | None:
    """Contents of the hosts that reach a bound where nothing but free resources lie between it and the counts; else None."""
    if arrays.filling == 0:
        return None
    hosts, sizes = np.bincount(kinds, minlength=len(arrays.price)), arrays.sizes
    reached, offered = composition_objective(arrays, hosts, counts), hosts @ sizes.capacity
    unused = arrays.filling * (np.count_nonzero(offered) - float(rewards(arrays, offered) @ counts) / arrays.filling)
    if within_gap(reached, bound, OPTIMALITY_GAP) or not within_gap(reached - unused, bound, OPTIMALITY_GAP):
        return None
    if sizes.apart.any() or not (sizes.capacity[kinds] > 0).all():
        return None
    serving = np.ceil(arrays.arriving / arrays.served) if arrays.late > 0 else 0
    needed = np.maximum(arrays.min_counts, np.minimum(counts, serving)).astype(np.int64)
    window = FILLED_SHARE * OPTIMALITY_GAP * reached / (arrays.filling * offered.size)
    return filled_hosts(sizes, np.array(kinds), needed, arrays.max_counts, window, until)


def best_counts(arrays: EnactmentArrays, hosts: Ints, spare: float = 0.0) -> tuple[float, Ints | None]:
    """Bound on the objective (eq. 1) as if all hosts (K,) were one, and the numbers of instances (O,) that reach it.

    Operators that only some types may run fit into the hosts of these. A share `spare` of all resources is left free, for counts
    that are easier to pack. Infinite and None where not even the fewest fit.
    """
    sizes, offered = arrays.sizes, hosts @ arrays.sizes.capacity
    program = Program()
    room = np.minimum(hosts @ sizes.room, arrays.max_counts)
    if (room < arrays.min_counts).any():
        return math.inf, None
    count = program.add_columns("count", arrays.min_counts.size, lower=arrays.min_counts, upper=room, integer=True)
    for number, (kinds, operators) in enumerate(sizes.confined(hosts > 0)):
        capacity = np.where(kinds, hosts, 0) @ sizes.capacity
        resources = np.flatnonzero(capacity)
        shares = sizes.needs[operators][:, resources].T / capacity[resources][:, None]
        rows = np.arange(resources.size)[:, None]
        program.add_rows(f"area {number}", resources.size, [(rows, count[operators], shares)], upper=1 + LIMIT_SLACK - spare)
    constant = float(arrays.price @ hosts) + arrays.filling * np.count_nonzero(offered)
    program.minimise(Linear.of(count, -rewards(arrays, offered), constant) + late_items(program, arrays))
    result = solve_program(program, work_limit=MAX_COMPOSITION_WORK, gap=max(OPTIMALITY_GAP, spare / 20))
    if result.values is None:
        return math.inf if result.status == "infeasible" else -math.inf, None
    return result.bound if result.bound is not None else -math.inf, np.rint(result.values[count]).astype(np.int64)


def late_items(program: Program, arrays: EnactmentArrays) -> Linear:
    """Weighted penalties: columns `late` (items), rows `late`, and rows `last`, the facet to the first count without late items.

    Without `last` the items would be a convex function of the count, but not the least one through whole counts.
    """
    matters = np.flatnonzero((arrays.late > 0) & (arrays.violations(arrays.min_counts) > 0))
    if not matters.size:
        return Linear.zero()
    arriving, served = arrays.arriving[matters], arrays.served[matters]
    max_late = np.ceil(arrays.violations(arrays.min_counts)[matters]) + 1.0
    count, late = program["count"][matters], program.add_columns("late", matters.size, upper=max_late)
    rows = np.arange(matters.size)
    enough = np.ceil(arriving / served)
    unserved = arriving - served * (enough - 1)
    program.add_rows("late", matters.size, [(rows, late, 1.0), (rows, count, served)], lower=arriving)
    program.add_rows("last", matters.size, [(rows, late, 1.0), (rows, count, unserved)], lower=unserved * enough)
    return Linear.of(late, arrays.late)


def add_host_rows(program: Program, sizes: Sizes, kinds: Ints, most: Floats | Ints, columns: Ints, leased: Floats) -> None:
    """Rows `capacity`: instances on a host use no more of a resource than it has, nothing where it is not leased.

    Hosts (S,) of types `kinds` hold at most `most` (S, O) instances each, and are leased by those of the binary `columns` at
    which `leased` (S, C) is 1. Rows `leased`: instances that need nothing take no room, but a host.
    """
    instances, columns = program["instances"], np.broadcast_to(columns, leased.shape)
    capacity = sizes.capacity[kinds]
    slot, resource = np.nonzero(capacity)
    rows = np.arange(slot.size)[:, None]
    shares = sizes.needs.T[resource] / capacity[slot, resource][:, None]
    entries = [(rows, instances[slot], shares), (rows, columns[slot], -leased[slot])]
    program.add_rows("capacity", slot.size, entries, upper=LIMIT_SLACK / 2)
    slot, operator = np.nonzero((sizes.needs.sum(axis=1) == 0) & (sizes.room[kinds] > 0))
    rows = np.arange(slot.size)[:, None]
    used = np.where(leased[slot] > 0, -most[slot, operator][:, None], 0.0)
    needless = instances[slot, operator][:, None]
    program.add_rows("leased", slot.size, [(rows, needless, 1.0), (rows, columns[slot], used)], upper=0.0)
