"""A running job of Flink, as a watch sees it."""

from __future__ import annotations

from edrp.engines.applying import Applied, Change, Note, WatchSettings
from edrp.engines.clock import Clock
from edrp.engines.flink.capturing import CaptureSettings, capture_job
from edrp.engines.flink.reading import read_observation
from edrp.engines.flink.rescaling import rescale
from edrp.engines.flink.steps import FlinkSteps
from edrp.engines.observation import Observation

ROUND = 5.0
"""Seconds between rounds of counters, at most: half as many as are observed, where these are few."""


class FlinkJob:
    """The job at an address.

    Parameters
    ----------
    address
        Of the REST API.
    settings
        The job, and what it is watched with.
    clock
        The time of day.
    """

    def __init__(self, address: str, settings: WatchSettings, clock: Clock) -> None:
        self.address = address.rstrip("/")
        self.wanted = settings.job
        self._settings, self._clock = settings, clock

    def observe(self, job: str | None) -> Observation:
        """Observe a job by GET requests only."""
        every = self._settings.every
        captured = capture_job(self.address, CaptureSettings(job, every, min(ROUND, every / 2)), sleep=self._clock.sleep)
        return read_observation(captured)

    def objections(self, change: Change) -> list[str]:
        """What speaks against applying a change: nothing, where the scheduler chooses the places."""
        return []

    def apply(self, change: Change, note: Note) -> Applied:
        """Carry out a change."""
        return rescale(change, FlinkSteps(self.address, change.observation.key, self._clock, note))
