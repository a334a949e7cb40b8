"""The front of rate against cost: what is carried at most within each limit on the cost, with a proof of both."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Any

from edrp.carrying.largest_rate import LargestRate, largest_rate
from edrp.core.arguments import check_arguments, refuse_other_kinds
from edrp.core.errors import Fault, InvalidArgumentError, UnsupportedProblemError
from edrp.core.solve import solve
from edrp.core.tolerances import FRONT_STEP, RATE_STEP, ZERO_METRIC
from edrp.core.wording import suggestion
from edrp.placement.deployment import Deployment
from edrp.placement.edrp import EdrpProblem, EdrpSolution
from edrp.placement.metric_values import Weights
from edrp.placement.throughput import GrowingLoad

RATE = "rate"
"""Name of the largest multiple among the metrics of a front."""

STEADY = ("cost", "availability", "downtime")
"""Metrics that do not grow with the rate, where traffic has no price."""


@dataclass(frozen=True, slots=True)
class RatePoint:
    """A deployment that carries more than all that are not worse in the other metric.

    Attributes
    ----------
    multiple : the supremum of the multiples that it carries.
    attained : whether it carries `multiple` itself.
    value : the other metric at `multiple`.
    proven : whether nothing carries more within the limit that led to it, and nothing that carries as much has a better value.
    deployment : the deployment.
    largest : the largest rate under that limit, with its bound.
    """

    multiple: float
    attained: bool
    value: float
    proven: bool
    deployment: Deployment
    largest: LargestRate


@dataclass(frozen=True, slots=True)
class RateFront:
    """Deployments that no other one beats both in what they carry and in another metric.

    Attributes
    ----------
    metric : name of the other metric.
    points : from the largest multiple to the best value of the metric.
    complete : whether every point is proven and there are no others, up to `FRONT_STEP` and `RATE_STEP`.
    infeasible : whether it is proven that there are no points.
    seconds : time that it took.
    """

    metric: str
    points: tuple[RatePoint, ...]
    complete: bool
    infeasible: bool
    seconds: float

    @property
    def values(self) -> list[tuple[float, float]]:
        """Multiple and other metric of every point."""
        return [(point.multiple, point.value) for point in self.points]


def rate_front(
    problem: EdrpProblem,
    metric: str = "cost",
    *,
    scale: Sequence[str] | None = None,
    points: int | None = None,
    method: str = "auto",
    seed: int = 0,
    time_limit: float | None = None,
    work_limit: float | None = None,
) -> RateFront:
    """Find what is carried at most at each value of a metric, such as the cost.

    Each point is the largest rate within a limit on the metric, and then the best value of the metric with which that rate is
    carried. The limit of the next point lies just below that value. Weights and priorities of the problem play no part.

    Parameters
    ----------
    problem
        The load of multiple 1.
    metric
        "cost", "availability" or "downtime".
    points
        About how many, at even distances of the metric; None for all. Where traffic has a price, the cost of a deployment grows
        with the rate, there are infinitely many, and this must be given.
    scale, method, seed, time_limit, work_limit
        As in `edrp.largest_rate`; limits are for each of both steps of each point.

    Raises
    ------
    InvalidInstanceError
        The metric is none of these, or `points` is missing where there are infinitely many.
    UnsupportedProblemError
        As `edrp.largest_rate`, or nothing but the metric limits the rates.

    Examples
    --------
    >>> queue = {"model": "mm1", "service_rate": 60}
    >>> problem = EdrpProblem(
    ...     application={"operators": [
    ...         {"name": "work", "external_rate": 100, "max_replicas": 3, "latency": queue, "cost": 2},
    ...     ]},
    ...     network={"nodes": [{"name": "a", "resources": 3}]}, weights={"cost": 1}, limits={"cost": 9},
    ... )
    >>> front = rate_front(problem)
    >>> [(round(multiple, 6), cost) for multiple, cost in front.values], front.complete
    ([(1.8, 6.0), (1.2, 4.0), (0.6, 2.0)], True)
    """
    options: dict[str, Any] = {"method": method, "seed": seed, "time_limit": time_limit, "work_limit": work_limit}
    check_arguments("edrp.rate_front", problem=problem, points=points, **options)
    refuse_other_kinds("edrp.rate_front", problem, EdrpProblem)
    _refuse_metric(problem, metric, points)
    started, scale, found = perf_counter(), tuple(scale or ()), list[RatePoint]()
    measured, limited, gap, best = problem.metrics[metric], problem, 0.0, 0.0
    if points is not None:
        cheapest = _best_value(GrowingLoad(problem, scale).start, metric, **options)
        best = 0.0 if cheapest.deployment is None else measured.scaled(cheapest.metrics[metric])
    while True:
        largest = largest_rate(limited, scale=scale, **options)
        if largest.status == "unbounded":
            raise UnsupportedProblemError("nothing limits the rates but, if at all, the metric: there is no largest one to trade")
        if largest.deployment is None:
            proven = largest.status == "infeasible"
            break
        point = _point(largest, metric, options)
        if found and point.multiple >= found[-1].multiple * (1 - 2 * RATE_STEP):
            found.pop()  # its best value was not proven
        found.append(point)
        value = measured.scaled(point.value)
        if points is not None and limited is problem:
            gap = max(0.0, value - best) / max(1, points - 1)
        if proven := value <= max(ZERO_METRIC, best * (1 + FRONT_STEP)):
            break
        value = max(best, min(value * (1 - FRONT_STEP), value - gap))
        limited = problem.replace(limits=problem.limits.with_limit(metric, measured.unscaled(value)))
    complete = proven and points is None and all(point.proven for point in found)
    return RateFront(metric, tuple(found), complete, proven and not found, perf_counter() - started)


def _refuse_metric(problem: EdrpProblem, metric: str, points: int | None) -> None:
    if metric not in STEADY:
        why = f"is no metric that is independent of the rate, to trade it for{suggestion(str(metric), STEADY)}"
        raise InvalidArgumentError([Fault("metric", metric, why)], "edrp.rate_front")
    if metric == "cost" and points is None and any(link.cost > 0 for link in (*problem.network.links, *problem.network.classes)):
        why = "must be given: traffic has a price, so that cost grows with the rate, and the front has infinitely many points"
        raise InvalidArgumentError([Fault("points", "None", why)], "edrp.rate_front")


def _best_value(problem: EdrpProblem, metric: str, **options: Any) -> EdrpSolution:
    """The deployment with the best value of a metric."""
    alone = problem.replace(priorities=[{"metric": metric}], weights=Weights.of_metrics({metric: 1.0}))
    return solve(alone, **options)


def _point(largest: LargestRate, metric: str, options: dict[str, Any]) -> RatePoint:
    """The best value of the metric with which as much is carried."""
    assert largest.multiple is not None
    at = largest.problem_at(largest.multiple * (1 - RATE_STEP))
    solution = _best_value(at, metric, **options, start=largest.deployment)
    for deployment in filter(None, (solution.deployment, largest.deployment)):
        carried = largest.load.carried(deployment)
        if carried.multiple is not None and carried.multiple >= largest.multiple * (1 - 2 * RATE_STEP):
            break
    proven = deployment == solution.deployment and largest.status == solution.status == "optimal"
    value = at.metrics[metric].evaluate(at, deployment)
    return RatePoint(carried.multiple or 0.0, carried.attained, value, proven, deployment, largest)
