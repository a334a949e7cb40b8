"""Small programs that turn a placement over classes into one on nodes, for moves with a given downtime and for hard packings."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from edrp.backends import solve_program
from edrp.core.arrays import Floats, Ints
from edrp.core.budget import units_left
from edrp.core.program import Linear, Program
from edrp.formulations.placement.equal_nodes.boxes import Boxes, add_boxes, boxes_of_row
from edrp.formulations.placement.equal_nodes.downtimes import most_on_node
from edrp.formulations.placement.equal_nodes.labels import Pattern
from edrp.formulations.placement.equal_nodes.model import Quotient
from edrp.formulations.placement.equal_nodes.moves import Box
from edrp.formulations.placement.equal_nodes.packing import PackedItem, find_blocks
from edrp.formulations.placement.equal_nodes.placing import MAX_FLOWS, NONE, PLACED, ItemsToPlace, place
from edrp.placement.compiled import NO_NODE

NODE_PROGRAM_WORK_LIMIT = 0.5
"""Work limit of one program over nodes, in units of work."""


def promised_downtime(quotient: Quotient, pattern: Pattern) -> float:
    """The least downtime that a placement over classes could have."""
    return max(float(quotient.choices.downtime[pattern.rows].max()), quotient.least_downtime)


def realise_moves(quotient: Quotient, pattern: Pattern, longest: float) -> tuple[Ints | None, bool]:
    """Replicas per operator of the compiled problem and node, or None, and whether there are none then.

    No operator takes longer than `longest` seconds. Blocks choose a node each, the other operators a box each: with the
    replicas that have to stay and those that may come, no operator takes too long.
    """
    blocks, free = _parts(quotient, pattern)
    boxes = [boxes_of_row(quotient, j, int(pattern.rows[j]), longest) for j in free]
    if not all(boxes):
        return None, True
    units = quotient.choices.unit[pattern.rows[free]]
    if (units != units[:1]).any():
        counts = _placed(quotient, pattern, blocks, free, boxes)
        return counts, False
    blocks = sorted(blocks, key=lambda block: -float(block.load.sum()))
    loads = np.array([block.load for block in blocks]).reshape(len(blocks), quotient.capacity.shape[1])
    allowed = np.array([_block_box(quotient, pattern, block)[1] for block in blocks]).reshape(len(blocks), quotient.owner.size) > 0
    fewest, most = (np.array([box[side] for own in boxes for box in own], np.int64) for side in (0, 1))
    fewest, most = fewest.reshape(-1, quotient.owner.size), most.reshape(-1, quotient.owner.size)
    kind = np.unique(np.vstack([quotient.owner, allowed, fewest, most]), axis=1, return_inverse=True)[1].ravel()
    items = ItemsToPlace(
        free=quotient.capacity[quotient.owner],
        unit=units[0] if len(free) else np.zeros(quotient.capacity.shape[1]),
        kind=kind,
        load=loads,
        allowed=allowed,
        total=quotient.choices.replicas[pattern.rows[free]],
        first=np.cumsum([0, *(len(own) for own in boxes)]),
        fewest=fewest,
        most=most,
    )
    node, replicas = np.empty(len(blocks), np.int64), np.empty((len(free), quotient.owner.size), np.int64)
    outcome = place(items, MAX_FLOWS, node, replicas)
    if outcome != PLACED:
        return None, outcome == NONE
    counts = np.zeros(quotient.model.compiled.candidate.shape, np.int64)
    counts[quotient.model.order[free]] = replicas
    for block, u in zip(blocks, node, strict=True):
        for j, number in block.contents:
            counts[quotient.model.order[j], u] += number
    return counts, False


def _parts(quotient: Quotient, pattern: Pattern) -> tuple[list[PackedItem], list[int]]:
    """The blocks, and the operators that are in none."""
    blocks = find_blocks(quotient, pattern)
    inside = {j for block in blocks for j, _ in block.contents}
    return blocks, [j for j in range(quotient.operators) if j not in inside]


def _placed(
    quotient: Quotient,
    pattern: Pattern,
    blocks: list[PackedItem],
    free: list[int],
    boxes: list[list[Box]],
    local: Sequence[tuple[int, int]] = (),
) -> Ints | None:
    """Solve the program and count the replicas; `boxes` are those of operators that are in no block, `local` as in `_solved`."""
    choices, model = quotient.choices, quotient.model
    boxes = [*boxes, *([_block_box(quotient, pattern, block)] for block in blocks)]
    if not all(boxes):
        return None
    totals = np.array([*(choices.replicas[pattern.rows[free]]), *([1] * len(blocks))])
    loads = np.array([*(choices.unit[pattern.rows[j]] for j in free), *(block.load for block in blocks)]).reshape(len(boxes), -1)
    solution = _solved(quotient, boxes, totals, loads, local)
    if solution is None:
        return None
    counts = np.zeros(model.compiled.candidate.shape, np.int64)
    for j, row in zip(free, solution, strict=False):
        counts[model.order[j]] += row
    for block, row in zip(blocks, solution[len(free) :], strict=True):
        for j, replicas in block.contents:
            counts[model.order[j]] += replicas * row
    return counts


def realise_by_program(quotient: Quotient, pattern: Pattern) -> Ints | None:
    """Solve the program of an initial placement, whose items of unequal size may be hard to pack."""
    if not len(np.unique(quotient.choices.unit[pattern.rows], axis=0)) > 1:
        return None
    blocks, free = _parts(quotient, pattern)
    owner, choices = quotient.owner, quotient.choices
    boxes = []
    for j in free:
        inside = (choices.classes[pattern.rows[j]] >> owner & 1) == 1
        boxes.append([(np.zeros(owner.size), np.where(inside, most_on_node(quotient, j)[owner], 0).astype(float))])
    return _placed(quotient, pattern, blocks, free, boxes)


def _block_box(quotient: Quotient, pattern: Pattern, block: PackedItem) -> Box:
    """Nodes that a block may be on: the one that one of its operators stays on, or all nodes of its classes."""
    members = [j for j, _ in block.contents]
    anchors = {int(anchor) for anchor in quotient.choices.anchor[pattern.rows[members]]} - {NO_NODE}
    upper = ((block.classes >> quotient.owner & 1) == 1).astype(float)
    if anchors:
        upper[[u for u in range(upper.size) if u not in anchors]] = 0.0
    return np.zeros(upper.size), upper


def _solved(
    quotient: Quotient, boxes: list[list[Box]], totals: Ints, loads: Floats, local: Sequence[tuple[int, int]] = ()
) -> Ints | None:
    """Return replicas per node that add up to the totals, keep to a box each and fit, shape (owners, nodes).

    As many of the pairs `local` of owners as can be are wholly on one node.
    """
    owner = np.repeat(np.arange(len(boxes)), [len(own) for own in boxes])
    fewest, most = (np.array([box[side] for own in boxes for box in own]) for side in (0, 1))
    program = Program()
    add_boxes(program, quotient, Boxes(owner, totals[owner], fewest, most), loads)
    counts = program["replicas"]
    joined = program.add_columns("joined", (len(local), counts.shape[1]), upper=1, integer=True)
    place = np.arange(joined.size).reshape(joined.shape)
    for name, side in (("sender", 0), ("receiver", 1)):
        ends = np.array([pair[side] for pair in local], np.int64)
        wholly = (place, joined, -totals[ends, None].astype(float))
        program.add_rows(name, joined.size, [(place, counts[ends], 1.0), wholly], lower=0)
    least = np.array([np.min([box[0] for box in own], axis=0) for own in boxes])
    program.minimise(Linear.of(counts, least == 0) + Linear.of(joined, -2.0 * totals.sum()))
    answer = solve_program(program, work_limit=max(0.0, min(NODE_PROGRAM_WORK_LIMIT, units_left())))
    return None if answer.values is None else np.rint(answer.values[counts]).astype(np.int64)
