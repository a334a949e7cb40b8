"""A problem of kind `rescale` as flat arrays, which programs and kernels see instead of documents."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from edrp.core.arrays import Floats, Ints
from edrp.core.budget import refuse_beyond_memory
from edrp.core.problem import derived
from edrp.migration.rescale.documents import KeyedDeployment, KeyedOperator, KeyRange
from edrp.migration.rescale.problem import RescaleProblem
from edrp.placement.application import Application, Operator
from edrp.placement.compilation import compile_problem
from edrp.placement.compiled import Compiled
from edrp.placement.edrp import EdrpProblem
from edrp.placement.metric_values import Limits, Weights
from edrp.placement.metrics.peak_load import shared_resources

COMMON = ("response_time", "cost", "downtime", "peak_load")
"""Metrics that both kinds have."""


def as_edrp(problem: RescaleProblem) -> EdrpProblem:
    """The problem of kind `edrp` that is left without tasks.

    Weights of the metrics that both kinds have keep their proportions; where there are none, cost counts. Utilisation,
    tolerance, and the form of ranges and transfers are left out.
    """
    weights = {name: problem.weights.of(name) for name in COMMON}
    if not shared_resources(problem.application):
        del weights["peak_load"]
    total = sum(weights.values())
    limits = {name: limit for name in weights if (limit := problem.limits.of(name)) is not None}
    if not total:
        weights, limits = {"cost": 1.0}, {"cost": MAX_MONEY, **limits}
    application = problem.application
    return EdrpProblem(
        application=Application(
            operators=tuple(_without_tasks(operator) for operator in application.operators), streams=application.streams
        ),
        network=problem.network,
        rules=problem.rules,
        synchronisation_time=problem.synchronisation_time,
        weights=Weights(**{name: weight / (total or 1.0) for name, weight in weights.items()}),
        limits=Limits(**limits),
        current=None if problem.current is None else problem.current.places,
    )


MAX_MONEY = 1e9
"""A limit on cost that is none: the largest number of money per hour that documents take."""


def _without_tasks(operator: Operator) -> Operator:
    fields = {name: getattr(operator, name) for name in Operator.model_fields}
    tasks = getattr(operator, "tasks", None)
    if tasks is None:
        return Operator(**fields)
    max_replicas = min(operator.max_replicas, tasks.count)
    return Operator(**{**fields, "state_size": tasks.total_state, "max_replicas": max_replicas})


@dataclass(frozen=True, slots=True)
class OperatorTasks:
    """Tasks of one operator, and where they are now.

    Attributes
    ----------
    count : number of tasks; 0 where load splits evenly.
    work_before : shape (tasks + 1,), work of the tasks before each one.
    owner : shape (tasks,), node of each task now; -1 without a current deployment.
    held_before : shape (tasks + 1, nodes), bytes of the tasks before each one that the node holds now.
    missing_before : the same of tasks that it does not hold; all 0 without a current deployment.
    """

    count: int
    work_before: Floats
    owner: Ints
    held_before: Floats
    missing_before: Floats


@dataclass(frozen=True, slots=True)
class KeyedArrays:
    """Arrays compiled from a rescaling problem.

    Attributes
    ----------
    compiled : its operators, streams and nodes as for kind `edrp`, with the weights and limits of this problem; latencies are
        those of even shares and not to be used.
    tasks : by operator, in the order of `compiled.operators`.
    up_rate, down_rate : shape (nodes,)
        Bytes/s, infinite for no limit.
    """

    problem: RescaleProblem
    compiled: Compiled
    tasks: tuple[OperatorTasks, ...]
    up_rate: Floats
    down_rate: Floats

    def operator(self, index: int) -> KeyedOperator:
        """The document of an operator."""
        operator: KeyedOperator = self.problem.application.by_name[self.compiled.operators[index]]
        return operator

    def shared_use(self) -> tuple[Floats, Floats, Floats]:
        """Use of shared resources by replicas and by the whole load of operators, and what nodes have, infinite for no limit."""
        names, network = shared_resources(self.problem.application), self.problem.network
        operators = [self.operator(i) for i in range(len(self.compiled.operators))]
        per_replica = [[o.usage[name].per_replica if name in o.usage else 0.0 for name in names] for o in operators]
        per_tuple = [[o.usage[name].per_tuple if name in o.usage else 0.0 for name in names] for o in operators]
        has = [[network.by_name[node].capacity.get(name, np.inf) for name in names] for node in self.compiled.nodes]
        per_operator = (len(operators), len(names))
        return (
            np.array(per_replica, float).reshape(per_operator),
            np.array(per_tuple, float).reshape(per_operator) * self.compiled.load[:, None],
            np.array(has, float).reshape(len(has), len(names)),
        )

    def deployment(self, replicas: list[list[tuple[int, int, int]]]) -> KeyedDeployment:
        """Name the deployment of these replicas (node, first task, end) of each operator."""
        named = {}
        for index, replica_list in enumerate(replicas):
            keyed, name = self.tasks[index].count > 0, self.compiled.operators[index]
            nodes = self.compiled.nodes
            named[name] = tuple(KeyRange(node=nodes[u], tasks=(a, b)) if keyed else nodes[u] for u, a, b in replica_list)
        return KeyedDeployment({operator.name: named[operator.name] for operator in self.problem.application.operators})

    def replicas(self, deployment: KeyedDeployment) -> list[list[tuple[int, int, int]]] | None:
        """Node, first task and end of each replica of each operator; None where a node cannot be used by any operator."""
        index = {name: u for u, name in enumerate(self.compiled.nodes)}
        listed: list[list[tuple[int, int, int]]] = []
        for name in self.compiled.operators:
            if any(node not in index for node in deployment.nodes(name)):
                return None
            listed.append(
                [
                    (index[replica], 0, 0) if isinstance(replica, str) else (index[replica.node], *replica.tasks)
                    for replica in deployment[name]
                ]
            )
        return listed


@derived
def compile_rescale(problem: RescaleProblem) -> KeyedArrays:
    """Turn a problem into arrays; inside `derived_once`, as in `solve`, this is done once.

    Raises
    ------
    ProblemTooLargeError
        When the tables over tasks and nodes would not fit in memory.
    """
    compiled = compile_problem(as_edrp(problem))
    terms = {term.metric: term for term in problem.terms}
    compiled = replace(
        compiled,
        problem=problem,
        weight={**dict.fromkeys(compiled.weight, 0.0), **{name: term.coefficient for name, term in terms.items()}},
        limit={**dict.fromkeys(compiled.limit, np.inf), **{name: term.scaled_limit for name, term in terms.items()}},
    )
    operators = [problem.application.by_name[name] for name in compiled.operators]
    total = sum(operator.tasks.count for operator in operators if operator.tasks is not None)
    cells = 2 * 8.0 * total * len(compiled.nodes)
    refuse_beyond_memory(cells, f"tables over {total:,} tasks and {len(compiled.nodes)} nodes", "group keys into fewer tasks")
    network = {node.name: node for node in problem.network.nodes}
    return KeyedArrays(
        problem=problem,
        compiled=compiled,
        tasks=tuple(_tasks(problem, compiled, operator) for operator in operators),
        up_rate=np.array([network[name].up_rate or np.inf for name in compiled.nodes]),
        down_rate=np.array([network[name].down_rate or np.inf for name in compiled.nodes]),
    )


def _tasks(problem: RescaleProblem, compiled: Compiled, operator: KeyedOperator) -> OperatorTasks:
    size = len(compiled.nodes)
    if operator.tasks is None:
        return OperatorTasks(0, np.zeros(1), np.zeros(0, np.int64), np.zeros((1, size)), np.zeros((1, size)))
    count = operator.tasks.count
    owner = np.full(count, -1, np.int64)
    index = {name: u for u, name in enumerate(compiled.nodes)}
    for replica in () if problem.current is None else problem.current.ranges(operator.name):
        owner[slice(*replica.tasks)] = index[replica.node]
    is_owner = owner[:, None] == np.arange(size)
    state = np.array(operator.tasks.state_size)[:, None]
    before = np.zeros((2, count + 1, size))
    np.cumsum(np.where(is_owner, state, 0.0), axis=0, out=before[0, 1:])
    np.cumsum(np.where(is_owner | (owner[:, None] < 0), 0.0, state), axis=0, out=before[1, 1:])
    return OperatorTasks(count, np.array(operator.tasks.work_before), owner, before[0], before[1])
