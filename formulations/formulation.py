"""A problem as a program that a user may add to: formulate, add own rows and terms, solve, get a checked solution."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np

from edrp.backends import solve_program
from edrp.backends.base import ProgramResult
from edrp.compiled import Compiled, compile_problem
from edrp.documents import Deployment
from edrp.errors import EdrpError
from edrp.formulations.compact import build_compact
from edrp.formulations.literal import build_literal
from edrp.formulations.placement import PlacementExpressions, Values
from edrp.formulations.restricted import build_restricted
from edrp.metrics import METRICS
from edrp.problem import EdrpProblem
from edrp.program import Linear, Program
from edrp.solution import Answer, Solution
from edrp.solve import checked_solution

BUILDERS: dict[str, Callable[[Compiled], PlacementExpressions]] = {
    "compact": build_compact,
    "literal": build_literal,
    "restricted": build_restricted,
}
"""Builder of each program by name."""

RESTRICTED_NOTE = (
    "the program 'restricted' looks at the neighbourhood of the current deployment only, so nothing is proven beyond it"
)


@dataclass(frozen=True, slots=True)
class Formulation:
    """A problem formulated as a program.

    Attributes
    ----------
    problem
        What was formulated.
    kind
        "compact", "literal" or "restricted".
    expressions
        Placement quantities and metrics as linear expressions.
    model_objective
        The problem's own objective, whatever the user makes of `program.objective`.
    build_seconds
        Time it took.

    Examples
    --------
    Two operators that would share the cheap node, kept apart by a row:

    >>> problem = EdrpProblem(
    ...     application={
    ...         "operators": [{"name": "parser", "external_rate": 1.0}, {"name": "filter"}],
    ...         "streams": [{"source": "parser", "target": "filter"}],
    ...     },
    ...     network={"nodes": [{"name": "a"}, {"name": "b"}], "links": [{"source": "a", "target": "b", "delay": 0.01}]},
    ...     weights={"response_time": 1.0},
    ...     limits={"response_time": 0.1},
    ... )
    >>> formulation = formulate(problem)
    >>> for node in ("a", "b"):
    ...     together = formulation.placed("parser", node) + formulation.placed("filter", node)
    ...     formulation.program.add_row(f"apart on {node}", together, upper=1)
    >>> solve_formulation(formulation).metrics["response_time"]
    0.01
    """

    problem: EdrpProblem
    kind: str
    expressions: PlacementExpressions
    model_objective: Linear
    build_seconds: float

    @property
    def program(self) -> Program:
        """The program; rows, columns and objective terms may be added to it."""
        return self.expressions.program

    def placed(self, operator: str, node: str) -> Linear:
        """1 where the operator has any replica on the node, else 0.

        Raises
        ------
        EdrpError
            For an unknown operator or node.
        """
        return self._held(operator, node, counted=False)

    def replicas(self, operator: str, node: str | None = None) -> Linear:
        """Number of the operator's replicas on a node, or on all nodes.

        Raises
        ------
        EdrpError
            For an unknown operator or node.
        """
        return self._held(operator, node, counted=True)

    def metric(self, name: str) -> Linear:
        """A metric in its own unit (availability as −ln); only what is bounded or minimised is pressed down to its value."""
        return METRICS[name].linearise(self.expressions)

    def decode(self, values: Values) -> Deployment:
        """The deployment that a point of the program stands for."""
        return self.expressions.compiled.deployment(self.expressions.counts(values))

    def encode(self, deployment: Deployment) -> Values | None:
        """A starting point for a solver, NaN where left to it; None where the program cannot express the deployment."""
        try:
            counts = self.expressions.compiled.counts(deployment)
        except KeyError:
            return None
        start = self.expressions.start(counts)
        if start is None:
            return None
        # Columns that a user has added are left to the solver.
        return np.concatenate([start, np.full(self.program.columns - start.size, np.nan)])

    def _held(self, operator: str, node: str | None, counted: bool) -> Linear:
        compiled = self.expressions.compiled
        if operator not in compiled.operators:
            raise EdrpError(f"no operator {operator!r}; there are {', '.join(compiled.operators)}")
        held = self.expressions.holdings(compiled.operators.index(operator))
        chosen = np.ones(held.columns.size, bool)
        if node is not None:
            if node not in self.problem.network.by_name:
                raise EdrpError(f"no node {node!r} in the network")
            here = compiled.nodes.index(node) if node in compiled.nodes else -1
            chosen = held.nodes == here
        return Linear.of(held.columns[chosen], held.counts[chosen] if counted else 1.0)


def formulate(problem: EdrpProblem, program: str = "compact") -> Formulation:
    """Formulate a problem as a program.

    Parameters
    ----------
    problem
        What to decide.
    program
        "compact" (small, any problem), "literal" (EDRP, eqs. 13–23) or "restricted" (rEDRP, section 7.2).

    Raises
    ------
    EdrpError
        For another name.
    UnsupportedProblemError, ProblemTooLargeError
        When this program cannot express the problem, or would not fit in memory.
    """
    if program not in BUILDERS:
        raise EdrpError(f"no program {program!r}; there are {', '.join(BUILDERS)}")
    started = perf_counter()
    expressions = BUILDERS[program](compile_problem(problem))
    return Formulation(problem, program, expressions, expressions.program.objective, perf_counter() - started)


def solve_formulation(
    formulation: Formulation, backend: str = "highs", *, start: Deployment | None = None, **options: Any
) -> Solution:
    """Solve a formulation, own rows and terms included, and return a checked solution.

    The evaluator knows the problem's own limits only: it checks them, the metrics and the objective, not rows
    that were added. With own objective terms, `objective` stays the problem's and no bound is given.

    Parameters
    ----------
    formulation
        From `formulate`.
    backend
        "highs", "scipy", "cvxpy" or "pyomo".
    start
        Deployment to start from.
    **options
        Of `edrp.backends.solve_program`: `time_limit`, `gap`, `threads`, `seed`, `progress`.

    Raises
    ------
    VerificationError
        Backend and evaluator disagree: a defect.
    """
    started = perf_counter()
    point = None if start is None else formulation.encode(start)
    result = solve_program(formulation.program, backend, start=point, **options)
    answer = answer_of(formulation, result)
    method = f"{backend} ({formulation.kind} program)"
    seconds = perf_counter() - started + formulation.build_seconds
    return checked_solution(formulation.problem, method, answer, seconds, options.get("seed", 0))


def answer_of(formulation: Formulation, result: ProgramResult) -> Answer:
    """A backend's result as an answer about the problem."""
    program = formulation.program
    own_terms = program.objective is not formulation.model_objective
    decision, objective = None, None
    if result.values is not None:
        decision = formulation.decode(result.values)
        objective = formulation.model_objective.value(result.values)
    notes = result.notes
    if own_terms:
        notes += ("own terms were added to the objective: it was minimised with them, the value shown is without",)
    if formulation.kind == "restricted":
        notes += (RESTRICTED_NOTE,)
    proven = formulation.kind != "restricted"
    status = result.status
    if not proven and status in ("optimal", "infeasible"):
        status = "feasible" if status == "optimal" else "none"
    return Answer(
        status=status,
        stopped_because=result.stopped_because,
        decision=decision,
        objective=None if own_terms else objective,
        bound=result.bound if proven and not own_terms else None,
        size={"columns": program.columns, "rows": program.rows, "nonzeros": program.nonzeros},
        build_seconds=formulation.build_seconds,
        notes=notes,
    )
