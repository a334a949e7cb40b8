"""Deployments of keyed operators: node and tasks of every replica, the state that moves, and the numbers that are stable."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Annotated, Any

from pydantic import Field, field_validator

from edrp.core.document import Document, Faults, Name, NonNegative, Outcome, checks, unit
from edrp.core.tolerances import LIMIT_SLACK
from edrp.migration.intervals import Index, Interval, tasks_text, uncovered, uncovered_text
from edrp.migration.rescale.documents import KeyedApplication, KeyedOperator, KeyedTasks
from edrp.placement.deployment import Deployment, ReplicasByOperator
from edrp.placement.latency import CapacityCurveLatency


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


def range_fits(problem: Any, operator: KeyedOperator, first: int, end: int, replicas: int) -> bool:
    """Whether a replica may hold the tasks [first, end) when there are so many replicas."""
    assert operator.tasks is not None
    share = operator.tasks.share(first, end)
    if problem.tolerance is not None and share > (1 + problem.tolerance) / replicas * (1 + LIMIT_SLACK):
        return False
    return bool(problem.is_stable(operator, problem.application.load(operator.name) * share, replicas))


def possible_replicas(problem: Any, operator: KeyedOperator) -> list[int]:
    """Numbers of replicas with which the operator can be stable and within the tolerance, ascending."""
    allowed = range(operator.min_replicas, operator.most_replicas + 1)
    if operator.tasks is not None and not depends_on_number(problem, operator):
        fewest = len(packed(problem, operator, operator.most_replicas)) - 1
        return [replicas for replicas in allowed if replicas >= fewest]
    return [replicas for replicas in allowed if is_possible(problem, operator, replicas)]


def depends_on_number(problem: Any, operator: KeyedOperator) -> bool:
    """Whether what a replica may hold or how fast it is depends on how many replicas there are."""
    curve = isinstance(operator.latency, CapacityCurveLatency)
    return bool(problem.ranges == "even" or problem.tolerance is not None or curve)


def is_possible(problem: Any, operator: KeyedOperator, replicas: int) -> bool:
    """Whether some split among so many replicas keeps all of them stable and within the tolerance."""
    load = problem.application.load(operator.name)
    if operator.tasks is None:
        return bool(problem.is_stable(operator, load / replicas, replicas))
    if problem.ranges == "even":
        ends = even_boundaries(operator.tasks.count, replicas)
        return all(range_fits(problem, operator, a, b, replicas) for a, b in pairwise(ends))
    return len(packed(problem, operator, replicas)) - 1 <= replicas


def packed(problem: Any, operator: KeyedOperator, replicas: int) -> list[int]:
    """Boundaries of the fewest ranges that replicas may hold when there are so many of them, each as long as possible.

    A task that no replica may hold is a range of its own that counts as more than there may be: the list is then too long.
    """
    assert operator.tasks is not None
    count, ends = operator.tasks.count, [0]
    while ends[-1] < count and len(ends) <= replicas + 1:
        end = _longest(lambda end: range_fits(problem, operator, ends[-1], end, replicas), ends[-1] + 1, count)
        if end is None:
            return list(range(replicas + 3))
        ends.append(end)
    return ends if ends[-1] == count else list(range(replicas + 3))


def _longest(fits: Callable[[int], bool], first: int, last: int) -> int | None:
    """The last end that fits, None if the first does not."""
    if not fits(first):
        return None
    return first + bisect_right(range(first + 1, last + 1), 0, key=lambda end: 0 if fits(end) else 1)
