"""Search over labels, layer by layer, under a cutoff and with a limited number of labels per layer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from edrp import _native
from edrp.core.arrays import Bools, Floats, Ints, Ints32, flattened
from edrp.core.budget import spend
from edrp.formulations.placement.equal_nodes.codes import FIELD, MAX_LEVEL, MAX_OPEN
from edrp.formulations.placement.equal_nodes.model import Quotient
from edrp.formulations.placement.equal_nodes.state_graph import StateGraph
from edrp.formulations.placement.equal_nodes.values import PricedGraph

BOUND, DONE, COST, DOWN, SHARED = 0, 1, 2, 3, 4
"""Columns of labels: lower bound on the objective, latest finish of a sink, money/h, longest downtime, then the use of what is
shared; behind these the finish times of open operators, the load of each one's block, at its first operator, and the node that
the block has to be on, there, too (-1 for any)."""

EXTENSION_WORK, LABEL_WORK = 1e-8, 1e-6
"""Units of work for a row of the choices that is tried for a label, and for a label that is kept or compared."""

MIN_LABELS_PER_CALL = 1 << 15
"""Labels that one call of the kernel finds at least."""

COMPARABLE = 20_000
"""Labels that are compared with one another before any is given up for want of room."""


class ChoiceRows(NamedTuple):
    """The choices of one operator, an element per row.

    Arrays of `extend_labels` (edrp/native/formulations/placement/label_kernel.cpp).

    Attributes
    ----------
    number, classes, single, level, latency, cost, usage, load, downtime, anchor
        As in `OperatorChoices`, its level in the graph of states, and its load next to what stays (`Quotient.block_load`).
    """

    number: Ints
    classes: Ints
    single: Ints
    level: Ints
    latency: Floats
    cost: Floats
    usage: Floats
    load: Floats
    downtime: Floats
    anchor: Ints


class LabelLimits(NamedTuple):
    """The amounts that labels may use.

    Arrays of `extend_labels` (edrp/native/formulations/placement/label_kernel.cpp).

    Attributes
    ----------
    delay : as in `Quotient`.
    room : shape (classes + nodes, resources), for a block on any node of a class, and on each node.
    shared : of what is shared.
    scalars : levels, classes that have to be used (0: not asked for), objective per second and per money/h,
        limit on the response time and on the cost, objective per second of downtime, least downtime, and number of classes.
    streams : as `Quotient.stream_use`.
    """

    delay: Floats
    room: Floats
    shared: Floats
    scalars: Floats
    streams: Floats


class Ahead(NamedTuple):
    """Bounds on what comes after one operator's turn.

    Arrays of `extend_labels` (edrp/native/formulations/placement/label_kernel.cpp).

    Attributes
    ----------
    codes, table : states after it.
    value : shape (views, states).
    cut : shape (views, open operators), flow out of each.
    done : shape (views,), flow out of sinks that are placed.
    money, shared, constant : prices and constant of each view.
    moved : objective per second of the longest downtime so far, of each view.
    tail : shape (open operators,), seconds that must follow the finish of each.
    own_tail : seconds that must follow the operator itself, shape (1,).
    rest : money/h, and of each shared thing, that the operators to come need at least.
    """

    codes: Ints
    table: Ints32
    value: Floats
    cut: Floats
    done: Floats
    money: Floats
    shared: Floats
    constant: Floats
    moved: Floats
    tail: Floats
    own_tail: Floats
    rest: Floats


class LayerLabels(NamedTuple):
    """Labels of one layer.

    Arrays of `extend_labels` (edrp/native/formulations/placement/label_kernel.cpp).

    Attributes
    ----------
    values : shape (labels, columns).
    code : state.
    parent : label of the layer before.
    row : choice of the operator.
    local : senders whose node it joins, as bits in the order of its streams.
    """

    values: Floats
    code: Ints
    parent: Ints32
    row: Ints32
    local: Ints32


@dataclass(frozen=True)
class Pattern:
    """A placement over classes: what each operator chose, and which senders' nodes it shares.

    Attributes
    ----------
    objective : of any placement on nodes that realises it.
    rows : of the choices of the quotient, by operator.
    local : bits over the streams into each operator.
    """

    objective: float
    rows: Ints
    local: Ints


@dataclass(frozen=True)
class StateLabelResult:
    """The outcome of a search.

    Attributes
    ----------
    patterns : those found, the best first.
    dropped : least bound of labels that were given up for want of room; infinite when there were none.
    width : most labels in a layer.
    """

    patterns: list[Pattern]
    dropped: float
    width: int


class StateLabelSearch:
    """The tables of a search, for one graph of states and some relaxations of it."""

    def __init__(self, quotient: Quotient, graph: StateGraph, views: list[PricedGraph], alive: Bools) -> None:
        self.quotient, self.graph = quotient, graph
        choices = quotient.choices
        self.numbers = [np.flatnonzero(alive & (choices.operator == j)) for j in range(quotient.operators)]
        self.complete = all(numbers.size for numbers in self.numbers)
        if not self.complete:
            return
        self.rows = [self._rows(numbers) for numbers in self.numbers]
        usage_tables = [np.column_stack([choices.cost[numbers], choices.usage[numbers]]) for numbers in self.numbers]
        least_usage = np.array([table.min(axis=0) for table in usage_tables])
        self.most = np.array([table.max(axis=0) for table in usage_tables]).sum(axis=0)
        self.most += quotient.stream_use.max(axis=(2, 3)).sum(axis=1)
        self.rest = np.vstack([np.cumsum(least_usage[::-1], axis=0)[::-1], np.zeros(least_usage.shape[1])])
        self.tails = self._tails()
        self.ahead = [self._ahead(j, views) for j in range(quotient.operators)]

    def _rows(self, numbers: Ints) -> ChoiceRows:
        c, load = self.quotient.choices, self.quotient.block_load
        arrays: Any = (c.classes, c.single, self.graph.level, c.latency, c.cost, c.usage, load, c.downtime, c.anchor)
        return ChoiceRows(numbers, *(np.ascontiguousarray(array[numbers]) for array in arrays))

    def _tails(self) -> Floats:
        """Seconds that must follow the finish of each operator."""
        model, choices = self.quotient.model, self.quotient.choices
        tails = np.zeros(model.operators)
        fastest = [choices.latency[numbers].min() for numbers in self.numbers]
        for e in np.argsort(-model.target, kind="stable"):
            i, j = int(model.source[e]), int(model.target[e])
            tails[i] = max(tails[i], fastest[j] + tails[j])
        return tails

    def _ahead(self, j: int, views: list[PricedGraph]) -> Ahead:
        graph, model = self.graph, self.quotient.model
        opened = np.array(graph.opened[j + 1], np.int64)
        states = slice(graph.arcs.first_state[j + 1], graph.arcs.first_state[j + 2])
        later = model.target > j
        cut = np.array([[view.prices.flow[later & (model.source == i)].sum() for i in opened] for view in views])
        sources = self._sources_after(j)
        coming = [view.prices.through[sources].sum() for view in views]
        return Ahead(
            codes=graph.codes[j + 1],
            table=graph.table[j + 1],
            value=np.array([view.value[states] for view in views]),
            cut=cut.reshape(len(views), opened.size),
            done=np.array([max(0.0, v.prices.total - c - own) for v, c, own in zip(views, coming, cut.sum(axis=1), strict=True)]),
            money=np.array([view.prices.money for view in views]),
            shared=flattened(np.array([view.prices.shared for view in views])),
            # Labels know better which part of the constant is downtime.
            constant=np.array([view.constant - view.prices.waiting(self.quotient) for view in views]),
            moved=np.array([model.downtime - view.prices.moves[j + 1 :].sum() for view in views]),
            tail=self.tails[opened] if opened.size else np.zeros(0),
            own_tail=self.tails[j : j + 1],
            rest=self.rest[j + 1],
        )

    def _sources_after(self, j: int) -> list[int]:
        """Sources that are placed after an operator."""
        model = self.quotient.model
        return [i for i in range(j + 1, model.operators) if not len(model.incoming[i])]

    def run(
        self,
        cutoff: float,
        beam: int,
        patterns: int,
        out_of_time: Callable[[], bool],
        room: float = 1.0,
        told_apart: Bools | None = None,
    ) -> StateLabelResult:
        """Search for placements below the cutoff.

        Parameters
        ----------
        beam
            Labels per layer; those with the least bounds are kept.
        out_of_time
            Asked between chunks; what is not looked at counts as dropped.
        room
            Share of what is shared that may be used; below 1 the bound of the result holds for no other placements.
        told_apart
            Rows of the choices in which one placement must equal another to be given up for it, as in all of its blocks; shape
            (rows,). None where that does not matter.
        """
        if not self.complete:
            return StateLabelResult([], np.inf, 0)
        quotient = self.quotient
        limits = LabelLimits(
            quotient.delay, quotient.block_room, room * quotient.shared_capacity, self._scalars(), quotient.stream_use
        )
        layer = _zero_labels(1, SHARED + quotient.shared_capacity.size)
        history, dropped, width = [], np.inf, 0
        self.told_apart, self.kinds = told_apart, np.zeros(1, np.int64)
        for j in range(quotient.operators):
            layer, lost = self._extended(layer, j, limits, cutoff, beam, out_of_time)
            self.kinds = self._kinds(layer)
            dropped, width = min(dropped, lost), max(width, layer.code.size)
            history.append(layer)
            if not layer.code.size:
                return StateLabelResult([], dropped, width)
        best = np.argsort(layer.values[:, BOUND], kind="stable")
        if told_apart is not None:
            best = best[np.sort(np.unique(self.kinds[best], return_index=True)[1])]
        best, dropped = best[:patterns], min(dropped, *layer.values[best[patterns:], BOUND], np.inf)
        return StateLabelResult([self._pattern(history, int(label)) for label in best], dropped, width)

    def _scalars(self) -> Floats:
        q = self.quotient
        levels = MAX_LEVEL if not q.capacity.size else self.graph.levels
        limits = (q.model.response, q.model.cost, q.max_response, q.max_cost, q.model.downtime, q.least_downtime)
        return np.array([levels, self.graph.full, *limits, len(q.members)], float)

    def _extended(
        self, layer: LayerLabels, j: int, limits: LabelLimits, cutoff: float, beam: int, out_of_time: Callable[[], bool]
    ) -> tuple[LayerLabels, float]:
        """The next layer, and the least bound that was given up."""
        step = self.graph.steps[j]
        opened = step.kept.size + int(step.opens[0])
        columns = SHARED + limits.shared.size + opened * (2 + limits.room.shape[1])
        room = max(MIN_LABELS_PER_CALL, 2 * self.rows[j].number.size << step.parents.size)
        found = _zero_labels(room, columns)
        parts: list[LayerLabels] = []
        first, lost = 0, np.inf
        while first < layer.code.size:
            if out_of_time():
                lost = min(lost, float(layer.values[first:, BOUND].min()))
                break
            begun = first
            first, count = _native.extend_labels(layer, first, step, self.rows[j], limits, self.ahead[j], cutoff, found)
            spend(EXTENSION_WORK * (first - begun) * self.rows[j].number.size + LABEL_WORK * count)
            parts.append(_take(found, np.arange(count)))
            if sum(part.code.size for part in parts) > 3 * beam:
                merged, gone = self._reduced(_joined(parts), j, opened, cutoff, beam)
                parts, lost = [merged], min(lost, gone)
        merged, gone = self._reduced(_joined([*parts, _take(found, np.arange(0))]), j, opened, cutoff, beam)
        return merged, min(lost, gone)

    def _reduced(self, labels: LayerLabels, j: int, opened: int, cutoff: float, beam: int) -> tuple[LayerLabels, float]:
        """The undominated labels, at most as many as fit, and the least bound among those dropped."""
        labels, lost = _trimmed(labels, max(4 * beam, COMPARABLE))
        if j < self.quotient.operators - 1:
            # Only the structure is left of codes; how full nodes are is known exactly from the labels.
            group = labels.code.copy()
            for place in range(opened):
                first = (labels.code >> (FIELD * place + FIELD - 1) & 1).astype(bool)
                group[first] &= ~(MAX_LEVEL << (FIELD * place))
            if self.told_apart is not None:
                kinds = self._kinds(labels)
                group = np.unique(group, return_inverse=True)[1] * (1 + kinds.max(initial=0)) + kinds
            order = np.lexsort((labels.values[:, BOUND], group))
            model, least_downtime = self.quotient.model, self.quotient.least_downtime
            loads, coming = opened * self.quotient.capacity.shape[1], len(self._sources_after(j))
            shape = np.array([self.quotient.shared_capacity.size, opened, loads, coming])
            weights = np.array([model.response, model.cost, model.downtime, least_downtime])
            spend(LABEL_WORK * labels.code.size)
            # Mask of the limits that a label could still break, in the form that `undominated_labels` takes.
            q = self.quotient
            rest = cutoff - q.model.cost * self.rest[0, 0] - (q.model.downtime * q.least_downtime if q.least_downtime else 0.0)
            response = np.isfinite(q.max_response) and not rest < q.model.response * q.max_response
            cost = self.most[0] > q.max_cost and not cutoff < q.model.cost * q.max_cost
            binding = np.array([*(self.most[1:] > q.shared_capacity), response, cost], np.int64)
            labels = _take(labels, _native.undominated_labels(labels.values, order, group[order], shape, weights, binding))
        labels, more = _trimmed(labels, beam)
        return labels, min(lost, more)

    def _kinds(self, labels: LayerLabels) -> Ints:
        """Numbers of labels that are equal in the rows that are told apart, and in their blocks."""
        if self.told_apart is None:
            return self.kinds
        rows = np.where(self.told_apart[labels.row], 1 + labels.row, 0)
        kinds = (self.kinds[labels.parent] * (1 + self.told_apart.size) + rows << MAX_OPEN) + labels.local
        return np.unique(kinds, return_inverse=True)[1]

    def _pattern(self, history: list[LayerLabels], label: int) -> Pattern:
        rows, local = [], []
        objective = float(history[-1].values[label, BOUND])
        for layer in reversed(history):
            rows.append(layer.row[label])
            local.append(layer.local[label])
            label = int(layer.parent[label])
        return Pattern(objective, np.array(rows[::-1], np.int64), np.array(local[::-1], np.int64))


def _trimmed(labels: LayerLabels, count: int) -> tuple[LayerLabels, float]:
    """The labels with the least bounds, and the least bound that was given up."""
    if labels.code.size <= count:
        return labels, np.inf
    order = np.argpartition(labels.values[:, BOUND], count)
    return _take(labels, order[:count]), float(labels.values[order[count], BOUND])


def _zero_labels(count: int, columns: int) -> LayerLabels:
    return LayerLabels(
        values=np.zeros((count, columns)),
        code=np.zeros(count, np.int64),
        parent=np.zeros(count, np.int32),
        row=np.zeros(count, np.int32),
        local=np.zeros(count, np.int32),
    )


def _take(labels: LayerLabels, chosen: Ints) -> LayerLabels:
    columns: Any = labels
    return LayerLabels(*(array[chosen] for array in columns))


def _joined(parts: list[LayerLabels]) -> LayerLabels:
    columns: Any = zip(*parts, strict=True)
    return parts[0] if len(parts) == 1 else LayerLabels(*(np.concatenate(arrays) for arrays in columns))
