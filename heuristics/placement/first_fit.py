"""First fit by decreasing load: the rule of bin packing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from edrp.heuristics.placement.filling import Filling, PlacementRule, filled, least_stable
from edrp.placement.compiled import Compiled


@dataclass(frozen=True, slots=True)
class FirstFitParameters:
    """`by`: which operators come first, those with the largest "load" (tuples/s) or those with the largest "demand".

    Demand is that of one replica, as a share of what the application needs of the resource; of several resources the
    largest share counts. Each of the two settles ties of the other; what still ties keeps its topological order.
    """

    by: Literal["load", "demand"] = "load"


class FirstFit(PlacementRule):
    """Operators by decreasing load, each replica on the first node of the document that has room.

    `greedy` fits too, but differs in all three choices: it takes operators in topological order, tries nodes by
    their delay from the operators before, and afterwards adds replicas where that pays. This rule looks at loads and
    room only, and gives each operator as few replicas as keep it stable.
    """

    name = "first-fit"
    summary = "operators by decreasing load, each replica on the first node that has room"
    parameters = FirstFitParameters

    def fill(self, compiled: Compiled, parameters: Any) -> Filling:
        """Busiest operator first."""
        filling, replicas = Filling.of(compiled), least_stable(compiled)
        total = replicas @ compiled.demand
        demand = (compiled.demand[:, total > 0] / total[total > 0]).max(axis=1, initial=0.0)
        keys = (-demand, -compiled.load) if parameters.by == "load" else (-compiled.load, -demand)
        for operator in np.lexsort(keys).tolist():
            nodes, wanted = compiled.candidates(operator), int(replicas[operator])
            filling.add(operator, nodes, filled(filling.room(operator, nodes), wanted), wanted)
        return filling
