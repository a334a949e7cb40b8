"""Deployments of keyed operators: the node and the range of tasks of every replica, and the state that moves."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any

from pydantic import Field, field_validator

from edrp.core.document import Document, Faults, Name, NonNegative, Outcome, checks, unit
from edrp.migration.intervals import Index, Interval, tasks_text, uncovered, uncovered_text
from edrp.migration.rescale.documents import KeyedApplication, KeyedTasks
from edrp.placement.deployment import Deployment, ReplicasByOperator


class KeyRange(Document):
    """A replica of a keyed operator: the node that runs it and the tasks that it holds."""

    node: Name = Field(description="node that runs the replica")
    tasks: Interval = Field(description="[first task, end) that the replica holds, at least one", **unit("1"))

    @checks("range")
    def _check(self, faults: Faults) -> None:
        if self.tasks[1] <= self.tasks[0]:
            faults.add(("tasks",), list(self.tasks), "holds no task; give [first task, end) with the end above the first")


Replica = Name | KeyRange


class KeyedDeployment(ReplicasByOperator[Annotated[tuple[Replica, ...], Field(min_length=1)]]):
    """A mapping of each operator to its replicas: ranges of tasks with their nodes, or nodes alone where load splits evenly.

    Examples
    --------
    >>> deployment = KeyedDeployment({"read": ["b", "a"], "count": [{"node": "a", "tasks": [0, 4]}]})
    >>> deployment.replicas("count"), deployment["read"]
    (Counter({'a': 1}), ('a', 'b'))
    """

    @field_validator("root", mode="after")
    @classmethod
    def _sorted(cls, value: dict[str, tuple[Replica, ...]]) -> dict[str, tuple[Replica, ...]]:
        return {operator: tuple(sorted(replicas, key=_order)) for operator, replicas in value.items()}

    def nodes(self, operator: str) -> tuple[str, ...]:
        """Node of each replica, in the order of the replicas."""
        return tuple(replica if isinstance(replica, str) else replica.node for replica in self.root[operator])

    def ranges(self, operator: str) -> tuple[KeyRange, ...]:
        """Replicas of a keyed operator in the order of their tasks."""
        return tuple(replica for replica in self.root[operator] if isinstance(replica, KeyRange))

    def replicas(self, operator: str) -> Counter[str]:
        """Number of replicas on each node that runs the operator."""
        return Counter(self.nodes(operator))

    @property
    def places(self) -> Deployment:
        """Nodes of the replicas, without their ranges of tasks."""
        return Deployment({operator: self.nodes(operator) for operator in self.root})

    def owners(self, operator: str, tasks: int) -> list[str]:
        """Node of each task of a keyed operator."""
        owners = [""] * tasks
        for replica in self.ranges(operator):
            first, end = replica.tasks
            owners[first:end] = [replica.node] * (end - first)
        return owners


class KeyMove(Outcome):
    """Neighbouring tasks of an operator that go from one node to another."""

    operator: Name = Field(description="whose tasks they are")
    first: Index = Field(description="first task that moves", **unit("1"))
    end: Index = Field(description="task after the last that moves", **unit("1"))
    source: Name = Field(description="node that holds them now")
    target: Name = Field(description="node that holds them afterwards")
    size: NonNegative = Field(description="of the state that moves", **unit("bytes"))

    def __str__(self) -> str:
        tasks = tasks_text(self.first, self.end)
        return f"{tasks} of {self.operator} from {self.source} to {self.target}, {self.size:.6g} bytes"


def moves_to(application: KeyedApplication, before: KeyedDeployment, after: KeyedDeployment) -> tuple[KeyMove, ...]:
    """Tasks of keyed operators that change their node, in the order of operators and tasks."""
    moves: list[KeyMove] = []
    for operator in application.operators:
        if operator.tasks is not None:
            moves += _moves_of(operator.name, operator.tasks, before, after)
    return tuple(moves)


def _moves_of(operator: str, tasks: KeyedTasks, before: KeyedDeployment, after: KeyedDeployment) -> Iterator[KeyMove]:
    old, new = before.owners(operator, tasks.count), after.owners(operator, tasks.count)
    first = 0
    while first < tasks.count:
        end = first + 1
        while end < tasks.count and (old[end], new[end]) == (old[first], new[first]):
            end += 1
        if old[first] != new[first]:
            size = sum(tasks.state_size[first:end])
            yield KeyMove(operator=operator, first=first, end=end, source=old[first], target=new[first], size=size)
        first = end


def even_boundaries(tasks: int, replicas: int) -> list[int]:
    """First task of each replica, and the end, where tasks are split as Flink splits key groups: ⌈k·m/r⌉.

    >>> even_boundaries(8, 3)
    [0, 3, 6, 8]
    """
    return [-(-k * tasks // replicas) for k in range(replicas + 1)]


def note_replica_faults(
    application: KeyedApplication, nodes: Mapping[str, Any], deployment: KeyedDeployment, place: tuple[str, ...], faults: Faults
) -> None:
    """Note replicas on unknown nodes, of the wrong form for their operator, and tasks that are not held exactly once."""
    operators = application.by_name
    faults.add_keys(place, list(deployment), operators, "operator of the application", "name the replicas of every operator")
    for name in deployment:
        if name not in operators:
            continue
        tasks: KeyedTasks | None = operators[name].tasks
        for position, replica in enumerate(deployment[name]):
            node = replica if isinstance(replica, str) else replica.node
            if node not in nodes:
                faults.add_unknown((*place, name, position), node, "node of the network", nodes)
            if (tasks is None) != isinstance(replica, str):
                why = "splits its load evenly: give the node alone" if tasks is None else "has tasks: give node and tasks"
                faults.add((*place, name, position), node, f"'{name}' {why}")
        if tasks is not None and all(isinstance(replica, KeyRange) for replica in deployment[name]):
            _note_uncovered(deployment.ranges(name), tasks.count, (*place, name), faults)


def _note_uncovered(ranges: Sequence[KeyRange], tasks: int, place: tuple[str, ...], faults: Faults) -> None:
    for first, end, why in uncovered([replica.tasks for replica in ranges], tasks):
        text = uncovered_text(first, end, "held by no replica" if why == "held by no node" else why)
        faults.add(place, None, f"{text}; the ranges must hold each of the {tasks} tasks once")


def _order(replica: Replica) -> tuple[int, int, str]:
    return (-1, -1, replica) if isinstance(replica, str) else (*replica.tasks, replica.node)
