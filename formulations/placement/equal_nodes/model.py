"""The problem over classes of equal nodes: what each operator may choose, and what all choices share.

An operator chooses how many replicas it has, on nodes of which classes they run (a set, as bits), and whether all of them run
on one node. Then the delay of a stream is known: 0 where both of its ends are wholly on the same node, else the maximum over
the classes of both. Streams without delay join operators to *blocks* that have to fit on one node together; all other replicas
only have to be counted.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from edrp.core.arrays import Bools, Floats, Ints
from edrp.core.tolerances import EQUAL_AMOUNTS, LIMIT_SLACK, QUOTIENT_USE_SLACK
from edrp.formulations.placement.elimination.model import EliminationModel
from edrp.formulations.placement.equal_nodes.codes import MASKS
from edrp.formulations.placement.equal_nodes.moves import Moves
from edrp.formulations.placement.equal_nodes.traffic import Traffic, build_traffic, limited_use, row_losses
from edrp.placement.compiled import NO_NODE
from edrp.placement.metrics.peak_load import PEAK_LOAD
from edrp.placement.node_classes import delays_between_sets

UNLIMITED = 1e9
"""Capacity of a node that does not limit a resource, in demands of one replica."""


@dataclass(frozen=True)
class OperatorChoices:
    """Everything that operators may choose, one row each.

    Attributes
    ----------
    operator : place in the search order.
    classes : set of classes, as bits.
    single : 1 where all replicas run on one node, else 0.
    replicas : in all.
    latency : seconds.
    cost : money/h; with traffic, tuples in flight and lost availability, too, at what they are worth.
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

    def select(self, rows: np.ndarray) -> OperatorChoices:
        """The selected rows, as choices of their own."""
        return OperatorChoices(**{name: getattr(self, name)[rows] for name in self.__dataclass_fields__})


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
    shared_capacity : shape (shared,), of each resource on each set of classes where it can bind; with traffic, limits, too.
    choices : of all operators.
    least_downtime, longest_downtime : seconds, that whatever is looked at has at least and at most.
    stays : shape (operators, nodes), replicas that have to stay where they are.
    moves : times of moves; None where nothing runs, or moves do not matter.
    watched : how many of the shared resources, the last ones, are those of single nodes.
    traffic : what depends on which replicas share nodes; None where nothing does.
    """

    model: EliminationModel
    members: tuple[Ints, ...]
    capacity: Floats
    demand: Floats
    delay: Floats
    shared_capacity: Floats
    choices: OperatorChoices
    least_downtime: float = 0.0
    longest_downtime: float = np.inf
    stays: Ints | None = None
    moves: Moves | None = None
    traffic: Traffic | None = None
    watched: int = 0

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
            and (self.traffic is None or self.traffic.exchangeable(k, other))
        )

    @cached_property
    def owner(self) -> Ints:
        """Class of each node."""
        owner = np.zeros(sum(nodes.size for nodes in self.members), np.int64)
        for k, nodes in enumerate(self.members):
            owner[nodes] = k
        return owner

    def within(self, classes: int) -> Bools:
        """Whether each node is of one of a set of classes, shape (nodes,)."""
        return (classes >> self.owner & 1) == 1

    def room(self, row: int, most: Ints) -> Ints:
        """Replicas that a row of the choices may have on each node that holds at most `most`, shape (nodes,)."""
        return np.where(self.within(self.choices.classes[row]), np.minimum(most, self.choices.replicas[row]), 0)

    @cached_property
    def free(self) -> Floats:
        """The part of each node that is left by what has to stay there, shape (nodes, resources)."""
        capacity = self.capacity[self.owner]
        return capacity if self.stays is None else capacity - self.stays.T @ self.demand

    @cached_property
    def block_room(self) -> Floats:
        """The room for a block next to what stays: on any node of each class, then on each; shape (classes + nodes, resources).

        Use of a node by operators that stay and are of the block does not count, see `block_load`.
        """
        return np.concatenate([*(self.free[nodes].max(axis=0, keepdims=True) for nodes in self.members), self.free])

    @cached_property
    def block_load(self) -> Floats:
        """The load of each row of the choices without what has to stay on its node anyway, shape (rows, resources)."""
        choices = self.choices
        if self.stays is None:
            return choices.load
        kept = np.where(choices.anchor >= 0, self.stays[choices.operator, choices.anchor], 0)
        return choices.load - kept[:, None] * self.demand[choices.operator]

    @cached_property
    def block_place(self) -> Ints:
        """Place in `block_room` of each row of the choices, shape (rows,); of no meaning where it is on several nodes."""
        choices, classes = self.choices, len(self.members)
        return np.where(choices.anchor >= 0, classes + choices.anchor, np.minimum(choices.classes >> 1, classes - 1))

    @property
    def max_response(self) -> float:
        """Limit in seconds, with its rounding slack."""
        return float(self.model.limits[0]) * (1 + LIMIT_SLACK)

    @property
    def max_cost(self) -> float:
        """Limit in money/h, with its rounding slack; with traffic it is among what is shared."""
        return float(self.model.limits[1]) * (1 + LIMIT_SLACK) if self.traffic is None else np.inf

    @cached_property
    def stream_use(self) -> Floats:
        """Least use by streams that are not within one node, shape (1 + shared, streams, sets, sets); 0 streams without traffic.

        The first is money/h as in `OperatorChoices.cost`, the others are of what is shared.
        """
        if self.traffic is None:
            return np.zeros((1 + self.shared_capacity.size, 0, MASKS, MASKS))
        table = self.traffic.table(self.model, self.choices.operator, self.choices.replicas)
        resources = np.zeros((self.shared_capacity.size - self.watched - len(self.traffic.limits), *table.shape[1:]))
        return np.concatenate([table[:1], resources, table[1:], np.zeros((self.watched, *table.shape[1:]))])


def build_quotient(model: EliminationModel, number: Ints) -> Quotient:
    """Arrays over the classes of nodes."""
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
    least = np.where(stable, need, np.inf).min(axis=1)
    traffic = build_traffic(model, members, least, capacity)
    if traffic is not None:
        # Choices cost what they lose of availability, and use limits.
        losses = row_losses(traffic, choices.operator, choices.classes, choices.replicas, least, capacity)
        usage = np.hstack([choices.usage, limited_use(traffic, model, choices.cost, losses)])
        cost = choices.cost + model.compiled.weight["availability"] / model.cost * losses
        choices = replace(choices, cost=cost, usage=usage)
        shared_capacity = np.concatenate([shared_capacity, np.ones(len(traffic.limits))])
    return Quotient(
        model=model,
        members=members,
        capacity=capacity,
        demand=least,
        delay=np.pad(delays_between_sets(model.delay, members), (0, MASKS - (1 << len(members)))),
        shared_capacity=shared_capacity,
        choices=choices,
        traffic=traffic,
    )


def fitting_replicas(demand: Floats, free: Floats, most: Ints) -> Ints:
    """Replicas, at most `most`, that fit into what nodes have `free`, shape (nodes, resources); shape (nodes,)."""
    for m in np.flatnonzero(demand > 0):
        room = np.where(np.isfinite(free[:, m]), free[:, m], UNLIMITED)
        fitting = np.floor((room + QUOTIENT_USE_SLACK) / demand[m])
        most = np.minimum(most, np.maximum(fitting, 0).astype(np.int64))
    return most


def _in_units(demand: Floats, capacity: Floats) -> tuple[Floats, Floats]:
    """Demands and capacities in units of the smallest demand; capacities without the rest that no replica can use."""
    used = (demand > 0).any(axis=0) & np.isfinite(capacity).any(axis=0)
    demand, capacity = demand[:, used].copy(), capacity[:, used].copy()
    for m in range(demand.shape[1]):
        unit = demand[demand[:, m] > 0, m].min()
        demand[:, m] /= unit
        capacity[:, m] = capacity[:, m] * (1 + LIMIT_SLACK) / unit
        whole = np.rint(demand[:, m])
        if (np.abs(demand[:, m] - whole) <= EQUAL_AMOUNTS * whole).all():
            demand[:, m], capacity[:, m] = whole, np.floor(capacity[:, m])
    return demand, capacity


def _limited_use(model: EliminationModel, first: Ints) -> tuple[Floats, Floats]:
    """Use of shared resources whose peak load is limited by one of r replicas, and how much the limit leaves of a node.

    In units of the least use; shapes (operators, 1 + most replicas, resources) and (classes, resources). The use by streams to
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
    model: EliminationModel, members: tuple[Ints, ...], need: Floats, capacity: Floats, shared: list[tuple[int, int]]
) -> OperatorChoices:
    rows: list[tuple[int, int, int, int]] = []
    first = np.array([nodes[0] for nodes in members])
    latency = []
    for i in range(model.operators):
        fits = (need[i][:, None] <= capacity).all(axis=2)
        for classes in range(1, 1 << len(members)):
            inside = [k for k in range(len(members)) if classes >> k & 1]
            if not model.candidate[i, first[inside]].all():
                continue
            slowest = float(model.speedup[first[inside]].min())
            stable = np.flatnonzero(model.stable[i, first[inside]].all(axis=0))
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
    return OperatorChoices(
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
