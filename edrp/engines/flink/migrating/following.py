"""Following a plan that a job carries out: step after step, through restarts of the job, until it is over."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from edrp.engines.applying import Note
from edrp.engines.errors import EngineError, StoppedError
from edrp.engines.flink.migrating.control_log import LoggedPlan
from edrp.engines.flink.migrating.discovery import LiveReader
from edrp.engines.flink.migrating.metrics import ControlState, InstalledStep, PlanState
from edrp.engines.flink.migrating.moves import StepForecast

SECONDS_BETWEEN_POLLS = 0.5
"""Seconds between two questions how far a plan is."""

RESTART_PATIENCE = 300.0
"""Most seconds to wait for a job that does not run or does not answer."""

SEEN_PATIENCE = 60.0
"""Most seconds until a job that runs has taken a plan."""

STEP_PATIENCE = 120.0
"""Most seconds to wait for a step, or `SLOWER` times as many as it was expected to take where that is more."""

SLOWER = 10.0


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
