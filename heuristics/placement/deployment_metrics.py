"""The metrics of a deployment under search, and how good it is: objective and penalties for broken limits."""

from __future__ import annotations

import numpy as np

from edrp.core.arrays import Floats
from edrp.core.kernels import inlined
from edrp.core.tolerances import LIMIT_SLACK, TIE_MOVE
from edrp.heuristics.placement.deployment_state import FIRST_PEAK_VALUE, DeploymentState
from edrp.heuristics.placement.problem_arrays import PlacementArrays, SharedUse
from edrp.heuristics.placement.replica_counts import ReplicaCounts
from edrp.heuristics.placement.rule_rows import judge_rules

EXCESS_PENALTY = 2.0
"""Objective per unit of relative excess over a limit or capacity: soft enough for the search to pass through."""

RULE_PENALTY = 0.2
"""Objective per unit of violation of a rule that must be met, in addition to the highest penalty of other rules."""

BREACH_PENALTY = 0.01
"""Penalty for breaking any limit, in units of the objective, so that the search does not settle just beyond one."""

BROKEN_VALUE = 5
"""Index into `DeploymentState.values` of the flag that is 1 where a limit or capacity is broken."""


@inlined
def _response(t: PlacementArrays, d: DeploymentState) -> float:
    """Compute the response time: every stream takes as long as its slowest pair of replicas (EDRP, eqs. 5–7)."""
    response = 0.0
    for i in range(d.counts.degree.size):
        ready = 0.0
        for k in range(t.incoming_start[i], t.incoming_start[i + 1]):
            e = t.incoming[k]
            ready = max(ready, d.finish[t.source[e], 0] + d.per_stream[e, 0])
        d.finish[i, 0] = ready + d.per_operator[i, 0]
        response = max(response, d.finish[i, 0])
    return response


@inlined
def _instance_response(t: PlacementArrays, d: DeploymentState) -> float:
    """Compute the response time of the slowest path through replicas."""
    c, response = d.counts, 0.0
    for i in range(c.degree.size):
        for b in range(c.number[i]):
            ready, v = 0.0, c.hosts[i, b]
            for k in range(t.incoming_start[i], t.incoming_start[i + 1]):
                j = t.source[t.incoming[k]]
                for a in range(c.number[j]):
                    ready = max(ready, d.finish[j, a] + t.delay[c.hosts[j, a], v])
            d.finish[i, b] = ready + d.per_operator[i, 0]
            response = max(response, d.finish[i, b])
    return response


@inlined
def _unavailability(t: PlacementArrays, d: DeploymentState) -> float:
    """Compute −ln of the availability of the nodes and links in use."""
    c, total = d.counts, 0.0
    for clear in range(2):
        for i in range(c.degree.size):
            for a in range(c.number[i]):
                u = c.hosts[i, a]
                total += _count_once(d.seen, u, u, t.node_loss[u], clear)
        for e in range(t.source.size if t.has_link_loss else 0):
            i, j = t.source[e], t.target[e]
            for a in range(c.number[i]):
                for b in range(c.number[j]):
                    u, v = c.hosts[i, a], c.hosts[j, b]
                    total += _count_once(d.seen, u, v, t.link_loss[u, v], clear)
    return total


@inlined
def _count_once(counted: np.ndarray, u: int, v: int, loss: float, clear: int) -> float:
    """Return the loss of (u, v) the first time it is counted, else 0; with `clear` only remove the mark."""
    first = not counted[u, v]
    counted[u, v] = clear == 0
    return loss if first and clear == 0 else 0.0


@inlined
def _measure_peaks(t: PlacementArrays, d: DeploymentState) -> None:
    """Write the largest share of a node's capacity, of any resource and of each, to `d.values`.

    The work is a pass over the nodes of operators, and over those of streams whose traffic uses a resource.
    """
    use, c, demand = t.shared, d.counts, d.demand
    for u in range(demand.shape[0]):
        for k in range(demand.shape[1]):
            demand[u, k] = 0.0
    for i in range(c.degree.size):
        for a in range(c.number[i]):
            u = c.hosts[i, a]
            for k in range(demand.shape[1]):
                demand[u, k] += c.replicas[i, u] * use.replica_use[i, c.degree[i], k]
    for e in range(t.source.size):
        if _is_charged(use, e):
            _add_stream(t, c, demand, e)
    for k in range(1 + demand.shape[1]):
        d.values[FIRST_PEAK_VALUE + k] = 0.0
    for u in range(demand.shape[0]):
        for k in range(demand.shape[1]):
            share = demand[u, k] / use.capacity[u, k]
            d.values[FIRST_PEAK_VALUE + 1 + k] = max(d.values[FIRST_PEAK_VALUE + 1 + k], share)
            d.values[FIRST_PEAK_VALUE] = max(d.values[FIRST_PEAK_VALUE], share)


@inlined
def _is_charged(use: SharedUse, e: int) -> bool:
    """Whether sending stream e to another node uses any resource."""
    for k in range(use.stream_use.shape[1]):
        if use.stream_use[e, k] > 0:
            return True
    return False


@inlined
def _add_stream(t: PlacementArrays, c: ReplicaCounts, demand: Floats, e: int) -> None:
    """Add to `demand` the traffic that stream e sends to other nodes."""
    use, i, j = t.shared, t.source[e], t.target[e]
    for a in range(c.number[i]):
        u = c.hosts[i, a]
        senders, receivers = c.replicas[i, u], c.replicas[j, u]
        away = float(max(0, senders - receivers)) if use.one_to_one[e] else senders * (1.0 - receivers / c.degree[j])
        for k in range(demand.shape[1]):
            demand[u, k] += use.stream_use[e, k] * away / c.degree[i]


@inlined
def measure(t: PlacementArrays, d: DeploymentState) -> float:
    """Write the metrics to `d.values`; return the terms that break ties."""
    c = d.counts
    response = _instance_response(t, d) if t.instance_paths else _response(t, d)
    cost, usage, downtime, moved = 0.0, 0.0, 0.0, 0.0
    for i in range(c.degree.size):
        cost += t.replica_cost[i] * c.degree[i]
        downtime = max(downtime, d.per_operator[i, 1])
        moved += d.per_operator[i, 2]
    for e in range(t.source.size):
        cost += d.per_stream[e, 3] * d.per_stream[e, 1]
        usage += d.per_stream[e, 3] * d.per_stream[e, 2]
    if moved > 0:
        downtime = max(downtime, t.downtime_floor)
    d.values[0], d.values[1], d.values[2], d.values[3] = response, cost, downtime, usage
    d.values[4] = _unavailability(t, d) if t.has_loss else 0.0
    if t.shared.weights.size > 0:
        _measure_peaks(t, d)
    return cost * t.tie_cost + moved * TIE_MOVE


@inlined
def energy(t: PlacementArrays, d: DeploymentState, overload: float) -> float:
    """Compute the objective plus penalties for broken limits and rules; write the metrics to `d.values`."""
    broken, breach, price = judge_rules(t.rules, d.counts.replicas)
    total = measure(t, d) + EXCESS_PENALTY * overload + price
    if broken > 0:
        total += (RULE_PENALTY + t.rules.max_penalty) * breach + BREACH_PENALTY * broken
    d.values[BROKEN_VALUE] = 1.0 if overload > 0 or broken > 0 else 0.0
    for k in range(5 + t.shared.weights.size):
        value = d.values[k] if k < 5 else d.values[FIRST_PEAK_VALUE + k - 5]
        limit = t.limits[k] if k < 5 else t.shared.limits[k - 5]
        total += (t.weights[k] if k < 5 else t.shared.weights[k - 5]) * value
        if value > limit * (1 + LIMIT_SLACK):
            total += EXCESS_PENALTY * (value / limit - 1) + BREACH_PENALTY
            d.values[BROKEN_VALUE] = 1.0
    return total
