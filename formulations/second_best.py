"""The best decision that differs from a given one, for placements and rescalings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from math import factorial, isfinite, prod
from typing import Any

import numpy as np

from edrp.backends.solving import solve_program
from edrp.core.arrays import Ints
from edrp.core.errors import OutOfTimeError, ProblemTooLargeError
from edrp.core.problem import derived_once
from edrp.core.solution import resolution, within_gap
from edrp.core.tolerances import OPTIMALITY_GAP
from edrp.formulations.migration.rescale.columns import estimated_ranges
from edrp.formulations.migration.rescale.formulation import RescaleFormulation, formulate_rescale
from edrp.formulations.placement.formulation import PlacementFormulation, formulate_placement
from edrp.migration.rescale.documents import KeyedDeployment, KeyMove, moves_to, range_text
from edrp.migration.rescale.problem import RescaleProblem
from edrp.placement.compilation import compile_problem
from edrp.placement.deployment import Action, Deployment
from edrp.placement.node_classes import node_classes
from edrp.placement.problem import PlacementProblem

SECOND_BEST_WORK = 2.0
"""Units of work for a search of the second best, where nothing else is asked for."""

ROOT = 2e-5
"""Units that the root of such a search takes per column, row and nonzero; nothing stops it."""

MAX_COPIES = 500
"""Copies of a deployment on equal nodes, itself included, up to which they are told apart from other deployments."""


@dataclass(frozen=True, slots=True)
class SecondBest:
    """The best decision other than the one explained, as far as it was found within the work limit.

    Attributes
    ----------
    deployment, objective : of the best one found, or None.
    differences : what changes from the explained deployment to it.
    distance : its objective minus that of the explained deployment; negative when the latter is not optimal.
    least_distance : proven: no other deployment is nearer than this; None where nothing is proven.
    proven : whether the search came to its end; then `distance` is exact, and without a deployment there is none.
    not_searched : why there was no search; empty where there was one.
    """

    deployment: Deployment | KeyedDeployment | None = None
    objective: float | None = None
    differences: tuple[Action | KeyMove | str, ...] = ()
    distance: float | None = None
    least_distance: float | None = None
    proven: bool = False
    not_searched: str = ""

    @property
    def better(self) -> bool:
        """Whether it has a lower objective than the deployment explained, which then is not optimal or breaks limits."""
        return self.distance is not None and self.objective is not None and self.distance < -resolution(self.objective)

    def sentence(self, explained_is_feasible: bool = True) -> str:
        """Return the result in words; only a deployment that is proven to be the second best is called so."""
        if self.not_searched:
            return f"Second best: not searched, {self.not_searched}"
        if self.distance is None or self.objective is None:
            if self.proven:
                return "Second best: there is no other deployment within all limits, exchanges of equal nodes aside"
            return f"Second best: none was found within the work limit; {self._nearness()}"
        value = f"objective {self.objective:.9g}, {_difference(self.objective, self.distance)}"
        if not explained_is_feasible:
            name = "Best deployment within all limits" if self.proven else "A deployment within all limits"
            return f"{name}: {value}"
        if self.better:
            return f"Not optimal: another deployment has {value}"
        if self.proven:
            return f"Second best: {value}"
        return f"Another deployment: {value}; not proven to be the second best within the work limit; {self._nearness()}"

    def _nearness(self) -> str:
        """Return in words the proven distance of other deployments."""
        if self.least_distance is None:
            return "nothing is known of how near others are"
        if self.least_distance > 0:
            return f"any other is at least {self.least_distance:+.3g} away"
        if not self.least_distance:
            return "none is better than the one explained (proven), others may be as good"
        return f"none is better than the one explained by more than {-self.least_distance:.3g} (proven)"


def _difference(objective: float, distance: float) -> str:
    """Return in words how far an objective is from the explained one, also as a share of that one."""
    if abs(distance) <= resolution(objective):
        return "as good as the one explained"
    base = objective - distance
    share = 100 * distance / base if base else 0.0
    return f"{distance:+.3g}" + (f" ({share:.1f} %)" if abs(share) >= 0.05 else f" ({share:.1g} %)" if share else "")


def second_best(
    problem: PlacementProblem | RescaleProblem,
    deployment: Any,
    *,
    work_limit: float = SECOND_BEST_WORK,
    bound: float | None = None,
) -> SecondBest:
    """Find the best deployment that differs from `deployment` in the replicas of at least one operator.

    Replicas are told apart by their node and, in rescalings, by their tasks. Deployments of a placement that differ by an
    exchange of equal nodes only count as the same. The problem's program gets a row for each of these, which cuts off nothing
    else, so that its optimum is the second best. The same problem, deployment and work limit give the same answer.

    Parameters
    ----------
    work_limit
        Units of work. A search of which the root alone would take more is not begun.
    bound
        Proven for every deployment, such as that of a solution: it also bounds all others.
    """
    if problem.stage_count:
        return SecondBest(not_searched="the problem has priorities, and a program has one objective")
    known = problem.read_decision(deployment, "deployment")
    with derived_once(problem):
        formulation = _formulation(problem, work_limit)
        if formulation is None:
            return SecondBest(not_searched=f"the program is too large for a work limit of {work_limit:g} units")
        copies = _copies(problem, known) if isinstance(problem, PlacementProblem) else [known]
    if not copies:
        why = f"equal nodes can be exchanged in more than {MAX_COPIES} ways, all of which are as good as this one"
        return SecondBest(not_searched=why)
    for copy in copies:
        formulation.exclude(copy)
    result = solve_program(formulation.program, work_limit=work_limit, gap=OPTIMALITY_GAP)
    base = problem.evaluate(known).objective
    known_bounds = [value for value in (bound, result.bound) if value is not None and isfinite(value)]
    least = max(known_bounds, default=None)
    nearest = None if least is None else 0.0 if abs(least - base) <= resolution(base) else least - base
    proven = result.status in ("optimal", "infeasible")
    if result.values is None:
        return SecondBest(least_distance=None if proven else nearest, proven=proven)
    other = formulation.decode(result.values)
    evaluation = problem.evaluate(other)
    if not evaluation.feasible:  # by more than rounding: nothing is known of the search
        return SecondBest(least_distance=None if bound is None else bound - base)
    proven = proven or (least is not None and within_gap(evaluation.objective, least, OPTIMALITY_GAP))
    return SecondBest(
        other, evaluation.objective, _differences(problem, known, other), evaluation.objective - base, nearest, proven
    )


def _differences(problem: PlacementProblem | RescaleProblem, known: Any, other: Any) -> tuple[Action | KeyMove | str, ...]:
    if not isinstance(problem, RescaleProblem):
        actions: tuple[Action, ...] = known.actions_to(other)
        return actions
    changes = (*known.places.actions_to(other.places), *moves_to(problem.application, known, other))
    changed = {change.operator for change in changes}
    cut = [name for name in known if name not in changed and known[name] != other[name]]
    return (*changes, *(f"{name} holds {', '.join(map(range_text, other.ranges(name)))}" for name in cut))


def _formulation(
    problem: PlacementProblem | RescaleProblem, work_limit: float
) -> PlacementFormulation | RescaleFormulation | None:
    """The program of the problem; None where it would be too large for the limit."""
    try:
        if ROOT * _least_size(problem) > work_limit:
            return None
        formulation: PlacementFormulation | RescaleFormulation = (
            formulate_rescale(problem, "ranges")
            if isinstance(problem, RescaleProblem)
            else formulate_placement(problem, "compact")
        )
    except (ProblemTooLargeError, OutOfTimeError):
        return None
    return None if ROOT * formulation.program.arrays().size > work_limit else formulation


def _least_size(problem: PlacementProblem | RescaleProblem) -> float:
    """Entries that the program has at least, without building it: pairs of candidates over all streams, or ranges."""
    if isinstance(problem, RescaleProblem):
        return estimated_ranges(problem)
    nodes = {operator.name: len(operator.candidates or problem.network.nodes) for operator in problem.application.operators}
    return float(sum(nodes[stream.source] * nodes[stream.target] for stream in problem.application.streams))


def _copies(problem: PlacementProblem, deployment: Deployment) -> list[Deployment]:
    """All deployments that an exchange of equal nodes makes of one, itself first; none where there are too many."""
    compiled = compile_problem(problem)
    if not {node for nodes in deployment.values() for node in nodes} <= set(compiled.nodes):
        return [deployment]
    counts = compiled.counts(deployment)
    classes = node_classes(compiled)
    members = [np.flatnonzero(classes == number) for number in range(int(classes.max()) + 1)]
    loads = [Counter(map(tuple, counts[:, nodes].T.tolist())) for nodes in members]
    if prod(map(_arrangement_count, loads)) > MAX_COPIES:
        return []
    copies = [compiled.deployment(_rearranged(counts, members, chosen)) for chosen in product(*map(_arrangements, loads))]
    return [deployment, *(copy for copy in copies if copy != deployment)]


def _rearranged(counts: Ints, members: list[Ints], loads: tuple[list[tuple[int, ...]], ...]) -> Ints:
    """The counts of replicas with the columns of each class of nodes replaced."""
    arranged = counts.copy()
    for nodes, columns in zip(members, loads, strict=True):
        arranged[:, nodes] = np.array(columns).T
    return arranged


def _arrangement_count(loads: Counter[tuple[int, ...]]) -> int:
    """Number of orders of a multiset.

    >>> _arrangement_count(Counter({(1,): 2, (0,): 2}))
    6
    """
    return factorial(loads.total()) // prod(map(factorial, loads.values()))


def _arrangements(loads: Counter[tuple[int, ...]]) -> Iterator[list[tuple[int, ...]]]:
    """Every order of a multiset once."""
    if not loads.total():
        yield []
    for load in [load for load, count in loads.items() if count]:
        for others in _arrangements(loads - Counter([load])):
            yield [load, *others]
