"""Deployments of CAPSys's third query, inference on images: the measured ones as our model sees them, and joint optima."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from edrp.core.tolerances import LIMIT_SLACK
from edrp.datasets.placement.capsys import MeasuredPlan
from edrp.placement.deployment import Deployment
from edrp.placement.edrp import EdrpProblem
from edrp.placement.metric_values import Weights
from edrp.placement.metrics.peak_load import PEAK_LOADS
from edrp.placement.throughput import predict_throughput
from edrp.validation.papers.capsys.queries import timed

CAPSYS = "-caps"
"""Suffix of the name of CAPSys's own plan."""

FEWEST, LEAST = "fewest slots", "least latency, all slots"

JOINT = "equal-nodes"
"""Method that proves numbers of tasks and places together; `fixed-tasks` then places these numbers for the least peaks."""

MAX_UTILISATION = 1.0
"""Largest share of a worker's cores and network that our plans ask for."""


@dataclass(frozen=True, slots=True)
class PlanRow:
    """One deployment in this package's model, either measured by the paper or an optimum.

    Attributes
    ----------
    slots, replicas : number of tasks, and those of each operator.
    rate, target : records/s that it is predicted to carry, and that it is asked for.
    latency : seconds from source to sink at the target; infinite where some task is asked for more than it serves.
    peaks : share of its capacity that the fullest worker is asked for at the target, by resource.
    bottleneck, broken : what holds it back, and limits that it breaks, in words.
    proven : whether numbers of tasks and places are proven; None where nothing is claimed.
    seconds : of processor time to solve.
    """

    name: str
    slots: int
    replicas: Mapping[str, int]
    rate: float
    target: float
    latency: float
    peaks: Mapping[str, float]
    bottleneck: str
    broken: tuple[str, ...]
    ours: bool = False
    proven: bool | None = None
    seconds: float | None = None

    @property
    def reaches(self) -> bool:
        """Whether it is predicted to carry the rate that it is asked for."""
        return self.rate >= self.target * (1 - LIMIT_SLACK)


def plan_rows(problem: EdrpProblem, plans: Mapping[str, MeasuredPlan]) -> list[PlanRow]:
    """Measured plans, then joint optima: the fewest slots, the least latency with CAPSys's slots, and with all."""
    measured = [
        row(problem, "\n".join(names), Deployment({name: sorted(counts.elements()) for name, counts in plan.tasks.items()}))
        for names, plan in distinct(plans)
    ]
    return [*measured, *joint_rows(problem, capsys_row(measured))]


def capsys_row(rows: Sequence[PlanRow]) -> PlanRow | None:
    """CAPSys's own plan, if it is among them."""
    return next((row for row in rows if not row.ours and any(name.endswith(CAPSYS) for name in row.name.split("\n"))), None)


def distinct(plans: Mapping[str, MeasuredPlan]) -> Iterator[tuple[list[str], MeasuredPlan]]:
    """Plans that differ, each with all its names."""
    for index, plan in enumerate(plans.values()):
        names = [name for name, other in plans.items() if other == plan]
        if list(plans)[index] == names[0]:
            yield names, plan


def joint_rows(problem: EdrpProblem, capsys: PlanRow | None) -> Iterator[PlanRow]:
    """Joint optima in which no worker is asked for more than it has."""
    yield joint_row(problem, FEWEST, {}, ["cost", "response_time"])
    slots = sum(int(node.resources) for node in problem.network.nodes if isinstance(node.resources, float))
    if capsys is not None and capsys.slots < slots:
        yield joint_row(problem, f"least latency, {capsys.slots} slots", {"cost": capsys.slots}, ["response_time", "cost"])
    yield joint_row(problem, LEAST, {"cost": slots}, ["response_time", "cost"])


def joint_row(problem: EdrpProblem, name: str, limits: Mapping[str, float], priorities: Sequence[str]) -> PlanRow:
    """Numbers of tasks by metrics one after the other, then the places of these tasks by their peaks."""
    joint = in_order(problem, priorities, {**limits, "peak_load": MAX_UTILISATION})
    chosen, seconds = timed(joint, JOINT)
    if chosen.deployment is None:
        return PlanRow(name, 0, {}, 0.0, target_rate(problem), math.inf, {}, "", tuple(chosen.notes), True, False, seconds)
    fixed = with_tasks(problem, {name: len(nodes) for name, nodes in chosen.deployment.items()})
    placed, more = timed(fixed, "fixed-tasks")
    proven = chosen.status == "optimal" and placed.status == "optimal"
    return row(problem, name, placed.deployment, ours=True, proven=proven, seconds=seconds + more)


def with_tasks(problem: EdrpProblem, numbers: Mapping[str, int]) -> EdrpProblem:
    """The problem with given numbers of tasks, to be placed for the least peak of each resource in turn."""
    operators = [
        operator.replace(min_replicas=numbers[operator.name], max_replicas=numbers[operator.name])
        for operator in problem.application.operators
    ]
    fixed = problem.replace(application=problem.application.replace(operators=operators))
    return in_order(fixed, [f"{PEAK_LOADS}.{resource}" for resource in problem.network.nodes[0].capacity], {})


def in_order(problem: EdrpProblem, metrics: Sequence[str], limits: Mapping[str, float]) -> EdrpProblem:
    """The problem whose metrics are minimised one after the other, and nothing else, within limits."""
    weights = Weights.of_metrics({metrics[-1]: 1.0})
    return problem.replace(priorities=[{"metric": metric} for metric in metrics], weights=weights, limits=limits)


def row(problem: EdrpProblem, name: str, deployment: Deployment, **more: Any) -> PlanRow:
    """A deployment as the model sees it."""
    evaluation, predicted = problem.evaluate(deployment), predict_throughput(problem, deployment)
    replicas = {operator.name: deployment.replicas(operator.name).total() for operator in problem.application.operators}
    rate = target_rate(problem)
    return PlanRow(
        name=name,
        slots=sum(replicas.values()),
        replicas=replicas,
        rate=predicted.share * rate,
        target=rate,
        latency=evaluation.metrics["response_time"],
        peaks={resource: evaluation.metrics[f"{PEAK_LOADS}.{resource}"] for resource in problem.network.nodes[0].capacity},
        bottleneck=predicted.bottleneck,
        broken=tuple(evaluation.broken),
        **more,
    )


def target_rate(problem: EdrpProblem) -> float:
    """Records/s that all sources together are to read."""
    return sum(operator.external_rate for operator in problem.application.operators)
