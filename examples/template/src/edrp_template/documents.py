"""The documents of the kind `brokers`: which broker serves which partition, evaluated in plain code."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal, Self

from pydantic import Field, model_validator

from edrp import Evaluation, Solution
from edrp.core.document import Document, Name, NonNegative, Positive
from edrp.core.problem import Problem

Assignment = dict[str, str]
"""The broker of each partition, by name."""

SLACK = 1e-9
"""Relative excess over a limit that rounding may make."""


class Partition(Document):
    """A partition of a topic."""

    name: Name = Field(description="unique among the partitions")
    rate: NonNegative = Field(description="what producers and consumers of it transfer", json_schema_extra={"unit": "bytes/s"})
    size: NonNegative = Field(description="of its log", json_schema_extra={"unit": "bytes"})


class Broker(Document):
    """A broker."""

    name: Name = Field(description="unique among the brokers")
    bandwidth: Positive = Field(description="of its network card", json_schema_extra={"unit": "bytes/s"})


class BrokerSolution(Solution):
    """The broker of each partition."""

    metric_units: ClassVar[Mapping[str, str]] = {"moved": "bytes"}

    kind: Literal["brokers-solution"] = "brokers-solution"
    assignment: Assignment | None = Field(description="broker of each partition")

    @property
    def decision(self) -> Assignment | None:
        """The broker of each partition."""
        return self.assignment


class BrokerProblem(Problem):
    """Partitions for brokers: the largest load, and with it the bytes that move."""

    decision_type: ClassVar[Any] = Assignment

    kind: Literal["brokers"] = "brokers"
    partitions: tuple[Partition, ...] = Field(description="of all topics")
    brokers: tuple[Broker, ...] = Field(description="all brokers", min_length=1)
    current: Assignment | None = Field(None, description="broker of each partition now; null for a first assignment")
    moved_weight: NonNegative = Field(0.1, description="of the share of all bytes that move", json_schema_extra={"unit": "1"})

    @model_validator(mode="after")
    def _check_names(self) -> Self:
        for what, names in (("partitions", [p.name for p in self.partitions]), ("brokers", [b.name for b in self.brokers])):
            if len(set(names)) < len(names):
                raise ValueError(f"{what} must have names of their own")
        if self.current is not None:
            check_assignment(self, self.current)
        return self

    @property
    def total_size(self) -> float:
        """Bytes of all partitions, 1 where there are none."""
        return sum(partition.size for partition in self.partitions) or 1.0

    def load(self, assignment: Assignment, broker: Broker) -> float:
        """Share of its bandwidth that a broker needs."""
        return sum(p.rate for p in self.partitions if assignment[p.name] == broker.name) / broker.bandwidth

    def evaluate(self, decision: Assignment) -> Evaluation:
        """The peak load, the bytes that move, and the brokers that are overloaded."""
        check_assignment(self, decision)
        loads = {broker.name: self.load(decision, broker) for broker in self.brokers}
        now = self.current or decision
        moved = sum(partition.size for partition in self.partitions if now[partition.name] != decision[partition.name])
        broken = [f"{name} needs {load:.1%} of its bandwidth" for name, load in loads.items() if load > 1 + SLACK]
        peak = max(loads.values())
        return Evaluation(peak + self.moved_weight * moved / self.total_size, {"peak_load": peak, "moved": moved}, tuple(broken))

    def solution(self, decision: Assignment | None, fields: dict[str, Any]) -> BrokerSolution:
        """The solution document."""
        return BrokerSolution(**fields, assignment=decision)


def check_assignment(problem: BrokerProblem, assignment: Assignment) -> None:
    """Refuse an assignment that leaves out a partition, or names what the problem does not have."""
    if different := {partition.name for partition in problem.partitions} ^ set(assignment):
        raise ValueError(f"every partition needs a broker, and nothing else has one: {', '.join(sorted(different))}")
    if unknown := set(assignment.values()) - {broker.name for broker in problem.brokers}:
        raise ValueError(f"there is no broker {', '.join(sorted(unknown))}")
