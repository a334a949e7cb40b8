"""Alternatives of an operator: all ways to run it whose price is so low that the optimum may have them."""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cached_property
from itertools import pairwise

import numpy as np

from edrp import _native
from edrp.core.arrays import Bools, Floats, Ints
from edrp.core.budget import look, spend
from edrp.core.tolerances import SHARE_RANGE_SLACK
from edrp.formulations.migration.rescale.decomposition.model import NodeSets
from edrp.formulations.migration.rescale.decomposition.operators import OperatorPrices, OperatorValues

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
        host, end = np.zeros((2, MAX_LISTED, bounds[1]), np.int64)
        number, common = np.zeros(MAX_LISTED, np.int64), (split, prices.replica, q, on, prices.latency)
        togo = _native.costs_to_go(*common)
        limits = most, *bounds, smaller_sets(sets, state), MAX_LISTING_STEPS
        count = _native.list_splits(*common, togo, *limits, host, end, number)
        spend(LISTED_WORK * (MAX_LISTED if count < 0 else count) + STEP_WORK * togo.size)
        if count < 0:
            return None
        for n, hosts, ends in zip(number[:count].tolist(), host[:count], end[:count], strict=True):
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
