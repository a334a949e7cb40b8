"""Compiled: search over labels, least bound first."""

from __future__ import annotations

import numpy as np

from edrp.formulations.mapping.label_order import admitted, pop, push
from edrp.formulations.mapping.label_room import room, rounded, take, within_limits
from edrp.formulations.mapping.labels import (
    BEST,
    BOUND,
    CHILDREN,
    COUNT,
    CUTOFF,
    HEAP,
    INCUMBENT,
    POPPED,
    TOLERANCE,
    Guide,
    Labels,
    Tracked,
)
from edrp.formulations.mapping.layers import Graph
from edrp.formulations.mapping.moves import HOST
from edrp.kernels import inlined, kernel

FINISHED, PAUSED, FULL, WHOLE = range(4)
"""Why `search` came back: nothing below the cutoff is left, it looked at as many labels as it may, there is no room for more
labels, or the label of least bound is a whole map that is not the best one: it uses more of something than there is."""


@inlined
def _remember(graph: Graph, guide: Guide, tracked: Tracked, labels: Labels, i: int, new: int, need: float) -> None:
    """What is left of tracked resources, as far as it can still matter.

    It is rounded down to what the rest of the task can take, and to nothing where a map that takes any of it is too dear.
    """
    servers, arcs = graph.first.size - 1, graph.target.size
    before, move, v = labels.mapped[i], labels.move[new], labels.server[new]
    for slot in range(labels.residual.shape[1]):
        labels.residual[new, slot] = labels.residual[i, slot]
    if move >= arcs:
        take(tracked, labels, new, servers + arcs + labels.server[i], graph.rates[before])
        take(tracked, labels, new, 2 * servers + arcs + v, graph.rates[before])
    elif move >= 0:
        take(tracked, labels, new, servers + move, graph.rates[before])
    if need > 0:
        take(tracked, labels, new, v, need)
    j, left = labels.mapped[new], labels.left[new]
    if labels.leaving[new] == 1:
        t = left if graph.budgets > 1 else 0
        through, priced_through = guide.through.leaving[j, t, v], guide.priced_through.leaving[j, t, v]
    else:
        through, priced_through = guide.through.arrived[j, left, v], guide.priced_through.arrived[j, left, v]
    spare = labels.values[CUTOFF] - labels.cost[new]
    priced_spare = labels.values[CUTOFF] + guide.constant - labels.priced[new]
    plenty, marks = 0.0, 0
    for slot in range(labels.residual.shape[1]):
        value = 0.0
        if through[slot] < spare and priced_through[slot] < priced_spare:
            value = rounded(tracked, slot, j, labels.residual[new, slot])
        labels.residual[new, slot] = value
        share = value * tracked.scale[slot]
        plenty += share
        if share > 0:
            marks |= 1 << (slot & 31)
            if share > 0.5:
                marks |= 1 << (32 + (slot & 31))
    labels.plenty[new], labels.marks[new] = plenty, marks


@inlined
def _enter(graph: Graph, guide: Guide, tracked: Tracked, labels: Labels, i: int, row: int, width: int) -> None:
    """Enter a label that follows from label i, unless it cannot be part of anything better or another is as good."""
    leaving, v, j, left, move = labels.child[row]
    cost, priced, need = labels.child_cost[row]
    if leaving == 1:
        t = left if graph.budgets > 1 else 0
        plain, under = guide.togo.leaving[j, t, v], guide.priced_togo.leaving[j, t, v]
    else:
        plain, under = guide.togo.arrived[j, left, v], guide.priced_togo.arrived[j, left, v]
    bound = max(labels.bound[i], cost + plain, priced + under - guide.constant)
    if bound >= labels.values[CUTOFF] or labels.visits[leaving, j, v] >= width > 0:
        return
    new = labels.counters[COUNT]
    labels.server[new], labels.mapped[new], labels.left[new], labels.leaving[new] = v, j, left, leaving
    labels.parent[new], labels.move[new], labels.alive[new] = i, move, 1
    labels.cost[new], labels.priced[new], labels.bound[new] = cost, priced, bound
    if width == 0:
        _remember(graph, guide, tracked, labels, i, new, need)
        if not admitted(labels, new):
            return
    labels.counters[COUNT] += 1
    if j == graph.needs.size and v == graph.delivery and cost < labels.values[BEST] and within_limits(graph, labels, new):
        labels.values[BEST] = cost
        labels.values[CUTOFF] = min(labels.values[CUTOFF], cost - labels.values[TOLERANCE] * cost)
        labels.counters[INCUMBENT] = new
    push(labels, new)


@inlined
def _propose(labels: Labels, leaving: int, v: int, j: int, left: int, move: int, cost: float, priced: float, need: float) -> None:
    row = labels.counters[CHILDREN]
    labels.counters[CHILDREN] += 1
    child, costs = labels.child[row], labels.child_cost[row]
    child[0], child[1], child[2], child[3], child[4] = leaving, v, j, left, move
    costs[0], costs[1], costs[2] = cost, priced, need


@inlined
def _host(
    graph: Graph,
    guide: Guide,
    tracked: Tracked,
    labels: Labels,
    i: int,
    v: int,
    left: int,
    move: int,
    cost: float,
    priced: float,
    checked: bool,
) -> None:
    """Labels with one component more and more of them on a server."""
    j = labels.mapped[i]
    most = min(graph.limit[v], room(graph, tracked, labels, i, v, checked))
    need = 0.0
    for k in range(j, graph.needs.size):
        need += graph.needs[k]
        if need > most or guide.plain.host[k, v] == np.inf:
            break
        priced += guide.priced.host[k, v]
        _propose(labels, 1, v, k + 1, left, move, cost, priced, need)


@inlined
def _travel(graph: Graph, guide: Guide, tracked: Tracked, labels: Labels, i: int, left: int, checked: bool) -> None:
    """Labels that a link leads to."""
    u, j, servers = labels.server[i], labels.mapped[i], graph.first.size - 1
    for a in range(graph.first[u], graph.first[u + 1]):
        price = guide.plain.arc[j, a]
        if price < np.inf and graph.rates[j] <= room(graph, tracked, labels, i, servers + a, checked):
            cost, priced = labels.cost[i] + price, labels.priced[i] + guide.priced.arc[j, a]
            _propose(labels, 0, graph.target[a], j, left, a, cost, priced, 0.0)


@inlined
def _dial(graph: Graph, guide: Guide, tracked: Tracked, labels: Labels, i: int, left: int, checked: bool) -> None:
    """Labels to which a public hop leads."""
    u, j, rate = labels.server[i], labels.mapped[i], graph.rates[labels.mapped[i]]
    servers, arcs = graph.first.size - 1, graph.target.size
    if guide.plain.up[j, u] == np.inf or rate > room(graph, tracked, labels, i, servers + arcs + u, checked):
        return
    cost = labels.cost[i] + guide.plain.up[j, u]
    for v in range(servers):
        if v == u or guide.plain.down[j, v] == np.inf:
            continue
        if rate > room(graph, tracked, labels, i, 2 * servers + arcs + v, checked):
            continue
        priced = labels.priced[i] + guide.priced.up[j, u] + guide.priced.down[j, v]
        if j < graph.needs.size:
            _host(graph, guide, tracked, labels, i, v, left, arcs + v, cost, priced, checked)
        elif v == graph.delivery:
            _propose(labels, 1, v, j, left, arcs + v, cost, priced, 0.0)


@kernel
def search(graph: Graph, guide: Guide, tracked: Tracked, labels: Labels, width: int, most: int) -> tuple[int, int]:
    """Look at labels, least bound first.

    Parameters
    ----------
    graph, guide, tracked
        See there.
    labels
        Those that there are; written.
    width
        0: exact, as far as tracked resources go; labels overlook all limits that are not tracked. Else a search for good
        maps: labels keep to every limit, none makes another needless, but of each place only so many are looked at.
    most
        Labels to look at before it comes back.

    Returns
    -------
    tuple of int
        Why it came back (`FINISHED`, …), and the label in the case of `WHOLE`.
    """
    checked = width > 0
    for _ in range(most):
        if labels.counters[HEAP] == 0:
            labels.values[BOUND] = labels.values[CUTOFF]
            return FINISHED, -1
        if labels.counters[COUNT] + labels.child.shape[0] > labels.server.size:
            return FULL, -1
        i = pop(labels)
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
        if leaving == 0 or labels.parent[i] < 0:
            fresh = graph.empty if graph.budgets == 1 else left
            _host(graph, guide, tracked, labels, i, u, fresh, HOST, labels.cost[i], labels.priced[i], checked)
        after = left if leaving == 1 else left - 1
        if after >= 0:
            _travel(graph, guide, tracked, labels, i, after, checked)
        if leaving == 1:
            _dial(graph, guide, tracked, labels, i, left, checked)
        for row in range(labels.counters[CHILDREN]):
            _enter(graph, guide, tracked, labels, i, row, width)
    return PAUSED, -1
