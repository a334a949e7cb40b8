"""Moves of a plan as moves of tasks to key groups, checked against where the tasks are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from edrp.core.errors import numbered
from edrp.engines.errors import EngineError
from edrp.engines.flink.migrating.discovery import LiveJob, LiveOperator
from edrp.engines.flink.migrating.plan_files import PlannedMove, PlannedSteps
from edrp.engines.key_groups import held_groups

SECONDS_PER_STEP = 0.02
"""Seconds of a step besides its transfers, as measured: markers travel in line with the data, and tasks are installed."""

PIECE = 1 << 16
"""Bytes that a sender writes before it waits for its pace; a task is installed when its last piece has come."""

UNPACED_RATE = 1.25e8
"""Bytes/s that a sender is taken to reach where no pace limits it."""


class TaskMove(NamedTuple):
    """A task that changes its key group."""

    operator: str
    task: int
    source: int
    target: int


Steps = tuple[tuple[TaskMove, ...], ...]


@dataclass(frozen=True, slots=True)
class StepForecast:
    """Expected time and bytes of a step.

    Attributes
    ----------
    tasks : number of tasks that move.
    size : bytes of their state, as measured before.
    seconds : until the last sender has sent its last task at its pace, and `SECONDS_PER_STEP`.
    """

    tasks: int
    size: int
    seconds: float


def task_moves(plan: PlannedSteps, job: LiveJob, operator: str | None, place: str) -> Steps:
    """The steps of a plan as moves to key groups; none where every task is where the plan leads it.

    A task takes the key group of its new worker that has the fewest tasks. Where the plan names a TaskManager with several
    workers of the operator, the task goes to the one with the least work; "TASKMANAGER/NUMBER" names one of them.

    Raises
    ------
    EngineError
        The plan is of another job, or its tasks are elsewhere by now.
    """
    moving = dict.fromkeys(move.operator for step in plan.steps for move in step)
    named = {name: job.operator(name or operator, place) for name in moving}
    _refuse_other_plan(plan, named, job, place)
    tables = {live.name: _Table(live) for live in named.values()}
    targets: dict[tuple[str, int], PlannedMove] = {}
    for move in (move for step in plan.steps for move in step):
        targets |= dict.fromkeys(((named[move.operator].name, task) for task in range(move.first, move.end)), move)
    if all(tables[name].is_on(task, move.target) for (name, task), move in targets.items()):
        return ()
    steps = (
        (tables[named[move.operator].name].move(move, task, place) for move in step for task in range(move.first, move.end))
        for step in plan.steps
    )
    return tuple(filter(None, (tuple(move for move in step if move.source != move.target) for step in steps)))


def _refuse_other_plan(plan: PlannedSteps, named: Mapping[str | None, LiveOperator], job: LiveJob, place: str) -> None:
    """Refuse a plan of other numbers of tasks or workers, and one that changes replicas of operators that are not live."""
    others = sorted(plan.others - set(job.operators))
    if others:
        why = f"also starts or stops replicas of {', '.join(others)}, which no migration does; plan with their replicas fixed"
        raise EngineError(place, why)
    for name, live in named.items():
        planned = plan.tasks.get(name)
        if planned is not None and planned != live.tasks:
            why = f"is a plan for {numbered(planned, 'task')} of {live.name}, which has {live.tasks}; plan again"
            raise EngineError(place, why)
    for move in (move for step in plan.steps for move in step):
        live = named[move.operator]
        if move.end > live.tasks:
            raise EngineError(place, f"moves task {move.end - 1} of {live.name}, which has {live.tasks} tasks; plan again")
        for end in (move.source, move.target):
            if live.workers_at(end):
                continue
            if isinstance(end, int):
                why = f"names worker {end} of {live.name}, which has workers 0 to {live.parallelism - 1}"
                raise EngineError(place, f"{why}; plan for these, or give the job a higher parallelism first")
            why = f"names {end}, where {live.name} has no worker; its workers are on {', '.join(dict.fromkeys(live.nodes))}"
            raise EngineError(place, f"{why}; plan again")
    for step in plan.steps:
        moved = Counter((named[move.operator].name, task) for move in step for task in range(move.first, move.end))
        for (operator, task), times in moved.items():
            if times > 1:
                raise EngineError(place, f"moves task {task} of {operator} {times} times in one step; plan again")


class _Table:
    """The table of an operator while a plan is carried out."""

    def __init__(self, live: LiveOperator) -> None:
        self._live = live
        self._table = list(live.table)
        self._tasks_of_group = Counter(live.table)
        self._workers_at: dict[int | str, tuple[int, ...]] = {}
        self._work = Counter[int]()
        for task, worker in enumerate(live.workers):
            self._work[worker] += self._work_of(task)

    def _work_of(self, task: int) -> int:
        return self._live.loads[task].busy if task in self._live.loads else 0

    def _at(self, end: int | str) -> tuple[int, ...]:
        if end not in self._workers_at:
            self._workers_at[end] = self._live.workers_at(end)
        return self._workers_at[end]

    def is_on(self, task: int, end: int | str) -> bool:
        """Whether a task is on a worker, or on a TaskManager."""
        return self._live.worker(self._table[task]) in self._at(end)

    def move(self, move: PlannedMove, task: int, place: str) -> TaskMove:
        """Move a task to the key group of its new worker that has the fewest tasks; it stays where it is there already."""
        live, source = self._live, self._table[task]
        worker = live.worker(source)
        if not self.is_on(task, move.source):
            here, there = live.places[worker], move.source
            if isinstance(there, int):
                here, there = f"worker {worker}", f"worker {there}"
            raise EngineError(place, f"task {task} of {live.name} is on {here}, the plan moves it from {there}; plan again")
        if self.is_on(task, move.target):
            return TaskMove(live.name, task, source, source)
        target_worker = min(self._at(move.target), key=lambda worker: (self._work[worker], worker))
        groups = range(*held_groups(target_worker, live.parallelism, live.groups))
        target = min(groups, key=lambda group: (self._tasks_of_group[group], group))
        self._table[task] = target
        self._tasks_of_group.subtract([source])
        self._tasks_of_group.update([target])
        self._work[worker] -= self._work_of(task)
        self._work[target_worker] += self._work_of(task)
        return TaskMove(live.name, task, source, target)


def forecasts(steps: Steps, job: LiveJob, pace: float) -> tuple[StepForecast, ...]:
    """Expected time and bytes of each step at a pace of each sender in bytes/s, 0 for none.

    A sender sends its tasks one after the other. It waits for its pace after a piece, and so delays its next task and not the
    one that it has sent.
    """
    idle_from: dict[tuple[str, int], float] = {}
    planned, now, rate = [], 0.0, pace or UNPACED_RATE
    for step in steps:
        end, sent = now, 0
        for move in step:
            live = job.operators[move.operator]
            sender = (move.operator, live.worker(move.source))
            if sender[1] == live.worker(move.target):
                continue
            size = state_size(live, move.task)
            start = max(now, idle_from.get(sender, 0.0))
            idle_from[sender] = start + size / rate
            before_last_piece = max(0, size - 1) // PIECE * PIECE if pace else size
            end = max(end, start + before_last_piece / rate)
            sent += size
        planned.append(StepForecast(len(step), sent, end - now + SECONDS_PER_STEP))
        now = end + SECONDS_PER_STEP
    return tuple(planned)


def state_size(live: LiveOperator, task: int) -> int:
    """Bytes of the state of a task; 0 where it has not been counted."""
    return live.loads[task].size if task in live.loads else 0


def tables_after(tables: Mapping[str, tuple[int, ...]], steps: Iterable[Iterable[TaskMove]]) -> dict[str, tuple[int, ...]]:
    """The tables after steps of which every move fits.

    >>> tables_after({"count": (0, 0)}, [[TaskMove("count", 1, 0, 7)]])
    {'count': (0, 7)}
    """
    changed = {name: list(table) for name, table in tables.items()}
    for move in (move for step in steps for move in step):
        changed[move.operator][move.task] = move.target
    return {name: tuple(table) for name, table in changed.items()}


def reversed_steps(steps: Steps, tables: Mapping[str, tuple[int, ...]]) -> Steps:
    """The moves back, last step first, of all moves that have taken effect.

    >>> reversed_steps(((TaskMove("count", 1, 0, 7),), (TaskMove("count", 0, 0, 8),)), {"count": (0, 7)})
    ((TaskMove(operator='count', task=1, source=7, target=0),),)
    """
    now = {name: list(table) for name, table in tables.items()}

    def back(step: tuple[TaskMove, ...]) -> Iterator[TaskMove]:
        for move in reversed(step):
            if now[move.operator][move.task] == move.target:
                now[move.operator][move.task] = move.source
                yield TaskMove(move.operator, move.task, move.target, move.source)

    return tuple(filter(None, (tuple(back(step)) for step in reversed(steps))))
