"""A worker to the slowest stage while it fits, as Cosmos-Xenna scales pipelines on hosts with GPUs: a baseline of proofs.

Nodes are chosen by fragmentation (Weng et al., Beware of Fragmentation: Scheduling GPU-Sharing Workloads with Fragmentation
Gradient Descent, USENIX ATC 2023, sections 3.2 and 4.2): free units that a replica of an operator could not use, here the mean
over the operators. Cosmos-Xenna weighs them by the workers that are there when it begins.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from edrp.core.arrays import Bools, Floats
from edrp.core.budget import look, spend
from edrp.core.limits import with_rounding
from edrp.core.tolerances import SAME_VALUE
from edrp.heuristics.placement.filling import Filling, PlacementRule, stable_degrees
from edrp.placement.compiled import Compiled
from edrp.placement.metrics.base import DEVICES, OWN, PACKAGE_METRICS
from edrp.placement.throughput import service_rate

STEP_WORK = 2e-5
"""Units of work for one more replica."""

Units = tuple[tuple[tuple[int, ...], ...], ...]
"""Of each resource in units, the units of a node with the operators that have replicas there, in order."""


class _Choice(NamedTuple):
    """What one more replica does to a node: by how much more it is fragmented, and who has its units then."""

    increase: float
    units: Units


@dataclass(frozen=True, slots=True)
class GreedyPipelineParameters:
    """`fill`: whether to go on when no operator is overloaded, until the slowest finds no room."""

    fill: bool = False


class GreedyPipeline(PlacementRule):
    """Fewest replicas of each operator, then one more of the slowest again and again.

    The slowest serves the smallest multiple of its load. Each replica goes where fragmentation grows least, of equal nodes where
    most is free. Where the slowest finds no room, an operator that stays faster gives up a replica whose place it can take.
    """

    name = "greedy-pipeline"
    summary = "one more replica of the slowest operator while it fits, where devices are fragmented least"
    kinds = ("edrp",)
    takes = PACKAGE_METRICS | {OWN, DEVICES}
    parameters = GreedyPipelineParameters

    def fill(self, compiled: Compiled, parameters: GreedyPipelineParameters) -> Filling:
        """Scale until no operator is overloaded, or nothing fits."""
        cluster = _Cluster(compiled)
        filling, able, most = cluster.filling, stable_degrees(compiled), compiled.max_replicas
        for i in np.argsort(compiled.min_replicas == 1, kind="stable").tolist():  # fixed numbers first
            if not all(cluster.add(i) for _ in range(int(compiled.min_replicas[i]))):
                filling.notes.append(f"{compiled.min_replicas[i]} replicas of {compiled.operators[i]} found no node left")
                return filling
        speeds = np.array([cluster.carried(i) for i in range(len(most))])
        while True:
            slowest, replicas = int(speeds.argmin()), filling.counts.sum(axis=1)
            stable = bool(able[np.arange(replicas.size), replicas].all() and speeds[slowest] > 1)
            if (stable and not parameters.fill) or math.isinf(speeds[slowest]):
                return filling
            if replicas[slowest] == most[slowest] or not (cluster.add(slowest) or cluster.exchange(slowest, speeds)):
                if not stable:
                    filling.notes.append(f"no room for replica {replicas[slowest] + 1} of {compiled.operators[slowest]}")
                return filling
            speeds[slowest] = cluster.carried(slowest)


class _Cluster:
    """Nodes with their units, and what one more replica of each operator would do to each node."""

    def __init__(self, compiled: Compiled) -> None:
        self.compiled, self.filling = compiled, Filling.of(compiled)
        documents = compiled.problem.application.by_name
        self.documents = [documents[name] for name in compiled.operators]
        self.resources = np.flatnonzero((compiled.units >= 0).any(axis=0)).tolist()
        self.plain = np.setdiff1d(np.arange(len(compiled.resources)), self.resources)
        self.units: list[Units] = [tuple(((),) * max(0, int(row[m])) for m in self.resources) for row in compiled.units]
        self.known: dict[Any, list[_Choice | None]] = {}
        self.fragmented: dict[tuple[bytes, Units], float] = {}
        self.choices: list[list[_Choice | None]] = [[]] * len(self.units)
        self.increase = np.full(compiled.candidate.shape, math.inf)
        self.room = np.where(np.isfinite(compiled.capacity), compiled.capacity, 0.0).sum(axis=1)
        for u in range(len(self.units)):
            self._update(u)

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
        choice = self.choices[u][operator]
        assert choice is not None
        self._change(u, operator, 1, choice.units)
        return True

    def exchange(self, operator: int, speeds: Floats) -> bool:
        """Put a replica in the place of one of an operator that stays faster, the fastest first; return whether it fits."""
        counts = self.filling.counts
        for i in np.argsort(-speeds, kind="stable").tolist():
            replicas = int(counts[i].sum())
            if replicas == self.compiled.min_replicas[i] or speeds[i] * (replicas - 1) / replicas <= speeds[operator]:
                continue
            for u in np.flatnonzero(counts[i] * self.compiled.candidate[operator]).tolist():
                before = self.units[u]
                self._change(u, i, -1, self._without(i, before))
                if self.choices[u][operator] is not None:
                    speeds[i] = self.carried(i)
                    return self.add(operator)
                self._change(u, i, 1, before)
        return False

    def _change(self, node: int, operator: int, replicas: int, units: Units) -> None:
        self.filling.counts[operator, node] += replicas
        self.filling.free[node] -= replicas * self.compiled.demand[operator]
        finite = np.isfinite(self.compiled.capacity[node])
        self.room[node] -= replicas * self.compiled.demand[operator, finite].sum()
        self.units[node] = units
        self._update(node)

    def _update(self, node: int) -> None:
        """Work out the choices on a node; nodes on which the same fits have the same."""
        free, units = self.filling.free[node], self.units[node]
        fits = self._fits(np.vstack([free, free - self.compiled.demand]))
        state = fits.tobytes(), units
        if state not in self.known:
            before, *after = map(bytes, fits)
            self.known[state] = [self._best(i, before, left, units) if before[i] else None for i, left in enumerate(after)]
        self.choices[node] = self.known[state]
        allowed = self.compiled.candidate[:, node]
        values = [
            choice.increase if choice and fits else math.inf for choice, fits in zip(self.known[state], allowed, strict=True)
        ]
        self.increase[:, node] = values

    def _best(self, operator: int, fits: bytes, left: bytes, units: Units) -> _Choice | None:
        """The units that one more replica takes so that fragmentation grows least; None where it does not fit.

        `fits` and `left` say before and after of which operators a replica finds enough of the other resources.
        """
        now = self._fragmentation(fits, units)
        return min(
            (_Choice(self._fragmentation(left, after) - now, after) for after in self._options(operator, units)), default=None
        )

    def _fits(self, free: Floats) -> Bools:
        """Of which operators a replica finds enough of what comes in no units, shape (amounts, operators)."""
        need = self.compiled.demand[:, self.plain] * (1 - SAME_VALUE)
        return np.asarray((need <= free[:, None, self.plain]).all(axis=2))

    def _fill(self, resource: int, unit: tuple[int, ...]) -> float:
        return sum(min(1.0, float(self.compiled.demand[i, resource])) for i in unit)

    def _usable(self, operator: int, resource: int, unit: tuple[int, ...]) -> bool:
        """Whether a replica may take a unit, or a fraction of it."""
        need = float(self.compiled.demand[operator, resource])
        return need > 0 and (not unit if need >= 1 else self._fill(resource, unit) + need <= with_rounding(1.0))

    def _options(self, operator: int, units: Units) -> Iterator[Units]:
        """Yield the ways in which a replica may take units of a node, of equal units the first."""
        ways = []
        for m, held in zip(self.resources, units, strict=True):
            need = float(self.compiled.demand[operator, m])
            usable = [k for k, unit in enumerate(held) if self._usable(operator, m, unit)]
            if need >= 1:
                taken = [usable[: round(need)]] if len(usable) >= need else []
            else:
                taken = [[k] for k in {held[k]: k for k in reversed(usable)}.values()] if need else [[]]
            ways.append([_sorted(unit if k not in some else (*unit, operator) for k, unit in enumerate(held)) for some in taken])
        yield from product(*ways)

    def _without(self, operator: int, units: Units) -> Units:
        """The units of a node without a replica, of those that it shares the one with the fewest others."""
        left = []
        for m, held in zip(self.resources, units, strict=True):
            need = float(self.compiled.demand[operator, m])
            mine = sorted((k for k, unit in enumerate(held) if operator in unit), key=lambda k: len(held[k]))
            given = mine[: max(1, round(need)) if need else 0]
            left.append(_sorted(_less(unit, operator) if k in given else unit for k, unit in enumerate(held)))
        return tuple(left)

    def _fragmentation(self, fits: bytes, units: Units) -> float:
        """Free units that replicas cannot use, the mean over operators; all of them where an operator does not fit."""
        if (fits, units) not in self.fragmented:
            total = 0.0
            for i in range(len(self.documents)):
                fit = fits[i] and next(self._options(i, units), None) is not None
                for m, held in zip(self.resources, units, strict=True):
                    total += sum(1 - self._fill(m, unit) for unit in held if not (fit and self._usable(i, m, unit)))
            self.fragmented[fits, units] = total / len(self.documents)
        return self.fragmented[fits, units]


def _sorted(units: Any) -> tuple[tuple[int, ...], ...]:
    return tuple(sorted(tuple(sorted(unit)) for unit in units))


def _less(unit: tuple[int, ...], operator: int) -> tuple[int, ...]:
    at = unit.index(operator)
    return unit[:at] + unit[at + 1 :]


METHODS = (GreedyPipeline(),)
"""Methods that this module adds to the registry."""
