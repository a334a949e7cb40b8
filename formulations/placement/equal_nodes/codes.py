"""States of open operators as integers: on which classes each runs, which are together on a node, how full these nodes are.

An operator is open while some operator that it sends to is not placed yet. A code has eight bits for each open operator:

* `0b00000zzz`: it runs on the set of classes zzz, and on several nodes as far as anyone has to know;
* `0b1kklllll`: it is the first open operator of a block, on a node of class kk that is full to level lllll;
* `0b01000ppp`: it is of the same block as the open operator at position ppp.

The bits above those are the classes that any operator placed so far runs on, where that is asked for.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from edrp.core.arrays import Ints
from edrp.core.kernels import inlined
from edrp.placement.node_classes import MAX_CLASSES

MASKS = 1 << MAX_CLASSES
"""Sets of classes, the empty one included."""

MAX_OPEN = 7
"""Open operators that a code holds."""
MAX_LEVEL = 31
FIELD = 8
BLOCK, FOLLOWER = 0x80, 0x40
USED = FIELD * MAX_OPEN


class Fields(NamedTuple):
    """Scratch: a code taken apart, by position of the open operator; the last place is for the block that is being joined.

    Attributes
    ----------
    root : position of the first operator of the block; -1 for an operator that is not on one node.
    classes : set of classes.
    level : of the block, at its first operator.
    joined : whether the block is joined by the new operator.
    first : new position of the first operator of each block; -1 for none yet.
    """

    root: Ints
    classes: Ints
    level: Ints
    joined: Ints
    first: Ints


class OperatorTurn(NamedTuple):
    """Data that a search needs at the turn of one operator.

    Attributes
    ----------
    width : open operators before, shape (1,).
    parents : positions of those that send to it, in the order of `streams`.
    streams : from each of them.
    kept : positions of those that stay open.
    opens : 1 where the operator itself is open then, shape (1,).
    """

    width: Ints
    parents: Ints
    streams: Ints
    kept: Ints
    opens: Ints


def empty_fields() -> Fields:
    """Allocate scratch fields for kernels."""
    return Fields(*(np.zeros(MAX_OPEN + 1, np.int64) for _ in Fields._fields))


@inlined
def take_apart(code: int, width: int, fields: Fields) -> None:
    """Fill the fields from a code."""
    for position in range(width):
        field = (code >> (FIELD * position)) & 0xFF
        fields.joined[position] = 0
        if field & BLOCK:
            fields.root[position] = position
            fields.classes[position] = 1 << ((field >> 5) & 3)
            fields.level[position] = field & MAX_LEVEL
        elif field & FOLLOWER:
            fields.root[position] = field & 7
            fields.classes[position] = fields.classes[field & 7]
        else:
            fields.root[position] = -1
            fields.classes[position] = field


@inlined
def put_together(fields: Fields, width: int, kept: Ints, opens: int, single: int, classes: int, level: int) -> int:
    """The code after a new operator that runs on `classes`; on one node, that of the joined blocks, where `single`."""
    code = 0
    for position in range(width + 1):
        fields.first[position] = -1
    for place in range(kept.size + opens):
        if place < kept.size:
            position = kept[place]
            block = fields.root[position]
            own = fields.classes[position]
            if block >= 0 and fields.joined[block] == 1:
                block = width
        else:
            block = width if single == 1 else -1
            own = classes
        if block < 0:
            field = own
        elif fields.first[block] >= 0:
            field = FOLLOWER | fields.first[block]
        else:
            fields.first[block] = place
            # Sets of one class are 1, 2 and 4; their numbers 0, 1 and 2.
            field = BLOCK | ((own >> 1) << 5) | (level if block == width else fields.level[block])
        code |= field << (FIELD * place)
    return code


@inlined
def join(fields: Fields, width: int, parents: Ints, chosen: int, classes: int) -> int:
    """Mark the blocks of the chosen senders; -1 where one is no block on these classes or repeats one, else their level."""
    level = 0
    for position in range(width):
        fields.joined[position] = 0
    for number in range(parents.size):
        if chosen >> number & 1:
            block = fields.root[parents[number]]
            if block < 0 or fields.classes[block] != classes or fields.joined[block] == 1:
                return -1
            fields.joined[block] = 1
            level += fields.level[block]
    return level


@inlined
def stays_open(fields: Fields, kept: Ints, opens: int) -> bool:
    """Whether the joined block has an open operator afterwards."""
    if opens == 1:
        return True
    for number in range(kept.size):
        block = fields.root[kept[number]]
        if block >= 0 and fields.joined[block] == 1:
            return True
    return False


@inlined
def parent_pattern(fields: Fields, parents: Ints, classes: int) -> int:
    """Code of the delays of the streams into a new operator: its set of classes, and per stream the sender's set, 0 for none."""
    pattern = classes
    for number in range(parents.size):
        position = parents[number]
        block = fields.root[position]
        own = fields.classes[position]
        if block >= 0 and fields.joined[block] == 1:
            own = 0
        pattern |= own << (3 * (number + 1))
    return pattern
