"""Path-wise elimination: the flow follows one path at a time, so that the bound is a chain of small products."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from edrp.core.arrays import Floats, Ints, flattened
from edrp.core.budget import look, refuse_beyond_memory
from edrp.core.tolerances import LIMIT_SLACK, MIN_PATH_FLOW
from edrp.formulations.placement.elimination.box import Box, BoxPrices, BoxRelaxation
from edrp.formulations.placement.elimination.model import EliminationModel
from edrp.formulations.placement.elimination.seats import SeatGroups, grouped_unary, seat_candidates, stream_delays


def covering_paths(model: EliminationModel) -> list[list[int]]:
    """Source–sink paths, as streams, that together use every operator; those with most new operators first."""
    if not model.source.size:
        return [[] for _ in range(model.operators)]
    paths = []
    fresh = np.ones(model.operators)
    while fresh.any():
        path, end = longest_path(model, np.zeros(model.source.size), fresh + 1e-3)
        fresh[[end, *model.source[path]]] = 0
        paths.append(path)
    return paths


def longest_path(model: EliminationModel, delay: Floats, latency: Floats) -> tuple[list[int], int]:
    """The source–sink path with the largest sum over its streams and operators, as streams, and the operator at its end."""
    finish = np.zeros(model.operators)
    via = np.full(model.operators, -1)
    for i in range(model.operators):
        for e in model.incoming[i]:
            arrival = finish[model.source[e]] + delay[e]
            if via[i] < 0 or arrival > finish[i]:
                finish[i], via[i] = arrival, e
        finish[i] += latency[i]
    ends = [i for i in range(model.operators) if not len(model.outgoing[i])]
    end = max(ends, key=lambda end: finish[end])
    return traced(model, via, end), end


def path_flow(model: EliminationModel, path: list[int]) -> Floats:
    """Unit flow along one path."""
    flow = np.zeros(model.source.size)
    flow[path] = 1.0
    return flow


def even_flow(model: EliminationModel) -> Floats:
    """Unit flow in equal shares along the covering paths."""
    return np.asarray(np.mean([path_flow(model, path) for path in covering_paths(model)], axis=0))


def flow_paths(model: EliminationModel, flow: Floats) -> dict[tuple[int, ...], float]:
    """Take a flow apart into paths, the widest first, with what each carries."""
    paths: dict[tuple[int, ...], float] = {}
    remaining = flow.copy()
    while remaining.max(initial=0.0) > MIN_PATH_FLOW:
        path = _widest_path(model, remaining)
        amount = float(remaining[path].min()) if path else 0.0
        if amount <= MIN_PATH_FLOW:
            break
        paths[tuple(path)] = paths.get(tuple(path), 0.0) + amount
        remaining[path] -= amount
    return paths


def _widest_path(model: EliminationModel, flow: Floats) -> list[int]:
    """Source–sink path whose narrowest stream carries most flow."""
    width = np.zeros(model.operators)
    via = np.full(model.operators, -1)
    for i in range(model.operators):
        if not len(model.incoming[i]):
            width[i] = np.inf
        for e in model.incoming[i]:
            through = min(width[model.source[e]], flow[e])
            if via[i] < 0 or through > width[i]:
                width[i], via[i] = through, e
    ends = [i for i in range(model.operators) if not len(model.outgoing[i]) and len(model.incoming[i])]
    return traced(model, via, max(ends, key=lambda end: width[end])) if ends else []


def traced(model: EliminationModel, via: Ints, end: int) -> list[int]:
    """The streams back from an operator along `via`, in the order of the flow."""
    path: list[int] = []
    while via[end] >= 0:
        path.insert(0, int(via[end]))
        end = int(model.source[via[end]])
    return path


def operator_flow(model: EliminationModel, flow: Floats) -> Floats:
    """Flow through each operator: what enters it, or leaves it if it is a source."""
    entering = np.bincount(model.target, flow, minlength=model.operators)
    leaving = np.bincount(model.source, flow, minlength=model.operators)
    return np.maximum(entering, leaving)


def eliminate_by_paths(model: EliminationModel, box: Box, incumbent: float, rounds: int = 2, steps: int = 3) -> Floats:
    """Remove nodes from the box whose best completion costs more than the incumbent.

    Costs rounds × paths × steps × (operators on the path) × nodes² operations. Returns the capacity prices of
    the strongest bound; `box.bound` is raised to it.
    """
    best_prices = box.prices.capacity
    for _ in range(rounds):
        before = box.anchor.sum()
        for path in covering_paths(model):
            prices = best_prices.copy()
            flow = path_flow(model, path)
            for _step in range(steps):
                bound, usage = _chain(model, box, path, flow, prices, incumbent)
                if box.empty():
                    return best_prices
                if bound > box.bound:
                    box.bound, best_prices = bound, prices.copy()
                excess = excess_usage(model, usage)
                direction = np.where((excess > 0) | (prices > 0), excess, 0.0)
                norm = float((direction**2).sum())
                if norm == 0 or bound >= incumbent:
                    break
                prices = np.maximum(0.0, prices + direction * (incumbent - bound) / norm)
        if box.anchor.sum() == before:
            break
    return best_prices


def _chain(
    model: EliminationModel, box: Box, path: list[int], flow: Floats, capacity_prices: Floats, incumbent: float
) -> tuple[float, Floats]:
    """Min-marginals along one path; eliminates, and returns the bound and the relaxed solution's resource use."""
    prices = BoxPrices(flow, capacity_prices, box.prices.response, box.prices.cost)
    single = operator_flow(model, flow)
    on_path = [int(model.source[e]) for e in path[:1]] + [int(model.target[e]) for e in path]
    relaxation = BoxRelaxation(model, box, prices, single)
    unary = relaxation.unary
    least_unary = unary.min(axis=(1, 2))
    off = least_unary.sum() - least_unary[on_path].sum() + relaxation.constant
    seats = np.arange(unary.shape[2])
    candidates = [seat_candidates(box, i, seats) for i in on_path]
    own_costs = [grouped_unary(unary[i], c, seats) for i, c in zip(on_path, candidates, strict=True)]
    cells = sum(len(tail.node) * len(head.node) for tail, head in pairwise(candidates))
    refuse_beyond_memory(2 * 8 * cells, f"{cells:,} pairs of seats along a path", "", ("annealing",))
    hops = []
    for k, e in enumerate(path):
        look("a proof")
        hops.append(stream_costs(model, relaxation, e, 1.0, *candidates[k : k + 2]))
    forward, backward = _both_ways(own_costs, hops)
    bound = off + (float(forward[-1].min()) if on_path else 0.0)
    marginal = bound + unary - least_unary[:, None, None]
    for position, i in enumerate(on_path):
        marginal[i] = np.inf
        marginal[i, candidates[position].node, candidates[position].group] = forward[position] + backward[position] + off
    usage = _usage(relaxation, on_path, candidates, forward, hops)
    # Written so that a NaN keeps the seat.
    box.drop(marginal + relaxation.surcharge() > incumbent)
    return bound, usage


def _both_ways(own_costs: list[Floats], hops: list[Floats]) -> tuple[list[Floats], list[Floats]]:
    """Minimum cost up to and including each position of a chain, and minimum cost behind it."""
    forward, backward = own_costs[:1], [np.zeros(len(own_costs[-1]))] if own_costs else []
    for position, hop in enumerate(hops, start=1):
        forward.append((forward[-1][:, None] + hop).min(axis=0) + own_costs[position])
    for position in range(len(hops), 0, -1):
        backward.insert(0, (hops[position - 1] + (backward[0] + own_costs[position])[None]).min(axis=1))
    return forward, backward


def stream_costs(
    model: EliminationModel, relaxation: BoxRelaxation, stream: int, flow: float, tail: SeatGroups, head: SeatGroups
) -> Floats:
    """Relaxed cost of a stream between candidates of its ends, shape (tail, head)."""
    cost = np.zeros((tail.node.size, head.node.size))
    if relaxation.alpha * flow > 0:
        cost = relaxation.alpha * flow * stream_delays(model, relaxation.box, stream, tail, head)
    pair = model.pair_price(stream, relaxation.money)
    return cost if pair is None else cost + pair[np.ix_(tail.node, head.node)] * model.pair_discount(stream)


def _usage(
    relaxation: BoxRelaxation, on_path: list[int], candidates: list[SeatGroups], forward: list[Floats], hops: list[Floats]
) -> Floats:
    """Resources that the relaxed optimum takes, shape (nodes, resources)."""
    flat = flattened(relaxation.unary).argmin(axis=1)
    nodes, seats = np.divmod(flat, relaxation.unary.shape[2])
    onward = 0
    for position in range(len(on_path) - 1, -1, -1):
        cost = forward[position] if position == len(on_path) - 1 else forward[position] + hops[position][:, onward]
        onward = int(np.argmin(cost))
        nodes[on_path[position]], seats[on_path[position]] = candidates[position].node[onward], candidates[position].group[onward]
    return relaxed_usage(relaxation, nodes, seats)


def relaxed_usage(relaxation: BoxRelaxation, nodes: Ints, seats: Ints) -> Floats:
    """Resources by node when every operator takes its seat, and replicas elsewhere the cheapest nodes."""
    model = relaxation.model
    usage = np.zeros_like(model.capacity)
    split = seats == relaxation.unary.shape[2] - 1
    here = np.where(split, 1, seats + 1)
    np.add.at(usage, nodes, model.demand * here[:, None])
    for i in np.flatnonzero(split).tolist():
        others = relaxation.elsewhere(i, int(nodes[i]), int(relaxation.split_replicas[i, nodes[i]]))
        np.add.at(usage, others, model.demand[i])
    return usage


def excess_usage(model: EliminationModel, usage: Floats) -> Floats:
    """Usage beyond capacity, shape (nodes, resources); below 0 where there is room.

    A difference that rounding makes is none: a price raised until it pays for that would drown the bound in rounding errors.
    """
    excess = np.where(np.isfinite(model.capacity), usage - model.capacity, -1.0)
    return np.where(np.abs(excess) <= LIMIT_SLACK * usage, 0.0, excess)
