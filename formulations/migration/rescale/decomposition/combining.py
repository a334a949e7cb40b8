"""Enumeration of what a gap leaves open: all alternatives of each operator within it, and all their combinations.

Under prices that prove a bound, a deployment that is better than the best answer is one in which every operator costs hardly more
than the cheapest way to run it. Where these are few, they are listed, and what they cost together is computed exactly, as are all
feasible routes whose reduced cost is within the gap in vehicle routing [1]_.

References
----------
.. [1] R. Baldacci, N. Christofides, A. Mingozzi, "An exact algorithm for the vehicle routing problem based on the set
   partitioning formulation with additional cuts", Mathematical Programming 115, 2008.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from edrp import _native
from edrp.core.arrays import Floats, Ints, flattened
from edrp.core.budget import look, spend
from edrp.formulations.migration.rescale.decomposition.alternatives import (
    MAX_SET_NODES,
    Alternatives,
    Replicas,
    list_alternatives,
)
from edrp.formulations.migration.rescale.decomposition.model import BoundModel
from edrp.formulations.migration.rescale.decomposition.relaxation import PriceBlocks, PricedProblem, PriceRelaxation, least_states


class CombinationTables(NamedTuple):
    """Alternatives of all operators one after the other, each operator's by state and then cost, in the order of the search.

    Arrays of `combine_alternatives` (edrp/native/formulations/migration/combining.cpp).

    Attributes
    ----------
    first : shape (operators + 1,), where the alternatives of each operator begin.
    end : shape (alternatives,), where those of the same operator and state end.
    state, used : shape (alternatives,), state among those of the operator, and nodes as bits.
    cost, seconds, money, moved : shape (alternatives,), price, latency, cost of the replicas, bytes that move.
    alone : shape (alternatives,), transfer time that is the operator's own.
    share : shape (alternatives, nodes)
    load : shape (alternatives, loads), what it adds to each load: resources, then transfers, then peak loads.
    room : shape (loads,), of resources; what is left of it is not looked at.
    kinds : shape (3,), resources, resources and transfers, all loads.
    states : shape (operators,), states of each operator.
    togo, reached : tables over the states of the first operators, one after the other
        Least price of all later operators; and of the pairs of the last of these with those before it, together with that.
    begin : shape (operators + 1,), where the tables of each number of operators begin.
    earlier, later : shape (streams,), ends of each stream by place in the search.
    turned : shape (streams,), 1 where the target comes first in the search, else 0.
    flow : shape (streams,), price of its delay.
    on_path : shape (streams,), 1 where paths use it.
    traffic, price : shape (streams, nodes, nodes), price that is left, and money; rows are nodes of the earlier operator.
    delay : shape (2, nodes, nodes), from row to column, and back.
    order : operators in topological order, by place in the search; shape (operators,)
    weights, limits : shape (5,)
    floor : seconds that every change takes.
    """

    first: Ints
    end: Ints
    state: Ints
    used: Ints
    cost: Floats
    seconds: Floats
    money: Floats
    moved: Floats
    alone: Floats
    share: Floats
    load: Floats
    room: Floats
    kinds: Ints
    states: Ints
    togo: Floats
    reached: Floats
    begin: Ints
    earlier: Ints
    later: Ints
    turned: Ints
    flow: Floats
    on_path: Ints
    traffic: Floats
    price: Floats
    delay: Floats
    order: Ints
    weights: Floats
    limits: Floats
    floor: float


class CombinationWork(NamedTuple):
    """Memory of the search (`combine_alternatives`).

    Attributes
    ----------
    at : shape (operators + 1,), alternative that is looked at.
    value, cell : shape (operators + 1,), price so far, and place in the tables over states.
    total : shape (operators + 1, loads), loads so far.
    delay, money : shape (streams,)
    finish : shape (operators,)
    depth : shape (1,), operators that are chosen.
    found, objective : shape (combinations, operators) and (combinations,), what may be better.
    """

    at: Ints
    value: Floats
    cell: Ints
    total: Floats
    delay: Floats
    money: Floats
    finish: Floats
    depth: Ints
    found: Ints
    objective: Floats

    @classmethod
    def begin(cls, tables: CombinationTables, constant: float, combinations: int) -> CombinationWork:
        """The initial state of the search, with memory for a given number of combinations."""
        size, streams, loads = tables.states.size, tables.flow.size, tables.room.size
        return cls(
            at=np.zeros(size + 1, np.int64),
            value=np.full(size + 1, constant),
            cell=np.zeros(size + 1, np.int64),
            total=np.zeros((size + 1, loads)),
            delay=np.zeros(streams),
            money=np.zeros(streams),
            finish=np.zeros(size),
            depth=np.zeros(1, np.int64),
            found=np.zeros((combinations, size), np.int64),
            objective=np.zeros(combinations),
        )


STEP_WORK = 5e-8
"""Units of work for a step of the search."""

MAX_COMBINATION_CELLS = 2_000_000
"""Cells of the table over the states of all operators."""

STEPS_PER_CALL, MAX_COMBINATION_STEPS = 500_000, 100_000_000
"""Steps of the search for combinations between two looks at the clock, and of all of it."""

MAX_FOUND = 1_000
"""Combinations that are computed exactly at a time."""


def without_hopeless(priced: PricedProblem, listed: list[Alternatives], most: float) -> list[Alternatives] | None:
    """Leave out alternatives that cost more with the cheapest states of all others; None where tables would be too large."""
    while True:
        states, least_costs = _least_by_state(listed)
        if np.prod([float(s.size) for s in states]) > MAX_COMBINATION_CELLS:
            return None
        if not all(s.size for s in states):
            return listed
        order = list(range(len(listed)))
        total = _tables(priced, order, states, least_costs)[0][0] + priced.constant
        fewer = []
        for i, ways in enumerate(listed):
            others = tuple(j for j in order if j != i)
            position = np.searchsorted(states[i], ways.state)
            excess = ways.cost - least_costs[i][position] + total.min(axis=others)[position]
            fewer.append(ways.chosen(np.flatnonzero(excess <= most)))
        if [ways.size for ways in fewer] == [ways.size for ways in listed]:
            return fewer
        listed = fewer


def search_combinations(
    model: BoundModel, priced: PricedProblem, listed: list[Alternatives], most: float, improve: Callable[[list[Replicas]], float]
) -> float | None:
    """Look at all combinations that may be below `most`; None where they are too many.

    Parameters
    ----------
    model, priced, listed
        The problem, prices, and the alternatives of each operator, of which none that matters is missing.
    most
        Objective at which a combination is of no interest.
    improve
        Told of one that may be better; returns the objective at which combinations are of no interest from then on.

    Returns
    -------
    float
        Objective below which every combination has been told.
    """
    order = sorted(range(len(listed)), key=lambda i: listed[i].size)
    ways = [listed[i].chosen(np.lexsort((listed[i].cost, listed[i].state))) for i in order]
    tables = _combination_tables(model, priced, listed, ways, order)
    work = CombinationWork.begin(tables, priced.constant, MAX_FOUND)
    for _ in range(MAX_COMBINATION_STEPS // STEPS_PER_CALL):
        look("combinations of alternatives")
        spend(STEP_WORK * STEPS_PER_CALL)
        count, _left = _native.combine_alternatives(tables, most, STEPS_PER_CALL, work)
        for k in np.argsort(work.objective[:count], kind="stable").tolist():
            if work.objective[k] < most:
                at = work.found[k] - tables.first[:-1]
                chosen = {i: ways[position].replicas[int(at[position])] for position, i in enumerate(order)}
                most = min(most, improve([chosen[i] for i in range(len(order))]))
        if work.depth[0] < 0:
            return most
    return None


def _least_by_state(listed: list[Alternatives]) -> tuple[list[Ints], list[Floats]]:
    """States that have alternatives, and the least cost in each."""
    states = [np.unique(ways.state) for ways in listed]
    least_costs = [
        np.array([ways.cost[ways.state == state].min() for state in own_states])
        for ways, own_states in zip(listed, states, strict=True)
    ]
    return states, least_costs


def _tables(
    priced: PricedProblem, order: list[int], states: list[Ints], least_costs: list[Floats]
) -> tuple[list[Floats], list[Floats]]:
    """Tables over the states of the first operators: least price of all later ones, and that with the pairs of the last one.

    The first list has a table for all operators first: the least price of everything, by all states; then one for each number
    of operators, from none.
    """
    size = len(order)
    shape = tuple(states[i].size for i in order)
    togo, reached = np.zeros(shape), []
    total, later = np.zeros(shape), [togo]
    for k in range(size - 1, -1, -1):
        pair = np.zeros(shape[: k + 1])
        for j in range(k):
            a, b = sorted((order[j], order[k]))
            if (a, b) in priced.pairs:
                table = priced.pairs[a, b][np.ix_(states[a], states[b])]
                table = table if order[j] == a else table.T
                pair = pair + table.reshape([shape[axis] if axis in (j, k) else 1 for axis in range(k + 1)])
        own_cost = least_costs[order[k]].reshape((1,) * k + (shape[k],))
        spread = (*shape[: k + 1], *(1,) * (size - k - 1))
        total = total + (pair + own_cost).reshape(spread)
        reached.append(togo + pair)
        togo = (togo + pair + own_cost).min(axis=k)
        later.append(togo)
    return [total, *later[::-1]], reached[::-1]


def _combination_tables(
    model: BoundModel, priced: PricedProblem, listed: list[Alternatives], ways: list[Alternatives], order: list[int]
) -> CombinationTables:
    compiled = model.arrays.compiled
    states, least_costs = _least_by_state(listed)
    (_, *togo), reached = _tables(priced, order, states, least_costs)
    sizes = [alternatives.size for alternatives in ways]
    first = np.cumsum([0, *sizes])
    own_states = [np.searchsorted(states[i], alternatives.state) for i, alternatives in zip(order, ways, strict=True)]
    ends = [np.searchsorted(s, s, side="right") + begin for s, begin in zip(own_states, first[:-1], strict=True)]
    position = np.argsort(order)
    source, target = position[compiled.stream_source], position[compiled.stream_target]
    turned = source > target
    flip = turned[:, None, None]
    load, room, kinds = _loads(model, ways, order)
    operator = np.repeat(order, sizes)
    cells = [table.size for table in togo]
    return CombinationTables(
        first=first,
        end=np.concatenate(ends),
        state=np.concatenate(own_states),
        used=np.concatenate([w.used for w in ways]),
        cost=np.concatenate([w.cost for w in ways]),
        seconds=np.concatenate([w.seconds for w in ways]),
        money=np.concatenate([w.counts.sum(axis=1) for w in ways]) * compiled.replica_cost[operator],
        moved=np.concatenate([w.moved.sum(axis=1) for w in ways]) * model.moves,
        alone=np.zeros(int(first[-1])) if model.direct or not model.moves else _longest_by_store(model, ways),
        share=np.concatenate([w.share for w in ways]),
        load=load,
        room=room,
        kinds=kinds,
        states=np.array([states[i].size for i in order], np.int64),
        togo=np.concatenate([table.ravel() for table in togo]),
        reached=np.concatenate([np.zeros(1), *(table.ravel() for table in reached)]),
        begin=np.cumsum([0, *cells[:-1]]),
        earlier=np.minimum(source, target),
        later=np.maximum(source, target),
        turned=turned.astype(np.int64),
        flow=np.ascontiguousarray(priced.flow),
        on_path=compiled.forward.astype(np.int64),
        traffic=np.ascontiguousarray(np.where(flip, priced.traffic.transpose(0, 2, 1), priced.traffic)),
        price=np.ascontiguousarray(np.where(flip, model.price.transpose(0, 2, 1), model.price)),
        delay=np.ascontiguousarray([model.delay, model.delay.T]),
        order=position.astype(np.int64),
        weights=model.weights,
        limits=model.limits,
        floor=model.changed_floor if model.moves else 0.0,
    )


def _loads(model: BoundModel, ways: list[Alternatives], order: list[int]) -> tuple[Floats, Floats, Ints]:
    """Use of resources, transfers and peak loads of nodes by alternatives, the room of each, and where kinds end."""
    compiled, rows = model.arrays.compiled, []
    direct = model.direct and model.moves
    for i, alternatives in zip(order, ways, strict=True):
        counts = alternatives.counts
        parts = [flattened(counts[:, :, None] * compiled.demand[i])]
        if direct:
            parts += [alternatives.leaving * model.up, alternatives.arriving * model.down]
        if model.shared.size:
            use = counts[:, :, None] * model.replica_use[i] + alternatives.share[:, :, None] * model.tuple_use[i]
            parts.append(flattened(use / model.shared))
        rows.append(np.concatenate(parts, axis=1))
    load = np.concatenate(rows)
    slots = model.room.size
    transfers = 2 * len(model.room) if direct else 0
    room = np.full(load.shape[1], np.inf)
    room[:slots] = model.room.ravel()
    return np.ascontiguousarray(load), room, np.array([slots, slots + transfers, load.shape[1]], np.int64)


def _longest_by_store(model: BoundModel, ways: list[Alternatives]) -> Floats:
    """Seconds from the busiest node by way of the store to another."""
    apart = np.where(np.eye(len(model.room), dtype=bool), -np.inf, 0.0)
    longest = []
    for alternatives in ways:
        pairs = (alternatives.leaving * model.up)[:, :, None] + (alternatives.arriving * model.down)[:, None, :]
        longest.append(np.maximum((pairs + apart).max(axis=(1, 2)), 0.0))
    return np.concatenate(longest)


def complete(
    relaxation: PriceRelaxation, blocks: PriceBlocks, prices: Floats, most: float, improve: Callable[[list[Replicas]], float]
) -> float | None:
    """Look at all deployments that change something and may be below an objective; None where they are too many.

    Parameters
    ----------
    relaxation, blocks, prices
        Prices that prove a bound, the higher the fewer deployments are left.
    most
        Objective at which deployments are of no interest.
    improve
        Told of one that may be better; returns the objective at which deployments are of no interest from then on.

    Returns
    -------
    float
        Objective below which every deployment has been told.
    """
    if len(relaxation.model.room) > MAX_SET_NODES:
        return None
    priced = relaxation.priced(blocks, prices)
    listed = _listed(relaxation, priced, most)
    listed = None if listed is None else without_hopeless(priced, listed, most)
    if listed is None:
        return None
    if not all(ways.size for ways in listed):
        return most
    return search_combinations(relaxation.model, priced, listed, most, improve)


def _listed(relaxation: PriceRelaxation, priced: PricedProblem, most: float) -> list[Alternatives] | None:
    """The alternatives of every operator; those that are listed first leave less room to the others."""
    own_cost = priced.own.copy()
    listed: dict[int, Alternatives] = {}
    for i in sorted(range(len(own_cost)), key=lambda i: relaxation.operators[i].keyed):
        possible = np.isfinite(own_cost[i])
        room = np.full(own_cost[i].size, -np.inf)
        room[possible] = most - (_least_with_state(own_cost, priced, i)[possible] - own_cost[i, possible])
        room[room < own_cost[i]] = -np.inf
        ways = list_alternatives(relaxation.operators[i], priced.paid[i], room)
        if ways is None:
            return None
        listed[i] = ways
        own_cost[i] = np.inf
        np.minimum.at(own_cost[i], ways.state, ways.cost)
    return [listed[i] for i in range(len(own_cost))]


def _least_with_state(state_costs: Floats, priced: PricedProblem, i: int) -> Floats:
    """The least price of everything with an operator in each of its states."""
    least_costs = np.full(state_costs.shape[1], np.inf)
    for state in np.flatnonzero(np.isfinite(state_costs[i])).tolist():
        look("the alternatives of operators")
        fixed = state_costs.copy()
        fixed[i] = np.inf
        fixed[i, state] = state_costs[i, state]
        least_costs[state] = least_states(fixed, priced.pairs)[0] + priced.constant
    return least_costs
