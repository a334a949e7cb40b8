"""Raise the bound of a box by projected subgradient steps on all prices, eliminating nodes on the way."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from edrp.core.arrays import Bools, Floats, Ints
from edrp.core.tolerances import LIMIT_SLACK
from edrp.formulations.placement.elimination.box import Box, BoxPrices, BoxRelaxation
from edrp.formulations.placement.elimination.frontier import (
    MemoryPlan,
    Tables,
    backward,
    memory_plan,
    min_marginals,
    relaxed_optimum,
)
from edrp.formulations.placement.elimination.model import EliminationModel
from edrp.formulations.placement.elimination.paths import (
    covering_paths,
    excess_usage,
    flow_paths,
    longest_path,
    operator_flow,
    path_flow,
    relaxed_usage,
)
from edrp.formulations.placement.elimination.seats import SeatGroups, stream_delays

STEP_PATIENCE = 6
"""Steps without progress before the step is halved."""
MOMENTUM = 0.6
"""Share of the direction before in the next one."""


def raise_bound(
    model: EliminationModel, box: Box, incumbent: float, iterations: int, budget: int, out_of_time: Callable[[], bool]
) -> None:
    """Improve `box.bound` and `box.prices`, shrink `box`; stops early when the box is done or stuck.

    Flow and prices each take a Polyak step towards the incumbent along a direction averaged with the one
    before (the two live on different scales, so each gets half of the reach).
    """
    ascent = _Ascent(model, box.prices)
    plan = memory_plan(model, box, budget)
    stuck, best = 0, -np.inf
    for iteration in range(iterations):
        relaxation = BoxRelaxation(model, box, ascent.prices, operator_flow(model, ascent.prices.flow))
        current_plan, tables = plan, backward(model, plan, relaxation, out_of_time)
        room = incumbent - best
        improved = tables.bound > best + (1e-4 * max(0.0, room) if np.isfinite(room) else 0.0)
        if tables.bound > best:
            best, box.prices = tables.bound, ascent.prices
        box.bound = max(box.bound, best)
        if box.bound > incumbent:
            return
        if improved or iteration == iterations - 1:
            before = box.anchor.sum()
            box.drop(min_marginals(plan, tables, relaxation, out_of_time) + relaxation.surcharge() > incumbent)  # NaN keeps
            if box.empty():
                return
            if box.anchor.sum() < before:
                plan = memory_plan(model, box, budget)
        stuck = 0 if improved else stuck + 1
        if stuck >= STEP_PATIENCE:
            ascent.retreat(box.prices)
            stuck = 0
            if ascent.length < 0.05:
                return
        ascent.step(current_plan, tables, relaxation, incumbent - tables.bound)


class _Ascent:
    """Current prices of the ascent, and the direction of its next step."""

    def __init__(self, model: EliminationModel, prices: BoxPrices) -> None:
        self.model, self.prices, self.length = model, prices, 1.0
        self.paths = [path_flow(model, path) for path in covering_paths(model)]
        self.shares = self._flow_shares(prices.flow)
        self.flow_direction = np.zeros(len(self.paths))
        self.price_direction = np.zeros(model.capacity.size + 2)

    def _flow_shares(self, flow: Floats) -> Floats:
        """The flow as a mixture of paths; the paths that it uses are added to those known."""
        path_flows = flow_paths(self.model, flow)
        amounts = list(path_flows.values())
        paths = [path_flow(self.model, list(path)) for path in path_flows]
        for known_flow in self.paths:
            if not any(np.array_equal(known_flow, path) for path in paths):
                paths.append(known_flow)
                amounts.append(0.0)
        self.paths = paths
        total = sum(amounts)
        return np.array(amounts) / total if total > 0 else np.full(len(paths), 1.0 / max(1, len(paths)))

    def retreat(self, best: BoxPrices) -> None:
        """Go back to the best prices with half the step."""
        self.prices, self.length = best, 0.5 * self.length
        self.shares = self._flow_shares(best.flow)
        self.flow_direction = np.zeros(len(self.paths))
        self.price_direction[:] = 0.0

    def step(self, plan: MemoryPlan, tables: Tables, relaxation: BoxRelaxation, reach: float) -> None:
        """One step from the relaxed optimum of `tables`."""
        model, prices = self.model, self.prices
        chosen, seats = relaxed_optimum(model, plan, tables, relaxation)
        operators = np.arange(model.operators)
        replicas = np.array([relaxation.replicas(i, int(chosen[i]), int(seats[i])) for i in range(model.operators)])
        delay = _relaxed_delays(model, relaxation.box, chosen, seats == model.latency.shape[1] - 1)
        latency = model.latency[operators, replicas] / model.speedup[chosen]
        self._add_path(longest_path(model, delay, latency)[0])
        times = np.array([path @ delay + operator_flow(model, path) @ latency for path in self.paths])
        self._move_flow(relaxation.alpha * times, reach)
        excess = excess_usage(model, relaxed_usage(relaxation, chosen, seats))
        mean_time = float(prices.flow @ delay + operator_flow(model, prices.flow) @ latency)
        spent = float((model.replica_cost * replicas).sum())
        gradient = np.concatenate(
            [excess.ravel(), [_relative_excess(mean_time, model.limits[0]), _relative_excess(spent, model.limits[1])]]
        )
        point = self._move_prices(gradient, reach)
        self.prices = BoxPrices(
            flow=np.asarray(self.shares @ np.array(self.paths)) if len(self.paths) else prices.flow,
            capacity=point[:-2].reshape(model.capacity.shape),
            response=float(point[-2]),
            cost=float(point[-1]),
        )

    def _add_path(self, path: list[int]) -> None:
        flow = path_flow(self.model, path)
        if not any(np.array_equal(flow, known) for known in self.paths):
            self.paths.append(flow)
            self.shares = np.append(self.shares, 0.0)
            self.flow_direction = np.append(self.flow_direction, 0.0)

    def _move_flow(self, times: Floats, reach: float) -> None:
        gradient = times - times.mean()
        self.flow_direction = gradient + MOMENTUM * self.flow_direction
        norm = float(self.flow_direction @ gradient)
        if norm > 0:
            length = min(0.5 * self.length * reach / norm, 1.0 / np.abs(self.flow_direction).max())
            self.shares = _onto_simplex(self.shares + length * self.flow_direction)

    def _move_prices(self, gradient: Floats, reach: float) -> Floats:
        prices = self.prices
        point = np.concatenate([prices.capacity.ravel(), [prices.response, prices.cost]])
        gradient = np.where((gradient > 0) | (point > 0), gradient, 0.0)
        self.price_direction = gradient + MOMENTUM * np.where((gradient != 0) | (point > 0), self.price_direction, 0.0)
        norm = float(self.price_direction @ gradient)
        if norm > 0:
            point = np.maximum(0.0, point + 0.5 * self.length * reach / norm * self.price_direction)
        return point


def _relaxed_delays(model: EliminationModel, box: Box, nodes: Ints, split: Bools) -> Floats:
    """Delay of each stream in a relaxed solution."""
    zero = np.zeros(1, np.int64)
    seats = [SeatGroups(nodes[i : i + 1], zero, split[i : i + 1], zero) for i in range(model.operators)]
    delays = [stream_delays(model, box, e, seats[model.source[e]], seats[model.target[e]]) for e in range(model.source.size)]
    return np.array([delay[0, 0] for delay in delays])


def _onto_simplex(point: Floats) -> Floats:
    """Nearest point with non-negative entries that sum to 1."""
    ordered = np.sort(point)[::-1]
    excess = (np.cumsum(ordered) - 1.0) / np.arange(1, point.size + 1)
    level = excess[np.flatnonzero(ordered > excess)[-1]]
    return np.maximum(point - level, 0.0)


def _relative_excess(value: float, limit: float) -> float:
    excess = value / limit - 1.0 if np.isfinite(limit) else -1.0
    return 0.0 if abs(excess) <= LIMIT_SLACK else excess
