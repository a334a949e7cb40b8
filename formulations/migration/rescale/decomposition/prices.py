"""Prices of the relaxation: one vector with named blocks, and what they have to keep to so that the bound is valid.

Flows along the paths of the application add up to at most the weight of the response time and the price of its limit;
transfers and peak loads likewise for downtime and peak load. Any prices within these budgets give a valid bound.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from edrp.core.arrays import Bools, Floats
from edrp.formulations.migration.rescale.decomposition.model import COST, DOWNTIME, METRICS, PEAK, RESPONSE, BoundModel


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
