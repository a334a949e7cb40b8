"""Replicas with ranges and nodes, and the incremental evaluation of their metrics, operator by operator."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from edrp.core.arrays import Floats, Ints
from edrp.core.kernel_helpers import copy_vector
from edrp.core.kernels import inlined
from edrp.core.tolerances import LIMIT_SLACK
from edrp.heuristics.migration.rescale.range_arrays import NO_LATENCY, POLYNOMIAL, QUEUE, RangeArrays
from edrp.heuristics.placement.rule_rows import judge_rules
from edrp.placement.latency import MAX_LATENCY

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

    def set(self, replicas: list[list[tuple[int, int, int]]]) -> None:
        """Set the replicas of each operator, given as node, first task and end."""
        for i, ranges in enumerate(replicas):
            self.number[i] = len(ranges)
            self.node[i, : len(ranges)] = [u for u, _, _ in ranges]
            self.end[i, : len(ranges)] = [b for _, _, b in ranges]

    def replicas(self) -> list[list[tuple[int, int, int]]]:
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
