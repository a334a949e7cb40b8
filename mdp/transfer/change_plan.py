"""The plan of a day: when deployments over periods change, what starts and stops where, and what state moves."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate

from edrp.placement.changes import Change, arriving_share
from edrp.placement.deployment import Action, Deployment, DeploymentLike
from edrp.placement.sequence import EdrpSequence


@dataclass(frozen=True, slots=True)
class PlannedAction:
    """The part of one operator in a change.

    Attributes
    ----------
    action : replicas that start and stop.
    moved_state : bytes of its state that must reach another node at least.
    """

    action: Action
    moved_state: float

    @property
    def starts(self) -> dict[str, int]:
        """Number of replicas that start on a node."""
        return dict(Counter(self.action.added))

    @property
    def stops(self) -> dict[str, int]:
        """Number of replicas that stop on a node."""
        return dict(Counter(self.action.removed))


@dataclass(frozen=True, slots=True)
class PlannedChange:
    """A change, and when it is due.

    Attributes
    ----------
    at : seconds from the beginning of the first period.
    period : that begins with it.
    actions : one for each operator that changes.
    change : what it does in all.
    price : its price in seconds of an objective of 1.
    deployment : what runs afterwards.
    """

    at: float
    period: int
    actions: tuple[PlannedAction, ...]
    change: Change
    price: float
    deployment: Deployment


@dataclass(frozen=True, slots=True)
class ChangePlan:
    """All changes of a sequence.

    Attributes
    ----------
    first : what runs before the first change.
    running : whether that runs already; else it has to be started at the beginning of the first period.
    changes : in order of time.
    duration : seconds of all periods.
    """

    first: Deployment
    running: bool
    changes: tuple[PlannedChange, ...]
    duration: float

    @property
    def totals(self) -> dict[str, float]:
        """Sums over all changes: started replicas, bytes of state, seconds of downtime, and price in seconds."""
        changes = [change.change for change in self.changes]
        return {
            "started_replicas": sum(change.started_replicas for change in changes),
            "moved_state": math.fsum(change.moved_state for change in changes),
            "downtime": math.fsum(change.downtime for change in changes),
            "price": math.fsum(change.price for change in self.changes),
        }


def plan_changes(problem: EdrpSequence, deployments: Sequence[DeploymentLike]) -> ChangePlan:
    """Plan the changes that lead through the deployments of all periods.

    Parameters
    ----------
    deployments
        One for each period, such as the `decision` of a solution.

    Raises
    ------
    InvalidInstanceError
        When they do not fit the problem.

    Examples
    --------
    >>> problem = EdrpSequence(
    ...     application={"operators": [{"name": "work", "state_size": 6.0, "cost": 1.0, "max_replicas": 2}]},
    ...     network={"nodes": [{"name": "a"}, {"name": "b"}], "between_zones": {"delay": 0.01}},
    ...     weights={"cost": 1.0},
    ...     limits={"cost": 4.0},
    ...     periods=[{"duration": 60}, {"duration": 30}],
    ...     initial={"work": ["a"]},
    ... )
    >>> plan = plan_changes(problem, [{"work": ["a"]}, {"work": ["a", "b"]}])
    >>> [(change.at, change.actions[0].starts, change.actions[0].moved_state) for change in plan.changes]
    [(60.0, {'b': 1}, 3.0)]
    """
    course: tuple[Deployment, ...] = problem.read_decision(deployments, "deployments")
    first = course[0] if problem.initial is None else problem.initial
    return ChangePlan(first, problem.initial is not None, tuple(_changes(problem, course)), problem.duration)


def _changes(problem: EdrpSequence, course: Sequence[Deployment]) -> Iterator[PlannedChange]:
    size: Mapping[str, float] = {operator.name: operator.state_size for operator in problem.application.operators}
    begins = (0.0, *accumulate(period.duration for period in problem.periods))
    before = problem.initial
    for number, after in enumerate(course):
        change = None if before in (None, after) else problem.change(problem.period(number, before), after)
        if before is not None and change is not None:
            actions = tuple(
                PlannedAction(
                    action,
                    size[action.operator] * arriving_share(before.replicas(action.operator), after.replicas(action.operator)),
                )
                for action in before.actions_to(after)
            )
            yield PlannedChange(begins[number], number, actions, change, problem.changes.of(change), after)
        before = after
