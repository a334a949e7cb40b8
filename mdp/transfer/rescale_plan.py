"""The plan of a rescaling: what each node keeps, gives, receives, starts and stops, in which steps, and when."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from edrp.core.arrays import Bools, Floats, Ints
from edrp.core.errors import Fault, InvalidInstanceError
from edrp.core.tolerances import SAME_VALUE
from edrp.mdp.transfer.migration_plan import mini_migrations, node_loads
from edrp.mdp.transfer.schedules import Phase, Transfer, TransferSchedule, schedule_transfers, traffic_between
from edrp.migration.intervals import tasks_text
from edrp.migration.rescale.documents import KeyedDeployment, moved_bytes
from edrp.migration.rescale.problem import RescaleProblem
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


@dataclass(frozen=True, slots=True)
class StateMove:
    """A move of state of an operator between nodes: neighbouring tasks, or a part where load splits evenly.

    Attributes
    ----------
    tasks : [first, end); None where the operator has no tasks.
    size : bytes.
    """

    operator: str
    tasks: tuple[int, int] | None
    source: str
    target: str
    size: float

    @property
    def count(self) -> int:
        """Number of tasks that pause during the move; 1 for a part of the state of an operator without tasks."""
        return 1 if self.tasks is None else self.tasks[1] - self.tasks[0]

    def __str__(self) -> str:
        what = "state" if self.tasks is None else tasks_text(*self.tasks)
        return f"{what} of {self.operator} from {self.source} to {self.target}, {self.size:.6g} bytes"


@dataclass(frozen=True, slots=True)
class RescaleRole:
    """The role of one node in a rescaling.

    Attributes
    ----------
    keeps, gives, receives : ranges of tasks by operator, without those that have none.
    starts, stops : number of replicas by operator.
    sent, received : bytes, those of operators without tasks included.
    seconds : minimum time that its network card needs for these bytes.
    """

    node: str
    keeps: dict[str, tuple[tuple[int, int], ...]]
    gives: dict[str, tuple[tuple[int, int], ...]]
    receives: dict[str, tuple[tuple[int, int], ...]]
    starts: dict[str, int]
    stops: dict[str, int]
    sent: float
    received: float
    seconds: float


@dataclass(frozen=True, slots=True)
class RescaleStep:
    """A mini-migration, one step of a rescaling plan.

    Attributes
    ----------
    moves : in the order of operators and tasks.
    schedule : when each transfer runs, counted from the begin of the step; nodes by index.
    fullest : node that has most to do after the step, and the tuples/s that it then receives.
    """

    moves: tuple[StateMove, ...]
    schedule: TransferSchedule
    fullest: tuple[str, float]


@dataclass(frozen=True, slots=True)
class RescalePlan:
    """The plan of a whole rescaling.

    Attributes
    ----------
    nodes : names by index.
    roles : role of every node.
    steps : in order; a single one unless move-ins are limited, none where no state moves.
    transfer_seconds : time that the busiest network card needs for all transfers; no plan takes less.
    """

    nodes: tuple[str, ...]
    roles: tuple[RescaleRole, ...]
    steps: tuple[RescaleStep, ...]
    transfer_seconds: float

    @property
    def total_seconds(self) -> float:
        """Time that all transfers take, one step after the other."""
        return sum(step.schedule.total_seconds for step in self.steps)


class _StateUnits(NamedTuple):
    """Units of state that can move by themselves: tasks of all operators, then parts of the state of operators without.

    Attributes
    ----------
    owner : shape (units,), index of the operator.
    task : shape (units,), -1 for a part.
    old, new : shape (units,), node before and after.
    size, work : shape (units,), bytes, and tuples/s.
    """

    owner: Ints
    task: Ints
    old: Ints
    new: Ints
    size: Floats
    work: Floats


def plan_rescale(problem: RescaleProblem, deployment: KeyedDeployment, *, max_move_ins: int | None = None) -> RescalePlan:
    """Plan the rescaling from the current deployment to another, with state that moves from node to node.

    Parameters
    ----------
    problem
        With a current deployment and direct transfers.
    deployment
        Target deployment.
    max_move_ins
        Tasks of all operators together that may move to a node in one step, and stand still meanwhile; None for no limit.

    Raises
    ------
    InvalidInstanceError
        When there is nothing to come from, state goes by way of the store, or the deployment does not fit the problem.
    """
    if problem.current is None:
        why = "a plan leads from what runs to something else; give the deployment that runs"
        raise InvalidInstanceError([Fault("current", "null", why)])
    if problem.transfer != "direct":
        why = "transfers are planned from node to node; give 'direct', and up_rate and down_rate of the nodes"
        raise InvalidInstanceError([Fault("transfer", problem.transfer, why)])
    target: KeyedDeployment = problem.read_decision(deployment, "deployment")
    nodes = tuple(node.name for node in problem.network.nodes)
    units = _state_units(problem, problem.current, target, {name: u for u, name in enumerate(nodes)})
    up = np.array([node.up_rate or np.inf for node in problem.network.nodes])
    down = np.array([node.down_rate or np.inf for node in problem.network.nodes])
    on_the_way = np.stack([units.old, units.new])
    if max_move_ins is not None and (units.old != units.new).any():
        on_the_way = mini_migrations(units.old, units.new, max_move_ins, units.size, units.work)
    steps = []
    for before_step, after_step in pairwise(on_the_way):
        if (before_step == after_step).all():
            continue
        work_of_node = node_loads(after_step[np.newaxis], units.work, len(nodes))[0]
        fullest = int(work_of_node.argmax())
        schedule = schedule_on_cards(traffic_between(before_step, after_step, units.size, len(nodes)), up, down)
        steps.append(
            RescaleStep(
                tuple(_moves(problem, units, before_step, after_step, nodes)),
                schedule,
                (nodes[fullest], float(work_of_node.max())),
            )
        )
    whole = traffic_between(units.old, units.new, units.size, len(nodes))
    roles = tuple(_role(problem, target, units, name, u, (whole, up, down)) for u, name in enumerate(nodes))
    return RescalePlan(nodes, roles, tuple(steps), max((role.seconds for role in roles), default=0.0))


def schedule_on_cards(traffic: ArrayLike, up: Floats, down: Floats) -> TransferSchedule:
    """Build a schedule of minimum length, which the busiest network card determines: max over nodes of bytes / rate.

    Where one transfer at a time per card is as fast, as with equal cards, it is in phases of these; else all transfers run
    together, each at a constant rate that ends it with the schedule. Rates may be infinite.
    """
    sizes = np.asarray(traffic, float)
    fluid = max((sizes.sum(axis=1) / up).max(initial=0.0), (sizes.sum(axis=0) / down).max(initial=0.0))
    if fluid == 0:
        at_once = [Transfer(int(u), int(v), float(sizes[u, v])) for u, v in np.argwhere(sizes > 0)]
        return TransferSchedule((Phase(0.0, 0.0, tuple(at_once)),) if at_once else (), 0.0, 0.0, 0.0)
    ample = 2 * sizes.sum() / fluid  # in place of infinite rates: such cards are busy for half of the time at most
    sending, receiving = np.where(np.isinf(up), ample, up), np.where(np.isinf(down), ample, down)
    one_by_one = schedule_transfers(sizes, sending, receiving)
    if one_by_one.total_seconds <= fluid * (1 + SAME_VALUE):
        return one_by_one
    return schedule_transfers(sizes, sending, receiving, exclusive=False)


def _state_units(problem: RescaleProblem, before: KeyedDeployment, after: KeyedDeployment, index: dict[str, int]) -> _StateUnits:
    """List tasks with their nodes before and after; for operators without tasks, the parts that move."""
    rows: list[tuple[int, int, int, int, float, float]] = []
    for number, operator in enumerate(problem.application.operators):
        load = problem.application.load(operator.name)
        if operator.tasks is None:
            for source, target, size in _moved_parts(problem, before, after, operator.name):
                rows.append((number, -1, index[source], index[target], size, load * size / operator.state_size))
            continue
        total = operator.tasks.work_before[-1]
        owners = zip(*(deployment.owners(operator.name, operator.tasks.count) for deployment in (before, after)), strict=True)
        for task, (source, target) in enumerate(owners):
            work = load * operator.tasks.work[task] / total
            rows.append((number, task, index[source], index[target], operator.tasks.state_size[task], work))
    cells = np.array(rows, float).reshape(-1, 6)
    owner, task, old, new = cells[:, :4].T.astype(np.int64)
    return _StateUnits(owner, task, old, new, cells[:, 4], cells[:, 5])


def _moved_parts(
    problem: RescaleProblem, before: KeyedDeployment, after: KeyedDeployment, operator: str
) -> Iterator[tuple[str, str, float]]:
    """Yield sender, receiver and bytes of the moved state of an operator without tasks, in the order of names."""
    moved = moved_bytes(problem.application, before, after, operator)
    missing = sorted((node, size) for node, size in moved.arriving.items() if size > 0)
    for source, size_left in sorted(moved.leaving.items()):
        while size_left > 0 and missing:
            target, needed = missing.pop(0)
            size = min(size_left, needed)
            yield source, target, size
            size_left -= size
            if needed > size:
                missing.insert(0, (target, needed - size))


def _moves(
    problem: RescaleProblem, units: _StateUnits, before_step: Ints, after_step: Ints, nodes: tuple[str, ...]
) -> Iterator[StateMove]:
    """Yield runs of neighbouring tasks of an operator that move between two nodes, and parts of states."""
    operators = problem.application.operators
    moved = np.flatnonzero(before_step != after_step)
    same = np.diff(units.task[moved]) == 1
    for key in (units.owner, before_step, after_step):
        same &= np.diff(key[moved]) == 0
    starts = [0, *(np.flatnonzero(~same) + 1).tolist(), moved.size]
    for first, end in pairwise(starts):
        run = moved[first:end]
        task = int(units.task[run[0]])
        tasks = None if task < 0 else (task, task + run.size)
        source, target = nodes[before_step[run[0]]], nodes[after_step[run[0]]]
        yield StateMove(operators[units.owner[run[0]]].name, tasks, source, target, float(units.size[run].sum()))


def _role(
    problem: RescaleProblem,
    after: KeyedDeployment,
    units: _StateUnits,
    name: str,
    node: int,
    cards: tuple[Floats, Floats, Floats],
) -> RescaleRole:
    traffic, up, down = cards
    assert problem.current is not None
    changes = {
        o.name: after.replicas(o.name)[name] - problem.current.replicas(o.name)[name] for o in problem.application.operators
    }
    before_here, after_here = units.old == node, units.new == node
    sent, received = float(traffic[node].sum()), float(traffic[:, node].sum())
    return RescaleRole(
        node=name,
        keeps=_ranges_by_operator(problem, units, before_here & after_here),
        gives=_ranges_by_operator(problem, units, before_here & ~after_here),
        receives=_ranges_by_operator(problem, units, ~before_here & after_here),
        starts={operator: change for operator, change in changes.items() if change > 0},
        stops={operator: -change for operator, change in changes.items() if change < 0},
        sent=sent,
        received=received,
        seconds=float(max(sent / up[node], received / down[node])),
    )


def _ranges_by_operator(problem: RescaleProblem, units: _StateUnits, chosen: Bools) -> dict[str, tuple[tuple[int, int], ...]]:
    """List the ranges of the chosen tasks by operator."""
    ranges: dict[str, tuple[tuple[int, int], ...]] = {}
    for number, operator in enumerate(problem.application.operators):
        tasks = units.task[chosen & (units.owner == number) & (units.task >= 0)]
        runs = np.split(tasks, np.flatnonzero(np.diff(tasks) > 1) + 1) if tasks.size else []
        if runs:
            ranges[operator.name] = tuple((int(run[0]), int(run[-1]) + 1) for run in runs)
    return ranges
