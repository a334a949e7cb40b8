"""Label search: complete deployments operator by operator, keeping the most promising labels.

The smallest bound among labels that the beam drops is a proven bound for everything it did not look at, so
that a gap is known at any width.

The configurations that survive in a box, with everything the label search adds up.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from edrp import _native
from edrp.core.arrays import Bools, Floats, Ints32
from edrp.core.budget import spend
from edrp.core.tolerances import LIMIT_SLACK, TIE_MOVE
from edrp.formulations.placement.elimination.beam import (
    DOWNTIME,
    FIXED,
    SINK,
    AllConfigurations,
    BeamLabels,
    Comparison,
    Configurations,
    Extensions,
    OperatorStage,
)
from edrp.formulations.placement.elimination.box import Box, BoxRelaxation
from edrp.formulations.placement.elimination.frontier import MemoryPlan, Tables
from edrp.formulations.placement.elimination.model import EliminationModel
from edrp.formulations.placement.elimination.paths import operator_flow
from edrp.formulations.placement.elimination.rules import RuleStage
from edrp.placement.compiled import NO_NODE, count_configurations, multisets
from edrp.placement.reconfiguration import downtime_floor, operator_downtimes


def too_many(model: EliminationModel, box: Box, limit: int) -> bool:
    """Whether some operator has more than `limit` configurations left."""
    return any(count_configurations(int(box.alive[i].sum()), int(most)) > limit for i, most in enumerate(box.most_replicas))


def surviving_choices(
    model: EliminationModel,
    box: Box,
    plan: MemoryPlan,
    relaxation: BoxRelaxation,
    marginals: Floats,
    tail: Floats,
    incumbent: float,
) -> Configurations | None:
    """Enumerate multisets over the surviving nodes and keep those that can still beat the incumbent.

    A configuration's bound is the min-marginal of any of its members' seats, with the operator's own term made exact.
    Returns None when some operator has none left.
    """
    flow = operator_flow(model, relaxation.prices.flow)
    parts = []
    for i in range(model.operators):
        bounds = _OperatorBounds(float(flow[i]), marginals[i], tail[i], incumbent)
        part = _operator_choices(model, box, plan, relaxation, i, bounds)
        if not len(part.degree):
            return None
        parts.append(part)
    start = np.cumsum([0] + [len(part.degree) for part in parts])
    width = max(part.members.shape[1] for part in parts)
    stacked = {}
    for name in Configurations._fields[1:]:
        values = [getattr(part, name) for part in parts]
        if name in ("members", "places") or (name == "tail" and model.instance_paths):
            padding = 0 if name == "tail" else NO_NODE
            values = [np.pad(value, ((0, 0), (0, width - value.shape[1])), constant_values=padding) for value in values]
        stacked[name] = np.concatenate(values)
    return Configurations(start=start.astype(np.int64), **stacked)


class _OperatorBounds(NamedTuple):
    """Bounds that the configurations of one operator must meet.

    `flow` through the operator, min-marginals of its seats (nodes, seats), minimum of seconds behind it on each node, and the
    objective of the incumbent.
    """

    flow: float
    marginal: Floats
    tail: Floats
    incumbent: float


def _operator_choices(
    model: EliminationModel, box: Box, plan: MemoryPlan, relaxation: BoxRelaxation, i: int, bounds: _OperatorBounds
) -> Configurations:
    """Surviving configurations of one operator."""
    flow, marginal, tail, incumbent = bounds
    members, penalty = model.rules.allowed(i, multisets(np.flatnonzero(box.alive[i]), int(box.most_replicas[i])))
    penalty = penalty + model.priced(i, members)
    used = members != NO_NODE
    degree = used.sum(axis=1)
    reference = np.where(model.compiled.overloads(int(model.order[i]), members), np.inf, box.latency[i, degree])
    slowest = np.where(used, model.speedup[members], np.inf).min(axis=1)
    latency = np.where(np.isfinite(reference), reference, 0.0) / slowest
    downtime, moved = _reconfiguration(model, i, members)
    cost = model.replica_cost[i] * degree
    rent = np.where(used, relaxation.rent[members, i], 0.0).sum(axis=1)
    together = ((members == members[:, :1]) | ~used).all(axis=1)
    seat = np.where(together, degree - 1, model.latency.shape[1] - 1)
    # Members without a seat left are no representatives; any other is, and the one that says most is taken.
    others = np.full(marginal.shape, -np.inf)
    np.subtract(marginal, relaxation.unary[i], out=others, where=box.anchor[i])
    best_other = np.where(used, others[members, seat[:, None]], -np.inf)
    number = np.full((model.nodes, int(plan.groups[i].max()) + 1), NO_NODE, np.int32)
    candidates = plan.candidates[i]
    number[candidates.node, candidates.group] = np.arange(candidates.node.size)
    places = np.where(np.isfinite(best_other), number[members, plan.groups[i][seat][:, None]], NO_NODE)
    telling, behind = best_other.argmax(axis=1), np.where(used, tail[members], 0.0)
    part = Configurations(
        start=np.zeros(1, np.int64),
        members=members,
        degree=degree,
        latency=latency,
        fixed=model.cost * cost + TIE_MOVE * moved + np.where(used, model.tie_order(i)[members], 0.0).sum(axis=1) + penalty,
        cost=cost,
        rent=rent,
        downtime=downtime,
        tail=behind if model.instance_paths else behind.max(axis=1, keepdims=True),
        places=places,
        anchor=places[np.arange(len(members)), telling].astype(np.int64),
        anchor_member=telling if model.instance_paths else np.zeros_like(telling),
    )
    own_cost = relaxation.alpha * flow * latency + relaxation.money * cost + rent + penalty
    own_cost += model.downtime * np.maximum(downtime - box.least, 0.0)
    hopeless = best_other.max(axis=1) + own_cost > incumbent
    fitting = _fits(model, i, members)
    survives = np.isfinite(reference) & ~hopeless & fitting & (downtime <= box.most) & np.isfinite(best_other.max(axis=1))
    return Configurations(part.start, *(values[survives] for values in part[1:]))


def _reconfiguration(model: EliminationModel, i: int, members: Ints32) -> tuple[Floats, Floats]:
    """Downtime and moved replicas of each configuration."""
    compiled = model.compiled
    if compiled.current is None:
        return np.zeros(len(members)), np.zeros(len(members))
    operator = int(model.order[i])
    downtime = operator_downtimes(compiled, operator, members)
    before = compiled.current[operator]
    used = members != NO_NODE
    multiplicity = (members[:, :, None] == members[:, None, :]) & used[:, :, None] & used[:, None, :]
    rank = np.tril(multiplicity, -1).sum(axis=2)  # how many equal members come earlier
    staying = (used & (before[members] > rank)).sum(axis=1)
    moved = np.maximum(used.sum(axis=1), before.sum()) - staying
    floor = downtime_floor(compiled)
    return np.where(moved > 0, np.maximum(downtime, floor), 0.0), moved.astype(float)


def _fits(model: EliminationModel, i: int, members: Ints32) -> Bools:
    """Whether a configuration alone stays within every node's capacity."""
    fitting = np.ones(len(members), bool)
    for replica in range(members.shape[1]):
        node = members[:, replica]
        count = (members == node[:, None]).sum(axis=1)
        need = count[:, None] * model.demand[i][None]
        fitting &= (node == NO_NODE) | (need <= model.capacity[node] * (1 + LIMIT_SLACK)).all(axis=1)
    return fitting


EXTENSION_WORK, KEPT_LABEL_WORK = 3e-9, 1e-6
"""Units of work for an extension that is tried, per view, and for one that is compared with others."""

SUMS_PER_ARRIVAL = 32
"""Sums of rules that count as much for the width of the beam as an arrival."""

MAX_COMPLETE = 20
"""Complete deployments of a search that are kept."""

EXTENSION_ROOM = 2_000_000
"""Extensions held at once (16 bytes each)."""
BATCH = 2_000_000
"""Extensions tried between two looks at the clock."""


@dataclass(slots=True)
class BoxLabelResult:
    """Result of a label search.

    `complete`: the best deployments, best first, each with its objective and one configuration per operator, in search
    order. `dropped`: smallest bound that the beam gave up; infinite when nothing was. `width`: most labels alive at once.
    """

    complete: list[tuple[float, list[Ints32]]]
    dropped: float
    width: int


@dataclass(slots=True)
class BoxLabelSearch:
    """Label search within one box.

    `views` are relaxations of the box with their backward tables; they share all prices but differ in their
    flow. A label is as good as the worst that any of them says of it: which path will be critical depends on
    the label.
    """

    model: EliminationModel
    box: Box
    plan: MemoryPlan
    views: list[tuple[BoxRelaxation, Tables]]
    choices: Configurations

    @property
    def relaxation(self) -> BoxRelaxation:
        """Relaxation under the best prices found."""
        return self.views[0][0]

    def run(self, incumbent: float, beam: int, floor: float, out_of_time: Callable[[], bool]) -> BoxLabelResult:
        """Search for a deployment below `incumbent`; `beam` labels survive each operator, fewer where each is large.

        It ends as soon as the beam discards a label with a bound below `floor`.
        """
        model, choices = self.model, self.choices
        configurations = AllConfigurations(choices, model.delay, model.price, model.demand)
        arrivals = choices.tail.shape[1]
        starts = choices.start
        rules = model.rules.stages([choices.members[starts[i] : starts[i + 1]] for i in range(model.operators)])
        sums = rules[0].added.shape[1]
        beam = max(1, beam // (arrivals + sums // SUMS_PER_ARRIVAL))
        labels = BeamLabels.empty(1, model.operators, arrivals, sums, len(self.views))
        result = BoxLabelResult([], np.inf, 0)

        def ends() -> bool:
            """Whether time is up, or labels were given up that this search must not give up."""
            return out_of_time() or result.dropped < floor

        for i in range(model.operators):
            stage = self._stage(i, rules[i])
            extensions = self._expand(stage, configurations, labels, incumbent, 2 * beam, result, ends)
            if ends():
                result.dropped = min(result.dropped, self.box.bound)
                return result
            if not extensions.parent.size:
                return result
            extensions = extensions.take(np.argsort(extensions.parent, kind="stable"))
            target = BeamLabels.empty(extensions.parent.size, model.operators, arrivals, sums, len(self.views))
            _native.gather_labels(stage, configurations, labels, extensions, target)
            labels = self._thin(i, configurations, target, extensions.bounds, beam, result) if i < model.operators - 1 else target
            result.width = max(result.width, len(labels.chosen))
        result.complete = self._best(labels)
        return result

    def _stage(self, i: int, rules: RuleStage) -> OperatorStage:
        model, choices, box = self.model, self.choices, self.box
        cut = slice(int(choices.start[i]), int(choices.start[i + 1]))
        open_now = [j for j in range(i) if any(model.target[e] > i for e in model.outgoing[j])]
        onward = self._onward([*open_now, i], i)
        remembered = self.plan.memory[i]
        strides, stride = {}, 1
        for j in reversed(remembered):
            strides[j] = stride
            stride *= self.plan.candidates[j].node.size
        later = range(i + 1, model.operators)
        ahead = [e for e in self.views[0][1].ahead if model.source[e] <= i < model.target[e]]
        early = [e for e in ahead if model.source[e] < i]
        sizes = [self.plan.candidates[model.source[e]].node.size for e in early]
        own_early = np.zeros((len(self.views), self.plan.candidates[i].node.size))
        for e in sorted(set(ahead) - set(early)):
            own_early += np.array([tables.ahead[e] for _, tables in self.views])
        is_sink = not len(model.outgoing[i])
        if is_sink:
            onward[:, -1] = [operator_flow(model, relaxation.prices.flow)[i] for relaxation, _ in self.views]
        kept: list[Any] = [values[cut] for values in choices[1:]]
        return OperatorStage(
            placed=i,
            own=Configurations(np.zeros(1, np.int64), *kept),
            tail_source=model.source[model.incoming[i]],
            tail_rate=model.rate[model.incoming[i]],
            open_operator=np.array(open_now, np.int64),
            open_flow=np.ascontiguousarray(onward[:, :-1]),
            own_flow=np.ascontiguousarray(onward[:, -1]),
            is_sink=is_sink,
            remembered=np.array([j for j in remembered if j != i], np.int64),
            stride=np.array([strides[j] for j in remembered if j != i], np.int64),
            own_stride=strides.get(i, 0),
            tables=np.array([tables.after[i] for _, tables in self.views]),
            rest_fixed=float(sum(choices.fixed[choices.start[j] : choices.start[j + 1]].min() for j in later)),
            rest_cost=float(sum(choices.cost[choices.start[j] : choices.start[j + 1]].min() for j in later)),
            demand=model.demand[i],
            capacity=model.capacity,
            nodes=np.flatnonzero(box.alive[i]),
            limits=model.limits[[0, 1, 3]],
            alpha=self.relaxation.alpha,
            money_price=self.relaxation.money,
            response=model.response,
            weight_downtime=model.downtime,
            least_downtime=box.least,
            early_operator=model.source[early].astype(np.int64),
            early_start=np.cumsum([0, *sizes])[:-1].astype(np.int64),
            early=np.array([np.concatenate([np.zeros(0), *(tables.ahead[e] for e in early)]) for _, tables in self.views]),
            own_early=own_early,
            goes_on=i in remembered or len(ahead) > len(early),
            constants=np.array([relaxation.constant for relaxation, _ in self.views]),
            price_cost=model.cost,
            price_usage=model.usage,
            rules=rules,
        )

    def _onward(self, operators: list[int], i: int) -> Floats:
        """Flow of each view out of operators to those behind operator i, shape (flows, operators)."""
        model = self.model
        later = [[e for e in model.outgoing[j] if model.target[e] > i] for j in operators]
        return np.array([[relaxation.prices.flow[streams].sum() for streams in later] for relaxation, _ in self.views])

    def _expand(
        self,
        stage: OperatorStage,
        configurations: AllConfigurations,
        labels: BeamLabels,
        incumbent: float,
        keep: int,
        result: BoxLabelResult,
        out_of_time: Callable[[], bool],
    ) -> Extensions:
        """All extensions within the incumbent, or the best `keep` of them."""
        count = len(labels.chosen)
        room = min(max(EXTENSION_ROOM, 2 * keep + len(stage.own.degree)), count * len(stage.own.degree) + len(stage.own.degree))
        extensions, filled, row, cutoff = Extensions.empty(room), 0, 0, incumbent
        while row < count and not out_of_time():
            last = min(count, row + max(1, BATCH // len(stage.own.degree)))
            begun = row
            filled, row = _native.expand_labels(stage, configurations, labels, row, last, cutoff, extensions, filled)
            spend(EXTENSION_WORK * (row - begun) * len(stage.own.degree) * (len(self.views) + stage.rules.row.size))
            if filled > keep and (row < last or row == count):
                best = np.argpartition(extensions.bounds[:filled], keep)
                result.dropped = min(result.dropped, float(extensions.bounds[best[keep:]].min()))
                for best_values, values in zip(extensions.take(best[:keep]), extensions, strict=True):
                    values[:keep] = best_values
                filled = keep
                # What is above the worst of the kept would be dropped anyway; what lies between is now proven dropped.
                cutoff = min(cutoff, float(extensions.bounds[:keep].max()))
                result.dropped = min(result.dropped, cutoff) if row < count else result.dropped
        return extensions.take(slice(filled))

    def _thin(
        self, i: int, configurations: AllConfigurations, labels: BeamLabels, bounds: Floats, beam: int, result: BoxLabelResult
    ) -> BeamLabels:
        """Remove dominated labels, then all but the best `beam`."""
        model = self.model
        frontier = np.array([j for j in range(i + 1) if any(model.target[e] > i for e in model.outgoing[j])], np.int64)
        pending = np.flatnonzero(model.rules.pending(i))
        later = self._most_taken(i + 1)
        nodes = np.flatnonzero((later > 0).any(axis=1))
        comparison = Comparison(i + 1, frontier, pending, nodes, (model.capacity - later)[nodes])
        spend(KEPT_LABEL_WORK * len(bounds))
        keys = np.zeros(len(bounds), np.uint64)
        _native.hash_labels(labels, comparison, keys)
        order = np.lexsort((labels.sums[:, FIXED], keys))
        dominated = np.zeros(len(bounds), bool)
        _native.mark_dominated_labels(configurations, labels, order, keys, comparison, dominated)
        rows = np.flatnonzero(~dominated)
        if rows.size > beam:
            best = np.argpartition(bounds[rows], beam)
            result.dropped = min(result.dropped, float(bounds[rows[best[beam:]]].min()))
            rows = np.sort(rows[best[:beam]])
        return labels.take(rows)

    def _most_taken(self, first: int) -> Floats:
        """The most that operators from `first` on can take of each node, as configured, shape (nodes, resources)."""
        model, choices = self.model, self.choices
        taken = np.zeros_like(model.capacity)
        for i in range(first, model.operators):
            members = choices.members[choices.start[i] : choices.start[i + 1]]
            most = np.zeros(model.nodes + 1, np.int64)  # the last for replicas that are not there
            for column in members.T:
                np.maximum.at(most, column, (members == column[:, None]).sum(axis=1))
            taken += most[:-1, None] * model.demand[i]
        return taken

    def _best(self, labels: BeamLabels) -> list[tuple[float, list[Ints32]]]:
        model, choices = self.model, self.choices
        total = labels.sums[:, FIXED] + model.response * labels.sums[:, SINK] + model.downtime * labels.sums[:, DOWNTIME]
        best = np.argsort(total, kind="stable")[:MAX_COMPLETE]
        rows = choices.start[:-1] + labels.chosen[best]
        return [(float(total[k]), [choices.members[row].copy() for row in places]) for k, places in zip(best, rows, strict=True)]
