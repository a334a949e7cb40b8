"""Frontier dynamic program with memory: the relaxation, exact in capacity among the operators it remembers.

Operators are placed one after another. A state holds the nodes of the remembered operators: those with
streams still to come (the frontier), and as many others as fit the budget of states; their use of the
nodes is counted exactly, that of all others through the capacity prices. Backward and forward tables
together give, for every operator and node, the cheapest relaxed solution that uses it (its min-marginal).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from edrp import _native
from edrp.core.arrays import Floats, Ints
from edrp.core.budget import spend
from edrp.core.errors import OutOfTimeError
from edrp.formulations.placement.elimination.box import Box, BoxRelaxation
from edrp.formulations.placement.elimination.model import EliminationModel
from edrp.formulations.placement.elimination.paths import operator_flow, stream_costs
from edrp.formulations.placement.elimination.seats import SeatGroups, grouped_unary, seat_candidates, seat_groups, seat_marginals

BACKWARD_WORK, FORWARD_WORK = 1.5e-9, 4e-9
"""Units of work per state, choice and stream, of the tables from the end and from the beginning."""


class FrontierStep(NamedTuple):
    """One operator's placement: how its choices and the remembered states before it lead to those after.

    Arrays of `fill_table_before`, `fill_table_after` and `best_candidate` (edrp/native/formulations/placement/frontier.cpp).

    `sizes`, `stride` (remembered before): candidates of each remembered operator, and its stride in the
    table after the step (0 if forgotten). `nodes`, `nodes_start`: their candidates' nodes, `demand`
    (candidates, resources) what they take. `own_nodes`, `own_stride`, `own_demand`: of the operator that is placed.
    `tail_place`, `tail_start`: remembered operators with a stream to it, and where that stream's cost table
    (candidates × own candidates) starts in `pair`. `check`: whether any capacity can be exceeded here.
    """

    sizes: Ints
    stride: Ints
    nodes: Ints
    nodes_start: Ints
    demand: Floats
    own_nodes: Ints
    own_stride: int
    own_demand: Floats
    tail_place: Ints
    tail_start: Ints
    capacity: Floats


@dataclass(frozen=True, slots=True)
class MemoryPlan:
    """Operators remembered after each step, and the arrays of each step for one box."""

    memory: list[list[int]]
    steps: list[FrontierStep]
    pairs: list[list[int]]
    candidates: list[SeatGroups]
    groups: list[Ints]

    @property
    def states(self) -> list[int]:
        """Number of states after each step."""
        return [int(np.prod([len(self.candidates[i].node) for i in kept], dtype=np.int64)) for kept in self.memory]


def memory_plan(model: EliminationModel, box: Box, budget: int) -> MemoryPlan:
    """Choose what to remember within `budget` states and lay out the steps.

    Where the frontier alone exceeds the budget, all seats of a node are grouped; if that is not enough, the
    operator with most candidates is forgotten early: of each of its later streams the bound then counts a part for its source
    and one for its target.
    """
    groups = seat_groups(model, box, model.response + box.prices.response, model.cost)
    candidates = [seat_candidates(box, i, groups[i]) for i in range(model.operators)]
    memory, complete = _memory(model, candidates, budget)
    if not complete:
        groups = [np.zeros_like(group) for group in groups]
        candidates = [seat_candidates(box, i, groups[i]) for i in range(model.operators)]
        memory, complete = _memory(model, candidates, budget)
    steps, pairs = [], []
    for i in range(model.operators):
        step, streams = _step(model, candidates, memory[i - 1] if i else [], memory[i], i)
        steps.append(step)
        pairs.append(streams)
    return MemoryPlan(memory, steps, pairs, candidates, groups)


def _memory(model: EliminationModel, candidates: list[SeatGroups], budget: int) -> tuple[list[list[int]], bool]:
    """Operators remembered after each step, and whether all of the frontier always was."""
    memory: list[list[int]] = []
    remembered: list[int] = []
    complete = True
    for i in range(model.operators):
        remembered = [*remembered, i]
        needed = {j for j in remembered if any(model.target[e] > i for e in model.outgoing[j])}
        while np.prod([float(candidates[j].node.size) for j in remembered]) > budget and remembered:
            spare = [j for j in remembered if j not in needed]
            complete &= bool(spare)
            remembered.remove(spare[0] if spare else max(remembered, key=lambda j: candidates[j].node.size))
        memory.append(list(remembered))
    return memory, complete


def _step(
    model: EliminationModel, candidates: list[SeatGroups], before: list[int], after: list[int], i: int
) -> tuple[FrontierStep, list[int]]:
    strides = {}
    stride = 1
    for j in reversed(after):
        strides[j] = stride
        stride *= candidates[j].node.size
    streams = [int(e) for e in model.incoming[i] if model.source[e] in before]
    own_choices = candidates[i]
    starts = np.cumsum([0] + [candidates[model.source[e]].node.size * own_choices.node.size for e in streams])
    taken = [candidates[j].taken[:, None] * model.demand[j][None] for j in before]
    step = FrontierStep(
        sizes=np.array([candidates[j].node.size for j in before], np.int64),
        stride=np.array([strides.get(j, 0) for j in before], np.int64),
        nodes=np.concatenate([candidates[j].node for j in before]) if before else np.zeros(0, np.int64),
        nodes_start=np.cumsum([0] + [candidates[j].node.size for j in before]).astype(np.int64),
        demand=np.concatenate(taken) if before else np.zeros((0, model.demand.shape[1])),
        own_nodes=own_choices.node,
        own_stride=strides.get(i, 0),
        own_demand=own_choices.taken[:, None] * model.demand[i][None],
        tail_place=np.array([before.index(int(model.source[e])) for e in streams], np.int64),
        tail_start=starts[:-1].astype(np.int64),
        capacity=model.capacity,
    )
    return step, streams


@dataclass(slots=True)
class Tables:
    """Backward tables of one relaxation: `after[i]` is the least cost of placing the operators behind i.

    `own` are the costs of the candidates of each operator, `unary` with their parts of the streams that are forgotten early:
    `ahead[e]`, by candidate of its source, is what such a stream counts for in `after` while its target is not placed.
    """

    after: list[Floats]
    own: list[Floats]
    unary: list[Floats]
    pair: list[Floats]
    ahead: dict[int, Floats]
    bound: float


def backward(model: EliminationModel, plan: MemoryPlan, relaxation: BoxRelaxation, out_of_time: Callable[[], bool]) -> Tables:
    """Fill the backward tables; O(states × candidates) each.

    Raises
    ------
    OutOfTimeError
        Between two operators.
    """
    own = [grouped_unary(relaxation.unary[i], plan.candidates[i], plan.groups[i]) for i in range(model.operators)]
    unary, ahead = _with_forgotten(model, plan, relaxation, own)
    pair = [_pair_costs(model, plan, relaxation, i) for i in range(model.operators)]
    after = [np.zeros(1)] * model.operators
    states = [1, *plan.states]
    table = np.zeros(states[-1])
    for i in range(model.operators - 1, -1, -1):
        if out_of_time():
            raise OutOfTimeError
        spend(BACKWARD_WORK * states[i] * unary[i].size * (1 + len(plan.pairs[i])))
        after[i] = table
        table = np.empty(states[i])
        _native.fill_table_before(plan.steps[i], unary[i], pair[i], after[i], table)
    return Tables(after, own, unary, pair, ahead, float(table[0]) + relaxation.constant)


def min_marginals(plan: MemoryPlan, tables: Tables, relaxation: BoxRelaxation, out_of_time: Callable[[], bool]) -> Floats:
    """Least relaxed cost with each seat of each operator, shape (operators, nodes, seats).

    Raises
    ------
    OutOfTimeError
        Between two operators.
    """
    marginals = np.empty_like(relaxation.unary)
    before = np.zeros(1)
    for i, size in enumerate(plan.states):
        if out_of_time():
            raise OutOfTimeError
        spend(FORWARD_WORK * before.size * tables.unary[i].size * (1 + len(plan.pairs[i])))
        forward = np.full(size, np.inf)
        marginal = np.full(plan.candidates[i].node.size, np.inf)
        step, unary, pair = plan.steps[i], tables.unary[i], tables.pair[i]
        _native.fill_table_after(step, unary, pair, before, tables.after[i], forward, marginal)
        marginals[i] = seat_marginals(relaxation.unary[i], plan.candidates[i], plan.groups[i], tables.own[i], marginal)
        before = forward
    return marginals + relaxation.constant


def relaxed_optimum(model: EliminationModel, plan: MemoryPlan, tables: Tables, relaxation: BoxRelaxation) -> tuple[Ints, Ints]:
    """Node and seat of every operator in a cheapest relaxed solution."""
    chosen, nodes, seats = (np.zeros(model.operators, np.int64) for _ in range(3))
    for i in range(model.operators):
        step = plan.steps[i]
        before = plan.memory[i - 1] if i else []
        chosen[i] = _native.best_candidate(step, tables.unary[i], tables.pair[i], tables.after[i], chosen[before])
        nodes[i] = plan.candidates[i].node[chosen[i]]
        members = np.flatnonzero(plan.groups[i] == plan.candidates[i].group[chosen[i]])
        seats[i] = members[np.argmin(relaxation.unary[i, nodes[i], members])]
    return nodes, seats


def _with_forgotten(
    model: EliminationModel, plan: MemoryPlan, relaxation: BoxRelaxation, own: list[Floats]
) -> tuple[list[Floats], dict[int, Floats]]:
    """Costs of candidates with their parts of the streams that no table remembers, and the parts of the sources.

    A sum a(u) + b(v) that is nowhere above the cost of a stream may stand for it. Let b(v) be minus the share of the stream in
    what its target and all that follows cost by themselves; then a(u) is the least that the stream costs from u on.
    """
    unary, ahead = [costs.copy() for costs in own], dict[int, Floats]()
    remembered = {e for streams in plan.pairs for e in streams}
    if len(remembered) == model.source.size:
        return unary, ahead
    flow = relaxation.prices.flow
    through = operator_flow(model, flow)
    onward = [costs.copy() for costs in own]
    for i in range(model.operators - 1, -1, -1):
        for e in model.outgoing[i].tolist():
            j = int(model.target[e])
            part = flow[e] / through[j] if through[j] > 0 else 0.0
            share = part * np.where(np.isfinite(onward[j]), onward[j], 0.0)  # candidates dropped meanwhile cost infinitely much
            costs = stream_costs(model, relaxation, e, float(flow[e]), plan.candidates[i], plan.candidates[j])
            least = (costs + share[None]).min(axis=1, initial=np.inf)
            onward[i] = onward[i] + least
            if e not in remembered:
                ahead[e] = least
                unary[i] = unary[i] + least
                unary[j] = unary[j] - share
    return unary, ahead


def _pair_costs(model: EliminationModel, plan: MemoryPlan, relaxation: BoxRelaxation, i: int) -> Floats:
    parts = []
    for e in plan.pairs[i]:
        tail = plan.candidates[model.source[e]]
        parts.append(stream_costs(model, relaxation, e, float(relaxation.prices.flow[e]), tail, plan.candidates[i]).ravel())
    return np.concatenate(parts) if parts else np.zeros(1)
