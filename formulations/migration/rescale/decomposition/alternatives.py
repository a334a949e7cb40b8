"""Alternatives of an operator: all ways to run it whose price is so low that the optimum may have them."""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from edrp.core.arrays import Bools, Floats, Ints
from edrp.core.budget import look, spend
from edrp.core.kernels import inlined, inner_loop
from edrp.core.tolerances import SHARE_RANGE_SLACK
from edrp.formulations.migration.rescale.decomposition.model import NodeSets
from edrp.formulations.migration.rescale.decomposition.operators import OperatorPrices, OperatorValues
from edrp.formulations.migration.rescale.decomposition.split_kernel import SplitLayer, SplitWork


class ListedSplits(NamedTuple):
    """Memory for the splits that are found, and for the search.

    Attributes
    ----------
    host, end : shape (splits, replicas), node and last place of each replica.
    number : shape (splits,), replicas.
    place, node, level, spent : shape (replicas + 1,)
        On the way to the current split: where each replica ends, on which node, the level and the cost so far.
    next_place, next_node : shape (replicas + 1,), what is tried next.
    """

    host: Ints
    end: Ints
    number: Ints
    place: Ints
    node: Ints
    level: Ints
    spent: Floats
    next_place: Ints
    next_node: Ints

    @classmethod
    def empty(cls, splits: int, replicas: int) -> ListedSplits:
        """Memory for `splits` splits of at most `replicas` replicas."""
        host, end = (np.zeros((splits, replicas), np.int64) for _ in range(2))
        place, node, level, next_place, next_node = (np.zeros(replicas + 1, np.int64) for _ in range(5))
        spent, number = np.zeros(replicas + 1), np.zeros(splits, np.int64)
        return cls(host, end, number, place, node, level, spent, next_place, next_node)


@inner_loop
def costs_to_go(layer: SplitLayer, unit: Floats, q: Floats, on: Bools, price: float, w: SplitWork, togo: Floats) -> None:
    """Least costs of the tasks from each place on, latency included, where no level below a given one is left to choose.

    `togo` has shape (levels, places). It is filled from the last place to the first. The deque of each node keeps the places
    where a replica that begins here may end: the lower of two is left behind later, so that a higher one stays only where it is
    cheaper, and the cheapest of all is in front.
    """
    last, levels = layer.share.size - 1, layer.seconds.size
    mean = layer.range_seconds.shape[0] > 0
    for level in range(levels):
        togo[level, last] = 0.0
        for u in range(unit.size):
            w.front[u], w.back[u] = 0, 0
        for a in range(last - 1, -1, -1):
            best = np.inf
            for u in range(unit.size):
                if not on[u]:
                    continue
                if np.isfinite(togo[level, a + 1]):
                    key = q[u, a + 1] + togo[level, a + 1]
                    if not mean:  # where latency is no part of the price, a dearer place that is left behind sooner is of no use
                        while w.back[u] > w.front[u]:
                            b = w.queue[u, w.back[u] - 1]
                            if q[u, b] + togo[level, b] < key:
                                break
                            w.back[u] -= 1
                    w.queue[u, w.back[u]] = a + 1
                    w.back[u] += 1
                while w.front[u] < w.back[u]:
                    b = w.queue[u, w.front[u]]
                    if layer.share[b] - layer.share[a] <= layer.caps[level, u] and b - a <= layer.longest:
                        break
                    w.front[u] += 1
                end = w.back[u] if mean else min(w.back[u], w.front[u] + 1)
                for k in range(w.front[u], end):
                    b = w.queue[u, k]
                    value = unit[u] + q[u, b] - q[u, a] + togo[level, b]
                    if mean:
                        value += price * layer.range_seconds[a, b] / layer.speedup[u]
                    best = min(best, value)
            togo[level, a] = best
    for level in range(levels - 1, -1, -1):
        for a in range(last + 1):
            togo[level, a] += price * layer.seconds[level]
            if level + 1 < levels:
                togo[level, a] = min(togo[level, a], togo[level + 1, a])


@inlined
def _widest_share(layer: SplitLayer, on: Bools) -> float:
    """The largest share that a replica may have on any of the nodes, on the level that permits most."""
    widest = 0.0
    for u in range(on.size):
        if on[u]:
            widest = max(widest, layer.caps[layer.seconds.size - 1, u])
    return widest


@inlined
def _level_for(layer: SplitLayer, share: float, u: int, level: int) -> int:
    """The lowest level from the given one on that permits a share on node u; the number of levels where none does."""
    while level < layer.seconds.size and share > layer.caps[level, u]:
        level += 1
    return level


@inlined
def _inside_one(node: Ints, number: int, sets: Ints) -> bool:
    """Whether the nodes of `number` replicas, from `node[1]` on, are all in one of the sets (bits)."""
    used = 0
    for k in range(1, number + 1):
        used |= 1 << node[k]
    inside = False
    for k in range(sets.size):
        inside = inside or (used & ~sets[k]) == 0
    return inside


@inlined
def _keep(w: ListedSplits, row: int, number: int) -> None:
    """Copy the current split, of `number` replicas, into a row of those that are found."""
    w.number[row] = number
    for k in range(number):
        w.host[row, k], w.end[row, k] = w.node[k + 1], w.place[k + 1]


@inner_loop
def list_splits(
    layer: SplitLayer,
    unit: Floats,
    q: Floats,
    on: Bools,
    price: float,
    togo: Floats,
    most: float,
    number: tuple[int, int],
    smaller: Ints,
    steps: int,
    found: ListedSplits,
) -> int:
    """Fill `found` with all splits into a number of replicas within a range that cost at most `most`; returns how many.

    Those whose nodes are all in one of the sets `smaller` (bits) are left out. Returns -1 where there are more than fit, or the
    search takes more steps.
    """
    last, levels, nodes = layer.share.size - 1, layer.seconds.size, unit.size
    mean = layer.range_seconds.shape[0] > 0
    w, depth, splits = found, 0, 0
    widest = _widest_share(layer, on)
    w.place[0], w.level[0], w.spent[0], w.next_place[0], w.next_node[0] = 0, 0, 0.0, 1, 0
    while depth >= 0:
        a, b, u = w.place[depth], w.next_place[depth], w.next_node[depth]
        if b > min(last, a + layer.longest) or layer.share[b] - layer.share[a] > widest:
            depth -= 1
            continue
        w.next_node[depth] = u + 1
        if u + 1 == nodes:
            w.next_place[depth], w.next_node[depth] = b + 1, 0
        steps -= 1
        if steps < 0:
            return -1
        if not on[u]:
            continue
        level = _level_for(layer, layer.share[b] - layer.share[a], u, w.level[depth])
        if level == levels:
            continue
        spent = w.spent[depth] + unit[u] + q[u, b] - q[u, a]
        if mean:
            spent += price * layer.range_seconds[a, b] / layer.speedup[u]
        if not spent + togo[level, b] <= most:
            continue
        w.node[depth + 1], w.place[depth + 1] = u, b
        if b < last:
            if depth + 1 < number[1]:
                depth += 1
                w.level[depth], w.spent[depth] = level, spent
                w.next_place[depth], w.next_node[depth] = b + 1, 0
            continue
        if depth + 1 < number[0] or _inside_one(w.node, depth + 1, smaller):
            continue
        if splits == w.number.size:
            return -1
        _keep(w, splits, depth + 1)
        splits += 1
    return splits


LISTED_WORK, STEP_WORK = 1e-6, 1e-8
"""Units of work for a split that is listed, and for an entry of the table that bounds it."""

MAX_LISTED = 30_000
"""Ways to run an operator up to which they are listed."""

MAX_LISTING_STEPS = 50_000_000
"""Steps of the search for them, in each state."""

MAX_SET_NODES = 62
"""Nodes up to which a set of them is a number."""

Replicas = list[tuple[int, int, int]]


@dataclass(frozen=True)
class Alternatives:
    """Ways to run one operator.

    Attributes
    ----------
    cost : shape (ways,), under prices, without tilts.
    state : shape (ways,)
    counts, share, leaving, arriving, moved : shape (ways, nodes), as of `OperatorChoice`.
    seconds : shape (ways,), latency.
    replicas : node, first task and end of each, by way.
    """

    cost: Floats
    state: Ints
    counts: Ints
    share: Floats
    leaving: Floats
    arriving: Floats
    moved: Floats
    seconds: Floats
    replicas: list[Replicas]

    @property
    def size(self) -> int:
        """Number of ways."""
        return self.cost.size

    @cached_property
    def used(self) -> Ints:
        """Nodes in use, as bits."""
        return np.asarray((self.counts > 0) @ (1 << np.arange(self.counts.shape[1], dtype=np.int64)))

    def chosen(self, at: Ints) -> Alternatives:
        """The selected alternatives, as alternatives of their own."""
        arrays = {field.name: getattr(self, field.name)[at] for field in fields(self) if field.name != "replicas"}
        return Alternatives(**arrays, replicas=[self.replicas[k] for k in at.tolist()])


def smaller_sets(sets: NodeSets, state: int) -> Ints:
    """Bits of the sets of nodes of states that are part of the set of a state."""
    inside = np.unique(sets.inside, axis=0)
    nodes_inside = sets.inside[state]
    part = (inside <= nodes_inside).all(axis=1) & (inside != nodes_inside).any(axis=1)
    return np.asarray(inside[part] @ (1 << np.arange(nodes_inside.size, dtype=np.int64)), np.int64)


def list_alternatives(values: OperatorValues, prices: OperatorPrices, room: Floats) -> Alternatives | None:
    """All ways to run an operator that cost at most what `room` allows in their state; None where they are too many.

    Parameters
    ----------
    room
        Shape (states,): the highest cost of each state, as of `OperatorValues.by_state`; -inf for none.
    """
    ways: list[tuple[int, Replicas]] = []
    for state in np.flatnonzero(np.isfinite(room)).tolist():
        look("the alternatives of an operator")
        listed = (_splits if values.keyed else _counts)(values, prices, state, float(room[state]))
        if listed is None or len(ways) + len(listed) > MAX_LISTED:
            return None
        ways += [(state, replicas) for replicas in listed]
    return _without_doubles(_described(values, prices, ways), ways)


def _splits(values: OperatorValues, prices: OperatorPrices, state: int, most: float) -> list[Replicas] | None:
    """Splits in a state."""
    sets, model = values.model.sets, values.model
    k = int(sets.ranged[state])
    tilt = float(prices.tilt[k]) if k >= 0 else 0.0
    prices = prices.tilted(sets.part, tilt)
    current_state = model.arrays.tasks[values.index].held_before[-1]
    most += max(tilt * sets.low[state], tilt * sets.high[state]) - (float(current_state @ prices.leaving) if model.moves else 0.0)
    most += 1e-9 * abs(most)
    numbers, on = model.numbers[values.index], np.ascontiguousarray(values.inside[state])
    listed: list[Replicas] = []
    for layer in model.layers[values.index]:
        split, q = layer.split, values.place_prices(prices, layer)
        bounds = (split.exact, split.exact) if split.exact else (int(numbers[0]), int(numbers[-1]))
        splits, togo = ListedSplits.empty(MAX_LISTED, bounds[1]), np.zeros((split.seconds.size, split.share.size))
        costs_to_go(split, prices.replica, q, on, prices.latency, layer.work, togo)
        smaller = smaller_sets(sets, state)
        count = list_splits(split, prices.replica, q, on, prices.latency, togo, most, bounds, smaller, MAX_LISTING_STEPS, splits)
        spend(LISTED_WORK * (MAX_LISTED if count < 0 else count) + STEP_WORK * togo.size)
        if count < 0:
            return None
        for n, hosts, ends in zip(splits.number[:count].tolist(), splits.host[:count], splits.end[:count], strict=True):
            places = [0, *layer.places[ends[:n]].tolist()]
            listed.append([(u, a, b) for u, (a, b) in zip(hosts[:n].tolist(), pairwise(places), strict=True)])
    return [replicas for replicas in listed if _in_range(values, replicas, state)]


def _in_range(values: OperatorValues, replicas: Replicas, state: int) -> bool:
    """Whether the share of the first part of the nodes is in the range of a state."""
    sets, before = values.model.sets, values.model.arrays.tasks[values.index].work_before
    if sets.ranged[state] < 0:
        return True
    share = sum(before[b] - before[a] for u, a, b in replicas if sets.part[u]) / before[-1]
    return bool(sets.low[state] - SHARE_RANGE_SLACK <= share <= sets.high[state] + SHARE_RANGE_SLACK)


def _counts(values: OperatorValues, prices: OperatorPrices, state: int, most: float) -> list[Replicas] | None:
    """Numbers of replicas on nodes in a state, of an operator without tasks."""
    sets, tables, speedup = values.model.sets, values.plain, values.model.arrays.compiled.speedup
    k = int(sets.ranged[state])
    tilt = float(prices.tilt[k]) if k >= 0 else 0.0
    prices, smaller = prices.tilted(sets.part, tilt), smaller_sets(sets, state).tolist()
    most += max(tilt * sets.low[state], tilt * sets.high[state]) + 1e-9 * abs(most)
    nodes, table = np.flatnonzero(values.inside[state]).tolist(), tables.prices(prices)
    listed: list[Replicas] = []
    for n, replicas in enumerate(tables.numbers.tolist()):
        least_later = np.full((len(nodes) + 1, replicas + 1), np.inf)  # from each node on, by replicas left
        least_later[-1, 0] = 0.0
        for position in range(len(nodes) - 1, -1, -1):
            for remaining in range(replicas + 1):
                least_later[position, remaining] = min(
                    table[n, nodes[position], c] + least_later[position + 1, remaining - c] for c in range(remaining + 1)
                )
        latency = prices.latency * tables.seconds[n]
        waiting: list[tuple[float, int, Replicas]] = [(latency / speedup[nodes].max(initial=1e-12), replicas, [])]
        for position, u in enumerate(nodes):
            following = []
            for spent, remaining, counts in waiting:
                for c in range(remaining + 1):
                    cost = spent + float(table[n, u, c])
                    if cost + least_later[position + 1, remaining - c] <= most:
                        following.append((cost, remaining - c, counts + [(u, 0, 0)] * c))
            waiting = following
            if len(waiting) > MAX_LISTED:
                return None
        listed += [counts for _, _, counts in waiting if not _contained(counts, smaller) and _plain_in_range(sets, counts, state)]
    return listed


def _contained(replicas: Replicas, smaller: list[int]) -> bool:
    used = sum({1 << u for u, _, _ in replicas})
    return any(used & ~bits == 0 for bits in smaller)


def _plain_in_range(sets: NodeSets, replicas: Replicas, state: int) -> bool:
    share = sum(bool(sets.part[u]) for u, _, _ in replicas) / len(replicas)
    return sets.ranged[state] < 0 or bool(sets.low[state] - SHARE_RANGE_SLACK <= share <= sets.high[state] + SHARE_RANGE_SLACK)


def _described(values: OperatorValues, prices: OperatorPrices, ways: list[tuple[int, Replicas]]) -> Alternatives:
    """Counts, shares, bytes, latency and cost of some ways."""
    shape = (len(ways), len(values.model.room))
    counts, share, leaving, arriving, moved = np.zeros(shape, np.int64), *(np.zeros(shape) for _ in range(4))
    seconds = np.zeros(len(ways))
    describe = _described_split if values.keyed else _described_counts
    cached: dict[tuple[int, int, int, int], float] = {}
    for k, (_, replicas) in enumerate(ways):
        describe(values, replicas, cached, (counts[k], share[k], leaving[k], arriving[k], moved[k]), seconds[k : k + 1])
    cost = counts @ prices.replica + share @ prices.share + leaving @ prices.leaving + arriving @ prices.arriving
    cost = cost + prices.moved * moved.sum(axis=1) + prices.latency * seconds
    state = np.array([state for state, _ in ways], np.int64)
    return Alternatives(cost, state, counts, share, leaving, arriving, moved, seconds, [replicas for _, replicas in ways])


Row = tuple[Bools | Ints | Floats, ...]
Known = dict[tuple[int, int, int, int], float]


def _described_split(values: OperatorValues, replicas: Replicas, known: Known, row: Row, seconds: Floats) -> None:
    counts, share, leaving, arriving, moved = row
    arrays, index = values.model.arrays, values.index
    tasks, model, mean = arrays.tasks[index], arrays.operator(index).latency, arrays.problem.operator_latency == "mean"
    leaving += tasks.held_before[-1]
    for u, a, b in replicas:
        part = (tasks.work_before[b] - tasks.work_before[a]) / tasks.work_before[-1]
        counts[u] += 1
        share[u] += part
        leaving[u] -= tasks.held_before[b, u] - tasks.held_before[a, u]
        arriving[u] += tasks.missing_before[b, u] - tasks.missing_before[a, u]
        if model is None:
            continue
        key = (u, a, b, len(replicas))
        if key not in known:
            known[key] = float(model.at(arrays.compiled.load[index] * part, len(replicas)) / arrays.compiled.speedup[u])
        seconds[0] = seconds[0] + part * known[key] if mean else max(seconds[0], known[key])
    moved += arriving


def _described_counts(values: OperatorValues, replicas: Replicas, _: Known, row: Row, seconds: Floats) -> None:
    counts, share, *bytes_of_nodes = row
    tables, speedup = values.plain, values.model.arrays.compiled.speedup
    for u, _first, _end in replicas:
        counts[u] += 1
    n, at = int(np.flatnonzero(tables.numbers == len(replicas))[0]), np.arange(speedup.size)
    share += counts / len(replicas)
    for target, table in zip(bytes_of_nodes, (tables.leaving, tables.arriving, tables.moved), strict=True):
        target += table[n, at, counts]
    mean = bool(tables.mean.size)
    seconds[0] = share @ tables.mean[n] if mean else tables.seconds[n] / speedup[counts > 0].min()


def _without_doubles(ways: Alternatives, listed: list[tuple[int, Replicas]]) -> Alternatives:
    """Keep the way with the least latency of those that differ only in where a node's tasks are split among its replicas."""
    best: dict[tuple[object, ...], int] = {}
    for k, (_, replicas) in enumerate(listed):
        node_runs: list[tuple[int, int]] = []
        for u, _first, end in replicas:
            if node_runs and node_runs[-1][0] == u:
                node_runs.pop()
            node_runs.append((u, end))
        key = (tuple(node_runs), tuple(ways.counts[k].tolist()))
        if key not in best or ways.seconds[k] < ways.seconds[best[key]]:
            best[key] = k
    return ways.chosen(np.array(sorted(best.values()), np.int64))
