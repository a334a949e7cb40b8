"""Pareto fronts of two metrics: every deployment that is not beaten in both, each proven."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from edrp.core.arguments import check_arguments, refuse_other_kinds
from edrp.core.solve import solve
from edrp.core.tolerances import FRONT_STEP, ZERO_METRIC
from edrp.placement.edrp import EdrpProblem, EdrpSolution
from edrp.placement.metric_values import Weights


@dataclass(frozen=True, slots=True)
class ParetoFront:
    """Deployments that no other one beats in both of two metrics.

    Attributes
    ----------
    metrics : their names.
    points : solutions, from the best value of the first metric to the best one of the second; `stages` of each have its proofs.
    complete : whether every point is proven and there are no others, up to `FRONT_STEP`.
    infeasible : whether it is proven that there are no points, because nothing meets all limits.
    """

    metrics: tuple[str, str]
    points: tuple[EdrpSolution, ...]
    complete: bool
    infeasible: bool = False

    @property
    def values(self) -> list[tuple[float, float]]:
        """Both metrics of every point."""
        first, second = self.metrics
        return [(point.metrics[first], point.metrics[second]) for point in self.points]


def pareto_front(
    problem: EdrpProblem, first: str, second: str, *, points: int | None = None, method: str = "auto", **options: Any
) -> ParetoFront:
    """Find the Pareto front of two metrics within the limits of a problem.

    Each point minimises the first metric under a limit on the second, then the second at that value of the first, which proves
    that nothing beats it in both. The limit of the next point lies just below the second metric of the one before.

    Parameters
    ----------
    problem
        Its weights and priorities play no part.
    first, second
        Names of the metrics, such as "cost" and "peak_load".
    points
        About how many, at even distances of the second metric; None for all. There may be as many as deployments.
    method
        As in `solve`.
    **options
        Further options of `solve`; a time limit is for each point.

    Raises
    ------
    InvalidInstanceError
        When one is no metric of the problem, or both are the same.

    Examples
    --------
    >>> problem = EdrpProblem(
    ...     application={"operators": [
    ...         {"name": "work", "external_rate": 8, "cost": 1, "max_replicas": 3, "usage": {"cpu": {"per_tuple": 0.1}}},
    ...     ]},
    ...     network={"nodes": [{"name": name, "capacity": {"cpu": 1}} for name in "abc"], "between_zones": {"delay": 0.001}},
    ...     weights={"peak_load": 1.0},
    ... )
    >>> front = pareto_front(problem, "cost", "peak_load")
    >>> [(cost, round(peak, 3)) for cost, peak in front.values], front.complete
    ([(1.0, 0.8), (2.0, 0.4), (3.0, 0.267)], True)
    """
    check_arguments("edrp.pareto_front", problem=problem, first=first, second=second, points=points, method=method)
    refuse_other_kinds("edrp.pareto_front", problem, EdrpProblem)
    start = prioritised(problem, first, second)
    found = [solve(start, method, **options)]
    if found[0].status == "infeasible":
        return ParetoFront((first, second), (), True, infeasible=True)
    last = solve(prioritised(problem, second, first), method, **options)
    if found[0].deployment is None or last.deployment is None:
        return ParetoFront((first, second), tuple(point for point in (*found, last) if point.deployment is not None), False)
    metric = start.metrics[second]
    best, value = metric.scaled(last.metrics[second]), metric.scaled(found[0].metrics[second])
    gap = 0.0 if points is None else (value - best) / (points - 1)
    while value > max(ZERO_METRIC, best * (1 + FRONT_STEP)):
        value = min(value * (1 - FRONT_STEP), value - gap)
        if value <= best * (1 + FRONT_STEP):
            found.append(last)
            break
        limited = start.replace(limits=start.limits.with_limit(second, metric.unscaled(value)))
        point = solve(limited, method, **options)
        if point.deployment is None:
            return ParetoFront((first, second), (*found, last), False)
        found.append(point)
        value = metric.scaled(point.metrics[second])
    proven = all(point.status == "optimal" for point in (*found, last))
    return ParetoFront((first, second), tuple(found), proven and points is None)


def prioritised(problem: EdrpProblem, *metrics: str) -> EdrpProblem:
    """The problem with these priorities alone."""
    weights = Weights.of_metrics({metrics[-1]: 1.0}) if metrics[-1] in problem.metrics else problem.weights
    return problem.replace(priorities=[{"metric": name} for name in metrics], weights=weights)
