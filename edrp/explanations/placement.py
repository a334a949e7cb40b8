"""Why a deployment is as good as it is: its parts, its margins, and what the next best would cost."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np

from edrp.core.document import named_resources
from edrp.core.errors import ProblemTooLargeError
from edrp.core.methods import Method, get_method
from edrp.core.problem import Evaluation, Margin, ShownInNotebooks
from edrp.core.solution import Infeasibility
from edrp.core.tolerances import OPTIMALITY_GAP
from edrp.explanations.objective import RuleState, rule_states
from edrp.explanations.stages import StageState, stage_states
from edrp.formulations.placement import infeasibility
from edrp.formulations.placement.compact import estimated_columns
from edrp.formulations.second_best import SecondBest, second_best
from edrp.placement.compilation import compile_problem
from edrp.placement.deployment import Action, Deployment
from edrp.placement.devices import units_needed, units_of
from edrp.placement.edrp import EdrpProblem, EdrpSolution
from edrp.placement.latency import CapacityCurveLatency, PolynomialLatency, served_share
from edrp.placement.latency_aware import LatencyAwareProblem, LatencyAwareSolution
from edrp.placement.metrics import Cost, Downtime
from edrp.placement.metrics.base import PathMetric, PathPart
from edrp.placement.metrics.peak_load import PEAK_LOAD
from edrp.placement.node_classes import node_classes
from edrp.placement.problem import PENALTIES, PlacementProblem, StreamPlacement
from edrp.placement.throughput import Throughput, predict_throughput


def load_margins(problem: PlacementProblem, deployment: Deployment) -> tuple[Margin, ...]:
    """Load of every operator against what its replicas serve together, where there is an end to that."""
    parts = []
    for operator in problem.application.operators if isinstance(problem, EdrpProblem) else ():
        if operator.latency is not None and not isinstance(operator.latency, PolynomialLatency):
            replicas, load = len(deployment[operator.name]), problem.application.load(operator.name)
            slowest = min(problem.network.by_name[node].speedup for node in deployment[operator.name])
            capacity = replicas * operator.latency.true_rate(replicas) * served_share(operator.latency, slowest)
            parts.append(Margin.of(f"load of {operator.name}", load, capacity, "tuples/s"))
    return tuple(parts)


def node_margins(problem: StreamPlacement, deployment: Deployment) -> tuple[Margin, ...]:
    """How much is used of every resource of every node in use."""
    used: dict[tuple[str, str], list[float]] = {}
    for operator in problem.application.operators:
        for node in deployment[operator.name]:
            for resource, amount in named_resources(operator.resources).items():
                used.setdefault((node, resource), []).append(amount)
    parts = []
    for (node, resource), amounts in sorted(used.items()):
        described = problem.network.by_name[node].resources
        if described is not None:
            free = named_resources(described).get(resource, 0.0) * problem.usable_share(resource)
            in_units = resource in units_of(problem.network.by_name[node])
            amount = float(units_needed(Counter(amounts))) if in_units else sum(amounts)
            parts.append(Margin.of(f"{resource} of node {node}", amount, free, "as given"))
    return tuple(parts)


SMALL_PROGRAM = 2_000
"""Columns of a program below which it says what clashes."""


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
class Crossing:
    """One stream that goes from node to node: tuples/s that do, and their share of the stream."""

    name: str
    tuples: float
    share: float


@dataclass(frozen=True, slots=True)
class Standstill:
    """One operator's part of a reconfiguration and the seconds that it stands still.

    `action` is None for an operator that stays as it is but is restarted with the others, as Storm does; `downtime` is
    None where the kind of problem says nothing of it.
    """

    operator: str
    action: Action | None
    downtime: float | None

    def __str__(self) -> str:
        return str(self.action) if self.action else f"{self.operator} restarted"


@dataclass(frozen=True, slots=True)
class Scaling:
    """The capacity of a replica of an operator by its capacity curve (tuples/s), and as a share of that of one alone."""

    operator: str
    replicas: int
    rate: float
    share: float


@dataclass(frozen=True, slots=True)
class Explanation(ShownInNotebooks):
    """The explanation of a deployment.

    Attributes
    ----------
    deployment : the deployment that is explained, or None when there is none.
    evaluation : its objective, metrics and broken limits, or None.
    shares : of the objective by metric.
    critical_path : the slowest path, leg by leg, in seconds.
    cost_parts : by operator and by stream, money/h; none where nothing is paid for.
    crossings : streams between nodes, where the score asks for them.
    standstills : of the reconfiguration by operator, in seconds; the longest is the downtime.
    margins : of every limit that is set, of every resource of every node in use, and of the capacity of every operator.
    clashes : why nothing is feasible, in words.
    second_best : the best other deployment, as far as it was searched; None when it was not asked for.
    alike : groups of nodes that may be exchanged for one another, which makes other deployments as good as this one.
    scalings : of every operator that has a capacity curve.
    throughput : how much of its load the deployment carries, where replicas use shared resources; else None.
    rules : every rule of the problem: whether it is met, what it costs, and what the optimum is without it.
    remedies : what makes an infeasible problem feasible, and what not, in words.
    stages : of a problem with priorities, what each costs the later ones, and which it cannot improve further because of.
    """

    deployment: Deployment | None
    evaluation: Evaluation | None
    shares: tuple[Share, ...]
    critical_path: tuple[PathPart, ...]
    cost_parts: tuple[CostPart, ...]
    crossings: tuple[Crossing, ...]
    standstills: tuple[Standstill, ...]
    margins: tuple[Margin, ...]
    clashes: tuple[str, ...]
    second_best: SecondBest | None = None
    alike: tuple[tuple[str, ...], ...] = ()
    scalings: tuple[Scaling, ...] = ()
    throughput: Throughput | None = None
    rules: tuple[RuleState, ...] = ()
    remedies: tuple[str, ...] = ()
    stages: tuple[StageState, ...] = ()


def explain_deployment(
    problem: PlacementProblem, answer: Any, second_work: float | None, alike: bool, rules_work: float
) -> Explanation:
    """Explain a solution or a deployment; without work for the second best, it is not looked for."""
    solution = answer if isinstance(answer, (EdrpSolution, LatencyAwareSolution)) else None
    if solution is not None and solution.deployment is None:
        return Explanation(None, None, (), (), (), (), (), (), solution.clashes, remedies=solution.remedies)
    deployment: Deployment = problem.read_decision(solution.deployment if solution else answer, "deployment")
    evaluation = problem.evaluate(deployment)
    bound = None if solution is None else solution.bound
    second = None if second_work is None else second_best(problem, deployment, work_limit=second_work, bound=bound)
    optimal = solution is not None and solution.status == "optimal" and (solution.gap or 0.0) <= OPTIMALITY_GAP
    proven = optimal or (second is not None and second.proven and not second.better)
    method = "auto" if solution is None else solution.method
    about_paths = next(metric for metric in problem.metrics.values() if isinstance(metric, PathMetric))
    return Explanation(
        deployment,
        evaluation,
        objective_shares(problem, evaluation),
        about_paths.critical_path(problem, deployment),
        cost_parts(problem, deployment, Cost()) if "cost" in problem.metrics else (),
        _crossings(problem, deployment) if "events" in problem.metrics else (),
        _standstills(problem, deployment),
        (*problem.limit_margins(evaluation.metrics), *node_margins(problem, deployment), *load_margins(problem, deployment)),
        (),
        second,
        _alike(problem) if alike else (),
        _scalings(problem, deployment),
        predict_throughput(problem, deployment) if isinstance(problem, EdrpProblem) and PEAK_LOAD in problem.metrics else None,
        tuple(rule_states(problem, deployment, evaluation, method, proven, rules_work)),
        stages=stage_states(problem, solution, rules_work) if solution is not None and solution.stages else (),
    )


def explain_infeasibility(problem: EdrpProblem, units: float) -> Infeasibility:
    """Why a problem of kind `edrp` is infeasible, by the proof that fits it best."""
    from edrp.auto.choices import proofs  # brings methods of all kinds, which explaining an answer does not need

    def methods(part: EdrpProblem) -> list[Method]:
        """Exact methods; of small problems the program first, which is sooner there."""
        found = proofs(part)
        small = estimated_columns(compile_problem(part)) < SMALL_PROGRAM
        return sorted(found, key=lambda method: small and method.name != "highs")

    return infeasibility.explain_infeasibility(problem, methods, units)


def explain_latency_aware_infeasibility(problem: LatencyAwareProblem, units: float) -> Infeasibility:
    """Why a problem of kind `latency-aware` is infeasible: what its nodes lack, or which rules clash with that or each other."""
    if not any(rule.hard for rule in problem.rules):
        return Infeasibility(problem.clashes())
    found = infeasibility.explain_infeasibility(problem, lambda part: [get_method("highs", part.kind)], units)
    return found if {rule.demand for rule in problem.rules} & set(found.clashes) else Infeasibility(problem.clashes())


def _alike(problem: PlacementProblem) -> tuple[tuple[str, ...], ...]:
    """Groups of nodes that are equal, with what runs on them now; none where there are too many to compare."""
    try:
        compiled = compile_problem(problem)
    except ProblemTooLargeError:
        return ()
    number = node_classes(compiled)
    groups = (tuple(compiled.nodes[u] for u in np.flatnonzero(number == k)) for k in range(int(number.max()) + 1))
    return tuple(group for group in groups if len(group) > 1)


def _crossings(problem: PlacementProblem, deployment: Deployment) -> tuple[Crossing, ...]:
    parts = []
    for stream in problem.application.streams:
        senders, receivers = deployment.replicas(stream.source), deployment.replicas(stream.target)
        together = sum(count * receivers[node] for node, count in senders.items())
        share = 1 - together / (senders.total() * receivers.total())
        if share:
            rate = problem.application.rate(stream.source, stream.target)
            parts.append(Crossing(f"{stream.source} → {stream.target}", share * rate, share))
    return tuple(parts)


def objective_shares(problem: StreamPlacement, evaluation: Evaluation) -> tuple[Share, ...]:
    """Part of the objective that each metric with a weight has, and what rules add to it."""
    metrics = problem.metrics
    shares = [
        Share(term.metric, term.weight, term.coefficient * metrics[term.metric].scaled(evaluation.metrics[term.metric]))
        for term in problem.terms
        if term.weight
    ]
    shares += [Share(PENALTIES, 1.0, amount) for name, amount in evaluation.metrics.items() if name == PENALTIES]
    return tuple(shares)


def cost_parts(problem: Any, deployment: Any, cost: Cost) -> tuple[CostPart, ...]:
    """Money per hour of each operator and each stream."""
    operators = [
        CostPart(operator.name, cost.operator_cost(problem, deployment, operator.name), False)
        for operator in problem.application.operators
    ]
    streams = [
        CostPart(f"{s.source} → {s.target}", cost.stream_cost(problem, deployment, s.source, s.target), True)
        for s in problem.application.streams
    ]
    return (*operators, *streams)


def _standstills(problem: Any, deployment: Deployment) -> tuple[Standstill, ...]:
    if problem.current is None:
        return ()
    downtime = Downtime()
    actions = {action.operator: action for action in problem.current.actions_to(deployment)}
    if "downtime" not in problem.metrics:
        return tuple(Standstill(name, action, None) for name, action in actions.items())
    seconds = {name: downtime.operator_downtime(problem, deployment, name) for name in problem.application.by_name}
    return tuple(Standstill(name, actions.get(name), seconds[name]) for name in seconds if name in actions or seconds[name])


def _scalings(problem: PlacementProblem, deployment: Deployment) -> tuple[Scaling, ...]:
    parts = []
    for operator in problem.application.operators if isinstance(problem, EdrpProblem) else ():
        if isinstance(operator.latency, CapacityCurveLatency):
            replicas = len(deployment[operator.name])
            rate = operator.latency.true_rate(replicas)
            parts.append(Scaling(operator.name, replicas, rate, rate / operator.latency.true_rate(1)))
    return tuple(parts)
