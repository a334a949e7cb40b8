"""The front of rate against cost: what is carried at most within each limit on the cost, with a proof of both."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from edrp.carrying.largest_rate import LargestRate, largest_rate
from edrp.core.arguments import check_arguments, refuse_other_kinds
from edrp.core.errors import Fault, InvalidArgumentError, UnsupportedProblemError
from edrp.core.solution import Status
from edrp.core.solve import solve
from edrp.core.tolerances import FRONT_STEP, RATE_STEP, ZERO_METRIC
from edrp.placement.edrp import EdrpProblem
from edrp.placement.pareto import prioritised
from edrp.placement.throughput import GrowingLoad


@dataclass(frozen=True, slots=True)
class RateFront:
    """Deployments that no other one beats both in what they carry and in cost.

    Attributes
    ----------
    points : largest rates with their cheapest deployments, the largest multiple first; "optimal" where both are proven.
    values : multiple and cost of each, in money per hour.
    complete : whether every point is proven and there are no others, up to `FRONT_STEP` and `RATE_STEP`.
    infeasible : whether it is proven that there are no points.
    """

    metrics: ClassVar[tuple[str, str]] = ("rate", "cost")

    points: tuple[LargestRate, ...]
    values: list[tuple[float, float]]
    complete: bool
    infeasible: bool


def rate_front(
    problem: EdrpProblem,
    *,
    scale: Sequence[str] | None = None,
    points: int | None = None,
    method: str = "auto",
    seed: int = 0,
    time_limit: float | None = None,
    work_limit: float | None = None,
) -> RateFront:
    """Find what is carried at most at each cost.

    Each point is the largest rate within a limit on the cost, and then the lowest cost at which that rate is carried. The limit
    of the next point lies just below that cost. Weights and priorities of the problem play no part.

    About `points` are found, at even distances of the cost, or all. Where traffic has a price, cost grows with the rate, there
    are infinitely many, and `points` must be given. Other options are those of `edrp.largest_rate`; limits are for each of both
    steps of each point.

    Raises
    ------
    InvalidArgumentError
        `points` is missing where there are infinitely many.
    UnsupportedProblemError
        As `edrp.largest_rate`, or nothing but the cost limits the rates.

    Examples
    --------
    >>> queue = {"model": "mm1", "service_rate": 60}
    >>> work = {"name": "work", "external_rate": 100, "max_replicas": 3, "latency": queue, "cost": 2}
    >>> problem = EdrpProblem(
    ...     application={"operators": [work]}, network={"nodes": [{"name": "a"}]}, weights={"cost": 1}, limits={"cost": 9}
    ... )
    >>> front = rate_front(problem)
    >>> [(round(multiple, 6), cost) for multiple, cost in front.values], front.complete
    ([(1.8, 6.0), (1.2, 4.0), (0.6, 2.0)], True)
    """
    options: dict[str, Any] = {"method": method, "seed": seed, "time_limit": time_limit, "work_limit": work_limit}
    check_arguments("edrp.rate_front", problem=problem, points=points, **options)
    refuse_other_kinds("edrp.rate_front", problem, EdrpProblem)
    if points is None and any(link.cost > 0 for link in (*problem.network.links, *problem.network.classes)):
        why = "must be given: traffic has a price, so that cost grows with the rate, and the front has infinitely many points"
        raise InvalidArgumentError([Fault("points", "None", why)], "edrp.rate_front")
    scale, found = tuple(scale or ()), list[tuple[LargestRate, float]]()
    limited, gap, lowest = problem, 0.0, 0.0
    if points is not None:
        cheapest = solve(prioritised(GrowingLoad(problem, scale).start, "cost"), **options)
        lowest = 0.0 if cheapest.deployment is None else cheapest.metrics["cost"]
    while True:
        largest = largest_rate(limited, scale=scale, **options)
        if largest.status == "unbounded":
            raise UnsupportedProblemError("nothing limits the rates but, if at all, the cost: there is no largest one to trade")
        if largest.deployment is None or largest.multiple is None:
            proven = largest.status == "infeasible"
            break
        point, cost = _with_lowest_cost(largest, largest.multiple, options)
        if found and (point.multiple or 0.0) >= (found[-1][0].multiple or 0.0) * (1 - 2 * RATE_STEP):
            found.pop()  # its lowest cost was not proven
        found.append((point, cost))
        if points is not None and limited is problem:
            gap = max(0.0, cost - lowest) / max(1, points - 1)
        if proven := cost <= max(ZERO_METRIC, lowest * (1 + FRONT_STEP)):
            break
        limit = max(lowest, min(cost * (1 - FRONT_STEP), cost - gap))
        limited = problem.replace(limits=problem.limits.with_limit("cost", limit))
    complete = proven and points is None and all(point.status == "optimal" for point, _ in found)
    values = [(point.multiple or 0.0, cost) for point, cost in found]
    return RateFront(tuple(point for point, _ in found), values, complete, proven and not found)


def _with_lowest_cost(largest: LargestRate, multiple: float, options: dict[str, Any]) -> tuple[LargestRate, float]:
    """The largest rate with the cheapest deployment that carries as much, and its cost."""
    at = largest.problem_at(multiple * (1 - RATE_STEP))
    solution = solve(prioritised(at, "cost"), **options, start=largest.deployment)
    for deployment in filter(None, (solution.deployment, largest.deployment)):
        carried = largest.load.carried(deployment)
        if carried.multiple is not None and carried.multiple >= multiple * (1 - 2 * RATE_STEP):
            break
    proven = deployment == solution.deployment and largest.status == solution.status == "optimal"
    status: Status = "optimal" if proven else "feasible"
    rate, attained, binding = carried.multiple, carried.attained, carried.binding
    point = replace(largest, status=status, deployment=deployment, multiple=rate, attained=attained, binding=binding)
    return point, at.metrics["cost"].evaluate(at, deployment)
