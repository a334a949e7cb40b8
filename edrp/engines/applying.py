"""Changes of a running job: what is asked of an engine, and what it reports back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from edrp.engines.observation import Observation
from edrp.placement.deployment import Deployment

Note = Callable[..., None]
"""Writes a step to the journal, as `note(step, **facts)`; the line is on the disk when it returns."""


@dataclass(frozen=True, slots=True)
class Change:
    """A change from what was observed to a plan.

    Attributes
    ----------
    observation : what was observed; the engine refuses where something else runs by now.
    plan : replicas of each operator, and where.
    patience : seconds to wait at most until it runs, after those that the engine may wait by itself.
    """

    observation: Observation
    plan: Deployment
    patience: float

    @property
    def current(self) -> Deployment:
        """The deployment that was observed."""
        return Deployment({operator.name: operator.nodes for operator in self.observation.operators})


@dataclass(frozen=True, slots=True)
class Applied:
    """A change that runs, as read back.

    Attributes
    ----------
    key : the engine's identifier of the job from now on.
    deployment : where each replica runs.
    seconds : from the first request until all was read back.
    downtime : seconds without processing; None where the engine tells later.
    """

    key: str
    deployment: Deployment
    seconds: float
    downtime: float | None


@dataclass(frozen=True, slots=True)
class WatchSettings:
    """What a job is watched with.

    Attributes
    ----------
    job : name or identifier; None where only one runs.
    every : seconds of each observation.
    """

    job: str | None = None
    every: float = 60.0
