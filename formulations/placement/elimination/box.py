"""A box: a sub-problem of the search, given by the nodes and downtimes that are left."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from edrp.core.arrays import Bools, Floats, Ints
from edrp.core.budget import spend
from edrp.formulations.placement.elimination.model import EliminationModel

RELAXATION_UNITS = 1e-3
"""Units of work for the costs of a box, however small it is."""


@dataclass(frozen=True, slots=True)
class BoxPrices:
    """Multipliers of the relaxation.

    `flow` (streams,) is a unit source–sink flow; `capacity` (nodes, resources), `response` and `cost` price
    the limits (the latter two per unit of the limit itself).
    """

    flow: Floats
    capacity: Floats
    response: float = 0.0
    cost: float = 0.0


@dataclass
class Box:
    """The part of the problem that is left in one branch.

    `alive` (operators, nodes): nodes that an operator may still use. `anchor` (operators, nodes, seats): seats of
    which it must take one with its representative. `latency` (operators, 1 + most replicas): reference seconds, infinite for
    numbers of replicas outside the box. Downtime lies in [`least`, `most`]. `bound` is proven for all deployments in the box.
    """

    alive: Bools
    anchor: Bools
    latency: Floats
    least: float
    most: float
    bound: float
    prices: BoxPrices

    def empty(self) -> bool:
        """Whether some operator has no node left."""
        return not bool(self.anchor.any(axis=(1, 2)).all())

    def drop(self, hopeless: Bools) -> None:
        """Take seats away, shape (operators, nodes, seats); a node that loses its last anchor is not used at all."""
        before = self.anchor.any(axis=2)
        self.anchor &= ~hopeless
        self.alive &= ~(before & ~self.anchor.any(axis=2))

    @property
    def most_replicas(self) -> Ints:
        """Largest number of replicas of each operator."""
        return np.asarray(self.latency.shape[1] - 1 - np.isfinite(self.latency[:, ::-1]).argmax(axis=1))

    @property
    def anchors(self) -> Bools:
        """Nodes with a seat left, shape (operators, nodes)."""
        return np.asarray(self.anchor.any(axis=2))

    def copy(self) -> Box:
        """A box to shrink without touching this one."""
        return replace(self, alive=self.alive.copy(), anchor=self.anchor.copy())


def unit_costs(model: EliminationModel, prices: BoxPrices) -> tuple[float, float]:
    """Objective per second of response time and per money/h, with the prices of their limits."""
    response_limit, cost_limit = model.limits[0], model.limits[1]
    alpha = model.response + (prices.response / response_limit if np.isfinite(response_limit) else 0.0)
    return alpha, model.cost + (prices.cost / cost_limit if np.isfinite(cost_limit) else 0.0)


class BoxRelaxation:
    """Seat-level costs of a box under given prices: what the dynamic programs add up.

    Attributes
    ----------
    unary : shape (operators, nodes, seats); infinite where no anchor.
    split_replicas : shape (operators, nodes); the number of replicas that is cheapest when split.
    alpha : objective per second of response time.
    money : objective per money/h.
    constant : to be added to every bound.
    rent : shape (nodes, operators); price of the resources of one replica.
    """

    def __init__(self, model: EliminationModel, box: Box, prices: BoxPrices, operator_flow: Floats) -> None:
        spend(RELAXATION_UNITS)
        self.model, self.box, self.prices = model, box, prices
        self.alpha, self.money = unit_costs(model, prices)
        priced_capacity = np.where(prices.capacity > 0, model.capacity, 0.0)
        self.constant = (
            model.downtime * box.least - float((prices.capacity * priced_capacity).sum()) - prices.response - prices.cost
        )
        self.rent = prices.capacity @ model.demand.T
        self.unary, self.split_replicas = self._unary(operator_flow)

    def _unary(self, operator_flow: Floats) -> tuple[Floats, Ints]:
        model, box, prices = self.model, self.box, self.model.replica_prices
        most = model.latency.shape[1] - 1
        unary = np.full((*box.alive.shape, most + 1), np.inf)
        replicas = np.full(box.alive.shape, 2, np.int64)
        for r in range(1, most + 1):
            # An unstable degree has infinite latency; with no flow it must stay infinite, not become NaN.
            possible = np.isfinite(box.latency[:, r])
            latency = np.where(possible, box.latency[:, r], 0.0)
            total = (self.alpha * operator_flow * latency)[:, None] / model.speedup[None]
            stable = model.stable[:, :, r] & possible[:, None]
            total = np.where(stable, total + (self.money * model.replica_cost * r)[:, None], np.inf)
            own = self.rent.T + (0.0 if prices is None else prices[:, r])  # of one replica by itself
            unary[:, :, r - 1] = total + r * own
            if r > 1:
                cheapest, other = self._cheapest(own)
                spread = total + own + other + (r - 2) * cheapest
                replicas = np.where(spread < unary[:, :, most], r, replicas)
                unary[:, :, most] = np.minimum(unary[:, :, most], spread)
        if model.rules.own:
            unary += model.seat_prices
        return np.where(box.anchor, unary, np.inf), replicas

    def _cheapest(self, charge: Floats) -> tuple[Floats, Floats]:
        """The least charge of any node that is left, and of any other one, shapes (operators, 1) and (operators, nodes)."""
        operators = np.arange(len(charge))
        left = np.where(self.box.alive, charge, np.inf)
        first = left.argmin(axis=1)
        least = np.where(self.box.alive.any(axis=1), left[operators, first], 0.0)
        left[operators, first] = np.inf
        second = left.min(axis=1)
        other = np.broadcast_to(least[:, None], charge.shape).copy()
        other[operators, first] = np.where(np.isfinite(second), second, least)  # with one node left nothing can be split
        return least[:, None], other

    def elsewhere(self, i: int, node: int, replicas: int) -> Ints:
        """Nodes of the other replicas of operator i where it is split, shape (replicas − 1,)."""
        prices = self.model.replica_prices
        charge = np.where(self.box.alive[i], self.rent[:, i] + (0.0 if prices is None else prices[i, replicas]), np.inf)
        first = int(charge.argmin())
        nodes = np.full(replicas - 1, first, np.int64)
        if first == node and self.box.alive[i].sum() > 1:
            charge[first] = np.inf
            nodes[0] = int(charge.argmin())
        return nodes

    def replicas(self, i: int, node: int, seat: int) -> int:
        """Number of replicas behind a seat's cost."""
        return int(self.split_replicas[i, node]) if seat == self.unary.shape[2] - 1 else seat + 1

    def surcharge(self) -> Floats:
        """Extra downtime term that a node brings beyond the box's least, shape (operators, nodes, 1)."""
        return (self.model.downtime * np.maximum(self.model.downtime_least - self.box.least, 0.0))[:, :, None]
