"""Courses of a few deployments over the periods of a sequence: what the best of them cost, by a dynamic program in plain code."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from edrp.core.arrays import Floats, Ints
from edrp.core.errors import ProblemTooLargeError
from edrp.core.tolerances import LIMIT_SLACK
from edrp.placement.deployment import Deployment
from edrp.placement.over_time import Load
from edrp.placement.sequence import EdrpSequence

MAX_EVALUATIONS = 200_000
"""Deployments in periods, and changes between deployments, that are evaluated; about half a minute."""

Course = tuple[Deployment, ...]
"""The deployment of each period."""


class CoursePool:
    """All courses that use only some deployments, and the least cost of some of them.

    Parameters
    ----------
    deployments
        Which may be used; of courses that cost the same, those of the first deployments are taken. The initial deployment of
        the problem is one of them in any case.

    Raises
    ------
    ProblemTooLargeError
        When there are too many deployments and periods.

    Examples
    --------
    >>> queue = {"model": "mm1", "service_rate": 10.0}
    >>> problem = EdrpSequence(
    ...     application={"operators": [{"name": "work", "latency": queue, "external_rate": 5.0, "cost": 1.0, "max_replicas": 2}]},
    ...     network={"nodes": [{"name": "a"}]},
    ...     weights={"cost": 1.0},
    ...     limits={"cost": 4.0, "response_time": 0.5},
    ...     periods=[{"duration": 3600, "external_rates": {"work": rate}} for rate in (5.0, 15.0, 5.0)],
    ...     changes={"started_replicas": 100.0},
    ... )
    >>> pool = CoursePool(problem, [Deployment({"work": ["a"]}), Deployment({"work": ["a", "a"]})])
    >>> pool.best(), pool.without_change(1)
    (3700.0, 4500.0)
    """

    def __init__(self, problem: EdrpSequence, deployments: Iterable[Deployment]) -> None:
        known = dict.fromkeys(deployments)
        if problem.initial is not None:
            known[problem.initial] = None
        self.problem, self.deployments = problem, tuple(known)
        count, periods = len(self.deployments), len(problem.periods)
        if count * (periods + count) > MAX_EVALUATIONS:
            why = f"{count:,} deployments over {periods:,} periods are too many to be compared"
            raise ProblemTooLargeError(f"{why}; explain a shorter sequence")
        self._start = None if problem.initial is None else self.deployments.index(problem.initial)
        self._rates: dict[str, Floats] = {}
        self._limited: dict[float, Floats] = {}
        self._prices, self._downtimes = self._changes()
        self.costs: Floats = np.array([self.cost(number, period) for number, period in enumerate(problem.periods)])
        self._arrive, self._leave = self._sweep()

    def cost(self, number: int, load: Load) -> Floats:
        """Cost of each deployment in a period under a load in seconds, shape (deployments,); infinite where it breaks limits."""
        key = load.model_dump_json(exclude={"duration"})
        if key not in self._rates:
            loaded = self.problem.under(load, None)
            found = [loaded.problem.evaluate(deployment) for deployment in self.deployments]
            self._rates[key] = np.array([loaded.factor * e.objective if e.feasible else np.inf for e in found])
        return self.problem.periods[number].duration * self._rates[key]

    def best(self) -> float:
        """Least objective of all courses; infinite where none is feasible."""
        return float(np.min(self._arrive[-1] + self.costs[-1]))

    def best_course(self) -> Course | None:
        """The course with that objective, or None."""
        values = self._arrive[-1] + self.costs[-1]
        last = int(np.argmin(values))
        return self._through(len(self.costs) - 1, last) if np.isfinite(values[last]) else None

    def with_cost(self, number: int, costs: Floats) -> float:
        """Least objective of all courses if the deployments cost this in one period."""
        return float(np.min(self._arrive[number] + costs + self._leave[number]))

    def without_change(self, number: int) -> float:
        """Least objective of all courses that do not change at the beginning of a period; infinite where none is feasible."""
        return float(np.min(self._unchanged(number), initial=np.inf))

    def course_without_change(self, number: int) -> Course | None:
        """The course with that objective, or None."""
        values = self._unchanged(number)
        kept = int(np.argmin(values))
        if not np.isfinite(values[kept]):
            return None
        before = () if number == 0 else self._through(number - 1, kept)[:number]
        return before + self._through(number, kept)[number:]

    def _unchanged(self, number: int) -> Floats:
        """Least objectives of courses that run a deployment before and in a period, shape (deployments,)."""
        after = self.costs[number] + self._leave[number]
        if number:
            return np.asarray(self._arrive[number - 1] + self.costs[number - 1] + after)
        return after if self._start is None else np.where(np.arange(len(after)) == self._start, after, np.inf)

    def _through(self, number: int, deployment: int) -> Course:
        """The best course that runs a deployment in a period."""
        chosen: Ints = np.zeros(len(self.costs), np.int64)
        chosen[number] = deployment
        for t in range(number, 0, -1):
            chosen[t - 1] = np.argmin(self._arrive[t - 1] + self.costs[t - 1] + self._steps(t)[:, chosen[t]])
        for t in range(number + 1, len(chosen)):
            chosen[t] = np.argmin(self._steps(t)[chosen[t - 1]] + self.costs[t] + self._leave[t])
        return tuple(self.deployments[index] for index in chosen)

    def _sweep(self) -> tuple[Floats, Floats]:
        """Least cost of all that comes before a period's own cost, and of all that comes after it."""
        arrive, leave = np.zeros_like(self.costs), np.zeros_like(self.costs)
        if self._start is not None:
            arrive[0] = self._steps(0)[self._start]
        for t in range(1, len(arrive)):
            arrive[t] = ((arrive[t - 1] + self.costs[t - 1])[:, None] + self._steps(t)).min(axis=0)
        for t in range(len(leave) - 2, -1, -1):
            leave[t] = (self._steps(t + 1) + self.costs[t + 1] + leave[t + 1]).min(axis=1)
        return arrive, leave

    def _steps(self, number: int) -> Floats:
        """Prices of the changes at the beginning of a period; infinite where downtime exceeds its limit."""
        limits = self.problem.periods[number].limits or self.problem.limits
        limit = np.inf if limits.downtime is None else limits.downtime
        if limit not in self._limited:
            self._limited[limit] = np.where(self._downtimes > limit * (1 + LIMIT_SLACK), np.inf, self._prices)
        return self._limited[limit]

    def _changes(self) -> tuple[Floats, Floats]:
        """Prices and downtimes of changes from each deployment to each other one."""
        count = len(self.deployments)
        prices, downtimes = np.zeros((count, count)), np.zeros((count, count))
        for source, before in enumerate(self.deployments):
            loaded = self.problem.period(0, before)
            for target, after in enumerate(self.deployments):
                change = self.problem.change(loaded, after)
                if change is not None:
                    prices[source, target], downtimes[source, target] = self.problem.changes.of(change), change.downtime
        return prices, downtimes
