"""Problems of kind `rescale` as programs over ranges, and why such a program is infeasible."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any

from edrp.core.arrays import Floats
from edrp.core.budget import now
from edrp.core.clash_search import Relaxed
from edrp.core.errors import InvalidInstanceError, OutOfTimeError, ProblemTooLargeError
from edrp.core.methods import Options, get_method
from edrp.core.program import Linear
from edrp.core.solution import Infeasibility
from edrp.formulations.clashes import Question, limit_demands
from edrp.formulations.formulation import MetricFormulation
from edrp.formulations.migration.rescale.expressions import RangeExpressions
from edrp.formulations.placement.builder import add_capacity_rows, add_objective_and_limits
from edrp.formulations.placement.infeasibility import LOOSE, load_demand
from edrp.migration.rescale.arrays import KeyedArrays, compile_rescale
from edrp.migration.rescale.deployment import KeyedDeployment
from edrp.migration.rescale.problem import RescaleProblem
from edrp.migration.rescale.splits import possible_replicas
from edrp.placement.compilation import with_all_rule_rows

LIMITS = "limits."
"""Begins the sentence of a limit, before the name of its metric."""


@dataclass(frozen=True, slots=True)
class RescaleFormulation(MetricFormulation):
    """A problem of kind `rescale` formulated as a program."""

    expressions: RangeExpressions

    def decode(self, values: Floats) -> KeyedDeployment:
        """The deployment that a point of the program stands for."""
        return self.expressions.decode(values)

    def encode(self, decision: KeyedDeployment) -> Floats | None:
        """A starting point for a solver, NaN where left to it; None where the program cannot express the deployment."""
        return self.padded(self.expressions.point(decision))

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
    return _formulation(compile_rescale(problem), name, started)


def _with_all_rows(problem: RescaleProblem) -> KeyedArrays:
    """Arrays of a problem in which every rule has rows, so that each can be left out."""
    arrays = compile_rescale(problem)
    return replace(arrays, compiled=with_all_rule_rows(arrays.compiled))


def _formulation(arrays: KeyedArrays, name: str, started: float) -> RescaleFormulation:
    expressions = RangeExpressions(arrays)
    add_capacity_rows(expressions)
    add_objective_and_limits(expressions)
    program = expressions.program
    return RescaleFormulation(arrays.problem, name, program, program.objective, perf_counter() - started, expressions)


def explain_infeasibility(problem: RescaleProblem, units: float) -> Infeasibility:
    """Name limits, resources and rules that cannot be met together, each of which is needed for that.

    Operators that are overloaded or find no room on their nodes are reported alone. For each limit without which the whole
    problem is feasible, the sentence says how far it would have to be loosened.

    Parameters
    ----------
    units
        Units of work; what is not examined by then stays in the list, which is then not minimal.
    """
    deadline = now() + units
    if alone := problem.clashes():
        return Infeasibility(alone)
    try:
        formulation = _formulation(_with_all_rows(problem), "ranges", perf_counter())
    except ProblemTooLargeError:
        return Infeasibility()
    demands = limit_demands(formulation)

    def relax(number: int, left_out: frozenset[int], values: dict[int, float]) -> Relaxed | None:
        name = demands[number].name.removeprefix(LIMITS)
        gone = {demands[other].text for other in left_out}
        rules = [rule for rule in problem.rules if rule.hard and rule.demand not in gone]
        limits: dict[str, float | None] = {demands[k].name.removeprefix(LIMITS): values.get(k) for k in left_out}
        if not all(hasattr(problem.limits, metric) for metric in limits):
            return None  # a demand is no limit
        limits[name] = LOOSE * (problem.limits.of(name) or 1.0)
        return _best_value(problem, name, {"rules": rules, "limits": problem.limits.replace(**limits)}, deadline)

    found = Question(formulation.program, demands, "highs", deadline).find_clash(relax)
    texts = [demand.text for demand in demands]
    loads = _needed_loads(problem, {texts[number] for number in found.clash}, deadline)
    return Infeasibility((*loads, *found.sentences(texts)), found.remedies)


def _needed_loads(problem: RescaleProblem, texts: Collection[str], deadline: float) -> Iterator[str]:
    """Loads without which the demands that clash do not: those of operators that need more replicas than `min_replicas`."""
    for operator in problem.application.operators:
        fewest = possible_replicas(problem, operator)[0]
        if fewest > operator.min_replicas:
            load = load_demand(problem, operator, fewest)
            without = load.drop(problem)
            formulation = _formulation(_with_all_rows(without), "ranges", perf_counter())
            demands = limit_demands(formulation)
            needed = frozenset(number for number, demand in enumerate(demands) if demand.text in texts)
            if Question(formulation.program, demands, "highs", deadline).verdict(needed) == "infeasible":
                problem = without
            else:
                yield load.text + problem.heaviest_text


def _best_value(problem: RescaleProblem, name: str, changes: dict[str, Any], deadline: float) -> Relaxed | None:
    """The least value of a metric in a changed problem; None where it is not found in time, or the change is none."""
    try:
        relaxed = problem.replace(**changes, weights={name: 1.0})
        options = Options(work_limit=max(0.0, deadline - now()), gap=1e-6)
        answer = get_method("highs", problem.kind).run(relaxed, options)
    except (InvalidInstanceError, OutOfTimeError, ProblemTooLargeError):  # the limit is beyond its range, or the time
        return None
    if answer.decision is None:
        return None
    metric = relaxed.metrics[name]
    return Relaxed(metric.evaluate(relaxed, answer.decision), metric.unit, answer.status == "optimal")
