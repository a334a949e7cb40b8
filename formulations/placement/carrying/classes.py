"""How much a placement carries where nodes differ by their class alone: a bound from sums over classes, and a deployment.

Nodes of a class have equal resources, capacities, candidates and speed-ups up to 1. Integer columns count the replicas of an
operator on all nodes of a class, and its units that are filled by each maximal pattern of fractions; with the service rate μ of a
replica, a load a + b·m needs a + b·m ≤ μ·s·(replicas) where none of them is on a node slower than s. Resources of the nodes of a
class are added up: a relaxation. What it says is then packed onto nodes: evenly, and what is left over by best fit.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import NamedTuple

import numpy as np

from edrp.backends.solving import solve_program
from edrp.core.arrays import Floats, Ints
from edrp.core.limits import with_rounding
from edrp.core.methods import Options
from edrp.core.program import Linear, Program
from edrp.core.tolerances import RATE_STEP, SAME_VALUE
from edrp.placement.compilation import compile_problem
from edrp.placement.deployment import Deployment
from edrp.placement.devices import maximal_patterns
from edrp.placement.edrp import EdrpProblem
from edrp.placement.throughput import Carried, GrowingLoad, service_rate

MANY_PLACES = 500
"""Nodes, times the most replicas of an operator, from which classes are asked; a program over nodes is as quick below."""

MAX_CLASSES = 100
"""Classes of nodes beyond which sums over classes say little that nodes do not."""

MAX_NUMBERS = 2_000
"""Numbers of replicas, times speeds, up to which an operator whose replicas slow each other down has a column for each."""

MAX_PATTERNS = 2_000
"""Maximal patterns of fractions in one unit up to which each has a column."""

ATTEMPTS = 10
"""Multiples for which a packing is tried, between one that is packed and one that is not."""


@dataclass(frozen=True, slots=True)
class ClassBound:
    """What classes of nodes tell of the largest multiple.

    Attributes
    ----------
    bound : no deployment carries more.
    deployment : one that carries much, as packed; None where packing found none.
    """

    bound: float
    deployment: Deployment | None


def carry_by_classes(problem: EdrpProblem, scale: Sequence[str] = (), options: Options | None = None) -> ClassBound | None:
    """Bound the largest multiple of a load by classes of equal nodes, and pack a deployment that carries much of it.

    Limits on metrics other than the cost of replicas are left out: the bound holds, the deployment may be worth less.

    Parameters
    ----------
    problem, scale
        As in `edrp.largest_rate`.
    options
        Seed and work limit of the programs over classes.

    Returns
    -------
    ClassBound or None
        None where there are few places, where these matter otherwise (rules, own metrics, streams that use shared resources),
        and where the program over classes would be large, is not solved to the end, or nothing is feasible.

    Examples
    --------
    >>> from edrp.placement.edrp import EdrpProblem
    >>> stages = [("decode", 0.25, 5.0), ("caption", 2, 1.0)]
    >>> problem = EdrpProblem(
    ...     application={
    ...         "operators": [
    ...             {"name": name, "resources": {"gpu": gpus}, "max_replicas": 999, "external_rate": float(name == "decode"),
    ...              "latency": {"model": "mm1", "service_rate": rate}}
    ...             for name, gpus, rate in stages
    ...         ],
    ...         "streams": [{"source": "decode", "target": "caption"}],
    ...     },
    ...     network={
    ...         "nodes": [{"name": f"n{u}", "resources": {"gpu": {"units": 8}}} for u in range(40)], "between_zones": {"delay": 0}
    ...     },
    ...     weights={"cost": 1.0}, limits={"cost": 1.0},
    ... )
    >>> bound = carry_by_classes(problem)
    >>> bound.bound, bound.deployment.degree("caption")
    (156.0, 156)
    """
    options = options or Options()
    replicas = max(operator.max_replicas for operator in problem.application.operators)
    if (
        len(problem.network.nodes) * replicas < MANY_PLACES
        or problem.rules
        or problem.metric_rows
        or any(stream.usage for stream in problem.application.streams)
    ):
        return None
    classes = _Classes(GrowingLoad(problem, scale))
    if not classes.tractable:
        return None
    relaxed = _ClassProgram(classes)
    relaxed.program.minimise(-relaxed.top)
    result = solve_program(relaxed.program, seed=options.seed, work_limit=options.work_limit)
    if result.status != "optimal" or result.bound is None:
        return None
    bound = -result.bound * classes.most
    return ClassBound(bound, _packed(classes, bound, options))


def _packed(classes: _Classes, bound: float, options: Options) -> Deployment | None:
    """The best of the deployments that are packed for the bound, and while they carry less, for multiples below it."""
    best, packed, low, high, target = 0.0, None, 0.0, bound, bound
    for _ in range(ATTEMPTS):
        relaxed = _ClassProgram(classes, target * (1 - SAME_VALUE))
        relaxed.program.minimise(relaxed.use())
        result = solve_program(relaxed.program, seed=options.seed, work_limit=options.work_limit)
        deployment = None if result.values is None else _Packing(classes, relaxed, result.values, target).deployment()
        carried = Carried(None) if deployment is None else classes.load.carried(deployment)
        if carried.multiple is not None and (packed is None or carried.multiple > best):
            best, packed = carried.multiple, deployment
        reached = carried.multiple is not None and carried.multiple >= target * (1 - RATE_STEP)
        low, high = max(low, best, target if reached else 0.0), high if reached else target
        if high <= low * (1 + RATE_STEP):
            break
        target = (low + high) / 2
    return packed


class _Classes:
    """Nodes by class, and operators with what they need.

    Attributes
    ----------
    number : shape (nodes,), class of each node.
    count, first : shape (classes,), nodes of each, and one of them.
    speed : shape (classes,), speed-up, at most 1.
    """

    def __init__(self, load: GrowingLoad) -> None:
        self.load, self.compiled = load, compile_problem(load.start)
        compiled, nodes = self.compiled, [load.problem.network.by_name[name] for name in self.compiled.nodes]
        self.shared = compiled.contention.resources
        capacity = [[load.capacity(node, k) if k in node.capacity else math.inf for k in self.shared] for node in nodes]
        self.capacity = np.array(capacity, float).reshape(len(nodes), len(self.shared))
        speed = np.minimum(1.0, compiled.speedup)
        alike = np.column_stack([compiled.capacity, compiled.units, self.capacity, speed, compiled.candidate.T])
        _, self.first, self.number, self.count = np.unique(
            alike, axis=0, return_index=True, return_inverse=True, return_counts=True
        )
        self.number = self.number.ravel()
        self.speed = speed[self.first]
        documents = [load.problem.application.by_name[name] for name in compiled.operators]
        self.fixed, self.growth = compiled.load, np.array([load.growth.load(name) for name in compiled.operators])
        numbers = range(1 + compiled.latency.shape[1])
        self.served = [
            [r * service_rate(document, r) for r in numbers[1 : 1 + document.max_replicas]]
            if document.latency is not None and document.latency.model == "capacity-curve"
            else [service_rate(document, 1)]
            for document in documents
        ]
        self.per_replica, self.per_tuple = (
            np.array([[getattr(o.usage[k], field) if k in o.usage else 0.0 for k in self.shared] for o in documents]).reshape(
                len(documents), len(self.shared)
            )
            for field in ("per_replica", "per_tuple")
        )

    @cached_property
    def tractable(self) -> bool:
        """Whether the program over classes is small."""
        numbers = [len(served) * self.levels(i).size for i, served in enumerate(self.served)]
        patterns = [len(held) for c in range(self.count.size) for _, held in self.patterns(c).values()]
        small = self.count.size <= MAX_CLASSES and max(numbers) <= MAX_NUMBERS and max(patterns, default=0) <= MAX_PATTERNS
        return small and self.most > 0 and math.isfinite(self.most)

    @cached_property
    def most(self) -> float:
        """A multiple that nothing exceeds: of operators one by one, and of each resource of all nodes together."""
        ends, rate = [math.inf], np.array([max(served) / len(served) for served in self.served])
        for i in np.flatnonzero(self.growth > 0):
            numbers = self.served[i] if len(self.served[i]) > 1 else [self.served[i][0] * self.compiled.max_replicas[i]]
            ends.append((max(numbers) - self.fixed[i]) / self.growth[i])
        steady = np.array([len(served) == 1 for served in self.served]) & np.isfinite(rate)
        for m in range(len(self.compiled.resources)):
            need = self.compiled.demand[steady, m]
            grown = float((need * self.growth[steady] / rate[steady]).sum())
            offered = float(self.compiled.capacity[:, m].sum())
            if grown > 0 and math.isfinite(offered):
                ends.append((offered - float((need * self.fixed[steady] / rate[steady]).sum())) / grown)
        for k in range(len(self.shared)):
            grown = float(self.per_tuple[:, k] @ self.growth)
            if grown > 0 and np.isfinite(self.capacity[:, k]).all():
                ends.append(float(self.capacity[:, k].sum() - self.per_tuple[:, k] @ self.fixed) / grown)
        return float(min(ends)) * (1 + RATE_STEP)

    def candidates(self, operator: int) -> Ints:
        """Classes on which an operator may run."""
        return np.flatnonzero(self.compiled.candidate[operator, self.first])

    def levels(self, operator: int) -> Floats:
        """Speeds that the slowest replica of an operator may have."""
        return np.unique(self.speed[self.candidates(operator)])

    def fitting(self, operator: int, c: int) -> float:
        """Replicas of one operator that fit on all nodes of a class."""
        need, room = self.compiled.demand[operator], self.compiled.capacity[self.first[c]]
        units = self.compiled.units[self.first[c]]
        per_unit = np.where((need > 0) & (need < 1), with_rounding(1.0) // np.where(need > 0, need, 1.0), 1.0)
        most = [
            units[m] * per_unit[m] if units[m] >= 0 and need[m] < 1 else with_rounding(float(room[m])) // need[m]
            for m in np.flatnonzero((need > 0) & np.isfinite(room))
        ]
        return float(self.count[c] * min([*most, float(self.compiled.max_replicas[operator])]))

    def patterns(self, c: int) -> dict[int, tuple[Floats, Ints]]:
        """Fractions and their maximal patterns by resource, for the units of the nodes of a class."""
        made, allowed = {}, self.compiled.candidate[:, self.first[c]]
        for m in np.flatnonzero(self.compiled.units[self.first[c]] >= 0).tolist():
            need = self.compiled.demand[:, m]
            users = allowed & (need > 0) & (need < 1)
            sizes = np.unique(need[users])[::-1]
            caps = [int(self.compiled.max_replicas[users & (need == size)].sum()) for size in sizes]
            held = [*islice(maximal_patterns(sizes.tolist(), caps), MAX_PATTERNS + 1)] if sizes.size else []
            made[m] = sizes, np.array(held, np.int64).reshape(len(held), sizes.size)
        return made


class _ClassProgram:
    """The program over classes: the multiple as a share of `_Classes.most`, at least so much."""

    def __init__(self, classes: _Classes, at_least: float = 0.0) -> None:
        self.classes, self.program = classes, Program()
        self.top = Linear.of(self.program.add_columns("multiple", lower=at_least / classes.most, upper=1.0))
        self.cells: list[list[tuple[float, int, int]]] = []
        """Of each operator: speed of its slowest replica, class, and column of the number of replicas there."""
        for i in range(len(classes.compiled.operators)):
            self._add_operator(i)
        self.shapes = {
            (c, m): self._add_patterns(c, m, *held) for c in range(classes.count.size) for m, held in classes.patterns(c).items()
        }
        for c in range(classes.count.size):
            self._add_resources(c)
        self._add_shared()
        limit, price = classes.compiled.limit["cost"], classes.compiled.replica_cost
        if math.isfinite(limit):
            total = Linear.total([self.replicas(i) * float(price[i]) for i in range(len(price))])
            self.program.add_row("cost", total * (1 / limit), upper=1.0)

    def replicas(self, operator: int, c: int | None = None) -> Linear:
        """Replicas of an operator, in a class or in all."""
        return Linear.of([column for _, k, column in self.cells[operator] if c is None or k == c] or np.zeros(0, np.int64), 1.0)

    def use(self) -> Linear:
        """Sum of the shares of all resources that replicas take, and of replicas in patterns."""
        compiled = self.classes.compiled
        offered = np.where(np.isfinite(compiled.capacity), compiled.capacity, 0.0).sum(axis=0)
        share = compiled.demand @ np.divide(1.0, offered, out=np.zeros(offered.size), where=offered > 0)
        least = 1 / max(1, int(compiled.max_replicas.sum()))
        terms = [self.replicas(i) * float(share[i] + least) for i in range(share.size)]
        terms += [Linear.of(columns, 1 / offered[m]) for (_, m), columns in self.shapes.items()]
        return Linear.total(terms)

    def _add_operator(self, i: int) -> None:
        """Numbers of replicas by speed and class, and the load that they serve."""
        classes, program = self.classes, self.program
        name, levels = classes.compiled.operators[i], classes.levels(i)
        few, many = int(classes.compiled.min_replicas[i]), int(classes.compiled.max_replicas[i])
        self.cells.append([])
        served, load = Linear.zero(), self.top * float(classes.growth[i] * classes.most) + float(classes.fixed[i])
        numbers = np.arange(1, 1 + len(classes.served[i]))
        curve = len(numbers) > 1
        chosen = program.add_columns(f"number {name}", (levels.size, numbers.size if curve else 1), upper=1.0, integer=True)
        program.add_row(f"one number {name}", Linear.of(chosen.ravel(), 1.0), lower=1.0, upper=1.0)
        for level, speed in enumerate(levels):
            allowed = [c for c in classes.candidates(i).tolist() if classes.speed[c] >= speed]
            most = [classes.fitting(i, c) for c in allowed]
            columns = program.add_columns(f"replicas {name} {level}", len(allowed), upper=most, integer=True)
            self.cells[i] += [(float(speed), c, int(column)) for c, column in zip(allowed, columns, strict=True)]
            here = Linear.of(columns, 1.0)
            if curve:
                program.add_row(f"replicas {name} {level}", here - Linear.of(chosen[level], numbers), lower=0.0, upper=0.0)
                served += Linear.of(chosen[level], speed * np.array(classes.served[i]))
                program.fix(chosen[level][: few - 1], 0.0)
            else:
                program.add_row(f"most {name} {level}", here - Linear.of(chosen[level], float(many)), upper=0.0)
                program.add_row(f"fewest {name} {level}", here - Linear.of(chosen[level], float(few)), lower=0.0)
                served += here * float(speed * classes.served[i][0]) if math.isfinite(classes.served[i][0]) else Linear.zero()
        if classes.growth[i] + classes.fixed[i] > 0 and math.isfinite(max(classes.served[i])):
            program.add_row(f"load {name}", (load - served) * (1 / (max(classes.served[i]) / numbers.size)), upper=0.0)

    def _add_patterns(self, c: int, m: int, sizes: Floats, held: Ints) -> Ints:
        """Units of a class taken whole, and filled by patterns of fractions; as for a node in `builder._add_unit_rows`."""
        classes, need = self.classes, self.classes.compiled.demand[:, m]
        units = float(classes.count[c] * classes.compiled.units[classes.first[c], m])
        name = f"units {classes.compiled.resources[m]} {c}"
        shared = self.program.add_columns(name, len(held), upper=units, integer=True)
        whole = [self.replicas(i, c) * float(need[i]) for i in np.flatnonzero(need >= 1).tolist()]
        self.program.add_row(name, Linear.total([Linear.of(shared, 1.0), *whole]), upper=units)
        for k, size in enumerate(sizes):
            alike = Linear.total([self.replicas(i, c) for i in np.flatnonzero(need == size).tolist()])
            self.program.add_row(f"{name} {size!r}", alike - Linear.of(shared, held[:, k].astype(float)), upper=0.0)
        return shared

    def _add_resources(self, c: int) -> None:
        compiled, count = self.classes.compiled, self.classes.count[c]
        for m, room in enumerate(compiled.capacity[self.classes.first[c]]):
            if math.isfinite(room):
                need = compiled.demand[:, m] / (room * count) if room > 0 else np.where(compiled.demand[:, m] > 0, 2.0, 0.0)
                total = Linear.total([self.replicas(i, c) * float(need[i]) for i in np.flatnonzero(need).tolist()])
                self.program.add_row(f"{compiled.resources[m]} {c}", total, upper=1.0)

    def _add_shared(self) -> None:
        """What replicas and tuples ask of shared resources, with the tuples that an operator has in a class as columns."""
        classes = self.classes
        if not classes.shared:
            return
        flows = []
        for i in range(len(self.cells)):
            name, here = classes.compiled.operators[i], classes.candidates(i)
            flow = self.program.add_columns(f"flow {name}", here.size)
            load = self.top * float(classes.growth[i] * classes.most) + float(classes.fixed[i])
            self.program.add_row(f"flow {name}", Linear.of(flow, 1.0) - load, lower=0.0, upper=0.0)
            flows.append(dict(zip(here.tolist(), flow.tolist(), strict=True)))
        for c, k in np.ndindex(classes.count.size, len(classes.shared)):
            room = float(classes.capacity[classes.first[c], k] * classes.count[c])
            if math.isfinite(room):
                parts = [self.replicas(i, c) * float(classes.per_replica[i, k] / room) for i in range(len(flows))]
                parts += [Linear.of(flow[c], classes.per_tuple[i, k] / room) for i, flow in enumerate(flows) if c in flow]
                self.program.add_row(f"shared {classes.shared[k]} {c}", Linear.total(parts), upper=1.0)


class _Item(NamedTuple):
    """Replicas that lie together on nodes of a class: one, or those that share a unit.

    Attributes
    ----------
    kind, speed : class of the nodes, and what nodes that are taken instead must reach.
    held : operators, each with its number of replicas.
    need : shape (resources and shared resources,)
    times : how often.
    """

    kind: int
    speed: float
    held: dict[int, int]
    need: Floats
    times: int


class _Packing:
    """Places items on nodes: evenly on those of their class, and what is left by best fit on any."""

    def __init__(self, classes: _Classes, relaxed: _ClassProgram, values: Floats, multiple: float) -> None:
        self.classes, self.relaxed, self.values = classes, relaxed, np.rint(values).astype(np.int64)
        compiled = classes.compiled
        total = [int(self.values[relaxed.replicas(i).columns].sum()) for i in range(len(compiled.operators))]
        load = classes.fixed + classes.growth * multiple
        asked = classes.per_replica + classes.per_tuple * (load / np.maximum(1, total))[:, None]
        self.need = np.hstack([compiled.demand, asked])
        room = np.hstack([np.where(compiled.units >= 0, compiled.units, compiled.capacity), classes.capacity])
        self.left = np.where(np.isfinite(room), with_rounding(room), 1e300)
        self.room = np.where(np.isfinite(room) & (room > 0), room, np.inf)
        self.placed = np.zeros((len(total), len(compiled.nodes)), np.int64)

    def deployment(self) -> Deployment | None:
        """What was packed; None where an operator has fewer replicas than it must, or shares units of two resources."""
        compiled = self.classes.compiled
        shares = ((compiled.demand > 0) & (compiled.demand < 1) & (compiled.units >= 0).any(axis=0)).sum(axis=1)
        if (shares > 1).any():
            return None
        items = sorted(self._items(), key=lambda item: float((item.need / self.room.mean(axis=0)).max()), reverse=True)
        for item in [item._replace(times=self._spread(item)) for item in items]:
            self._fit(item)
        if (self.placed.sum(axis=1) < compiled.min_replicas).any():
            return None
        return compiled.deployment(self.placed)

    def _items(self) -> Iterator[_Item]:
        """Yield what is to be placed."""
        classes, demand = self.classes, self.classes.compiled.demand
        for c in range(classes.count.size):
            counts, speeds = Counter[int](), dict[int, float]()
            for i, cells in enumerate(self.relaxed.cells):
                for speed, k, column in cells:
                    if k == c and self.values[column] > 0:
                        counts[i], speeds[i] = int(self.values[column]), speed
            for m, (sizes, patterns) in classes.patterns(c).items():
                slots = [[i for i in counts if demand[i, m] == size] for size in sizes]
                chosen = zip(patterns.tolist(), self.values[self.relaxed.shapes[c, m]].tolist(), strict=True)
                for held, times in _filled(slots, chosen, counts):
                    need = sum((self.need[i] * n for i, n in held.items()), np.zeros(self.need.shape[1]))
                    need[m] = 1.0
                    yield _Item(c, max(speeds[i] for i in held), held, need, times)
            for i, count in counts.items():
                if count:
                    yield _Item(c, speeds[i], {i: 1}, self.need[i], count)

    def _spread(self, item: _Item) -> int:
        """Place an item evenly on the nodes of its class; return how many are left over."""
        nodes = np.flatnonzero(self.classes.number == item.kind)
        each = min(item.times // nodes.size, int(self._copies(item, nodes).min()))
        self._place(item, nodes, each)
        return item.times - each * nodes.size

    def _fit(self, item: _Item) -> None:
        """Place an item where the least is left afterwards, on each node once, and again while there is room."""
        compiled = self.classes.compiled
        allowed = compiled.candidate[[*item.held]].all(axis=0) & (self.classes.speed[self.classes.number] >= item.speed)
        nodes, count = np.flatnonzero(allowed), item.times
        while count and nodes.size:
            nodes = nodes[self._copies(item, nodes) >= 1]
            free = ((self.left[nodes] - item.need) / self.room[nodes]).sum(axis=1)
            best = nodes[np.argsort(free, kind="stable")[:count]]
            self._place(item, best, 1)
            count -= best.size

    def _copies(self, item: _Item, nodes: Ints) -> Floats:
        """How often an item fits on each of some nodes, shape (nodes,)."""
        needed = item.need > 0
        return np.asarray(np.floor(self.left[np.ix_(nodes, needed)] / item.need[needed]).min(axis=1, initial=float(item.times)))

    def _place(self, item: _Item, nodes: Ints, times: int) -> None:
        self.left[nodes] -= item.need * times
        for i, n in item.held.items():
            self.placed[i, nodes] += n * times


def _filled(
    slots: list[list[int]], chosen: Iterable[tuple[list[int], int]], left: Counter[int]
) -> Iterator[tuple[dict[int, int], int]]:
    """Yield the replicas in a unit and the number of such units for patterns that were chosen; takes them from what is left.

    `slots` are the operators of each fraction.
    """
    for pattern, times in chosen:
        while times > 0:
            held = dict[int, int]()
            for operators, free in zip(slots, pattern, strict=True):
                for i in operators:
                    taken = min(left[i], free)
                    free -= taken
                    held |= {i: taken} if taken else {}
            if not held:
                break
            alike = min(times, *(left[i] // n for i, n in held.items()))
            left.subtract({i: n * alike for i, n in held.items()})
            times -= alike
            yield held, alike
