"""`explain`: a decision of any kind of problem, taken apart."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, overload

from edrp.core.arguments import check_arguments
from edrp.core.problem import Problem
from edrp.explanations.objective import ObjectiveExplanation, explain_objective
from edrp.explanations.placement import Explanation, explain_deployment
from edrp.explanations.rescale import RescaleExplanation, explain_rescale
from edrp.explanations.sequence import COMPARISON_WORK, SequenceExplanation, explain_sequence
from edrp.formulations.second_best import SECOND_BEST_WORK
from edrp.migration.rescale.problem import RescaleProblem, RescaleSolution
from edrp.placement.deployment import DeploymentLike
from edrp.placement.edrp import EdrpSolution
from edrp.placement.latency_aware import LatencyAwareSolution
from edrp.placement.problem import PlacementProblem
from edrp.placement.sequence import EdrpSequence, EdrpSequenceSolution


@overload
def explain(
    problem: EdrpSequence, answer: EdrpSequenceSolution | Sequence[DeploymentLike], *, work_limit: float | None = ...
) -> SequenceExplanation: ...
@overload
def explain(
    problem: RescaleProblem, answer: Any, *, work_limit: float | None = ...
) -> RescaleExplanation | ObjectiveExplanation: ...
@overload
def explain(
    problem: PlacementProblem,
    answer: EdrpSolution | LatencyAwareSolution | DeploymentLike,
    *,
    runner_up: bool = ...,
    alike: bool = ...,
    without_rules: bool = ...,
    work_limit: float | None = ...,
) -> Explanation: ...
@overload
def explain(problem: Problem, answer: Any, *, work_limit: float | None = ...) -> ObjectiveExplanation: ...
def explain(
    problem: Any,
    answer: Any,
    *,
    runner_up: bool = True,
    alike: bool = True,
    without_rules: bool = True,
    work_limit: float | None = None,
) -> Any:
    """Take a decision apart: what each term of its objective costs, how far limits are, and as far as known what is better.

    Parameters
    ----------
    problem
        The problem that the decision solves, of any kind. Placements, rescalings and sequences of deployments have explanations
        of their own; all others are explained by their objective, limits and rules (`ObjectiveExplanation`).
    answer
        A solution of it, or any decision; plain dicts and lists will do.
    runner_up
        Whether to look for the second-best deployment of a placement too.
    alike
        Whether to look for nodes that are alike too, which takes seconds among thousands.
    without_rules
        Whether to solve the problem without each of its rules too, by the method of the solution, so as to say what it costs.
    work_limit
        Units of work, about seconds of an idle core, for the second-best deployment, and as many for all rules together, or for
        each rival of a sequence; None for 2, or 10 for a sequence. A deployment is called second best only where that is proven
        within that limit (`second_best.proven`), and the same problem and limit give the same explanation.

    Raises
    ------
    InvalidInstanceError
        When the decision does not fit the problem.

    Examples
    --------
    >>> from edrp.placement.edrp import EdrpProblem
    >>> problem = EdrpProblem(
    ...     application={"operators": [{"name": "work", "cost": 3.0}, {"name": "sink", "cost": 1.0}]},
    ...     network={"nodes": [{"name": "a"}]},
    ...     weights={"cost": 1.0},
    ...     limits={"cost": 5.0},
    ... )
    >>> explanation = explain(problem, {"work": ["a"], "sink": ["a"]})
    >>> [(part.name, part.money) for part in explanation.cost_parts]
    [('work', 3.0), ('sink', 1.0)]
    >>> explanation.margins[0].used, explanation.second_best.deployment
    (0.8, None)
    """
    check_arguments("edrp.explain", problem=problem, work_limit=work_limit)
    if isinstance(problem, EdrpSequence):
        return explain_sequence(problem, answer, work_limit=COMPARISON_WORK if work_limit is None else work_limit)
    work_limit = SECOND_BEST_WORK if work_limit is None else work_limit
    if isinstance(problem, PlacementProblem):
        second_work, rules_work = work_limit if runner_up else None, work_limit if without_rules else 0.0
        return explain_deployment(problem, answer, second_work, alike, rules_work)
    if isinstance(problem, RescaleProblem) and not (isinstance(answer, RescaleSolution) and answer.deployment is None):
        return explain_rescale(problem, answer, work_limit=work_limit)
    return explain_objective(problem, answer, work_limit=work_limit)
