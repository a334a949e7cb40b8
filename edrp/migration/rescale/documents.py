"""Operators whose keys are dealt to tasks, and nodes with rates at which state leaves and arrives."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property
from typing import Annotated

from pydantic import Field

from edrp.core.document import Document, Faults, NonNegative, Positive, checks, unit
from edrp.core.tolerances import UNIT_SUM_SLACK
from edrp.migration.intervals import sums_before
from edrp.placement.application import Application, Operator
from edrp.placement.network import Network, Node


class KeyedTasks(Document):
    """Tasks of a keyed operator: groups of keys, in an order of which every replica holds a range.

    Raises
    ------
    InvalidInstanceError
        Arrays of different lengths, and tasks of which none has any work.

    Examples
    --------
    >>> KeyedTasks(work=[1, 3], state_size=[1e6, 2e6]).total_state
    3000000.0
    """

    work: Annotated[tuple[NonNegative, ...], Field(min_length=1)] = Field(
        description="amount of work of each task; the load of the operator is split in proportion to it", **unit("1")
    )
    state_size: Annotated[tuple[NonNegative, ...], Field(min_length=1)] = Field(
        description="of each task's state", **unit("bytes")
    )

    @checks("tasks")
    def _check(self, faults: Faults) -> None:
        if len(self.state_size) != len(self.work):
            why = f"has another length than work; give one number for each of the {len(self.work)} tasks"
            faults.add(("state_size",), len(self.state_size), why)
        if not any(self.work):
            faults.add(("work",), self.work, "gives no task any work, so that the load cannot be split; one must be above 0")

    @property
    def count(self) -> int:
        """Number of tasks."""
        return len(self.work)

    @property
    def total_state(self) -> float:
        """Bytes of all tasks together."""
        return math.fsum(self.state_size)

    def share(self, first: int, end: int) -> float:
        """Share of all work that the tasks [first, end) have."""
        return (self.work_before[end] - self.work_before[first]) / self.work_before[-1]

    @cached_property
    def work_before(self) -> tuple[float, ...]:
        """Work of all tasks before each one, and of all, shape (tasks + 1,)."""
        return tuple(sums_before(self.work).tolist())


class KeyedOperator(Operator):
    """One processing element; with `tasks` its load and state are split by ranges of them, else evenly over its replicas.

    >>> KeyedOperator(name="count", max_replicas=3, tasks={"work": [5, 1], "state_size": [1, 1]}).most_replicas
    2
    """

    tasks: KeyedTasks | None = Field(None, description="tasks that the keys are dealt to; null where load splits evenly")

    @checks("operator")
    def _check_tasks(self, faults: Faults) -> None:
        if self.tasks is None:
            return
        if self.state_size:
            faults.add(("state_size",), self.state_size, "is that of the tasks already; leave it out where `tasks` are given")
        if self.min_replicas > self.tasks.count:
            why = f"must be at most the number of tasks, which is {self.tasks.count}: every replica holds one at least"
            faults.add(("min_replicas",), self.min_replicas, why)

    @property
    def most_replicas(self) -> int:
        """Most replicas: `max_replicas`, and at most one per task."""
        return self.max_replicas if self.tasks is None else min(self.max_replicas, self.tasks.count)

    @property
    def total_state(self) -> float:
        """Bytes of the state of all replicas together."""
        return self.state_size if self.tasks is None else self.tasks.total_state


class KeyedApplication(Application):
    """A directed acyclic graph of operators, of which some have tasks."""

    operators: Annotated[tuple[KeyedOperator, ...], Field(min_length=1)] = Field(description="in any order")


class RescaleNode(Node):
    """A node with the rates of its network card."""

    up_rate: Positive | None = Field(
        None, description="rate at which state leaves the node; null for no limit", **unit("bytes/s")
    )
    down_rate: Positive | None = Field(None, description="rate at which state arrives; null for no limit", **unit("bytes/s"))


class RescaleNetwork(Network):
    """Nodes with rates of their own, logical links and the data store."""

    nodes: Annotated[tuple[RescaleNode, ...], Field(min_length=1)] = Field(description="places where replicas run")


class LoadScenario(Document):
    """A load that the deployment has to serve, relative to the load that the application describes.

    >>> LoadScenario(factor=1.5, probability=0.2).factor
    1.5
    """

    factor: Positive = Field(description="by which the rates of sources and streams are multiplied", **unit("1"))
    probability: Annotated[float, Field(gt=0, le=1)] = Field(description="of this load, as a share of the time", **unit("1"))


NOW = (LoadScenario(factor=1.0, probability=1.0),)
"""The load of the application and no other."""


def note_scenario_faults(scenarios: Sequence[LoadScenario], faults: Faults) -> None:
    """Note probabilities that do not sum to 1, and a factor that is given twice."""
    factors = [scenario.factor for scenario in scenarios]
    for index, factor in enumerate(factors):
        if factor in factors[:index]:
            faults.add(("scenarios", index, "factor"), factor, "is given twice; add up the probabilities")
    total = math.fsum(scenario.probability for scenario in scenarios)
    if scenarios and abs(total - 1.0) > UNIT_SUM_SLACK:
        faults.add(("scenarios",), total, "is what the probabilities sum to; they must sum to 1")


def multiplied(application: KeyedApplication, factor: float) -> KeyedApplication:
    """The application with all rates of its sources and streams multiplied.

    >>> source = {"name": "source", "external_rate": 10.0}
    >>> multiplied(KeyedApplication(operators=[source]), 1.5).load("source")
    15.0
    """
    operators = [operator.replace(external_rate=factor * operator.external_rate) for operator in application.operators]
    streams = [stream if stream.rate is None else stream.replace(rate=factor * stream.rate) for stream in application.streams]
    return application.replace(operators=tuple(operators), streams=tuple(streams))
