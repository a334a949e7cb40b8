"""A problem of kind `rescale` as one tuple of arrays that kernels take, and replicas with their incremental evaluation."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from edrp.core.arrays import Bools, Floats, Ints
from edrp.core.kernel_helpers import copy_vector
from edrp.core.kernels import inlined
from edrp.core.tolerances import LIMIT_SLACK
from edrp.heuristics.placement.problem_arrays import grouped
from edrp.heuristics.placement.rule_rows import RuleRows, judge_rules, rule_rows
from edrp.migration.rescale.arrays import KeyedArrays
from edrp.placement.compiled import Compiled
from edrp.placement.latency import MAX_LATENCY, CapacityCurveLatency, Mm1Latency, PolynomialLatency, TableLatency
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


def range_arrays(arrays: KeyedArrays) -> RangeArrays:
    """Convert a compiled problem into the arrays of the kernels."""
    compiled, problem = arrays.compiled, arrays.problem
    width = int(max(compiled.max_replicas.max(), 1 if compiled.current is None else compiled.current.sum(axis=1).max()))
    now_number, now_node, now_end = _current(arrays, width)
    model, service, points, x, y = _models(arrays, width)
    replica_use, tuple_use, shared = arrays.shared_use()
    names, streams = shared_resources(problem.application), problem.application.streams
    stream_use = np.array([[stream.usage.get(name, 0.0) for name in names] for stream in streams], float)
    return RangeArrays(
        **_tasks(arrays),
        **_nodes(compiled),
        **_streams(compiled),
        **_moves(arrays),
        load=compiled.load,
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


def _nodes(compiled: Compiled) -> dict[str, Any]:
    """Numbers of replicas, the nodes that they may run on, and what these offer."""
    lists = [compiled.candidates(i) for i in range(len(compiled.operators))]
    return {
        "min_replicas": compiled.min_replicas,
        "max_replicas": compiled.max_replicas,
        "candidate": compiled.candidate,
        "candidate_list": np.concatenate(lists),
        "candidate_start": np.cumsum([0, *(nodes.size for nodes in lists)]),
        "replica_cost": compiled.replica_cost,
        "demand": compiled.demand,
        "capacity": compiled.capacity,
        "speedup": compiled.speedup,
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
        "state_size": compiled.state_size,
        "round_trip": 2 * compiled.store_delay,
        "store_slowness": 1 / compiled.store_bandwidth,
        "spawn_time": compiled.spawn_time,
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


@inlined
def latency_at(t: RangeArrays, i: int, rate: float, replicas: int) -> float:
    """Latency in seconds of one of `replicas` replicas on the reference node; infinite where it is overloaded."""
    if t.model[i] == NO_LATENCY:
        return 0.0
    if t.model[i] == QUEUE:
        spare_rate = t.service[i, replicas] - rate
        return 1.0 / spare_rate if spare_rate * MAX_LATENCY >= 1.0 else np.inf
    first, last = t.points[i], t.points[i + 1] - 1
    if t.model[i] == POLYNOMIAL:
        value = 0.0
        for p in range(last, first - 1, -1):
            value = value * rate + t.curve_latencies[p]
        return value if abs(value) <= MAX_LATENCY else np.inf
    if rate > t.curve_rates[last]:
        return np.inf
    p = first
    while p < last and t.curve_rates[p + 1] < rate:
        p += 1
    if p == last or rate <= t.curve_rates[first]:
        return t.curve_latencies[p] if p == last else t.curve_latencies[first]
    return t.curve_latencies[p] + (t.curve_latencies[p + 1] - t.curve_latencies[p]) * (rate - t.curve_rates[p]) / (
        t.curve_rates[p + 1] - t.curve_rates[p]
    )


@inlined
def refresh_operator(t: RangeArrays, s: RangeState, i: int) -> None:
    """Recompute the parts of the evaluation that depend on the replicas of one operator alone."""
    n, m, at = s.number[i], t.tasks[i], t.offset[i]
    for u in range(t.speedup.size):
        s.share[i, u], s.counts[i, u], s.arriving[i, u] = 0.0, 0, 0.0
        s.leaving[i, u] = t.held_bytes[at + m, u] if m > 0 else 0.0
    s.latency[i] = 0.0
    excess, first = 0.0, 0
    same = t.has_current and n == t.current_number[i]
    max_share = (1 + t.tolerance) / n * (1 + LIMIT_SLACK)
    for k in range(n):
        u, end = s.node[i, k], s.end[i, k]
        share, rate = 1.0 / n, t.load[i] / n
        if m > 0:
            share = (t.work[at + end] - t.work[at + first]) / t.work[at + m]
            rate = t.load[i] * share
            if t.has_current:
                s.arriving[i, u] += t.missing_bytes[at + end, u] - t.missing_bytes[at + first, u]
                s.leaving[i, u] -= t.held_bytes[at + end, u] - t.held_bytes[at + first, u]
                same = same and u == t.current_node[i, k] and end == t.current_end[i, k]
            if share > max_share:
                excess += share / max_share - 1
        for c in range(t.factor.size):
            seconds = latency_at(t, i, rate * t.factor[c], n)
            if not np.isfinite(seconds) or not np.isfinite(latency_at(t, i, rate * t.factor[c] / t.utilisation, n)):
                excess += 0.1 + share
            if np.isfinite(seconds):
                seconds /= t.speedup[u]
                s.latency[i, c] = s.latency[i, c] + share * seconds if t.mean_latency else max(s.latency[i, c], seconds)
        s.share[i, u] += share
        s.counts[i, u] += 1
        first = end
    s.operator_parts[i, 0] = excess
    if m == 0 and t.has_current:
        for u in range(t.speedup.size):
            same = same and s.counts[i, u] == t.current_count[i, u]
            current_share = t.current_count[i, u] / t.current_number[i]
            s.leaving[i, u] = t.state_size[i] * max(0.0, current_share - s.share[i, u])
            s.arriving[i, u] = t.state_size[i] * max(0.0, s.share[i, u] - current_share)
    refresh_change(t, s, i, same)


@inlined
def refresh_change(t: RangeArrays, s: RangeState, i: int, same: bool) -> None:
    """Recompute the downtime of one operator: by way of the store, or by download of code and start of replicas."""
    store, code, spawn = 0.0, 0.0, 0.0
    if t.has_current and not same:
        n, n0 = s.number[i], t.current_number[i]
        for v in range(t.speedup.size):
            if s.counts[i, v] == 0:
                continue
            start = t.spawn_time[v] if s.counts[i, v] > t.current_count[i, v] else 0.0
            code, spawn = max(code, t.code_time[i, v]), max(spawn, start)
            if t.direct_transfer:
                continue
            down = s.arriving[i, v]
            if t.tasks[i] == 0:
                down = t.state_size[i] * max(0, s.counts[i, v] - t.current_count[i, v]) / n
                down += t.state_size[i] * min(s.counts[i, v], t.current_count[i, v]) * max(0, n0 - n) / (n0 * n)
            for u in range(t.speedup.size):
                if u == v or t.current_count[i, u] == 0:
                    continue
                up = s.leaving[i, u]
                if t.tasks[i] == 0:
                    up = t.state_size[i] * max(0, t.current_count[i, u] - s.counts[i, u]) / n0
                    up += t.state_size[i] * t.current_count[i, u] * max(0, n - n0) / (n0 * n)
                trip = (
                    max(t.code_time[i, v], t.round_trip[u] + up * t.store_slowness[u])
                    + t.round_trip[v]
                    + down * t.store_slowness[v]
                    + start
                )
                store = max(store, trip)
        store += t.synchronisation_time
    s.operator_parts[i, 1], s.operator_parts[i, 2], s.operator_parts[i, 3] = store, code, spawn
    s.operator_parts[i, 4] = 0.0 if same or not t.has_current else 1.0


@inlined
def refresh_streams(t: RangeArrays, s: RangeState, i: int) -> None:
    """Recompute delay and price of the streams at an operator."""
    for p in range(t.adjacent_start[i], t.adjacent_start[i + 1]):
        e = t.adjacent[p]
        a, b = t.source[e], t.target[e]
        slowest, price = 0.0, 0.0
        for u in range(t.speedup.size):
            if s.counts[a, u] == 0:
                continue
            for v in range(t.speedup.size):
                if s.counts[b, v] > 0 and v != u:
                    slowest = max(slowest, t.delay[u, v])
                    price += s.share[a, u] * s.share[b, v] * t.price[u, v]
        s.stream_costs[e, 0], s.stream_costs[e, 1] = slowest, price * t.rate[e]


@inlined
def response_time(t: RangeArrays, s: RangeState) -> float:
    """Compute the response time: the longest path, averaged over the scenarios."""
    expected = 0.0
    for c in range(t.factor.size):
        slowest = 0.0
        for i in range(t.load.size):
            ready = 0.0
            for p in range(t.incoming_start[i], t.incoming_start[i + 1]):
                e = t.incoming[p]
                ready = max(ready, s.finish[t.source[e]] + s.stream_costs[e, 0])
            s.finish[i] = ready + s.latency[i, c]
            slowest = max(slowest, s.finish[i])
        expected += t.probability[c] * slowest
    return expected


@inlined
def add_up(t: RangeArrays, s: RangeState) -> None:
    """Compute metrics, objective and violation from parts that are up to date."""
    size, nodes = t.candidate.shape
    cost, moved, violation = 0.0, 0.0, 0.0
    store, code, spawn, changed = 0.0, 0.0, 0.0, 0.0
    for i in range(size):
        cost += s.number[i] * t.replica_cost[i]
        violation += s.operator_parts[i, 0]
        store, code = max(store, s.operator_parts[i, 1]), max(code, s.operator_parts[i, 2])
        spawn, changed = max(spawn, s.operator_parts[i, 3]), max(changed, s.operator_parts[i, 4])
    for e in range(t.rate.size):
        cost += s.stream_costs[e, 1]
    transfer, peak = 0.0, 0.0
    for u in range(nodes):
        out, into = 0.0, 0.0
        for i in range(size):
            out, into = out + s.leaving[i, u], into + s.arriving[i, u]
        moved += into
        transfer = max(transfer, out * t.upload_slowness[u], into * t.download_slowness[u])
        violation += overload(t, s, u)
        for q in range(t.shared.shape[1]):
            peak = max(peak, shared_demand(t, s, u, q) / t.shared[u, q])
    s.values[0], s.values[1], s.values[3], s.values[4] = response_time(t, s), cost, moved, peak
    s.values[2] = store
    if t.direct_transfer:
        s.values[2] = t.synchronisation_time + max(transfer, code) + spawn if changed > 0 else 0.0
    objective = 0.0
    for p in range(5):
        if t.weights[p] > 0:
            objective += t.weights[p] * s.values[p]
        if s.values[p] > t.limits[p] * (1 + LIMIT_SLACK):
            violation += 0.01 + s.values[p] / t.limits[p] - 1
    _, breach, price = judge_rules(t.rules, s.counts)
    s.values[OBJECTIVE_VALUE], s.values[VIOLATION_VALUE] = objective + price, violation + breach


@inlined
def overload(t: RangeArrays, s: RangeState, u: int) -> float:
    """Excess of the demand of the replicas on a node over its capacity, relative to the capacity."""
    total = 0.0
    for r in range(t.capacity.shape[1]):
        used = 0.0
        for i in range(t.load.size):
            used += s.counts[i, u] * t.demand[i, r]
        room = t.capacity[u, r]
        if used > room * (1 + LIMIT_SLACK):
            total += used / room - 1 if room > 0 else 1.0 + used
    return total


@inlined
def shared_demand(t: RangeArrays, s: RangeState, u: int, q: int) -> float:
    """Demand for a shared resource on a node, in units per second."""
    amount = 0.0
    for i in range(t.load.size):
        if s.counts[i, u] > 0:
            amount += s.counts[i, u] * t.replica_use[i, q] + s.share[i, u] * t.tuple_use[i, q]
    for e in range(t.rate.size):
        amount += t.stream_use[e, q] * s.share[t.source[e], u] * max(0.0, 1.0 - s.share[t.target[e], u])
    return amount


@inlined
def refresh_all(t: RangeArrays, s: RangeState) -> None:
    """Recompute the whole evaluation from the replicas."""
    for i in range(t.load.size):
        refresh_operator(t, s, i)
    for i in range(t.load.size):
        refresh_streams(t, s, i)
    add_up(t, s)


@inlined
def copy_replicas(source: RangeState, target: RangeState, i: int) -> None:
    """Copy number, nodes and ranges of an operator."""
    target.number[i] = source.number[i]
    for k in range(source.number[i]):
        target.node[i, k], target.end[i, k] = source.node[i, k], source.end[i, k]


@inlined
def copy_operator(t: RangeArrays, source: RangeState, target: RangeState, i: int) -> None:
    """Copy replicas and evaluation of an operator, its streams included."""
    copy_replicas(source, target, i)
    copy_vector(source.share[i], target.share[i])
    copy_vector(source.counts[i], target.counts[i])
    copy_vector(source.leaving[i], target.leaving[i])
    copy_vector(source.arriving[i], target.arriving[i])
    copy_vector(source.latency[i], target.latency[i])
    copy_vector(source.operator_parts[i], target.operator_parts[i])
    for p in range(t.adjacent_start[i], t.adjacent_start[i + 1]):
        copy_vector(source.stream_costs[t.adjacent[p]], target.stream_costs[t.adjacent[p]])
