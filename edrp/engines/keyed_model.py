"""The model with key groups: an `edrp` problem of a job whose keyed operators get their key groups as tasks, kind `rescale`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from edrp.core.tolerances import LIMIT_SLACK
from edrp.engines.fit import JobFit
from edrp.engines.goals import Goals
from edrp.engines.key_groups import held_groups
from edrp.engines.model import replica_floor
from edrp.migration.rescale.documents import (
    KeyedApplication,
    KeyedDeployment,
    KeyedOperator,
    KeyedTasks,
    KeyRange,
    Replica,
    RescaleNetwork,
)
from edrp.migration.rescale.problem import RescaleLimits, RescaleProblem, RescaleWeights
from edrp.placement.application import Operator
from edrp.placement.edrp import EdrpProblem
from edrp.placement.network import Network


def rescale_problem(problem: EdrpProblem, fit: JobFit, goals: Goals) -> RescaleProblem:
    """The problem of a job with the key groups that its fit knows as tasks, in even ranges as engines run them.

    Replicas have the service rates that were measured, whatever the skew: what each receives follows from the work of its key
    groups. None may be busier than the goal. State is read at the rate at which the node with most of it restored its own.

    Parameters
    ----------
    problem
        The model of the job, by `edrp.engines.model.placement_problem`.
    fit, goals
        As for the model; the fit of an operator has `groups`, or the operator stays as it is.
    """
    fits = {operator.name: operator for operator in fit.operators}
    operators = []
    for operator in problem.application.operators:
        fitted = fits[operator.name]
        groups = fitted.groups
        fields: dict[str, Any] = {name: getattr(operator, name) for name in Operator.model_fields}
        if groups is not None:
            fewest = operator.min_replicas
            if operator.latency is not None:  # ranges tell by themselves how many are enough
                fewest = min(replica_floor(fitted, goals), fewest)
            tasks = KeyedTasks(work=groups.work, state_size=groups.state_size)
            fields |= {"tasks": tasks, "state_size": 0.0, "min_replicas": fewest}
        operators.append(KeyedOperator(**fields))
    return RescaleProblem(
        application=KeyedApplication(operators=operators, streams=problem.application.streams),
        network=_network(problem.network, fit),
        rules=problem.rules,
        synchronisation_time=problem.synchronisation_time,
        ranges="even",
        transfer="direct",
        utilisation=min(1.0, goals.busy_limit * (1.0 + LIMIT_SLACK)),
        weights=RescaleWeights(response_time=problem.weights.response_time, cost=problem.weights.cost),
        limits=RescaleLimits(response_time=problem.limits.response_time, cost=problem.limits.cost),
        current=_running(fit),
    )


def renamed(deployment: KeyedDeployment, names: Mapping[str, str]) -> KeyedDeployment:
    """The deployment with other names of nodes.

    >>> renamed(KeyedDeployment({"read": ["a"], "count": [{"node": "a", "tasks": [0, 4]}]}), {"a": "b"})["read"]
    ('b',)
    """
    return KeyedDeployment({name: [_on(replica, names) for replica in deployment[name]] for name in deployment})


def _on(replica: Replica, names: Mapping[str, str]) -> Replica:
    return names[replica] if isinstance(replica, str) else KeyRange(node=names[replica.node], tasks=replica.tasks)


def _running(fit: JobFit) -> KeyedDeployment:
    """Return the deployment that runs now: the i-th replica holds the i-th range of key groups."""
    replicas: dict[str, list[Replica]] = {}
    for fitted, observed in zip(fit.operators, fit.observation.operators, strict=True):
        count = observed.parallelism
        replicas[observed.name] = list(observed.nodes)
        if fitted.groups is not None:
            group_ranges = (held_groups(replica, count, observed.max_parallelism) for replica in range(count))
            replicas[observed.name] = [
                KeyRange(node=node, tasks=tasks) for node, tasks in zip(observed.nodes, group_ranges, strict=True)
            ]
    return KeyedDeployment(replicas)


def _network(network: Network, fit: JobFit) -> RescaleNetwork:
    """The network with the rate at which nodes read state."""
    load_of_node: dict[str, float] = {}
    for fitted, observed in zip(fit.operators, fit.observation.operators, strict=True):
        for node, size in zip(observed.nodes, fitted.state_sizes, strict=False):
            load_of_node[node] = load_of_node.get(node, 0.0) + size
    max_load = max(load_of_node.values(), default=0.0)
    rate = max_load / fit.restore.value if max_load and fit.restore.value else None
    fields = network.model_dump()
    return RescaleNetwork(**{**fields, "nodes": [{**node, "down_rate": rate} for node in fields["nodes"]]})
