"""Meaning of the columns of the program over intervals of tasks."""

from __future__ import annotations

from typing import NamedTuple

from edrp.core.arrays import Floats, Ints

NOBODY = -1
"""Index in place of the old node where no old node keeps an interval."""

OPEN, TAKEN = 0, 1


class IntervalColumns(NamedTuple):
    """Meaning of the columns of the block `interval`; arrays of shape (columns,).

    Attributes
    ----------
    place : place of the interval in the order of the tasks, from 0 on.
    first, end : tasks [first, end).
    enters, leaves : `OPEN` or `TAKEN`, at the first boundary and at the end.
    node : the old node that keeps the interval, or `NOBODY`.
    moved : bytes that move.
    moves : runs of neighbouring tasks that move from one node.
    """

    place: Ints
    first: Ints
    end: Ints
    enters: Ints
    leaves: Ints
    node: Ints
    moved: Floats
    moves: Ints
