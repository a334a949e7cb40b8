"""A problem of kind `rescale` as one tuple of arrays that kernels take, and replicas with their incremental evaluation."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from edrp.core.arrays import Bools, Floats, Ints
from edrp.heuristics.placement.problem_arrays import grouped, same_fields
from edrp.heuristics.placement.rule_rows import RuleRows, rule_rows
from edrp.migration.rescale.arrays import KeyedArrays
from edrp.placement.compiled import Compiled
from edrp.placement.latency import CapacityCurveLatency, Mm1Latency, PolynomialLatency, TableLatency
from edrp.placement.metrics.peak_load import shared_resources
from edrp.placement.reconfiguration import code_times

Replicas = list[list[tuple[int, int, int]]]
"""Node, first task and end of each replica of each operator."""

NO_LATENCY, QUEUE, POLYNOMIAL, TABLE = 0, 1, 2, 3
"""Numbers of the latency models."""

METRICS = ("response_time", "cost", "downtime", "moved_state", "peak_load")
"""Metrics in the order of weights, limits and values."""


class RangeArrays(NamedTuple):
    """Arrays over operators i (topological order), replicas k, streams e, nodes u, resources m, shared resources q.

    Those of `anneal_ranges` (edrp/native/heuristics/migration/annealed_ranges.cpp).
    Work and bytes of the tasks of all operators stand one after the other: those of i begin at `offset[i]` and have
    `tasks[i]` + 1 rows of prefix sums. For operators without tasks, `tasks[i]` is 0. `current_*` describe the current deployment;
    `held_bytes` and `missing_bytes` are the bytes of its state that a node has and has not. Latency is given by `model`, with
    `service[i, replicas]` or with the points `curve_rates`, `curve_latencies` from `points[i]` on. `incoming` and `adjacent` list
    streams by operator. Times are in seconds; bandwidths are stored as seconds per byte (`…_slowness`), so that none is infinite.
    """

    tasks: Ints
    offset: Ints
    work: Floats
    held_bytes: Floats
    missing_bytes: Floats
    load: Floats
    factor: Floats
    probability: Floats
    model: Ints
    service: Floats
    points: Ints
    curve_rates: Floats
    curve_latencies: Floats
    min_replicas: Ints
    max_replicas: Ints
    candidate: Bools
    candidate_list: Ints
    candidate_start: Ints
    replica_cost: Floats
    demand: Floats
    capacity: Floats
    speedup: Floats
    source: Ints
    target: Ints
    rate: Floats
    incoming: Ints
    incoming_start: Ints
    adjacent: Ints
    adjacent_start: Ints
    delay: Floats
    price: Floats
    has_current: bool
    current_number: Ints
    current_node: Ints
    current_end: Ints
    current_count: Ints
    state_size: Floats
    round_trip: Floats
    store_slowness: Floats
    spawn_time: Floats
    code_time: Floats
    upload_slowness: Floats
    download_slowness: Floats
    synchronisation_time: float
    direct_transfer: bool
    mean_latency: bool
    even_ranges: bool
    tolerance: float
    utilisation: float
    replica_use: Floats
    tuple_use: Floats
    stream_use: Floats
    shared: Floats
    weights: Floats
    limits: Floats
    rules: RuleRows


_SAME_FIELDS = (
    *("load", "min_replicas", "max_replicas", "candidate", "replica_cost", "demand", "capacity", "speedup"),
    *("state_size", "spawn_time"),
)


def range_arrays(arrays: KeyedArrays) -> RangeArrays:
    """Convert a compiled problem into the arrays of the kernels."""
    compiled, problem = arrays.compiled, arrays.problem
    width = int(max(compiled.max_replicas.max(), 1 if compiled.current is None else compiled.current.sum(axis=1).max()))
    now_number, now_node, now_end = _current(arrays, width)
    model, service, points, x, y = _models(arrays, width)
    replica_use, tuple_use, shared = arrays.shared_use()
    names, streams = shared_resources(problem.application), problem.application.streams
    candidates = [compiled.candidates(i) for i in range(len(compiled.operators))]
    stream_use = np.array([[stream.usage.get(name, 0.0) for name in names] for stream in streams], float)
    return RangeArrays(
        **same_fields(compiled, _SAME_FIELDS),
        **_tasks(arrays),
        candidate_list=np.concatenate(candidates),
        candidate_start=np.cumsum([0, *(nodes.size for nodes in candidates)]),
        **_streams(compiled),
        **_moves(arrays),
        factor=np.array([scenario.factor for scenario in problem.load_scenarios]),
        probability=np.array([scenario.probability for scenario in problem.load_scenarios]),
        model=model,
        service=service,
        points=points,
        curve_rates=x,
        curve_latencies=y,
        current_number=now_number,
        current_node=now_node,
        current_end=now_end,
        mean_latency=problem.operator_latency == "mean",
        even_ranges=problem.ranges == "even",
        tolerance=np.inf if problem.tolerance is None else problem.tolerance,
        utilisation=problem.utilisation,
        replica_use=replica_use,
        tuple_use=tuple_use,
        stream_use=stream_use.reshape(len(streams), len(names)) * compiled.stream_rate[:, None],
        shared=shared,
        weights=np.array([compiled.weight.get(name, 0.0) for name in METRICS]),
        limits=np.array([compiled.limit.get(name, np.inf) for name in METRICS]),
        rules=rule_rows(compiled, 1.0),
    )


def _tasks(arrays: KeyedArrays) -> dict[str, Any]:
    """Prefix sums of work and bytes over the tasks of all operators."""
    counts = np.array([tasks.count for tasks in arrays.tasks], np.int64)
    rows = counts + 1
    return {
        "tasks": counts,
        "offset": np.cumsum(rows) - rows,
        "work": np.concatenate([tasks.work_before for tasks in arrays.tasks]),
        "held_bytes": np.concatenate([tasks.held_before for tasks in arrays.tasks]),
        "missing_bytes": np.concatenate([tasks.missing_before for tasks in arrays.tasks]),
    }


def _streams(compiled: Compiled) -> dict[str, Any]:
    """Streams, the incoming and adjacent ones of each operator, and delays and prices of links."""
    size, streams = len(compiled.operators), np.arange(compiled.stream_rate.size)
    incoming, incoming_start = grouped(compiled.stream_target, streams, size)
    ends = np.concatenate([compiled.stream_target, compiled.stream_source])
    adjacent, adjacent_start = grouped(ends, np.tile(streams, 2), size)
    return {
        "source": compiled.stream_source,
        "target": compiled.stream_target,
        "rate": compiled.stream_rate,
        "incoming": incoming,
        "incoming_start": incoming_start,
        "adjacent": adjacent,
        "adjacent_start": adjacent_start,
        "delay": np.where(np.isfinite(compiled.delay), compiled.delay, 1e9),
        "price": compiled.link_cost,
    }


def _moves(arrays: KeyedArrays) -> dict[str, Any]:
    """Current replicas by node, and the times of starting and moving them."""
    compiled = arrays.compiled
    size, nodes = compiled.candidate.shape
    present, code = np.zeros((size, nodes), np.int64), np.zeros((size, nodes))
    if compiled.current is not None:
        present = compiled.current
        code = np.array([code_times(compiled, i, np.arange(nodes, dtype=np.int32)) for i in range(size)])
    return {
        "has_current": compiled.current is not None,
        "current_count": present,
        "round_trip": 2 * compiled.store_delay,
        "store_slowness": 1 / compiled.store_bandwidth,
        "code_time": code,
        "upload_slowness": 1 / arrays.up_rate,
        "download_slowness": 1 / arrays.down_rate,
        "synchronisation_time": float(compiled.synchronisation_time),
        "direct_transfer": arrays.problem.transfer == "direct",
    }


def _current(arrays: KeyedArrays, width: int) -> tuple[Ints, Ints, Ints]:
    """Number, nodes and range ends of the current replicas; ascending nodes for operators without tasks."""
    size = len(arrays.compiled.operators)
    number, node, end = np.zeros(size, np.int64), np.zeros((size, width), np.int64), np.zeros((size, width), np.int64)
    replicas = None if arrays.problem.current is None else arrays.replicas(arrays.problem.current)
    for i, ranges in enumerate(replicas or ()):
        number[i] = len(ranges)
        node[i, : len(ranges)] = [u for u, _, _ in ranges]
        end[i, : len(ranges)] = [b for _, _, b in ranges]
    return number, node, end


def _models(arrays: KeyedArrays, width: int) -> tuple[Ints, Floats, Ints, Floats, Floats]:
    """Parameters of the latency models, by operator."""
    size = len(arrays.compiled.operators)
    kind, service, starts = np.zeros(size, np.int64), np.zeros((size, width + 1)), [0]
    x: list[float] = []
    y: list[float] = []
    for i in range(size):
        model: Any = arrays.operator(i).latency
        if isinstance(model, (Mm1Latency, CapacityCurveLatency)):
            kind[i] = QUEUE
            service[i, 1:] = [model.true_rate(replicas) for replicas in range(1, width + 1)]
        elif isinstance(model, PolynomialLatency):
            kind[i] = POLYNOMIAL
            x += [0.0] * len(model.coefficients)
            y += model.coefficients
        elif isinstance(model, TableLatency):
            kind[i] = TABLE
            x += model.rates
            y += model.latencies
        starts.append(len(x))
    return kind, service, np.array(starts, np.int64), np.array(x, float), np.array(y, float)


OBJECTIVE_VALUE, VIOLATION_VALUE = 5, 6
"""Indices into `RangeState.values`, after those of the metrics."""


class RangeState(NamedTuple):
    """Replicas k of operators i: node and end of the range (which begins at the end before), and their evaluation.

    Attributes
    ----------
    number : shape (operators,)
    node, end : shape (operators, most replicas)
    share, counts, leaving, arriving : shape (operators, nodes)
    latency : shape (operators, scenarios)
    operator_parts : shape (operators, 5), excess over what is stable or tolerated; for a change of the operator, downtime by
        way of the store, download of code, start of replicas, and whether it changes at all.
    stream_costs : shape (streams, 2), delay and price.
    finish : shape (operators,), in the scenario that was looked at last.
    values : shape (7,), metrics, objective, violation.
    """

    number: Ints
    node: Ints
    end: Ints
    share: Floats
    counts: Ints
    leaving: Floats
    arriving: Floats
    latency: Floats
    operator_parts: Floats
    stream_costs: Floats
    finish: Floats
    values: Floats

    @classmethod
    def empty(cls, t: RangeArrays) -> RangeState:
        """Allocate a state without replicas."""
        size, nodes = t.candidate.shape
        width, table = t.current_node.shape[1], (size, nodes)
        return cls(
            np.zeros(size, np.int64),
            np.zeros((size, width), np.int64),
            np.zeros((size, width), np.int64),
            np.zeros(table),
            np.zeros(table, np.int64),
            np.zeros(table),
            np.zeros(table),
            np.zeros((size, t.factor.size)),
            np.zeros((size, 5)),
            np.zeros((t.rate.size, 2)),
            np.zeros(size),
            np.zeros(7),
        )

    def set(self, replicas: Replicas) -> None:
        """Set the replicas of each operator, given as node, first task and end."""
        for i, ranges in enumerate(replicas):
            self.number[i] = len(ranges)
            self.node[i, : len(ranges)] = [u for u, _, _ in ranges]
            self.end[i, : len(ranges)] = [b for _, _, b in ranges]

    def replicas(self) -> Replicas:
        """Return node, first task and end of each replica of each operator."""
        listed = []
        for number, node, end in zip(self.number.tolist(), self.node.tolist(), self.end.tolist(), strict=True):
            listed.append([(node[k], end[k - 1] if k else 0, end[k]) for k in range(number)])
        return listed
