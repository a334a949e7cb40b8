"""A compiled problem as one tuple of arrays that kernels take, and how much work it is to evaluate a change."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from edrp.core.arrays import Bools, Floats, Ints
from edrp.core.budget import refuse_beyond_memory
from edrp.core.tolerances import TIE_COST
from edrp.heuristics.placement.filling import least_stable
from edrp.heuristics.placement.rule_rows import RULE_UNITS, RuleRows, rule_rows, searched_rows
from edrp.placement.compiled import REMEDY, WITHOUT_TABLES, Compiled, change_by_blocks
from edrp.placement.metrics import NORMALISED
from edrp.placement.reconfiguration import downtime_floor
from edrp.placement.scales import cost_scale, max_objective

NEAR_NEIGHBOURS = 6
"""Number of neighbours of a node that count as near."""

PAIR_TABLES = 5
"""Number of tables over pairs of nodes in memory at once: three of the links, and two for the kernels."""

CHUNK_UNITS = 0.02
"""Units of work between two checks of the clock."""

STEP_UNITS, PART_UNITS, PAIR_UNITS = 1.5e-7, 3e-9, 1.5e-9
"""Units of work of a change: fixed, per operator and stream, and per pair of nodes examined.
Fitted to iterated local search on layered applications of 10, 20 and 60 operators, processor time over units 0.8 to 1.0."""


class SharedUse(NamedTuple):
    """Use of shared resources k, as in `ContentionArrays`; all sizes are 0 where no peak load has a weight or a limit.

    `weights` and `limits` are of the peak load of any resource, then of each.
    """

    capacity: Floats
    replica_use: Floats
    stream_use: Floats
    one_to_one: Bools
    weights: Floats
    limits: Floats


def shared_use(compiled: Compiled, scale: float) -> SharedUse:
    """Arrays of shared resources, for an objective that is divided by `scale`."""
    contention, metrics = compiled.contention, compiled.contention.metrics
    if not compiled.contended:
        none = np.zeros((0, 0))
        return SharedUse(none, np.zeros((0, 0, 0)), none, np.zeros(0, np.bool_), np.zeros(0), np.zeros(0))
    return SharedUse(
        capacity=contention.capacity,
        replica_use=contention.replica_use,
        stream_use=contention.stream_use,
        one_to_one=contention.one_to_one,
        weights=np.array([compiled.weight[name] for name in metrics]) / scale,
        limits=np.array([compiled.limit[name] for name in metrics]),
    )


class PlacementArrays(NamedTuple):
    """Arrays over operators i (topological order), streams e, nodes u, resources m, for `anneal_deployment` and other kernels.

    `adjacent[adjacent_start[i]:adjacent_start[i+1]]` are the streams at operator i, `incoming` those on paths into
    it. `near[u]` lists u and the nodes nearest to it by delay. `candidate_list[candidate_start[i]:...]` are the nodes of
    operator i. `weights` and `limits` are of response time, cost, downtime, network usage, availability (the latter as −ln);
    `shared` is what replicas use of shared resources. `instance_paths` as in `Compiled`. `store` has the rows 2 × delay,
    bandwidth and spawn time by node. Metrics weigh in the objective, `tie_cost` and TIE_MOVE break ties. The problem's
    objective is `scale` times the one here, which without penalties of `rules` is at most about 1, as temperatures suppose.
    """

    source: Ints
    target: Ints
    rate: Floats
    incoming: Ints
    incoming_start: Ints
    adjacent: Ints
    adjacent_start: Ints
    latency: Floats
    max_replicas: Ints
    candidate: Bools
    candidate_list: Ints
    candidate_start: Ints
    near: Ints
    speedup: Floats
    replica_cost: Floats
    demand: Floats
    capacity: Floats
    delay: Floats
    link_cost: Floats
    node_loss: Floats
    link_loss: Floats
    has_loss: bool
    has_link_loss: bool
    has_current: bool
    current: Ints
    synchronisation_time: float
    downtime_floor: float
    state_size: Floats
    code_size: Floats
    store: Floats
    storm: bool
    weights: Floats
    limits: Floats
    shared: SharedUse
    rules: RuleRows
    tie_cost: float
    scale: float
    instance_paths: bool


_SAME_FIELDS = (
    *("latency", "max_replicas", "candidate", "speedup", "replica_cost", "demand", "capacity", "link_cost", "node_loss"),
    *("synchronisation_time", "state_size", "code_size", "storm", "instance_paths"),
)


def same_fields(compiled: Compiled, names: Sequence[str]) -> dict[str, Any]:
    """Fields of a compiled problem that arrays of kernels have under the same names."""
    return {name: getattr(compiled, name) for name in names}


def placement_arrays(compiled: Compiled) -> PlacementArrays:
    """Convert a compiled problem into the arrays of the kernels."""
    n, nodes = compiled.candidate.shape
    streams = len(compiled.stream_rate)
    forward = np.flatnonzero(compiled.forward)
    incoming, incoming_start = grouped(compiled.stream_target[forward], forward, n)
    both = np.concatenate([compiled.stream_source, compiled.stream_target])
    adjacent, adjacent_start = grouped(both, np.tile(np.arange(streams), 2), n)
    allowed, candidate_nodes = np.nonzero(compiled.candidate)
    candidate_list, candidate_start = grouped(allowed, candidate_nodes, n)
    refuse_beyond_memory(PAIR_TABLES * 8 * nodes**2, f"tables over the pairs of {nodes} nodes", REMEDY, WITHOUT_TABLES)
    finite = change_by_blocks(compiled.delay, lambda delay: np.where(np.isfinite(delay), delay, 1e9))
    metrics = tuple(NORMALISED)
    scale = max(1.0, round(max_objective(compiled) - compiled.rules.price_ceiling(compiled.max_replicas), 9))
    current = np.zeros((n, nodes), np.int64) if compiled.current is None else compiled.current
    return PlacementArrays(
        **same_fields(compiled, _SAME_FIELDS),
        source=compiled.stream_source,
        target=compiled.stream_target,
        rate=compiled.stream_rate,
        incoming=incoming,
        incoming_start=incoming_start,
        adjacent=adjacent,
        adjacent_start=adjacent_start,
        candidate_list=candidate_list,
        candidate_start=candidate_start,
        near=change_by_blocks(finite, _nearest),
        delay=finite,
        link_loss=change_by_blocks(compiled.link_availability, lambda availability: -np.log(availability)),
        has_loss=bool(compiled.node_loss.any() or compiled.links.lossy),
        has_link_loss=compiled.links.lossy,
        has_current=compiled.current is not None,
        current=current,
        downtime_floor=downtime_floor(compiled),
        store=np.array([2 * compiled.store_delay, compiled.store_bandwidth, compiled.spawn_time]),
        weights=np.array([compiled.weight[name] for name in metrics]) / scale,
        limits=np.array([compiled.limit[name] for name in metrics]),
        shared=shared_use(compiled, scale),
        rules=rule_rows(compiled, scale),
        tie_cost=TIE_COST / cost_scale(compiled),
        scale=scale,
    )


def _nearest(delay: Floats) -> Ints:
    """The nearest nodes of each node, the first of equally near ones, shape (nodes, at most 1 + NEAR)."""
    remaining, rows = delay.copy(), np.arange(len(delay))
    columns = []
    for _ in range(min(1 + NEAR_NEIGHBOURS, delay.shape[1])):
        columns.append(remaining.argmin(axis=1))
        remaining[rows, columns[-1]] = np.inf
    return np.column_stack(columns).astype(np.int64)


def grouped(keys: Ints, values: Ints, groups: int) -> tuple[Ints, Ints]:
    """Values sorted by key, and where each key's run starts, shape (groups + 1,)."""
    order = np.argsort(keys, kind="stable")
    return values[order].astype(np.int64), np.searchsorted(keys[order], np.arange(groups + 1)).astype(np.int64)


def pairs_per_operator(compiled: Compiled) -> float:
    """Pairs of replicas over an operator's streams, on average, with as few replicas as can be."""
    replicas = least_stable(compiled)
    pairs = replicas[compiled.stream_source] * replicas[compiled.stream_target]
    return float(2 * pairs.sum() / replicas.size)


def evaluation_units(compiled: Compiled) -> float:
    """Units of work of one change: a pass over operators, streams and rules, and over the nodes at both ends of streams.

    Where paths run through instances, or nodes and links may fail, that is all streams, else those of one operator.
    """
    operators, streams = len(compiled.operators), len(compiled.stream_rate)
    hosts = np.minimum(compiled.max_replicas, compiled.candidate.sum(axis=1)).astype(float)
    pairs = float((hosts[compiled.stream_source] * hosts[compiled.stream_target]).sum())
    if not (compiled.instance_paths or compiled.links.lossy):
        pairs *= 2 / operators
    current = 0 if compiled.current is None else compiled.candidate.shape[1]
    rules = searched_rows(compiled)
    coefficients = rules.matrix.nnz + rules.members.nnz
    return STEP_UNITS + PART_UNITS * (operators + streams + current) + PAIR_UNITS * pairs + RULE_UNITS * coefficients
