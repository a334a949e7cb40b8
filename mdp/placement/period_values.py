"""Costs of deployments in every period: one evaluation of many deployments serves all periods at once."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from edrp.core.arrays import Bools, Floats, Ints, flattened
from edrp.core.budget import spend
from edrp.core.tolerances import LIMIT_SLACK
from edrp.placement.compiled import Compiled


def differing_rows(periods: Sequence[Compiled], method: str) -> str | None:
    """Why a method whose periods have the same rows does not take these; None where they are the same."""
    first = periods[0].rules
    if all(period.rules.same_rows(first) for period in periods[1:]):
        return None
    return f"rules or metrics of your own, or limits on these, differ between loads, which {method} does not take into account"


CELL_WORK = 4e-9
"""Units of work per cell of the arrays that an evaluation goes through."""

BLOCK_CELLS = 4_000_000
"""Cells of the largest array of an evaluation; more deployments are evaluated in blocks."""

METRICS = ("response_time", "cost", "network_usage", "availability")
"""Metrics that a weight or a limit may be on."""


class PeriodValues:
    """Objectives of deployments in all periods.

    Parameters
    ----------
    periods
        Arrays of the periods; they differ in rates, latencies, weights and limits alone.

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
    >>> PeriodValues([compile_problem(problem)])(np.array([[[1, 1]], [[2, 1]]])).tolist()
    [[0.5], [inf]]
    """

    def __init__(self, periods: Sequence[Compiled]) -> None:
        first = self.first = periods[0]
        self.count = len(periods)
        self._latency = np.array([period.latency for period in periods])
        self._rate = np.array([period.stream_rate for period in periods])
        self._weight = {metric: np.array([period.weight[metric] for period in periods]) for metric in METRICS}
        self._limit = {metric: np.array([period.limit[metric] for period in periods]) for metric in METRICS}
        self._counted = [m for m in METRICS if self._weight[m].any() or np.isfinite(self._limit[m]).any()]
        self._rules = [period.rules for period in periods]
        self._room = np.where(np.isfinite(first.capacity), first.capacity * (1 + LIMIT_SLACK), np.inf)
        # Pairs of nodes without a link are used by no stream: the problem's candidates rule that out.
        self._delay = np.where(np.isfinite(first.delay), first.delay, 0.0)

    def __call__(self, counts: Ints) -> Floats:
        """Objective of deployments, shape (deployments, operators, nodes), in every period: shape (deployments, periods).

        Infinite where a deployment is not feasible.
        """
        operators, nodes = counts.shape[1:]
        wide = max(self.count * operators, nodes * nodes, 2 * operators * nodes)
        step = max(1, BLOCK_CELLS // wide)
        values = np.full((len(counts), self.count), np.inf)
        for start in range(0, len(counts), step):
            block = counts[start : start + step]
            possible = np.flatnonzero(self._possible(block))
            values[start + possible] = self._values(block[possible])
        spend(CELL_WORK * len(counts) * (self.count * operators + self.first.stream_source.size * (nodes * nodes + self.count)))
        return values

    def _possible(self, counts: Ints) -> Bools:
        """Which deployments keep to candidates, numbers of replicas, capacities and rules, shape (deployments,)."""
        first, total = self.first, counts.sum(axis=2)
        possible = ((total >= first.min_replicas) & (total <= first.max_replicas)).all(axis=1)
        possible &= ~(counts * ~first.candidate).any(axis=(1, 2))
        if first.resources:
            possible &= (np.einsum("kiu,im->kum", counts, first.demand) <= self._room).all(axis=(1, 2))
        if len(first.rules):
            hard = np.isinf(first.rules.penalty)
            violated = self._violations(counts)
            possible &= ~(violated[:, hard] > first.rules.slack[hard]).any(axis=1)
        return np.asarray(possible)

    def _violations(self, counts: Ints) -> Floats:
        """Violation of each group of rules, shape (deployments, groups)."""
        rules = self.first.rules
        replicas = flattened(counts).T.astype(float)
        on = (replicas > 0).astype(float)
        rows = rules.matrix @ np.concatenate([replicas, on, (rules.members @ on > 0).astype(float)])
        outside = np.maximum(0.0, np.maximum(rules.lower[:, None] - rows, rows - rules.upper[:, None]))
        violated = np.zeros((rules.penalty.size, len(counts)))
        np.maximum.at(violated, rules.group, outside)
        return violated.T

    def _values(self, counts: Ints) -> Floats:
        total = counts.sum(axis=2)
        share = counts / total[:, :, None]
        broken = ~np.isfinite(self._latency[:, np.arange(total.shape[1]), total]).all(axis=2).T
        values = np.zeros((len(counts), self.count))
        for metric in self._counted:
            scaled = self._metric(metric, counts, total, share)
            broken |= scaled > self._limit[metric] * (1 + LIMIT_SLACK)
            weight = self._weight[metric]
            values += np.where(np.isfinite(scaled), weight * np.where(np.isfinite(scaled), scaled, 0.0), np.inf)
        if len(self.first.rules) and np.isfinite(self.first.rules.penalty).any():
            soft = np.isfinite(self.first.rules.penalty)
            penalties = np.array([rules.penalty[soft] for rules in self._rules])
            values += self._violations(counts)[:, soft] @ penalties.T
        return np.where(broken, np.inf, values)

    def _metric(self, metric: str, counts: Ints, total: Ints, share: Floats) -> Floats:
        """One metric, shape (deployments, periods)."""
        if metric == "response_time":
            return self._instance_response(counts, total) if self.first.instance_paths else self._response(counts, total)
        if metric == "availability":
            return np.repeat(self._loss(counts > 0)[:, None], self.count, axis=1)
        table = self.first.link_cost if metric == "cost" else self._delay
        i, j = self.first.stream_source, self.first.stream_target
        sent = np.zeros((len(counts), i.size))
        for e in range(i.size):
            sent[:, e] = ((share[:, i[e]] @ table) * share[:, j[e]]).sum(axis=1)
        carried: Floats = sent @ self._rate.T
        return carried + (total @ self.first.replica_cost)[:, None] if metric == "cost" else carried

    def _latencies(self, counts: Ints, total: Ints, operator: int) -> Floats:
        """Latency of an operator by its slowest node, shape (deployments, periods)."""
        slowness = np.where(counts[:, operator] > 0, 1 / self.first.speedup, 0.0).max(axis=1)
        return np.asarray(self._latency[:, operator, total[:, operator]].T * slowness[:, None])

    def _loss(self, on: Bools) -> Floats:
        """−ln of the availability, shape (deployments,): each node and each directed link in use counts once."""
        loss: Floats = on.any(axis=1) @ self.first.node_loss
        if not self.first.links.lossy:
            return loss
        nodes = on.shape[2]
        used = np.zeros((len(on), nodes, nodes), bool)
        for i, j in zip(self.first.stream_source, self.first.stream_target, strict=True):
            used |= on[:, i, :, None] & on[:, j, None, :]
        used[:, np.arange(nodes), np.arange(nodes)] = False
        lost = -np.log(np.where(self.first.link_availability > 0, self.first.link_availability, 1.0))
        return np.asarray(loss + (used * lost).sum(axis=(1, 2)))

    def _incoming(self, operator: int) -> Ints:
        return np.flatnonzero((self.first.stream_target == operator) & self.first.forward)

    def _response(self, counts: Ints, total: Ints) -> Floats:
        """Every stream takes as long as its slowest pair of replicas (EDRP, eqs. 5–7), shape (deployments, periods)."""
        on, latest = counts > 0, np.zeros((len(counts), self.count))
        finish: list[Floats] = []
        for i in range(counts.shape[1]):
            ready = np.zeros((len(counts), self.count))
            for e in self._incoming(i):
                j = self.first.stream_source[e]
                slowest = np.where(on[:, j, :, None] & on[:, i, None, :], self._delay, 0.0).max(axis=(1, 2))
                ready = np.maximum(ready, finish[j] + slowest[:, None])
            finish.append(ready + self._latencies(counts, total, i))
            latest = np.maximum(latest, finish[i])
        return latest

    def _instance_response(self, counts: Ints, total: Ints) -> Floats:
        """The slowest path through replicas, shape (deployments, periods)."""
        on, latest = counts > 0, np.zeros((len(counts), self.count))
        finish: list[list[Floats]] = []  # by operator and node, shape (deployments, periods), -inf where nothing runs
        for i in range(counts.shape[1]):
            latency, arrivals = self._latencies(counts, total, i), []
            for v in range(counts.shape[2]):
                ready = np.zeros_like(latest)
                for e in self._incoming(i):
                    for u, done in enumerate(finish[self.first.stream_source[e]]):
                        ready = np.maximum(ready, done + self._delay[u, v])
                arrivals.append(np.where(on[:, i, v, None], ready + latency, -np.inf))
                latest = np.maximum(latest, arrivals[-1])
            finish.append(arrivals)
        return latest
