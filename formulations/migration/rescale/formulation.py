"""Problems of kind `rescale` as programs over ranges, and why such a program is infeasible."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from time import perf_counter

import numpy as np

from edrp.core.arrays import Floats
from edrp.core.budget import now
from edrp.core.errors import ProblemTooLargeError
from edrp.core.program import Linear
from edrp.formulations.clashes import Question, limit_demands
from edrp.formulations.formulation import Formulation
from edrp.formulations.migration.rescale.expressions import RangeExpressions
from edrp.formulations.placement.builder import add_capacity_rows, add_objective_and_limits
from edrp.migration.rescale.arrays import compile_rescale
from edrp.migration.rescale.deployment import KeyedDeployment
from edrp.migration.rescale.problem import RescaleProblem


@dataclass(frozen=True, slots=True)
class RescaleFormulation(Formulation):
    """A problem of kind `rescale` formulated as a program."""

    expressions: RangeExpressions

    @property
    def current(self) -> KeyedDeployment | None:
        """The current deployment."""
        deployment: KeyedDeployment | None = self.problem.current
        return deployment

    @property
    def limits(self) -> Mapping[str, str]:
        """Limits on metrics, and what the nodes offer."""
        units = self.problem.metrics
        texts = {
            f"limits.{t.metric}": f"limits.{t.metric}: {t.limit:.6g} {units[t.metric].unit}".removesuffix(" 1")
            for t in self.problem.terms
            if t.limit is not None
        }
        return {"capacity": "resources of the nodes", **texts}

    def metric(self, name: str) -> Linear:
        """A metric in its own unit; only what is bounded or minimised is pressed down to its value."""
        before = set(self.program.row_blocks)
        value: Linear = self.problem.metrics[name].linearise(self.expressions)
        self.model_rows.update(self.program.row_blocks.keys() - before)
        return value

    def decode(self, values: Floats) -> KeyedDeployment:
        """The deployment that a point of the program stands for."""
        return self.expressions.decode(values)

    def encode(self, decision: KeyedDeployment) -> Floats | None:
        """A starting point for a solver, NaN where left to it; None where the program cannot express the deployment."""
        start = self.expressions.point(decision)
        if start is None:
            return None
        return np.concatenate([start, np.full(self.program.columns - start.size, np.nan)])

    def tie_breaks(self) -> tuple[Linear, ...]:
        """The least state that moves, then the lowest cost."""
        return self.metric("moved_state"), self.metric("cost")


def formulate_rescale(problem: RescaleProblem, name: str) -> RescaleFormulation:
    """Formulate a problem as the program "ranges".

    Raises
    ------
    ProblemTooLargeError
        Where there are too many ranges.
    """
    started = perf_counter()
    expressions = RangeExpressions(compile_rescale(problem))
    add_capacity_rows(expressions)
    add_objective_and_limits(expressions)
    program = expressions.program
    return RescaleFormulation(problem, name, program, program.objective, perf_counter() - started, expressions)


def explain_infeasibility(problem: RescaleProblem, units: float) -> tuple[str, ...]:
    """Name limits and resources that cannot be met together, such that leaving any one of them out helps.

    Operators that are overloaded or fit on no node are reported alone.

    Parameters
    ----------
    units
        Units of work; what is not examined by then stays in the list, which is then not minimal.
    """
    deadline = now() + units
    if alone := problem.clashes():
        return alone
    try:
        formulation = formulate_rescale(problem, "ranges")
    except ProblemTooLargeError:
        return ()
    demands = limit_demands(formulation)
    kept = Question(formulation.program, demands, "highs", deadline).filtered(demands)
    return tuple(demand.text for demand in kept)
