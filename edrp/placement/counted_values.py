"""Objectives and metrics of many deployments at once, in one problem or in every period, from replicas per operator and node.

Arrays may be those of no document: with other rates, weights or limits, or with prices of replicas.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from edrp.core.arrays import Bools, Floats, Ints
from edrp.core.budget import spend
from edrp.core.tolerances import LIMIT_SLACK
from edrp.placement.compiled import Compiled
from edrp.placement.metrics import package_metrics
from edrp.placement.reconfiguration import downtimes

CELL_WORK = 4e-9
"""Units of work per cell of the arrays that an evaluation goes through."""

BLOCK_CELLS = 4_000_000
"""Cells of the largest array of an evaluation; more deployments are evaluated in blocks."""


class CountedDeployments:
    """Deployments in all periods, as metrics see them (`edrp.placement.metrics.base.Counted`).

    Attributes
    ----------
    periods : arrays that differ in rates, latencies, weights and limits alone; `first` of them.
    counts : shape (deployments, operators, nodes), replicas; `total` and `share` are sums over nodes and shares of these.
    """

    def __init__(self, periods: Sequence[Compiled], counts: Ints) -> None:
        self.periods, self.first, self.counts = periods, periods[0], counts
        self.total = counts.sum(axis=2)
        self.share = counts / self.total[:, :, None]

    @cached_property
    def latency(self) -> Floats:
        """Seconds of a replica on a node of speed-up 1, shape (deployments, periods, operators); infinite where overloaded."""
        tables = np.array([period.latency for period in self.periods])
        return np.ascontiguousarray(np.moveaxis(tables[:, np.arange(self.total.shape[1]), self.total], 1, 0))

    @property
    def downtimes(self) -> Floats:
        """Seconds of the change from the current deployment to each, shape (deployments,)."""
        return downtimes(self.first, self.counts)

    def sent(self, table: Floats) -> Floats:
        """Σ over streams of rate × the mean of a table of pairs of nodes, shape (deployments, periods)."""
        i, j = self.first.stream_source, self.first.stream_target
        means = np.empty((len(self.counts), i.size))
        for e in range(i.size):
            means[:, e] = ((self.share[:, i[e]] @ table) * self.share[:, j[e]]).sum(axis=1)
        return np.asarray(means @ np.array([period.stream_rate for period in self.periods]).T)

    def incoming(self, operator: int) -> Ints:
        """Streams to an operator that lie on paths."""
        return np.flatnonzero((self.first.stream_target == operator) & self.first.forward)

    @cached_property
    def delay(self) -> Floats:
        """Seconds between nodes; pairs without a link, which a problem's candidates rule out, count as 0."""
        return np.where(np.isfinite(self.first.delay), self.first.delay, 0.0)


class PeriodValues:
    """Objectives of deployments in all periods.

    Parameters
    ----------
    periods
        Arrays of the periods; they differ in rates, latencies, weights, limits and prices of violated rules alone.

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
        self.periods, self.first, self.count = tuple(periods), periods[0], len(periods)
        self._weight = {metric: np.array([period.weight[metric] for period in periods]) for metric in self.first.weight}
        self._limit = {metric: np.array([period.limit[metric] for period in periods]) for metric in self.first.weight}
        self._counted = [m for m in self._weight if self._weight[m].any() or np.isfinite(self._limit[m]).any()]
        room = self.first.capacity
        self._room = np.where(np.isfinite(room), room * (1 + LIMIT_SLACK), np.inf)

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
            if possible.size:
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
            possible &= ~(first.rules.violations(counts)[:, hard] > first.rules.slack[hard]).any(axis=1)
        return np.asarray(possible)

    def _values(self, counts: Ints) -> Floats:
        deployments = CountedDeployments(self.periods, counts)
        broken = np.asarray(~np.isfinite(deployments.latency).all(axis=2))
        for number, period in enumerate(self.periods):
            broken[:, number] |= ((counts > 0) & (deployments.total[:, :, None] < period.fewest_replicas)).any(axis=(1, 2))
        values = np.zeros((len(counts), self.count))
        for metric in self._counted:
            scaled = _metric(self.first, metric).over_counts(deployments)
            broken |= ~(scaled <= self._limit[metric] * (1 + LIMIT_SLACK))
            values += np.where(np.isfinite(scaled), self._weight[metric] * np.where(np.isfinite(scaled), scaled, 0.0), np.inf)
        if len(self.first.rules) and np.isfinite(self.first.rules.penalty).any():
            soft = np.isfinite(self.first.rules.penalty)
            penalties = np.array([period.rules.penalty[soft] for period in self.periods])
            values += self.first.rules.violations(counts)[:, soft] @ penalties.T
        for number, period in enumerate(self.periods):
            if period.replica_prices is not None:
                prices = period.replica_prices[np.arange(counts.shape[1]), deployments.total]
                values[:, number] += (prices * counts).sum(axis=(1, 2))
        return np.where(broken, np.inf, values)


def _metric(compiled: Compiled, name: str) -> Any:
    """A metric of EDRP, or of the shared resources of a problem."""
    return package_metrics(compiled.contention.resources)[name]


def counts_objective(compiled: Compiled, counts: Ints) -> float:
    """Objective of a deployment, prices of replicas included; infinite where it is not feasible.

    Parameters
    ----------
    compiled
        Arrays of a problem, whose weights and limits count.
    counts
        Replicas, shape (operators, nodes).
    """
    return float(PeriodValues([compiled])(counts[None])[0, 0])


def scaled_metric(compiled: Compiled, metric: str, counts: Ints) -> float:
    """One metric of a deployment, shape (operators, nodes), on the scale of the objective; infinite where it has no value."""
    return float(_metric(compiled, metric).over_counts(CountedDeployments([compiled], counts[None]))[0, 0])
