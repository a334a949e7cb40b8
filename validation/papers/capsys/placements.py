"""Placements of the queries of CAPSys, and deployments of its third query, inference on images, next to joint optima.

Queries are placed by proof, by the rule of CAPSys and by the two policies of Flink.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from time import process_time
from typing import Any

import numpy as np

from edrp.core.arrays import Floats, Ints
from edrp.core.solve import solve
from edrp.core.tolerances import CAPS_PEAK_ROOM, LIMIT_SLACK
from edrp.datasets.placement.capsys import RESOURCES, MeasuredPlan
from edrp.placement.compilation import compile_problem
from edrp.placement.deployment import Deployment
from edrp.placement.edrp import EdrpProblem
from edrp.placement.fixed_tasks import read_fixed_tasks
from edrp.placement.metric_values import Weights
from edrp.placement.metrics.peak_load import PEAK_LOADS
from edrp.placement.throughput import predict_throughput

OPTIMUM, WITHIN, ALONE = "optimum", "optimum within CAPS's", "least of each alone"
CAPS, FIRST = "CAPS", "CAPS, first plan"
EVENLY, DEFAULT = "Flink, evenly", "Flink, default"

DRAWS = 100
"""Placements drawn of each of Flink's policies, in which the order of tasks is random."""


@dataclass(frozen=True, slots=True)
class QueryRow:
    """The load of the fullest worker of a query with `tasks` tasks, under a way to place it.

    Attributes
    ----------
    peaks : use of each shared resource by the worker that is asked for most of it, in the resource's unit; means over draws.
    worst : the largest of all draws; None where nothing is drawn.
    seconds : of processor time to solve; None where that says nothing.
    proven, note : whether all stages are proven, and what the method says.
    """

    query: str
    tasks: int
    placement: str
    peaks: Mapping[str, float]
    worst: Mapping[str, float] | None = None
    seconds: float | None = None
    proven: bool = False
    note: str = ""


def query_rows(name: str, problem: EdrpProblem, *, slack: float = 0.0, alone: bool = True, seed: int = 0) -> Iterator[QueryRow]:
    """Place a query in every way; all peaks are its priorities, and later ones may worsen an earlier one by the slack.

    `alone` says whether each peak is minimised alone as well.
    """
    problem = problem.replace(priorities=[priority.replace(slack=slack) for priority in problem.priorities])
    optimum = optimum_row(name, problem)
    yield optimum
    if not optimum.peaks:
        return
    row = partial(QueryRow, name, _tasks(problem))
    caps, seconds = timed(problem, "caps", seed=seed)
    peaks = _peaks(problem, caps.metrics)
    yield row(CAPS, peaks, seconds=seconds, note="; ".join(caps.notes))
    first, seconds = timed(problem, "caps", plans=1)
    yield row(FIRST, _peaks(problem, first.metrics), seconds=seconds, note="; ".join(first.notes))
    if caps.deployment is not None:
        shares = {resource: caps.metrics[f"{PEAK_LOADS}.{resource}"] * (1 + CAPS_PEAK_ROOM) for resource in peaks}
        yield optimum_row(name, problem.replace(limits={"peak_loads": shares}), WITHIN)
    if alone:
        yield _alone_row(row, problem)
    for placement, evenly in ((EVENLY, True), (DEFAULT, False)):
        drawn = flink_peaks(problem, evenly, seed)
        mean = {resource: float(drawn[resource].mean()) for resource in optimum.peaks}
        yield row(placement, mean, {resource: float(drawn[resource].max()) for resource in optimum.peaks})


def optimum_row(name: str, problem: EdrpProblem, placement: str = OPTIMUM) -> QueryRow:
    """The peaks one after the other, by `fixed-tasks`."""
    solution, seconds = timed(problem, "fixed-tasks")
    peaks = _peaks(problem, solution.metrics)
    return QueryRow(name, _tasks(problem), placement, peaks, seconds=seconds, proven=solution.status == "optimal")


def timed(problem: EdrpProblem, method: str, **options: Any) -> tuple[Any, float]:
    """A solution, and the seconds of processor time that it took."""
    started = process_time()
    solution = solve(problem, method, **options)
    return solution, process_time() - started


def _alone_row(row: Any, problem: EdrpProblem) -> QueryRow:
    """The least peak of each resource, whatever the others are; no placement need have them all."""
    least_seconds: dict[str, float] = {}
    proven = True
    for priority in problem.priorities:
        resource = priority.metric.removeprefix(f"{PEAK_LOADS}.")
        single = problem.replace(priorities=[], weights={"peak_loads": {resource: 1.0}})
        solution = solve(single, "fixed-tasks")
        least_seconds[resource] = _peaks(single, solution.metrics)[resource]
        proven = proven and solution.status == "optimal"
    return row(ALONE, least_seconds, proven=proven)


def flink_peaks(problem: EdrpProblem, evenly: bool, seed: int) -> dict[str, Floats]:
    """Peaks by resource of `DRAWS` placements by one of Flink's policies, shape (draws,) each."""
    tasks, random = read_fixed_tasks(problem), np.random.default_rng(seed)
    compiled = compile_problem(problem)
    every = np.repeat(np.arange(tasks.operators), tasks.arrays.totals)
    slots = int(tasks.room.min())
    drawn = [flink_counts(random.permutation(every), (tasks.nodes, tasks.operators), slots, evenly) for _ in range(DRAWS)]
    peaks = np.array([tasks.loads(counts).max(axis=0) for counts in drawn]) * compiled.contention.capacity[0]
    return dict(zip(compiled.contention.resources, peaks.T, strict=True))


def flink_counts(tasks: Ints, shape: tuple[int, int], slots: int, evenly: bool) -> Ints:
    """Tasks of each operator on each node: dealt to the nodes in turn, or to one node after the other until its slots are full.

    The shape is (nodes, operators); `tasks` has the operator of each task, in the order in which Flink gives out slots, and
    `evenly` is whether `cluster.evenly-spread-out-slots` is set.

    >>> flink_counts(np.array([0, 0, 1]), (2, 2), 2, evenly=False).tolist()
    [[2, 0], [0, 1]]
    >>> flink_counts(np.array([0, 0, 1]), (2, 2), 2, evenly=True).tolist()
    [[1, 1], [1, 0]]
    """
    position = np.arange(tasks.size)
    counts = np.zeros(shape, np.int64)
    np.add.at(counts, (position % shape[0] if evenly else position // slots, tasks), 1)
    return counts


def _tasks(problem: EdrpProblem) -> int:
    return sum(operator.max_replicas for operator in problem.application.operators)


def _peaks(problem: EdrpProblem, metrics: Mapping[str, float]) -> dict[str, float]:
    """Use by the fullest worker, in the unit of each resource; nothing where there is no placement."""
    capacity = problem.network.nodes[0].capacity
    names = {name: f"{PEAK_LOADS}.{name}" for name in RESOURCES}
    return {name: metrics[metric] * capacity[name] for name, metric in names.items() if metric in metrics}


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
    # The problem with given numbers of tasks, to be placed for the least peak of each resource in turn.
    numbers = {name: len(nodes) for name, nodes in chosen.deployment.items()}
    operators = [
        operator.replace(min_replicas=numbers[operator.name], max_replicas=numbers[operator.name])
        for operator in problem.application.operators
    ]
    fixed = problem.replace(application=problem.application.replace(operators=operators))
    fixed = in_order(fixed, [f"{PEAK_LOADS}.{resource}" for resource in problem.network.nodes[0].capacity], {})
    placed, more = timed(fixed, "fixed-tasks")
    proven = chosen.status == "optimal" and placed.status == "optimal"
    return row(problem, name, placed.deployment, ours=True, proven=proven, seconds=seconds + more)


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
