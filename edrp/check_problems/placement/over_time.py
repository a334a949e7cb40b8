"""Sequences and policies of deployments on which methods are checked, with optima by enumeration.

All deployments of every period or level are judged by the plain evaluation alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from edrp.check_problems.base import EnumeratedCheckProblems
from edrp.check_problems.placement.enumeration import deployments
from edrp.core.arrays import Bools, Floats, Ints
from edrp.core.tolerances import LIMIT_SLACK, SAME_VALUE
from edrp.datasets.families.placement.policy import elastic_levels
from edrp.datasets.families.placement.random_sequence import random_policy, random_sequence
from edrp.datasets.families.placement.sequence import elastic_sequence
from edrp.placement.changes import change_between
from edrp.placement.deployment import Deployment
from edrp.placement.edrp import EdrpProblem
from edrp.placement.metrics import Downtime
from edrp.placement.policy import EdrpPolicyProblem
from edrp.placement.sequence import EdrpSequence


def brute_force_sequence(problem: EdrpSequence) -> float | None:
    """Least objective over all courses of deployments; None where there is none.

    The best course to every deployment of a period follows from those of the period before (a dynamic program).
    """
    listed = list(deployments(problem.base))
    values = None
    for number in range(len(problem.periods)):
        costs = np.array([period_cost(problem, number, deployment) for deployment in listed])
        values = costs if values is None and problem.initial is None else costs + _reached(problem, number, listed, values)
    best = float(np.min(values, initial=np.inf)) if values is not None else np.inf
    return best if np.isfinite(best) else None


def period_cost(problem: EdrpSequence, number: int, deployment: Deployment) -> float:
    """Cost of a period; infinite where the deployment is not feasible in it."""
    loaded = problem.period(number)
    evaluation = loaded.problem.evaluate(deployment)
    return problem.periods[number].duration * loaded.factor * evaluation.objective if evaluation.feasible else np.inf


def _reached(problem: EdrpSequence, number: int, listed: Sequence[Deployment], values: Floats | None) -> Floats:
    """Least cost of all that comes before every deployment of a period."""
    before = [problem.initial] if values is None else listed
    start = np.zeros(1) if values is None else values
    table = change_table(problem, [deployment for deployment in before if deployment is not None], listed)
    return np.asarray((start[:, None] + table.costs(problem, number)).min(axis=0))


@dataclass(frozen=True, slots=True)
class ChangeTable:
    """Prices and downtimes of all changes from some deployments to others, and where nothing changes; shape (before, after)."""

    price: Floats
    downtime: Floats
    same: Bools

    def costs(self, problem: EdrpSequence, number: int) -> Floats:
        """Prices at the beginning of a period; infinite where downtime exceeds its limit."""
        limits = problem.periods[number].limits or problem.limits
        late = self.downtime > (np.inf if limits.downtime is None else limits.downtime) * (1 + LIMIT_SLACK)
        return np.where(self.same, 0.0, np.where(late, np.inf, self.price))


def change_table(problem: EdrpSequence, before: Sequence[Deployment], after: Sequence[Deployment]) -> ChangeTable:
    """Prices of all changes: what single operators add is computed once for each pair of their configurations.

    Storm restarts all operators when one changes, so that there every pair of deployments is looked at.
    """
    storm, prices, metric = problem.reconfiguration == "storm", problem.changes, Downtime()
    price, downtime = np.zeros((len(before), len(after))), np.zeros((len(before), len(after)))
    for name in problem.application.by_name:
        rows = [list(dict.fromkeys(deployment[name] for deployment in listed)) for listed in (before, after)]
        at = np.ix_(*([row.index(one[name]) for one in listed] for row, listed in zip(rows, (before, after), strict=True)))
        sources, targets = ([Deployment({**before[0], name: nodes}) for nodes in row] for row in rows)
        changes = [[change_between(problem, source, target, 0.0) for target in targets] for source in sources]
        price += np.array([[0.0 if change is None else prices.of(change) - prices.change for change in row] for row in changes])[
            at
        ]
        if not storm:
            current = [_from(problem, source) for source in sources]
            alone = np.array([[metric.operator_downtime(one, target, name) for target in targets] for one in current])
            downtime = np.maximum(downtime, alone[at])
    if storm:
        downtime = np.array([[metric.evaluate(one, new) for new in after] for one in map(partial(_from, problem), before)])
    same = np.array([[old == new for new in after] for old in before])
    return ChangeTable(price + (prices.change + prices.downtime * downtime), downtime, same)


def _from(problem: EdrpSequence, before: Deployment) -> EdrpProblem:
    """The problem of a period before which something runs."""
    return problem.under(problem.periods[0], before).problem


def courses(problem: EdrpSequence) -> Iterator[tuple[Deployment, ...]]:
    """Yield every course of deployments, feasible or not; for problems with very few."""
    listed = list(deployments(problem.base))
    count = len(problem.periods)
    for number in range(len(listed) ** count):
        yield tuple(listed[number // len(listed) ** place % len(listed)] for place in range(count))


def tiny_sequence(seed: int) -> EdrpSequence:
    """A random sequence whose deployments are few."""
    return random_sequence(seed, combinations=60)


class EdrpSequenceCheckProblems(EnumeratedCheckProblems):
    """Kind `edrp-sequence`."""

    seeds = range(10)
    draw = staticmethod(tiny_sequence)
    brute_force = staticmethod(brute_force_sequence)

    def feasible(self) -> dict[str, Any]:
        """Return random problems on several nodes, and some on one, where only numbers of replicas count."""
        alone = {f"one node {seed}": random_sequence(seed, nodes=(1, 1), combinations=30) for seed in (0, 1, 2, 3)}
        return {**super().feasible(), **{label: problem for label, problem in alone.items() if self.optimum(problem) is not None}}

    def infeasible(self) -> dict[str, Any]:
        """One period is overloaded; no change keeps the limit on downtime."""
        work = {"name": "work", "latency": {"model": "mm1", "service_rate": 10.0}, "external_rate": 5.0, "max_replicas": 2}
        common: dict[str, Any] = {
            "application": {"operators": [work]},
            "network": {"nodes": [{"name": "a"}, {"name": "b"}], "between_zones": {"delay": 0.01}},
            "weights": {"response_time": 1.0},
        }
        rates = [{"duration": 60.0, "external_rates": {"work": rate}} for rate in (5.0, 25.0, 5.0)]
        slow = [{"duration": 60.0, "limits": {"response_time": limit, "downtime": 1.0}} for limit in (1.0, 0.15)]
        return {
            "overload": EdrpSequence(**common, limits={"response_time": 1.0}, periods=rates),
            "downtime": EdrpSequence(
                **common, limits={"response_time": 1.0}, periods=slow, synchronisation_time=2.0, initial={"work": ["a"]}
            ),
        }

    def degenerate(self) -> dict[str, Any]:
        """Return edge cases: one period, no prices, prices above all that changes bring, an initial deployment to be left."""
        work = {"name": "work", "latency": {"model": "mm1", "service_rate": 10.0}, "external_rate": 5.0, "max_replicas": 2}
        common: dict[str, Any] = {
            "application": {"operators": [{**work, "cost": 1.0}]},
            "network": {"nodes": [{"name": "a"}, {"name": "b", "resources": 1}], "between_zones": {"delay": 0.01}},
            "limits": {"response_time": 1.0, "cost": 4.0},
        }
        rates = [{"duration": 60.0, "external_rates": {"work": rate}} for rate in (5.0, 15.0, 5.0)]
        return {
            "one period": EdrpSequence(**common, periods=rates[:1]),
            "free changes": EdrpSequence(**common, periods=rates),
            "dear changes": EdrpSequence(**common, periods=rates, changes={"change": 1e6}),
            "to be left": EdrpSequence(**common, periods=rates, changes={"started_replicas": 9.0}, initial={"work": ["b", "b"]}),
        }

    def rare(self) -> list[Any]:
        """Return more vectors of replicas than can be listed, on branches between which the bound is not tight."""
        work = {"latency": {"model": "mm1", "service_rate": 1.0}, "cost": 1.0, "max_replicas": 16}
        names = [f"o{i}" for i in range(8)]
        streams = [{"source": "o0", "target": name} for name in names[1:]]
        rates = [{"duration": 60.0, "external_rates": {"o0": rate}} for rate in (2.0, 9.0, 5.0, 3.0)]
        return [
            EdrpSequence(
                application={
                    "operators": [{**work, "name": name, "external_rate": 1.0 if name == "o0" else 0.0} for name in names],
                    "streams": streams,
                },
                network={"nodes": [{"name": "a", "resources": 100}]},
                limits={"response_time": 100.0, "cost": 200.0},
                periods=rates,
                changes={"change": 1.0, "started_replicas": 0.1},
            )
        ]

    def large(self) -> Any:
        """Six operators on eight nodes over a day."""
        return elastic_sequence(0, operators=6, nodes=8, periods=24)


def brute_force_policy(problem: EdrpPolicyProblem) -> float | None:
    """Least objective of all policies; None where none keeps the limits."""
    sequence, listed = problem.level_sequence, list(deployments(problem.base))
    levels = range(len(sequence.periods))
    costs = np.array([[period_cost(sequence, level, deployment) for deployment in listed] for level in levels])
    table = change_table(sequence, listed, listed)
    steps = np.array([table.costs(sequence, level) + costs[level] for level in levels])
    reachable = list(problem.reachable_levels)
    chances = np.array(problem.transitions)[np.ix_(reachable, reachable)]
    kept = _kept(np.isfinite(steps), chances > 0)
    goes_on = _goes_on(kept, chances > 0)
    values = _policy_iteration(np.where(goes_on[:, None, :], steps, np.inf), chances, problem.discount, kept)
    level = reachable.index(problem.level_numbers[problem.level])
    first = np.where(goes_on[level], costs[level], np.inf)
    if problem.current is not None:
        first = first + change_table(sequence, [problem.current], listed).costs(sequence, level)[0]
    best = float(np.min(first + problem.discount * (chances[level] @ values), initial=np.inf))
    return best if np.isfinite(best) else None


def _policy_iteration(steps: Floats, chances: Floats, discount: float, kept: Bools) -> Floats:
    """Expected discounted cost from each level and deployment on, by Howard's policy iteration; 0 where limits must be broken.

    Parameters
    ----------
    steps
        Shape (levels, before, after), cost of a change and of the period after it; infinite for those that must not be made.
    kept
        Shape (levels, before), from where limits can be kept.
    """
    levels, count, _ = steps.shape
    at, before = np.nonzero(kept)
    rows = at * count + before
    actions: Ints = steps.argmin(axis=2)
    while True:
        matrix = np.eye(levels * count)
        for other in range(levels):
            np.subtract.at(matrix, (rows, other * count + actions[at, before]), discount * chances[at, other])
        costs = np.zeros(levels * count)
        costs[rows] = steps[at, before, actions[at, before]]
        values: Floats = np.asarray(np.linalg.solve(matrix, costs).reshape(levels, count), np.float64)
        totals = (steps + discount * (chances @ values)[:, None, :])[at, before]
        known = totals[np.arange(len(at)), actions[at, before]]
        better = totals.min(axis=1) < known - SAME_VALUE * np.abs(known)
        if not better.any():
            return values
        actions[at[better], before[better]] = totals.argmin(axis=1)[better]


def _goes_on(kept: Bools, follows: Bools) -> Bools:
    """After which levels with which deployment limits can be kept at all levels that may follow, shape (levels, deployments)."""
    return np.array([kept[row].all(axis=0) for row in follows])


def _kept(possible: Bools, follows: Bools) -> Bools:
    """From which levels and deployments on limits can be kept for ever, shape (levels, deployments)."""
    kept: Bools = np.ones(possible.shape[:2], bool)
    while True:
        now = np.asarray((possible & _goes_on(kept, follows)[:, None, :]).any(axis=2))
        if (now == kept).all():
            return kept
        kept = now


QUEUE = {"model": "mm1", "service_rate": 10.0}
WORK: dict[str, Any] = {"name": "work", "latency": QUEUE, "external_rate": 5.0, "max_replicas": 2, "cost": 1.0}


def two_levels(high: float = 15.0, **changes: Any) -> EdrpPolicyProblem:
    """One operator on two nodes that needs a second replica at the higher of two levels, unless that is beyond two."""
    fields: dict[str, Any] = {
        "application": {"operators": [WORK]},
        "network": {"nodes": [{"name": "a"}, {"name": "b", "resources": 1}], "between_zones": {"delay": 0.01}},
        "limits": {"response_time": 1.0, "cost": 4.0},
        "levels": [{"name": "low"}, {"name": "high", "external_rates": {"work": high}}],
        "transitions": [[0.8, 0.2], [0.5, 0.5]],
        "period": 60.0,
        "discount": 0.8,
        "level": "low",
    }
    return EdrpPolicyProblem(**{**fields, **changes})


class EdrpPolicyCheckProblems(EnumeratedCheckProblems):
    """Kind `edrp-policy`."""

    seeds = range(12)
    draw = staticmethod(random_policy)
    brute_force = staticmethod(brute_force_policy)

    def infeasible(self) -> dict[str, Any]:
        """A level that may follow is overloaded; a change that will be needed takes too long."""
        tight = [{"name": "low"}, {"name": "high", "limits": {"response_time": 0.15, "cost": 4.0, "downtime": 1.0}}]
        return {
            "overload": two_levels(25.0),
            "overload without a future": two_levels(25.0, discount=0.0),
            "downtime": two_levels(
                levels=tight, synchronisation_time=2.0, limits={"response_time": 0.25, "cost": 1.0}, current={"work": ["a"]}
            ),
        }

    def degenerate(self) -> dict[str, Any]:
        """Return edge cases: one level, no future, free and expensive changes, a level that never comes, one to leave."""
        never = [{"name": "low"}, {"name": "high", "external_rates": {"work": 99.0}}]
        return {
            "one level": two_levels(levels=[{"name": "low"}], transitions=[[1.0]]),
            "no future": two_levels(discount=0.0, changes={"started_replicas": 9.0}, current={"work": ["b"]}),
            "free changes": two_levels(),
            "expensive changes": two_levels(changes={"change": 1e6}),
            "never": two_levels(levels=never, transitions=[[1.0, 0.0], [0.5, 0.5]]),
            "to be left": two_levels(level="high", changes={"started_replicas": 9.0}, current={"work": ["b", "b"]}),
        }

    def large(self) -> Any:
        """Six operators on eight nodes."""
        return elastic_levels(0, operators=6)
