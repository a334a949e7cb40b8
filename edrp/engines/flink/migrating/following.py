"""Following a plan that a job carries out: step after step, through restarts of the job, until it is over."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from edrp.engines.applying import Note
from edrp.engines.errors import EngineError, StoppedError
from edrp.engines.flink.migrating.control_log import LoggedPlan
from edrp.engines.flink.migrating.discovery import LiveReader
from edrp.engines.flink.migrating.metrics import InstalledStep, PlanState
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
    _state: PlanState | None = None
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
            if state is not None and state.plan == self.plan.key and state.over:
                return state
            self._refuse_waiting_longer()
            if clock.stopping is not None:
                why = f"stopped by {clock.stopping}; the job goes on with plan {self.plan.key}"
                raise StoppedError(self.reader.client.address, f"{why}: the same command follows it again, --abort takes it back")
            clock.sleep(SECONDS_BETWEEN_POLLS)

    def _ask(self) -> PlanState | None:
        """Ask how far the plan is, and note what is new; None where nobody answers."""
        try:
            state, steps = self.reader.control_state()
        except (EngineError, KeyError, TypeError, ValueError) as error:
            if not self._trouble:
                self._since = self.reader.clock.time()
                self.note("interrupted", plan=self.plan.key, why=str(error))
            self._trouble = str(error)
            return None
        if self._trouble:
            self._trouble, self._since = "", self.reader.clock.time()
            self.note("running again", plan=self.plan.key, done=self._done(state))
        if state != self._state:
            self._since = self.reader.clock.time()
        if self._done(state) < self._done(self._state):
            self.told = set(range(self._done(state)))
            self.note("gone back", plan=self.plan.key, done=self._done(state))
        self._state = state
        if state is not None and state.plan == self.plan.key:
            for number in range(state.done):
                if number not in self.told and (number in steps or state.over):
                    self._note_step(number, steps.get(number))
        return state

    def _done(self, state: PlanState | None) -> int:
        return state.done if state is not None and state.plan == self.plan.key else 0

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
        elif self._state is None or self._state.plan != key:
            if waited >= SEEN_PATIENCE:
                raise UnseenError(address, f"the job did not take plan {key} within {SEEN_PATIENCE:g} s")
        else:
            done = self._state.done
            expected = self.planned[done].seconds if done < len(self.planned) else 0.0
            patience = max(STEP_PATIENCE, SLOWER * expected)
            if waited >= patience:
                why = f"step {done} of plan {key} was not installed within {patience:g} s; is a worker overloaded?"
                raise EngineError(address, f"{why} The job goes on with it: {again}")
