"""A worker to the slowest stage while it fits, as Cosmos-Xenna scales pipelines on hosts with GPUs: a baseline of proofs.

Nodes are chosen by fragmentation (Weng et al., Beware of Fragmentation: Scheduling GPU-Sharing Workloads with Fragmentation
Gradient Descent, USENIX ATC 2023, sections 3.2 and 4.2): free units that a replica of an operator could not use, here the mean
over the operators. Cosmos-Xenna weighs them by the workers that are there when it begins.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np

from edrp.core.arrays import Floats
from edrp.core.budget import look, spend
from edrp.core.limits import with_rounding
from edrp.core.tolerances import SAME_VALUE
from edrp.heuristics.placement.filling import Filling, PlacementRule
from edrp.placement.compiled import Compiled
from edrp.placement.metrics.base import DEVICES, OWN, PACKAGE_METRICS
from edrp.placement.throughput import service_rate

STEP_WORK = 2e-5
"""Units of work for one more replica."""

Units = tuple[tuple[int, float], ...]
"""The units of a node, each as its resource and how much of it is taken, in order."""


class GreedyPipeline(PlacementRule):
    """Fewest replicas of each operator, then one more of the slowest again and again.

    The slowest serves the smallest multiple of its load. Each replica goes where fragmentation grows least, of equal nodes where
    most is free, until no operator is overloaded or the slowest finds no room.
    """

    name = "greedy-pipeline"
    summary = "one more replica of the slowest operator while it fits, where devices are fragmented least"
    kinds = ("edrp",)
    takes = PACKAGE_METRICS | {OWN, DEVICES}

    def fill(self, compiled: Compiled, parameters: Any) -> Filling:
        """Scale until no operator is overloaded, or nothing fits."""
        cluster = _Cluster(compiled)
        filling, most = cluster.filling, compiled.max_replicas
        for i in np.argsort(compiled.min_replicas == 1, kind="stable").tolist():  # fixed numbers first
            if not all(cluster.add(i) for _ in range(int(compiled.min_replicas[i]))):
                filling.notes.append(f"{compiled.min_replicas[i]} replicas of {compiled.operators[i]} found no node left")
                return filling
        speeds = np.array([cluster.carried(i) for i in range(len(most))])
        while speeds[slowest := int(speeds.argmin())] <= 1:
            replicas = int(filling.counts[slowest].sum())
            if replicas == most[slowest] or not cluster.add(slowest):
                filling.notes.append(f"no room for replica {replicas + 1} of {compiled.operators[slowest]}")
                return filling
            speeds[slowest] = cluster.carried(slowest)
        return filling


class _Cluster:
    """Nodes with their units, and what one more replica of each operator would do to each node.

    Attributes
    ----------
    increase : shape (operators, nodes), by how much more a node is fragmented; infinite where a replica does not fit.
    room : shape (nodes,), what is free.
    """

    def __init__(self, compiled: Compiled) -> None:
        self.compiled, self.filling = compiled, Filling.of(compiled)
        self.documents = [compiled.problem.application.by_name[name] for name in compiled.operators]
        self.need, self.plain = compiled.demand.tolist(), np.all(compiled.units < 0, axis=0)
        self.units: list[Units] = [
            tuple((m, 0.0) for m, units in enumerate(row) for _ in range(units)) for row in compiled.units.tolist()
        ]
        self.choices, self.fragmentation = cache(self._choices), cache(self._fragmentation)
        self.options: list[list[tuple[float, Units]]] = [[]] * len(self.units)
        self.increase, self.room = np.full(compiled.candidate.shape, math.inf), np.zeros(len(self.units))
        for u in range(len(self.units)):
            self._update(u, self.units[u])

    def carried(self, operator: int) -> float:
        """The multiple of its load that an operator serves."""
        held, load = self.filling.counts[operator], float(self.compiled.load[operator])
        replicas, slowest = int(held.sum()), float(self.compiled.speedup[held > 0].min())
        return replicas * service_rate(self.documents[operator], replicas) * min(1.0, slowest) / load if load else math.inf

    def add(self, operator: int) -> bool:
        """Place a replica where that fragments least; return whether it fits anywhere."""
        look("greedy-pipeline")
        spend(STEP_WORK)
        increase = self.increase[operator]
        if math.isinf(increase.min()):
            return False
        u = int(np.where(increase <= increase.min() + SAME_VALUE, self.room, -math.inf).argmax())
        self.filling.counts[operator, u] += 1
        self.filling.free[u] -= self.compiled.demand[operator]
        self._update(u, self.options[u][operator][1])
        return True

    def _update(self, node: int, units: Units) -> None:
        """Note what the units of a node hold, and work out what one more replica would do to it."""
        free = self.filling.free[node]
        self.units[node], self.room[node] = units, free[np.isfinite(free)].sum()
        self.options[node] = self.choices(self._fits(free), units)
        self.increase[:, node] = [choice[0] for choice in self.options[node]]
        self.increase[~self.compiled.candidate[:, node], node] = math.inf

    def _fits(self, free: Floats) -> tuple[bytes, ...]:
        """Operators a replica of which finds enough of resources without units, now and after one more of each operator."""
        left = np.vstack([free, free - self.compiled.demand])[:, None, self.plain]
        return tuple(map(bytes, np.all(self.compiled.demand[:, self.plain] * (1 - SAME_VALUE) <= left, axis=2)))

    def _choices(self, fits: tuple[bytes, ...], units: Units) -> list[tuple[float, Units]]:
        """For one more replica of each operator, by how much it fragments, infinite where it does not fit, and units then."""
        now, best = self.fragmentation(fits[0], units), []
        for i, after in enumerate(fits[1:]):
            ways = self._ways(i, units) if fits[0][i] else []
            best.append(min(((self.fragmentation(after, way) - now, way) for way in ways), default=(math.inf, units)))
        return best

    def _fragmentation(self, fits: bytes, units: Units) -> float:
        """Free units that replicas cannot use, the mean over operators; all of them where an operator does not fit."""
        total = 0.0
        for i, fit in enumerate(fits):
            able = fit and self._ways(i, units)
            total += sum(1 - unit[1] for unit in units if not (able and self._usable(i, unit)))
        return total / len(fits)

    def _usable(self, operator: int, unit: tuple[int, float]) -> bool:
        """Whether a replica may take a unit, or a fraction of it."""
        need = self.need[operator][unit[0]]
        return need > 0 and min(1.0, need) + unit[1] <= with_rounding(1.0)

    def _ways(self, operator: int, units: Units) -> list[Units]:
        """Possible contents of the units with one more replica, which takes the first of equal units."""
        ways = [units]
        for m in (m for m, need in enumerate(self.need[operator]) if need and not self.plain[m]):
            ways = [after for before in ways for after in self._taken(operator, m, before)]
        return ways

    def _taken(self, operator: int, resource: int, units: Units) -> Iterator[Units]:
        need = self.need[operator][resource]
        usable = [k for k, unit in enumerate(units) if unit[0] == resource and self._usable(operator, unit)]
        whole = [usable[: round(need)]] if len(usable) >= need else []
        for some in whole if need >= 1 else [[k] for k in {units[k]: k for k in reversed(usable)}.values()]:
            yield tuple(sorted((m, taken + min(1.0, need) * (k in some)) for k, (m, taken) in enumerate(units)))


METHODS = (GreedyPipeline(),)
"""Methods that this module adds to the registry."""
