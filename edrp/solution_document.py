"""The solution document as it stands in a file: the described fields of a `Solution`."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from edrp.documents import Action, Deployment
from edrp.documents.base import Document, Name, NonNegative
from edrp.documents.deployment import ActionKind
from edrp.solution import Solution, Status, StoppedBecause


class ActionDocument(Document):
    """One operator's change from the current deployment."""

    kind: ActionKind = Field(description="what happens")
    operator: Name = Field(description="to whose replicas")
    added: tuple[Name, ...] = Field(description="nodes, once per replica that starts there")
    removed: tuple[Name, ...] = Field(description="nodes, once per replica that stops there")


class EdrpSolution(Document):
    """What a method found for a problem of kind `edrp`, and what it proved."""

    kind: Literal["edrp-solution"] = Field(description="says what the document is")
    status: Status = Field(description="what we hold")
    stopped_because: StoppedBecause = Field(description="why the method stopped")
    objective: float | None = Field(description="weighted sum of the metrics as re-evaluated", json_schema_extra={"unit": "1"})
    bound: float | None = Field(description="proven: nothing is better than this", json_schema_extra={"unit": "1"})
    gap: NonNegative | None = Field(description="(objective - bound) / objective", json_schema_extra={"unit": "1"})
    metrics: dict[Name, float] = Field(
        description="every metric as re-evaluated",
        json_schema_extra={"unit": "response_time and downtime s, cost money/h, network_usage tuples, availability 1"},
    )
    broken: tuple[str, ...] = Field(description="limits that the deployment breaks, in words")
    deployment: Deployment | None = Field(description="nodes per operator, once per replica")
    actions: tuple[ActionDocument, ...] = Field(description="changes from the current deployment")
    clashes: tuple[str, ...] = Field(description="why nothing is feasible: limits that clash, in words")
    method: Name = Field(description="what found it")
    seconds: dict[Name, NonNegative] = Field(description="time to build and to solve", json_schema_extra={"unit": "s"})
    size: dict[Name, Annotated[int, Field(ge=0)]] = Field(
        description="columns, rows and nonzeros of the program, or other counts", json_schema_extra={"unit": "1"}
    )
    seed: int = Field(description="of everything random", json_schema_extra={"unit": "1"})
    versions: dict[Name, str] = Field(description="of the packages that the answer depends on")
    notes: tuple[str, ...] = Field((), description="sentences for the user")

    def to_solution(self) -> Solution:
        """The solution that was written."""
        fields = {name: getattr(self, name) for name in type(self).model_fields}
        actions = tuple(Action(each.kind, each.operator, each.added, each.removed) for each in self.actions)
        return Solution(**{**fields, "kind": self.kind.removesuffix("-solution"), "actions": actions})
