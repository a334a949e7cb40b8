"""The relaxation under given prices: its value, which no deployment is below, and by how much each limit is exceeded."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np

from edrp.core.arrays import Bools, Floats, Ints
from edrp.core.budget import look
from edrp.formulations.migration.rescale.decomposition.join import least_states
from edrp.formulations.migration.rescale.decomposition.model import COST, DOWNTIME, MOVED, PEAK, RESPONSE, BoundModel
from edrp.formulations.migration.rescale.decomposition.node_sets import NodeSets
from edrp.formulations.migration.rescale.decomposition.operators import OperatorChoice, OperatorPrices, OperatorValues
from edrp.formulations.migration.rescale.decomposition.prices import PriceBlocks, tilt_scale


def least_prices(sets: NodeSets, table: Floats) -> Floats:
    """The least of Σ p·table·q over shares p and q that two states allow, shape (states, states).

    >>> from edrp.formulations.migration.rescale.decomposition.node_sets import node_sets
    >>> least_prices(node_sets(np.zeros((1, 1)), np.zeros((1, 1))), np.array([[2.0]])).tolist()
    [[2.0]]
    """
    least_price = np.full((sets.low.size, sets.low.size), np.inf)
    blocks = {
        (i, j): _least(table, sets.inside & first, sets.inside & second)
        for (i, first), (j, second) in product(enumerate((sets.part, ~sets.part)), repeat=2)
    }
    for x, y in product((sets.low, sets.high), repeat=2):
        value = np.zeros_like(least_price)
        for (i, j), block in blocks.items():
            weight = np.outer(1 - x if i else x, 1 - y if j else y)
            value += np.where(weight > 0, weight * np.where(np.isfinite(block), block, 0.0), 0.0)
        least_price = np.minimum(least_price, value)
    return least_price


def cheapest_flow(sets: NodeSets, table: Floats, s: int, t: int) -> Floats:
    """Shares of the stream between nodes, shape (nodes, nodes), that have the least price of two states."""
    best, flow = np.inf, np.zeros_like(table)
    for x, y in product((sets.low[s], sets.high[s]), (sets.low[t], sets.high[t])):
        candidate, value = np.zeros_like(table), 0.0
        for (i, first), (j, second) in product(enumerate((sets.part, ~sets.part)), repeat=2):
            weight = (1 - x if i else x) * (1 - y if j else y)
            rows, columns = np.flatnonzero(sets.inside[s] & first), np.flatnonzero(sets.inside[t] & second)
            if weight <= 0 or not rows.size or not columns.size:
                continue
            part = table[np.ix_(rows, columns)]
            u, v = np.unravel_index(int(part.argmin()), part.shape)
            candidate[rows[u], columns[v]] += weight
            value += weight * float(part[u, v])
        if value < best:
            best, flow = value, candidate
    return flow


def _least(table: Floats, rows: Bools, columns: Bools) -> Floats:
    """The least entry between a set of rows and a set of columns, for every pair of them; infinite where one is empty."""
    over = np.where(rows[:, :, None], table[None], np.inf).min(axis=1)
    return np.asarray(np.where(columns[None], over[:, None, :], np.inf).min(axis=2))


@dataclass(frozen=True, slots=True)
class Relaxed:
    """The cheapest choice under prices.

    Attributes
    ----------
    value : a lower bound on the objective of everything that changes something; infinite where nothing is feasible.
    slope : by price, shape (prices,).
    choices : by operator.
    """

    value: float
    slope: Floats
    choices: list[OperatorChoice]


@dataclass(frozen=True, slots=True)
class PricedProblem:
    """The problem that is left under prices: costs of operators in their states, and of pairs of them.

    Attributes
    ----------
    constant : what prices take off for the limits they stand for.
    paid : by operator.
    own : shape (operators, states), infinite where an operator cannot be.
    flow : shape (streams,), price of the delay of each.
    traffic : shape (streams, nodes, nodes), price of traffic less what the shares of both ends pay.
    pairs : by two operators, the first one smaller, a table over their states.
    """

    constant: float
    paid: list[OperatorPrices]
    own: Floats
    flow: Floats
    traffic: Floats
    pairs: dict[tuple[int, int], Floats]


class PriceRelaxation:
    """The relaxation of a bound model, which evaluates prices."""

    def __init__(self, model: BoundModel) -> None:
        self.model = model
        compiled = model.arrays.compiled
        self.source, self.target = compiled.stream_source, compiled.stream_target
        self.operators = [OperatorValues(model, i) for i in range(len(model.numbers))]

    def evaluate(self, blocks: PriceBlocks, prices: Floats) -> Relaxed:
        """The cheapest choice of every operator."""
        look("a bound")
        priced = self.priced(blocks, prices)
        total, states = least_states(priced.own, priced.pairs)
        if not np.isfinite(total):
            return Relaxed(np.inf, np.zeros(prices.size), [])
        choices = [values.choice(price, int(s)) for values, price, s in zip(self.operators, priced.paid, states, strict=True)]
        slope = self._slope(blocks, prices, choices, states, priced.traffic)
        return Relaxed(total + priced.constant, slope, choices)

    def priced(self, blocks: PriceBlocks, prices: Floats) -> PricedProblem:
        """The problem under prices."""
        model, size = self.model, len(self.operators)
        on_stream, through = prices[blocks.flow], prices[blocks.entry].copy()
        np.add.at(through, self.target, on_stream)
        paid = [self._operator_prices(blocks, prices, i, float(through[i])) for i in range(size)]
        own_costs = np.array([values.by_state(price) for values, price in zip(self.operators, paid, strict=True)])
        traffic = self._traffic(blocks, prices)
        pairs: dict[tuple[int, int], Floats] = {}
        for e, (i, j) in enumerate(zip(self.source.tolist(), self.target.tolist(), strict=True)):
            table = on_stream[e] * model.sets.delay + least_prices(model.sets, traffic[e])
            key, table = ((i, j), table) if i < j else ((j, i), table.T)
            pairs[key] = pairs[key] + table if key in pairs else table
        return PricedProblem(self._constant(blocks, prices), paid, own_costs, on_stream, traffic, pairs)

    def best_tilts(self, blocks: PriceBlocks, prices: Floats, amounts: Floats) -> Floats:
        """The best tilt of every range among `amounts`, in units of the operator's traffic; shape (operators, ranges)."""
        model = self.model
        through = prices[blocks.entry].copy()
        np.add.at(through, self.target, prices[blocks.flow])
        scale = tilt_scale(model, model.weights[COST] * model.price.max(axis=(1, 2), initial=0.0))
        tilts = []
        for i, values in enumerate(self.operators):
            look("a bound")
            operator_price = self._operator_prices(blocks, prices, i, float(through[i]))
            tilts.append(values.best_tilts(operator_price, amounts * scale[i]))
        return np.array(tilts)

    def _operator_prices(self, blocks: PriceBlocks, prices: Floats, i: int, latency: float) -> OperatorPrices:
        model, compiled = self.model, self.model.arrays.compiled
        nodes = len(model.room)
        metric = model.weights + prices[blocks.metric]
        replica = np.full(nodes, metric[COST] * compiled.replica_cost[i])
        replica += prices[blocks.slot].reshape(model.room.shape) @ compiled.demand[i]
        more, fewer = prices[blocks.number].reshape(-1, 2)[i]
        if model.shared.size:
            peak = prices[blocks.peak].reshape(model.shared.shape) / model.shared
            replica = replica + peak @ model.replica_use[i]
            share = peak @ model.tuple_use[i]
        else:
            share = np.zeros(nodes)
        shape = (len(model.price), nodes)
        share = share + prices[blocks.sender].reshape(shape)[self.source == i].sum(axis=0)
        share = share + prices[blocks.receiver].reshape(shape)[self.target == i].sum(axis=0)
        leaving, arriving = self._transfer_prices(blocks, prices, i)
        return OperatorPrices(
            replica=replica + more - fewer,
            share=share,
            leaving=leaving * model.up,
            arriving=arriving * model.down,
            moved=float(metric[MOVED]),
            latency=latency,
            tilt=prices[blocks.tilt].reshape(len(self.operators), self.model.sets.ranges)[i],
        )

    def _transfer_prices(self, blocks: PriceBlocks, prices: Floats, i: int) -> tuple[Floats, Floats]:
        """Per second of what leaves and reaches each node, of one operator."""
        nodes = len(self.model.room)
        if not self.model.moves:
            return np.zeros(nodes), np.zeros(nodes)
        if self.model.direct:
            return prices[blocks.leaving], prices[blocks.arriving]
        pairs = prices[blocks.leaving].reshape(len(self.operators), nodes, nodes)[i]
        return pairs.sum(axis=1), pairs.sum(axis=0)

    def _traffic(self, blocks: PriceBlocks, prices: Floats) -> Floats:
        """Price of a stream between two nodes less what the shares of both pay, shape (streams, nodes, nodes)."""
        shape = (len(self.model.price), len(self.model.room))
        sender, receiver = prices[blocks.sender].reshape(shape), prices[blocks.receiver].reshape(shape)
        money = self.model.weights[COST] + prices[blocks.metric][COST]
        return np.asarray(money * self.model.price - sender[:, :, None] - receiver[:, None, :])

    def _constant(self, blocks: PriceBlocks, prices: Floats) -> float:
        """The constant that prices take off for the limits they stand for."""
        model, metric = self.model, prices[blocks.metric]
        limited = np.isfinite(model.limits)
        room, slot = model.room.ravel(), prices[blocks.slot]
        finite = np.isfinite(room)
        total = -float(metric[limited] @ model.limits[limited]) - float(slot[finite] @ room[finite])
        for i, (more, fewer) in enumerate(prices[blocks.number].reshape(-1, 2)):
            total += float(fewer) * float(model.numbers[i][0]) - float(more) * float(model.numbers[i][-1])
        return total + float(model.weights[DOWNTIME] + metric[DOWNTIME]) * model.changed_floor

    def _tilt_slope(self, blocks: PriceBlocks, prices: Floats, shares: Floats, states: Ints) -> Floats:
        """Distance of the share of the first part of the nodes from the range of the state, shape (operators, ranges)."""
        sets = self.model.sets
        tilt = prices[blocks.tilt].reshape(len(self.operators), self.model.sets.ranges)
        slope = np.zeros_like(tilt)
        for i, state in enumerate(states):
            k = int(sets.ranged[state])
            if k >= 0:
                end = sets.high[state] if tilt[i, k] > 0 else sets.low[state]
                inside = min(max(float(shares[i, sets.part].sum()), sets.low[state]), sets.high[state])
                slope[i, k] = float(shares[i, sets.part].sum()) - (inside if tilt[i, k] == 0 else end)
        return slope

    def _slope(self, blocks: PriceBlocks, prices: Floats, choices: list[OperatorChoice], states: Ints, traffic: Floats) -> Floats:
        """Excess of the cheapest choice over the amount that each price stands for."""
        model, compiled = self.model, self.model.arrays.compiled
        slope = np.zeros(prices.size)
        counts = np.array([choice.counts for choice in choices], float)
        shares = np.array([choice.share for choice in choices])
        room = np.where(np.isfinite(model.room), model.room, 0.0)
        slope[blocks.slot] = (counts.T @ compiled.demand - room).ravel()
        replicas = counts.sum(axis=1)
        slope[blocks.number] = np.array(
            [(n - numbers[-1], numbers[0] - n) for n, numbers in zip(replicas, model.numbers, strict=True)]
        ).ravel()
        if model.shared.size:
            slope[blocks.peak] = ((counts.T @ model.replica_use + shares.T @ model.tuple_use) / model.shared).ravel()
        money = float(replicas @ compiled.replica_cost)
        sender, receiver = np.zeros((len(traffic), len(room))), np.zeros((len(traffic), len(room)))
        for e, (i, j) in enumerate(zip(self.source, self.target, strict=True)):
            flow = cheapest_flow(model.sets, traffic[e], int(states[i]), int(states[j]))
            sender[e], receiver[e] = shares[i] - flow.sum(axis=1), shares[j] - flow.sum(axis=0)
            money += float((model.price[e] * flow).sum())
        slope[blocks.sender], slope[blocks.receiver] = sender.ravel(), receiver.ravel()
        slope[blocks.tilt] = self._tilt_slope(blocks, prices, shares, states).ravel()
        seconds = np.array([choice.seconds for choice in choices])
        slope[blocks.flow] = model.sets.delay[states[self.source], states[self.target]] + seconds[self.target]
        slope[blocks.entry] = seconds
        moved = 0.0
        if model.moves:
            leaving = np.array([choice.leaving for choice in choices]) * model.up
            arriving = np.array([choice.arriving for choice in choices]) * model.down
            moved = float(sum(choice.moved.sum() for choice in choices))
            if model.direct:
                slope[blocks.leaving], slope[blocks.arriving] = leaving.sum(axis=0), arriving.sum(axis=0)
            else:
                pairs = leaving[:, :, None] + arriving[:, None, :]
                slope[blocks.leaving] = (pairs * (1 - np.eye(len(room)))).ravel()
        used = np.zeros(5)
        used[COST], used[MOVED], used[DOWNTIME] = money, moved, model.changed_floor
        limited = np.isfinite(model.limits)
        metric = np.where(limited, used - np.where(limited, model.limits, 0.0), 0.0)
        for metric_index in (RESPONSE, PEAK):
            metric[metric_index] = -model.limits[metric_index] if limited[metric_index] else 0.0
        slope[blocks.metric] = metric
        return slope
