"""The graph of all states of open operators, layer by layer, from which every bound is computed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from edrp.core.arrays import Ints, Ints32
from edrp.core.budget import look, spend
from edrp.core.kernels import inlined, kernel
from edrp.core.tolerances import MIN_QUOTIENT_ROOM, WHOLE_NUMBER_SLACK
from edrp.formulations.placement.elimination.model import EliminationModel
from edrp.formulations.placement.equal_nodes.codes import (
    MASKS,
    MAX_LEVEL,
    USED,
    Fields,
    OperatorTurn,
    empty_fields,
    join,
    parent_pattern,
    put_together,
    stays_open,
    take_apart,
)
from edrp.formulations.placement.equal_nodes.model import Quotient
from edrp.placement.node_classes import MAX_CLASSES

STATE_WORK = 5e-8
"""Units of work for a transition that is added."""

LEVELS = MAX_LEVEL + 1
EXACT, UP_TO = MASKS, MASKS + MAX_CLASSES * LEVELS
SLOTS = MASKS + 2 * MAX_CLASSES * LEVELS
"""Kinds of choices of an operator that states tell apart: a set of classes (several nodes); a class and the level that is added
to a node (from `EXACT`); a class and the room that is left on a node nobody will join any more (from `UP_TO`)."""

MAX_PATTERNS = 1 << 12

HASH = 0x9E3779B97F4A7C15 - (1 << 64)


class Found(NamedTuple):
    """The part that one operator adds to the graph.

    Attributes
    ----------
    codes, table : states after its turn, and a table of their numbers.
    patterns, pattern_table : patterns of delays.
    transitions : shape (4, transitions): source, target, slot and pattern.
    counts : of states, transitions and patterns; the first is -1 where there was no room for one of them.
    """

    codes: Ints
    table: Ints32
    patterns: Ints
    pattern_table: Ints32
    transitions: Ints32
    counts: Ints


class StateArcs(NamedTuple):
    """The transitions of a graph.

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
    codes : of the states of each layer, of which there is one more than operators.
    table : of each layer, by which the number of a code is found.
    patterns : what each pattern is.
    level : shape (choice rows,), that a block grows by.
    levels : by which the room of a node is told apart.
    full : classes that have to be used in the end, as bits; 0 where that is not asked for.
    """

    steps: tuple[OperatorTurn, ...]
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
    return np.where(choices.single == 1, np.floor(quotient.block_load[:, m] * levels / room + WHOLE_NUMBER_SLACK), 0).astype(
        np.int64
    )


def build_state_graph(quotient: Quotient, levels: int, max_transitions: int, full: int) -> StateGraph | None:
    """Build the graph; None where it would have too many transitions.

    Parameters
    ----------
    levels
        By which the room of a node is told apart, at most `MAX_LEVEL`.
    full
        Classes that have to be used in the end, as bits; 0 where that is not asked for.
    """
    steps, _ = list_steps(quotient.model)
    level = choice_levels(quotient, levels)
    choices = quotient.choices
    transitions, buffer = [], np.empty((4, max_transitions), np.int32)
    codes, tables, patterns = [np.zeros(1, np.int64)], [_table(np.zeros(1, np.int64))], []
    ends, used = [0], 0
    for j, step in enumerate(steps):
        look("a proof")
        rows = choices.operator == j
        spread = np.unique(choices.classes[rows & (choices.single == 0)])
        added = np.zeros((MAX_CLASSES, LEVELS), np.int64)
        single = rows & (choices.single == 1)
        added[choices.classes[single] >> 1, level[single]] = 1
        steps_found = _empty_found(64 + min(max_transitions // 4, 64 * len(codes[-1])), buffer)
        _grow(codes[-1], step, spread, added, np.array([levels, full]), steps_found, empty_fields())
        spend(STATE_WORK * int(steps_found.counts[1]))
        used += int(steps_found.counts[1])
        if steps_found.counts[0] < 0 or used > max_transitions:
            return None
        codes.append(steps_found.codes[: steps_found.counts[0]].copy())
        tables.append(_table(codes[-1]))
        patterns.append(steps_found.patterns[: steps_found.counts[2]].copy())
        transitions.append(buffer[:, : steps_found.counts[1]].copy())
        ends.append(used)
    first_state, first_pattern = (np.cumsum([0, *(layer.size for layer in layers)]) for layers in (codes, patterns))
    return StateGraph(
        steps=steps,
        codes=tuple(codes),
        table=tuple(tables),
        arcs=StateArcs(first_state, np.array(ends, np.int64), first_pattern, *np.concatenate(transitions, axis=1)),
        patterns=np.concatenate(patterns),
        level=level,
        levels=levels,
        full=full,
    )


def _empty_found(states: int, transitions: Ints32) -> Found:
    table = np.full(1 << int(np.ceil(np.log2(4 * states))), -1, np.int32)
    codes, patterns = np.empty(states, np.int64), np.empty(MAX_PATTERNS, np.int64)
    return Found(codes, table, patterns, np.full(2 * MAX_PATTERNS, -1, np.int32), transitions, np.zeros(3, np.int64))


def _table(codes: Ints) -> Ints32:
    """A table by which the number of each code is found."""
    table = np.full(1 << int(np.ceil(np.log2(2 * codes.size + 2))), -1, np.int32)
    _fill(codes, table)
    return table


@inlined
def place_in(table: Ints32, code: int) -> int:
    """Index of a hash table at which the search for a code begins."""
    return ((code * HASH) >> 20) & (table.size - 1)


@inlined
def state_number(code: int, codes: Ints, table: Ints32) -> int:
    """The number of a code; -1 where it is unknown."""
    place = place_in(table, code)
    while table[place] >= 0:
        if codes[table[place]] == code:
            return table[place]
        place = (place + 1) & (table.size - 1)
    return -1


@inlined
def _number_for(code: int, codes: Ints, count: int, table: Ints32) -> int:
    """The number of a code, a new one where it is unknown; -1 where there is no room."""
    place = place_in(table, code)
    while table[place] >= 0:
        if codes[table[place]] == code:
            return table[place]
        place = (place + 1) & (table.size - 1)
    if count >= codes.size:
        return -1
    codes[count] = code
    table[place] = count
    return count


@kernel
def _fill(codes: Ints, table: Ints32) -> None:
    for number in range(codes.size):
        place = place_in(table, codes[number])
        while table[place] >= 0:
            place = (place + 1) & (table.size - 1)
        table[place] = number


@inlined
def _add(origin: int, code: int, slot: int, pattern: int, found: Found) -> bool:
    """Append a transition; False where something is full, which sets the first count to -1."""
    counts = found.counts
    target = _number_for(code, found.codes, counts[0], found.table)
    kind = _number_for(pattern, found.patterns, counts[2], found.pattern_table)
    if target < 0 or kind < 0 or counts[1] >= found.transitions.shape[1]:
        counts[0] = -1
        return False
    counts[0] += target == counts[0]
    counts[2] += kind == counts[2]
    found.transitions[0, counts[1]] = origin
    found.transitions[1, counts[1]] = target
    found.transitions[2, counts[1]] = slot
    found.transitions[3, counts[1]] = kind
    counts[1] += 1
    return True


@kernel
def _grow(codes: Ints, step: OperatorTurn, spread: Ints, added: Ints, sizes: Ints, found: Found, fields: Fields) -> None:
    """Add all transitions of one operator; `sizes` are the number of levels and the classes that have to be used."""
    opens, full = step.opens[0], sizes[1]
    for origin in range(codes.size):
        used = codes[origin] >> USED
        take_apart(codes[origin], step.width[0], fields)
        for number in range(spread.size):
            classes = spread[number]
            code = put_together(fields, step.width[0], step.kept, opens, 0, classes, 0) | ((used | classes) & full) << USED
            if not _add(origin, code, classes, parent_pattern(fields, step.parents, classes), found):
                return
        for k in range(added.shape[0]):
            if added[k].sum() == 0:
                continue
            top = ((used | (1 << k)) & full) << USED
            for chosen in range(1 - opens, 1 << step.parents.size):
                base = join(fields, step.width[0], step.parents, chosen, 1 << k)
                if 0 <= base <= sizes[0] and not _add_single(origin, step, k, base, sizes[0], top, added, found, fields):
                    return


@inlined
def _add_single(
    origin: int, step: OperatorTurn, k: int, base: int, levels: int, top: int, added: Ints, found: Found, fields: Fields
) -> bool:
    """Add the transitions on which all replicas run on the node of the joined blocks, which is full to a level."""
    width, opens = step.width[0], step.opens[0]
    pattern = parent_pattern(fields, step.parents, 1 << k)
    if not stays_open(fields, step.kept, opens):
        code = top | put_together(fields, width, step.kept, opens, 1, 1 << k, 0)
        return _add(origin, code, UP_TO + k * LEVELS + levels - base, pattern, found)
    for more in range(levels - base + 1):
        if added[k, more] == 1:
            code = top | put_together(fields, width, step.kept, opens, 1, 1 << k, base + more)
            if not _add(origin, code, EXACT + k * LEVELS + more, pattern, found):
                return False
    return True
