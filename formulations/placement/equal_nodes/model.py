"""The problem over classes of equal nodes: what each operator may choose, and what all choices share.

An operator chooses how many replicas it has, on nodes of which classes they run (a set, as bits), and whether all of them run
on one node. Then the delay of a stream is known: 0 where both of its ends are wholly on the same node, else the maximum over
the classes of both. Streams without delay join operators to *blocks* that have to fit on one node together; all other replicas
only have to be counted.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from edrp.core.arrays import Floats, Ints
from edrp.formulations.placement.elimination.model import Model
from edrp.placement.compiled import NO_NODE
from edrp.placement.metrics.base import LIMIT_SLACK
from edrp.placement.metrics.peak_load import PEAK_LOAD

MAX_CLASSES = 3
"""Classes beyond which sets of them are too many."""

MASKS = 1 << MAX_CLASSES
"""Sets of classes, the empty one included."""


@dataclass(frozen=True)
class Choices:
    """Everything that operators may choose, one row each.

    Attributes
    ----------
    operator : place in the search order.
    classes : set of classes, as bits.
    single : 1 where all replicas run on one node, else 0.
    replicas : in all.
    latency : seconds.
    cost : money/h.
    usage : shape (rows, shared), of what all operators share.
    unit : shape (rows, resources), need of one replica.
    load : shape (rows, resources), of the one node; 0 where there are several.
    downtime : seconds at least.
    anchor : the one node, where the operator runs there now; -1 for any other, and where there are several.
    """

    operator: Ints
    classes: Ints
    single: Ints
    replicas: Ints
    latency: Floats
    cost: Floats
    usage: Floats
    unit: Floats
    load: Floats
    downtime: Floats
    anchor: Ints

    def select(self, rows: np.ndarray) -> Choices:
        """Some of the rows."""
        return Choices(**{name: getattr(self, name)[rows] for name in self.__dataclass_fields__})


@dataclass(frozen=True)
class Quotient:
    """Arrays over classes k and sets of classes, next to those of the model by operator and stream.

    Attributes
    ----------
    model : operators in search order, streams, weights and limits.
    members : nodes of each class.
    capacity : shape (classes, resources), of one node; rounded down to what replicas can use together. Shared resources whose
        peak load is limited count as resources, of which a node has as much as the limit allows.
    demand : shape (operators, resources), of one replica at least.
    delay : shape (sets, sets), seconds between operators on these sets of classes that are not on one node together.
    shared_capacity : shape (shared,), of each resource on each set of classes where it can bind.
    choices : of all operators.
    least_downtime : seconds, that whatever is looked at has at least.
    """

    model: Model
    members: tuple[Ints, ...]
    capacity: Floats
    demand: Floats
    delay: Floats
    shared_capacity: Floats
    choices: Choices
    least_downtime: float = 0.0

    @property
    def operators(self) -> int:
        """Number of operators."""
        return self.model.operators

    def exchangeable(self, k: int, other: int) -> bool:
        """Whether two classes may be exchanged for one another in every placement."""
        model, size = self.model, [nodes.size for nodes in self.members]
        one, two = self.members[k][0], self.members[other][0]
        swapped = np.arange(MASKS)
        both, either = 1 << k | 1 << other, (swapped >> k & 1) != (swapped >> other & 1)
        swapped[either] ^= both
        return (
            size[k] == size[other]
            and np.array_equal(self.capacity[k], self.capacity[other])
            and model.speedup[one] == model.speedup[two]
            and np.array_equal(model.candidate[:, one], model.candidate[:, two])
            and np.array_equal(self.delay, self.delay[np.ix_(swapped, swapped)])
        )

    @property
    def response_weight(self) -> float:
        """Objective per second of response time."""
        return self.model.response

    @property
    def max_response(self) -> float:
        """Limit in seconds, with its rounding slack."""
        return float(self.model.limits[0]) * (1 + LIMIT_SLACK)

    @property
    def max_cost(self) -> float:
        """Limit in money/h, with its rounding slack."""
        return float(self.model.limits[1]) * (1 + LIMIT_SLACK)


def build_quotient(model: Model, number: Ints) -> Quotient:
    """Arrays over the classes of nodes.

    Parameters
    ----------
    model
        Over nodes.
    number
        Class of each node.
    """
    members = tuple(np.flatnonzero(number == k) for k in range(int(number.max()) + 1))
    first = np.array([nodes[0] for nodes in members])
    reserved, capacity = _in_units(model.compiled.demand[model.order], model.compiled.capacity[first])
    shared_need, shared_room = _limited_use(model, first)
    stable = np.isfinite(model.latency)[:, :, None]
    need = np.concatenate([np.repeat(reserved[:, None], stable.shape[1], axis=1), shared_need], axis=2)
    capacity = np.concatenate([capacity, shared_room], axis=1)
    most = np.where(stable, np.arange(stable.shape[1])[None, :, None] * need, 0.0).max(axis=1)
    sizes = np.array([nodes.size for nodes in members])
    shared, shared_capacity = _shared(most, capacity, sizes)
    choices = _list_choices(model, members, need, capacity, shared)
    return Quotient(
        model=model,
        members=members,
        capacity=capacity,
        demand=np.where(stable, need, np.inf).min(axis=1),
        delay=_delays(model.delay, members),
        shared_capacity=shared_capacity,
        choices=choices,
    )


def _in_units(demand: Floats, capacity: Floats) -> tuple[Floats, Floats]:
    """Demands and capacities in units of the smallest demand; capacities without the rest that no replica can use."""
    used = (demand > 0).any(axis=0) & np.isfinite(capacity).any(axis=0)
    demand, capacity = demand[:, used].copy(), capacity[:, used].copy()
    for m in range(demand.shape[1]):
        unit = demand[demand[:, m] > 0, m].min()
        demand[:, m] /= unit
        capacity[:, m] = capacity[:, m] * (1 + LIMIT_SLACK) / unit
        whole = np.rint(demand[:, m])
        if np.abs(demand[:, m] - whole).max() < 1e-9:
            demand[:, m], capacity[:, m] = whole, np.floor(capacity[:, m] + 1e-9)
    return demand, capacity


def _limited_use(model: Model, first: Ints) -> tuple[Floats, Floats]:
    """What one of r replicas uses of shared resources whose peak load is limited, and how much the limit leaves of a node.

    In units of the least use; shapes (operators, 1 + most replicas, resources) and (classes, resources). What streams send to
    other nodes is left out, so that placements over classes may use more than they seem to, never less.
    """
    compiled, contention = model.compiled, model.compiled.contention
    sizes = model.latency.shape[1]
    needs, rooms = [np.zeros((model.operators, sizes, 0))], [np.zeros((first.size, 0))]
    for k, metric in enumerate(contention.metrics[1:]):
        limit = min(compiled.limit[metric], compiled.limit[PEAK_LOAD])
        use = contention.replica_use[model.order, :sizes, k]
        if np.isfinite(limit) and (use > 0).any():
            unit = use[use > 0].min()
            needs.append(use[:, :, None] / unit)
            rooms.append(contention.capacity[first, k, None] * limit * (1 + LIMIT_SLACK) / unit)
    return np.concatenate(needs, axis=2), np.concatenate(rooms, axis=1)


def _delays(delay: Floats, members: tuple[Ints, ...]) -> Floats:
    """Least certain delay between operators on two sets of classes, not both wholly on one node; shape (sets, sets).

    Nodes of one class differ for certain only where both sets are that class alone.
    """
    classes = len(members)
    between = np.zeros((classes, classes))
    for k, nodes in enumerate(members):
        for other, targets in enumerate(members):
            ends = (nodes[0], targets[-1])
            between[k, other] = delay[ends] if ends[0] != ends[1] else 0.0
    table = np.zeros((MASKS, MASKS))
    for source in range(1, 1 << classes):
        for target in range(1, 1 << classes):
            pairs = [(k, j) for k in range(classes) for j in range(classes) if source >> k & 1 and target >> j & 1]
            certain = [(k, j) for k, j in pairs if k != j or len(pairs) == 1]
            table[source, target] = max(between[pair] for pair in certain)
    return table


def _shared(most: Floats, capacity: Floats, sizes: Ints) -> tuple[list[tuple[int, int]], Floats]:
    """Pairs (set of classes, resource) that can run out, and how much of them there is."""
    pairs, amounts = [], []
    for subset in range(1, 1 << len(sizes)):
        inside = np.array([subset >> k & 1 for k in range(len(sizes))], bool)
        for m in range(most.shape[1]):
            amount = float((capacity[inside, m] * sizes[inside]).sum())
            if amount < float(most[:, m].sum()):
                pairs.append((subset, m))
                amounts.append(amount)
    return pairs, np.array(amounts)


def _list_choices(
    model: Model, members: tuple[Ints, ...], need: Floats, capacity: Floats, shared: list[tuple[int, int]]
) -> Choices:
    rows: list[tuple[int, int, int, int]] = []
    speed = np.array([model.speedup[nodes[0]] for nodes in members])
    latency = []
    for i in range(model.operators):
        stable = np.flatnonzero(np.isfinite(model.latency[i]))
        allowed = [bool(model.candidate[i, nodes[0]]) for nodes in members]
        fits = (need[i][:, None] <= capacity).all(axis=2)
        for classes in range(1, 1 << len(members)):
            inside = [k for k in range(len(members)) if classes >> k & 1]
            if not all(allowed[k] for k in inside):
                continue
            slowest = float(speed[inside].min())
            for replicas in stable[(stable >= len(inside)) & fits[stable][:, inside].all(axis=1)]:
                rows.append((i, classes, 0, int(replicas)))
                latency.append(model.latency[i, replicas] / slowest)
                k = inside[0]
                if len(inside) == 1 and members[k].size > 1 and (replicas * need[i, replicas] <= capacity[k]).all():
                    rows.append((i, classes, 1, int(replicas)))
                    latency.append(latency[-1])
    operator, sets, single, counts = np.array(rows, np.int64).reshape(-1, 4).T.copy()
    unit, usage = need[operator, counts], np.zeros((len(rows), len(shared)))
    for column, (subset, m) in enumerate(shared):
        common = np.bitwise_count(sets & subset).astype(np.int64)
        within = (sets & ~subset) == 0
        usage[:, column] = np.where(within, counts, common) * unit[:, m]
    return Choices(
        operator=operator,
        classes=sets,
        single=single,
        replicas=counts,
        latency=np.array(latency),
        cost=model.replica_cost[operator] * counts,
        usage=usage,
        unit=unit,
        load=single[:, None] * counts[:, None] * unit,
        downtime=np.zeros(len(rows)),
        anchor=np.full(len(rows), NO_NODE),
    )
