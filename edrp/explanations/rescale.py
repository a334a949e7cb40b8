"""Why a rescaling is as good as it is: the heaviest replica, the fullest node, the longest transfer, and what would help."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from edrp.core.document import named_resources
from edrp.core.problem import Evaluation, Margin, ShownInNotebooks
from edrp.core.solve import solve
from edrp.core.tolerances import LIMIT_SLACK
from edrp.explanations.placement import CostPart, Share, cost_parts, node_margins, objective_shares
from edrp.formulations.second_best import SECOND_BEST_WORK, SecondBest, second_best
from edrp.migration.rescale.documents import KeyedDeployment, KeyedOperator, KeyRange, moved_bytes, range_text, replica_loads
from edrp.migration.rescale.metrics import KeyedCost, KeyedDowntime, KeyedResponseTime
from edrp.migration.rescale.problem import RescaleProblem, RescaleSolution
from edrp.placement.metrics.base import PathPart
from edrp.placement.throughput import service_rate

HOTTEST = 3
"""Tasks of the heaviest replica that are named."""


@dataclass(frozen=True, slots=True)
class HeaviestReplica:
    """The replica that uses most of what it serves.

    Attributes
    ----------
    tasks : range that it holds; None where the operator has none.
    rate, served : tuples/s that it receives, and that it can serve.
    average : tuples/s of a replica if they shared the load evenly.
    hottest : its tasks with most work, and the share of the replica's load that each brings.
    """

    operator: str
    node: str
    tasks: tuple[int, int] | None
    rate: float
    served: float
    average: float
    hottest: tuple[tuple[int, float], ...]

    @property
    def used(self) -> float:
        """Share of what it serves; infinite where it serves nothing."""
        return self.rate / self.served if self.served else math.inf if self.rate else 0.0


@dataclass(frozen=True, slots=True)
class LongestTransfer:
    """The card that is busiest while state moves, or the operator whose way over the store takes longest.

    Attributes
    ----------
    name : node, or operator where state goes by way of the store.
    size : bytes that it sends or receives; all that move where state goes by way of the store.
    direction : "sends" or "receives"; None by way of the store.
    seconds : that this takes; the synchronisation included by way of the store.
    """

    name: str
    size: float
    direction: str | None
    seconds: float


@dataclass(frozen=True, slots=True)
class Remedy:
    """A change of the problem, and what the best answer found for it is worth.

    Attributes
    ----------
    evaluation : of the best deployment found; None where there is none.
    gain : objective of the explained problem's best known answer less that of the changed one; None where either has none.
    proven : whether the changed problem was solved to optimality.
    """

    what: str
    evaluation: Evaluation | None
    gain: float | None
    proven: bool


@dataclass(frozen=True, slots=True)
class RescaleExplanation(ShownInNotebooks):
    """The explanation of a rescaling.

    Attributes
    ----------
    deployment, evaluation : what is explained, and its metrics.
    second_best : the best other deployment, as far as it was searched.
    better : evaluation of a better deployment, the second best or one met when the problem was solved again; else None.
    """

    deployment: KeyedDeployment
    evaluation: Evaluation
    shares: tuple[Share, ...]
    critical_path: tuple[PathPart, ...]
    cost_parts: tuple[CostPart, ...]
    margins: tuple[Margin, ...]
    heaviest: HeaviestReplica | None
    fullest: Margin | None
    longest: LongestTransfer | None
    second_best: SecondBest
    better: Evaluation | None
    remedies: tuple[Remedy, ...]


def explain_rescale(problem: RescaleProblem, deployment: Any, *, work_limit: float = SECOND_BEST_WORK) -> RescaleExplanation:
    """Take a rescaling apart, and try what would help by solving changed problems.

    Parameters
    ----------
    deployment
        A solution, or any deployment.
    work_limit
        Units of work for the second-best deployment, and for each problem that is solved again.

    Raises
    ------
    InvalidInstanceError
        When the deployment does not fit the problem.
    """
    target: KeyedDeployment = problem.read_decision(deployment, "deployment")
    bound = deployment.bound if isinstance(deployment, RescaleSolution) else None
    evaluation = problem.evaluate(target)
    nodes = node_margins(problem, target.places)
    measured: Any = target  # its metrics are those of placements, with other decisions
    path = KeyedResponseTime().critical_path(problem, measured)
    heaviest, longest = heaviest_replica(problem, target), longest_transfer(problem, target)
    second = second_best(problem, target, work_limit=work_limit, bound=bound)
    better = _better(problem, target, evaluation, second, work_limit)
    known = better.objective if better is not None else evaluation.objective if evaluation.feasible else None
    fullest = max(nodes, key=lambda margin: margin.used, default=None)
    slowest = max((part for part in path if not part.is_stream), key=lambda part: part.seconds)
    critical: KeyedOperator = problem.application.by_name[slowest.name]  # takes most of the critical path
    found = [
        *_more_replicas(problem, target, critical),
        *_split(problem, target, heaviest),
        *_faster_card(problem, target, longest),
    ]
    if fullest is not None and fullest.used > 1 - LIMIT_SLACK:
        found += _more_room(problem, target, critical, fullest)
    return RescaleExplanation(
        deployment=target,
        evaluation=evaluation,
        shares=objective_shares(problem, evaluation),
        critical_path=path,
        cost_parts=cost_parts(problem, target, KeyedCost()),
        margins=(*problem.limit_margins(evaluation.metrics), *nodes),
        heaviest=heaviest,
        fullest=fullest,
        longest=longest,
        second_best=second,
        better=better,
        remedies=tuple(_tried(what, changed, start, known, work_limit) for what, changed, start in found),
    )


def _better(
    problem: RescaleProblem, deployment: KeyedDeployment, evaluation: Evaluation, second: SecondBest, units: float
) -> Evaluation | None:
    """The evaluation of a better deployment; where the second best is not proven, the problem is solved again for one."""
    other = second.deployment
    if not second.proven:
        again: RescaleSolution = solve(problem, work_limit=units, start=deployment)
        if again.objective is not None and (second.objective is None or again.objective < second.objective):
            other = again.deployment
    found = None if other is None else problem.evaluate(other)
    lower = evaluation.objective - 1e-7 * max(1.0, abs(evaluation.objective))  # by more than rounding
    is_better = found is not None and (not evaluation.feasible or found.objective < lower)
    return found if is_better else None


def heaviest_replica(problem: RescaleProblem, deployment: KeyedDeployment) -> HeaviestReplica | None:
    """The replica that uses most of what it serves; None where nothing says how much any serves."""
    found: list[HeaviestReplica] = []
    for operator in problem.application.operators:
        loads = replica_loads(problem.application, deployment, operator.name)
        served = service_rate(operator, len(loads))
        if not math.isfinite(served):
            continue
        average = problem.application.load(operator.name) / len(loads)
        load = max(loads, key=lambda load: load.rate)
        hottest = () if load.tasks is None else tuple(_hottest(operator, *load.tasks))
        found.append(HeaviestReplica(operator.name, load.node, load.tasks, load.rate, served, average, hottest))
    return max(found, key=lambda replica: replica.used, default=None)


def longest_transfer(problem: RescaleProblem, deployment: KeyedDeployment) -> LongestTransfer | None:
    """The busiest network card, or the slowest operator by way of the store; None where no state moves."""
    if problem.current is None:
        return None
    moved = {o.name: moved_bytes(problem.application, problem.current, deployment, o.name) for o in problem.application.operators}
    if problem.transfer == "store":
        sizes = {name: math.fsum(part.arriving.values()) for name, part in moved.items()}
        downtime = KeyedDowntime()
        seconds = {name: downtime.operator_downtime(problem, deployment, name) for name, size in sizes.items() if size}
        slowest = max(seconds, key=lambda name: seconds[name], default=None)
        return None if slowest is None else LongestTransfer(slowest, sizes[slowest], None, seconds[slowest])
    cards: list[LongestTransfer] = []
    for node in problem.network.nodes:
        sent = math.fsum(part.leaving.get(node.name, 0.0) for part in moved.values())
        received = math.fsum(part.arriving.get(node.name, 0.0) for part in moved.values())
        cards.append(LongestTransfer(node.name, sent, "sends", sent / (node.up_rate or math.inf)))
        cards.append(LongestTransfer(node.name, received, "receives", received / (node.down_rate or math.inf)))
    return max((card for card in cards if card.seconds), key=lambda card: card.seconds, default=None)


def split_task(operator: KeyedOperator, task: int) -> KeyedOperator:
    """The operator with one task in two halves, each with half of its work and state.

    >>> operator = KeyedOperator(name="count", tasks={"work": [4, 1], "state_size": [6, 2]})
    >>> split_task(operator, 0).tasks.work
    (2.0, 2.0, 1.0)
    """
    assert operator.tasks is not None
    halved = {
        name: [*values[:task], values[task] / 2, values[task] / 2, *values[task + 1 :]]
        for name, values in (("work", operator.tasks.work), ("state_size", operator.tasks.state_size))
    }
    return operator.replace(tasks=halved)


def _hottest(operator: KeyedOperator, first: int, end: int) -> Iterator[tuple[int, float]]:
    assert operator.tasks is not None
    work = operator.tasks.work
    total = math.fsum(work[first:end])
    for task in sorted(range(first, end), key=lambda task: -work[task])[:HOTTEST]:
        if work[task]:
            yield task, work[task] / total


Change = tuple[str, RescaleProblem, KeyedDeployment | None]
"""A changed problem in words, and a deployment to start from."""


def _more_replicas(problem: RescaleProblem, deployment: KeyedDeployment, critical: KeyedOperator) -> Iterator[Change]:
    more = deployment.degree(critical.name) + 1
    if critical.latency is None or (critical.tasks is not None and more > critical.tasks.count):
        return
    most = max(critical.max_replicas, more)
    why = "" if most == critical.max_replicas else f", which its max_replicas of {critical.max_replicas} forbids"
    changed = _with_operator(problem, critical.replace(min_replicas=more, max_replicas=most))
    yield f"one more replica of {critical.name} ({more}){why}", changed, None


def _split(problem: RescaleProblem, deployment: KeyedDeployment, heaviest: HeaviestReplica | None) -> Iterator[Change]:
    if heaviest is None or not heaviest.hottest:
        return
    task, share = heaviest.hottest[0]
    operator = problem.application.by_name[heaviest.operator]
    current = None if problem.current is None else _shifted(problem.current, operator.name, task)
    halved = _with_operator(problem, split_task(operator, task), current)
    what = f"task {task} of {operator.name} split in two (it brings {share:.0%} of the load of its replica)"
    yield what, halved, _shifted(deployment, operator.name, task)


def _faster_card(problem: RescaleProblem, deployment: KeyedDeployment, longest: LongestTransfer | None) -> Iterator[Change]:
    if longest is None or longest.direction is None:
        return
    field = "up_rate" if longest.direction == "sends" else "down_rate"
    nodes = [
        node.replace(**{field: 2 * getattr(node, field)}) if node.name == longest.name else node for node in problem.network.nodes
    ]
    yield f"twice the {field} of {longest.name}", problem.replace(network=problem.network.replace(nodes=nodes)), deployment


def _more_room(
    problem: RescaleProblem, deployment: KeyedDeployment, critical: KeyedOperator, fullest: Margin
) -> Iterator[Change]:
    need, nodes = named_resources(critical.resources), []
    for node in problem.network.nodes:
        if fullest.name.endswith(f" of node {node.name}") and node.resources is not None:
            room = {name: amount + need.get(name, 0.0) for name, amount in named_resources(node.resources).items()}
            resources = room if isinstance(node.resources, Mapping) else next(iter(room.values()))
            nodes.append(node.replace(resources=resources))
        else:
            nodes.append(node)
    roomier = problem.replace(network=problem.network.replace(nodes=nodes))
    yield f"room for one more replica of {critical.name} where {fullest.name} are used up", roomier, deployment


def _with_operator(problem: RescaleProblem, changed: KeyedOperator, current: KeyedDeployment | None = None) -> RescaleProblem:
    """The problem with one operator replaced, and with it what runs where its tasks are others."""
    operators = [changed if operator.name == changed.name else operator for operator in problem.application.operators]
    application = problem.application.replace(operators=operators)
    return problem.replace(application=application, current=current or problem.current)


def _shifted(deployment: KeyedDeployment, operator: str, task: int) -> KeyedDeployment:
    """The deployment where one task of an operator has become two."""
    ranges = [
        KeyRange(node=replica.node, tasks=(first + (first > task), end + (end > task)))
        for replica in deployment.ranges(operator)
        for first, end in [replica.tasks]
    ]
    return KeyedDeployment({name: tuple(ranges) if name == operator else deployment[name] for name in deployment})


def _tried(what: str, problem: RescaleProblem, start: KeyedDeployment | None, known: float | None, units: float) -> Remedy:
    """The worth of a change by solving the changed problem."""
    answer: RescaleSolution = solve(problem, work_limit=units, start=start)
    if answer.deployment is None or answer.objective is None:
        return Remedy(what, None, None, answer.status == "infeasible")
    gain = None if known is None else known - answer.objective
    return Remedy(what, problem.evaluate(answer.deployment), gain, answer.status == "optimal")


def replica_text(replica: HeaviestReplica) -> str:
    """The replica in words."""
    if replica.tasks is None:
        return f"{replica.operator} on {replica.node}"
    return f"{replica.operator} on {replica.node} with {range_text(KeyRange(node=replica.node, tasks=replica.tasks))}"
