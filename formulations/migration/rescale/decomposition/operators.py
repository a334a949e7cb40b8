"""The cheapest way to run one operator under prices, in every state: a split of its tasks, or numbers of replicas."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from edrp import _native
from edrp.core.arrays import Bools, Floats, Ints
from edrp.core.budget import look, spend
from edrp.formulations.migration.rescale.decomposition.model import BoundModel, KeyedLayer, least_seconds

PLACE_WORK, PRICED_UNITS = 5e-9, 5e-4
"""Units of work for a node, a place or a number of replicas, and a state; and for pricing an operator, however small it is."""


@dataclass(frozen=True, slots=True)
class OperatorPrices:
    """The prices that an operator pays.

    Attributes
    ----------
    replica, share, leaving, arriving : shape (nodes,), per replica, for the whole load, per byte that leaves and that arrives.
    moved, latency : per byte that moves anywhere, per second of latency.
    tilt : shape (ranges,), per share of the first part of the nodes, in states with a range of it.
    """

    replica: Floats
    share: Floats
    leaving: Floats
    arriving: Floats
    moved: float
    latency: float
    tilt: Floats

    def tilted(self, part: Bools, tilt: float) -> OperatorPrices:
        """The prices where the share of a part of the nodes costs more."""
        return self if tilt == 0 else replace(self, share=self.share + tilt * part)


@dataclass(frozen=True, slots=True)
class OperatorChoice:
    """A way to run an operator.

    Attributes
    ----------
    counts, share, leaving, arriving, moved : shape (nodes,)
        Replicas, share of the load, bytes that leave, that arrive, and that move there.
    seconds : floor of its latency.
    replicas : node, first task and end of each.
    """

    counts: Ints
    share: Floats
    leaving: Floats
    arriving: Floats
    moved: Floats
    seconds: float
    replicas: list[tuple[int, int, int]]


class OperatorValues:
    """Least costs of one operator by state."""

    def __init__(self, model: BoundModel, index: int) -> None:
        self.model, self.index = model, index
        sets = model.sets
        single = not model.numbers[index].size or model.numbers[index][-1] < 2
        self.inside = sets.inside & model.nodes[index] & ~(sets.several & single)[:, None]
        self.keyed = bool(model.arrays.tasks[index].count)
        states = len(self.inside)
        self.layer, self.levels = np.zeros(states, np.int64), np.zeros((len(model.layers[index]), states), np.int64)
        if not self.keyed:
            self.plain = PlainTables(model, index)

    def by_state(self, prices: OperatorPrices) -> Floats:
        """The least cost in every state, infinite where there is none."""
        sets, values = self.model.sets, np.empty(len(self.inside))
        tilt = np.where(sets.ranged >= 0, np.append(prices.tilt, 0.0)[sets.ranged], 0.0)
        for amount in np.unique(tilt):
            states = np.flatnonzero(tilt == amount)
            values[states] = self._least(prices.tilted(sets.part, float(amount)), states)
        return np.asarray(values - np.maximum(tilt * sets.low, tilt * sets.high))

    def best_tilts(self, prices: OperatorPrices, amounts: Floats) -> Floats:
        """The tilt among `amounts` under which each range of shares has the highest value, shape (ranges,)."""
        sets = self.model.sets
        states = np.flatnonzero(sets.ranged >= 0)
        values = np.empty((amounts.size, states.size))
        for k, amount in enumerate(amounts.tolist()):
            free = self._least(prices.tilted(sets.part, amount), states)
            values[k] = np.where(np.isfinite(free), free, 0.0) - np.maximum(amount * sets.low[states], amount * sets.high[states])
        tilts = np.zeros(sets.ranges)
        tilts[sets.ranged[states]] = amounts[values.argmax(axis=0)]
        return tilts

    def choice(self, prices: OperatorPrices, state: int) -> OperatorChoice:
        """The choice with the least cost in a state, after `by_state` with the same prices."""
        k = int(self.model.sets.ranged[state])
        prices = prices.tilted(self.model.sets.part, float(prices.tilt[k])) if k >= 0 else prices
        return self._split_choice(prices, state) if self.keyed else self._plain_choice(prices, state)

    def _least(self, prices: OperatorPrices, states: Ints) -> Floats:
        """The least cost in some states, of which those with the same nodes are looked at once."""
        look("a bound")
        spend(PRICED_UNITS)
        _, first, back = np.unique(self.inside[states], axis=0, return_index=True, return_inverse=True)
        values, layer, levels = (self._split if self.keyed else self._plain)(prices, self.inside[states[first]])
        self.layer[states] = layer[back.ravel()]
        self.levels[:, states] = levels[:, back.ravel()]
        return np.asarray(values[back.ravel()])

    def _split(self, prices: OperatorPrices, inside: Bools) -> tuple[Floats, Ints, Ints]:
        """Least costs with the layers and levels that have them."""
        layers, inside = self.model.layers[self.index], np.ascontiguousarray(inside)
        values, levels = np.empty((len(layers), len(inside))), np.empty((len(layers), len(inside)), np.int64)
        for k, layer in enumerate(layers):
            q = self.place_prices(prices, layer)
            spend(PLACE_WORK * q.size * len(inside))
            _native.split_values(layer.split, prices.replica, q, inside, prices.latency, values[k], levels[k])
        constant = float(self.model.arrays.tasks[self.index].held_before[-1] @ prices.leaving) if self.model.moves else 0.0
        return values.min(axis=0) + constant, values.argmin(axis=0), levels

    def place_prices(self, prices: OperatorPrices, layer: KeyedLayer) -> Floats:
        """Cost of all tasks before each place, were they on a node; shape (nodes, places)."""
        tasks = self.model.arrays.tasks[self.index]
        q = layer.split.share[:, None] * prices.share
        if self.model.moves:
            q = q + tasks.missing_before[layer.places] * (prices.arriving + prices.moved)
            q -= tasks.held_before[layer.places] * prices.leaving
        return np.ascontiguousarray(q.T)

    def _split_choice(self, prices: OperatorPrices, state: int) -> OperatorChoice:
        k = int(self.layer[state])
        layer, level = self.model.layers[self.index][k], int(self.levels[k, state])
        split, tasks = layer.split, self.model.arrays.tasks[self.index]
        ranges = np.zeros((layer.places.size, 3), np.int64)
        q = self.place_prices(prices, layer)
        number = _native.trace_split(split, prices.replica, q, self.inside[state], level, prices.latency, ranges)
        nodes = len(self.model.room)
        counts, share = np.zeros(nodes, np.int64), np.zeros(nodes)
        leaving, arriving = tasks.held_before[-1].copy(), np.zeros(nodes)
        seconds = float(split.seconds[level])
        replicas = []
        for u, a, b in ranges[:number][::-1].tolist():
            first, end = int(layer.places[a]), int(layer.places[b])
            counts[u] += 1
            share[u] += split.share[b] - split.share[a]
            leaving[u] -= tasks.held_before[end, u] - tasks.held_before[first, u]
            arriving[u] += tasks.missing_before[end, u] - tasks.missing_before[first, u]
            if split.range_seconds.size:
                seconds += float(split.range_seconds[a, b] / split.speedup[u])
            replicas.append((u, first, end))
        return OperatorChoice(counts, share, leaving, arriving, arriving, seconds, replicas)

    def _plain(self, prices: OperatorPrices, inside: Bools) -> tuple[Floats, Ints, Ints]:
        """Least costs with the places of the numbers and of the speeds that have them."""
        tables, speedup, states = self.plain, self.model.arrays.compiled.speedup, len(inside)
        latency, inside = prices.latency * tables.seconds, np.ascontiguousarray(inside)
        spend(PLACE_WORK * tables.numbers.size * tables.speeds.size * inside.size)
        table = tables.prices(prices)
        values, number, speed = _native.plain_values(table, tables.numbers, tables.speeds, speedup, latency, inside)
        return values, number * tables.speeds.size + speed, np.zeros((0, states), np.int64)

    def _plain_choice(self, prices: OperatorPrices, state: int) -> OperatorChoice:
        tables, speedup = self.plain, self.model.arrays.compiled.speedup
        n, p = divmod(int(self.layer[state]), tables.speeds.size)
        speed = float(tables.speeds[p])
        on = self.inside[state] & (speedup >= speed)
        counts: Ints = _native.trace_plain(tables.prices(prices)[n], int(tables.numbers[n]), on)
        at = np.arange(speedup.size)
        share = counts / tables.numbers[n]
        seconds = float(tables.seconds[n] / speed)
        if tables.mean.size:
            seconds = float(share @ tables.mean[n])
        replicas = [(int(u), 0, 0) for u in at for _ in range(int(counts[u]))]
        parts = [table[n, at, counts] for table in (tables.leaving, tables.arriving, tables.moved)]
        return OperatorChoice(counts, share, parts[0], parts[1], parts[2], seconds, replicas)


class PlainTables:
    """Tables of an operator without tasks over numbers of replicas n, nodes u and replicas c on a node.

    What leaves and arrives by way of the store is that of EDRP (eqs. 31–32) where it counts for every way to run the operator:
    what a node brings that alone runs it, or fetches that alone ran it, counts nothing.
    """

    def __init__(self, model: BoundModel, index: int) -> None:
        arrays, compiled = model.arrays, model.arrays.compiled
        operator, load = arrays.operator(index), float(compiled.load[index])
        self.numbers = model.numbers[index]
        max_replicas, nodes = int(self.numbers.max(initial=0)), len(model.room)
        floors = [least_seconds(operator.latency, load / n * (1 - 1e-12), int(n)) for n in self.numbers]
        seconds = np.array(floors, float)
        mean = arrays.problem.operator_latency == "mean"
        self.seconds = np.zeros(seconds.size) if mean else seconds
        self.mean = seconds[:, None] / compiled.speedup if mean else np.zeros((0, 0))
        self.speeds = np.zeros(1) + model.speeds[0] if mean else model.speeds
        c = np.arange(max_replicas + 1)[None, None, :]
        n = np.maximum(self.numbers, 1)[:, None, None]
        self.share = np.broadcast_to(c / n, (n.size, nodes, max_replicas + 1))
        self.leaving = self.arriving = self.moved = np.zeros((n.size, nodes, max_replicas + 1))
        if compiled.current is not None and compiled.state_size[index] > 0:
            before = compiled.current[index][None, :, None]
            old, state = int(before.sum()), float(compiled.state_size[index])
            self.moved = state * np.maximum(c / n - before / old, 0.0)
            if model.direct:
                self.leaving, self.arriving = state * np.maximum(before / old - c / n, 0.0), self.moved
            else:
                self.leaving = state * (np.maximum(before - c, 0) / old + before * np.maximum(n - old, 0) / (old * n))
                self.leaving = np.where(c == n, 0.0, self.leaving)
                self.arriving = state * (
                    np.maximum(c - before, 0) / n + np.minimum(before, c) * np.maximum(old - n, 0) / (old * n)
                )
                self.arriving = np.where(before == old, 0.0, self.arriving)
        self.count = np.broadcast_to(c, self.share.shape)
        slow = [
            [not arrays.problem.is_stable(operator, load / n, n, speed) for speed in compiled.speedup.tolist()]
            for n in self.numbers.tolist()
        ]
        self.overloaded = np.array(slow, bool).reshape(self.share.shape[:2])[:, :, None] & (c > 0)

    def prices(self, prices: OperatorPrices) -> Floats:
        """The price of each number of replicas on each node, infinite where overloaded, shape (numbers, nodes, 1 + most)."""
        table = self.count * prices.replica[:, None] + self.share * prices.share[:, None]
        table = (
            table + self.leaving * prices.leaving[:, None] + self.arriving * prices.arriving[:, None] + self.moved * prices.moved
        )
        if self.mean.size:
            table = table + prices.latency * self.share * self.mean[:, :, None]
        return np.ascontiguousarray(np.where(self.overloaded, np.inf, table))
