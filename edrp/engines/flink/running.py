"""A running job of Flink, as a watch sees it."""

from __future__ import annotations

from edrp.engines.advice import Advice, advise
from edrp.engines.applying import Applied, Note, PlannedChange, WatchSettings
from edrp.engines.clock import Clock
from edrp.engines.errors import EngineError
from edrp.engines.fit import JobFit
from edrp.engines.flink.capturing import CaptureSettings, capture_job
from edrp.engines.flink.reading import read_observation
from edrp.engines.flink.redeploying import demanded_resources, ignored_replicas, redeploy
from edrp.engines.flink.rescaling import rescale
from edrp.engines.flink.steps import FlinkSteps
from edrp.engines.goals import Goals
from edrp.engines.observation import Observation
from edrp.placement.network import Network

MAX_ROUND_SECONDS = 5.0
"""Seconds between rounds of counters, at most: half as many as are observed, where these are few."""


class FlinkJob:
    """The job at an address."""

    def __init__(self, address: str, settings: WatchSettings, clock: Clock) -> None:
        self.address = address.rstrip("/")
        self.wanted = settings.job
        self._settings, self._clock = settings, clock

    def observe(self, job: str | None) -> Observation:
        """Observe a job by GET requests only."""
        every = self._settings.every
        captured = capture_job(
            self.address, CaptureSettings(job, every, min(MAX_ROUND_SECONDS, every / 2)), sleep=self._clock.sleep
        )
        return read_observation(captured)

    def advise(self, fit: JobFit, goals: Goals, network: Network | None) -> Advice:
        """Advise on numbers of replicas and their places."""
        return advise(fit, goals, network)

    def objections(self, change: PlannedChange) -> list[str]:
        """Reasons against applying a change: reactive mode, or places that no resource leads to."""
        if change.observation.follows_slots:
            return ["in reactive mode the job has as many replicas as it finds slots, and Flink refuses to be asked for others"]
        program = self._settings.program
        if change.observation.live or program is None:
            return []
        try:
            resources = demanded_resources(change, program)
        except EngineError as error:
            return [str(error)]
        ignored = ignored_replicas(change, program)
        if ignored is not None:
            return [
                f"from Flink 2.0 on the program itself has to be told replicas: give --program-arg with {{replicas:{ignored}}}"
            ]
        replicas_change = any(change.plan.degree(name) != change.observation.deployment.degree(name) for name in change.plan)
        if resources is None and not replicas_change:
            return ["only places would change, and no TaskManager advertises a named resource by which they could be chosen"]
        return []

    def apply(self, change: PlannedChange, note: Note) -> Applied:
        """Carry out a change: live where the scheduler can, else by a savepoint."""
        steps = FlinkSteps(self.address, change.observation.key, self._clock, note)
        if change.observation.live:
            return rescale(change, steps)
        if self._settings.program is None:
            raise EngineError(self.address, "no program is named that could be started again; give --program")
        return redeploy(change, steps, self._settings.program)
