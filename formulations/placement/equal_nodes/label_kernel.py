"""Compiled: labels are extended by all choices of one operator, and those that others dominate are dropped.

A label is a partial placement with its exact finish times, cost, use of what is shared, and use of the nodes of open blocks.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from edrp.core.arrays import Bools, Floats, Ints, Ints32
from edrp.core.kernels import inlined, kernel
from edrp.core.tolerances import QUOTIENT_USE_SLACK
from edrp.formulations.placement.equal_nodes.codes import USED, Fields, OperatorTurn, join, put_together, stays_open, take_apart
from edrp.formulations.placement.equal_nodes.state_graph import state_number

BOUND, DONE, COST, DOWN, SHARED = 0, 1, 2, 3, 4
"""Columns of labels: lower bound on the objective, latest finish of a sink, money/h, longest downtime, then the use of what is
shared; behind these the finish times of open operators, the load of each one's block, at its first operator, and the node that
the block has to be on, there, too (-1 for any)."""

FREE = -1.0
"""Node of a block that may be on any."""

COMPARED = 60
"""Labels of a state that each further one is compared with."""


class ChoiceRows(NamedTuple):
    """The choices of one operator, an element per row.

    Attributes
    ----------
    number, classes, single, level, latency, cost, usage, load, downtime, anchor
        As in `OperatorChoices`, its level in the graph of states, and its load next to what stays (`Quotient.block_load`).
    """

    number: Ints
    classes: Ints
    single: Ints
    level: Ints
    latency: Floats
    cost: Floats
    usage: Floats
    load: Floats
    downtime: Floats
    anchor: Ints


class LabelLimits(NamedTuple):
    """The amounts that labels may use.

    Attributes
    ----------
    delay : as in `Quotient`.
    room : shape (classes + nodes, resources), for a block on any node of a class, and on each node.
    shared : of what is shared.
    scalars : levels, classes that have to be used (0: not asked for), objective per second and per money/h,
        limit on the response time and on the cost, objective per second of downtime, least downtime, and number of classes.
    streams : as `Quotient.stream_use`.
    """

    delay: Floats
    room: Floats
    shared: Floats
    scalars: Floats
    streams: Floats


class Ahead(NamedTuple):
    """Bounds on what comes after one operator's turn.

    Attributes
    ----------
    codes, table : states after it.
    value : shape (views, states).
    cut : shape (views, open operators), flow out of each.
    done : shape (views,), flow out of sinks that are placed.
    money, shared, constant : prices and constant of each view.
    moved : objective per second of the longest downtime so far, of each view.
    tail : shape (open operators,), seconds that must follow the finish of each.
    own_tail : seconds that must follow the operator itself, shape (1,).
    rest : money/h, and of each shared thing, that the operators to come need at least.
    """

    codes: Ints
    table: Ints32
    value: Floats
    cut: Floats
    done: Floats
    money: Floats
    shared: Floats
    constant: Floats
    moved: Floats
    tail: Floats
    own_tail: Floats
    rest: Floats


class LayerLabels(NamedTuple):
    """Labels of one layer.

    Attributes
    ----------
    values : shape (labels, columns).
    code : state.
    parent : label of the layer before.
    row : choice of the operator.
    local : senders whose node it joins, as bits in the order of its streams.
    """

    values: Floats
    code: Ints
    parent: Ints32
    row: Ints32
    local: Ints32


@kernel
def extend(
    labels: LayerLabels, first: int, step: OperatorTurn, rows: ChoiceRows, limits: LabelLimits, ahead: Ahead,
    cutoff: float, fields: Fields, found: LayerLabels
) -> tuple[int, int]:
    """Extend labels from `first` on by all choices into `found`; returns the label it came to and how many were found."""
    width, opens, full = step.width[0], step.opens[0], int(limits.scalars[1])
    count = 0
    senders = 1 << step.parents.size
    for label in range(first, labels.code.size):
        if count + rows.number.size * senders > found.code.size:
            return label, count
        values, used = labels.values[label], labels.code[label] >> USED
        take_apart(labels.code[label], width, fields)
        for row in range(rows.number.size):
            if not _affordable(values, rows, row, limits, ahead):
                continue
            single, classes = rows.single[row], rows.classes[row]
            for chosen in range(single * (1 - opens), senders if single == 1 else 1):
                level = join(fields, width, step.parents, chosen, classes)
                if level < 0 or not _fits(values, step, rows, row, level, limits, fields):
                    continue
                finish = _finish(values, step, rows, row, limits, fields)
                if finish + ahead.own_tail[0] > limits.scalars[4]:
                    continue
                level = level + rows.level[row] if single == 1 and stays_open(fields, step.kept, opens) else 0
                state = put_together(fields, width, step.kept, opens, single, classes, level)
                state |= ((used | classes) & full) << USED
                target = state_number(state, ahead.codes, ahead.table)
                if target < 0:
                    continue
                new = found.values[count]
                _write(values, new, step, rows, row, finish, limits, fields)
                if limits.streams.shape[1] > 0 and not _add_streams(new, step, classes, limits, ahead, fields):
                    continue
                new[BOUND] = _bound(new, step, limits, ahead, target, cutoff)
                if new[BOUND] < cutoff:
                    found.code[count] = state
                    found.parent[count] = label
                    found.row[count] = rows.number[row]
                    found.local[count] = chosen
                    count += 1
    return labels.code.size, count


@inlined
def _affordable(values: Floats, rows: ChoiceRows, row: int, limits: LabelLimits, ahead: Ahead) -> bool:
    """Whether a choice leaves enough of the cost and of what is shared for the operators to come."""
    if values[COST] + rows.cost[row] + ahead.rest[0] > limits.scalars[5]:
        return False
    for n in range(limits.shared.size):
        if values[SHARED + n] + rows.usage[row, n] + ahead.rest[1 + n] > limits.shared[n] + QUOTIENT_USE_SLACK:
            return False
    return True


@inlined
def _add_streams(new: Floats, step: OperatorTurn, classes: int, limits: LabelLimits, ahead: Ahead, fields: Fields) -> bool:
    """Add what the streams into the operator use; whether that leaves enough for the operators to come."""
    for number in range(step.parents.size):
        position = step.parents[number]
        block = fields.root[position]
        if block >= 0 and fields.joined[block] == 1:
            continue
        new[COST] += limits.streams[0, step.streams[number], fields.classes[position], classes]
        for n in range(limits.shared.size):
            new[SHARED + n] += limits.streams[1 + n, step.streams[number], fields.classes[position], classes]
    enough = True
    for n in range(limits.shared.size):
        enough = enough and new[SHARED + n] + ahead.rest[1 + n] <= limits.shared[n] + QUOTIENT_USE_SLACK
    return enough


@inlined
def _joined_load(values: Floats, step: OperatorTurn, rows: ChoiceRows, row: int, m: int, shared: int, fields: Fields) -> float:
    """Load of the node that the operator joins with all of its replicas, which are counted in."""
    width, resources = step.width[0], rows.load.shape[1]
    load = rows.load[row, m]
    for position in range(width):
        if fields.joined[position] == 1:
            load += values[SHARED + shared + width + position * resources + m]
    return load


@inlined
def _fits(
    values: Floats, step: OperatorTurn, rows: ChoiceRows, row: int, level: int, limits: LabelLimits, fields: Fields
) -> bool:
    """Whether the joined blocks and the operator fit on one node, where it is on one."""
    if rows.single[row] == 0:
        return True
    if level + rows.level[row] > limits.scalars[0]:
        return False
    anchors = SHARED + limits.shared.size + step.width[0] * (1 + rows.load.shape[1])
    node = _anchor(values, step, rows, row, anchors, fields)
    if node < FREE:
        return False
    place = rows.classes[row] >> 1 if node == FREE else int(limits.scalars[8]) + int(node)
    for m in range(rows.load.shape[1]):
        load = _joined_load(values, step, rows, row, m, limits.shared.size, fields)
        if load > limits.room[place, m] + QUOTIENT_USE_SLACK:
            return False
    return True


@inlined
def _anchor(values: Floats, step: OperatorTurn, rows: ChoiceRows, row: int, anchors: int, fields: Fields) -> float:
    """The node that the joined block has to be on: `FREE` for any, less where there are several."""
    node = float(rows.anchor[row])
    for position in range(step.width[0]):
        if fields.joined[position] == 1 and values[anchors + position] != FREE:
            if node != FREE and node != values[anchors + position]:
                return FREE - 1.0
            node = values[anchors + position]
    return node


@inlined
def _finish(values: Floats, step: OperatorTurn, rows: ChoiceRows, row: int, limits: LabelLimits, fields: Fields) -> float:
    """Completion time of the operator, in seconds after the source began."""
    arrival = 0.0
    for number in range(step.parents.size):
        position = step.parents[number]
        block = fields.root[position]
        arrived = values[SHARED + limits.shared.size + position]
        if block < 0 or fields.joined[block] == 0:
            arrived += limits.delay[fields.classes[position], rows.classes[row]]
        arrival = max(arrival, arrived)
    return arrival + rows.latency[row]


@inlined
def _write(
    values: Floats, new: Floats, step: OperatorTurn, rows: ChoiceRows, row: int, finish: float, limits: LabelLimits,
    fields: Fields
) -> None:
    """Fill in a new label but for its bound; `fields.first` says where the blocks begin now."""
    width, opens, resources, shared = step.width[0], step.opens[0], rows.load.shape[1], limits.shared.size
    times = SHARED + shared
    loads = times + step.kept.size + opens
    anchors = loads + (step.kept.size + opens) * resources
    new[COST] = values[COST] + rows.cost[row]
    new[DOWN] = max(values[DOWN], rows.downtime[row])
    new[DONE] = values[DONE] if opens == 1 else max(values[DONE], finish)
    for n in range(shared):
        new[SHARED + n] = values[SHARED + n] + rows.usage[row, n]
    for place in range(step.kept.size):
        new[times + place] = values[times + step.kept[place]]
    if opens == 1:
        new[loads - 1] = finish
    for place in range(loads, anchors):
        new[place] = 0.0
    for place in range(anchors, anchors + step.kept.size + opens):
        new[place] = FREE
    for block in range(width + 1):
        place = fields.first[block]
        for m in range(resources if place >= 0 else 0):
            if block < width:
                new[loads + place * resources + m] = values[times + width + block * resources + m]
            else:
                new[loads + place * resources + m] = _joined_load(values, step, rows, row, m, shared, fields)
        before = times + width * (1 + resources)
        if place >= 0:
            new[anchors + place] = values[before + block] if block < width else _anchor(values, step, rows, row, before, fields)


@inlined
def _bound(new: Floats, step: OperatorTurn, limits: LabelLimits, ahead: Ahead, target: int, cutoff: float) -> float:
    """The largest of all lower bounds on the objective of what becomes of a label, or one that reaches the cutoff."""
    shared, after = limits.shared.size, step.kept.size + step.opens[0]
    latest = new[DONE]
    for place in range(after):
        latest = max(latest, new[SHARED + shared + place] + ahead.tail[place])
    down = max(new[DOWN], limits.scalars[7])
    bound = limits.scalars[2] * latest + limits.scalars[3] * (new[COST] + ahead.rest[0]) + limits.scalars[6] * down
    for view in range(ahead.money.size):
        if bound >= cutoff:
            break
        least = ahead.constant[view] + ahead.money[view] * new[COST] + ahead.done[view] * new[DONE] + ahead.value[view, target]
        least += ahead.moved[view] * down
        for n in range(shared):
            least += ahead.shared[view, n] * new[SHARED + n]
        for place in range(after):
            least += ahead.cut[view, place] * new[SHARED + shared + place]
        bound = max(bound, least)
    return bound


@kernel
def undominated(values: Floats, order: Ints, group: Ints, shape: Ints, weights: Floats, binding: Ints) -> Bools:
    """Mark the labels that no earlier label in `order` dominates; labels of a group stand together.

    `shape` are the number of shared things, of open operators, of loads and of sources to come; `weights` are objective per
    second of response time, per money/h and per second of downtime, and the least downtime; `binding` are 1 where a shared
    thing, the limit on response time (last but one) or that on cost (last) can bind.
    """
    keep = np.ones(order.size, np.bool_)
    kept = np.empty(COMPARED, np.int64)
    count = 0
    for position in range(order.size):
        label = order[position]
        if position > 0 and group[position] != group[position - 1]:
            count = 0
        for number in range(count):
            if _dominates(values[kept[number]], values[label], shape, weights, binding):
                keep[position] = False
                break
        if keep[position] and count < COMPARED:
            kept[count] = label
            count += 1
    return keep


@inlined
def _dominates(one: Floats, other: Floats, shape: Ints, weights: Floats, binding: Ints) -> bool:
    """Whether this label dominates the other one: each completion of the other is one of this label at no higher objective.

    It may be later where the limit on response time cannot bind, if it is cheaper by as much. To be sooner is worth nothing for
    certain while sources are to come, from which the slowest path may begin.
    """
    shared, opened, loads = shape[0], shape[1], shape[2]
    times = SHARED + shared
    if binding[shared + 1] == 1 and one[COST] > other[COST]:
        return False
    for n in range(shared):
        if binding[n] == 1 and one[SHARED + n] > other[SHARED + n] + QUOTIENT_USE_SLACK:
            return False
    for n in range(loads):
        if one[times + opened + n] > other[times + opened + n] + QUOTIENT_USE_SLACK:
            return False
    for n in range(opened):
        if one[times + opened + loads + n] != other[times + opened + loads + n]:
            return False
    latest, later = 0.0, 0.0 if shape[3] else -np.inf
    for n in range(opened):
        later = max(later, one[times + n] - other[times + n])
        latest = max(latest, one[times + n])
    if one[DONE] > latest or opened == 0:
        later = max(later, one[DONE] - other[DONE])
    if later > 0.0 and binding[shared] == 1:
        return False
    longer = max(0.0, one[DOWN] - max(other[DOWN], weights[3]))
    return weights[0] * later + weights[1] * (one[COST] - other[COST]) + weights[2] * longer <= 0.0
