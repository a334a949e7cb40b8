"""The solution of a problem of kind `edrp`: a deployment and the actions that lead to it."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from edrp.core.document import Name
from edrp.core.solution import Solution
from edrp.placement.deployment import Action, Deployment


class EdrpSolution(Solution):
    """What a method found for a problem of kind `edrp`, and what it proved."""

    kind: Literal["edrp-solution"] = Field("edrp-solution", description="says what the document is")
    objective: float | None = Field(description="weighted sum of the metrics as re-evaluated", json_schema_extra={"unit": "1"})
    metrics: dict[Name, float] = Field(
        description="every metric as re-evaluated",
        json_schema_extra={"unit": "response_time and downtime s, cost money/h, network_usage tuples, availability 1"},
    )
    deployment: Deployment | None = Field(description="nodes per operator, once per replica")
    actions: tuple[Action, ...] = Field(description="changes from the current deployment")

    @property
    def decision(self) -> Deployment | None:
        """The deployment."""
        return self.deployment
