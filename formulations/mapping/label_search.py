"""Compiled: search over labels, least bound first; their order, dominance between them, and their use of resources.

Helpers take the arrays that they need one by one: a whole `MapLabels` in each of them takes long to compile.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from edrp.core.arrays import Floats, Ints, Ints32
from edrp.core.kernels import inlined, inner_loop, kernel
from edrp.core.tolerances import LABEL_SUM_SLACK, LABEL_USE_SLACK, MAP_USE_SLACK
from edrp.formulations.mapping.layered_graph import HOST, LayeredGraph, MapLayers, ToGo, UsePrices

MIN_LABELS = 4096
"""Minimum number of labels that there is room for at the beginning."""

COUNT, HEAP, POPPED, INCUMBENT, CHILDREN, COMPARED = range(6)
"""Indices into `MapLabels.counters`: labels, labels on the heap, labels examined, the best whole map, labels to be entered, and
comparisons of two labels."""

CUTOFF, BOUND, BEST, TOLERANCE = range(4)
"""Indices into `MapLabels.values`: what a label must be below, bound on all that are left, cost of the best whole map, and the
relative difference below that at which nothing is looked for any more."""


class MapLabels(NamedTuple):
    """Labels by number, in rows that are added as they are needed.

    Attributes
    ----------
    server, mapped, left : where a label is, how many components it has mapped, how many empty hops it has left.
    leaving : 1 where a component was mapped on the server, which must now be left; 0 where a link led to it.
    parent, move : from which label it follows, and by which link or public hop, or `HOST`.
    next, alive : the next label of the same place by cost, and whether no other made it needless.
    cost, priced : cost so far, the same with prices of resources, less the sum of their weights.
    bound : what no map that begins so costs less than.
    plenty, marks, residual : of tracked resources, what is left: all together in shares; which are not empty and which more
        than half full (bits, so that most comparisons end there); and each, shape (labels, K).
    heap : labels to be looked at, least bound first.
    heads : shape (2, m + 1, n), the cheapest label of each place; -1 for none.
    visits : shape (2, m + 1, n), labels looked at.
    counters, values : see `COUNT` and `CUTOFF`.
    child, child_cost : labels that follow from the one looked at: leaving, server, mapped, left, move; cost, priced, need.
    """

    server: Ints32
    mapped: Ints32
    left: Ints32
    leaving: Ints32
    parent: Ints32
    move: Ints32
    next: Ints32
    alive: Ints32
    cost: Floats
    priced: Floats
    bound: Floats
    plenty: Floats
    marks: Ints
    residual: Floats
    heap: Ints32
    heads: Ints32
    visits: Ints32
    counters: Ints
    values: Floats
    child: Ints32
    child_cost: Floats


INTEGERS = ("server", "mapped", "left", "leaving", "parent", "move", "next", "alive", "heap")
NUMBERS = ("cost", "priced", "bound", "plenty")
GROWING = (*INTEGERS, *NUMBERS, "marks", "residual")
"""Names of the arrays with one row per label, which grow together."""


class Tracked(NamedTuple):
    """K resources that labels remember, and the amounts that can still be taken of each.

    Attributes
    ----------
    slot : shape (3 n + a,), place of a resource among the tracked ones, or -1.
    start, sums : sums of what components and hops from j on take of resource k, ascending from 0, are
        sums[start[k, j] : start[k, j + 1]]; none where there are too many to list.
    scale : shape (K,), one over the limit.
    """

    slot: Ints32
    start: Ints32
    sums: Floats
    scale: Floats


class Guide(NamedTuple):
    """Lower bounds on the further cost of labels.

    Attributes
    ----------
    plain, togo : the problem's own prices.
    priced, priced_togo : the same plus prices of resources.
    through, priced_through : the same for maps that take something of a tracked resource from here on; a last axis of K.
    """

    plain: UsePrices
    togo: ToGo
    priced: UsePrices
    priced_togo: ToGo
    through: ToGo
    priced_through: ToGo


def first_label(layers: MapLayers, resources: list[int], weight: float, values: tuple[float, float, float, float]) -> MapLabels:
    """Return arrays with the label of the source, and room for more.

    Parameters
    ----------
    weight
        Sum of the weights of all resources, which is what a map may use of them for nothing.
    values
        See `CUTOFF`.
    """
    graph = layers.graph
    places = (2, graph.rates.size, layers.servers)
    children = graph.needs.size + int(np.diff(graph.first).max(initial=0))
    if (layers.prices.up < np.inf).any():
        children += layers.servers * graph.rates.size
    size = max(MIN_LABELS, 2 * children)
    rows: dict[str, Any] = {name: np.zeros(size, np.int32) for name in INTEGERS}
    rows.update({name: np.zeros(size) for name in NUMBERS})
    labels = MapLabels(
        **rows,
        marks=np.zeros(size, np.int64),
        residual=np.zeros((size, len(resources))),
        heads=np.full(places, -1, np.int32),
        visits=np.zeros(places, np.int32),
        counters=np.array([1, 1, 0, -1, 0, 0], np.int64),
        values=np.array(values),
        child=np.zeros((children, 5), np.int32),
        child_cost=np.zeros((children, 3)),
    )
    labels.server[0], labels.left[0], labels.leaving[0], labels.alive[0] = graph.source, graph.empty, 1, 1
    labels.parent[0], labels.move[0], labels.next[0] = -1, HOST, -1
    labels.bound[0], labels.priced[0], labels.residual[0] = values[BOUND], -weight, graph.limit[resources]
    return labels


def grown(labels: MapLabels) -> MapLabels:
    """Return the same labels with room for twice as many."""
    rows: dict[str, Any] = {name: _twice(getattr(labels, name)) for name in GROWING}
    return labels._replace(**rows)


def _twice(rows: NDArray[Any]) -> NDArray[Any]:
    larger = np.empty((2 * len(rows), *rows.shape[1:]), rows.dtype)
    larger[: len(rows)] = rows
    return larger


def label_moves(labels: MapLabels, label: int) -> list[int]:
    """Return the moves of a label's map."""
    moves: list[int] = []
    while (parent := int(labels.parent[label])) >= 0:
        moves += [HOST] * int(labels.mapped[label] - labels.mapped[parent])
        if (move := int(labels.move[label])) != HOST:
            moves.append(move)
        label = parent
    return moves[::-1]


@inlined
def _before(bound: np.ndarray, mapped: np.ndarray, a: int, b: int) -> bool:
    return bound[a] < bound[b] or (bound[a] == bound[b] and mapped[a] > mapped[b])


@inlined
def push(heap: np.ndarray, counters: np.ndarray, bound: np.ndarray, mapped: np.ndarray, label: int) -> None:
    """Put a label on the heap."""
    place = counters[HEAP]
    counters[HEAP] += 1
    while place > 0:
        above = (place - 1) >> 1
        if not _before(bound, mapped, label, heap[above]):
            break
        heap[place] = heap[above]
        place = above
    heap[place] = label


@inlined
def pop(heap: np.ndarray, counters: np.ndarray, bound: np.ndarray, mapped: np.ndarray) -> int:
    """Take the label of least bound off the heap; of equal labels the one with most components mapped."""
    counters[HEAP] -= 1
    size = counters[HEAP]
    best, label, place = heap[0], heap[size], 0
    while 2 * place + 1 < size:
        below = 2 * place + 1
        if below + 1 < size and _before(bound, mapped, heap[below + 1], heap[below]):
            below += 1
        if not _before(bound, mapped, heap[below], label):
            break
        heap[place] = heap[below]
        place = below
    heap[place] = label
    return best


@inlined
def _leaves_no_less(marks: np.ndarray, plenty: np.ndarray, left: np.ndarray, residual: np.ndarray, a: int, b: int) -> bool:
    if marks[b] & ~marks[a] or plenty[a] < plenty[b] or left[a] < left[b]:
        return False
    slot, slots = 0, residual.shape[1]
    while slot < slots and residual[a, slot] >= residual[b, slot]:
        slot += 1
    return slot == slots


@inlined
def admitted(labels: MapLabels, new: int) -> bool:
    """Add a label to those of its place unless another dominates it (costs no more, leaves no less); drop dominated ones."""
    costs, after, heads = labels.cost, labels.next, labels.heads[labels.leaving[new], labels.mapped[new]]
    marks, plenty, left, residual = labels.marks, labels.plenty, labels.left, labels.residual
    u, cost = labels.server[new], costs[new]
    other, last = heads[u], -1
    while other >= 0 and costs[other] <= cost:
        labels.counters[COMPARED] += 1
        if _leaves_no_less(marks, plenty, left, residual, other, new):
            return False
        last, other = other, after[other]
    after[new] = other
    if last < 0:
        heads[u] = new
    else:
        after[last] = new
    last = new
    while other >= 0:
        labels.counters[COMPARED] += 1
        if _leaves_no_less(marks, plenty, left, residual, new, other):
            labels.alive[other] = 0
            after[last] = after[other]
        else:
            last = other
        other = after[other]
    return True


@inner_loop
def used(graph: LayeredGraph, labels: MapLabels, label: int, resource: int) -> float:
    """Return the amount of a resource that a label's map uses."""
    servers, arcs = graph.first.size - 1, graph.target.size
    amount = 0.0
    while labels.parent[label] >= 0:
        before = labels.parent[label]
        j, move = labels.mapped[before], labels.move[label]
        if resource < servers:
            if labels.server[label] == resource:
                for i in range(j, labels.mapped[label]):
                    amount += graph.needs[i]
        elif resource < servers + arcs:
            if move == resource - servers:
                amount += graph.rates[j]
        elif move >= arcs:
            end = resource - servers - arcs
            if end == labels.server[before] or end - servers == labels.server[label]:
                amount += graph.rates[j]
        label = before
    return amount


@inner_loop
def _within(graph: LayeredGraph, labels: MapLabels, label: int, resource: int) -> bool:
    limit = graph.limit[resource]
    return limit == np.inf or used(graph, labels, label, resource) <= limit * (1 + MAP_USE_SLACK)


@inner_loop
def within_limits(graph: LayeredGraph, labels: MapLabels, label: int) -> bool:
    """Tell whether a label's map keeps to every limit."""
    servers, arcs = graph.first.size - 1, graph.target.size
    step = label
    while labels.parent[step] >= 0:
        before, move = labels.parent[step], labels.move[step]
        if labels.mapped[step] > labels.mapped[before] and not _within(graph, labels, label, labels.server[step]):
            return False
        if move >= arcs:
            if not _within(graph, labels, label, servers + arcs + labels.server[before]):
                return False
            if not _within(graph, labels, label, 2 * servers + arcs + labels.server[step]):
                return False
        elif move >= 0 and not _within(graph, labels, label, servers + move):
            return False
        step = before
    return True


@inlined
def room(graph: LayeredGraph, tracked: Tracked, labels: MapLabels, label: int, resource: int, checked: bool) -> float:
    """Return the amount of a resource that may still be taken; without `checked`, only tracked resources are limited."""
    limit = graph.limit[resource]
    if checked:
        return limit if limit == np.inf else limit - used(graph, labels, label, resource)
    slot = tracked.slot[resource]
    return np.inf if slot < 0 else labels.residual[label, slot] + LABEL_USE_SLACK * limit


@inlined
def take(slots: np.ndarray, residual: np.ndarray, resource: int, amount: float) -> None:
    """Enter the use of a resource in a label's row, if it is tracked."""
    slot = slots[resource]
    if slot >= 0:
        residual[slot] = max(0.0, residual[slot] - amount)


@inlined
def rounded(start: np.ndarray, sums: np.ndarray, j: int, value: float) -> float:
    """Return the maximum that components and hops from j on can take of the remaining amount of a resource."""
    low, high = start[j], start[j + 1]
    if low == high:
        return value
    value += LABEL_SUM_SLACK * sums[high - 1]
    while high - low > 1:
        middle = (low + high) >> 1
        if sums[middle] <= value:
            low = middle
        else:
            high = middle
    return sums[low]


FINISHED, PAUSED, FULL, WHOLE = range(4)
"""Reasons for which `search` returns: nothing below the cutoff is left, it has looked at as many labels as it may, there is no
room for more labels, or the label of least bound is a whole map that is not the best one: it uses more of something than there
is."""


@inlined
def _remember(
    graph: LayeredGraph,
    tracked: Tracked,
    labels: MapLabels,
    i: int,
    new: int,
    need: float,
    through: np.ndarray,
    priced: np.ndarray,
) -> None:
    """Store the remaining amounts of tracked resources, as far as they can still matter.

    They are rounded down to amounts that the rest of the task can take, and to 0 where a map that takes any of them costs too
    much: `through` and `priced`, shape (K,), are lower bounds on the further cost of such a map.
    """
    servers, arcs = graph.first.size - 1, graph.target.size
    rate, move, j = graph.rates[labels.mapped[i]], labels.move[new], labels.mapped[new]
    slots, residual, before = tracked.slot, labels.residual[new], labels.residual[i]
    for slot in range(residual.size):
        residual[slot] = before[slot]
    if move >= arcs:
        take(slots, residual, servers + arcs + labels.server[i], rate)
        take(slots, residual, 2 * servers + move, rate)
    elif move >= 0:
        take(slots, residual, servers + move, rate)
    if need > 0:
        take(slots, residual, labels.server[new], need)
    spare, priced_spare = labels.values[CUTOFF] - labels.cost[new], labels.values[CUTOFF] - labels.priced[new]
    plenty, marks = 0.0, 0
    for slot in range(residual.size):
        value = 0.0
        if through[slot] < spare and priced[slot] < priced_spare:
            value = rounded(tracked.start[slot], tracked.sums, j, residual[slot])
        residual[slot] = value
        share = value * tracked.scale[slot]
        plenty += share
        if share > 0:
            marks |= 1 << (slot & 31)
            if share > 0.5:
                marks |= 1 << (32 + (slot & 31))
    labels.plenty[new], labels.marks[new] = plenty, marks


@inlined
def _enter(graph: LayeredGraph, guide: Guide, tracked: Tracked, labels: MapLabels, i: int, row: int, width: int) -> None:
    """Enter a label that follows from label i, unless it cannot improve on the best map or another dominates it."""
    leaving, v, j, left, move = labels.child[row]
    cost, priced, need = labels.child_cost[row]
    if leaving == 1:
        t = left if graph.budgets > 1 else 0
        plain, under = guide.togo.leaving[j, t, v], guide.priced_togo.leaving[j, t, v]
        through, priced_through = guide.through.leaving[j, t, v], guide.priced_through.leaving[j, t, v]
    else:
        plain, under = guide.togo.arrived[j, left, v], guide.priced_togo.arrived[j, left, v]
        through, priced_through = guide.through.arrived[j, left, v], guide.priced_through.arrived[j, left, v]
    bound = max(labels.bound[i], cost + plain, priced + under)
    if bound >= labels.values[CUTOFF] or labels.visits[leaving, j, v] >= width > 0:
        return
    new = labels.counters[COUNT]
    labels.server[new], labels.mapped[new], labels.left[new], labels.leaving[new] = v, j, left, leaving
    labels.parent[new], labels.move[new], labels.alive[new] = i, move, 1
    labels.cost[new], labels.priced[new], labels.bound[new] = cost, priced, bound
    if width == 0:
        _remember(graph, tracked, labels, i, new, need, through, priced_through)
        if not admitted(labels, new):
            return
    labels.counters[COUNT] += 1
    if j == graph.needs.size and v == graph.delivery and cost < labels.values[BEST] and within_limits(graph, labels, new):
        labels.values[BEST] = cost
        labels.values[CUTOFF] = min(labels.values[CUTOFF], cost - labels.values[TOLERANCE] * cost)
        labels.counters[INCUMBENT] = new
    push(labels.heap, labels.counters, labels.bound, labels.mapped, new)


@inlined
def _propose(labels: MapLabels, place: tuple[int, int, int, int, int], prices: tuple[float, float, float]) -> None:
    """Store a successor label: leaving, server, mapped, left and move; cost, priced and need."""
    row = labels.counters[CHILDREN]
    labels.counters[CHILDREN] += 1
    child, costs = labels.child[row], labels.child_cost[row]
    child[0], child[1], child[2], child[3], child[4] = place
    costs[0], costs[1], costs[2] = prices


@inlined
def _host(
    graph: LayeredGraph, guide: Guide, tracked: Tracked, labels: MapLabels, i: int, dialled: bool, left: int, checked: bool
) -> None:
    """Propose labels with one or more further components on the server, or on those to which a public hop leads.

    At the end of the task a public hop leads to the delivery, without a component.
    """
    u, j, components = labels.server[i], labels.mapped[i], graph.needs.size
    servers, arcs, rate = graph.first.size - 1, graph.target.size, graph.rates[labels.mapped[i]]
    cost, start, move = labels.cost[i], labels.priced[i], HOST
    if dialled:
        if guide.plain.up[j, u] == np.inf or rate > room(graph, tracked, labels, i, servers + arcs + u, checked):
            return
        cost += guide.plain.up[j, u]
    for v in range(0 if dialled else u, servers if dialled else u + 1):
        priced = start
        if dialled:
            ends = v == u or guide.plain.down[j, v] == np.inf
            if ends or rate > room(graph, tracked, labels, i, 2 * servers + arcs + v, checked):
                continue
            move = arcs + v
            priced += guide.priced.up[j, u] + guide.priced.down[j, v]
            if j == components and v == graph.delivery:
                _propose(labels, (1, v, j, left, move), (cost, priced, 0.0))
        limit = min(graph.limit[v], room(graph, tracked, labels, i, v, checked))
        need = 0.0
        for k in range(j, components):
            need += graph.needs[k]
            if need > limit or guide.plain.host[k, v] == np.inf:
                break
            priced += guide.priced.host[k, v]
            _propose(labels, (1, v, k + 1, left, move), (cost, priced, need))


@inlined
def _travel(graph: LayeredGraph, guide: Guide, tracked: Tracked, labels: MapLabels, i: int, left: int, checked: bool) -> None:
    """Propose labels that a link leads to."""
    u, j, servers = labels.server[i], labels.mapped[i], graph.first.size - 1
    for a in range(graph.first[u], graph.first[u + 1]):
        price = guide.plain.arc[j, a]
        if price < np.inf and graph.rates[j] <= room(graph, tracked, labels, i, servers + a, checked):
            cost, priced = labels.cost[i] + price, labels.priced[i] + guide.priced.arc[j, a]
            _propose(labels, (0, graph.target[a], j, left, a), (cost, priced, 0.0))


@kernel
def search(
    graph: LayeredGraph, guide: Guide, tracked: Tracked, labels: MapLabels, width: int, max_labels: int
) -> tuple[int, int]:
    """Examine labels, least bound first.

    Parameters
    ----------
    graph, guide, tracked
        The problem, the guide of the search and the tracked resources.
    labels
        The labels so far; changed in place.
    width
        0: exact, as far as tracked resources go; labels overlook all limits that are not tracked. Else a search for good
        maps: labels keep to every limit, none makes another needless, but only `width` of each place are looked at.

    Returns
    -------
    tuple of int
        Why it came back (`FINISHED`, …), and the label in the case of `WHOLE`.
    """
    checked = width > 0
    for _ in range(max_labels):
        if labels.counters[HEAP] == 0:
            labels.values[BOUND] = labels.values[CUTOFF]
            return FINISHED, -1
        if labels.counters[COUNT] + labels.child.shape[0] > labels.server.size:
            return FULL, -1
        i = pop(labels.heap, labels.counters, labels.bound, labels.mapped)
        if not labels.alive[i]:
            continue
        if labels.bound[i] >= labels.values[CUTOFF]:
            labels.values[BOUND] = labels.values[CUTOFF]
            labels.counters[HEAP] = 0
            return FINISHED, -1
        u, j, left, leaving = labels.server[i], labels.mapped[i], labels.left[i], labels.leaving[i]
        labels.counters[POPPED] += 1
        labels.values[BOUND] = labels.bound[i]
        if checked:
            labels.visits[leaving, j, u] += 1
            if labels.visits[leaving, j, u] > width:
                continue
        if j == graph.needs.size and u == graph.delivery:
            return WHOLE, i
        labels.counters[CHILDREN] = 0
        fresh = left if leaving == 1 or graph.budgets > 1 else graph.empty
        for dialled in (False, True):
            if leaving == dialled or labels.parent[i] < 0:
                _host(graph, guide, tracked, labels, i, dialled, fresh, checked)
        onward = left if leaving == 1 else left - 1
        if onward >= 0:
            _travel(graph, guide, tracked, labels, i, onward, checked)
        for row in range(labels.counters[CHILDREN]):
            _enter(graph, guide, tracked, labels, i, row, width)
    return PAUSED, -1
