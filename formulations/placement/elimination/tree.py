"""Branch and bound over boxes: raise the bound, eliminate, search labels, split what is left open.

Deployments that are known, as the search sees them: configurations in search order, and objectives with tie terms.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from edrp.core.arrays import Floats, Ints, Ints32
from edrp.core.budget import look
from edrp.core.errors import OutOfTimeError
from edrp.core.tolerances import LIMIT_SLACK, TIE_MOVE, TIED_OBJECTIVE
from edrp.formulations.placement.elimination.ascent import raise_bound
from edrp.formulations.placement.elimination.box import Box, BoxPrices, BoxRelaxation
from edrp.formulations.placement.elimination.branching import split_nodes, split_replicas, undecided_replicas
from edrp.formulations.placement.elimination.frontier import MemoryPlan, Tables, backward, memory_plan, min_marginals
from edrp.formulations.placement.elimination.labels import (
    MAX_COMPLETE,
    BoxLabelSearch,
    surviving_choices,
    too_many,
)
from edrp.formulations.placement.elimination.model import EliminationModel
from edrp.formulations.placement.elimination.paths import (
    covering_paths,
    eliminate_by_paths,
    even_flow,
    flow_paths,
    operator_flow,
    path_flow,
)
from edrp.placement.counted_values import counts_objective, scaled_metric
from edrp.placement.scales import max_objective


def least_latency(model: EliminationModel, box: Box) -> Floats:
    """Seconds of each operator on each node with its best number of replicas, shape (operators, nodes)."""
    return box.latency.min(axis=1)[:, None] / model.speedup[None]


def tails(model: EliminationModel, box: Box) -> Floats:
    """Lower bound on the time from an operator's output on a node to the last sink, shape (operators, nodes).

    Each stream's target takes its best anchor by itself, so paths that share operators may disagree: a
    bound, in O(streams × nodes²).
    """
    anchors = box.anchors
    latency = np.where(anchors, least_latency(model, box), np.inf)
    tail = np.zeros(anchors.shape)
    for i in range(model.operators - 1, -1, -1):
        for e in model.outgoing[i]:
            look("a proof")
            j = model.target[e]
            nodes = np.flatnonzero(anchors[j])
            onward = (model.delay[:, nodes] + (latency[j] + tail[j])[None, nodes]).min(axis=1)
            tail[i] = np.maximum(tail[i], onward)
    return tail


def eliminate_by_response(model: EliminationModel, box: Box) -> None:
    """Remove nodes through which even the fastest path breaks the response limit."""
    limit = model.limits[0]
    if not np.isfinite(limit) or box.empty():
        return
    anchors = box.anchors
    latency = np.where(anchors, least_latency(model, box), np.inf)
    finish = np.zeros(anchors.shape)
    for j in range(model.operators):
        for e in model.incoming[j]:
            look("a proof")
            nodes = np.flatnonzero(anchors[model.source[e]])
            arrival = (finish[model.source[e], nodes, None] + model.delay[nodes]).min(axis=0)
            finish[j] = np.maximum(finish[j], arrival)
        finish[j] += latency[j]
    box.drop((anchors & (finish + tails(model, box) > limit * (1 + LIMIT_SLACK)))[:, :, None])


MIN_CLOSED_SHARE = 0.9
"""Share of the gap that a label search must close for a wider one to follow where numbers of replicas are left to decide."""

WHOLE_SEARCH = 100_000_000
"""Extensions that a label search of a root may try where numbers of replicas are left to decide, if it cannot close the box."""

TIE_BOXES = 20
"""Boxes that are searched for a better tie once the optimum is proven."""


@dataclass(frozen=True, slots=True)
class EliminationParameters:
    """Parameters of elimination: the effort spent on each box.

    Attributes
    ----------
    ascent_states : states per table of the frontier dynamic program while prices are raised.
    iterations : of the price ascent at the root; a third of that in branches.
    efforts : label searches tried one after another at the root, as (width of the beam, states per table);
        branches use the first, with the states of the ascent while replicas are to be decided.
    configurations : most configurations of one operator that are enumerated; above, the box is split first.
    tilts : further flows, each tilted towards one path, whose bounds the label search uses.
    annealing : whether to look for an incumbent by annealing first (next to the current deployment and the start).
    """

    ascent_states: int = 20_000
    iterations: int = 40
    efforts: tuple[tuple[int, int], ...] = ((20_000, 200_000), (200_000, 200_000), (1_000_000, 400_000))
    configurations: int = 300_000
    tilts: int = 6
    annealing: bool = True


@dataclass(slots=True)
class BestConfigurations:
    """Best deployment known: one configuration per operator in search order, and its objective with tie terms.

    Without a deployment the objective is the largest that any feasible one can have.
    """

    objective: float
    members: list[Ints32] | None = None


@dataclass(slots=True)
class BoxTree:
    """The tree: open boxes by bound, those that are being processed, the incumbent, and the best deployments that were met."""

    model: EliminationModel
    parameters: EliminationParameters
    incumbent: BestConfigurations
    gap: float
    out_of_time: Callable[[], bool]
    report: Callable[[float | None, float], None]
    open: list[tuple[float, int, Box]] = field(default_factory=list)
    unresolved: float = np.inf
    max_boxes: float = np.inf
    boxes: int = 0
    widest: int = 0
    configurations: int = 0
    in_hand: list[Box] = field(default_factory=list)
    met: list[tuple[float, list[Ints32]]] = field(default_factory=list)
    ties: bool = False
    tied: list[Box] = field(default_factory=list)

    def run(self, roots: list[Box]) -> float:
        """Process boxes, most promising first; return the proven bound."""
        self.in_hand = roots
        for box in roots:
            self._push(box)
        self.in_hand = []
        while self.open:
            known = None if self.incumbent.members is None else self.incumbent.objective
            self.report(known, min(self.bound, self.incumbent.objective))
            if self.open[0][0] >= self.cutoff or self.boxes > self.max_boxes or self.out_of_time():
                self.tied += [box for bound, _, box in self.open if self.cutoff <= bound < self.reach]
                break
            self.in_hand = [self.open[0][2]]
            box = heapq.heappop(self.open)[2]
            try:
                self._process(box)
            except OutOfTimeError:
                self._push(box)
            self.in_hand = []
        return self.bound

    @property
    def bound(self) -> float:
        """Proven for all deployments, whenever the search is stopped.

        Boxes are given up at the cutoff, so that nothing above it is proven.
        """
        least_open = self.open[0][0] if self.open else np.inf
        return min([least_open, self.unresolved, self.cutoff, *(box.bound for box in self.in_hand)])

    def break_ties(self, roots: list[Box]) -> None:
        """Search boxes for deployments that equal the incumbent and win the tie; a bounded effort."""
        ties = BoxTree(
            model=self.model,
            parameters=replace(self.parameters, efforts=self.parameters.efforts[:1]),
            incumbent=self.incumbent,
            gap=-TIED_OBJECTIVE,
            out_of_time=self.out_of_time,
            report=lambda incumbent, bound: None,  # of what is proven already
            max_boxes=TIE_BOXES,
        )
        ties.run(roots)

    @property
    def cutoff(self) -> float:
        """Objective below which a deployment improves on the incumbent by more than the gap."""
        value = self.incumbent.objective
        return value if self.incumbent.members is None else value - self.gap * abs(value)

    @property
    def reach(self) -> float:
        """Objective up to which deployments are looked at: as far as ties may lie, where they are to be settled."""
        value = self.incumbent.objective
        return value + TIED_OBJECTIVE * abs(value) if self.ties and self.incumbent.members is not None else self.cutoff

    def _closed(self, box: Box) -> bool:
        """Whether nothing in the box improves on the incumbent; notes where it might still tie."""
        if self.cutoff <= box.bound < self.reach:
            self.tied.append(box)
        return box.bound >= self.cutoff

    def _push(self, box: Box) -> None:
        if not box.empty() and not self._closed(box):
            self.boxes += 1
            heapq.heappush(self.open, (box.bound, self.boxes, box))

    def _process(self, box: Box) -> None:
        model, parameters = self.model, self.parameters
        root = box.bound == -np.inf
        eliminate_by_response(model, box)
        if box.empty():
            return
        if root:
            capacity = eliminate_by_paths(model, box, self.reach)
            box.prices = BoxPrices(even_flow(model), capacity)
            if box.empty():
                return
        iterations = parameters.iterations if root else parameters.iterations // 3
        raise_bound(model, box, self.reach, iterations, parameters.ascent_states, self.out_of_time)
        if box.empty():
            return
        if self._closed(box):
            return
        undecided = undecided_replicas(model, box, self.reach)
        efforts, whole, least_closed = parameters.efforts if root else parameters.efforts[:1], np.inf, 0.0
        if undecided is not None:
            whole, least_closed = WHOLE_SEARCH if root else 0, MIN_CLOSED_SHARE
            efforts = efforts if root else ((efforts[0][0], parameters.ascent_states),)
        if self._search_labels(box, efforts, whole, least_closed):
            return
        children = split_nodes(model, box) if undecided is None else split_replicas(box, *undecided)
        for child in children:
            self._push(child)
        if not children and not self._search_labels(box, parameters.efforts[1:]):
            self.unresolved = min(self.unresolved, box.bound)

    def _search_labels(
        self, box: Box, efforts: tuple[tuple[int, int], ...], whole: float = np.inf, least_closed: float = 0.0
    ) -> bool:
        """Search the box; True when nothing in it can beat the incumbent any more.

        A search that may try more than `whole` extensions of an operator ends when it cannot close the box any more. None follows
        one that closed less of the gap than `least_closed`.
        """
        for beam, states in efforts:
            plan = memory_plan(self.model, box, states)
            views = self._views(box, plan)
            if box.empty():
                return True
            if too_many(self.model, box, self.parameters.configurations):
                return False
            # Places among candidates must match the plan of the tables, so the box may not shrink in between.
            relaxation, tables = views[0]
            marginals = min_marginals(plan, tables, relaxation, self.out_of_time)
            onward = tails(self.model, box)
            choices = surviving_choices(self.model, box, plan, relaxation, marginals, onward, self.reach)
            if choices is None:
                return True
            self.configurations = max(self.configurations, len(choices.degree))
            search = BoxLabelSearch(self.model, box, plan, views, choices)
            floor = self.cutoff if beam * len(choices.degree) > whole else -np.inf
            result = search.run(self.reach, beam, floor, self.out_of_time)
            self.widest = max(self.widest, result.width)
            self.met = sorted([*self.met, *result.complete], key=lambda known: known[0])[:MAX_COMPLETE]
            if result.complete and result.complete[0][0] < self.incumbent.objective:
                self.incumbent.objective, self.incumbent.members = result.complete[0]
            gap = self.reach - box.bound
            box.bound = max(box.bound, result.dropped)
            if self._closed(box):
                return True
            if self.reach - box.bound > (1.0 - least_closed) * gap:
                break
            if self.out_of_time():
                raise OutOfTimeError
        return False

    def _views(self, box: Box, plan: MemoryPlan) -> list[tuple[BoxRelaxation, Tables]]:
        """Relaxations under the best prices, and with the flow tilted towards one path each; all of them eliminate."""
        model, best = self.model, box.prices
        paths = {tuple(path) for path in [*flow_paths(model, best.flow), *covering_paths(model)]}
        flows = [best.flow, *(0.5 * (best.flow + path_flow(model, list(path))) for path in sorted(paths))]
        views = []
        for flow in flows[: 1 + self.parameters.tilts]:
            relaxation = BoxRelaxation(model, box, replace(best, flow=flow), operator_flow(model, flow))
            tables = backward(model, plan, relaxation, self.out_of_time)
            box.drop(min_marginals(plan, tables, relaxation, self.out_of_time) + relaxation.surcharge() > self.reach)
            views.append((relaxation, tables))
        return views


def best_known(model: EliminationModel, known: Iterable[Ints | None]) -> BestConfigurations:
    """The best of some deployments; without any that is feasible, more than the largest value that one can have.

    Parameters
    ----------
    known
        Replicas per operator and node, shape (operators, nodes), in the order of the compiled problem; None for none.
    """
    best = BestConfigurations(max_objective(model.compiled) + 1e-6)
    for counts in known:
        improve(model, best, counts)
    return best


def improve(model: EliminationModel, incumbent: BestConfigurations, counts: Ints | None) -> None:
    """Put a feasible deployment in the incumbent's place if it is better."""
    objective = np.inf if counts is None else counts_objective(model.compiled, counts)
    if counts is None or objective == np.inf:
        return
    members = [model.compiled.members(counts)[i] for i in model.order]
    objective += _ties(model, counts, members)
    if objective < incumbent.objective:
        incumbent.objective, incumbent.members = objective, members


def _ties(model: EliminationModel, counts: Ints, members: Sequence[Ints32]) -> float:
    """Tie terms of a deployment, given as replicas and as configurations in search order."""
    compiled = model.compiled
    ties = (model.cost - compiled.weight["cost"]) * scaled_metric(compiled, "cost", counts)
    if compiled.current is not None:
        moved = np.maximum(counts - compiled.current, 0).sum(axis=1)
        gone = np.maximum(compiled.current - counts, 0).sum(axis=1)
        ties += TIE_MOVE * float(np.sum(np.maximum(moved, gone)))
    return ties + sum(float(model.tie_order(i)[nodes_of[nodes_of >= 0]].sum()) for i, nodes_of in enumerate(members))


def counts_of(model: EliminationModel, members: Sequence[Ints32]) -> Ints:
    """Replicas per operator and node, shape (operators, nodes), of configurations in search order."""
    counts = np.zeros(model.compiled.candidate.shape, np.int64)
    for i, nodes_of in zip(model.order, members, strict=True):
        np.add.at(counts[i], nodes_of[nodes_of >= 0], 1)
    return counts
