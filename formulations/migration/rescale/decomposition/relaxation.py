"""The relaxation under given prices: its value, which no deployment is below, and by how much each limit is exceeded.

Prices of the relaxation: one vector with named blocks, and what they have to keep to so that the bound is valid.

Flows along the paths of the application add up to at most the weight of the response time and the price of its limit;
transfers and peak loads likewise for downtime and peak load. Any prices within these budgets give a valid bound.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise, product

import numpy as np

from edrp.core.arrays import Bools, Floats, Ints
from edrp.core.budget import look
from edrp.formulations.migration.rescale.decomposition.model import (
    COST,
    DOWNTIME,
    METRICS,
    MOVED,
    PEAK,
    RESPONSE,
    BoundModel,
    NodeSets,
)
from edrp.formulations.migration.rescale.decomposition.operators import OperatorChoice, OperatorPrices, OperatorValues


@dataclass(frozen=True, slots=True)
class PriceBlocks:
    """Positions of the blocks in a vector of prices.

    Attributes
    ----------
    metric : (5,), objective per unit of each metric above its weight, for its limit.
    slot : (nodes × resources,), per unit of a resource.
    number : (operators × 2,), per replica below the most and above the fewest.
    leaving, arriving : (nodes,) per second; for the store (operators × nodes × nodes,) in `leaving` alone.
    peak : (nodes × shared,), per share of the capacity.
    sender, receiver : (streams × nodes,), per share of the load, of any sign.
    tilt : (operators × ranges,), per share of the first part of the nodes, of any sign, in states with a range of it.
    flow, entry : (streams,) and (operators,), per second of the paths.
    """

    metric: slice
    slot: slice
    number: slice
    leaving: slice
    arriving: slice
    peak: slice
    sender: slice
    receiver: slice
    tilt: slice
    flow: slice
    entry: slice

    @classmethod
    def of(cls, model: BoundModel) -> PriceBlocks:
        """Blocks one after the other."""
        nodes, resources = model.room.shape
        operators, streams = len(model.numbers), len(model.price)
        leaving = (nodes if model.direct else operators * nodes * nodes) if model.moves else 0
        arriving = nodes if model.direct and model.moves else 0
        traffic = streams * nodes
        sizes = [len(METRICS), nodes * resources, 2 * operators, leaving, arriving, model.shared.size, traffic, traffic]
        ends = np.cumsum([0, *sizes, operators * model.sets.ranges, streams, operators]).tolist()
        return cls(*(slice(a, b) for a, b in pairwise(ends)))

    @property
    def size(self) -> int:
        """Number of prices."""
        return int(self.entry.stop)

    @property
    def budgets(self) -> tuple[tuple[slice, int], ...]:
        """Blocks whose sum is at most the weight of a metric and the price of its limit."""
        transfers = slice(self.leaving.start, self.arriving.stop)
        return (transfers, DOWNTIME), (self.peak, PEAK), (self.entry, RESPONSE)

    @property
    def signed(self) -> slice:
        """Prices of any sign."""
        return slice(self.sender.start, self.tilt.stop)


def usable(model: BoundModel, blocks: PriceBlocks) -> Bools:
    """Prices that may differ from 0: not those of what has no limit, shape (prices,)."""
    use = np.ones(blocks.size, bool)
    use[blocks.metric] = np.isfinite(model.limits)
    use[blocks.slot] = np.isfinite(model.room).ravel()
    use[blocks.peak] = np.isfinite(model.shared).ravel()
    if model.moves and not model.direct:
        nodes = len(model.room)
        use[blocks.leaving] = np.tile(~np.eye(nodes, dtype=bool).ravel(), len(model.numbers))
    compiled = model.arrays.compiled
    use[blocks.flow] = compiled.forward
    use[blocks.entry] = ~np.isin(np.arange(len(model.numbers)), compiled.stream_target[compiled.forward])
    return use


def allowed(model: BoundModel, blocks: PriceBlocks, values: Floats) -> Floats:
    """Prices next to some values that keep to everything exactly."""
    prices = np.where(usable(model, blocks), values, 0.0)
    signed = prices[blocks.signed].copy()
    prices = np.maximum(prices, 0.0)
    prices[blocks.signed] = signed
    for part, metric_index in blocks.budgets:
        total, budget = float(prices[part].sum()), float(model.weights[metric_index] + prices[blocks.metric][metric_index])
        if total > budget:
            prices[part] *= budget / total
    compiled = model.arrays.compiled
    flow, entry = prices[blocks.flow], prices[blocks.entry]
    for i in range(entry.size):  # operators are in topological order
        into = float(flow[compiled.forward & (compiled.stream_target == i)].sum()) + entry[i]
        out = compiled.forward & (compiled.stream_source == i)
        total = float(flow[out].sum())
        if out.any():
            flow[out] = flow[out] * (into / total) if total > 0 else into / int(out.sum())
    return prices


def scales(model: BoundModel, blocks: PriceBlocks, objective: float) -> Floats:
    """Typical magnitude of each price."""
    compiled = model.arrays.compiled
    scale = np.zeros(blocks.size)
    replica = max(float(model.weights[COST] * compiled.replica_cost.mean()), 0.01 * objective)
    demand = np.maximum(compiled.demand.mean(axis=0), 1e-12)
    limited = np.isfinite(model.limits)
    scale[blocks.metric] = np.where(limited, objective / np.where(limited, model.limits, 1.0), 0.0)
    scale[blocks.slot] = np.tile(replica / demand, len(model.room))
    scale[blocks.number] = replica
    for part, metric_index in blocks.budgets:
        scale[part] = max(model.weights[metric_index], scale[blocks.metric][metric_index])
    scale[blocks.flow] = scale[blocks.entry].max(initial=0.0)
    traffic = np.maximum(model.weights[COST] * model.price.max(axis=(1, 2), initial=0.0), 1e-4 * objective)
    scale[blocks.sender] = scale[blocks.receiver] = np.repeat(traffic, len(model.room))
    scale[blocks.tilt] = np.repeat(tilt_scale(model, traffic), model.sets.ranges)
    return np.where(usable(model, blocks), scale, 0.0)


def tilt_scale(model: BoundModel, traffic: Floats) -> Floats:
    """The most that moving the whole load of each operator across costs in traffic, shape (operators,)."""
    compiled = model.arrays.compiled
    scale = np.zeros(len(model.numbers))
    np.add.at(scale, compiled.stream_source, traffic)
    np.add.at(scale, compiled.stream_target, traffic)
    return scale


def even_flow(model: BoundModel, blocks: PriceBlocks) -> Floats:
    """Prices to begin with: flows that split evenly, transfers that cost the same everywhere, and nothing else."""
    prices = np.zeros(blocks.size)
    use = usable(model, blocks)
    for part, metric_index in blocks.budgets:
        prices[part] = model.weights[metric_index] / max(int(use[part].sum()), 1)
    return allowed(model, blocks, prices)


MAX_PAIR_CELLS = 300_000
"""Cells of a table beyond which a pair of operators is taken apart: its table is replaced by its least row."""


@dataclass(frozen=True, slots=True)
class _Table:
    """Values over the states of some operators, ascending."""

    scope: tuple[int, ...]
    values: Floats


def least_states(state_costs: Floats, pairs: dict[tuple[int, int], Floats]) -> tuple[float, Ints]:
    """The least sum and a state of every operator that has it; pairs that would make tables too large count less.

    Parameters
    ----------
    state_costs
        Shape (operators, states), infinite where an operator cannot be.
    pairs
        Tables of shape (states, states) by two operators, the first one smaller.
    """
    size, states = state_costs.shape
    tables = [_Table((i,), state_costs[i]) for i in range(size)] + [_Table(pair, values) for pair, values in pairs.items()]
    order: list[tuple[int, _Table]] = []
    uneliminated = set(range(size))
    total = 0.0
    while uneliminated:
        i = min(uneliminated, key=lambda i: (len({j for t in tables if i in t.scope for j in t.scope}), -i))
        uneliminated.remove(i)
        mine, tables = [t for t in tables if i in t.scope], [t for t in tables if i not in t.scope]
        mine = _small_enough(mine, i, states)
        scope = tuple(sorted({j for t in mine for j in t.scope}))
        joint = sum((_spread(t, scope) for t in mine), np.zeros((1,) * len(scope)))
        joint = np.broadcast_to(joint, (states,) * len(scope))
        order.append((i, _Table(scope, joint)))
        rest = tuple(j for j in scope if j != i)
        least_costs = joint.min(axis=scope.index(i))
        if rest:
            tables.append(_Table(rest, least_costs))
        else:
            total += float(least_costs)
    chosen = np.zeros(size, np.int64)
    for i, table in reversed(order):
        at = tuple(slice(None) if j == i else chosen[j] for j in table.scope)
        chosen[i] = int(np.argmin(table.values[at]))
    return total, chosen


def _small_enough(tables: list[_Table], i: int, states: int) -> list[_Table]:
    """Tables without those operators that would make them too large together."""
    joined: list[_Table] = []
    scope = {i}
    for table in sorted(tables, key=lambda t: len(t.scope)):
        together = scope | set(table.scope)
        if states ** len(together) <= MAX_PAIR_CELLS or len(together) <= 2:
            joined, scope = [*joined, table], together
        else:
            axes = tuple(axis for axis, j in enumerate(table.scope) if j not in scope)
            joined.append(_Table(tuple(j for j in table.scope if j in scope), table.values.min(axis=axes)))
    return joined


def _spread(table: _Table, scope: tuple[int, ...]) -> Floats:
    shape = [table.values.shape[table.scope.index(j)] if j in table.scope else 1 for j in scope]
    return table.values.reshape(shape)


def least_prices(sets: NodeSets, table: Floats) -> Floats:
    """The least of Σ p·table·q over shares p and q that two states allow, shape (states, states).

    >>> from edrp.formulations.migration.rescale.decomposition.model import node_sets
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
        # Price of a stream between two nodes less what the shares of both pay, shape (streams, nodes, nodes).
        shape = (len(self.model.price), len(self.model.room))
        sender, receiver = prices[blocks.sender].reshape(shape), prices[blocks.receiver].reshape(shape)
        money = self.model.weights[COST] + prices[blocks.metric][COST]
        traffic = np.asarray(money * self.model.price - sender[:, :, None] - receiver[:, None, :])
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
