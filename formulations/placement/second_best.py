"""The best deployment that differs from a given one."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from edrp.backends import solve_program
from edrp.core.errors import ProblemTooLargeError
from edrp.core.problem import derived_once
from edrp.core.program import Linear
from edrp.core.tolerances import OPTIMALITY_GAP, SAME_VALUE
from edrp.formulations.placement.formulation import PlacementFormulation, formulate_placement
from edrp.placement.compilation import compile_problem
from edrp.placement.deployment import Action, Deployment, DeploymentLike
from edrp.placement.problem import PlacementProblem

MAX_PAIRS = 3_000_000
"""Pairs of nodes over all streams beyond which the compact program is not built for an explanation."""


@dataclass(frozen=True, slots=True)
class SecondBest:
    """The best deployment other than the one explained.

    Attributes
    ----------
    deployment, objective : of the best one found, or None.
    differences : what changes from the explained deployment to it.
    distance : its objective minus that of the explained deployment; negative when the latter is not optimal.
    least_distance : proven: no other deployment is nearer than this; None where nothing is proven.
    finished : whether the search came to its end; then `distance` is exact, and without a deployment there is none.
    """

    deployment: Deployment | None
    objective: float | None
    differences: tuple[Action, ...]
    distance: float | None
    least_distance: float | None
    finished: bool

    @property
    def better(self) -> bool:
        """Whether this deployment has a lower objective than the explained one, which then is not optimal or breaks limits."""
        if self.distance is None or self.objective is None:
            return False
        return self.distance < -SAME_VALUE * max(1.0, abs(self.objective))


def second_best(
    problem: PlacementProblem, deployment: DeploymentLike, *, time_limit: float | None = None, gap: float = OPTIMALITY_GAP
) -> SecondBest | None:
    """Find the best deployment that differs from `deployment` in the configuration of at least one operator.

    The compact program with one more row, which cuts off nothing but `deployment`: its answer is exact.

    Parameters
    ----------
    time_limit
        Seconds; None for none.
    gap
        Relative gap that counts as proven.

    Returns
    -------
    SecondBest or None
        None when the problem is too large for the program, or has priorities.
    """
    formulation = _formulation(problem)
    if formulation is None:
        return None
    known: Deployment = problem.read_decision(deployment, "deployment")
    exclude(formulation, known)
    result = solve_program(formulation.program, time_limit=time_limit, gap=gap)
    base = problem.evaluate(known).objective
    min_distance = None if result.bound is None else result.bound - base
    finished = result.stopped_because == "finished"
    if result.values is None:
        return SecondBest(None, None, (), None, None if finished else min_distance, finished)
    other = formulation.decode(result.values)
    objective = problem.evaluate(other).objective
    return SecondBest(other, objective, known.actions_to(other), objective - base, min_distance, finished)


def _formulation(problem: PlacementProblem) -> PlacementFormulation | None:
    """The compact program; None where it would be too large for an explanation, or there are priorities, which it cannot take."""
    if problem.stage_count:
        return None
    with derived_once(problem):
        if len(problem.application.streams) * len(compile_problem(problem).nodes) ** 2 > MAX_PAIRS:
            return None
        try:
            return formulate_placement(problem, "compact")
        except ProblemTooLargeError:
            return None


def exclude(formulation: PlacementFormulation, deployment: Deployment) -> None:
    """Cut off one deployment and nothing else: Σ (1 − x over its columns) + Σ (x over all others) ≥ 1; one row.

    The sum runs over the binary columns that say how many replicas of which operator a node runs.
    """
    point = formulation.encode(deployment)
    if point is None:
        return  # The program cannot express it, and so it is cut off already.
    expressions = formulation.expressions
    held = np.unique(np.concatenate([expressions.holdings(i).columns for i in range(len(deployment))]))
    inside = point[held] > 0.5
    others = Linear.of(held, np.where(inside, -1.0, 1.0)) + float(inside.sum())
    formulation.program.add_row("other than the deployment", others, lower=1.0)
