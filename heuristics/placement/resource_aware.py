"""Storm's resource-aware scheduler as a method."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field

from edrp.core import budget
from edrp.core.arrays import Bools, Floats, Ints
from edrp.core.budget import passed, spend
from edrp.core.methods import Options
from edrp.core.solution import Answer
from edrp.core.tolerances import LIMIT_SLACK
from edrp.heuristics.placement.filling import Filling, PlacementRule, least_stable
from edrp.placement.compiled import Compiled
from edrp.placement.problem import PlacementProblem

COMMON_RESOURCES = ("cpu", "memory", "resources")
"""Resources that every node has; a node ranks lower for any other that an executor does not ask for."""


@dataclass(frozen=True, slots=True)
class ResourceAwareParameters:
    """Parameters of Storm's resource-aware scheduler, with its defaults.

    Attributes
    ----------
    order : in which order executors are placed: by "connections" or by "proximity"
        (`topology.ras.order.executors.by.proximity.needs`).
    max_states : executors placed at most, counting those taken back (`topology.ras.constraint.max.state.search`).
    max_seconds : time for the search (`topology.ras.constraint.max.time.secs`).
    """

    order: Literal["connections", "proximity"] = "connections"
    max_states: Annotated[int, Field(ge=1)] = 10_000
    max_seconds: Annotated[float, Field(ge=0)] = 60.0


class ResourceAware(PlacementRule):
    """Storm's scheduler for topologies that say what they need (`GenericResourceAwareStrategy`, R-Storm's successor).

    Executors are placed one by one in the order of `by_connections` or `by_proximity`, each on the first node that has
    room for it. Racks, which here are zones, and within a rack its nodes, are ordered by how many executors of the
    topology they run, most first, then by what they have of all that is free in the cluster or rack: by the mean share
    over resources, and of the same mean by the least share. Where nothing has room, the executor before is taken back
    and goes to its next node, and so on, until all are placed, nothing is left to try, or `max_states` or
    `max_seconds` are used up. Like Storm, it refuses topologies of `max_states` executors and more.

    Differences from Storm, and decisions where it is not clear:

    * A node is one worker slot: no limit on a worker's heap, and all of a node's memory is for executors. There are no
      system components, and no ackers besides those that the topology lists.
    * Each stream is grouped by shuffle, as its rate is split evenly: by proximity, an executor takes its share of each
      child's executors. Components that Storm keeps in hash order are in the order of the document.
    * Nodes are ordered again for every executor; Storm does so where the component changes and after dead ends. That
      differs where one component fills several unequal nodes in a row.
    * The cluster runs nothing else, and all executors are placed, whatever runs now. Nodes without a zone share one.
    * Candidates and limits on utilisation, which Storm does not know, are respected; other rules of the problem are not, and
      where the placement breaks one, the answer is that there is none, with its name. Where some node has no limit of a
      resource, such nodes have a share of 1 of it, and others of 0.
    """

    name = "resource-aware"
    summary = "Storm's resource-aware scheduler: one executor after the other, nodes by rack and free resources"
    parameters = ResourceAwareParameters

    def run(self, problem: PlacementProblem, options: Options) -> Answer:
        """Search for as long as both the scheduler and the caller allow."""
        seconds = self.read_parameters(options).max_seconds
        limited = {**options.parameters, "max_seconds": min(seconds, options.remaining)}
        return super().run(problem, replace(options, parameters=limited))

    def fill(self, compiled: Compiled, parameters: ResourceAwareParameters) -> Filling:
        """Place all executors, or none."""
        executors = least_stable(compiled)
        filling, total = Filling.of(compiled), int(executors.sum())
        if total >= parameters.max_states:
            filling.notes.append(
                f"{total} executors cannot be placed in fewer than {parameters.max_states} states; raise max_states"
            )
            return filling
        nodes, rack = _ranked(compiled)
        turns = ExecutorQueue(
            order=_order(compiled, executors, parameters.order),
            demand=compiled.demand,
            capacity=compiled.capacity[nodes],
            candidate=np.ascontiguousarray(compiled.stable_nodes(executors)[:, nodes]),
            rack=rack,
            rare=np.array([name not in COMMON_RESOURCES for name in compiled.resources], np.bool_),
        )
        ended = turns.place(parameters.max_states, budget.now() + parameters.max_seconds)
        if len(turns.nodes) == total:
            counts = np.zeros_like(filling.counts)
            np.add.at(counts, (turns.order, nodes[turns.nodes]), 1)
            return Filling.of(compiled, counts)
        why = f"{'there is nothing else to try' if ended else 'the search ended'} after {turns.states} states"
        name = compiled.operators[int(turns.order[turns.deepest])]
        filling.notes.append(f"at most {turns.deepest} of {total} executors find room, the next is of {name}; {why}")
        return filling


def _order(compiled: Compiled, executors: Ints, order: str) -> Ints:
    """List the operator of each executor in the order of placement."""
    index = {name: i for i, name in enumerate(compiled.operators)}
    described = [index[operator.name] for operator in compiled.problem.application.operators]
    position = np.argsort(described)
    components = TopologyComponents(
        [compiled.operators[i] for i in described],
        [int(executors[i]) for i in described],
        [(int(position[i]), int(position[j])) for i, j in zip(compiled.stream_source, compiled.stream_target, strict=True)],
    )
    turns = by_proximity(components) if order == "proximity" else by_connections(components)
    return np.array(described, np.int64)[turns]


def _ranked(compiled: Compiled) -> tuple[Ints, Ints]:
    """Nodes by name, and the number of each one's rack, racks by name: the order in which Storm settles ties."""
    zones: list[Any] = [compiled.problem.network.by_name[name].zone or "" for name in compiled.nodes]
    nodes = np.array(sorted(range(len(zones)), key=compiled.nodes.__getitem__), np.int64)
    _, rack = np.unique(np.array(zones, object)[nodes].astype(str), return_inverse=True)
    return nodes, rack.astype(np.int64)


# The orders in which Storm's resource-aware scheduler places executors: by proximity, or by numbers of connections.


@dataclass(frozen=True, slots=True)
class TopologyComponents:
    """The components of a topology, their executors and streams.

    Attributes
    ----------
    names : by index, in the order of the document.
    executors : number of each.
    streams : (source, target) by index.
    """

    names: Sequence[str]
    executors: Sequence[int]
    streams: Sequence[tuple[int, int]]
    children: list[list[int]] = field(init=False)
    neighbours: list[set[int]] = field(init=False)

    def __post_init__(self) -> None:
        everyone = range(len(self.names))
        below = [{target for source, target in self.streams if source == i} for i in everyone]
        above = [{source for source, target in self.streams if target == i} for i in everyone]
        object.__setattr__(self, "children", [sorted(targets, key=self.names.__getitem__) for targets in below])
        object.__setattr__(self, "neighbours", [below[i] | above[i] for i in everyone])


def by_proximity(components: TopologyComponents) -> list[int]:
    """Order executors by proximity: components that exchange tuples come close together.

    Components are taken in topological order, those on cycles last, in the order of the document. An executor is
    followed by its share of each child's executors (as many as the child has waiting per waiting executor of this
    component, at least one), children by name, and each of those by its own children's in the same way.

    Examples
    --------
    >>> by_proximity(TopologyComponents(["read", "split", "count"], [1, 2, 4], [(0, 1), (1, 2)]))
    [0, 1, 2, 2, 1, 2, 2]
    """
    waiting, order = list(components.executors), []
    for component in _topological(components):
        for _ in range(waiting[component]):
            order += _with_children(component, waiting, components.children)
    return order


def _with_children(component: int, waiting: list[int], children: list[list[int]]) -> list[int]:
    """List an executor and those that follow it, with a stack: recursion would be as deep as there are executors."""
    order: list[int] = []
    stack: list[_OpenExecutor] = []
    _enter(component, waiting, children, order, stack)
    while stack:
        turn = stack[-1]
        if turn.repeats:
            turn.repeats -= 1
            _enter(turn.children[turn.position], waiting, children, order, stack)
        elif turn.position + 1 < len(turn.children):
            turn.position += 1
            child_waiting = waiting[turn.children[turn.position]]
            turn.repeats = max(1, child_waiting // turn.waiting) if child_waiting else 0
        else:
            stack.pop()
    return order


@dataclass(slots=True)
class _OpenExecutor:
    """An executor whose children are being placed."""

    waiting: int
    children: list[int]
    position: int = -1
    repeats: int = 0


def _enter(component: int, waiting: list[int], children: list[list[int]], order: list[int], stack: list[_OpenExecutor]) -> None:
    if waiting[component]:
        stack.append(_OpenExecutor(waiting[component], children[component]))
        order.append(component)
        waiting[component] -= 1


def _topological(components: TopologyComponents) -> list[int]:
    """Sort components topologically; those on cycles come last."""
    waiting = [0] * len(components.names)
    for children in components.children:
        for child in children:
            waiting[child] += 1
    order: list[int] = []
    while (ready := next((i for i, number in enumerate(waiting) if number == 0 and i not in order), None)) is not None:
        order.append(ready)
        for child in components.children[ready]:
            waiting[child] -= 1
    return order + [i for i in range(len(waiting)) if i not in order]


def by_connections(components: TopologyComponents) -> list[int]:
    """Order executors by connections: the best connected component comes first.

    A component has as many connections as there are pairs of its executors and those of its neighbours. Each
    component in turn gives one executor, then one of each neighbour, those with the fewest connections to it first,
    until they have none left. Ties go by name.

    Examples
    --------
    >>> by_connections(TopologyComponents(["read", "split", "count"], [1, 2, 4], [(0, 1), (1, 2)]))
    [1, 0, 2, 1, 2, 2, 2]
    """
    waiting, order = list(components.executors), []

    def connections(component: int) -> int:
        return components.executors[component] * sum(components.executors[other] for other in components.neighbours[component])

    for component in sorted(range(len(waiting)), key=lambda i: (-connections(i), components.names[i])):
        # The number of connections to this component differs by the neighbour's own executors only.
        around = sorted(components.neighbours[component], key=lambda i: (components.executors[i], components.names[i]))
        turns = [component, *around]
        while any(waiting[i] for i in turns):
            for i in turns:
                if waiting[i]:
                    order.append(i)
                    waiting[i] -= 1
    return order


# Executors placed one after the other, each on the first node in Storm's order that has room, with backtracking.

EXECUTOR_UNITS = 5e-5
"""Units of work of placing an executor once. Measured on 1,000 hosts in 20 racks."""


class ExecutorQueue:
    """Executors in the order in which they are placed, and the nodes of those that are.

    Parameters
    ----------
    order : shape (executors,)
        Component of each.
    demand, capacity, candidate
        As in `Compiled`, nodes and racks numbered in the order in which ties are settled.
    rack : shape (nodes,)
        Number of each node's rack, from 0.
    rare : shape (resources,)
        Whether a node ranks lower for having it where it is not asked for.

    Attributes
    ----------
    nodes
        Node of each executor placed.
    states, deepest
        Executors placed so far, counting those taken back, and maximum at once.
    """

    def __init__(self, order: Ints, demand: Floats, capacity: Floats, candidate: Bools, rack: Ints, rare: Bools) -> None:
        self.order, self.demand, self.capacity = order, demand, capacity
        self.candidate, self.rack, self.rare = candidate, rack, rare
        self.nodes: list[int] = []
        self.states = self.deepest = 0
        self._members = [np.flatnonzero(rack == number) for number in range(int(rack.max()) + 1)]
        self._free, self._all_free = capacity.copy(), capacity.sum(axis=0)
        self._rack_free = np.zeros((len(self._members), capacity.shape[1]))
        np.add.at(self._rack_free, rack, capacity)
        self._held, self._rack_held = np.zeros(rack.size, np.int64), np.zeros(len(self._members), np.int64)
        self._turns: list[Iterator[int]] = []
        self._saved: list[tuple[Floats, Floats, Floats]] = []

    def place(self, max_states: int, until: float) -> bool:
        """Place executors until all are placed, nothing is left to try, or a limit is reached; return whether it has ended."""
        while len(self.nodes) < self.order.size:
            if self.states >= max_states or passed(until):
                return False
            if len(self._turns) == len(self.nodes):
                self._turns.append(self._next_nodes(int(self.order[len(self.nodes)])))
            node = next(self._turns[-1], None)
            if node is not None:
                self._put(node)
            elif self.nodes:
                self._turns.pop()
                self._take_back()
            else:
                return True
        return True

    def _next_nodes(self, component: int) -> Iterator[int]:
        """Yield the nodes with room for a component, rack by rack, from sums taken at the first request."""
        demand = self.demand[component]
        for rack in self._ranked(np.arange(len(self._members)), self._rack_free, self._rack_held, self._all_free, demand):
            nodes = self._members[rack]
            room = (demand <= self._free[nodes] + LIMIT_SLACK * self.capacity[nodes]).all(axis=1)
            yield from self._ranked(
                nodes[room & self.candidate[component, nodes]], self._free, self._held, self._rack_free[rack], demand
            )

    def _ranked(self, groups: Ints, free: Floats, executors: Ints, total: Floats, demand: Floats) -> list[int]:
        """Nodes or racks by executors held, the mean share of what is free in all, and the minimum share."""
        counted = total > 0
        with np.errstate(divide="ignore", invalid="ignore"):
            shares = np.where(total < np.inf, free[groups] / total, free[groups] == np.inf)
        shares = np.where(self.rare & (demand == 0), -shares, shares)[:, counted]
        mean = shares.mean(axis=1) if counted.any() else np.ones(groups.size)
        ranks = np.lexsort((-shares.min(axis=1, initial=1.0), -mean, -executors[groups]))
        return [int(group) for group in groups[ranks]]

    def _put(self, node: int) -> None:
        rack, demand = self.rack[node], self.demand[self.order[len(self.nodes)]]
        self._saved.append((self._free[node].copy(), self._rack_free[rack].copy(), self._all_free.copy()))
        for free in (self._free[node], self._rack_free[rack], self._all_free):
            free -= demand
        self._held[node] += 1
        self._rack_held[rack] += 1
        self.nodes.append(node)
        self.states += 1
        self.deepest = max(self.deepest, len(self.nodes))
        spend(EXECUTOR_UNITS)

    def _take_back(self) -> None:
        """Take the last executor back, with exactly the sums from before, so that nodes are tried in the same order again."""
        node = self.nodes.pop()
        rack = self.rack[node]
        self._free[node], self._rack_free[rack], self._all_free[:] = self._saved.pop()
        self._held[node] -= 1
        self._rack_held[rack] -= 1


METHODS = (ResourceAware(),)
"""Methods for problems of kinds `edrp` and `latency-aware`."""
