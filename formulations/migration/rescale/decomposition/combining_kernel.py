"""Kernel: combinations of one alternative of each operator that may be better than the best answer, by depth-first search."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from edrp.core.arrays import Floats, Ints
from edrp.core.kernels import inlined, inner_loop


class CombinationTables(NamedTuple):
    """Alternatives of all operators one after the other, each operator's by state and then cost, in the order of the search.

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
    """Memory of the search.

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


@inlined
def _pair_price(t: CombinationTables, w: CombinationWork, place: int, x: int) -> float:
    """Price of the streams between an alternative and those chosen before it; notes their delays and money."""
    total, nodes = 0.0, t.share.shape[1]
    for e in range(t.flow.size):
        if t.later[e] != place:
            continue
        y = w.at[t.earlier[e]]
        delay, price, money = 0.0, 0.0, 0.0
        for u in range(nodes):
            if (t.used[y] >> u) & 1 == 0:
                continue
            for v in range(nodes):
                if (t.used[x] >> v) & 1:
                    delay = max(delay, t.delay[t.turned[e], u, v])
                    product = t.share[y, u] * t.share[x, v]
                    price += product * t.traffic[e, u, v]
                    money += product * t.price[e, u, v]
        w.delay[e], w.money[e] = delay, money
        total += t.flow[e] * delay + price
    return total


@inlined
def _objective(t: CombinationTables, w: CombinationWork) -> float:
    """A floor of the objective of a whole combination, infinite where it breaks a limit."""
    size = t.states.size
    response, money, moved, transfer, peak = 0.0, 0.0, 0.0, 0.0, 0.0
    for place in t.order:
        x, before = w.at[place], 0.0
        for e in range(t.flow.size):
            target = t.later[e] if t.turned[e] == 0 else t.earlier[e]
            if target == place and t.on_path[e]:
                source = t.earlier[e] if t.turned[e] == 0 else t.later[e]
                before = max(before, w.finish[source] + w.delay[e])
        w.finish[place] = before + t.seconds[x]
        response = max(response, w.finish[place])
        money += t.money[x]
        moved += t.moved[x]
        transfer = max(transfer, t.alone[x])
    for e in range(t.flow.size):
        money += w.money[e]
    for c in range(t.kinds[0], t.kinds[1]):
        transfer = max(transfer, w.total[size, c])
    for c in range(t.kinds[1], t.kinds[2]):
        peak = max(peak, w.total[size, c])
    transfer += t.floor
    if response > t.limits[0] or money > t.limits[1] or transfer > t.limits[2] or moved > t.limits[3] or peak > t.limits[4]:
        return np.inf
    paid = t.weights[0] * response + t.weights[1] * money + t.weights[2] * transfer
    return paid + t.weights[3] * moved + t.weights[4] * peak


@inner_loop
def combine(t: CombinationTables, most: float, steps: int, w: CombinationWork) -> tuple[int, int]:
    """Go on with the search for combinations whose objective may be below `most`, from where it is.

    Returns how many are in `found`, which may be full, and how many steps are left; `depth` is -1 once there are no more.
    """
    size, loads, count = t.states.size, t.room.size, 0
    depth = w.depth[0]
    while depth >= 0 and steps > 0 and count < w.objective.size:
        steps -= 1
        x = w.at[depth]
        if x >= t.first[depth + 1]:
            depth -= 1
            if depth >= 0:
                w.at[depth] += 1
            continue
        index = w.cell[depth] * t.states[depth] + t.state[x]
        value = w.value[depth] + t.cost[x]
        if value + t.reached[t.begin[depth + 1] + index] > most:
            w.at[depth] = t.end[x]
            continue
        value += _pair_price(t, w, depth, x)
        fits = value + t.togo[t.begin[depth + 1] + index] <= most
        for c in range(loads):
            w.total[depth + 1, c] = w.total[depth, c] + t.load[x, c]
            if c < t.kinds[0] and w.total[depth + 1, c] > t.room[c]:
                fits = False
        if fits and depth + 1 < size:
            depth += 1
            w.value[depth], w.cell[depth], w.at[depth] = value, index, t.first[depth]
            continue
        objective = _objective(t, w) if fits else np.inf
        if objective < most:
            for place in range(size):
                w.found[count, place] = w.at[place]
            w.objective[count] = objective
            count += 1
        w.at[depth] += 1
    w.depth[0] = depth
    return count, steps
