"""How much a placement carries where nodes differ by their class alone: a bound from sums over classes, and a deployment.

Nodes of a class have equal resources, capacities, candidates and speed-ups up to 1. Integer columns count the replicas of an
operator on all nodes of a class, and its units that are filled by each maximal pattern of fractions; with the service rate μ of a
replica, a load a + b·m needs a + b·m ≤ μ·s·(replicas) where none of them is on a node slower than s. Resources of the nodes of a
class are added up: a relaxation. What it says is then packed onto nodes: evenly, and what is left over by best fit.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np

from edrp.backends.solving import solve_program
from edrp.core.arrays import Floats, Ints
from edrp.core.limits import with_rounding
from edrp.core.program import Linear, Program
from edrp.core.tolerances import RATE_STEP, SAME_VALUE
from edrp.formulations.placement.builder import add_unit_rows
from edrp.placement.compilation import compile_problem
from edrp.placement.deployment import Deployment
from edrp.placement.devices import MAX_PATTERNS, unit_patterns
from edrp.placement.throughput import GrowingLoad, service_rate
from edrp.placement.usage import Usage

MANY_PLACES = 500
"""Nodes, times the most replicas of an operator, from which classes are asked; a program over nodes is as quick below."""

MAX_EXACT_CLASSES = 100
"""Classes of nodes beyond which sums over classes say little that nodes do not."""

MAX_NUMBERS = 2_000
"""Numbers of replicas, times speeds, up to which an operator whose replicas slow each other down has a column for each."""

ATTEMPTS = 10
"""Multiples for which a packing is tried, between one that is packed and one that is not."""


@dataclass(frozen=True, slots=True)
class ClassBound:
    """What classes of nodes tell of the largest multiple.

    Attributes
    ----------
    bound : no deployment carries more.
    deployment : one that carries much, as packed; None where packing found none.
    solves : number of programs that were solved.
    """

    bound: float
    deployment: Deployment | None
    solves: int


def carry_by_classes(load: GrowingLoad, **options: Any) -> ClassBound | None:
    """Bound the largest multiple of a load by classes of equal nodes, and pack a deployment that carries much of it.

    Limits on metrics other than the cost of replicas are left out: the bound holds, the deployment may be worth less. None where
    there are few places, where these matter otherwise (rules, own metrics, streams that use shared resources), where the program
    over classes would be large or is not solved to the end, or nothing is feasible. Options are those of `solve_program`.

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
    problem = load.problem
    replicas = max(operator.max_replicas for operator in problem.application.operators)
    many = len(problem.network.nodes) * replicas >= MANY_PLACES
    if not many or problem.rules or problem.metric_rows or any(stream.usage for stream in problem.application.streams):
        return None
    classes = _Classes(load)
    if not classes.tractable:
        return None
    relaxed = _ClassProgram(classes)
    relaxed.program.minimise(-relaxed.top)
    result = solve_program(relaxed.program, **options)
    if result.status != "optimal" or result.bound is None:
        return None
    bound = high = target = -result.bound * classes.most
    best, packed, solves = 0.0, None, 1
    while solves <= ATTEMPTS and best < high * (1 - RATE_STEP):
        relaxed, solves = _ClassProgram(classes, target * (1 - SAME_VALUE)), solves + 1
        relaxed.program.minimise(relaxed.size())
        result = solve_program(relaxed.program, **options)
        deployment = None if result.values is None else _Packing(relaxed, result.values, target).deployment()
        multiple = None if deployment is None else load.carried(deployment).multiple
        if multiple is not None and (packed is None or multiple > best):
            best, packed = multiple, deployment
        high = high if best >= target * (1 - RATE_STEP) else target
        target = (best + high) / 2
    return ClassBound(bound, packed, solves)


class _Classes:
    """Nodes by class, and operators with what they need; shared resources follow those that replicas take.

    Attributes
    ----------
    number : shape (nodes,), class of each node.
    count, first : shape (classes,), nodes of each, and one of them.
    speed : shape (nodes,), speed-up, at most 1.
    room, units : shape (nodes, resources); units are -1 where a node does not offer the resource in units.
    need, per_tuple : shape (operators, resources), what a replica takes, and what it asks for per tuple/s.
    fixed, growth : shape (operators,), tuples/s whatever the multiple, and per unit of it.
    choices : of each operator, fewest and most replicas, and tuples/s: a choice for each number on a capacity curve, else one.
    rate : shape (operators,), tuples/s that a replica adds to those; infinite where the latency model names none.
    """

    def __init__(self, load: GrowingLoad) -> None:
        self.load, self.compiled = load, compile_problem(load.start)
        compiled, shared = self.compiled, self.compiled.contention.resources
        nodes = [load.problem.network.by_name[name] for name in compiled.nodes]
        operators = [load.problem.application.by_name[name] for name in compiled.operators]
        capacity = [[load.capacity(node, k) if k in node.capacity else math.inf for k in shared] for node in nodes]
        self.room = np.hstack([compiled.capacity, np.array(capacity, float).reshape(len(nodes), len(shared))])
        self.units = np.hstack([compiled.units, np.full((len(nodes), len(shared)), -1)])
        usage = [[o.usage.get(k, Usage()) for k in shared] for o in operators]
        used = np.array([[(u.per_replica, u.per_tuple) for u in row] for row in usage]).reshape(len(operators), len(shared), 2)
        self.need = np.hstack([compiled.demand, used[:, :, 0]])
        self.per_tuple = np.hstack([np.zeros(compiled.demand.shape), used[:, :, 1]])
        self.speed = np.minimum(1.0, compiled.speedup)
        alike = np.column_stack([self.room, self.units, self.speed, compiled.candidate.T])
        _, self.first, number, self.count = np.unique(alike, axis=0, return_index=True, return_inverse=True, return_counts=True)
        self.number = number.ravel()
        self.fixed, self.growth = compiled.load, np.array([load.growth.load(name) for name in compiled.operators])
        curved = [o.latency is not None and o.latency.model == "capacity-curve" for o in operators]
        self.rate = np.array([0.0 if curve else service_rate(o, 1) for o, curve in zip(operators, curved, strict=True)])
        self.choices = []
        for o, curve in zip(operators, curved, strict=True):
            numbers = np.arange(o.min_replicas, o.max_replicas + 1.0)
            served = np.array([r * service_rate(o, int(r)) for r in numbers] if curve else [0.0])
            self.choices.append((numbers, numbers, served) if curve else (numbers[:1], numbers[-1:], served))

    @property
    def tractable(self) -> bool:
        """Whether the program over classes is small."""
        numbers = max(most.size * self.levels(i).size for i, (_, most, _) in enumerate(self.choices))
        small = self.count.size <= MAX_EXACT_CLASSES and numbers <= MAX_NUMBERS
        return small and all(len(held) <= MAX_PATTERNS for _, held in self.patterns.values()) and 0 < self.most < math.inf

    @cached_property
    def most(self) -> float:
        """A multiple that nothing exceeds: of operators one by one, and of each resource of all nodes together."""
        served = [(served + rate * most).max() for (_, most, served), rate in zip(self.choices, self.rate, strict=True)]
        per_tuple = self.per_tuple + np.divide(self.need.T, self.rate, out=np.zeros(self.need.T.shape), where=self.rate > 0).T
        offered, fixed = np.append(served, self.room.sum(axis=0)), np.append(self.fixed, self.fixed @ per_tuple)
        growth = np.append(self.growth, self.growth @ per_tuple)
        grows = growth > 0
        return float(((offered - fixed)[grows] / growth[grows]).min()) * (1 + RATE_STEP)

    @cached_property
    def patterns(self) -> dict[tuple[int, int], tuple[Floats, Ints]]:
        """Fractions and the maximal patterns in which they fill a unit, by class and resource."""
        compiled = self.compiled
        return {
            (c, m): unit_patterns(compiled.demand[:, m] * compiled.candidate[:, self.first[c]], compiled.max_replicas)
            for c, m in np.argwhere(self.units[self.first] >= 0).tolist()
        }

    def levels(self, operator: int) -> Floats:
        """Speeds that the slowest replica of an operator may have."""
        return np.unique(self.speed[self.compiled.candidate[operator]])

    def allowed(self, operator: int, speed: float = 0.0) -> Ints:
        """Classes on which an operator may run with at least a speed."""
        return np.flatnonzero(self.compiled.candidate[operator, self.first] & (self.speed[self.first] >= speed))

    def fitting(self, operator: int, c: int) -> float:
        """Replicas of one operator that fit on all nodes of a class."""
        need, room, units = self.need[operator], self.room[self.first[c]], self.units[self.first[c]]
        used = (need > 0) & np.isfinite(room)
        need, room, units = need[used], with_rounding(room[used]), units[used]
        most = np.where((units >= 0) & (need < 1), units * (with_rounding(1.0) // need), room // need)
        return float(self.count[c] * most.min(initial=self.compiled.max_replicas[operator]))


class _ClassProgram:
    """The program over classes: the multiple as a share of `_Classes.most`, at least so much.

    Attributes
    ----------
    top : the share.
    cells : of each operator, classes and the columns of the numbers of replicas there, by the speed of its slowest replica.
    shapes : columns of the numbers of units that patterns fill, by class and resource.
    """

    def __init__(self, classes: _Classes, at_least: float = 0.0) -> None:
        self.classes, self.program = classes, Program()
        self.top = Linear.of(self.program.add_columns("multiple", lower=at_least / classes.most, upper=1.0))
        self.cells: list[dict[float, tuple[Ints, Ints]]] = [{} for _ in classes.rate]
        for i in range(len(self.cells)):
            self._add_operator(i)
        self.shapes = {place: self._add_units(*place) for place in classes.patterns}
        self._add_resources()
        limit, price = classes.compiled.limit["cost"], classes.compiled.replica_cost
        if math.isfinite(limit):
            total = Linear.total([self.replicas(i) * float(price[i] / limit) for i in range(len(price))])
            self.program.add_row("cost", total, upper=1.0)

    def replicas(self, operator: int, c: int | None = None) -> Linear:
        """Replicas of an operator, in a class or in all."""
        parts = self.cells[operator].values()
        return Linear.total([Linear.of(columns if c is None else columns[there == c]) for there, columns in parts])

    def load(self, operator: int) -> Linear:
        """Tuples/s that an operator has to serve."""
        growth = float(self.classes.growth[operator] * self.classes.most)
        return self.top * growth + float(self.classes.fixed[operator])

    def size(self) -> Linear:
        """Number of replicas, and of units that they share."""
        shared = [Linear.of(columns) for columns in self.shapes.values()]
        return Linear.total([*shared, *map(self.replicas, range(len(self.cells)))])

    def _add_operator(self, i: int) -> None:
        """Numbers of replicas by class; a choice of the slowest speed, and on a curve of the number; the load that they serve."""
        classes, program, name = self.classes, self.program, self.classes.compiled.operators[i]
        (fewest, most, curve), rate = classes.choices[i], float(classes.rate[i])
        levels, served = classes.levels(i), Linear.zero()
        chosen = program.add_columns(f"choice {name}", (levels.size, most.size), upper=1.0, integer=True)
        program.add_row(f"one choice {name}", Linear.of(chosen), lower=1.0, upper=1.0)
        for speed, choice in zip(levels.tolist(), chosen, strict=True):
            there = classes.allowed(i, speed)
            fitting = [classes.fitting(i, c) for c in there.tolist()]
            columns = program.add_columns(f"replicas {name} {speed!r}", there.size, upper=fitting, integer=True)
            self.cells[i][speed] = there, columns
            program.add_row(f"fewest {name} {speed!r}", Linear.of(columns) - Linear.of(choice, fewest), lower=0.0)
            program.add_row(f"most {name} {speed!r}", Linear.of(columns) - Linear.of(choice, most), upper=0.0)
            if math.isfinite(rate):
                served = Linear.total([served, Linear.of(choice, speed * curve), Linear.of(columns, speed * rate)])
        if served.columns.size and classes.growth[i] + classes.fixed[i] > 0:
            program.add_row(f"load {name}", (self.load(i) - served) * (1 / (rate or curve.max() / curve.size)), upper=0.0)

    def _add_units(self, c: int, m: int) -> Ints:
        classes, here = self.classes, partial(self.replicas, c=c)
        units = float(classes.count[c] * classes.units[classes.first[c], m])
        return add_unit_rows(self.program, f"{m} {c}", units, classes.need[:, m], classes.patterns[c, m], here)

    def _add_resources(self) -> None:
        """What replicas take and ask for, and their tuples, of which columns say how many an operator has in a class."""
        classes, flows = self.classes, dict[tuple[int, int], Linear]()
        for i in np.flatnonzero(classes.per_tuple.any(axis=1)).tolist():
            name, there = classes.compiled.operators[i], classes.allowed(i)
            flow = self.program.add_columns(f"flow {name}", there.size)
            self.program.add_row(f"flow {name}", Linear.of(flow) - self.load(i), lower=0.0, upper=0.0)
            flows |= {(i, c): Linear.of(column) for c, column in zip(there.tolist(), flow, strict=True)}
        room = classes.room[classes.first] * classes.count[:, None]
        for c, m in np.argwhere(np.isfinite(room) & (room > 0)).tolist():
            need, per_tuple = classes.need[:, m] / room[c, m], classes.per_tuple[:, m] / room[c, m]
            parts = [self.replicas(i, c) * float(need[i]) for i in np.flatnonzero(need).tolist()]
            parts += [flow * float(per_tuple[i]) for (i, k), flow in flows.items() if k == c]
            self.program.add_row(f"resource {m} {c}", Linear.total(parts), upper=1.0)


class _Packing:
    """Places the replicas of a point of the program on nodes in items, which lie together: one replica, or all in a unit."""

    def __init__(self, relaxed: _ClassProgram, values: Floats, multiple: float) -> None:
        self.relaxed, self.classes, self.values = relaxed, relaxed.classes, np.rint(values).astype(np.int64)
        classes, operators = self.classes, len(relaxed.cells)
        self.counts, self.speeds = np.zeros((operators, classes.count.size), np.int64), np.zeros(operators)
        for i, cells in enumerate(relaxed.cells):
            for speed, (there, columns) in cells.items():
                self.counts[i, there] += self.values[columns]
                self.speeds[i] = speed if self.values[columns].any() else self.speeds[i]
        load = (classes.fixed + classes.growth * multiple) / np.maximum(1, self.counts.sum(axis=1))
        self.need = classes.need + classes.per_tuple * load[:, None]
        room = np.where(classes.units >= 0, classes.units, classes.room)
        self.left = np.where(np.isfinite(room), with_rounding(room), 1e300)
        self.room = np.where(np.isfinite(room) & (room > 0), room, np.inf)
        self.placed = np.zeros((operators, len(room)), np.int64)

    def deployment(self) -> Deployment | None:
        """What was packed, the largest items first; None where an operator has fewer replicas than it must."""
        compiled, items = self.classes.compiled, []
        for c, held, times in self._items():
            need, in_units = held @ self.need, self.classes.units[self.classes.first[c]] >= 0
            items.append((np.where(in_units, np.ceil(need - SAME_VALUE), need), c, held, times))
        for item in sorted(items, key=lambda item: float((item[0] / self.room.mean(axis=0)).max()), reverse=True):
            self._place(*item)
        return None if (self.placed.sum(axis=1) < compiled.min_replicas).any() else compiled.deployment(self.placed)

    def _items(self) -> Iterator[tuple[int, Ints, int]]:
        """Yield the class of each item, what it holds, shape (operators,), and how often there is one."""
        left = self.counts
        for (c, m), columns in self.relaxed.shapes.items():
            sizes, patterns = self.classes.patterns[c, m]
            for pattern, times in zip(patterns, self.values[columns].tolist(), strict=True):
                while times > 0:
                    held = np.zeros(len(left), np.int64)
                    for size, room in zip(sizes, pattern, strict=True):
                        alike = self.need[:, m] == size
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
        candidate, needed = self.classes.compiled.candidate[held > 0].all(axis=0), need > 0
        anywhere = candidate & (self.classes.speed >= self.speeds[held > 0].max())
        for nodes in (np.flatnonzero(self.classes.number == kind), np.flatnonzero(anywhere)):
            while times and nodes.size:
                copies = (self.left[np.ix_(nodes, needed)] // need[needed]).min(axis=1, initial=times)
                nodes, copies = nodes[copies >= 1], copies[copies >= 1]
                free = ((self.left[nodes] - need) / self.room[nodes]).sum(axis=1)
                best = nodes[np.argsort(free, kind="stable")[:times]]
                each = int(min([*copies, max(1, times // max(1, nodes.size))]))
                self.left[best] -= need * each
                self.placed[:, best] += held[:, None] * each
                times -= each * best.size
