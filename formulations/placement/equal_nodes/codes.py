"""States of open operators as integers: on which classes each runs, which are together on a node, how full these nodes are.

An operator is open while some operator that it sends to is not placed yet. A code has eight bits for each open operator:

* `0b00000zzz`: it runs on the set of classes zzz, and on several nodes as far as anyone has to know;
* `0b1kklllll`: it is the first open operator of a block, on a node of class kk that is full to level lllll;
* `0b01000ppp`: it is of the same block as the open operator at position ppp.

The bits above those are the classes that any operator placed so far runs on, where that is asked for.
Kernels read and write codes (edrp/native/formulations/placement/codes.hpp).
"""

from __future__ import annotations

from typing import NamedTuple

from edrp.core.arrays import Ints
from edrp.placement.node_classes import MAX_CLASSES

MASKS = 1 << MAX_CLASSES
"""Sets of classes, the empty one included."""

MAX_OPEN = 7
"""Open operators that a code holds."""
MAX_LEVEL = 31
FIELD = 8
USED = FIELD * MAX_OPEN


class OperatorTurn(NamedTuple):
    """Data that a search needs at the turn of one operator.

    Arrays of `grow_state_graph` and `extend_labels` (edrp/native/formulations/placement/).

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
