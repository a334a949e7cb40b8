"""Least costs through the graph of states under prices: the bound, and what each choice costs at least.

With a flow f of α + ν from sources to sinks (ν ≥ 0 the price of the limit on response time), μ ≥ 0 the price of the limit on
cost and π ≥ 0 prices of what is shared, every placement has

    objective ≥ Σ_i [f_i latency_i + (w_c + μ) cost_i + π usage_i + δ_i downtime_i] + Σ_e f_e delay_e
                + (w_d − Σ_i δ_i) downtime_min − ν R_max − μ C_max − π capacity

since a maximum over paths, and over operators, is at least an average. The sum is a path through the graph of states.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from edrp import _native
from edrp.core.arrays import Floats, Ints, flattened
from edrp.core.budget import spend
from edrp.formulations.placement.equal_nodes.codes import MASKS, USED
from edrp.formulations.placement.equal_nodes.model import Quotient
from edrp.formulations.placement.equal_nodes.state_graph import EXACT, LEVELS, SLOTS, UP_TO, StateGraph
from edrp.placement.node_classes import MAX_CLASSES

TRANSITION_WORK = 4e-9
"""Units of work for a transition that is looked at once."""


@dataclass(frozen=True)
class BoundPrices:
    """A point at which the bound is computed.

    Attributes
    ----------
    flow : shape (streams,).
    through : shape (operators,), flow through each operator.
    total : flow from all sources.
    money : objective per money/h.
    shared : objective per unit of what is shared.
    moves : shape (operators,), objective per second of each operator's downtime; together at most that of the longest one.
    """

    flow: Floats
    through: Floats
    total: float
    money: float
    shared: Floats
    moves: Floats

    def constant(self, quotient: Quotient) -> float:
        """The amount that the priced limits and capacities take off the sum."""
        model = quotient.model
        excess, extra = self.total - model.response, self.money - model.cost
        limits = (excess * quotient.max_response if excess else 0.0) + (extra * quotient.max_cost if extra else 0.0)
        return self.waiting(quotient) - limits - float(self.shared @ quotient.shared_capacity)

    def waiting(self, quotient: Quotient) -> float:
        """The part of the constant that is downtime."""
        least = quotient.least_downtime
        return (quotient.model.downtime - float(self.moves.sum())) * least if least else 0.0


@dataclass(frozen=True)
class PricedGraph:
    """Costs of all transitions under prices, and the least cost from every state to the end.

    Attributes
    ----------
    unary : shape (operators, slots).
    patterns : cost of every pattern of delays.
    value : from every state.
    best : transition from every state on the way to the end.
    constant : to be added.
    """

    prices: BoundPrices
    row_cost: Floats
    unary: Floats
    patterns: Floats
    value: Floats
    best: Ints
    constant: float

    @property
    def bound(self) -> float:
        """Lower bound on the objective of every placement of the graph."""
        return float(self.value[0]) + self.constant


class GraphRelaxations:
    """Computes relaxations of one graph."""

    def __init__(self, quotient: Quotient, graph: StateGraph) -> None:
        self.quotient, self.graph = quotient, graph
        choices = quotient.choices
        k = np.minimum(choices.classes >> 1, MAX_CLASSES - 1)
        slot = np.where(choices.single == 1, EXACT + k * LEVELS + graph.level, choices.classes)
        self.slot = choices.operator * SLOTS + slot
        self.order = np.argsort(self.slot, kind="stable")
        self.groups, self.starts = np.unique(self.slot[self.order], return_index=True)
        last = graph.codes[-1] >> USED
        self.end = np.where((last == graph.full) | (graph.full == 0), 0.0, np.inf)

    def relax(self, prices: BoundPrices) -> PricedGraph:
        """Compute the bound under prices."""
        graph, choices = self.graph, self.quotient.choices
        row_cost = prices.through[choices.operator] * choices.latency + prices.moves[choices.operator] * choices.downtime
        row_cost += prices.money * choices.cost + choices.usage @ prices.shared
        unary: Floats = np.full((self.quotient.operators, SLOTS), np.inf)
        unary.reshape(-1)[self.groups] = np.minimum.reduceat(row_cost[self.order], self.starts)
        exact = unary[:, EXACT:UP_TO].reshape(-1, MAX_CLASSES, LEVELS)
        unary[:, UP_TO:] = flattened(np.minimum.accumulate(exact, axis=2))
        patterns = np.zeros(graph.patterns.size)
        priced = np.tensordot(np.concatenate([[prices.money], prices.shared]), self.quotient.stream_use, axes=1)
        for j, step in enumerate(graph.steps):
            own = slice(graph.arcs.first_pattern[j], graph.arcs.first_pattern[j + 1])
            sets = graph.patterns[own, None] >> (3 * np.arange(step.streams.size + 1)) & 7
            patterns[own] = self.quotient.delay[sets[:, 1:], sets[:, :1]] @ prices.flow[step.streams]
            if self.quotient.traffic is not None:
                patterns[own] += priced[step.streams[None], sets[:, 1:], sets[:, :1]].sum(axis=1)
        spend(TRANSITION_WORK * self.graph.arcs.source.size)
        value, best = _native.costs_to_end(self.graph.arcs, unary, patterns, self.end)
        return PricedGraph(prices, row_cost, unary, patterns, value, best, prices.constant(self.quotient))

    def marginals(self, relaxation: PricedGraph) -> Floats:
        """Least cost of any placement of the graph that takes each row of the choices, as far as the bound knows."""
        spend(TRANSITION_WORK * self.graph.arcs.source.size)
        least_through = _native.costs_through(self.graph.arcs, relaxation.unary, relaxation.patterns, relaxation.value)
        least_other = np.full(least_through.shape, np.inf)
        np.subtract(least_through, relaxation.unary, out=least_other, where=np.isfinite(least_through))
        # A choice for a node that nobody will join any more is also one with less room than there is.
        room = np.minimum.accumulate(least_other[:, UP_TO:].reshape(-1, MAX_CLASSES, LEVELS)[:, :, ::-1], axis=2)
        least_other[:, EXACT:UP_TO] = np.minimum(least_other[:, EXACT:UP_TO], flattened(room[:, :, ::-1]))
        return relaxation.row_cost + least_other.ravel()[self.slot] + relaxation.constant

    def optimum(self, relaxation: PricedGraph) -> tuple[Ints, Floats, Floats]:
        """The relaxed optimum: a row of the choices per operator, the delay of each stream, and the use of all streams."""
        graph, state = self.graph, 0
        rows, delays = [], np.zeros(self.quotient.model.source.size)
        use = np.zeros(1 + self.quotient.shared_capacity.size)
        for j, step in enumerate(graph.steps):
            transition = graph.arcs.first_transition[j] + relaxation.best[graph.arcs.first_state[j] + state]
            slot = int(graph.arcs.slot[transition])
            if slot >= UP_TO:
                k, room = divmod(slot - UP_TO, LEVELS)
                fitting = (self.slot >= j * SLOTS + EXACT + k * LEVELS) & (self.slot <= j * SLOTS + EXACT + k * LEVELS + room)
            else:
                fitting = self.slot == j * SLOTS + slot
            candidates = np.flatnonzero(fitting)
            rows.append(int(candidates[np.argmin(relaxation.row_cost[candidates])]))
            code = int(graph.patterns[graph.arcs.first_pattern[j] + graph.arcs.pattern[transition]])
            for number, stream in enumerate(step.streams):
                sets = (code >> (3 * (number + 1)) & (MASKS - 1), code & (MASKS - 1))
                delays[stream] = self.quotient.delay[sets]
                if self.quotient.traffic is not None:
                    use += self.quotient.stream_use[:, stream, *sets]
            state = int(graph.arcs.target[transition])
        return np.array(rows), delays, use
