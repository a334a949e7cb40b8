"""Metrics of other packages and of users: classes with `evaluate` and `linearise`, registered under their names."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, cached_property
from typing import Annotated, Any, Protocol

import numpy as np
from pydantic import Field

from edrp.core.arrays import Floats, Ints
from edrp.core.document import Document, Faults
from edrp.core.errors import EdrpError, Fault, InvalidArgumentError
from edrp.core.expressions import Block, Expression, Rows
from edrp.core.late_imports import sparse
from edrp.core.plugins import added, own, refuse_taken
from edrp.core.problem import derived
from edrp.core.program import Linear
from edrp.core.tolerances import SAME_VALUE
from edrp.core.whole_numbers import common_step
from edrp.placement.deployment import Deployment
from edrp.placement.metrics.base import OVER_STREAMS, OWN, Expressions, MeasuredProblem, PlainMetric
from edrp.placement.metrics.downtime import Downtime
from edrp.placement.metrics.response_time import ResponseTime
from edrp.placement.rules.base import RuleModel

HOW_REGISTERED = "one of your own is registered by its package (entry point edrp.metrics) or edrp.register_metric"
"""What a user has to know whose weight, limit or priority names no metric."""

FAR = 1 << 40
"""First column of what rows cannot hold: flows of streams, response time and downtime, beyond all that `any` joins."""

MAX_COEFFICIENT, SOLVED_COEFFICIENT = 2.0**30, 2.0**20
"""Coefficient of a metric above which programs count in another unit, and the largest that they have then."""

MAX_COUNTED_STEPS = 10_000
"""Steps of a metric up to which a program counts them in an integer column: solvers then round its bound by themselves."""

OTHER_VALUES = ("penalties", "objective", "changes", "started_replicas", "moved_state", "running", "changing", "projected_cost")
"""What solutions, also those over time, have among or next to their metrics."""

OF_DOCUMENTS = ("own", "named", "of", "of_metrics", "with_limit")
"""What weights and limits have besides what all documents have."""


Total = Annotated[float, Field(gt=0, le=1e21)]
"""A limit on what up to 10⁶ operators add up to, of which each has at most 10¹⁵."""


class MetricDefinition(Protocol):
    """Interface of a metric of your own; `zero_because(problem)` may say why it is 0 whatever the deployment."""

    name: str
    unit: str

    def evaluate(self, problem: MeasuredProblem, deployment: Deployment) -> float:
        """The value in plain code; at least 0, and the smaller the better."""

    def linearise(self, model: MetricModel) -> Expression | list[Rows]:
        """The same over the blocks of `model`: an expression, the largest of an array of them, or the violations of rows."""


class MetricModel(RuleModel):
    """Expressions that a metric of your own is written over: those of rules, and what streams and changes take.

    Attributes
    ----------
    flows : share of a stream that flows from a node to a node (EDRP, eq. 4), shape (streams, nodes, nodes); streams are called
        "source → target".
    shares : share of an operator's replicas on each node, shape (operators, nodes).
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

    @cached_property
    def shares(self) -> Block:
        """Share of the replicas of each operator on each node."""
        first = FAR + 2 + math.prod(self._flow_shape)
        cells = Expression.of_columns(first + np.arange(self.replicas.size).reshape(self.replicas.shape))
        return Block(cells, operator=tuple(self.problem.application.by_name), node=tuple(self.problem.network.by_name))

    def place_sums(self, per_replica: Floats, whole: Floats, place: Ints) -> Expression:
        """What operators use at each place: per replica, and in all, of which each replica has an equal part.

        The second is linear in the replicas of operators whose number of replicas is fixed; others take `shares`.

        Parameters
        ----------
        per_replica, whole : shape (operators, nodes)
        place : shape (nodes,), index of the place of a node; -1 for none.

        Returns
        -------
        Expression
            Shape (places,).
        """
        operators = self.problem.application.by_name.values()
        fixed = np.array([operator.min_replicas == operator.max_replicas for operator in operators])  # type: ignore[attr-defined]
        most = np.array([operator.max_replicas for operator in operators], float)  # type: ignore[attr-defined]
        counted = per_replica + np.where(fixed, 1 / most, 0.0)[:, None] * whole
        rows, columns, factors = [], [], []
        for block, factor in ((self.replicas, counted), (self.shares, np.where(fixed[:, None], 0.0, whole))):
            used = (factor != 0) & (place >= 0)
            rows.append(np.broadcast_to(place, factor.shape)[used])
            columns.append(block.matrix.indices.reshape(factor.shape)[used].astype(np.int64))
            factors.append(factor[used])
        shape = (int(place.max(initial=-1)) + 1, 1 + max(int(part.max(initial=0)) for part in columns))
        triplets = (np.concatenate(factors), (np.concatenate(rows), np.concatenate(columns)))
        return Expression(sparse.csr_array(triplets, shape=shape), np.zeros(shape[0]))

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
    """What `linearise` of a metric has written, by the blocks that it is over: the sum over groups of the largest cell of each.

    Attributes
    ----------
    counted : of replicas, presence and what `any` joins, over the columns of `model`, with the constants.
    group : shape (cells,), ascending; a single group where an expression was written.
    as_rows : whether rows were written, whose violations are the cells.
    model : the blocks, which say what is joined.
    flows : shape (cells, streams, nodes, nodes); None without any.
    shares : shape (cells, operators, nodes); None without any.
    times : shape (cells, 2), coefficients of response time and downtime.
    """

    counted: Expression
    group: Ints
    as_rows: bool
    model: MetricModel
    flows: Floats | None
    shares: Floats | None
    times: Floats

    @property
    def in_rows(self) -> bool:
        """Whether numbers of replicas decide it alone, so that rows as those of rules say it."""
        return self.flows is None and self.shares is None and not self.times.any()

    @cached_property
    def step(self) -> Fraction | None:
        """A number of which every value is a whole multiple, exactly; None where there is none that is worth the name."""
        return common_step(np.concatenate([self.counted.matrix.data, self.counted.constant])) if self.in_rows else None

    @property
    def counted_step(self) -> float | None:
        """The step where no cell has more of them than an integer column is to count."""
        ceiling = _ceiling(abs(self.counted.matrix), np.abs(self.counted.constant), self.model)
        return float(self.step) if self.step is not None and ceiling.max() <= MAX_COUNTED_STEPS * self.step else None

    @property
    def unit(self) -> float:
        """What programs divide the rows by: a power of two where coefficients, such as bytes, are too large for tolerances."""
        largest = float(np.abs(self.counted.matrix.data).max(initial=0.0))
        return 2.0 ** math.ceil(math.log2(largest / SOLVED_COEFFICIENT)) if largest > MAX_COEFFICIENT else 1.0

    def value(self, problem: Any, deployment: Deployment) -> float:
        """The value that the expressions give a deployment."""
        counts = np.array([[held[node] for node in problem.network.by_name] for held in self._held(problem, deployment)], float)
        on = (counts > 0).ravel().astype(float)
        joined = [on[members].max(initial=0.0) for members in self.model.memberships]
        cells = self.counted.values(np.concatenate([counts.ravel(), on, joined]))
        by_operator = counts / counts.sum(axis=1, keepdims=True)
        if self.flows is not None:
            share = dict(zip(problem.application.by_name, by_operator, strict=True))
            flow = [np.outer(share[stream.source], share[stream.target]) for stream in problem.application.streams]
            cells = cells + np.tensordot(self.flows, np.array(flow), 3)
        if self.shares is not None:
            cells = cells + np.tensordot(self.shares, by_operator, 2)
        if self.times.any():
            seconds = ResponseTime().evaluate(problem, deployment), Downtime().evaluate(problem, deployment)
            cells = cells + np.multiply(self.times, seconds, out=np.zeros_like(self.times), where=self.times != 0).sum(axis=1)
        largest = np.maximum.reduceat(cells, np.flatnonzero(np.diff(self.group, prepend=-1)))
        return float(np.maximum(0.0, largest).sum() if self.as_rows else largest.sum())

    @staticmethod
    def _held(problem: Any, deployment: Deployment) -> Iterator[Any]:
        return (deployment.replicas(name) for name in problem.application.by_name)


def _cells(written: Any) -> tuple[Expression, Ints, bool]:
    """Cells of what `linearise` gives, the group of each, and whether they are violations of rows.

    Raises
    ------
    TypeError, ValueError
        Where that is neither an expression nor a list of rows, or empty.
    """
    if isinstance(written, Rows):
        raise TypeError(
            "`linearise` gives a comparison, which is a row; a metric is the expression alone, and limits bound it; "
            "one that is a sum of violations gives a list of rows"
        )
    if not (isinstance(written, list) and written and all(isinstance(part, Rows) for part in written)):
        expression = Expression.of(written)
        if not expression.size:
            raise ValueError("`linearise` gives an array without cells")
        return expression, np.zeros(expression.size, np.int64), False
    matrices, constants, groups, first = [], [], [], 0
    for rows in written:
        group = np.zeros(rows.expression.size, np.int64) if rows.shared else np.arange(rows.expression.size)
        for sign, bound in ((1.0, rows.upper.ravel()), (-1.0, rows.lower.ravel())):
            bounded = np.flatnonzero(np.isfinite(bound))
            matrices.append((sign * rows.expression.matrix[bounded]).tocoo())
            constants.append(-sign * bound[bounded])
            groups.append(first + group[bounded])
        first += int(group.max(initial=-1)) + 1
    starts = np.cumsum([0, *(part.size for part in constants)])
    row = np.concatenate([part.coords[0] + start for part, start in zip(matrices, starts[:-1], strict=True)])
    column = np.concatenate([part.coords[1].astype(np.int64) for part in matrices])
    order = np.argsort(np.concatenate(groups), kind="stable")
    shape = (int(starts[-1]), max(part.shape[1] for part in matrices))
    matrix = sparse.csr_array((np.concatenate([part.data for part in matrices]), (row, column)), shape=shape)
    return Expression(matrix[order], np.concatenate(constants)[order]), np.concatenate(groups)[order], True


@derived
def _written(problem: Any) -> dict[str, WrittenMetric]:
    """What metrics of your own have written over a problem, by name; filled as they are asked for."""
    return {}


class OwnMetric(PlainMetric):
    """A metric without kernels, registered or of this package; texts of its weight and limit are those of the class."""

    limit_type: Any = Total

    def __init__(self, definition: Any) -> None:
        self.definition, self.name, self.unit = definition, definition.name, getattr(definition, "unit", "1")
        self.weight_text, self.limit_text = (getattr(definition, f"{part}_text", "") for part in ("weight", "limit"))

    def part_in(self, problem: Any) -> str:
        """Whether rows that searches read say it, or columns that programs alone have."""
        return OWN if self.is_rows(problem) else OVER_STREAMS

    def is_rows(self, problem: Any) -> bool:
        """Whether weight and limit are rows as those of rules; a limit on a sum of violations takes columns of a program."""
        written = self.written(problem)
        return written.in_rows and not (written.as_rows and problem.limits.of(self.name) is not None)

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
        known = _written(problem)
        if self.name not in known:
            known[self.name] = self._write(problem)
        return known[self.name]

    def _write(self, problem: Any) -> WrittenMetric:
        model = MetricModel(problem)
        expression, group, as_rows = _cells(self.definition.linearise(model))
        if not (np.isfinite(expression.matrix.data).all() and np.isfinite(expression.constant).all()):
            raise ValueError("coefficients and constants of `linearise` must be finite numbers (got NaN or infinity)")
        matrix = expression.matrix.tocoo()
        row, column = (place.astype(np.int64) for place in matrix.coords)  # without entries, of 32 bits
        flat = expression.constant.ravel()
        flow_cells = math.prod(model._flow_shape)
        far, timed, sharing = column >= FAR, (column >= FAR) & (column < FAR + 2), column >= FAR + 2 + flow_cells
        flowing = far & ~timed & ~sharing
        if (matrix.data[timed | flowing] < 0).any():
            raise ValueError(
                "`linearise` gives a flow, response_time or downtime a coefficient below 0; "
                "programs press these down to their values, and would let what is maximised grow without end"
            )
        width = model.columns
        counted = sparse.csr_array((matrix.data[~far], (row[~far], column[~far])), shape=(flat.size, width))
        if not as_rows and (matrix.data < 0).any() and (_ceiling(counted, flat, model) <= 0).all() and not far.any():
            raise ValueError(
                "`linearise` is below 0 whatever the deployment; metrics are minimised and at least 0, so that what is to be "
                "large is taken from the most that there can be, such as `most - model.replicas.sum()`"
            )
        times, flows = np.zeros((flat.size, 2)), np.zeros((flat.size, flow_cells if flowing.any() else 0))
        np.add.at(times, (row[timed], column[timed] - FAR), matrix.data[timed])
        np.add.at(flows, (row[flowing], column[flowing] - FAR - 2), matrix.data[flowing])
        shaped = flows.reshape(flat.size, *model._flow_shape) if flowing.any() else None
        shares = np.zeros((flat.size, model.replicas.size if sharing.any() else 0))
        np.add.at(shares, (row[sharing], column[sharing] - FAR - 2 - flow_cells), matrix.data[sharing])
        shared = shares.reshape(flat.size, *model.replicas.shape) if sharing.any() else None
        return WrittenMetric(Expression(counted, flat), group, as_rows, model, shaped, shared, times)

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
    step : of which violations are whole multiples, so that programs count them; None where they are none, or too many.
    unit : by which rows are divided; penalty, limit and step are by this unit.
    """

    metric: OwnMetric
    penalty: float | None
    limit: float
    step: float | None = None
    unit: float = 1.0

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

    def linearise(self, model: RuleModel) -> list[Rows]:
        """Rows that are violated together, by the largest cell, or those that the metric itself has written."""
        written = self.metric.definition.linearise(MetricModel.over(model))
        if isinstance(written, list) and isinstance(written[0], Rows):
            parts = written
        else:
            rows: Rows = Expression.of(written) <= self.limit * self.unit
            parts = [Rows(rows.expression, rows.lower, rows.upper, shared=True)]
        return [Rows(p.expression / self.unit, p.lower / self.unit, p.upper / self.unit, shared=p.shared) for p in parts]


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
        if metric.is_rows(problem):
            unit, step = metric.written(problem).unit, metric.written(problem).counted_step
            if term.weight:
                rows.append(MetricRows(metric, term.coefficient * unit, 0.0, None if step is None else step / unit, unit))
            rows += [] if term.limit is None else [MetricRows(metric, None, term.limit / unit, unit=unit)]
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
        if len(faults) and name not in registered_metrics():
            continue  # what the package itself reads of a document is at fault already
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
