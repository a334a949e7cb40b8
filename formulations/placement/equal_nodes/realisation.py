"""Placements over classes become placements on nodes: moves with a given downtime, and small programs for hard packings.

Where the replicas of operators that are in no block all need equally much, an exact search finds nodes of blocks and boxes of
operators. With nodes and boxes chosen, the replicas are a flow from operators to nodes. Before all are chosen, each operator has
the hull of its boxes, and blocks that have no node yet are left out: where that has no flow, no choice that follows does.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from edrp import _native
from edrp.backends.solving import solve_program
from edrp.core.arrays import Bools, Floats, Ints
from edrp.core.budget import spend, units_left
from edrp.core.program import Program
from edrp.core.tolerances import QUOTIENT_USE_SLACK
from edrp.formulations.placement.equal_nodes.downtimes import most_on_node
from edrp.formulations.placement.equal_nodes.labels import Pattern
from edrp.formulations.placement.equal_nodes.model import Quotient
from edrp.formulations.placement.equal_nodes.moves import Box
from edrp.formulations.placement.equal_nodes.packing import Contents, PackedItem, count_replicas, find_blocks
from edrp.formulations.placement.equal_nodes.staying_replicas import boxes_of_row
from edrp.placement.compiled import NO_NODE

GAVE_UP, NONE, PLACED = -1, 0, 1
"""Outcomes: too many choices were tried, there is no placement, and there is one."""

MAX_FLOWS = 20_000
"""Flows that a search computes before it gives up."""


class ItemsToPlace(NamedTuple):
    """Blocks, and operators that are in none.

    Arrays of `place_items` (edrp/native/formulations/placement/realisation.cpp).

    Attributes
    ----------
    free : shape (nodes, resources), capacity.
    unit : shape (resources,), load of one replica of every operator.
    kind : shape (nodes,), equal numbers of nodes that may be exchanged for one another.
    load : shape (blocks, resources).
    allowed : shape (blocks, nodes), whether a block may be there.
    total : shape (operators,), replicas.
    first : shape (operators + 1,), first box of each operator.
    fewest, most : shape (boxes, nodes), replicas.
    """

    free: Floats
    unit: Floats
    kind: Ints
    load: Floats
    allowed: Bools
    total: Ints
    first: Ints
    fewest: Ints
    most: Ints


PLACING_WORK = 5e-4
"""Units of work for a placement over classes that is to be placed on nodes."""

NODE_PROGRAM_WORK_LIMIT = 0.5
"""Work limit of one program over nodes, in units of work."""


def realise_moves(quotient: Quotient, pattern: Pattern, longest: float) -> tuple[Ints | None, bool, bool]:
    """Replicas per operator of the compiled problem and node, or None; whether none are possible; whether a solver says so.

    No operator takes longer than `longest` seconds. Blocks choose a node each, the other operators a box each: with the
    replicas that have to stay and those that may come, no operator takes too long. Where replicas differ in what they need,
    all are first taken to need the least, and then placed by a small program.
    """
    blocks, free = _parts(quotient, pattern)
    boxes = [boxes_of_row(quotient, int(pattern.rows[j]), longest) for j in free]
    if not all(boxes):
        return None, True, False
    spend(PLACING_WORK)
    node, replicas = np.empty(len(blocks), np.int64), np.empty((len(free), quotient.owner.size), np.int64)
    outcome = _native.place_items(_items(quotient, pattern, blocks, free, boxes), MAX_FLOWS, node, replicas)
    if outcome != PLACED:
        return None, outcome == NONE, False
    units = quotient.choices.unit[pattern.rows[free]]
    if (units != units[:1]).any():
        counts, none = _placed(quotient, pattern, blocks, free, boxes)
        return counts, none, none
    placed = np.vstack([replicas, node[:, None] == np.arange(quotient.owner.size)])
    return count_replicas(quotient, _contents(blocks, free), placed), False, False


def _items(
    quotient: Quotient, pattern: Pattern, blocks: list[PackedItem], free: list[int], boxes: list[list[Box]]
) -> ItemsToPlace:
    """Arrays for the search; nodes are of one kind where they may be exchanged for one another."""
    nodes, resources = quotient.owner.size, quotient.capacity.shape[1]
    allowed = np.array([_block_box(quotient, pattern, block)[1] for block in blocks]).reshape(len(blocks), nodes) > 0
    first = np.cumsum([0, *(len(own) for own in boxes)])
    shape = int(first[-1]), nodes
    fewest, most = (np.array([box[side] for own in boxes for box in own], np.int64).reshape(shape) for side in (0, 1))
    return ItemsToPlace(
        free=quotient.capacity[quotient.owner],
        unit=quotient.choices.unit[pattern.rows[free]].min(axis=0) if free else np.zeros(resources),
        kind=np.unique(np.vstack([quotient.owner, allowed, fewest, most]), axis=1, return_inverse=True)[1].ravel(),
        load=np.array([block.load for block in blocks]).reshape(len(blocks), resources),
        allowed=allowed,
        total=quotient.choices.replicas[pattern.rows[free]],
        first=first,
        fewest=fewest,
        most=most,
    )


def _parts(quotient: Quotient, pattern: Pattern) -> tuple[list[PackedItem], list[int]]:
    """The blocks, the largest first, and the operators that are in none."""
    blocks, free = find_blocks(quotient, pattern)
    return sorted(blocks, key=lambda block: -float(block.load.sum())), free


def _contents(blocks: list[PackedItem], free: list[int]) -> list[Contents]:
    """Contents of single replicas of the operators in no block, and then of the blocks."""
    return [*(((j, 1),) for j in free), *(block.contents for block in blocks)]


def _placed(
    quotient: Quotient, pattern: Pattern, blocks: list[PackedItem], free: list[int], boxes: list[list[Box]]
) -> tuple[Ints | None, bool]:
    """Solve the program and count the replicas, by the boxes of operators that are in no block; whether it has no solution."""
    choices = quotient.choices
    boxes = [*boxes, *([_block_box(quotient, pattern, block)] for block in blocks)]
    if not all(boxes):
        return None, True
    totals = np.array([*(choices.replicas[pattern.rows[free]]), *([1] * len(blocks))])
    loads = np.array([*(choices.unit[pattern.rows[j]] for j in free), *(block.load for block in blocks)])
    loads = loads.reshape(len(boxes), quotient.capacity.shape[1])
    solution, none = _solved(quotient, boxes, totals, loads)
    return None if solution is None else count_replicas(quotient, _contents(blocks, free), solution), none


def realise_by_program(quotient: Quotient, pattern: Pattern) -> Ints | None:
    """Solve the program of an initial placement, whose items of unequal size may be hard to pack."""
    if not len(np.unique(quotient.choices.unit[pattern.rows], axis=0)) > 1:
        return None
    blocks, free = _parts(quotient, pattern)
    rooms = [quotient.room(pattern.rows[j], most_on_node(quotient, j)[quotient.owner]) for j in free]
    return _placed(quotient, pattern, blocks, free, [[(np.zeros(room.size), room.astype(float))] for room in rooms])[0]


def _block_box(quotient: Quotient, pattern: Pattern, block: PackedItem) -> Box:
    """Nodes that a block may be on: the one that one of its operators stays on, or all nodes of its classes."""
    members = [j for j, _ in block.contents]
    anchors = {int(anchor) for anchor in quotient.choices.anchor[pattern.rows[members]]} - {NO_NODE}
    upper = quotient.within(block.classes)
    if anchors:
        upper &= np.isin(np.arange(upper.size), list(anchors))
    return np.zeros(upper.size), upper.astype(float)


def _solved(quotient: Quotient, boxes: list[list[Box]], totals: Ints, loads: Floats) -> tuple[Ints | None, bool]:
    """Replicas per node that add up to the totals, keep to a box each and fit, shape (owners, nodes); whether there are none."""
    owner = np.repeat(np.arange(len(boxes)), [len(own) for own in boxes])
    fewest, most = (np.array([box[side] for own in boxes for box in own]) for side in (0, 1))
    program = Program()
    owners, nodes = loads.shape[0], most.shape[1]
    replicas = program.add_columns("replicas", (owners, nodes), upper=totals.max(), integer=True)
    box = program.add_columns("box", owner.size, upper=1, integer=True)
    number = np.arange(owners)
    program.add_rows("one box", owners, [(owner, box, 1.0)], lower=1, upper=1)
    total = [(number[:, None], replicas, 1.0), (owner, box, -totals[owner].astype(float))]
    program.add_rows("total", owners, total, lower=0, upper=0)
    position = np.arange(replicas.size).reshape(replicas.shape)
    for name, ends, limits in (("fewest", fewest, {"lower": 0.0}), ("most", most, {"upper": 0.0})):
        program.add_rows(name, replicas.size, [(position, replicas, 1.0), (position[owner], box[:, None], -ends)], **limits)
    for m in range(loads.shape[1]):
        room = quotient.capacity[quotient.owner, m] + QUOTIENT_USE_SLACK
        program.add_rows(f"room[{m}]", nodes, [(np.arange(nodes), replicas, loads[:, m, None])], upper=room)
    answer = solve_program(program, work_limit=max(0.0, min(NODE_PROGRAM_WORK_LIMIT, units_left())))
    counts = None if answer.values is None else np.rint(answer.values[replicas]).astype(np.int64)
    return counts, answer.status == "infeasible"
