"""Courses of a few deployments over the periods of a sequence: what the best of them cost, by a dynamic program in plain code."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from edrp.core.arrays import Floats
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
    >>> one, two = Deployment({"work": ["a"]}), Deployment({"work": ["a", "a"]})
    >>> pool = CoursePool(problem, [one, two])
    >>> pool.best(), pool.joined((one, two, one), 1)
    (3700.0, (Deployment({'work': ('a', 'a')}), 800.0, (0, 2)))
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
        chosen = [int(np.argmin(values))]
        if not np.isfinite(values[chosen[0]]):
            return None
        for t in range(len(self.costs) - 1, 0, -1):
            chosen.append(int(np.argmin(self._arrive[t - 1] + self.costs[t - 1] + self._steps(t)[:, chosen[-1]])))
        return tuple(self.deployments[index] for index in reversed(chosen))

    def with_cost(self, number: int, costs: Floats) -> float:
        """Least objective of all courses if the deployments cost this in one period."""
        return float(np.min(self._arrive[number] + costs + self._leave[number]))

    def joined(self, course: Course, number: int) -> tuple[Deployment | None, float, tuple[int, int]]:
        """The best single deployment from the change before that of a period until the one after it; the rest stays as it is.

        Before the change of the first period it is the initial deployment.

        Returns
        -------
        tuple
            The deployment, or None where none is feasible; by how many seconds the course is better, infinite where none is
            feasible and not a number where the course itself is not; the periods, the last one excluded.
        """
        index = {deployment: position for position, deployment in enumerate(self.deployments)}
        chosen = [index[deployment] for deployment in course]
        first, end = number, number
        while first > 0 and chosen[first - 1] == chosen[number - 1]:
            first -= 1
        while end < len(chosen) and chosen[end] == chosen[number]:
            end += 1
        values = self.costs[first:end].sum(axis=0)
        own = sum(self.costs[t, chosen[t]] for t in range(first, end))
        before = chosen[first - 1] if first else self._start
        for t in range(first, min(end + 1, len(chosen))):
            source = chosen[t - 1] if t else self._start
            own += 0.0 if source is None else self._steps(t)[source, chosen[t]]
        if before is not None:
            values = values + self._steps(first)[before]
        if end < len(chosen):
            values = values + self._steps(end)[:, chosen[end]]
        if number == 0:
            values = np.where(np.arange(len(values)) == self._start, values, np.inf)
        best = int(np.argmin(values))
        if not np.isfinite(own):
            return None, np.nan, (first, end)
        joined = self.deployments[best] if np.isfinite(values[best]) else None
        return joined, float(values[best] - own), (first, end)

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
