"""A problem as a program that a user may add to: formulate, add own rows and terms, solve, get a checked solution."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from edrp.backends.base import ProgramResult
from edrp.core.arrays import Floats
from edrp.core.errors import EdrpError
from edrp.core.expressions import Block, Expression
from edrp.core.program import Linear, Program
from edrp.core.solution import Answer
from edrp.core.wording import suggestion

Made = TypeVar("Made")


@dataclass(frozen=True, slots=True)
class Formulation(ABC):
    """A problem of any kind formulated as a program.

    Attributes
    ----------
    name : name of the program, one of those that there are for the kind of problem.
    program : rows, columns and objective terms may be added to it.
    model_objective : the problem's own objective, whatever the user makes of `program.objective`.
    model_rows, model_fixes : names of the blocks of rows, and number of calls of `fix`, that are the problem's; others are the
        user's.
    """

    problem: Any
    name: str
    program: Program
    model_objective: Linear
    build_seconds: float
    model_rows: set[str] = field(init=False)
    model_fixes: int = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "model_rows", set(self.program.row_blocks))
        object.__setattr__(self, "model_fixes", len(self.program.fixes))

    @abstractmethod
    def decode(self, values: Floats) -> Any:
        """The decision that a point of the program stands for."""

    @abstractmethod
    def encode(self, decision: Any) -> Floats | None:
        """A starting point for a solver, NaN where left to it; None where the program cannot express the decision."""

    @property
    def current(self) -> Any:
        """A decision that is known beforehand and may be feasible, such as the problem's current one; or None."""
        return getattr(self.problem, "current", None)

    @property
    def bound(self) -> float | None:
        """Lower bound that was proven while the program was built, or None."""
        return None

    @property
    def limits(self) -> Mapping[str, str]:
        """Limits of the problem that blocks of rows stand for, in words, by the block's name."""
        return {}

    @property
    def restriction(self) -> str:
        """Return as a sentence why nothing is proven beyond the program; empty where it stands for the whole problem."""
        return ""

    def add(self, rows: Any, name: str, *, lower: ArrayLike | None = None, upper: ArrayLike | None = None) -> None:
        """Add rows of your own to the program: a comparison of expressions, or an expression with bounds (`Program.add`)."""
        self.program.add(rows, name, lower=lower, upper=upper)

    def block(self, name: str) -> Expression:
        """A block of columns of the program as expressions (`Program.block`)."""
        return self.program.block(name)

    def objective_at(self, values: Floats, decision: Any) -> float:
        """The objective of a decision, decoded from `values`, as the program computes it."""
        return self.model_objective.value(values)

    def tie_breaks(self) -> tuple[Linear, ...]:
        """Expressions that decide, in this order, among decisions of equal objective."""
        return ()


@dataclass(frozen=True, slots=True)
class MetricFormulation(Formulation):
    """A formulation of a problem whose objective and limits are over metrics.

    Attributes
    ----------
    expressions : quantities and metrics as linear expressions.
    """

    expressions: Any

    @property
    def limits(self) -> Mapping[str, str]:
        """Limits on metrics, what the nodes offer, and hard rules."""
        named = {f"limits.{term.metric}": term for term in self.problem.terms if term.limit is not None}
        units = self.problem.metrics
        texts = {name: f"{name}: {t.limit:.6g} {units[t.metric].unit}".removesuffix(" 1") for name, t in named.items()}
        rules = {f"rules.{rule.name}": rule.demand for rule in self.problem.rules if rule.hard}
        return {"capacity": "resources of the nodes", **texts, **rules}

    @property
    def replicas(self) -> Block:
        """Number of replicas by operator and node of the network: `model.replicas["parser", "edge"]`."""
        block: Block = self.expressions.blocks.replicas
        return block

    @property
    def on(self) -> Block:
        """1 where an operator runs on a node of the network, else 0: `model.on[["parser", "counter"], "edge"]`."""
        return self._not_own(lambda: self.expressions.blocks.on)

    def any(self, cells: Expression, axis: int | tuple[int, ...] | None = None) -> Expression:
        """1 where any of some cells of `on` is 1, else 0, along some axes or over all; columns that are linked by rows.

        Raises
        ------
        TypeError
            For cells that may be other than 0 and 1.
        """
        return self._not_own(lambda: self.expressions.blocks.any(cells, axis))

    def metric(self, name: str) -> Linear:
        """A metric in its own unit (availability as −ln); only what is bounded or minimised is pressed down to its value.

        Raises
        ------
        EdrpError
            For an unknown name.
        """
        metrics = self.problem.metrics
        if name not in metrics:
            raise EdrpError(f"problems of kind {self.problem.kind!r} have no metric {name!r}{suggestion(name, metrics)}")
        return self._not_own(lambda: metrics[name].linearise(self.expressions))

    def exclude(self, decision: Any) -> None:
        """Cut off one deployment and nothing else, by one row of your own: the optimum is then the best of all others.

        Σ (1 − x over its columns) + Σ (x over all others) ≥ 1, over the binary columns that say which replicas run where.
        """
        point = self.encode(decision)
        if point is None:
            return  # The program cannot express it, and so it is cut off already.
        expressions = self.expressions
        columns = np.unique(np.concatenate([expressions.holdings(i).columns for i in range(len(expressions.compiled.operators))]))
        inside = point[columns] > 0.5
        others = Linear.of(columns, np.where(inside, -1.0, 1.0)) + float(inside.sum())
        self.program.add_row(f"other than deployment {self.program.rows}", others, lower=1.0)

    def _not_own(self, make: Callable[[], Made]) -> Made:
        """Blocks made with rows that define them, which are not the user's."""
        before = set(self.program.row_blocks)
        made = make()
        self.model_rows.update(self.program.row_blocks.keys() - before)
        return made

    def padded(self, start: Floats | None) -> Floats | None:
        """A starting point that leaves columns which a user has added to the solver."""
        return None if start is None else np.concatenate([start, np.full(self.program.columns - start.size, np.nan)])


ENDED = ("finished", "error")
"""Reasons for the end of a search that can go no further: without a decision it leaves no bound."""


def to_answer(formulation: Formulation, result: ProgramResult) -> Answer:
    """A backend's result as an answer about the problem."""
    program = formulation.program
    own_terms = program.objective is not formulation.model_objective
    decision, objective = None, None
    if result.values is not None:
        decision = formulation.decode(result.values)
        objective = formulation.objective_at(result.values, decision)
    notes = result.notes
    if own_terms:
        optimal = " and is optimal" if result.status == "optimal" else ""
        notes += (f"own terms were added to the objective: it was minimised with them{optimal}, the value shown is without",)
    if formulation.restriction:
        notes += (formulation.restriction,)
    status = result.status
    if status == "optimal" and (formulation.restriction or own_terms):
        status = "feasible"
    if status == "infeasible" and formulation.restriction:
        status = "none"
    bounds = [bound for bound in (formulation.bound, result.bound) if bound is not None]
    if formulation.restriction or own_terms or (decision is None and (status != "none" or result.stopped_because in ENDED)):
        bounds = []
    answer = Answer(
        status=status,
        stopped_because=result.stopped_because,
        decision=decision,
        objective=objective if result.settled and not own_terms else None,
        bound=max(bounds, default=None),
        size={"columns": program.columns, "rows": program.rows, "nonzeros": program.nonzeros},
        build_seconds=formulation.build_seconds,
        notes=notes,
    )
    return answer.resting_on("solver's word")


def best_feasible(problem: Any, decisions: Iterable[Any]) -> Any:
    """The feasible decision with the lowest objective, the first of equals; None where none is feasible, or all are None."""
    candidates = (decision for decision in decisions if decision is not None)
    rated = [(evaluation.objective, decision) for decision in candidates if (evaluation := problem.evaluate(decision)).feasible]
    return min(rated, key=lambda pair: pair[0])[1] if rated else None
