"""Carrying out a plan on a running job, following it through restarts, going on with one, and taking one back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from edrp.core.errors import numbered
from edrp.engines.applying import Note
from edrp.engines.errors import EngineError, StoppedError
from edrp.engines.flink.migrating.control_log import ControlLog, Log, LoggedPlan, Mode
from edrp.engines.flink.migrating.discovery import ControlState, InstalledStep, LiveJob, LiveReader, PlanState
from edrp.engines.flink.migrating.moves import StepForecast, Steps, forecasts, reversed_steps, state_size, tables_after

MAX_ANSWERS, SECONDS_BETWEEN_ANSWERS = 3, 5.0
"""How often all metrics are asked for until the tables are those that a plan leads to, and seconds between."""

REVERSE = "reverse-of-"
"""Begin of the origin of a plan that takes another one back."""

SECONDS_BETWEEN_POLLS = 0.5
"""Seconds between two questions how far a plan is."""

RESTART_PATIENCE = 300.0
"""Most seconds to wait for a job that does not run or does not answer."""

SEEN_PATIENCE = 60.0
"""Most seconds until a job that runs has taken a plan."""

STEP_PATIENCE = 120.0
"""Most seconds to wait for a step, or `SLOWER` times as many as it was expected to take where that is more."""

SLOWER = 10.0


@dataclass(frozen=True, slots=True)
class Outcome:
    """A plan that is over.

    Attributes
    ----------
    plan : its identifier; "" where nothing had to move.
    steps, tasks : number of steps and tasks of the plan.
    seconds : from sending it, or from going on with it, until it was over.
    """

    plan: str
    steps: int
    tasks: int
    seconds: float


NOTHING = Outcome("", 0, 0, 0.0)


@dataclass(frozen=True, slots=True)
class Transfer:
    """How tasks are to move.

    Attributes
    ----------
    pace : bytes/s of each sender; 0 for no limit.
    mode : whether tasks that stay go on, or all pause.
    """

    pace: int = 0
    mode: Mode = "live"


def refuse_unsafe(job: LiveJob, place: str) -> None:
    """Refuse a job whose checkpoints would not carry moves.

    Raises
    ------
    EngineError
        It takes none, or unaligned or at-least-once ones, or none is complete.
    """
    checkpoints = job.checkpoints
    name = f"job {job.name!r}"
    if checkpoints.interval is None:
        raise EngineError(
            place, f"{name} takes no checkpoints, without which a crash loses all; set execution.checkpointing.interval"
        )
    if not checkpoints.exactly_once:
        why = f"{name} takes at-least-once checkpoints, under which moves double tuples"
        raise EngineError(place, f"{why}; set execution.checkpointing.mode to EXACTLY_ONCE")
    if checkpoints.unaligned:
        why = f"{name} takes unaligned checkpoints, whose barriers overtake moves"
        raise EngineError(place, f"{why}; set execution.checkpointing.unaligned.enabled to false")
    if not checkpoints.complete:
        raise EngineError(place, f"no checkpoint of {name} is complete yet; wait for one, or look why they fail")


def refuse_large_tasks(steps: Steps, job: LiveJob, pace: int) -> None:
    """Refuse moves of tasks that take longer than the time between two checkpoints, which would wait for them.

    Raises
    ------
    EngineError
        Naming the largest task.
    """
    interval = job.checkpoints.interval
    sizes = [(state_size(job.operators[move.operator], move.task), move) for step in steps for move in step]
    if not pace or interval is None or not sizes:
        return
    size, move = max(sizes)
    if size > pace * interval:
        why = f"task {move.task} of {move.operator} has {size:,} bytes, {size / pace:.3g} s at {pace:,} bytes/s"
        remedy = f"raise --pace above {size / interval:,.0f}, or the interval"
        raise EngineError("--pace", f"{why}, but checkpoints are {interval:g} s apart and would wait; {remedy}")


def unfinished_plan(log: Log, job: LiveJob, origin: str | None, place: str) -> LoggedPlan | None:
    """The plan that is under way, if what is asked for is the same; None where none is under way.

    Raises
    ------
    EngineError
        Another plan is under way.
    """
    plan = log.unfinished(job.state, place)
    if plan is None or plan.origin == origin:
        return plan
    current = job.state.plan
    done = current.done if current is not None and current.plan == plan.key else 0
    why = f"plan {plan.key} is under way, {done} of {numbered(len(plan.steps), 'step')} done, {plan.sender}"
    raise EngineError(place, f"{why}; give that plan again to follow it, or --abort to take it back")


def carry_out(
    reader: LiveReader, control: ControlLog, job: LiveJob, steps: Steps, origin: str, transfer: Transfer, note: Note
) -> Outcome:
    """Send a plan to a job and follow it until all its tasks are where it leads.

    Parameters
    ----------
    job
        As discovered before; no plan is under way.
    steps
        From `task_moves`.
    origin
        Digest of what was asked for, by which a later command knows the plan again.
    note
        Writes to a journal: `note(kind, **facts)`.

    Raises
    ------
    StoppedError
        A stop is asked for; the job goes on.
    EngineError
        What went wrong, and what is to be done.
    """
    if not steps:
        return NOTHING
    planned = forecasts(steps, job, transfer.pace)
    plan = control.append_plan(steps, origin, transfer.pace, transfer.mode)
    note(
        "plan",
        plan=plan.key,
        origin=origin,
        job=job.name,
        pace=transfer.pace,
        mode=transfer.mode,
        steps=[{"tasks": step.tasks, "planned_bytes": step.size, "planned_seconds": step.seconds} for step in planned],
    )
    return _finish(reader, control, job, Follower(reader, plan, planned, note))


def go_on(reader: LiveReader, control: ControlLog, job: LiveJob, plan: LoggedPlan, note: Note) -> Outcome:
    """Follow a plan that an earlier command sent, as `carry_out` does."""
    note("going on", plan=plan.key, origin=plan.origin)
    return _finish(reader, control, job, Follower(reader, plan, forecasts(plan.steps, job, plan.pace), note))


def take_back(reader: LiveReader, control: ControlLog, job: LiveJob, note: Note) -> Outcome:
    """Abort the plan that is under way, wait until its running step is installed, and move its tasks back by a plan of their own.

    A command that died while it did this is continued.

    Raises
    ------
    EngineError
        No plan is under way, or something went wrong.
    """
    plan = plan_to_take_back(control.log, job, str(control.path))
    if plan.origin.startswith(REVERSE):
        return go_on(reader, control, job, plan, note)
    if not plan.aborted:
        control.append_abort(plan)
        note("abort", plan=plan.key)
    done = Follower(reader, plan, (), note).follow().done
    job = _settled(reader, plan, tables_after(_tables(job), plan.steps[:done]))
    back = reversed_steps(plan.steps, _tables(job))
    mode: Mode = "pause" if plan.mode == "pause" else "live"
    return carry_out(reader, control, job, back, REVERSE + plan.key, Transfer(plan.pace, mode), note)


def plan_to_take_back(log: Log, job: LiveJob, place: str) -> LoggedPlan:
    """The plan that is under way, or was aborted and not yet taken back.

    Raises
    ------
    EngineError
        There is none.
    """
    plan = log.unfinished(job.state, place) or (log.plans[-1] if log.plans and log.plans[-1].aborted else None)
    if plan is None:
        raise EngineError(place, f"no plan is under way in job {job.name!r}, so that there is nothing to abort")
    return plan


def _finish(reader: LiveReader, control: ControlLog, job: LiveJob, follower: Follower) -> Outcome:
    """Follow a plan, and see that its tasks are where it leads."""
    plan, began = follower.plan, reader.clock.time()
    try:
        state = follower.follow()
    except UnseenError as error:
        control.append_abort(plan)
        follower.note("abort", plan=plan.key)
        why = f"{error.why}, and it is aborted; does the job read {control.path}? It says {job.control}: name that by --control"
        raise EngineError(error.place, why) from None
    live = _settled(reader, plan, tables_after(_tables(job), plan.steps))
    last = {(move.operator, move.task): move.target for step in plan.steps for move in step}
    outside = sum(live.operators[name].table[task] != target for (name, task), target in last.items())
    if state.state != "done" or outside:
        follower.note("failed", plan=plan.key, state=state.state, elsewhere=outside)
        what = f"; {numbered(outside, 'task')} are not where it leads" if outside else ""
        why = f"plan {plan.key} is {state.state} after {state.done} of {numbered(state.steps, 'step')}{what}"
        raise EngineError(reader.client.address, f"{why}: somebody else moved them; plan again from what runs now")
    outcome = Outcome(plan.key, len(plan.steps), sum(map(len, plan.steps)), reader.clock.time() - began)
    follower.note("done", plan=plan.key, seconds=outcome.seconds, steps=outcome.steps, tasks=outcome.tasks)
    return outcome


def _settled(reader: LiveReader, plan: LoggedPlan, expected: Mapping[str, tuple[int, ...]]) -> LiveJob:
    """The job once its tables are those that are expected, or after it has answered often enough."""
    moved = {(move.operator, move.task) for step in plan.steps for move in step}
    began, answers = reader.clock.time(), 0
    while True:
        try:
            job = reader.discover()
        except StoppedError:
            raise
        except EngineError:
            if reader.clock.time() - began >= RESTART_PATIENCE:
                raise
        else:
            answers += 1
            if answers >= MAX_ANSWERS or all(job.operators[name].table[task] == expected[name][task] for name, task in moved):
                return job
        reader.clock.sleep(SECONDS_BETWEEN_ANSWERS)


def _tables(job: LiveJob) -> dict[str, tuple[int, ...]]:
    return {name: operator.table for name, operator in job.operators.items()}


class UnseenError(EngineError):
    """The job does not take the plan: it may read another log."""


@dataclass
class Follower:
    """Follows one plan.

    Attributes
    ----------
    planned : forecasts of its steps; fewer where the plan was not made here.
    told : steps that the journal holds.
    """

    reader: LiveReader
    plan: LoggedPlan
    planned: tuple[StepForecast, ...]
    note: Note
    told: set[int] = field(default_factory=set)
    _done: int = -1
    _seen_over: bool = False
    _trouble: str = ""
    _since: float = 0.0

    def follow(self) -> PlanState:
        """Wait until the plan is over.

        Raises
        ------
        StoppedError
            A stop is asked for; the job goes on.
        EngineError
            It is not over in time; the job goes on where it can.
        """
        clock = self.reader.clock
        self._since = clock.time()
        while True:
            state = self._ask()
            if state is not None and state.over and (self._seen_over or len(self.told) == state.steps):
                for number in sorted(set(range(state.done)) - self.told):
                    self._note_step(number, None)
                return state
            self._seen_over = state is not None and state.over  # its last steps may be told a moment later
            self._refuse_waiting_longer()
            if clock.stopping is not None:
                why = f"stopped by {clock.stopping}; the job goes on with plan {self.plan.key}"
                raise StoppedError(self.reader.client.address, f"{why}: the same command follows it again, --abort takes it back")
            clock.sleep(SECONDS_BETWEEN_POLLS)

    def _ask(self) -> PlanState | None:
        """Ask how far the plan is, and note what is new; None where nobody answers, or the job has not taken it."""
        try:
            control = self.reader.control_state()
        except (EngineError, KeyError, TypeError, ValueError) as error:
            if not self._trouble:
                self._since = self.reader.clock.time()
                self.note("interrupted", plan=self.plan.key, why=str(error))
            self._trouble = str(error)
            return None
        state = self._state(control)
        done = -1 if state is None else state.done
        if self._trouble:
            self._trouble, self._since = "", self.reader.clock.time()
            self.note("running again", plan=self.plan.key, done=max(0, done))
        if done < self._done:
            self.told = set(range(done))
            self.note("gone back", plan=self.plan.key, done=max(0, done))
        if done != self._done:
            self._done, self._since = done, self.reader.clock.time()
        steps = control.steps if control.plan is not None and control.plan.plan == self.plan.key else {}
        for number in range(done if steps else 0):
            if number not in self.told and (number in steps or number < min(steps)):
                self._note_step(number, steps.get(number))
        return state

    def _state(self, control: ControlState) -> PlanState | None:
        """State of the plan; a job that was started again has forgotten that of a plan that is over."""
        if control.plan is not None and control.plan.plan == self.plan.key:
            return control.plan
        if control.offset < self.plan.end:
            return None
        steps, aborted = len(self.plan.steps), self.plan.aborted
        return PlanState(self.plan.key, 0 if aborted else steps, steps, "aborted" if aborted else "done")

    def _note_step(self, number: int, installed: InstalledStep | None) -> None:
        """Note a step as planned and as measured; what was installed before a restart, the job no longer tells."""
        facts: dict[str, Any] = {"plan": self.plan.key, "step": number, "tasks": len(self.plan.moves[number])}
        if number < len(self.planned):
            facts |= {"planned_seconds": self.planned[number].seconds, "planned_bytes": self.planned[number].size}
        if installed is not None:
            facts |= {"seconds": installed.seconds, "bytes": installed.size, "held": installed.held}
            facts |= {"wait": installed.wait, "refused": installed.refused}
        self.told.add(number)
        self.note("step", **facts)

    def _refuse_waiting_longer(self) -> None:
        waited = self.reader.clock.time() - self._since
        address, key = self.reader.client.address, self.plan.key
        again = "run the same command again to follow it, or with --abort to take it back"
        if self._trouble:
            if waited >= RESTART_PATIENCE:
                why = f"the job did not run again within {RESTART_PATIENCE:g} s ({self._trouble})"
                raise EngineError(address, f"{why}; it goes on with plan {key} once it does: {again}")
        elif self._done < 0:
            if waited >= SEEN_PATIENCE:
                raise UnseenError(address, f"the job did not take plan {key} within {SEEN_PATIENCE:g} s")
        else:
            expected = self.planned[self._done].seconds if self._done < len(self.planned) else 0.0
            patience = max(STEP_PATIENCE, SLOWER * expected)
            if waited >= patience:
                why = f"step {self._done} of plan {key} was not installed within {patience:g} s; is a worker overloaded?"
                raise EngineError(address, f"{why} The job goes on with it: {again}")
