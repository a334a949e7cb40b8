"""Records of one run of an application under a policy: leases, instances, items."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from edrp.core.document import Name, NonNegative, Outcome

Count = Annotated[int, Field(ge=0)]


class LeaseRecord(Outcome):
    """One host from lease to release."""

    host: Name = Field(description="name that the policy gave")
    type: Name = Field(description="host type")
    start: NonNegative = Field(description="when it was leased", json_schema_extra={"unit": "s"})
    ready: NonNegative = Field(description="when it was up", json_schema_extra={"unit": "s"})
    end: NonNegative | None = Field(description="when it was given back; null if it never was", json_schema_extra={"unit": "s"})
    units: Count = Field(description="billing time units paid", json_schema_extra={"unit": "1"})


class InstanceRecord(Outcome):
    """One instance from placement to its end."""

    operator: Name = Field(description="of which it is an instance")
    host: Name = Field(description="on which it ran")
    placed: NonNegative = Field(description="since when it holds resources", json_schema_extra={"unit": "s"})
    started: NonNegative | None = Field(description="since when it takes items; null if never", json_schema_extra={"unit": "s"})
    ended: NonNegative | None = Field(
        description="when it stopped and gave its resources back; null at the end of the run", json_schema_extra={"unit": "s"}
    )
    cause: Literal["initial", "placed", "migrated"] = Field(description="why it was started")
    ended_by: Literal["removed", "migrated"] | None = Field(description="why it was stopped")


class OperatorRecord(Outcome):
    """The items of one operator type."""

    name: Name = Field(description="operator")
    arrived: Count = Field(description="items that arrived", json_schema_extra={"unit": "1"})
    completed: Count = Field(description="items whose processing ended", json_schema_extra={"unit": "1"})
    queued: Count = Field(description="items that wait at the end of the run", json_schema_extra={"unit": "1"})
    in_service: Count = Field(description="items that are processed at the end of the run", json_schema_extra={"unit": "1"})
    real_time: Count = Field(description="completed items within the first level", json_schema_extra={"unit": "1"})
    near_real_time: Count = Field(description="completed items within the second level", json_schema_extra={"unit": "1"})
    relaxed: Count = Field(description="completed items within the third level", json_schema_extra={"unit": "1"})
    time_to_adapt: NonNegative | None = Field(
        None,
        description="mean time from the first late monitoring interval to the next one in time; null where none was late",
        json_schema_extra={"unit": "s"},
    )


class EnactmentRun(Outcome):
    """A whole run: every host leased, every instance started, every item counted."""

    leases: tuple[LeaseRecord, ...] = Field(description="in the order in which hosts were leased")
    instances: tuple[InstanceRecord, ...] = Field(description="in the order in which they were placed")
    operators: tuple[OperatorRecord, ...] = Field(description="in document order")
