"""The one protocol of engines: another engine is one folder, and one entry here."""

from __future__ import annotations

from pathlib import Path
from pkgutil import resolve_name
from typing import Protocol

from edrp.core.wording import suggestion
from edrp.engines.advice import Advice
from edrp.engines.applying import Applied, Note, PlannedChange, WatchSettings
from edrp.engines.capture import Capture, read_capture
from edrp.engines.clock import Clock
from edrp.engines.errors import EngineError
from edrp.engines.fit import JobFit
from edrp.engines.goals import AutoscalerVersion, Goals
from edrp.engines.observation import Observation
from edrp.placement.deployment import Deployment
from edrp.placement.network import Network

ENGINES = {"flink": "edrp.engines.flink.engine:FLINK"}
"""Module and attribute of each engine by name; the module is imported when the engine is first used."""


class WatchedJob(Protocol):
    """A job that is watched; all that is sent to its engine is sent here."""

    address: str
    wanted: str | None
    """Name or identifier of the job, as far as the user gave one."""

    def observe(self, job: str | None) -> Observation:
        """Observe a job, by name or identifier, for as long as the settings say; None where only one runs.

        Raises
        ------
        EngineError
            In one line with the remedy; a `JobGoneError` where there is nothing left to observe.
        """

    def advise(self, fit: JobFit, goals: Goals, network: Network | None) -> Advice:
        """Advise on what was observed last, in terms of what can be changed of this job."""

    def objections(self, change: PlannedChange) -> list[str]:
        """Reasons against applying a change to this job, in sentences."""

    def apply(self, change: PlannedChange, note: Note) -> Applied:
        """Carry out a change and read it back; what is done is noted before it is done.

        Raises
        ------
        EngineError
            What went wrong, what runs now, and what is to be done.
        """


class Engine(Protocol):
    """The part of a stream engine that advice and watching need; all else is the same for all engines."""

    name: str
    rule_name: str
    """Name of what scales its jobs today, for a column and sentences."""

    def observe(self, capture: Capture) -> Observation:
        """Read a capture; raises `EngineError` in one line where that cannot be done."""

    def rule_replicas(self, fit: JobFit, rate_factor: float, *, version: AutoscalerVersion) -> dict[str, int]:
        """Number of replicas of each operator by what scales the engine's jobs today, in some version."""

    def calls(self, observation: Observation, plan: Deployment, address: str) -> dict[str, list[str]]:
        """Lines of the files that carry out a plan and take it back, by name; nothing is sent."""

    def running_job(self, address: str, settings: WatchSettings, clock: Clock) -> WatchedJob:
        """The job at an address; nothing is sent yet."""

    def key_group_sizes(self, path: str, observation: Observation) -> dict[str, tuple[int, ...]]:
        """Bytes of each key group by operator of the job, from a file of the engine; only operators that have any.

        Raises
        ------
        EngineError
            In one line: the file is none of the engine's, or of another job.
        """


def get_engine(name: str) -> Engine:
    """The engine of that name.

    Raises
    ------
    EngineError
        There is none.

    Examples
    --------
    >>> get_engine("flink").name
    'flink'
    """
    if name not in ENGINES:
        raise EngineError(name, f"is no engine{suggestion(name, ENGINES)}; known are {', '.join(ENGINES)}")
    engine: Engine = resolve_name(ENGINES[name])
    return engine


def observe_capture(path: str | Path) -> Observation:
    """Read a capture as an observation of its job.

    Raises
    ------
    EngineError
        In one line: the file is no capture, or lacks what rates are computed from.
    InvalidInstanceError
        The file cannot be read.
    """
    capture = read_capture(path)
    return get_engine(capture.engine).observe(capture)
