"""Operators whose keys are dealt to tasks, nodes with rates of their network cards, and deployments with ranges of tasks."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import pairwise
from typing import Annotated, Any, NamedTuple

from pydantic import Field, field_validator

from edrp.core.document import Document, Faults, Name, NonNegative, Outcome, Positive, checks, unit
from edrp.core.tolerances import LIMIT_SLACK, UNIT_SUM_SLACK
from edrp.migration.intervals import Index, Interval, sums_before, tasks_text, uncovered, uncovered_text
from edrp.placement.application import Application, Operator
from edrp.placement.deployment import Deployment, ReplicasByOperator
from edrp.placement.latency import CapacityCurveLatency
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
        if self.state_of is not None:
            faults.add(("state_of",), self.state_of, "is taken by problems of kind edrp alone; leave it out")
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
            faults.add_unknown((*place, name, position), node, "node of the network", nodes)
            if (tasks is None) != isinstance(replica, str):
                why = "splits its load evenly: give the node alone" if tasks is None else "has tasks: give node and tasks"
                faults.add((*place, name, position), node, f"'{name}' {why}")
        if tasks is not None and all(isinstance(replica, KeyRange) for replica in deployment[name]):
            for first, end, why in uncovered([replica.tasks for replica in deployment.ranges(name)], tasks.count):
                text = uncovered_text(first, end, "held by no replica" if why == "held by no node" else why)
                faults.add((*place, name), None, f"{text}; the ranges must hold each of the {tasks.count} tasks once")


def _order(replica: Replica) -> tuple[int, int, str]:
    return (-1, -1, replica) if isinstance(replica, str) else (*replica.tasks, replica.node)


def range_fits(problem: Any, operator: KeyedOperator, first: int, end: int, replicas: int) -> bool:
    """Whether a replica may hold the tasks [first, end) when there are `replicas` of them."""
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
    """Whether some split among `replicas` replicas keeps all of them stable and within the tolerance."""
    load = problem.application.load(operator.name)
    if operator.tasks is None:
        return bool(problem.is_stable(operator, load / replicas, replicas))
    if problem.ranges == "even":
        ends = even_boundaries(operator.tasks.count, replicas)
        return all(range_fits(problem, operator, a, b, replicas) for a, b in pairwise(ends))
    return len(packed(problem, operator, replicas)) - 1 <= replicas


def packed(problem: Any, operator: KeyedOperator, replicas: int) -> list[int]:
    """Boundaries of the fewest ranges that each of `replicas` replicas may hold, each as long as possible.

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


class ReplicaLoad(NamedTuple):
    """A replica with its part of the load.

    Attributes
    ----------
    rate : tuples/s that it receives.
    tasks : range that it holds; None where the load splits evenly.
    """

    node: str
    share: float
    rate: float
    tasks: tuple[int, int] | None


def replica_loads(application: KeyedApplication, deployment: KeyedDeployment, operator: str) -> list[ReplicaLoad]:
    """The load of each replica of an operator: by the work of its tasks, or evenly."""
    described: KeyedOperator = application.by_name[operator]
    load = application.load(operator)
    if described.tasks is None:
        replicas = deployment.degree(operator)
        return [ReplicaLoad(node, 1 / replicas, load / replicas, None) for node in deployment.nodes(operator)]
    shares = [(replica, described.tasks.share(*replica.tasks)) for replica in deployment.ranges(operator)]
    return [ReplicaLoad(replica.node, share, load * share, replica.tasks) for replica, share in shares]


def node_shares(application: KeyedApplication, deployment: KeyedDeployment, operator: str) -> dict[str, float]:
    """Share of the operator's load that each node in use gets."""
    shares: dict[str, float] = {}
    for replica in replica_loads(application, deployment, operator):
        shares[replica.node] = shares.get(replica.node, 0.0) + replica.share
    return shares


def is_unchanged(before: KeyedDeployment, after: KeyedDeployment, operator: str) -> bool:
    """Whether the operator stays exactly as it is."""
    return before[operator] == after[operator]


class MovedBytes(NamedTuple):
    """Bytes of one operator that leave and reach each node."""

    leaving: dict[str, float]
    arriving: dict[str, float]


def moved_bytes(application: KeyedApplication, before: KeyedDeployment, after: KeyedDeployment, operator: str) -> MovedBytes:
    """Bytes of the operator's state that change their node: of the tasks that do, or of even shares at the least."""
    described: KeyedOperator = application.by_name[operator]
    leaving: dict[str, float] = {}
    arriving: dict[str, float] = {}
    if described.tasks is None:
        old, new = _held(described.state_size, before.replicas(operator)), _held(described.state_size, after.replicas(operator))
        for node in {*old, *new}:
            leaving[node] = max(0.0, old.get(node, 0.0) - new.get(node, 0.0))
            arriving[node] = max(0.0, new.get(node, 0.0) - old.get(node, 0.0))
        return MovedBytes(leaving, arriving)
    count = described.tasks.count
    owners = zip(before.owners(operator, count), after.owners(operator, count), described.tasks.state_size, strict=True)
    for source, target, size in owners:
        if source != target:
            leaving[source] = leaving.get(source, 0.0) + size
            arriving[target] = arriving.get(target, 0.0) + size
    return MovedBytes(leaving, arriving)


def _held(state: float, replicas: Counter[str]) -> dict[str, float]:
    return {node: state * count / replicas.total() for node, count in replicas.items()}


def range_text(replica: ReplicaLoad | KeyRange) -> str:
    """The tasks of a replica in words.

    >>> range_text(ReplicaLoad("a", 0.5, 3.0, (2, 5)))
    'tasks 2–4'
    """
    assert replica.tasks is not None
    return tasks_text(*replica.tasks)
