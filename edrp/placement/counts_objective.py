"""The objective of numbers of replicas per operator and node, by the arrays of a problem alone.

Arrays may be those of no document: with other rates, weights or limits, or with prices of replicas.
"""

from __future__ import annotations

import numpy as np

from edrp.core.arrays import Floats, Ints
from edrp.core.tolerances import LIMIT_SLACK
from edrp.placement.compiled import Compiled
from edrp.placement.reconfiguration import downtime_floor, operator_downtimes


def counts_objective(compiled: Compiled, counts: Ints) -> float:
    """Objective of a deployment, prices of replicas included; infinite where it is not feasible.

    Parameters
    ----------
    compiled
        Arrays of a problem, whose weights and limits count.
    counts
        Replicas, shape (operators, nodes).

    Examples
    --------
    >>> import numpy as np
    >>> from edrp.placement.compilation import compile_problem
    >>> from edrp.placement.edrp import EdrpProblem
    >>> problem = EdrpProblem(
    ...     application={"operators": [{"name": "parser", "external_rate": 1.0, "max_replicas": 2, "cost": 1.0}]},
    ...     network={"nodes": [{"name": "a"}, {"name": "b"}]},
    ...     weights={"cost": 1.0},
    ...     limits={"cost": 4.0},
    ... )
    >>> counts_objective(compile_problem(problem), np.array([[1, 1]]))
    0.5
    """
    total = counts.sum(axis=1)
    if ((total < compiled.min_replicas) | (total > compiled.max_replicas) | (counts * ~compiled.candidate).any(axis=1)).any():
        return np.inf
    if not np.isfinite(compiled.latency[np.arange(len(counts)), total]).all():
        return np.inf
    used = counts.T @ compiled.demand
    room = np.where(np.isfinite(compiled.capacity), compiled.capacity * (1 + LIMIT_SLACK), np.inf)
    if (used > room).any() or compiled.rules.breach(counts) > 0:
        return np.inf
    value = 0.0
    for metric, weight in compiled.weight.items():
        limit = compiled.limit[metric]
        if weight or np.isfinite(limit):
            scaled = scaled_metric(compiled, metric, counts)
            if not scaled <= limit * (1 + LIMIT_SLACK):
                return np.inf
            value += weight * scaled
    return value + compiled.rules.price(counts) + priced(compiled, counts)


def priced(compiled: Compiled, counts: Ints) -> float:
    """Σ over operators and nodes of replicas × the price of one of so many."""
    if compiled.replica_prices is None:
        return 0.0
    operators = np.arange(len(counts))
    return float((compiled.replica_prices[operators, counts.sum(axis=1)] * counts).sum())


def scaled_metric(compiled: Compiled, metric: str, counts: Ints) -> float:
    """One metric on the scale of the objective; infinite where it has no value."""
    share = counts / counts.sum(axis=1, keepdims=True)
    if metric == "response_time":
        return _response_time(compiled, counts)
    if metric == "cost":
        sent = _mean_over_pairs(compiled, share, compiled.link_cost)
        return float(compiled.replica_cost @ counts.sum(axis=1) + compiled.stream_rate @ sent)
    if metric == "network_usage":
        return float(compiled.stream_rate @ _mean_over_pairs(compiled, share, compiled.delay))
    if metric == "downtime":
        return _downtime(compiled, counts)
    if metric == "availability":
        return _loss(compiled, counts > 0)
    return _peak_load(compiled, metric, counts)


def _mean_over_pairs(compiled: Compiled, share: Floats, table: Floats) -> Floats:
    """Mean of a table of pairs of nodes over what each stream sends, shape (streams,)."""
    means = []
    for i, j in zip(compiled.stream_source, compiled.stream_target, strict=True):
        u, v = np.flatnonzero(share[i]), np.flatnonzero(share[j])
        means.append(share[i, u] @ table[np.ix_(u, v)] @ share[j, v])
    return np.array(means)


def _response_time(compiled: Compiled, counts: Ints) -> float:
    """The slowest path: through the slowest pair of every stream in a row, or through replicas (EDRP, eqs. 1, 3, 5–7)."""
    latest = 0.0
    finish: list[dict[int, float]] = []
    incoming = [np.flatnonzero((compiled.stream_target == i) & compiled.forward) for i in range(len(counts))]
    for i, row in enumerate(counts):
        nodes = np.flatnonzero(row).tolist()
        latency = float(compiled.latency[i, row.sum()] / compiled.speedup[nodes].min())
        ready = dict.fromkeys(nodes, 0.0)
        for e in incoming[i]:
            before = finish[compiled.stream_source[e]]
            for v in nodes:
                ready[v] = max(ready[v], *(done + float(compiled.delay[u, v]) for u, done in before.items()))
        if not compiled.instance_paths:
            ready = dict.fromkeys(nodes, max(ready.values()))
        finish.append({v: arrival + latency for v, arrival in ready.items()})
        latest = max(latest, *finish[i].values())
    return latest


def _downtime(compiled: Compiled, counts: Ints) -> float:
    """The longest downtime of an operator (EDRP, eqs. 10, 25–32); 0 where nothing changes, or without a current deployment."""
    if compiled.current is None:
        return 0.0
    changed = np.flatnonzero((counts != compiled.current).any(axis=1))
    members = compiled.members(counts)
    times = [float(operator_downtimes(compiled, int(i), members[i][None])[0]) for i in changed]
    return max([downtime_floor(compiled), *times]) if times else 0.0


def _loss(compiled: Compiled, on: Ints) -> float:
    """−ln of the availability: each node and each directed link in use counts once."""
    links = np.zeros(2 * (len(compiled.nodes),), bool)
    for i, j in zip(compiled.stream_source, compiled.stream_target, strict=True):
        links |= np.outer(on[i], on[j])
    np.fill_diagonal(links, False)
    loss = float(compiled.node_loss @ on.any(axis=0))
    return loss - float(np.log(compiled.link_availability[links]).sum()) if compiled.links.lossy else loss


def _peak_load(compiled: Compiled, metric: str, counts: Ints) -> float:
    """Largest share of a node's capacity of a shared resource, or of any."""
    contention = compiled.contention
    demands = contention.demands(counts, compiled.stream_source, compiled.stream_target)
    shares = np.divide(demands, contention.capacity, out=np.zeros_like(demands), where=demands > 0).max(axis=0)
    place = contention.metrics.index(metric) - 1
    return float(shares.max() if place < 0 else shares[place])
