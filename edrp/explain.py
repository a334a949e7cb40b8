"""Why a deployment is as good as it is: its parts, its margins, and what the next best would cost."""

from __future__ import annotations

from dataclasses import dataclass

from edrp.documents import Action, Deployment
from edrp.errors import Fault, InvalidInstanceError
from edrp.metrics import METRICS, Cost, Downtime, ResponseTime
from edrp.metrics.response_time import PathPart
from edrp.problems.base import Evaluation
from edrp.problems.edrp import EdrpProblem
from edrp.problems.placement import named_resources
from edrp.problems.edrp_solution import EdrpSolution
from edrp.second_best import SecondBest, second_best
from edrp.wording import suggestion


@dataclass(frozen=True, slots=True)
class Share:
    """One metric's part of the objective: `weight × value / limit` on the metric's scale."""

    metric: str
    weight: float
    amount: float


@dataclass(frozen=True, slots=True)
class CostPart:
    """Money per hour of one operator's replicas or of one stream's traffic."""

    name: str
    money: float
    is_stream: bool


@dataclass(frozen=True, slots=True)
class Standstill:
    """One operator's part of a reconfiguration and the seconds that it stands still.

    `action` is None for an operator that stays as it is but is restarted with the others, as Storm does.
    """

    operator: str
    action: Action | None
    downtime: float

    def __str__(self) -> str:
        return str(self.action) if self.action else f"{self.operator} restarted"


@dataclass(frozen=True, slots=True)
class Margin:
    """One limit: what is used of it. `used` is the share, 1 at the limit; above 1 it is broken."""

    name: str
    value: float
    limit: float
    unit: str
    used: float


@dataclass(frozen=True, slots=True)
class Explanation:
    """What `explain` found.

    Attributes
    ----------
    deployment : what is explained, or None when there is none.
    evaluation : its objective, metrics and broken limits, or None.
    shares : of the objective by metric.
    critical_path : the slowest path, leg by leg, in seconds.
    cost_parts : by operator and by stream, money/h.
    standstills : of the reconfiguration by operator, in seconds; the longest is the downtime.
    margins : of every limit that is set, and of every resource of every node in use.
    clashes : why nothing is feasible, in words.
    second_best : the best other deployment; None when it was not asked for or the problem is too large.
    """

    deployment: Deployment | None
    evaluation: Evaluation | None
    shares: tuple[Share, ...]
    critical_path: tuple[PathPart, ...]
    cost_parts: tuple[CostPart, ...]
    standstills: tuple[Standstill, ...]
    margins: tuple[Margin, ...]
    clashes: tuple[str, ...]
    second_best: SecondBest | None = None


def explain(
    problem: EdrpProblem, answer: EdrpSolution | Deployment, *, runner_up: bool = True, time_limit: float | None = 60.0
) -> Explanation:
    """Take a deployment apart.

    Parameters
    ----------
    problem
        What was to be decided.
    answer
        A solution of it, or any deployment.
    runner_up
        Whether to look for the second-best deployment too.
    time_limit
        Seconds for that; None for none.

    Raises
    ------
    InvalidInstanceError
        When the deployment does not fit the problem.

    Examples
    --------
    >>> problem = EdrpProblem(
    ...     application={"operators": [{"name": "work", "cost": 3.0}, {"name": "sink", "cost": 1.0}]},
    ...     network={"nodes": [{"name": "a"}]},
    ...     weights={"cost": 1.0},
    ...     limits={"cost": 5.0},
    ... )
    >>> explanation = explain(problem, Deployment({"work": ["a"], "sink": ["a"]}))
    >>> [(part.name, part.money) for part in explanation.cost_parts]
    [('work', 3.0), ('sink', 1.0)]
    >>> explanation.margins[0].used, explanation.second_best.deployment
    (0.8, None)
    """
    deployment = answer.deployment if isinstance(answer, EdrpSolution) else answer
    if deployment is None:
        clashes = answer.clashes if isinstance(answer, EdrpSolution) else ()
        return Explanation(None, None, (), (), (), (), (), clashes)
    refuse_misfit(problem, deployment)
    evaluation = problem.evaluate(deployment)
    return Explanation(
        deployment,
        evaluation,
        _shares(problem, evaluation),
        ResponseTime().critical_path(problem, deployment),
        _cost_parts(problem, deployment),
        _standstills(problem, deployment),
        (*_limit_margins(problem, evaluation), *_node_margins(problem, deployment)),
        (),
        second_best(problem, deployment, time_limit=time_limit) if runner_up else None,
    )


def refuse_misfit(problem: EdrpProblem, deployment: Deployment) -> None:
    """Refuse a deployment that names what the problem does not have.

    Raises
    ------
    InvalidInstanceError
        Unknown and missing operators, unknown nodes.
    """
    operators, nodes = problem.application.by_name, problem.network.by_name
    faults = []
    for operator in deployment:
        if operator not in operators:
            why = "is no operator of the application" + suggestion(operator, operators)
            faults.append(Fault(f"deployment.{operator}", "", why))
        for position, node in enumerate(deployment[operator]):
            if node not in nodes:
                faults.append(Fault(f"deployment.{operator}[{position}]", node, "is no node of the network"))
    absent = [name for name in operators if name not in deployment]
    faults += [Fault(f"deployment.{name}", "", "is missing; name the nodes of every operator") for name in absent]
    if faults:
        raise InvalidInstanceError(faults)


def _shares(problem: EdrpProblem, evaluation: Evaluation) -> tuple[Share, ...]:
    return tuple(
        Share(term.metric, term.weight, term.coefficient * METRICS[term.metric].scaled(evaluation.metrics[term.metric]))
        for term in problem.terms
        if term.weight
    )


def _cost_parts(problem: EdrpProblem, deployment: Deployment) -> tuple[CostPart, ...]:
    cost = Cost()
    operators = [
        CostPart(operator.name, cost.operator_cost(problem, deployment, operator.name), False)
        for operator in problem.application.operators
    ]
    streams = [
        CostPart(f"{s.source} → {s.target}", cost.stream_cost(problem, deployment, s.source, s.target), True)
        for s in problem.application.streams
    ]
    return (*operators, *streams)


def _standstills(problem: EdrpProblem, deployment: Deployment) -> tuple[Standstill, ...]:
    if problem.current is None:
        return ()
    downtime = Downtime()
    actions = {action.operator: action for action in problem.current.actions_to(deployment)}
    seconds = {name: downtime.operator_downtime(problem, deployment, name) for name in problem.application.by_name}
    return tuple(Standstill(name, actions.get(name), seconds[name]) for name in seconds if name in actions or seconds[name])


def _limit_margins(problem: EdrpProblem, evaluation: Evaluation) -> tuple[Margin, ...]:
    found = []
    for term in problem.terms:
        if term.limit is not None:
            metric, value = METRICS[term.metric], evaluation.metrics[term.metric]
            used = metric.scaled(value) / term.scaled_limit
            found.append(Margin(f"limits.{term.metric}", value, term.limit, metric.unit, used))
    return tuple(found)


def _node_margins(problem: EdrpProblem, deployment: Deployment) -> tuple[Margin, ...]:
    used: dict[tuple[str, str], float] = {}
    for operator in problem.application.operators:
        for node in deployment[operator.name]:
            for resource, amount in named_resources(operator.resources).items():
                used[node, resource] = used.get((node, resource), 0.0) + amount
    found = []
    for (node, resource), amount in sorted(used.items()):
        described = problem.network.by_name[node].resources
        if described is not None:
            free = named_resources(described).get(resource, 0.0)
            share = amount / free if free else float("inf") if amount else 0.0
            found.append(Margin(f"{resource} of node {node}", amount, free, "", share))
    return tuple(found)
