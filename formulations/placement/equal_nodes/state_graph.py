"""The graph of all states of open operators, layer by layer, from which every bound is computed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from edrp import _native
from edrp.core.arrays import Ints, Ints32
from edrp.core.budget import look, spend
from edrp.core.tolerances import MIN_QUOTIENT_ROOM, WHOLE_NUMBER_SLACK
from edrp.formulations.placement.elimination.model import EliminationModel
from edrp.formulations.placement.equal_nodes.codes import MASKS, MAX_LEVEL, OperatorTurn
from edrp.formulations.placement.equal_nodes.model import Quotient
from edrp.placement.node_classes import MAX_CLASSES

STATE_WORK = 5e-8
"""Units of work for a transition that is added."""

LEVELS = MAX_LEVEL + 1
EXACT, UP_TO = MASKS, MASKS + MAX_CLASSES * LEVELS
SLOTS = MASKS + 2 * MAX_CLASSES * LEVELS
"""Kinds of choices of an operator that states tell apart: a set of classes (several nodes); a class and the level that is added
to a node (from `EXACT`); a class and the room that is left on a node nobody will join any more (from `UP_TO`)."""


class StateArcs(NamedTuple):
    """The transitions of a graph.

    Arrays of `costs_to_end` and `costs_through` (edrp/native/formulations/placement/values.cpp).

    Attributes
    ----------
    first_state, first_transition, first_pattern : where those of each layer begin.
    source, target : states of each transition, numbered in their layers.
    slot, pattern : kind of choice and pattern of delays of each transition, the latter numbered in its layer.
    """

    first_state: Ints
    first_transition: Ints
    first_pattern: Ints
    source: Ints32
    target: Ints32
    slot: Ints32
    pattern: Ints32


@dataclass(frozen=True)
class StateGraph:
    """States and transitions.

    Attributes
    ----------
    steps : one per operator.
    opened : operators that are open before each step, and after the last.
    codes : of the states of each layer, of which there is one more than operators.
    table : of each layer, by which the number of a code is found.
    patterns : what each pattern is.
    level : shape (choice rows,), that a block grows by.
    levels : by which the room of a node is told apart.
    full : classes that have to be used in the end, as bits; 0 where that is not asked for.
    """

    steps: tuple[OperatorTurn, ...]
    opened: tuple[tuple[int, ...], ...]
    codes: tuple[Ints, ...]
    table: tuple[Ints32, ...]
    arcs: StateArcs
    patterns: Ints
    level: Ints
    levels: int
    full: int


def list_steps(model: EliminationModel) -> tuple[tuple[OperatorTurn, ...], tuple[tuple[int, ...], ...]]:
    """Turns of all operators, and the open operators before each turn and after the last."""
    last = np.full(model.operators, -1)
    np.maximum.at(last, model.source, model.target)
    steps: list[OperatorTurn] = []
    frontiers: list[tuple[int, ...]] = [()]
    for j in range(model.operators):
        before = frontiers[-1]
        remembered = [position for position, i in enumerate(before) if last[i] > j]
        streams = model.incoming[j]
        parents = [before.index(int(model.source[e])) for e in streams]
        arrays = ([len(before)], parents, streams, remembered, [int(last[j] > j)])
        steps.append(OperatorTurn(*(np.array(values, np.int64) for values in arrays)))
        frontiers.append((*(before[p] for p in remembered), *([j] if last[j] > j else [])))
    return tuple(steps), tuple(frontiers)


def choice_levels(quotient: Quotient, levels: int) -> Ints:
    """Level that each choice adds to its node, shape (rows,): parts of the scarcest resource, rounded down."""
    choices, capacity = quotient.choices, quotient.block_room[: len(quotient.members)]
    min_capacity = capacity.min(axis=0, initial=np.inf)
    scarce = np.isfinite(min_capacity) & (min_capacity > 0)
    if not scarce.any():
        return np.zeros(len(choices.operator), np.int64)
    needs = np.divide(quotient.demand.sum(axis=0), min_capacity, out=np.full(min_capacity.size, -1.0), where=scarce)
    m = int(np.argmax(needs))
    # A block that joins rows for one node with rows for any has no more room than either of them counts with.
    room = np.maximum(quotient.block_room[quotient.block_place, m], MIN_QUOTIENT_ROOM)
    level = np.floor(quotient.block_load[:, m] * levels / room + WHOLE_NUMBER_SLACK)
    return np.where(choices.single == 1, level, 0).astype(np.int64)


def build_state_graph(quotient: Quotient, levels: int, max_transitions: int, full: int) -> StateGraph | None:
    """Build the graph; None where it would have too many transitions.

    Parameters
    ----------
    levels
        By which the room of a node is told apart, at most `MAX_LEVEL`.
    full
        Classes that have to be used in the end, as bits; 0 where that is not asked for.
    """
    steps, opened = list_steps(quotient.model)
    level = choice_levels(quotient, levels)
    choices = quotient.choices
    transitions, buffer = [], np.empty((4, max_transitions), np.int32)
    codes, tables, patterns = [np.zeros(1, np.int64)], [_native.code_table(np.zeros(1, np.int64))], []
    ends, used = [0], 0
    for j, step in enumerate(steps):
        look("a proof")
        rows = choices.operator == j
        spread = np.unique(choices.classes[rows & (choices.single == 0)])
        added = np.zeros((MAX_CLASSES, LEVELS), np.int64)
        single = rows & (choices.single == 1)
        added[choices.classes[single] >> 1, level[single]] = 1
        states = 64 + min(max_transitions // 4, 64 * len(codes[-1]))
        grown = _native.grow_state_graph(codes[-1], step, spread, added, levels, full, states, buffer)
        codes_after, own_patterns, count, has_room = grown
        spend(STATE_WORK * count)
        used += count
        if not has_room or used > max_transitions:
            return None
        codes.append(codes_after)
        tables.append(_native.code_table(codes_after))
        patterns.append(own_patterns)
        transitions.append(buffer[:, :count].copy())
        ends.append(used)
    first_state, first_pattern = (np.cumsum([0, *(layer.size for layer in layers)]) for layers in (codes, patterns))
    return StateGraph(
        steps=steps,
        opened=opened,
        codes=tuple(codes),
        table=tuple(tables),
        arcs=StateArcs(first_state, np.array(ends, np.int64), first_pattern, *np.concatenate(transitions, axis=1)),
        patterns=np.concatenate(patterns),
        level=level,
        levels=levels,
        full=full,
    )
