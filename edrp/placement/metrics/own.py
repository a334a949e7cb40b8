"""Metrics of other packages and of users: classes with `evaluate` and `linearise`, registered under their names."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any, Protocol

import numpy as np

from edrp.core.arrays import Floats
from edrp.core.document import Document, Faults
from edrp.core.errors import EdrpError, Fault, InvalidArgumentError
from edrp.core.expressions import Block, Expression, Rows
from edrp.core.late_imports import sparse
from edrp.core.plugins import added, own, refuse_taken
from edrp.core.program import Linear
from edrp.core.tolerances import SAME_VALUE
from edrp.placement.deployment import Deployment
from edrp.placement.metrics.base import OVER_STREAMS, OWN, Expressions, MeasuredProblem, PlainMetric
from edrp.placement.metrics.downtime import Downtime
from edrp.placement.metrics.response_time import ResponseTime
from edrp.placement.rules.base import RuleModel

HOW_REGISTERED = "one of your own is registered by its package (entry point edrp.metrics) or edrp.register_metric"
"""What a user has to know whose weight, limit or priority names no metric."""

FAR = 1 << 40
"""First column of what rows cannot hold: flows of streams, response time and downtime, beyond all that `any` joins."""

OTHER_VALUES = ("penalties", "objective", "changes", "started_replicas", "moved_state", "running", "changing", "projected_cost")
"""What solutions, also those over time, have among or next to their metrics."""

OF_DOCUMENTS = ("own", "of", "of_metrics", "with_limit")
"""What weights and limits have besides what all documents have."""


class MetricDefinition(Protocol):
    """Interface of a metric of your own; `zero_because(problem)` may say why it is 0 whatever the deployment."""

    name: str
    unit: str

    def evaluate(self, problem: MeasuredProblem, deployment: Deployment) -> float:
        """The value in plain code; at least 0, and the smaller the better."""

    def linearise(self, model: MetricModel) -> Expression:
        """The same over the blocks of `model`; of an array of expressions, the largest is the value."""


class MetricModel(RuleModel):
    """Expressions that a metric of your own is written over: those of rules, and what streams and changes take.

    Attributes
    ----------
    flows : share of a stream that flows from a node to a node (EDRP, eq. 4), shape (streams, nodes, nodes); streams are called
        "source → target".
    response_time, downtime : seconds; programs press them down to their values, so that their coefficients are at least 0, as
        are those of flows.

    Examples
    --------
    >>> from edrp.datasets.placement.debs2015 import debs2015
    >>> model = MetricModel(debs2015())
    >>> model.any(model.on, axis=0).sum() / len(model.problem.network.nodes)
    <1 linear expression of 15 terms>
    """

    @classmethod
    def over(cls, model: RuleModel) -> MetricModel:
        """The blocks next to those of a model of rules, with which it shares what `any` joins."""
        blocks = cls(model.problem)
        blocks.memberships = model.memberships
        return blocks

    @property
    def _flow_shape(self) -> tuple[int, int, int]:
        nodes = len(self.problem.network.by_name)
        return len(self.problem.application.streams), nodes, nodes

    @cached_property
    def flows(self) -> Block:
        """Share of each stream that flows between two nodes."""
        shape, nodes = self._flow_shape, tuple(self.problem.network.by_name)
        streams = [f"{stream.source} → {stream.target}" for stream in self.problem.application.streams]
        cells = Expression.of_columns(FAR + 2 + np.arange(math.prod(shape)).reshape(shape))
        return Block(cells, stream=streams, sender=nodes, receiver=nodes)

    @property
    def response_time(self) -> Expression:
        """Seconds of the critical path (EDRP, eq. 5)."""
        return Expression.of_columns(FAR)

    @property
    def downtime(self) -> Expression:
        """Seconds of the reconfiguration (EDRP, eq. 10)."""
        return Expression.of_columns(FAR + 1)


@dataclass(frozen=True)
class WrittenMetric:
    """What `linearise` of a metric has written, by the blocks that it is over; the largest cell is the value.

    Attributes
    ----------
    counted : of replicas, presence and what `any` joins, over the columns of `model`, with the constants.
    model : the blocks, which say what is joined.
    flows : shape (cells, streams, nodes, nodes); None without any.
    times : shape (cells, 2), coefficients of response time and downtime.
    """

    counted: Expression
    model: MetricModel
    flows: Floats | None
    times: Floats

    @property
    def in_rows(self) -> bool:
        """Whether numbers of replicas decide it alone, so that rows as those of rules say it."""
        return self.flows is None and not self.times.any()

    def value(self, problem: Any, deployment: Deployment) -> float:
        """The value that the expressions give a deployment."""
        counts = np.array([[held[node] for node in problem.network.by_name] for held in self._held(problem, deployment)], float)
        on = (counts > 0).ravel().astype(float)
        joined = [on[members].max(initial=0.0) for members in self.model.memberships]
        cells = self.counted.values(np.concatenate([counts.ravel(), on, joined]))
        if self.flows is not None:
            share = dict(zip(problem.application.by_name, counts / counts.sum(axis=1, keepdims=True), strict=True))
            flow = [np.outer(share[stream.source], share[stream.target]) for stream in problem.application.streams]
            cells = cells + np.tensordot(self.flows, np.array(flow), 3)
        if self.times.any():
            seconds = ResponseTime().evaluate(problem, deployment), Downtime().evaluate(problem, deployment)
            cells = cells + np.multiply(self.times, seconds, out=np.zeros_like(self.times), where=self.times != 0).sum(axis=1)
        return float(cells.max())

    @staticmethod
    def _held(problem: Any, deployment: Deployment) -> Iterator[Any]:
        return (deployment.replicas(name) for name in problem.application.by_name)


class OwnMetric(PlainMetric):
    """A metric without kernels, registered or of this package; texts of its weight and limit are those of the class."""

    def __init__(self, definition: Any) -> None:
        self.definition, self.name, self.unit = definition, definition.name, getattr(definition, "unit", "1")
        self.weight_text, self.limit_text = (getattr(definition, f"{part}_text", "") for part in ("weight", "limit"))

    def part_in(self, problem: Any) -> str:
        """Whether rows that searches read say it, or columns that programs alone have."""
        return OWN if self.written(problem).in_rows else OVER_STREAMS

    def evaluate(self, problem: Any, deployment: Any) -> float:
        """Value of the class.

        Raises
        ------
        EdrpError
            Where that is no number of at least 0; infinite says that a deployment has no value.
        """
        value = self.definition.evaluate(problem, deployment)
        if not isinstance(value, (int, float, np.number)) or not value >= 0:
            need = "a metric is a number of at least 0, and the smaller the better"
            raise EdrpError(f"`evaluate` of the metric {self.name!r} gives {value!r} of {dict(deployment)}; {need}")
        return float(value)

    def written(self, problem: Any) -> WrittenMetric:
        """What `linearise` of the class writes over the blocks of a problem.

        Raises
        ------
        TypeError, ValueError
            Where that is no expression, none of finite numbers, or presses something up that programs press down.
        """
        model = MetricModel(problem)
        written = self.definition.linearise(model)
        if isinstance(written, Rows):
            raise TypeError(
                "`linearise` gives a comparison, which is a row; a metric is the expression alone, and limits bound it"
            )
        expression = Expression.of(written)
        if not expression.size:
            raise ValueError("`linearise` gives an array without cells")
        if not (np.isfinite(expression.matrix.data).all() and np.isfinite(expression.constant).all()):
            raise ValueError("coefficients and constants of `linearise` must be finite numbers (got NaN or infinity)")
        matrix = expression.matrix.tocoo()
        row, column = (place.astype(np.int64) for place in matrix.coords)  # without entries, of 32 bits
        flat = expression.constant.ravel()
        far, timed, flowing = column >= FAR, (column >= FAR) & (column < FAR + 2), column >= FAR + 2
        if (matrix.data[far] < 0).any():
            raise ValueError(
                "`linearise` gives a flow, response_time or downtime a coefficient below 0; "
                "programs press these down to their values, and would let what is maximised grow without end"
            )
        width = model.columns
        counted = sparse.csr_array((matrix.data[~far], (row[~far], column[~far])), shape=(flat.size, width))
        if (matrix.data < 0).any() and (_ceiling(counted, flat, model) <= 0).all() and not far.any():
            raise ValueError(
                "`linearise` is below 0 whatever the deployment; metrics are minimised and at least 0, so that what is to be "
                "large is taken from the most that there can be, such as `most - model.replicas.sum()`"
            )
        times, flows = np.zeros((flat.size, 2)), np.zeros((flat.size, math.prod(model._flow_shape) if flowing.any() else 0))
        np.add.at(times, (row[timed], column[timed] - FAR), matrix.data[timed])
        np.add.at(flows, (row[flowing], column[flowing] - FAR - 2), matrix.data[flowing])
        shaped = flows.reshape(flat.size, *model._flow_shape) if flowing.any() else None
        return WrittenMetric(Expression(counted, flat), model, shaped, times)

    def linearise(self, expressions: Expressions) -> Linear:
        """The same over the columns of a program."""
        return expressions.own_metric(self.name, self.written(expressions.compiled.problem))

    def contradiction(self, problem: Any, deployment: Deployment) -> str:
        """In words how `evaluate` and `linearise` disagree about a deployment, or ""."""
        value, same = self.evaluate(problem, deployment), self.written(problem).value(problem, deployment)
        if value == same or abs(value - same) <= SAME_VALUE * max(1.0, same):
            return ""
        return f"metric '{self.name}' contradicts itself: {value!r} says `evaluate`, {same!r} says `linearise`"

    def zero_because(self, problem: Any) -> str:
        """What the class says, if anything."""
        say = getattr(self.definition, "zero_because", None)
        return str(say(problem) or "") if say else ""


def _ceiling(counted: sparse.csr_array, constant: Floats, model: MetricModel) -> Floats:
    """What no deployment exceeds, by cell."""
    nodes = len(model.problem.network.by_name)
    most = [operator.max_replicas for operator in model.problem.application.by_name.values()]  # type: ignore[attr-defined]
    ends = np.concatenate([np.repeat(np.array(most, float), nodes), np.ones(model.columns - len(most) * nodes)])
    return np.asarray(counted.maximum(0) @ ends + constant)


@dataclass(frozen=True)
class MetricRows:
    """The weight, or the limit, of a metric of your own as rows among those of rules.

    Attributes
    ----------
    metric : the metric.
    penalty : objective per unit; None where the rows are its limit.
    limit : on the metric; 0 where the rows are its weight.
    """

    metric: OwnMetric
    penalty: float | None
    limit: float

    @property
    def hard(self) -> bool:
        """Whether the rows are a limit."""
        return self.penalty is None

    @property
    def name(self) -> str:
        """Name of the metric."""
        return str(self.metric.name)

    @property
    def block(self) -> str:
        """Name of the rows in programs."""
        return f"{'limits' if self.hard else 'metrics'}.{self.name}"

    @property
    def scale(self) -> float:
        """Size that rounding is relative to."""
        return self.limit or 1.0

    def linearise(self, model: RuleModel) -> Rows:
        """Rows that are violated together, by the largest cell."""
        rows: Rows = Expression.of(self.metric.definition.linearise(MetricModel.over(model))) <= self.limit
        return Rows(rows.expression, rows.lower, rows.upper, shared=True)


def own_metrics(problem: Any) -> Iterator[tuple[Any, OwnMetric]]:
    """Metrics of your own that have a weight or a limit in a problem, after their terms."""
    for term in problem.terms:
        metric = problem.metrics[term.metric]
        if isinstance(metric, OwnMetric) and (term.weight or term.limit is not None):
            yield term, metric


def metric_rows(problem: Any) -> tuple[MetricRows, ...]:
    """Weights and limits on metrics of your own that rows can say."""
    rows = []
    for term, metric in own_metrics(problem):
        if metric.written(problem).in_rows:
            rows += [MetricRows(metric, term.coefficient, 0.0)] if term.weight else []
            rows += [] if term.limit is None else [MetricRows(metric, None, term.limit)]
    return tuple(rows)


def check_metrics(problem: Any, faults: Faults) -> None:
    """Note metrics of your own whose `linearise` does not fit the problem, at their weight, limit or priority."""
    places: dict[str, tuple[tuple[str | int, ...], Any]] = {
        priority.metric: (("priorities", index, "metric"), priority.metric) for index, priority in enumerate(problem.priorities)
    }
    for term, metric in own_metrics(problem):
        places[metric.name] = ("weights" if term.weight else "limits", metric.name), term.weight or term.limit
    for name, (place, value) in places.items():
        metric = problem.metrics.get(name)
        try:
            if isinstance(metric, OwnMetric):
                metric.written(problem)
        except (EdrpError, TypeError, ValueError) as error:
            faults.add(place, value, f"is on a metric that does not fit this problem: {error}")


@cache
def registered_metrics() -> dict[str, OwnMetric]:
    """Metrics by name; installed packages offer their classes by the entry point `edrp.metrics`."""
    found: dict[str, OwnMetric] = {}
    for metric in added("edrp.metrics"):
        _add(found, metric)
    return found


def register_metric(metric: Any, *, replace: bool = False) -> None:
    """Register a metric of your own for problems of kind `edrp`, and those over time.

    Weights, limits, priorities and fronts take its name as any other; it needs no limit to have a weight. It travels to the
    workers of batches and to Spark as methods do. A package offers its classes by the entry point `edrp.metrics`.

    Parameters
    ----------
    metric
        Class without parameters, or an instance of one (`MetricDefinition`), with `name` and `unit` ("1" if left out).
    replace
        Whether to replace a metric that was registered before.

    Raises
    ------
    InvalidArgumentError
        When it has no name, `evaluate` or `linearise`, its name is taken, or its class cannot be made without parameters.

    Examples
    --------
    >>> class Operators:
    ...     name, unit = "operators_in_the_cloud", "1"
    ...     def evaluate(self, problem, deployment):
    ...         return sum("cloud" in deployment[operator] for operator in deployment)
    ...     def linearise(self, model):
    ...         return model.on[:, "cloud"].sum()
    >>> register_metric(Operators)
    """
    _add(registered_metrics(), metric, replace)


def _add(found: dict[str, OwnMetric], metric: Any, replace: bool = False) -> None:
    """Add a metric to those that were found, unless it is none or its name is taken."""
    name = getattr(metric, "name", None)
    lacking = [what for what in ("evaluate", "linearise") if not callable(getattr(metric, what, None))]
    if not isinstance(name, str) or not name.isidentifier() or lacking or not isinstance(getattr(metric, "unit", "1"), str):
        need = "give a class with `name`, an identifier, `unit`, `evaluate` and `linearise`"
        raise _refused("metric", f"is {metric!r}; {need}")
    if name in own("edrp.weights").model_fields or name in OTHER_VALUES:
        refuse_taken("edrp.register_metric(metric)", f"a metric called {name!r}", ours=True, replace=replace)
    if name in found:
        refuse_taken("edrp.register_metric(metric)", f"a metric called {name!r}", ours=False, replace=replace)
    if name.startswith("_") or hasattr(Document, name) or name in OF_DOCUMENTS:
        raise _refused("name", f"is {name!r}, which objects of weights and limits have already; choose another name")
    try:
        found[name] = OwnMetric(metric() if isinstance(metric, type) else metric)
    except TypeError as error:
        raise _refused("metric", f"is {metric!r}, which cannot be made without parameters: {error}; give an instance") from error


def _refused(place: str, why: str) -> InvalidArgumentError:
    return InvalidArgumentError([Fault(place, "", why)], "edrp.register_metric")
