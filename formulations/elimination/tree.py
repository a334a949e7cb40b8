"""Branch and bound over boxes: raise the bound, eliminate, search labels, split what is left open."""

from __future__ import annotations

import heapq
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from edrp.formulations.elimination.ascent import raise_bound
from edrp.formulations.elimination.box import Box, Prices, Relaxation
from edrp.formulations.elimination.choices import choices_of, too_many
from edrp.formulations.elimination.frontier import backward, min_marginals, plan_of
from edrp.formulations.elimination.labels import Found, LabelSearch
from edrp.formulations.elimination.model import Model
from edrp.formulations.elimination.paths import covering_paths, eliminate_by_paths, operator_flow, path_flow
from edrp.formulations.elimination.reach import eliminate_by_response, tails

Floats = NDArray[np.float64]


WIDEST_BEAMS = (200_000, 1_000_000)
"""For boxes that cannot be split any more."""
TIE_RESOLUTION = 1e-13
"""Objectives closer than this are not told apart."""
TIE_BOXES = 20
"""Boxes that are still searched for a better tie once the gap is closed."""


@dataclass(frozen=True, slots=True)
class EliminationParameters:
    """Effort per box.

    Attributes
    ----------
    states : states per table of the frontier dynamic program.
    iterations : of the price ascent at the root; a third of that in branches.
    beams : widths tried one after another at the root; branches use the first.
    configurations : most configurations of one operator that are enumerated; above, the box is split first.
    annealing : whether to look for an incumbent by annealing first (beside the current deployment and greedy).
    """

    states: int = 200_000
    iterations: int = 60
    beams: tuple[int, ...] = (20_000, 100_000)
    configurations: int = 300_000
    annealing: bool = True


@dataclass(slots=True)
class Incumbent:
    """Best deployment known: one configuration per operator in search order, and its objective with tie terms.

    Without a deployment the objective is the largest that any feasible one can have.
    """

    objective: float
    members: list[NDArray[np.int32]] | None = None


@dataclass(slots=True)
class Search:
    """The tree: open boxes by bound, and the incumbent."""

    model: Model
    parameters: EliminationParameters
    incumbent: Incumbent
    gap: float
    out_of_time: Callable[[], bool]
    report: Callable[[float | None, float], None]
    open: list[tuple[float, int, Box]] = field(default_factory=list)
    unresolved: float = np.inf
    boxes: int = 0
    tie_boxes: int = TIE_BOXES
    widest: int = 0
    configurations: int = 0

    def run(self, roots: list[Box]) -> float:
        """Process boxes, most promising first; return the proven bound."""
        for box in roots:
            self._push(box)
        while self.open:
            bound, _, box = self.open[0]
            self.report(self._known(), min(bound, self.incumbent.objective))
            if self.out_of_time() or self._done(bound):
                break
            heapq.heappop(self.open)
            self._process(box, first=self.boxes == 0)
        least = self.open[0][0] if self.open else np.inf
        return min(least, self.unresolved, self.incumbent.objective)

    def _done(self, bound: float) -> bool:
        """Whether the best open box is worth no more work; some work goes into breaking ties."""
        if bound < self._target():
            return False
        self.tie_boxes -= 1
        return self.tie_boxes < 0 or bound >= self.incumbent.objective - TIE_RESOLUTION

    def _known(self) -> float | None:
        return None if self.incumbent.members is None else self.incumbent.objective

    def _target(self) -> float:
        """Bound from which on the incumbent counts as optimal."""
        value = self.incumbent.objective
        return value if self.incumbent.members is None else value - self.gap * abs(value)

    def _push(self, box: Box) -> None:
        if not box.empty() and box.bound < self.incumbent.objective - TIE_RESOLUTION:
            self.boxes += 1
            heapq.heappush(self.open, (box.bound, self.boxes, box))

    def _process(self, box: Box, first: bool) -> None:
        model, parameters = self.model, self.parameters
        root = box.bound == -np.inf
        eliminate_by_response(model, box)
        if box.empty():
            return
        if root:
            capacity = eliminate_by_paths(model, box, self.incumbent.objective)
            box.prices = Prices(_even_flow(model), capacity)
            if box.empty():
                return
        iterations = parameters.iterations if root else parameters.iterations // 3
        raise_bound(model, box, self.incumbent.objective, iterations, parameters.states, self.out_of_time)
        if box.empty() or box.bound >= self._target():
            return
        if self.out_of_time():
            self._push(box)
            return
        if self._search_labels(box, parameters.beams if root else parameters.beams[:1]):
            return
        children = split(model, box)
        for child in children:
            self._push(child)
        if not children and not self._search_labels(box, WIDEST_BEAMS):
            self.unresolved = min(self.unresolved, box.bound)

    def _search_labels(self, box: Box, beams: tuple[int, ...]) -> bool:
        """Search the box; True when nothing in it can beat the incumbent any more."""
        model = self.model
        plan = plan_of(model, box, self.parameters.states)
        relaxation = Relaxation(model, box, box.prices, operator_flow(model, box.prices.flow))
        tables = backward(model, plan, relaxation)
        marginals = min_marginals(model, plan, tables, relaxation)
        box.drop(marginals + relaxation.surcharge() > self.incumbent.objective)
        if box.empty():
            return True
        if too_many(model, box, self.parameters.configurations):
            return False
        for beam in beams:
            choices = choices_of(model, box, plan, relaxation, marginals, tails(model, box), self.incumbent.objective)
            if choices is None:
                return True
            self.configurations = max(self.configurations, len(choices.degree))
            search = LabelSearch(model, box, plan, tables, relaxation, choices)
            result = search.run(self.incumbent.objective, beam, self.out_of_time)
            self._learn(result)
            if result.dropped >= self._target():
                return True
            box.bound = max(box.bound, result.dropped)
            if self.out_of_time():
                return False
        return False

    def _learn(self, found: Found) -> None:
        self.widest = max(self.widest, found.width)
        if found.members is not None and found.objective < self.incumbent.objective:
            self.incumbent.objective, self.incumbent.members = found.objective, found.members


def _even_flow(model: Model) -> Floats:
    """Equal shares of the covering paths."""
    flows = [path_flow(model, path) for path in covering_paths(model)]
    return np.asarray(np.mean(flows, axis=0))


def split(model: Model, box: Box) -> list[Box]:
    """Split the operator whose anchors lie farthest apart into two groups around the two farthest.

    One child may not use the second group at all, the other must use it. Empty when every operator has a
    single anchor left.
    """
    anchors = box.anchors
    spread = np.zeros(model.operators)
    for i in range(model.operators):
        nodes = np.flatnonzero(anchors[i])
        busy = 1.0 + 0.1 * (len(model.incoming[i]) + len(model.outgoing[i]))
        if len(nodes) > 1:
            spread[i] = busy * max(float(model.delay[np.ix_(nodes, nodes)].max()), 1e-12)
    if not spread.any():
        return []
    i = int(np.argmax(spread))
    nodes = np.flatnonzero(anchors[i])
    delays = model.delay[np.ix_(nodes, nodes)]
    a, b = np.unravel_index(np.argmax(delays), delays.shape)
    near_b = delays[:, b] < delays[:, a]
    near_b[b], near_b[a] = True, False
    group = np.zeros(model.nodes, bool)
    group[nodes[near_b]] = True
    without, within = box.copy(), box.copy()
    without.alive[i] &= ~group
    without.anchor[i] &= ~group[:, None]
    within.anchor[i] &= group[:, None]
    if model.degrees[i] == 1:
        within.alive[i] &= group
    return [without, within]
