"""The orders in which Storm's resource-aware scheduler places executors: by proximity, or by numbers of connections."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field


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
