"""Records of one run on a bi-modal network: the fate of each task and all moved hops (bi-modal networks, section 6)."""

from __future__ import annotations

from typing import Annotated, Self

from pydantic import Field, model_validator

from edrp.core.document import Faults, Name, NonNegative, Outcome

Count = Annotated[int, Field(ge=0)]


class TaskRecord(Outcome):
    """Record of one task: refused, or mapped and served to its end."""

    accepted: bool = Field(description="whether a map was found and reserved")
    short: str | None = Field(None, description="what was short; null where it was accepted")
    nodes: tuple[Name, ...] = Field((), description="server of each component, as admitted")
    routes: tuple[tuple[Name, ...], ...] = Field((), description="servers of each hop, as admitted")
    public: tuple[bool, ...] = Field((), description="whether each hop goes over the public network, as admitted")
    start: NonNegative | None = Field(None, description="when its stream began", json_schema_extra={"unit": "s"})
    finish: NonNegative | None = Field(None, description="when all its data was delivered", json_schema_extra={"unit": "s"})
    delivered: NonNegative = Field(0.0, description="data that was delivered", json_schema_extra={"unit": "bytes"})
    windows: Count = Field(0, description="windows in which its rate was observed", json_schema_extra={"unit": "1"})
    shortfall: NonNegative = Field(
        0.0,
        description="sum over the windows of (required − observed rate) / required rate, where that is positive (section 6.2)",
        json_schema_extra={"unit": "1"},
    )
    messages: Count = Field(0, description="maps sent between servers for it", json_schema_extra={"unit": "1"})


class AllocationChanges(Outcome):
    """Moves of hops while their tasks ran, as columns of equal length, in order of time."""

    time: tuple[NonNegative, ...] = Field((), description="when", json_schema_extra={"unit": "s"})
    task: tuple[Count, ...] = Field((), description="position of the task", json_schema_extra={"unit": "1"})
    hop: tuple[Count, ...] = Field((), description="which of its hops", json_schema_extra={"unit": "1"})
    route: tuple[Annotated[int, Field(ge=-1)], ...] = Field(
        (), description="position of its new route among `routes`; -1: the public network", json_schema_extra={"unit": "1"}
    )

    @model_validator(mode="after")
    def _check(self) -> Self:
        faults = Faults("changes")
        for name in ("task", "hop", "route"):
            if len(getattr(self, name)) != len(self.time):
                faults.add((name,), len(getattr(self, name)), f"must be as many as times, of which there are {len(self.time)}")
        faults.raise_if_any()
        return self


class BimodalRun(Outcome):
    """Record of a whole run: which tasks were admitted, how they were served, and which hops were moved."""

    tasks: tuple[TaskRecord, ...] = Field(description="in the order of the scenario")
    routes: tuple[tuple[Name, ...], ...] = Field((), description="dedicated routes that hops were moved to, as servers")
    changes: AllocationChanges = Field(AllocationChanges(), description="hops that were moved")
