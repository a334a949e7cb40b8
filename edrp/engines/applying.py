"""Changes of a running job: what is asked of an engine, and what it reports back."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from edrp.engines.observation import Observation
from edrp.placement.deployment import Deployment

Note = Callable[..., None]
"""Writes a step to the journal, as `note(step, **facts)`; the line is on the disk when it returns."""

PLACES, REPLICAS, REPLICAS_OF = "{places}", "{replicas}", "{replicas:"
"""Stand in arguments of a program for the resources that operators are to demand, and for numbers of replicas."""


@dataclass(frozen=True, slots=True)
class PlannedChange:
    """A change from what was observed to a plan.

    Attributes
    ----------
    observation : what was observed; the engine refuses where something else runs by now.
    plan : replicas of each operator, and where.
    patience : seconds to wait at most until it runs, after those that the engine may wait by itself.
    back : whether it takes back the last change.
    """

    observation: Observation
    plan: Deployment
    patience: float
    back: bool = False


@dataclass(frozen=True, slots=True)
class Applied:
    """A change that runs, as read back.

    Attributes
    ----------
    key : the engine's identifier of the job from now on.
    seconds : from the first request until all was read back.
    downtime : seconds without processing; None where the engine tells later.
    """

    key: str
    deployment: Deployment
    seconds: float
    downtime: float | None


@dataclass(frozen=True, slots=True)
class RestartableProgram:
    """A program that an engine can start again from a savepoint.

    Attributes
    ----------
    key : the engine's identifier of the program.
    savepoints : folder for savepoints, as the engine names it.
    entry : name of its entry; None for the one that it names itself.
    arguments : of the program; {places} in them becomes "OPERATOR=RESOURCE,…", the resource that each operator is to demand,
        {replicas} "OPERATOR=NUMBER,…", and {replicas:OPERATOR} the number of replicas of one operator.
    demands : the resource that an operator demands whatever the arguments; that of its own name where none is given.
    """

    key: str
    savepoints: str
    entry: str | None = None
    arguments: tuple[str, ...] = ()
    demands: Mapping[str, str] = field(default_factory=dict)

    def takes_replicas(self, operator: str) -> bool:
        """Whether its arguments say how many replicas an operator has."""
        return any(REPLICAS in argument or f"{REPLICAS_OF}{operator}}}" in argument for argument in self.arguments)

    @property
    def takes_places(self) -> bool:
        """Whether its arguments say where operators run; otherwise what each demands is fixed."""
        return any(PLACES in argument for argument in self.arguments)


@dataclass(frozen=True, slots=True)
class Migration:
    """How tasks of a running job move.

    Attributes
    ----------
    pace : bytes/s of each sender; 0 for no limit.
    control : the job's control log as this machine sees it; None for the file that the job names.
    """

    pace: int = 0
    control: Path | None = None


@dataclass(frozen=True, slots=True)
class WatchSettings:
    """Settings of a watch.

    Attributes
    ----------
    job : name or identifier; None where only one runs.
    every : seconds of each observation.
    program : what is started again; None where that is not wanted.
    migration : how tasks move while the job runs; None where that is not wanted.
    """

    job: str | None = None
    every: float = 60.0
    program: RestartableProgram | None = None
    migration: Migration | None = None
