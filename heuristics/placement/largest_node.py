"""Everything on the largest node, and on the next largest what finds no room there."""

from __future__ import annotations

from typing import Any

import numpy as np

from edrp.core.arrays import Floats, Ints
from edrp.heuristics.placement.filling import Filling, PlacementRule, filled, least_stable
from edrp.placement.compiled import Compiled


class LargestNode(PlacementRule):
    """What is done where one machine will do: as few nodes as it takes, as few replicas as keep operators stable.

    Nodes are tried by size (`sizes`): each replica goes to the largest of the operator's candidates that has room.
    Operators with the fewest candidates are placed first, others in topological order. Delays, costs and what runs now
    play no part.
    """

    name = "largest-node"
    summary = "everything on the largest node, what finds no room there on the next"

    def fill(self, compiled: Compiled, parameters: Any) -> Filling:
        """The choosiest operator first, on its largest node."""
        filling, replicas = Filling.of(compiled), least_stable(compiled)
        order = np.lexsort((-compiled.speedup, -sizes(compiled, replicas)))
        for operator in np.argsort(compiled.candidate.sum(axis=1), kind="stable").tolist():
            nodes, wanted = order[compiled.candidate[operator, order]], int(replicas[operator])
            filling.add(operator, nodes, filled(filling.room(operator, nodes), wanted), wanted)
        return filling


def sizes(compiled: Compiled, replicas: Ints) -> Floats:
    """How often each node could hold the whole application, shape (nodes,); infinite for a node without limits.

    Of several resources the scarcest counts. Among nodes of equal size the fastest is taken, and of those the
    first in the document.

    Parameters
    ----------
    compiled
        The problem.
    replicas : shape (operators,)
        Number of replicas of each operator.
    """
    total = replicas @ compiled.demand
    return (compiled.capacity[:, total > 0] / total[total > 0]).min(axis=1, initial=np.inf)
