"""Optima of tiny sequences by enumeration: all deployments of every period, judged by the plain evaluation alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from edrp.check_problems.placement.enumeration import deployments
from edrp.core.arrays import Bools, Floats, Ints
from edrp.core.tolerances import LIMIT_SLACK
from edrp.placement.changes import change_between
from edrp.placement.deployment import Deployment
from edrp.placement.metrics import Downtime
from edrp.placement.sequence import EdrpSequence


def brute_force_sequence(problem: EdrpSequence) -> float | None:
    """Least objective over all courses of deployments; None where there is none.

    The best course to every deployment of a period follows from those of the period before (a dynamic program).
    """
    listed = list(deployments(problem.base))
    values = None
    for number in range(len(problem.periods)):
        costs = np.array([_cost(problem, number, deployment) for deployment in listed])
        values = costs if values is None and problem.initial is None else costs + _reached(problem, number, listed, values)
    best = float(np.min(values, initial=np.inf)) if values is not None else np.inf
    return best if np.isfinite(best) else None


def _cost(problem: EdrpSequence, number: int, deployment: Deployment) -> float:
    """Cost of a period; infinite where the deployment is not feasible in it."""
    loaded = problem.period(number)
    evaluation = loaded.problem.evaluate(deployment)
    return problem.periods[number].duration * loaded.factor * evaluation.objective if evaluation.feasible else np.inf


def _reached(problem: EdrpSequence, number: int, listed: Sequence[Deployment], values: Floats | None) -> Floats:
    """Least cost of all that comes before every deployment of a period."""
    before = [problem.initial] if values is None else listed
    start = np.zeros(1) if values is None else values
    prices = _prices(problem, [deployment for deployment in before if deployment is not None], listed)
    late = prices.downtime > _limit(problem, number) * (1 + LIMIT_SLACK)
    steps = np.where(prices.same, 0.0, np.where(late, np.inf, prices.price))
    return np.asarray((start[:, None] + steps).min(axis=0))


def _limit(problem: EdrpSequence, number: int) -> float:
    limits = problem.periods[number].limits or problem.limits
    return np.inf if limits.downtime is None else limits.downtime


class _Prices:
    """Prices and downtimes of all changes from some deployments to others, operator by operator."""

    def __init__(self, sources: int, targets: int) -> None:
        self.price: Floats = np.zeros((sources, targets))
        self.downtime: Floats = np.zeros((sources, targets))
        self.same: Bools = np.ones((sources, targets), bool)


def _prices(problem: EdrpSequence, before: Sequence[Deployment], after: Sequence[Deployment]) -> _Prices:
    """Prices of all changes: what single operators add is computed once for each pair of their configurations.

    Storm restarts all operators when one changes, so that there every pair of deployments is looked at.
    """
    result = _Prices(len(before), len(after))
    storm = problem.reconfiguration == "storm"
    prices = problem.changes
    for operator in problem.application.operators:
        name = operator.name
        rows = [list(dict.fromkeys(deployment[name] for deployment in listed)) for listed in (before, after)]
        at = [_places(row, listed, name) for row, listed in zip(rows, (before, after), strict=True)]
        price, downtime = np.zeros((len(rows[0]), len(rows[1]))), np.zeros((len(rows[0]), len(rows[1])))
        for i, old in enumerate(rows[0]):
            for j, new in enumerate(rows[1]):
                source, target = _varied(before[0], name, old), _varied(before[0], name, new)
                change = change_between(problem, source, target, 0.0)
                price[i, j] = 0.0 if change is None else prices.of(change) - prices.change
                downtime[i, j] = 0.0 if storm else _downtime(problem, source, target, name)
        result.price += price[np.ix_(at[0], at[1])]
        result.downtime = np.maximum(result.downtime, downtime[np.ix_(at[0], at[1])])
        result.same &= _same(rows, at)
    if storm:
        result.downtime = np.array([[_downtime(problem, old, new) for new in after] for old in before])
    result.price += prices.change + prices.downtime * result.downtime
    return result


def _same(rows: Sequence[list[tuple[str, ...]]], at: Sequence[Ints]) -> Bools:
    """Which pairs have the same configuration of an operator, shape (sources, targets)."""
    sources, targets = ([row[index] for index in indices] for row, indices in zip(rows, at, strict=True))
    return np.array([[source == target for target in targets] for source in sources])


def _places(rows: list[tuple[str, ...]], listed: Sequence[Deployment], name: str) -> Ints:
    """Index of each deployment's configuration of an operator."""
    index = {row: number for number, row in enumerate(rows)}
    return np.array([index[deployment[name]] for deployment in listed])


def _varied(deployment: Deployment, name: str, nodes: tuple[str, ...]) -> Deployment:
    """The same deployment with other nodes of one operator."""
    return Deployment({**deployment, name: nodes})


def _downtime(problem: EdrpSequence, before: Deployment, after: Deployment, operator: str = "") -> float:
    """Downtime of a change, or the share of one operator in it, in seconds."""
    current = problem.under(problem.periods[0], before).problem
    metric = Downtime()
    return metric.operator_downtime(current, after, operator) if operator else metric.evaluate(current, after)


def courses(problem: EdrpSequence) -> Iterator[tuple[Deployment, ...]]:
    """Yield every course of deployments, feasible or not; for problems with very few."""
    listed = list(deployments(problem.base))
    count = len(problem.periods)
    for number in range(len(listed) ** count):
        yield tuple(listed[number // len(listed) ** place % len(listed)] for place in range(count))
