"""The largest multiple of a load where nodes differ by their class alone: a bound from sums over classes, and a deployment.

Nodes of a class have equal resources and candidates. Integer columns count the replicas of an operator on all nodes of a class,
and the units that are filled by each maximal pattern of fractions; r replicas of service rate μ serve a load a + b·m ≤ r·μ.
Resources of the nodes of a class are added up: a relaxation. What it says is then packed onto nodes: evenly, and what is left
over by best fit.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from edrp.backends.solving import solve_program
from edrp.core.arrays import Floats, Ints
from edrp.core.limits import with_rounding
from edrp.core.program import Linear, Program
from edrp.core.tolerances import RATE_STEP, SAME_VALUE
from edrp.formulations.placement.builder import add_unit_rows
from edrp.formulations.placement.carrying.program import highest_multiple
from edrp.placement.compilation import compile_problem
from edrp.placement.deployment import Deployment
from edrp.placement.devices import MAX_PATTERNS, unit_patterns
from edrp.placement.edrp import EdrpProblem
from edrp.placement.latency import CapacityCurveLatency
from edrp.placement.throughput import GrowingLoad, service_rate

MANY_PLACES = 500
"""Nodes, times the most replicas of an operator, from which classes are asked; a program over nodes is as quick below."""

MAX_EXACT_CLASSES = 100
"""Classes of nodes beyond which sums over classes say little that nodes do not."""

ATTEMPTS = 10
"""Multiples for which a packing is tried, between one that is packed and one that is not."""


@dataclass(frozen=True, slots=True)
class ClassBound:
    """No deployment carries more than `bound`; one that carries much, None where packing found none; programs solved for it."""

    bound: float
    deployment: Deployment | None
    solves: int


def carry_by_classes(load: GrowingLoad, **options: Any) -> ClassBound | None:
    """Bound the largest multiple of a load by classes of equal nodes, and pack a deployment that carries much of it.

    Limits on metrics other than the cost of replicas are left out: the bound holds, the deployment may be worth less. None where
    there are few places, where more counts than numbers in classes (rules, own metrics, shared resources, slow nodes, capacity
    curves), where the program would be large or is not solved to the end, or nothing is feasible. Options are those of
    `solve_program`.

    Examples
    --------
    >>> from edrp.placement.edrp import EdrpProblem
    >>> operator = {"name": "caption", "external_rate": 1, "latency": {"model": "mm1", "service_rate": 1}, "max_replicas": 999}
    >>> problem = EdrpProblem(
    ...     application={"operators": [{**operator, "resources": {"gpu": 2}}]},
    ...     network={"nodes": [{"name": f"n{u}", "resources": {"gpu": {"units": 9}}} for u in range(40)]},
    ...     weights={"cost": 1.0}, limits={"cost": 1.0},
    ... )
    >>> bound = carry_by_classes(GrowingLoad(problem))
    >>> bound.bound, bound.deployment.degree("caption")
    (160.0, 160)
    """
    operators, nodes = load.problem.application.operators, load.problem.network.nodes
    if len(nodes) * max(operator.max_replicas for operator in operators) < MANY_PLACES or not _only_classes(load.problem):
        return None
    relaxed = _ClassProgram(load)
    if not relaxed.tractable:
        return None
    relaxed.formulate()
    result = solve_program(relaxed.program, **options)
    if result.status != "optimal" or result.bound is None:
        return None
    bound = high = target = -result.bound * relaxed.most
    best, packed, solves = 0.0, None, 1
    while solves <= ATTEMPTS and best < high * (1 - RATE_STEP):
        relaxed.ask_for(target * (1 - SAME_VALUE))
        result, solves = solve_program(relaxed.program, **options), solves + 1
        deployment = None if result.values is None else _Packing(relaxed, result.values).deployment()
        multiple = None if deployment is None else load.carried(deployment).multiple
        if multiple is not None and (packed is None or multiple > best):
            best, packed = multiple, deployment
        high = high if best >= target * (1 - RATE_STEP) else target
        target = (best + high) / 2
    return ClassBound(bound, packed, solves)


def _only_classes(problem: EdrpProblem) -> bool:
    """Whether nothing counts but how many replicas run on nodes with equal resources."""
    operators, streams = problem.application.operators, problem.application.streams
    shared = any(operator.usage for operator in operators) or any(stream.usage for stream in streams)
    curved = any(isinstance(operator.latency, CapacityCurveLatency) for operator in operators)
    slow = any(node.speedup < 1 for node in problem.network.nodes)
    return not (problem.rules or problem.metric_rows or shared or curved or slow)


class _ClassProgram:
    """The program over classes, with the multiple as a share of one that nothing exceeds.

    Attributes
    ----------
    number : shape (nodes,), class of each node.
    count, first : shape (classes,), nodes of each, and one of them.
    rate : shape (operators,), tuples/s that a replica serves; infinite where the latency model names none.
    patterns : fractions and the maximal patterns in which they fill a unit, by class and resource.
    most : the multiple that nothing exceeds.
    replicas : columns of the numbers of replicas, shape (operators, classes).
    shapes : columns of the numbers of units that patterns fill, by class and resource.
    """

    def __init__(self, load: GrowingLoad) -> None:
        self.program, self.compiled = Program(), compile_problem(load.start)
        compiled, operators = self.compiled, load.problem.application.by_name
        alike = np.column_stack([compiled.capacity, compiled.units, compiled.candidate.T])
        _, self.first, number, self.count = np.unique(alike, axis=0, return_index=True, return_inverse=True, return_counts=True)
        self.number = number.ravel()
        self.rate = np.array([service_rate(operators[name], 1) for name in compiled.operators])
        self.growth = np.array([load.growth.load(name) for name in compiled.operators])
        self.patterns = {
            (c, m): unit_patterns(self._need(c, m), compiled.max_replicas)
            for c, m in np.argwhere(compiled.units[self.first] >= 0).tolist()
        }
        self.most = highest_multiple(load) * (1 + RATE_STEP)

    @property
    def tractable(self) -> bool:
        """Whether there is a largest multiple, and the program is small."""
        few = all(len(held) <= MAX_PATTERNS for _, held in self.patterns.values())
        return few and self.count.size <= MAX_EXACT_CLASSES and 0 < self.most < math.inf

    def formulate(self) -> None:
        """Columns and rows, for the largest multiple."""
        compiled, program, need = self.compiled, self.program, self.compiled.demand
        self.top = program.add_columns("multiple", upper=1.0)
        room = with_rounding(compiled.capacity[self.first])
        fitting = np.divide(room, need[:, None], out=np.full((len(need), *room.shape), math.inf), where=need[:, None] > 0)
        fitting = np.minimum(np.floor(fitting.min(axis=2, initial=math.inf)) * self.count, compiled.max_replicas[:, None])
        upper = np.where(compiled.candidate[:, self.first], fitting, 0.0)
        self.replicas = program.add_columns("replicas", upper.shape, upper=upper, integer=True)
        for i, name in enumerate(compiled.operators):
            total = Linear.of(self.replicas[i])
            program.add_row(f"replicas {name}", total, lower=compiled.min_replicas[i], upper=compiled.max_replicas[i])
            if math.isfinite(self.rate[i]) and self.growth[i] + compiled.load[i] > 0:
                load = Linear.of(self.top, self.growth[i] * self.most, float(compiled.load[i]))
                program.add_row(f"load {name}", load * float(1 / self.rate[i]) - total, upper=0.0)
        self.shapes = {place: self._add_units(*place) for place in self.patterns}
        room = compiled.capacity[self.first] * self.count[:, None]
        for c, m in np.argwhere(np.isfinite(room) & (room > 0)).tolist():
            program.add_row(f"resource {m} {c}", Linear.of(self.replicas[:, c], need[:, m] / room[c, m]), upper=1.0)
        if math.isfinite(limit := compiled.limit["cost"]):
            price = np.broadcast_to(compiled.replica_cost[:, None] / limit, self.replicas.shape)
            program.add_row("cost", Linear.of(self.replicas, price), upper=1.0)
        program.minimise(-Linear.of(self.top))

    def ask_for(self, multiple: float) -> None:
        """Ask for the fewest replicas, and units that they share, that carry a multiple."""
        self.program.fix(self.top, multiple / self.most)
        self.program.minimise(Linear.total(map(Linear.of, (self.replicas, *self.shapes.values()))))

    def _need(self, c: int, m: int) -> Floats:
        """Units of a resource that a replica of each operator takes in a class, 0 where it cannot run."""
        return self.compiled.demand[:, m] * self.compiled.candidate[:, self.first[c]]

    def _add_units(self, c: int, m: int) -> Ints:
        units, patterns = float(self.count[c] * self.compiled.units[self.first[c], m]), self.patterns[c, m]
        return add_unit_rows(
            self.program, f"{m} {c}", units, self._need(c, m), patterns, lambda i: Linear.of(self.replicas[i, c])
        )


class _Packing:
    """Places the replicas of a point of the program on nodes in items, which lie together: one replica, or all in a unit."""

    def __init__(self, relaxed: _ClassProgram, values: Floats) -> None:
        self.relaxed, self.compiled, self.values = relaxed, relaxed.compiled, np.rint(values).astype(np.int64)
        room = self.compiled.capacity
        self.left = np.where(np.isfinite(room), with_rounding(room), 1e300)
        self.room = np.where(np.isfinite(room) & (room > 0), room, np.inf)
        self.placed = np.zeros(self.compiled.candidate.shape, np.int64)

    def deployment(self) -> Deployment | None:
        """The packed deployment, largest items first; None where an operator has fewer replicas than it must."""
        compiled, items = self.compiled, []
        for c, held, times in self._items():
            need, in_units = held @ compiled.demand, compiled.units[self.relaxed.first[c]] >= 0
            items.append((np.where(in_units, np.ceil(need - SAME_VALUE), need), c, held, times))
        for item in sorted(items, key=lambda item: float((item[0] / self.room.mean(axis=0)).max()), reverse=True):
            self._place(*item)
        return None if (self.placed.sum(axis=1) < compiled.min_replicas).any() else compiled.deployment(self.placed)

    def _items(self) -> Iterator[tuple[int, Ints, int]]:
        """Yield the class of each item, what it holds, shape (operators,), and how often there is one."""
        left = self.values[self.relaxed.replicas]
        for (c, m), columns in self.relaxed.shapes.items():
            sizes, patterns = self.relaxed.patterns[c, m]
            for pattern, times in zip(patterns, self.values[columns].tolist(), strict=True):
                while times > 0:
                    held = np.zeros(len(left), np.int64)
                    for size, room in zip(sizes, pattern, strict=True):
                        alike = self.compiled.demand[:, m] == size
                        held[alike] = np.diff(np.minimum(np.cumsum(left[alike, c]), room), prepend=0)
                    if not held.any():
                        break
                    often = min(times, int((left[held > 0, c] // held[held > 0]).min()))
                    left[:, c] -= held * often
                    times -= often
                    yield c, held, often
        one = np.eye(len(left), dtype=np.int64)
        yield from ((c, one[i], int(left[i, c])) for i, c in np.argwhere(left > 0).tolist())

    def _place(self, need: Floats, kind: int, held: Ints, times: int) -> None:
        """Place an item in rounds on its class, then on any nodes, first where the least is left; evenly while all have room."""
        candidate, needed = self.compiled.candidate[held > 0].all(axis=0), need > 0
        for nodes in (np.flatnonzero(self.relaxed.number == kind), np.flatnonzero(candidate)):
            while times and nodes.size:
                copies = (self.left[np.ix_(nodes, needed)] // need[needed]).min(axis=1, initial=times)
                nodes, copies = nodes[copies >= 1], copies[copies >= 1]
                free = ((self.left[nodes] - need) / self.room[nodes]).sum(axis=1)
                best = nodes[np.argsort(free, kind="stable")[:times]]
                each = int(min([*copies, max(1, times // max(1, nodes.size))]))
                self.left[best] -= need * each
                self.placed[:, best] += held[:, None] * each
                times -= each * best.size
