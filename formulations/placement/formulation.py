"""Deployment problems as programs: a formulation that knows operators, nodes and metrics by name, and rEDRP (section 7.2)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter

import numpy as np

from edrp.core.arrays import Floats, Ints32
from edrp.core.budget import refuse_beyond_memory
from edrp.core.errors import UnsupportedProblemError
from edrp.core.program import Linear
from edrp.formulations.formulation import MetricFormulation
from edrp.formulations.placement.builder import PlacementExpressions
from edrp.formulations.placement.compact import build_compact
from edrp.formulations.placement.literal import LiteralExpressions, build_literal, build_over
from edrp.placement.compilation import compile_problem
from edrp.placement.compiled import NO_NODE, Compiled
from edrp.placement.deployment import Deployment
from edrp.placement.problem import PlacementProblem


def build_restricted(compiled: Compiled) -> LiteralExpressions:
    """The literal program over every operator's neighbourhood.

    Its optimum is a feasible deployment of the problem, not always the best, and it may be infeasible where
    the problem is not.

    Raises
    ------
    UnsupportedProblemError
        Without a current deployment.
    ProblemTooLargeError
        When memory could not hold some operator's neighbourhood.
    """
    if compiled.current is None:
        raise UnsupportedProblemError(
            "the program 'restricted' needs a current deployment to start from", "use the program 'compact'"
        )
    for i, replicas in enumerate(compiled.current.sum(axis=1)):
        steps = int((replicas + 1) * compiled.candidate[i].sum())
        refuse_beyond_memory(
            steps * int(max(replicas + 1, compiled.max_replicas[i])) * 16.0,
            f"the {steps:,} neighbours of {compiled.operators[i]}'s current configuration",
            "",
            ("annealing",),
        )
    return build_over(compiled, [neighbourhood(compiled, i) for i in range(len(compiled.operators))])


def neighbourhood(compiled: Compiled, operator: int) -> Ints32:
    """P(V_res^i; k_i; U_0): the current configuration, and those with one replica more, less, or elsewhere.

    Returns
    -------
    numpy.ndarray
        Shape (configurations, max_replicas), padded with -1, members ascending. A current configuration with
        more replicas than allowed has none but its reductions by one, if those are few enough.
    """
    assert compiled.current is not None
    current = np.repeat(np.arange(len(compiled.nodes)), compiled.current[operator]).tolist()
    candidates = compiled.candidates(operator).tolist()
    neighbours = {tuple(current)}
    neighbours |= {tuple(sorted([*current, node])) for node in candidates}
    for replica in range(len(current)):
        others = current[:replica] + current[replica + 1 :]
        neighbours |= {tuple(sorted([*others, node])) for node in candidates}
        neighbours.add(tuple(others))
    limit = int(compiled.max_replicas[operator])
    allowed = (members for members in neighbours if 0 < len(members) <= limit)
    configurations = sorted(allowed, key=lambda members: (len(members), members))
    result = np.full((len(configurations), limit), NO_NODE, np.int32)
    for row, members in enumerate(configurations):
        result[row, : len(members)] = members
    return result


RESTRICTED_NOTE = (
    "the program 'restricted' looks at the neighbourhood of the current deployment only, so nothing is proven beyond it"
)


@dataclass(frozen=True, slots=True)
class PlacementFormulation(MetricFormulation):
    """A deployment problem formulated as a program.

    Examples
    --------
    Two operators that would share the cheap node, kept apart by a row for each node:

    >>> from edrp.placement.edrp import EdrpProblem
    >>> problem = EdrpProblem(
    ...     application={
    ...         "operators": [{"name": "parser", "external_rate": 1.0}, {"name": "filter"}],
    ...         "streams": [{"source": "parser", "target": "filter"}],
    ...     },
    ...     network={"nodes": [{"name": "a"}, {"name": "b"}], "links": [{"source": "a", "target": "b", "delay": 0.01}]},
    ...     weights={"response_time": 1.0},
    ...     limits={"response_time": 0.1},
    ... )
    >>> formulation = formulate_placement(problem, "compact")
    >>> formulation.add(formulation.on["parser"] + formulation.on["filter"] <= 1, name="apart")
    >>> from edrp.formulations.methods import solve_formulation
    >>> solve_formulation(formulation).metrics["response_time"]
    0.01
    """

    expressions: PlacementExpressions

    @property
    def restriction(self) -> str:
        """Return why nothing is proven beyond the restricted program; empty for other programs."""
        return RESTRICTED_NOTE if self.name == "restricted" else ""

    def tie_breaks(self) -> tuple[Linear, ...]:
        """The cheapest, and among those the one that moves fewest replicas."""
        cheapest = (self.metric("cost"),) if "cost" in self.problem.metrics else ()
        return cheapest if self.problem.current is None else (*cheapest, self._kept_replicas() * -1.0)

    def decode(self, values: Floats) -> Deployment:
        """The deployment that a point of the program stands for."""
        return self.expressions.compiled.deployment(self.expressions.counts(values))

    def encode(self, deployment: Deployment) -> Floats | None:
        """A starting point for a solver, NaN where left to it; None where the program cannot express the deployment."""
        try:
            counts = self.expressions.compiled.counts(deployment)
        except KeyError:
            return None
        return self.padded(self.expressions.start(counts))

    def _kept_replicas(self) -> Linear:
        """Number of replicas that stay where they are."""
        current = self.expressions.compiled.current
        assert current is not None
        total = Linear.zero()
        for i, before in enumerate(current):
            holdings = self.expressions.holdings(i)
            total += Linear.of(holdings.columns, np.minimum(holdings.counts, before[holdings.nodes]))
        return total


def formulate_placement(problem: PlacementProblem, program: str) -> PlacementFormulation:
    """Formulate a deployment problem as the program "compact", "literal" or "restricted".

    Raises
    ------
    UnsupportedProblemError
        Where it has priorities, or the program cannot express it.
    """
    if problem.stage_count:
        raise UnsupportedProblemError(
            "a program has one objective, this problem has priorities", "solve it with `edrp.solve`, or leave them out"
        )
    started = perf_counter()
    expressions = PLACEMENT_BUILDERS[program](compile_problem(problem))
    seconds = perf_counter() - started
    built = expressions.program
    return PlacementFormulation(problem, program, built, built.objective, seconds, expressions)


PLACEMENT_BUILDERS: dict[str, Callable[[Compiled], PlacementExpressions]] = {
    "compact": build_compact,
    "literal": build_literal,
    "restricted": build_restricted,
}
"""Builder of each program by name; the first is the default."""
