"""Plans from what was measured of live operators: who shall hold which tasks, and in which steps they move."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from edrp.core.errors import numbered
from edrp.core.files import content_digest
from edrp.core.problem import Problem
from edrp.core.solution import Solution
from edrp.core.solve import solve
from edrp.engines.errors import EngineError
from edrp.engines.flink.migrating.discovery import LiveJob, LiveOperator
from edrp.engines.flink.migrating.moves import UNPACED_RATE, state_size
from edrp.engines.flink.migrating.plan_files import PlannedSteps, migration_steps, rescale_steps
from edrp.mdp.policy.methods import StoredPolicy
from edrp.mdp.policy.store import stored_parameters
from edrp.mdp.transfer.migration_plan import MigrationPlan, plan_migration
from edrp.mdp.transfer.rescale_plan import RescalePlan, plan_rescale
from edrp.migration.intervals import Assignment, Interval, tasks_text
from edrp.migration.policy import MigrationPolicyProblem
from edrp.migration.rescale import documents
from edrp.migration.rescale.problem import RescaleLimits, RescaleProblem, RescaleWeights
from edrp.migration.sequence import MigrationSequence
from edrp.migration.single_step import MigrationProblem

PlanMethod = Literal["ssm", "oms", "pmc", "rescale"]

TIME_LIMIT = 60.0
"""Seconds to solve a problem."""


@dataclass(frozen=True, slots=True)
class PlanWish:
    """Goal of a plan.

    Attributes
    ----------
    workers : number of workers that hold tasks, by operator, "" for all others; as many as now where it is not given.
    then : numbers of workers after the changes that will follow, for `oms`.
    tolerance : how much more than the average worker the busiest may have.
    policy : folder of a stored policy, for `pmc`.
    """

    method: PlanMethod
    workers: Mapping[str, int] = field(default_factory=dict)
    then: tuple[int, ...] = ()
    tolerance: float = 0.2
    max_move_ins: int | None = None
    policy: Path | None = None

    @property
    def origin(self) -> str:
        """Digest by which a later command with the same wish is known."""
        words = (self.method, sorted(self.workers.items()), self.then, self.tolerance, self.max_move_ins, str(self.policy))
        return content_digest(repr(words).encode())


@dataclass(frozen=True, slots=True)
class LoadPlan:
    """A plan with the problem that it solves.

    Attributes
    ----------
    plan : as `edrp plan` makes it.
    steps : its moves.
    """

    problem: Problem
    solution: Solution
    plan: MigrationPlan | RescalePlan
    steps: PlannedSteps


def plan_from_loads(job: LiveJob, wish: PlanWish, operator: str | None, pace: float, place: str) -> LoadPlan:
    """Plan from the work per second and the bytes of each task, as measured.

    Parameters
    ----------
    job
        As discovered, with what was counted in `uptime` seconds.
    operator
        The operator whose tasks move; None for the only one, or with method `rescale` for all.
    pace
        Bytes/s of each sender, for the schedule; 0 for no limit.

    Raises
    ------
    EngineError
        In one line: nothing was measured, the table does not suit the method, or there is no such plan.
    """
    if wish.method == "rescale":
        chosen = tuple(job.operators.values()) if operator is None else (job.operator(operator, place),)
        return _plan_rescale(job, chosen, wish, pace, place)
    return _plan_migration(job.operator(operator, place), job.uptime, wish, pace, place)


def _plan_migration(live: LiveOperator, seconds: float, wish: PlanWish, pace: float, place: str) -> LoadPlan:
    """The plan of one operator, whose nodes are its workers."""
    work, state = _measured(live, seconds, place)
    nodes = _wanted_workers(live, wish, place)
    fields: dict[str, Any] = {"work": work, "state_size": state, "intervals": worker_intervals(live, place)}
    problem: MigrationProblem | MigrationSequence | MigrationPolicyProblem
    options: dict[str, Any] = {}
    if wish.method == "ssm":
        problem = MigrationProblem(**fields, nodes=nodes, tolerance=wish.tolerance)
    elif wish.method == "oms":
        counts = (nodes, *wish.then)
        problem = MigrationSequence(**fields, nodes=counts, tolerance=[wish.tolerance] * len(counts))
    else:
        if wish.policy is None:
            raise EngineError("--method pmc", "needs --policy FOLDER, which `edrp policy precompute` writes")
        stored = stored_parameters(wish.policy)
        if len(stored["work"]) != live.tasks:
            why = f"is a policy for {numbered(len(stored['work']), 'task')}, and {live.name} has {live.tasks}"
            raise EngineError(str(wish.policy), f"{why}; compute one for this operator")
        fields = {**stored, "intervals": fields["intervals"]}
        problem = MigrationPolicyProblem(**fields, nodes=nodes)
        options["policy"] = wish.policy
    solution: Any = solve(problem, StoredPolicy.name if wish.method == "pmc" else wish.method, time_limit=TIME_LIMIT, **options)
    decision = _decided(solution, place)
    after: Assignment = decision[0] if wish.method == "oms" else solution.intervals
    rate = pace or UNPACED_RATE
    plan = plan_migration(fields["intervals"], after, work, state, uplink=rate, downlink=None, max_move_ins=wish.max_move_ins)
    return LoadPlan(problem, solution, plan, migration_steps(plan, live.name, wish.origin))


def _decided(solution: Solution, place: str) -> Any:
    """The decision of a solution.

    Raises
    ------
    EngineError
        There is none, with the first reason.
    """
    if solution.decision is None:
        reasons = (*solution.clashes, *solution.notes)
        why = f" ({reasons[0]})" if reasons else ""
        raise EngineError(place, f"there is no such plan{why}; raise --tolerance, or give other --workers")
    return solution.decision


def _measured(live: LiveOperator, seconds: float, place: str) -> tuple[list[float], list[float]]:
    """Work of each task in microseconds per second, and its bytes."""
    work = [live.loads[task].busy / max(seconds, 1e-3) if task in live.loads else 0.0 for task in range(live.tasks)]
    if not any(work):
        raise EngineError(place, f"{live.name} has done no work that could be planned from; observe it while tuples come")
    return work, [float(state_size(live, task)) for task in range(live.tasks)]


def _wanted_workers(live: LiveOperator, wish: PlanWish, place: str) -> int:
    """Number of workers that are to hold tasks."""
    wanted = wish.workers.get(live.name, wish.workers.get("", len(set(live.workers))))
    if wanted > live.parallelism:
        why = f"{live.name} has {numbered(live.parallelism, 'worker')}, and {wanted} are wanted"
        raise EngineError(place, f"{why}; give the job a higher parallelism first: idle workers hold slots, and nothing else")
    return wanted


def worker_intervals(live: LiveOperator, place: str) -> list[Interval]:
    """Interval of each worker, empty for those without tasks.

    Raises
    ------
    EngineError
        The tasks of a worker are not neighbours.
    """
    held = dict(_ranges(live))
    for worker, ranges in held.items():
        if len(ranges) > 1:
            why = f"tasks of {live.name} on worker {worker} are not neighbours"
            remedy = "plan with --method rescale, which takes any table"
            raise EngineError(place, f"{why} ({', '.join(tasks_text(*part) for part in ranges)}); {remedy}")
    return [held[worker][0] if worker in held else (live.tasks, live.tasks) for worker in range(live.parallelism)]


def _ranges(live: LiveOperator) -> Iterator[tuple[int, list[Interval]]]:
    """The ranges of tasks that each worker with tasks holds."""
    held: dict[int, list[Interval]] = {}
    for task, worker in enumerate(live.workers):
        ranges = held.setdefault(worker, [])
        if ranges and ranges[-1][1] == task:
            ranges[-1] = (ranges[-1][0], task + 1)
        else:
            ranges.append((task, task + 1))
    yield from held.items()


def _plan_rescale(job: LiveJob, chosen: Sequence[LiveOperator], wish: PlanWish, pace: float, place: str) -> LoadPlan:
    """The plan of all chosen operators at once, with free ranges; where a TaskManager has several workers, each is a node."""
    problem = _rescale_problem(job, chosen, wish, pace, place)
    solution: Any = solve(problem, "auto", time_limit=TIME_LIMIT)
    _decided(solution, place)
    plan = plan_rescale(problem, solution.deployment, max_move_ins=wish.max_move_ins)
    return LoadPlan(problem, solution, plan, rescale_steps(plan, wish.origin))


def _rescale_problem(job: LiveJob, chosen: Sequence[LiveOperator], wish: PlanWish, pace: float, place: str) -> RescaleProblem:
    """The least state that moves until no worker has more than the tolerance allows."""
    crowded = {node for live in chosen for node in live.nodes if live.nodes.count(node) > 1}
    places = {live.name: [p if n in crowded else n for n, p in zip(live.nodes, live.places, strict=True)] for live in chosen}
    nodes = sorted({place for named in places.values() for place in named})
    operators, total, current = [], 0.0, {}
    for live in chosen:
        work, state = _measured(live, job.uptime, place)
        total += math.fsum(state)
        count = min(_wanted_workers(live, wish, place), live.tasks)
        tuples = sum(load.tuples for load in live.loads.values()) / max(job.uptime, 1e-3)
        operators.append(
            documents.KeyedOperator(
                name=live.name,
                tasks=documents.KeyedTasks(work=work, state_size=state),
                external_rate=tuples,
                resources={_slot(live): 1.0},
                min_replicas=count,
                max_replicas=count,
            )
        )
        current[live.name] = [
            documents.KeyRange(node=places[live.name][worker], tasks=part) for worker, ranges in _ranges(live) for part in ranges
        ]
    amounts = {node: {_slot(live): 1.0 for live in chosen if node in places[live.name]} for node in nodes}
    rate = pace or UNPACED_RATE
    return RescaleProblem(
        application=documents.KeyedApplication(operators=operators, streams=()),
        network=documents.RescaleNetwork(
            nodes=[documents.RescaleNode(name=node, resources=amounts[node], up_rate=rate) for node in nodes]
        ),
        transfer="direct",
        tolerance=wish.tolerance,
        weights=RescaleWeights(moved_state=1.0),
        limits=RescaleLimits(moved_state=max(total, 1.0)),
        current=documents.KeyedDeployment(current),
    )


def _slot(live: LiveOperator) -> str:
    """The named resource of which a node has 1 where an operator has a worker."""
    return f"worker of {live.name}"
