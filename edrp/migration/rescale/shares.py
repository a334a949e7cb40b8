"""Share of each replica in its operator's load, and the bytes that leave and reach nodes: plain code for the evaluation."""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

from edrp.migration.intervals import tasks_text
from edrp.migration.rescale.deployment import KeyedDeployment, KeyRange
from edrp.migration.rescale.documents import KeyedApplication, KeyedOperator


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
