"""Everything about a rescaling that does not change with prices: arrays of its operators, streams, nodes and limits.

Sets of nodes that an operator may use are states, of which the least delay and the least price of a stream depend.
On few nodes every set is a state. On more of them a state is one node, or a group of nodes that are near to one another (merged
in the order of their delays) of which an operator uses several: in zones these are a zone, and all nodes, and nothing is lost.

What a stream costs is a product of the shares of both ends. Nodes are parted in two where links between them cost most, and
states with nodes in both parts are repeated for ranges of the share of the first part: within them products hardly vary.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from itertools import combinations, pairwise
from typing import Any, NamedTuple

import numpy as np

from edrp.core.arrays import Bools, Floats, Ints
from edrp.core.budget import look, refuse_beyond_memory
from edrp.core.tolerances import LATENCY_FLOOR_SLACK, LIMIT_SLACK
from edrp.migration.rescale.arrays import KeyedArrays
from edrp.migration.rescale.documents import depends_on_number, even_boundaries, possible_replicas
from edrp.placement.latency import MAX_LATENCY, CapacityCurveLatency, Mm1Latency, PolynomialLatency, TableLatency, served_share

MAX_LISTED_NODES = 4
"""Nodes up to which every set is a state of its own."""

SHARE_RANGES = 8
"""Ranges of the share of the first part of the nodes."""


@dataclass(frozen=True, slots=True)
class NodeSets:
    """States of an operator.

    Attributes
    ----------
    inside : shape (states, nodes), nodes that may be used.
    several : shape (states,), whether more than one node is used.
    delay : shape (states, states), no stream from an operator in the first to one in the second state takes less, in seconds.
    part : shape (nodes,), the first part of the nodes.
    low, high : shape (states,), range of the share of the first part.
    ranged : shape (states,), number of the state's range of shares, -1 where the share is given or may be any.
    """

    inside: Bools
    several: Bools
    delay: Floats
    part: Bools
    low: Floats
    high: Floats
    ranged: Ints

    @property
    def ranges(self) -> int:
        """States with a range of shares."""
        return int(self.ranged.max(initial=-1)) + 1


def node_sets(delay: Floats, price: Floats, ranges: bool = True) -> NodeSets:
    """States for tables of delays and prices between nodes, with ranges of shares or without."""
    size = len(delay)
    if size <= MAX_LISTED_NODES:
        groups = [[[u] for u in chosen] for k in range(1, size + 1) for chosen in combinations(range(size), k)]
        every = True
    else:
        groups = [[[u]] for u in range(size)] + _merged(np.minimum(delay, delay.T))
        every = False
    inside = np.zeros((len(groups), size), bool)
    for state, parts in enumerate(groups):
        inside[state, [u for part in parts for u in part]] = True
    # For each node the least delay to an operator in each state, which uses several parts of it; then for several parts of those.
    there = np.array([_to_parts(delay, parts, every) for parts in groups])
    back = np.array([_to_parts(delay.T, parts, every) for parts in groups])
    forth = np.array([_to_parts(there, parts, every) for parts in groups])
    rear = np.array([_to_parts(back, parts, every) for parts in groups]).T
    return _with_ranges(inside, np.maximum(forth, rear), _expensive_part(price) if ranges and not every else np.ones(size, bool))


def _expensive_part(price: Floats) -> Bools:
    """The first of two parts of the nodes between which links cost most; all nodes where no link costs more than another."""
    size = len(price)
    groups = _merged(np.minimum(price, price.T) + np.eye(size))
    whole = [parts for parts in groups if sum(map(len, parts)) == size]
    part = np.ones(size, bool)
    if price.any() and whole and len(whole[0]) < size:
        part[:] = False
        part[max(whole[0], key=len)] = True
    return part


def _with_ranges(inside: Bools, delay: Floats, part: Bools) -> NodeSets:
    """Repeat the states that use nodes of both parts for every range of the share of the first one."""
    rows: list[tuple[int, float, float, int]] = []
    ranged = 0
    for state, nodes in enumerate(inside):
        if not (nodes & part).any() or not (nodes & ~part).any():
            share = float((nodes & part).any())
            rows.append((state, share, share, -1))
            continue
        ends = np.linspace(0.0, 1.0, SHARE_RANGES + 1).tolist()
        rows += [(state, a, b, ranged + k) for k, (a, b) in enumerate(pairwise(ends))]
        ranged += SHARE_RANGES
    states = np.array([row[0] for row in rows])
    low, high = (np.array([row[k] for row in rows]) for k in (1, 2))
    return NodeSets(
        inside=inside[states],
        several=inside[states].sum(axis=1) > 1,
        delay=delay[np.ix_(states, states)],
        part=part,
        low=low,
        high=high,
        ranged=np.array([row[3] for row in rows]),
    )


def _merged(delay: Floats) -> list[list[list[int]]]:
    """Groups of nodes by rising delay, each with the groups that it consists of."""
    groups, merged_groups = [[u] for u in range(len(delay))], []
    while len(groups) > 1:
        apart = np.array([[delay[np.ix_(a, b)].min() for b in groups] for a in groups])
        np.fill_diagonal(apart, np.inf)
        nearest = apart.min() * (1 + 1e-9)
        unmerged = list(range(len(groups)))
        merged: list[list[int]] = []
        while unmerged:
            part, fresh = [unmerged[0]], [unmerged.pop(0)]
            while fresh:
                a = fresh.pop()
                near = [b for b in unmerged if apart[a, b] <= nearest]
                unmerged = [b for b in unmerged if b not in near]
                part, fresh = part + near, fresh + near
            if len(part) > 1:
                merged_groups.append([groups[a] for a in sorted(part)])
            merged.append(sorted(u for a in part for u in groups[a]))
        groups = merged
    return merged_groups


def _to_parts(delay: Floats, parts: list[list[int]], every: bool) -> Floats:
    """The least delay from each row to nodes in all parts, or in any two of them; shape (rows,)."""
    nearest = np.sort(np.array([delay[:, part].min(axis=1) for part in parts]), axis=0)
    return np.asarray(nearest[-1 if every else min(1, len(parts) - 1)])


HALVINGS = 60
"""Steps by which a rate is enclosed."""


def largest_rate(model: Any, seconds: float, replicas: int, load: float) -> float:
    """Upper bound on the rate (tuples/s, at most the load) at which a replica on the reference node meets a latency in seconds.

    >>> round(largest_rate(Mm1Latency(service_rate=10.0), 0.5, 1, 20.0), 6)
    8.0
    """
    if model is None:
        return math.inf
    if isinstance(model, (Mm1Latency, CapacityCurveLatency)):
        rate = model.true_rate(replicas) - 1.0 / min(seconds, MAX_LATENCY)
        return rate + LATENCY_FLOOR_SLACK * model.true_rate(replicas)
    if isinstance(model, TableLatency):
        return _on_table(model, seconds)
    return _on_polynomial(model, min(seconds, MAX_LATENCY), load)


def least_seconds(model: Any, rate: float, replicas: int) -> float:
    """Lower bound on the latency of a replica on the reference node at this rate or a higher one, in seconds; 0 where unknown."""
    if model is None:
        return 0.0
    if isinstance(model, TableLatency):
        above = [latency for point, latency in zip(model.rates, model.latencies, strict=True) if point >= rate]
        return min([*above, model.at(rate, replicas)]) if rate <= model.rates[-1] else math.inf
    if isinstance(model, PolynomialLatency) and min(model.coefficients[1:], default=0.0) < 0:
        return 0.0
    return float(model.at(rate, replicas)) * (1 - LATENCY_FLOOR_SLACK)


def _on_table(model: TableLatency, seconds: float) -> float:
    """The last point where a line of the table is not above the seconds."""
    rates, latencies = model.rates, model.latencies
    if latencies[-1] <= seconds:
        return rates[-1]
    for (x, low), (y, high) in reversed(list(zip(zip(rates, latencies), zip(rates[1:], latencies[1:])))):  # noqa: B905
        if low <= seconds:
            return x + (y - x) * min(1.0, (seconds - low) / (high - low) + LATENCY_FLOOR_SLACK)
    return 0.0 if latencies[0] <= seconds else -1.0


def _on_polynomial(model: PolynomialLatency, seconds: float, load: float) -> float:
    if min(model.coefficients[1:], default=0.0) < 0 or model.at(load) <= seconds:
        return math.inf
    if model.at(0.0) > seconds:
        return -1.0
    low, high = 0.0, load
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if model.at(middle) <= seconds else (low, middle)
    return high


def as_share(rate: float, load: float) -> float:
    """The share of a load that a rate is; any where there is no load and the rate may be 0."""
    if load <= 0:
        return math.inf if rate >= 0 else -1.0
    return float(np.divide(rate, load)) * (1 + LATENCY_FLOOR_SLACK) if rate >= 0 else -1.0


LEVELS = 40
"""Levels of latency of an operator; the last one permits any."""

SPAN = 40.0
"""Latency of the last level but one, relative to the first."""

INSTEAD = ("", ("range-annealing",))


class SplitLayer(NamedTuple):
    """Bounds on what replicas may hold when there are `exact` of them.

    Arrays of the kernels that split tasks (edrp/native/formulations/migration/split_layer.hpp).

    Attributes
    ----------
    share : shape (tasks + 1,), share of the work before each task.
    caps : shape (levels, nodes), largest share of a replica, levels ascending.
    seconds : shape (levels,), no operator on a level takes less; ascending.
    range_seconds : shape (tasks + 1, tasks + 1), of the mean over tuples the part of a range on the reference node; else empty.
    speedup : shape (nodes,)
    exact : number of replicas; 0 for any.
    longest : most tasks of a replica.
    """

    share: Floats
    caps: Floats
    seconds: Floats
    range_seconds: Floats
    speedup: Floats
    exact: int
    longest: int


@dataclass(frozen=True, slots=True)
class KeyedLayer:
    """A layer of an operator.

    Attributes
    ----------
    split : what the kernels take.
    places : shape (places,), tasks before each place where a range may end, 0 and all included.
    """

    split: SplitLayer
    places: Ints


def keyed_layers(arrays: KeyedArrays, index: int, nodes: Bools) -> list[KeyedLayer]:
    """Layers of an operator with tasks on nodes that may run it; none where no number of replicas is stable."""
    problem, operator = arrays.problem, arrays.operator(index)
    assert operator.tasks is not None
    numbers, count = possible_replicas(problem, operator), operator.tasks.count
    if not numbers or not nodes.any():
        return []
    even, counted = problem.ranges == "even", depends_on_number(problem, operator)
    if problem.operator_latency == "mean":
        width = max(numbers) if even else count
        what = f"latencies of all ranges of the {count:,} tasks of '{operator.name}'"
        refuse_beyond_memory(8.0 * (width + 1) ** 2, what, *INSTEAD)
    layers = []
    for replicas in numbers if counted else [0]:
        look("the levels of latency")
        places = np.array(even_boundaries(count, replicas) if even else range(count + 1), np.int64)
        split = _split_layer(arrays, index, nodes, places, numbers, replicas)
        what = f"places of the {count:,} tasks of '{operator.name}' with {replicas} replicas"
        refuse_beyond_memory(24.0 * places.size * (split.exact + 1 + nodes.size), what, *INSTEAD)
        layers.append(KeyedLayer(split, places))
    return layers


def _split_layer(arrays: KeyedArrays, index: int, nodes: Bools, places: Ints, numbers: list[int], replicas: int) -> SplitLayer:
    """A layer of `replicas` replicas, 0 for any of the numbers."""
    problem, operator, load = arrays.problem, arrays.operator(index), float(arrays.compiled.load[index])
    speedup, model, even = arrays.compiled.speedup, operator.latency, problem.ranges == "even"
    share = arrays.tasks[index].work_before[places] / arrays.tasks[index].work_before[-1]
    known = replicas or 1
    stable, tolerated = problem.utilisation * largest_rate(model, math.inf, known, load), math.inf
    if replicas and problem.tolerance is not None:
        tolerated = (1 + problem.tolerance) / replicas * (1 + 2 * LIMIT_SLACK)
    mean = problem.operator_latency == "mean"
    ends = np.diff(share)
    heaviest = max(float(ends.max()), 1.0 / (replicas or max(numbers)))
    seconds, tops = np.zeros(1), np.array([np.inf])
    min_seconds = least_seconds(model, load * heaviest * (1 - LATENCY_FLOOR_SLACK), known) / float(speedup[nodes].max())
    if not mean and 0 < min_seconds < math.inf:
        tops = np.append(min_seconds * SPAN ** (np.arange(1, LEVELS + 1) / LEVELS), np.inf)
        seconds = np.append(min_seconds, tops[:-1])
    caps = np.empty((tops.size, nodes.size))
    for level, top in enumerate(tops):
        for speed in np.unique(speedup):
            cap = as_share(largest_rate(model, float(top * speed), known, load), load)
            caps[level, speedup == speed] = min(cap, as_share(stable * served_share(model, float(speed)), load), tolerated)
    return SplitLayer(
        share=share,
        caps=caps,
        seconds=seconds,
        range_seconds=_range_seconds(model, share, load, known) if mean else np.zeros((0, 0)),
        speedup=speedup,
        exact=replicas,
        longest=1 if even else places.size,
    )


def _range_seconds(model: Any, share: Floats, load: float, replicas: int) -> Floats:
    """Share times latency on the reference node of every range, infinite where it is unstable."""
    size = share.size
    table = np.zeros((size, size))
    for a in range(size - 1):
        look("the latencies of ranges")
        for b in range(a + 1, size):
            part = share[b] - share[a]
            table[a, b] = 0.0 if model is None or part <= 0 else part * model.at(load * part, replicas)
    return table


METRICS = ("response_time", "cost", "downtime", "moved_state", "peak_load")
"""Metrics in the order of weights and limits."""

RESPONSE, COST, DOWNTIME, MOVED, PEAK = range(5)
"""Positions of the metrics in `METRICS`."""

FAR = 1e9
"""Seconds between nodes without a link."""


@dataclass(frozen=True, slots=True)
class BoundModel:
    """Arrays over operators i, streams e, nodes u, resources m, shared resources q.

    Attributes
    ----------
    arrays : the problem's.
    sets : states of operators; without ranges of shares at first.
    delay : shape (nodes, nodes), seconds.
    nodes : shape (operators, nodes), candidates that have room for a replica.
    layers : by operator; empty without tasks.
    numbers : numbers of replicas of each operator that can be stable.
    weights, limits : shape (5,), by `METRICS`; limits with the slack of the evaluation, infinite for none.
    room : shape (nodes, resources), with slack.
    price : shape (streams, nodes, nodes), money/h for the whole stream.
    replica_use, tuple_use : shape (operators, shared), of a replica and of the whole load.
    shared : shape (nodes, shared), infinite for no limit.
    up, down : shape (nodes,), seconds per byte that leaves and arrives, through the network card or the store.
    direct, changed_floor : whether state moves from node to node, and the least downtime of a change.
    speeds : distinct speed-ups, ascending.
    """

    arrays: KeyedArrays
    sets: NodeSets
    delay: Floats
    nodes: Bools
    layers: tuple[list[KeyedLayer], ...]
    numbers: tuple[Ints, ...]
    weights: Floats
    limits: Floats
    room: Floats
    price: Floats
    replica_use: Floats
    tuple_use: Floats
    shared: Floats
    up: Floats
    down: Floats
    direct: bool
    changed_floor: float
    speeds: Floats

    def with_ranges(self) -> BoundModel:
        """The model whose states distinguish ranges of shares."""
        return replace(self, sets=node_sets(self.delay, self.price.sum(axis=0)))

    @property
    def moves(self) -> bool:
        """Whether there is a current deployment, from which state moves."""
        return self.arrays.problem.current is not None

    @property
    def hopeless(self) -> bool:
        """Whether some operator can be neither stable nor placed."""
        return any(not numbers.size for numbers in self.numbers) or not self.nodes.any(axis=1).all()

    @property
    def ceiling(self) -> float:
        """Upper bound on the objective of every feasible deployment."""
        bounded = np.where(self.weights > 0, self.limits, 0.0)
        return float(np.sum(np.where(self.weights > 0, self.weights * bounded, 0.0))) * (1 + 1e-9) + 1e-9


def build_bound_model(arrays: KeyedArrays) -> BoundModel:
    """Arrays of a problem.

    Raises
    ------
    ProblemTooLargeError
        Where they would not fit in memory.
    """
    compiled, problem = arrays.compiled, arrays.problem
    operators = range(len(compiled.operators))
    room = compiled.capacity + np.where(np.isfinite(compiled.capacity), LIMIT_SLACK * compiled.capacity, 0.0)
    fits = (compiled.demand[:, None, :] <= room[None]).all(axis=2)
    nodes = compiled.candidate & fits
    delay = np.where(np.isfinite(compiled.delay), compiled.delay, FAR)
    np.fill_diagonal(delay, 0.0)
    price = compiled.link_cost * (1 - np.eye(len(compiled.nodes)))
    keyed = [tasks.count > 0 for tasks in arrays.tasks]
    direct = problem.transfer == "direct"
    described = [arrays.operator(i) for i in operators]
    replica_use, tuple_use, shared = arrays.shared_use()
    limits = np.array([compiled.limit.get(name, np.inf) for name in METRICS])
    return BoundModel(
        arrays=arrays,
        sets=node_sets(delay, price, ranges=False),
        delay=delay,
        nodes=nodes,
        layers=tuple(keyed_layers(arrays, i, nodes[i]) if keyed[i] else [] for i in operators),
        numbers=tuple(np.array(possible_replicas(problem, operator), np.int64) for operator in described),
        weights=np.array([compiled.weight.get(name, 0.0) for name in METRICS]),
        limits=limits * (1 + 2 * LIMIT_SLACK),
        room=room,
        price=compiled.stream_rate[:, None, None] * price[None],
        replica_use=replica_use,
        tuple_use=tuple_use,
        shared=shared,
        up=1 / (arrays.up_rate if direct else compiled.store_bandwidth),
        down=1 / (arrays.down_rate if direct else compiled.store_bandwidth),
        direct=direct,
        changed_floor=_changed_floor(arrays, direct),
        speeds=np.unique(compiled.speedup),
    )


def _changed_floor(arrays: KeyedArrays, direct: bool) -> float:
    """Seconds that any change takes: synchronisation, and the start of a replica where one more is needed."""
    problem, compiled = arrays.problem, arrays.compiled
    if problem.current is None:
        return 0.0
    spawn = 0.0
    for i, name in enumerate(compiled.operators if direct else ()):
        numbers = possible_replicas(problem, arrays.operator(i))
        if numbers and numbers[0] > len(problem.current[name]):
            spawn = max(spawn, float(compiled.spawn_time[compiled.candidate[i]].min()))
    return float(compiled.synchronisation_time) + spawn
