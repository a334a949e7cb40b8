"""Shared parts of programs over nodes: ranges of replicas of operators or blocks, and rows that count replicas on nodes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from edrp.core.arrays import Floats, Ints
from edrp.core.program import Program
from edrp.core.tolerances import QUOTIENT_USE_SLACK
from edrp.formulations.placement.equal_nodes.model import Quotient
from edrp.formulations.placement.equal_nodes.moves import Box


@dataclass(frozen=True)
class Boxes:
    """Boxes of replicas on nodes; each owner is in one of its own.

    Attributes
    ----------
    owner : shape (boxes,), place of the operator or block.
    totals : shape (boxes,), replicas of the owner in all.
    fewest, most : shape (boxes, nodes), replicas on each node.
    """

    owner: Ints
    totals: Ints
    fewest: Floats
    most: Floats


def boxes_of_row(quotient: Quotient, j: int, row: int, longest: float) -> list[Box]:
    """Boxes of replicas of an operator on each node, as a row of the choices wants them; in each it takes `longest` at most."""
    choices, moves = quotient.choices, quotient.moves
    assert moves is not None
    replicas = int(choices.replicas[row])
    inside = (choices.classes[row] >> quotient.owner & 1) == 1
    room = np.where(inside, np.minimum(moves.most[j][quotient.owner], replicas), 0)
    running_now = moves.times(j, replicas).before.astype(float)
    stays = running_now.sum() == replicas and choices.downtime[row] == 0.0
    return [*([(running_now, running_now)] if stays else []), *moves.boxes(j, replicas, room, longest)]


def add_boxes(program: Program, quotient: Quotient, boxes: Boxes, loads: Floats) -> None:
    """Add columns `replicas` (owners, nodes) and `box` (boxes,), and rows that choose a box each and keep to all capacities.

    Parameters
    ----------
    loads : shape (owners, resources), of one replica of each owner.
    """
    owners, nodes = loads.shape[0], boxes.most.shape[1]
    replicas = program.add_columns("replicas", (owners, nodes), upper=boxes.totals.max(), integer=True)
    box = program.add_columns("box", boxes.owner.size, upper=1, integer=True)
    owner, node = np.arange(owners), np.arange(nodes)
    program.add_rows("one box", owners, [(boxes.owner, box, 1.0)], lower=1, upper=1)
    total = [(owner[:, None], replicas, 1.0), (boxes.owner, box, -boxes.totals.astype(float))]
    program.add_rows("total", owners, total, lower=0, upper=0)
    position = np.arange(replicas.size).reshape(replicas.shape)
    for name, ends, limits in (("fewest", boxes.fewest, {"lower": 0.0}), ("most", boxes.most, {"upper": 0.0})):
        entries = [(position, replicas, 1.0), (position[boxes.owner], box[:, None], -ends)]
        program.add_rows(name, replicas.size, entries, **limits)
    for m in range(loads.shape[1]):
        room = quotient.capacity[quotient.owner, m] + QUOTIENT_USE_SLACK
        program.add_rows(f"room[{m}]", nodes, [(node, replicas, loads[:, m, None])], upper=room)
